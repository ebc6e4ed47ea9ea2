package serve

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"io/fs"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/report"
	"github.com/hop-marl/hop/serve/words"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/registry"
)

// newRun makes a run of a preset with some windows of returns.
func newRun(t testing.TB, dir, preset string, seed uint64, sets ...string) *runlog.Run {
	t.Helper()
	spec, err := registry.New().Load(preset, sets)
	must(t, err)
	text, err := spec.YAML()
	must(t, err)
	r, err := runlog.Create(dir, text, runlog.Info{Preset: preset, Seed: seed})
	must(t, err)
	logWindows(t, r, seed, 0, 8)
	must(t, r.Checkpoint(800, []byte("body"), 1, runlog.Keep{}))
	return r
}

func logWindows(t testing.TB, r *runlog.Run, seed uint64, from, to int) {
	t.Helper()
	for w := from; w < to; w++ {
		step := int64(100 * (w + 1))
		v := float64(seed) + float64(w)/10
		rows := []runlog.Row{{Step: step, Name: "return/mean", Agent: -1, Value: v, N: 20}}
		for a := range 4 {
			rows = append(rows, runlog.Row{Step: step, Name: "return", Agent: a, Value: v + float64(a), N: 5})
		}
		must(t, r.Log(rows))
	}
}

func finish(t testing.TB, r *runlog.Run, mean float64) {
	t.Helper()
	must(t, r.SetResult(fmt.Appendf(nil, `{"mean":%v,"se":0.1,"greedy_mean":1,"agents":[%v,1,1,1],"cpu_s":2}`, mean, mean)))
	must(t, r.Finish("done"))
	must(t, r.Close())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// odd is a name that would be a script if it were not escaped.
const odd = `<img src=x onerror=alert(1)>&"'`

// fixture is a folder with two trainings of two seeds each, whose specs differ, one with an odd name,
// and one that is being written.
func fixture(t testing.TB) (root string, growing *runlog.Run) {
	t.Helper()
	root = t.TempDir()
	for seed := range uint64(2) {
		finish(t, newRun(t, filepath.Join(root, "a", fmt.Sprint("seed-", seed+1)), "ppo-4x4", seed+1), 1+float64(seed)/10)
		finish(t, newRun(t, filepath.Join(root, "b", fmt.Sprint("seed-", seed+1)), "ppo-4x4", seed+1, "ppo.lr=0.007"), 2+float64(seed)/10)
	}
	if runtime.GOOS != "windows" {
		finish(t, newRun(t, filepath.Join(root, odd, "seed-1"), "ppo-4x4", 1), 3)
	}
	writeSweep(t, filepath.Join(root, "swept"), sweptIndex(root))
	growing = newRun(t, filepath.Join(root, "live", "seed-1"), "ppo-4x4", 1)
	t.Cleanup(func() { _ = growing.Close() })
	return root, growing
}

func server(t testing.TB, root string) *Server {
	t.Helper()
	s, err := New(Config{Lab: &lab.Lab{Reg: registry.New()}, Folders: []string{root}, Addr: "127.0.0.1:8770", Token: controlToken,
		Control: true})
	must(t, err)
	t.Cleanup(s.stage.Close)
	return s
}

// fetch asks the handler, as a page of the server would.
func fetch(s *Server, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	return serveOne(s, r, header...)
}

func serveOne(s *Server, r *http.Request, header ...string) *httptest.ResponseRecorder {
	r.Host = "127.0.0.1:8770"
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Authorization", "Bearer "+controlToken)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

func fetchJSON(t testing.TB, s *Server, path string, v any) {
	t.Helper()
	w := fetch(s, path)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	must(t, json.Unmarshal(w.Body.Bytes(), v))
}

var (
	inline    = regexp.MustCompile(`(?i)\sstyle=|\son[a-z]+=|<script(?:\s+type="module")?>|javascript:|<style`)
	tags      = regexp.MustCompile(`<[a-zA-Z][^>]*>`)
	quoted    = regexp.MustCompile(`"[^"]*"`)
	elsewhere = regexp.MustCompile(`(?:src|href|action)="(?:https?:)?//`)
)

// Every page can be read without a script, in both languages, has nothing that its
// Content-Security-Policy would refuse, names nothing of the machine, and escapes names.
func TestPagesCanBeRead(t *testing.T) {
	root, _ := fixture(t)
	s := server(t, root)
	for _, lang := range []string{"en", "zh"} {
		for _, path := range []string{
			"/?", "/sweeps?", "/sweeps?sweep=0:swept", "/sweeps?sweep=0:none",
			"/curves?", "/curves?run=0:a&m=return/mean&m=return", "/curves?run=0:" + url.QueryEscape(odd), "/compare?",
			"/compare?run=0:a&run=0:b",
			"/compare?run=0:live", "/theatre?", "/join?", "/diagnose?", "/start?", "/curves?run=0:none",
		} {
			w := fetch(s, path+"&lang="+lang)
			want := http.StatusOK
			if strings.Contains(path, "none") {
				want = http.StatusNotFound
			}
			text := w.Body.String()
			if w.Code != want || !strings.Contains(text, "<main") || !strings.HasSuffix(strings.TrimSpace(text), "</html>") {
				t.Errorf("%s in %s: %d\n%.300s", path, lang, w.Code, text)
			}
			for _, tag := range tags.FindAllString(quoted.ReplaceAllString(text, `""`), -1) {
				if inline.MatchString(tag) {
					t.Errorf("%s has %s, which its policy refuses", path, tag)
				}
			}
			commands := strings.HasPrefix(path, "/start") || strings.HasPrefix(path, "/diagnose") // that can be copied
			if at := elsewhere.FindString(text); at != "" || strings.Contains(text, root) && !commands {
				t.Errorf("%s names %q, or where the folder lies", path, at)
			}
			if strings.Contains(text, "<img src=x") {
				t.Errorf("%s: a name is not escaped", path)
			}
			if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'self'") || strings.Contains(csp, "unsafe") {
				t.Errorf("%s: policy %q", path, csp)
			}
		}
	}
	if text := fetch(s, "/?lang=zh").Body.String(); !strings.Contains(text, "完成") || !strings.Contains(text, `lang="zh-CN"`) {
		t.Error("Chinese is not spoken")
	}
	if text := fetch(s, "/", "Accept-Language", "zh-TW;q=0.9, en").Body.String(); !strings.Contains(text, "完成") {
		t.Error("the browser's language is not heard")
	}
	text := fetch(s, "/curves?run=0:a&m=return/mean&by=seed").Body.String()
	for _, want := range []string{"a, seed 1", "a, seed 2", "1.700", "2.700"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page of curves does not say %s before its script runs", want)
		}
	}
}

