package play

import (
	"bytes"
	"image"
	"image/draw"
	"image/gif"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/coin"
)

// episode records an 8x8 hunt in which the random seats stay long.
func episode(t *testing.T, seed uint64) []Frame {
	t.Helper()
	o, _ := options(t, NoHuman, "")
	o.Game = hunt(t, 8, 5)
	o.Team = []string{"ns", "ns", "nh", "random"}
	e := started(t, o, seed)
	for !e.st.Over() {
		e.step(game.NoAction)
	}
	return e.rec.Frames()
}

// encoded returns the frames' GIF, as bytes and read back.
func encoded(t *testing.T, frames []Frame) ([]byte, *gif.GIF) {
	t.Helper()
	var b bytes.Buffer
	if err := GIF(&b, frames); err != nil {
		t.Fatal(err)
	}
	got, err := gif.DecodeAll(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), got
}

func TestGIFHasAnImageAFrame(t *testing.T) {
	frames := episode(t, 7)
	b, got := encoded(t, frames)
	if len(b) > 300_000 {
		t.Errorf("%d frames took %d bytes, want at most 300000", len(frames), len(b))
	}
	if len(got.Image) != len(frames) {
		t.Errorf("got %d images, want %d", len(got.Image), len(frames))
	}
	for i, img := range got.Image {
		if !reflect.DeepEqual(img.Palette, got.Image[0].Palette) {
			t.Fatalf("image %d has a palette of its own", i)
		}
	}
	last := len(got.Delay) - 1
	if got.Delay[last] < 2*got.Delay[0] {
		t.Errorf("the last image is shown for %d, the first for %d; want the last longer", got.Delay[last], got.Delay[0])
	}
}

func TestSameSeedGivesTheSameGIF(t *testing.T) {
	a, _ := encoded(t, episode(t, 7)[:8])
	b, _ := encoded(t, episode(t, 7)[:8])
	if !bytes.Equal(a, b) {
		t.Error("the same seed gave other bytes")
	}
}

// Images hold only what changed, and parts are painted once; laid over each other
// they must give each frame as it is painted alone.
func TestGIFImagesAddUpToTheFrames(t *testing.T) {
	for name, frames := range map[string][]Frame{"hunted": hunted(t).Frames(), "coins": coins(t, 20), "thoughts": thoughts(t)} {
		_, got := encoded(t, frames)
		page := image.NewRGBA(got.Image[0].Rect)
		for i, img := range got.Image {
			draw.Draw(page, img.Rect, img, img.Rect.Min, draw.Over)
			if i%6 > 1 {
				continue // painting alone is slow
			}
			m, err := newCamera(frames)
			if err != nil {
				t.Fatal(err)
			}
			alone := &image.Paletted{Pix: m.shoot(&frames[i]), Stride: m.w, Rect: page.Rect, Palette: m.Palette}
			want := image.NewRGBA(page.Rect)
			draw.Draw(want, want.Rect, alone, image.Point{}, draw.Src)
			if !bytes.Equal(page.Pix, want.Pix) {
				t.Fatalf("%s: image %d is another than the frame painted alone", name, i)
			}
		}
	}
}

// The palette must be near what was drawn, or edges look ragged.
func TestPaletteIsNearTheDrawing(t *testing.T) {
	frames := hunted(t).Frames()
	m, err := newCamera(frames)
	if err != nil {
		t.Fatal(err)
	}
	all, far := 0, 0
	near := func(w, h int, draw func()) {
		m.begin(image.Pt(w, h))
		draw()
		for i, v := range m.Paint(m.img) {
			a := m.img.Pix[4*i:]
			r, g, b, _ := m.Palette[v].RGBA()
			all++
			if math.Hypot(math.Hypot(float64(a[0])-float64(r>>8), float64(a[1])-float64(g>>8)), float64(a[2])-float64(b>>8)) > 40 {
				far++
			}
		}
	}
	for i := range frames {
		f := &frames[i]
		for c := range f.Cells {
			near(int(m.cell), int(m.cell), func() { m.drawCell(f, c, f.trails(), nil) })
		}
		for s := range f.Players {
			near(stripWide, seatTall, func() { m.row(game.Seat(s), &f.Players[s], false) })
		}
	}
	if limit := all / 1000; far > limit {
		t.Errorf("%d pixels of %d are far from their colour, want at most %d", far, all, limit)
	}
}

// Almost all of a film is what was painted before.
func TestPartsArePaintedOnce(t *testing.T) {
	frames := coins(t, 100)
	m, err := newCamera(frames)
	if err != nil {
		t.Fatal(err)
	}
	for i := range frames {
		m.shoot(&frames[i])
	}
	if whole := len(frames) * len(m.Pix); m.painted > whole/8 {
		t.Errorf("%d pixels were painted for a film of %d, want an eighth at most", m.painted, whole)
	}
}

func TestGIFWithoutFramesIsAnError(t *testing.T) {
	if err := GIF(&bytes.Buffer{}, nil); err == nil || !strings.Contains(err.Error(), "record an episode") {
		t.Errorf("got %v, want an error that says what to do", err)
	}
}

