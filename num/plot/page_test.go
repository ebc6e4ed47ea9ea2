package plot

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestTicksAreFewAndRound(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		n      int
		want   []float64
	}{
		{0, 3, 3, []float64{0, 1, 2, 3}},
		{0, 150_000, 5, []float64{0, 50_000, 100_000, 150_000}},
		{-0.02, 0.001, 4, []float64{-0.02, -0.01, 0}},
	} {
		got := ticks(c.lo, c.hi, c.n)
		if len(got) != len(c.want) {
			t.Errorf("%v to %v: got %v, want %v", c.lo, c.hi, got, c.want)
			continue
		}
		for i := range got {
			if math.Abs(got[i]-c.want[i]) > 1e-9 {
				t.Errorf("%v to %v: got %v, want %v", c.lo, c.hi, got, c.want)
			}
		}
	}
	lo := 0.001
	if got := ticks(lo, math.Nextafter(lo, 1), 5); len(got) > 7 {
		t.Errorf("%d ticks between neighbours, want at most 7", len(got))
	}
}

func TestWordsAreReadable(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Short(999), "999"}, {Short(4085), "4.08 k"}, {Short(150_621), "151 k"}, {Short(1.5e6), "1.5 M"},
		{Thousands(0), "0"}, {Thousands(999), "999"}, {Thousands(1234567), "1,234,567"}, {Thousands(-1234), "-1,234"},
		{Number(math.NaN()), "–"}, {Number(2.8421), "2.842"}, {Number(28.421), "28.42"}, {Number(475.25), "475.2"},
		{Seconds(0.5), "0.5 s"}, {Seconds(81), "81 s"}, {Seconds(600), "10.0 min"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// Text of a cell can be read on its colour, in the light and in the dark.
func TestHeatsAreReadable(t *testing.T) {
	h := &Heat{Cells: [][]Cell{{{Value: 0}, {Value: 10}}, {{Value: 4}, {Value: math.NaN()}}}}
	Scale(h)
	if h.Low != 0 || h.High != 10 || h.share(4) != 0.4 {
		t.Errorf("the scale is %v to %v, 4 lies at %v of it", h.Low, h.High, h.share(4))
	}
	if s := string(h.Style(h.Cells[0][0])); !strings.Contains(s, "var(--ink)") || !strings.Contains(s, " 6%") {
		t.Errorf("the lowest cell: %s", s)
	}
	if s := string(h.Style(h.Cells[0][1])); !strings.Contains(s, "color:var(--card)") {
		t.Errorf("a high cell: %s", s)
	}
}

// all returns one figure of every kind.
func all() []*Figure {
	xs, ys := []float64{0, 1, 2, 3}, []float64{2, math.NaN(), 1, 0.5}
	refs := []Ref{{"optimum", 3}, {"hares only", 1}, {"equilibrium of the selfish", 2.9}}
	p := New(Steps(3), Round(0, 3, 5)).Add(Stretch{0, 2, "by others"}, Levels{Refs: refs},
		Band{X: xs, Low: ys, High: []float64{3, 3, 3, 3}, Color: Agent(1)})
	return []*Figure{
		Lines("lines", "Lines", "", Axes{X: "epoch", Y: "nats"}, Line{Name: "ce", Y: ys}, Line{Name: "kl", Y: []float64{.1, .2, .3, .2},
			Dash: true}),
		Lines("empty", "No values", "", Axes{}, Line{Name: "x"}),
		Scatter("scatter", "Scatter", "", Axes{},
			Cloud{Name: "stag", X: []float64{0, 1}, Y: []float64{1, 2}, Low: []float64{0.5, math.NaN()}, High: []float64{1.5, math.NaN()}},
			Cloud{Name: "none"}),
		Bars("bars", "Bars", "", Axes{YMax: 1}, []string{"a", "b"}, Group{"one", []float64{.5, math.NaN()}}, Group{"two", []float64{.2}}),
		HeatOf("heat", "Heat", "", "was", []string{"a", "b"}, []string{"c"}, []float64{0.5, 1}),
		{Name: "levels", Title: "Levels", Panels: []Panel{p.Panel("Levels <1>", WideW, WideH)}},
		{Name: "spreads", Panels: []Panel{Spreads("Spreads", "return", 0, 3, refs, Spread{Values: ys[2:], Mean: 0.7})}},
		{Name: "boxes", Cols: 2, Panels: []Panel{
			Boxes("Boxes", "return", [][]float64{xs, xs}, HalfW, HalfH), Boxes("More", "return", [][]float64{xs}, HalfW, HalfH),
		}},
	}
}

var (
	viewBox  = regexp.MustCompile(`<svg class="(\w*)" viewBox="0 0 (\S+) `)
	fontSize = regexp.MustCompile(`font-size:([0-9.]+)px`)
)

// On a phone of 390 px a drawing gets 336 px or more, and no text in it is smaller
// than 11 px. No colour is fixed, so every drawing is light or dark as the page is.
func TestFiguresFitPhonesAndTheDark(t *testing.T) {
	for _, f := range all() {
		for _, p := range f.Panels {
			if p.Table != nil {
				continue
			}
			html, err := p.svg()
			if err != nil {
				t.Fatal(err)
			}
			if hex.MatchString(string(html)) {
				t.Errorf("%s has a colour of its own", f.Name)
			}
			shown := 0
			for _, svg := range strings.SplitAfter(string(html), "</svg>") {
				box := viewBox.FindStringSubmatch(svg)
				if box == nil || box[1] == "big" {
					continue
				}
				shown++
				width, err := strconv.ParseFloat(box[2], 64)
				if err != nil {
					t.Fatal(err)
				}
				for _, size := range fontSize.FindAllStringSubmatch(svg, -1) {
					if px, err := strconv.ParseFloat(size[1], 64); err != nil || px*336/width < 11 {
						t.Errorf("%s, %s: text of %.1f px on a phone (%v)", f.Name, p.Title, px*336/width, err)
					}
				}
			}
			if shown != 1 || !fontSize.MatchString(string(html)) {
				t.Errorf("%s, %s: %d drawings for a phone, want 1", f.Name, p.Title, shown)
			}
		}
	}
}

func TestDocumentsAreWhole(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	d := Document{
		Name: "all", HTML: `{{template "top" "<All>"}}{{range .}}{{template "figure" .}}{{end}}{{template "end"}}`,
		Text: "{{range .}}![{{.Title}}](media/{{.Name}}.png)\n{{end}}", Data: all(), Figures: all(), Folder: "media",
		Files: map[string][]byte{"more.txt": []byte("more")},
	}
	if err := d.Write(dir); err != nil {
		t.Fatal(err)
	}
	read := func(name string) []byte {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, want := range []string{"<title>&lt;All&gt;</title>", "prefers-color-scheme: dark", "Levels &lt;1&gt;", `<table class="heat">`,
		"</html>"} {
		if !bytes.Contains(read("all.html"), []byte(want)) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if m := regexp.MustCompile(`(?i)(src|href)="?https?:|url\(|<script|@import`).Find(read("all.html")); m != nil {
		t.Errorf("the page fetches something: %s", m)
	}
	for _, f := range d.Figures {
		if _, err := png.Decode(bytes.NewReader(read("media/" + f.Name + ".png"))); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
	if string(read("more.txt")) != "more" || !bytes.Contains(read("all.md"), []byte("![Bars](media/bars.png)")) {
		t.Error("a file is not as given")
	}
}

// No page says where on a disk it was made.
// A folder that somebody else made may hold links in place of what is written here.
func TestDocumentsFollowNoLinks(t *testing.T) {
	dir, away := t.TempDir(), t.TempDir()
	precious := filepath.Join(away, "precious")
	if err := os.WriteFile(precious, []byte("keep"), 0o644); err != nil {
		t.Fatal(err)
	}
	d := &Document{Name: "report", HTML: "new", Text: "new", Folder: "media", JSON: 1, Figures: all()[:1]}
	for _, name := range []string{"report.html", "report.html.tmp", "report.md.tmp", "report.json.tmp", "report.md"} {
		if err := os.Symlink(precious, filepath.Join(dir, name)); err != nil {
			t.Skip("no links here:", err)
		}
	}
	if err := d.Write(dir); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(precious); string(b) != "keep" {
		t.Errorf("what a link pointed at is now %q", b)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "report.html")); string(b) != "new" {
		t.Errorf("the page is %q", b)
	}
	other := t.TempDir()
	if err := os.Symlink(away, filepath.Join(other, "media")); err != nil {
		t.Fatal(err)
	}
	if err := d.Write(other); err == nil || !strings.Contains(err.Error(), "media") {
		t.Errorf("figures were written through a link: %v", err)
	}
	if list, _ := os.ReadDir(away); len(list) != 1 {
		t.Errorf("behind the link there are now %v", list)
	}
}

func TestPathsAreNamedForReadersElsewhere(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	away := filepath.Join(filepath.Dir(t.TempDir()), "runs", "ppo-001")
	for _, c := range []struct{ text, want string }{
		{"hop report " + away, "hop report ppo-001"},
		{"--set 'train.team=[learn, " + filepath.Join(away, "seed-1") + "#1]'", "--set 'train.team=[learn, ppo-001/seed-1#1]'"},
		{"--out=" + filepath.Join(here, "runs", "x") + " --seeds 1-3", "--out=runs/x --seeds 1-3"},
		{"hop report runs/ppo-001, and 1/2 of it / there", "hop report runs/ppo-001, and 1/2 of it / there"},
	} {
		if got := Paths(c.text); got != c.want {
			t.Errorf("%q became %q, want %q", c.text, got, c.want)
		}
	}
}

// A stretch is shaded and, where there is room, named.
func TestStretchesAreNamed(t *testing.T) {
	for name, room := range map[string]bool{"warm-up": true, strings.Repeat("a name that does not fit ", 9): false} {
		p := New(Steps(10), Round(0, 1, 3)).Add(Stretch{To: 6, Name: name})
		html, err := p.Panel("x", WideW, HalfH).svg()
		if err != nil {
			t.Fatal(err)
		}
		big, _, _ := strings.Cut(string(html), "</svg>")
		if strings.Contains(big, name) != room || !strings.Contains(big, "var(--c2)") {
			t.Errorf("%q: named %v, want %v", name, !room, room)
		}
	}
}

// Figures become palettes: the colours that most of them has stay as they are. A picture
// of more colours than fit stays as it is.
func TestPicturesKeepTheirColours(t *testing.T) {
	flat, noise := image.NewRGBA(image.Rect(0, 0, 64, 64)), image.NewRGBA(image.Rect(0, 0, 64, 64))
	for i := range 64 * 64 {
		c := color.RGBA{uint8(i % 3), 100, 200, 255}
		if i < 300 { // edges: each pixel has a colour of its own
			c = color.RGBA{uint8(i % 64), uint8(i / 64), 90, 255}
		}
		flat.SetRGBA(i%64, i/64, c)
		noise.SetRGBA(i%64, i/64, color.RGBA{uint8(i % 64), uint8(i / 64), 0, 255})
	}
	for name, m := range map[string]*image.RGBA{"flat": flat, "noise": noise} {
		b, err := encode(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := png.Decode(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if _, is := got.(*image.Paletted); is != (name == "flat") {
			t.Errorf("%s became a %T", name, got)
		}
		for i := range 64 * 64 {
			want := m.RGBAAt(i%64, i/64)
			if c := color.RGBAModel.Convert(got.At(i%64, i/64)).(color.RGBA); c != want && (name == "noise" || i >= 300) {
				t.Fatalf("%s: pixel %d is %v, want %v", name, i, c, want)
			}
		}
	}
}