var (
	said     = regexp.MustCompile(`(?:\bsay\(\s*'|\.T "|say\(lang, "|v\.T\(")([a-z0-9][a-zA-Z0-9._]*)['"]`)
	verbs    = regexp.MustCompile(`%(?:\.\d+)?[a-zA-Z]`)
	sayAlone = regexp.MustCompile(`\.$`) // the rest is put together
)

// No word lacks a language, and every word that a page or a script says is there.
func TestNoWordIsMissing(t *testing.T) {
	for key, w := range words.Table() {
		if w[0] == "" || w[1] == "" || fmt.Sprint(verbs.FindAllString(w[0], -1)) != fmt.Sprint(verbs.FindAllString(w[1], -1)) {
			t.Errorf("%s: %q, %q", key, w[0], w[1])
		}
	}
	check := func(name string, text []byte) {
		for _, m := range said.FindAllSubmatch(text, -1) {
			if key := string(m[1]); words.Table()[key] == [2]string{} && !sayAlone.MatchString(key) {
				t.Errorf("%s says %q, which is no word", name, key)
			}
		}
	}
	for _, fsys := range []fs.FS{static, templates, os.DirFS(".")} {
		must(t, fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasPrefix(filepath.Base(name), "uplot") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			b, err := fs.ReadFile(fsys, name)
			check(name, b)
			return err
		}))
	}
}