func TestGIFOfOddFrames(t *testing.T) {
	many := Frame{Scene: Scene{Height: 1, Width: 3, Cells: make([]Cell, 3)}, Players: make([]Player, 12)}
	for s := range many.Players {
		many.Players[s] = Player{Name: "猎人", Reward: math.NaN(), At: 0, From: 1}
		many.Cells[0].Seats = append(many.Cells[0].Seats, game.Seat(s))
	}
	many.Cells[0].Things = []string{"stag", "hare", "", "茶壶"}
	for name, f := range map[string]Frame{
		"empty":        {},
		"many seats":   many,
		"nobody":       {Scene: Scene{Height: 2, Width: 2, Cells: make([]Cell, 4)}},
		"long":         {Title: string(bytes.Repeat([]byte("long "), 99)), Scene: Scene{Words: string(bytes.Repeat([]byte("words "), 999))}},
		"large":        {Scene: Scene{Height: 64, Width: 64, Cells: make([]Cell, 64*64)}},
		"past the end": {Step: 9, Horizon: 3},
	} {
		t.Run(name, func(t *testing.T) {
			if err := GIF(&bytes.Buffer{}, []Frame{f}); err != nil {
				t.Error(err)
			}
			f.Text()
			f.view(80, 24, nil)
		})
	}
}

func TestDiscsInACellDoNotTouch(t *testing.T) {
	for n := 1; n <= 12; n++ {
		for _, box := range [][2]float64{{56, 56}, {56, 28}, {14, 14}} {
			type disc struct{ x, y, r float64 }
			var all []disc
			pack(n, 10, 20, box[0], box[1], func(_ int, x, y, r float64) {
				for _, o := range all {
					if math.Hypot(o.x-x, o.y-y) < o.r+r {
						t.Errorf("%d discs in %v: two touch", n, box)
					}
				}
				if x-r < 10 || y-r < 20 || x+r > 10+box[0] || y+r > 20+box[1] {
					t.Errorf("%d discs in %v: one at %v,%v of %v is outside", n, box, x, y, r)
				}
				all = append(all, disc{x, y, r})
			})
			if len(all) != n {
				t.Errorf("got %d discs, want %d", len(all), n)
			}
		}
	}
}

// coins is an episode of two random players after coins.
func coins(t testing.TB, steps int) []Frame {
	t.Helper()
	c := coin.Default()
	c.Horizon = steps
	g, err := coin.New(c)
	if err != nil {
		t.Fatal(err)
	}
	e, err := newEnv(Options{Game: g, Team: []string{"random", "random"}, Human: NoHuman})
	if err == nil {
		err = e.reset(5)
	}
	if err != nil {
		t.Fatal(err)
	}
	for !e.st.Over() {
		e.step(game.NoAction)
	}
	return e.rec.Frames()
}

func BenchmarkGIF(b *testing.B) {
	frames := coins(b, 100)
	for b.Loop() {
		if err := GIF(io.Discard, frames); err != nil {
			b.Fatal(err)
		}
	}
}

// thoughts is an episode with those of a planner.
func thoughts(t *testing.T) []Frame {
	t.Helper()
	g := hunt(t, 4, 0)
	c, err := thinking(t, g, 0)
	if err != nil {
		t.Fatal(err)
	}
	e := started(t, Options{Game: g, Agents: c, Human: NoHuman}, 1)
	for !e.st.Over() {
		e.step(game.NoAction)
	}
	return e.rec.Frames()
}

// ffmpeg puts a stand-in for it first on the path: a script that finds the film's
// name in $out.
func ffmpeg(t *testing.T, script string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a script stands in for ffmpeg")
	}
	dir := t.TempDir()
	script = "#!/bin/sh\nfor out; do :; done\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(dir, "ffmpeg"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
}

// A film whose name ends in .mp4 goes through ffmpeg, whole or not at all.
func TestMP4GoesThroughFFmpeg(t *testing.T) {
	o, out := options(t, NoHuman, "")
	o.GIF = filepath.Join(t.TempDir(), "a.mp4")
	alone := func(want ...string) {
		t.Helper()
		files, _ := filepath.Glob(filepath.Join(filepath.Dir(o.GIF), "*"))
		hidden, _ := filepath.Glob(filepath.Join(filepath.Dir(o.GIF), ".*"))
		if files = append(files, hidden...); !slices.Equal(files, want) {
			t.Errorf("the folder holds %v, want %v", files, want)
		}
	}
	ffmpeg(t, "cat >/dev/null; echo no room >&2; exit 1")
	if err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("got %v, want what ffmpeg complains of", err)
	}
	alone()
	ffmpeg(t, `cat >"$out"`)
	says(t, played(t, o, out), "wrote "+o.GIF)
	alone(o.GIF)
	raw, err := os.ReadFile(o.GIF)
	if err != nil {
		t.Fatal(err)
	}
	frames := started(t, o, o.Seed)
	for !frames.st.Over() {
		frames.step(game.NoAction)
	}
	c, err := newCamera(frames.rec.Frames())
	if err != nil {
		t.Fatal(err)
	}
	pictures := len(frames.rec.Frames()) - 1 + hold // the last one stays
	if want := 3 * c.w * c.h * pictures; len(raw) != want {
		t.Errorf("ffmpeg was handed %d bytes, want %d pictures of %dx%d: %d", len(raw), pictures, c.w, c.h, want)
	}
	os.Remove(o.GIF)
	out.Reset()
	t.Setenv("PATH", t.TempDir())
	if err := Run(t.Context(), o); err == nil || out.Len() > 0 {
		t.Errorf("without ffmpeg: %v, after playing %q; want a word before anything is played", err, out)
	} else {
		says(t, err.Error(), "ffmpeg, which is not installed", "apt install ffmpeg", "choose a name that ends in .gif")
	}
	alone()
}