// Files may be kept for ever under the name of their sum, and are sent packed.
func TestFilesAreKept(t *testing.T) {
	s := server(t, t.TempDir())
	w := fetch(s, s.files.base()+"/kit.js", "Accept-Encoding", "gzip")
	if w.Code != 200 || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") || w.Header().Get("Content-Encoding") != "gzip" {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	z, err := gzip.NewReader(w.Body)
	must(t, err)
	packed, err := io.ReadAll(z)
	must(t, err)
	plain := fetch(s, "/static/kit.js")
	if !bytes.Equal(packed, plain.Body.Bytes()) || plain.Header().Get("Cache-Control") != "no-cache" {
		t.Error("packed and plain differ, or the plain name is kept")
	}
	if w := fetch(s, "/static/kit.js", "If-None-Match", plain.Header().Get("ETag")); w.Code != http.StatusNotModified {
		t.Errorf("known file: %d", w.Code)
	}
	for _, path := range []string{"/static/", "/static/none.js", "/static/../server.go", "/static/" + s.files.sum + "/../../x", "/nothing"} {
		if w := fetch(s, path); w.Code < 400 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// Curves have the values that the run logged, by seed, by agent and as mean with its band.
func TestCurvesAreTheRows(t *testing.T) {
	root, growing := fixture(t)
	s := server(t, root)
	var c curves
	fetchJSON(t, s, "/api/curves?run=0:a&run=0:live&m=return/mean&m=return&by=seed", &c)
	if len(c.Panels) != 2 || len(c.Panels[0].Lines) != 3 || !c.Moving {
		t.Fatalf("%d panels, moving %v", len(c.Panels), c.Moving)
	}
	l := c.Panels[0].Lines[1]
	if l.Label != "a, seed 2" || len(l.Step) != 8 || float64(l.Value[3]) != 2.3 || l.N[3] != 20 || l.Kind != "rows" {
		t.Errorf("%+v", l)
	}
	if avg := c.Panels[1].Lines[0]; float64(avg.Value[0]) != 1+1.5 || avg.N[0] != 20 || avg.Rows[0] != 4 {
		t.Errorf("mean over agents: %v, n %v, %v rows", avg.Value[0], avg.N[0], avg.Rows[0])
	}
	refs := map[string]float64{}
	for _, r := range c.Panels[0].Refs {
		refs[r.Name] = r.Value
	}
	if refs["optimum"] != 3 || refs["selfish equilibrium"] != 2.89 {
		t.Errorf("references: %v", refs)
	}
	fetchJSON(t, s, "/api/curves?run=0:a&m=return/mean", &c)
	if l = c.Panels[0].Lines[0]; len(c.Panels[0].Lines) != 1 || float64(l.Value[0]) != 1.5 || l.Runs[0] != 2 ||
		math.IsInf(float64(l.Low[0]), 0) {
		t.Errorf("mean with band: %+v", l)
	}
	fetchJSON(t, s, "/api/curves?run=0:a&m=return&by=agent&agent=2", &c)
	if l = c.Panels[0].Lines[0]; len(c.Panels[0].Lines) != 1 || l.Agent != 2 || float64(l.Value[0]) != 3.5 {
		t.Errorf("one agent: %+v", l)
	}
	fetchJSON(t, s, "/api/curves?run=0:live&m=return/mean&from=300&to=500&w=0.5", &c)
	if l = c.Panels[0].Lines[0]; len(l.Step) != 3 || l.Step[0] != 300 || len(l.Smooth) != 3 || float64(l.Value[0]) != 1.2 {
		t.Errorf("a range, smoothed: %+v", l)
	}
	logWindows(t, growing, 1, 8, 9)
	fetchJSON(t, s, "/api/curves?run=0:live&m=return/mean", &c)
	if l = c.Panels[0].Lines[0]; len(l.Step) != 9 {
		t.Errorf("%d points after growth, want 9", len(l.Step))
	}
	must(t, os.Truncate(filepath.Join(root, "b/seed-1/metrics.csv"), 40))
	s = server(t, root)
	fetchJSON(t, s, "/api/curves?run=0:b&m=return/mean&by=seed", &c)
	if len(c.Panels[0].Lines) != 1 || c.Runs[0].Why == "" || c.Runs[1].Why != "" || strings.Contains(c.Runs[0].Why, root) {
		t.Errorf("a damaged seed: %d lines, %q", len(c.Panels[0].Lines), c.Runs[0].Why)
	}
}

// What is shown can be saved.
func TestCurvesAreSaved(t *testing.T) {
	root, _ := fixture(t)
	s := server(t, root)
	const view = "&run=0:a&run=0:b&m=return/mean&m=return&w=0.6"
	w := fetch(s, "/api/curves/export?format=csv"+view)
	lines := strings.Split(strings.TrimSpace(w.Body.String()), "\n")
	if w.Code != 200 || len(lines) != 1+4*8 || !strings.Contains(lines[1], "return/mean,a,0:a/seed-1") ||
		!strings.Contains(w.Header().Get("Content-Disposition"), "curves.csv") {
		t.Errorf("%d, %d lines\n%.300s", w.Code, len(lines), w.Body)
	}
	for _, logs := range []string{"", "&logx=1&logy=1"} {
		w = fetch(s, "/api/curves/export?format=svg"+view+logs)
		if text := w.Body.String(); w.Code != 200 || !strings.Contains(text, "<svg") || !strings.Contains(text, "smoothed") ||
			!strings.Contains(text, "optimum") {
			t.Errorf("SVG: %d %.300s", w.Code, text)
		}
	}
	w = fetch(s, "/api/curves/export?format=png"+view)
	if img, err := png.Decode(w.Body); err != nil || img.Bounds().Dx() < 1000 {
		t.Errorf("PNG: %v", err)
	}
}

// The page of a comparison says what hop compare does, and in what the specs differ.
func TestAComparisonIsHopCompares(t *testing.T) {
	root, _ := fixture(t)
	s := server(t, root)
	dirs := func(name string) []string {
		return []string{filepath.Join(root, name, "seed-1"), filepath.Join(root, name, "seed-2")}
	}
	want, err := report.Compare(registry.New(), []report.Variant{{Name: "a", Dirs: dirs("a")}, {Name: "b", Dirs: dirs("b")}}, math.NaN())
	must(t, err)
	for range 2 { // the second one is remembered
		text := fetch(s, "/compare?run=0:a&run=0:b").Body.String()
		for _, part := range []string{want.Headline(), "ppo.lr", "0.007", "<svg", "2.050", `data-style="`} {
			if !strings.Contains(text, strings.ReplaceAll(part, "+", "&#43;")) && !strings.Contains(text, part) {
				t.Errorf("the page does not say %q", part)
			}
		}
	}
	text := fetch(s, "/compare?run=0:a&run=0:live").Body.String()
	if !strings.Contains(text, "live: 0 of 1 seeds are scored") || !strings.Contains(text, "the numbers will move") {
		t.Errorf("a run that is not scored is not said to be: %.2000s", text)
	}
}

// Tags and notes are kept, refused in a sentence where they cannot be, and reach whoever
// follows the runs.
func TestTagsReachThePage(t *testing.T) {
	root, _ := fixture(t)
	s := server(t, root)
	post := func(text string) *httptest.ResponseRecorder {
		return serveOne(s, httptest.NewRequest(http.MethodPost, "/api/runs/label", strings.NewReader(text)), "Content-Type", "application/json")
	}
	if w := post(`{"run":"0:a","tags":["<script>","good"],"note":"n"}`); w.Code != 200 || !strings.Contains(w.Body.String(),
		`"tags":["\u003cscript\u003e","good"]`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for text, code := range map[string]int{
		`{`: 400, `{"run":"0:../x"}`: 404, `{"run":"0:zz"}`: 404, `{"run":"0:a","x":1}`: 400, `{"run":"0:a","tags":["` +
			strings.Repeat("x", 99) + `"]}`: 400,
		`{"run":"0:a","note":"` + strings.Repeat("x", 70_000) + `"}`: 400,
	} {
		w := post(text)
		var e struct{ Error string }
		if err := json.Unmarshal(w.Body.Bytes(), &e); w.Code != code || err != nil || e.Error == "" {
			t.Errorf("%.60s: %d %s, want %d and a sentence", text, w.Code, w.Body, code)
		}
	}
	if text := fetch(s, "/").Body.String(); strings.Contains(text, "<script>") || !strings.Contains(text, "&lt;script&gt;") {
		t.Error("a tag is not escaped")
	}
}

// What is asked wrongly is refused with a sentence.
func TestWrongQuestionsAreRefused(t *testing.T) {
	root, _ := fixture(t)
	s := server(t, root)
	for path, code := range map[string]int{
		"/api/curves?run=0:none": 404, "/api/curves?run=0:..": 404, "/api/curves?run=../../etc": 404, "/api/curves?run=0:%2fetc": 404,
		"/api/curves?run=0:a&by=x": 400, "/api/curves?run=0:a&w=1": 400, "/api/curves?run=0:a&w=NaN": 400, "/api/curves?run=0:a&agent=-1": 400,
		"/api/curves?run=0:a&px=99999999": 400, "/api/curves?run=0:a&from=x": 400,
		"/api/curves?run=0:a&band=x": 400, "/api/curves?run=0:a&x=y": 400, "/api/curves?" + strings.Repeat("run=0:a&", maxNames+1): 400,
		"/api/curves/export?run=0:a&m=return&format=exe": 400, "/api/curves/export?format=csv": 400, "/api/rows/stream?run=0:a/..": 404,
		"/api/rows/stream?run=0:a/seed-1&after=-1": 400, "/compare?run=0:a&threshold=x": 400, "/api/curves/stream?by=9": 400,
		"/api/curves/export?run=0:a&m=no/such&format=svg": 404, "/api/curves/export?run=0:a&m=return&m=no/such&format=csv": 404,
		"/api/theatre/choices?game=chess": 422, "/theatre?game=chess": 422, "/join?game=chess": 422,
		"/theatre?game=staghunt&set=game.size=900": 422,
		"/theatre?game=coin&seed=x":                400, "/api/join/stream?id=none": 200,
		"/api/theatre/choices": 422, "/api/theatre/choices?game=python": 422,
		"/theatre?game=python&set=game.env=subprocess:check_output": 422, "/sweeps?sweep=0:../x": 404, "/diagnose?run=0:..": 404,
		"/start?folder=9":                400,
		"/start?preset=../../etc/passwd": 400, "/api/theatre/stream?game=cartpole&team=plan": 200,
	} {
		if w := fetch(s, path); w.Code != code || strings.Contains(w.Body.String(), root) || w.Body.Len() < 20 {
			t.Errorf("%s: %d %.200s, want %d", path, w.Code, w.Body, code)
		}
	}
}

// A game of one seat has no co-players to think about; it is offered without those who do.
func TestAGameOfOneSeatIsOffered(t *testing.T) {
	s := server(t, t.TempDir())
	for _, path := range []string{"/theatre?game=cartpole", "/join?game=cartpole", "/api/theatre/choices?game=cartpole"} {
		if w := fetch(s, path); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "plan-infer") {
			t.Errorf("%s: %d %.300s", path, w.Code, w.Body)
		}
	}
}

// start serves a folder on a port of its own; what it returns ends that.
func start(t testing.TB, root string) (base string, s *Server, end func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	s, err = New(Config{Lab: &lab.Lab{Reg: registry.New()}, Folders: []string{root}, Addr: l.Addr().String(), Token: controlToken,
		Control: true})
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	return "http://" + l.Addr().String(), s, func() {
		cancel()
		must(t, <-done)
	}
}

// withToken is a request by who may act.
func withToken(t testing.TB, ctx context.Context, address string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	must(t, err)
	r.Header.Set("Authorization", "Bearer "+controlToken)
	return r
}

// events reads a stream until f has seen enough.
func events(t testing.TB, c *http.Client, address string, f func(name, data string) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	w, err := c.Do(withToken(t, ctx, address))
	if err != nil {
		t.Error(err)
		return
	}
	defer w.Body.Close()
	name := ""
	in := bufio.NewReader(w.Body)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Errorf("%s ended: %v", address, err)
			return
		}
		if rest, ok := strings.CutPrefix(line, "event: "); ok {
			name = strings.TrimSpace(rest)
		}
		if rest, ok := strings.CutPrefix(line, "data: "); ok && f(name, rest) {
			return
		}
	}
}

// Streams follow runs and rows while they are written, without a loss, and everything is
// gone when the server ends.
func TestStreamsFollow(t *testing.T) {
	root, growing := fixture(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	base, _, end := start(t, root)
	defer end()
	c := &http.Client{Transport: &http.Transport{}}
	defer c.CloseIdleConnections()
	var wg sync.WaitGroup
	first := make(chan struct{}, 3)
	wg.Go(func() {
		n := 0
		events(t, c, base+"/api/runs/stream", func(name, data string) bool {
			if n++; n == 1 {
				first <- struct{}{}
			}
			return strings.Contains(data, `"step":6000,`)
		})
	})
	wg.Go(func() {
		n := 0
		events(t, c, base+"/api/curves/stream?run=0:live", func(name, data string) bool {
			if n++; n == 1 {
				first <- struct{}{}
			}
			return strings.Contains(data, `"rows":300,`)
		})
	})
	wg.Go(func() {
		got := 0
		events(t, c, base+"/api/rows/stream?run=0:live/seed-1&m=return/mean", func(name, data string) bool {
			var e struct{ Rows []struct{ Step int } }
			must(t, json.Unmarshal([]byte(data), &e))
			for _, r := range e.Rows {
				if got++; r.Step != 100*got {
					t.Errorf("row %d is of step %d", got, r.Step)
				}
			}
			if got == 8 {
				first <- struct{}{}
			}
			return got == 60
		})
	})
	for range 3 {
		<-first
	}
	for w := 8; w < 60; w++ {
		logWindows(t, growing, 1, w, w+1)
	}
	wg.Wait()
}

// A thousand visits and two hundred streams leave nothing behind.
func TestVisitsLeaveNothing(t *testing.T) {
	root, _ := fixture(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	base, _, end := start(t, root)
	defer end()
	visit := func(n int) {
		c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		var wg sync.WaitGroup
		next := make(chan int)
		for range 8 {
			wg.Go(func() {
				for i := range next {
					switch i % 5 {
					case 0:
						events(t, c, base+"/api/runs/stream", func(string, string) bool { return true })
					default:
						path := []string{"", "/api/words", "/api/runs", "/api/curves/names?run=0:a", "/static/kit.js"}[i%5]
						w, err := c.Do(withToken(t, t.Context(), base+path))
						if err != nil {
							t.Error(err)
							continue
						}
						_, _ = io.Copy(io.Discard, w.Body)
						w.Body.Close()
					}
				}
			})
		}
		for i := range n {
			next <- i
		}
		close(next)
		wg.Wait()
	}
	heap := func() float64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / 1e6
	}
	visit(100)
	before, routines := heap(), runtime.NumGoroutine()
	visit(1000)
	time.Sleep(50 * time.Millisecond)
	if after, now := heap(), runtime.NumGoroutine(); after > before+3 || now > routines+8 {
		t.Errorf("the heap was %.1f MB and is %.1f MB; %d goroutines, were %d", before, after, now, routines)
	}
}

func FuzzGet(f *testing.F) {
	s, root, _, sprung := trapped(f)
	for _, r := range s.routes() {
		method, path, _ := strings.Cut(r.pattern, " ")
		if path = strings.ReplaceAll(path, "{$}", ""); method != http.MethodGet {
			continue
		}
		for _, q := range []string{"", "run=0:a&m=return/mean&by=seed&w=.5&from=1&to=9&px=20&agent=1&format=csv&lang=zh", "run=0:../a",
			"run=%00&m=%ff", "run=0:a&rev=99&after=7&threshold=1e309", "run=0:--env=evil:make&run=0:evil&m=return&format=svg",
			"preset=ppo&set=game.name=python&set=game.env=subprocess:check_output&set=game.kwargs=%7B%22args%22:[%22touch%22,%22x%22]%7D",
			"game=python&set=game.python=/bin/sh&text=1", "game=cartpole&team=plan-infer&seat=0",
			"sweep=0:swept&q=$JS.API.STREAM.DELETE.jobs&phase=hop.jobs.put"} {
			f.Add(path, q)
		}
	}
	f.Fuzz(func(t *testing.T, path, query string) {
		u := url.URL{Path: "/" + strings.TrimPrefix(path, "/"), RawQuery: query}
		r, err := http.NewRequest(http.MethodGet, u.String(), nil)
		if err != nil {
			t.Skip()
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		w := serveOne(s, r.WithContext(ctx))
		typed := w.Code == http.StatusForbidden || strings.HasPrefix(u.Path, "/start") || strings.HasPrefix(u.Path, "/diagnose") ||
			strings.Contains(w.Body.String(), "hop trust ") // which say what to type
		if w.Code >= 500 && ctx.Err() == nil || strings.Contains(w.Body.String(), root) && !typed || sprung() {
			t.Errorf("%s?%s: %d %.300s; a program was started: %v", path, query, w.Code, w.Body, sprung())
		}
	})
}

func FuzzLabel(f *testing.F) {
	root, _ := fixture(f)
	s := server(f, root)
	for _, text := range []string{`{"run":"0:a","tags":["x"],"note":"n"}`, `{`, `{"run":"0:.."}`, `null`, `{"run":"0:a","tags":["\u0000"]}`,
		`{"run":"0:--env=evil:make","note":"$JS.API.STREAM.DELETE.jobs"}`, `{"run":"0:.hop-serve"}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w := serveOne(s, httptest.NewRequest(http.MethodPost, "/api/runs/label", strings.NewReader(text)), "Content-Type", "application/json")
		if w.Code >= 500 || strings.Contains(w.Body.String(), root) {
			t.Errorf("%q: %d %s", text, w.Code, w.Body)
		}
	})
}
