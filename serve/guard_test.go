package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/store/trust"
	"github.com/hop-marl/hop/train/registry"
)

// hostile is a run's name that begins like a flag.
const hostile = "--env=evil:make"

// trap is a program that leaves a trace if anybody starts it. It returns what tells whether
// somebody did.
func trap(t testing.TB) (program string, sprung func() bool) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a script of the shell")
	}
	dir := t.TempDir()
	program, trace := filepath.Join(dir, "python"), filepath.Join(dir, "trace")
	must(t, os.WriteFile(program, []byte("#!/bin/sh\necho \"$@\" >> '"+trace+"'\nexit 1\n"), 0o755))
	return program, func() bool {
		_, err := os.Stat(trace)
		return err == nil
	}
}

// pythonSets are the fields of a spec that would start a program.
func pythonSets(program string) []string {
	return []string{"game.name=python", "game.env=evil:make", "game.python=" + program}
}

// trapped is the fixture with a run that would start a program, under two names, of a user
// who trusts nobody.
func trapped(t testing.TB) (s *Server, root string, sets []string, sprung func() bool) {
	t.Helper()
	t.Setenv("HOP_CONFIG", t.TempDir())
	root, _ = fixture(t)
	program, sprung := trap(t)
	sets = pythonSets(program)
	for _, name := range []string{"evil", hostile} {
		finish(t, newRun(t, filepath.Join(root, name, "seed-1"), "ppo", 1, sets...), 1)
	}
	return server(t, root), root, sets, sprung
}

// post1 asks for a change, as who may act.
func post1(s *Server, path, body string) *httptest.ResponseRecorder {
	return serveOne(s, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)), "Content-Type", "application/json")
}

// The trap is one: whoever builds the game springs it. All else in this file would prove
// nothing if it did not.
func TestTheTrapSprings(t *testing.T) {
	program, sprung := trap(t)
	spec, err := registry.New().Load("ppo", pythonSets(program))
	must(t, err)
	if sprung() {
		t.Error("reading a spec has started its program")
	}
	if _, err := spec.Game.Build(); err == nil || !sprung() {
		t.Errorf("building the game did not start its program: %v", err)
	}
}

// What a run names to run is said, with how to allow it, and is not run: not by a page, not
// by an episode, not by a seat and not by a job. What needs no program works.
func TestNothingRunsWhatAnUntrustedRunNames(t *testing.T) {
	s, root, sets, sprung := trapped(t)
	for _, name := range []string{"0:evil", "0:" + hostile} {
		run, body := "run="+url.QueryEscape(name), fmt.Sprintf(`{"run": %q}`, name)
		for _, path := range []string{"/theatre?", "/join?seat=0&", "/api/theatre/choices?", "/api/theatre/stream?", "POST /api/join?seat=0&"} {
			var w *httptest.ResponseRecorder
			if rest, ok := strings.CutPrefix(path, "POST "); ok {
				w = post1(s, rest+run, "{}")
			} else {
				w = fetch(s, path+run)
			}
			text := strings.ReplaceAll(w.Body.String(), "\\n", "")
			streams := strings.Contains(path, "stream") // which has begun to answer
			if w.Code != http.StatusForbidden && !streams || !strings.Contains(text, "was not made by you") || !strings.Contains(text,
				"hop trust ") ||
				!strings.Contains(text, "evil:make") || !strings.Contains(text, "no page can allow it") {
				t.Errorf("%s of %s: %d %.300s", path, name, w.Code, text)
			}
		}
		for _, what := range []string{"resume", "audit", "ladder"} {
			if w := post1(s, "/api/control/"+what, body); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "hop trust ") {
				t.Errorf("%s of %s: %d %s", what, name, w.Code, w.Body)
			}
		}
		for _, path := range []string{"/?", "/curves?m=return&", "/compare?run=0:a&", "/diagnose?", "/api/curves?m=return&",
			"/api/curves/names?"} {
			w := fetch(s, path+run)
			if w.Code != http.StatusOK {
				t.Errorf("%s of %s: %d %.200s", path, name, w.Code, w.Body)
			}
			if says := strings.Contains(w.Body.String(),
				"hop trust "); says != strings.Contains("/curves?m=return& /diagnose? /api/curves?m=return&", path) {
				t.Errorf("%s of %s: says how to allow it: %v", path, name, says)
			}
		}
	}
	q := url.Values{"preset": {"ppo"}, "set": sets}
	if w := fetch(s, "/start?"+q.Encode()); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "game.env=evil:make") {
		t.Errorf("the form: %d", w.Code)
	}
	fetch(s, "/theatre?game=python&text=1&"+q.Encode())
	if sprung() {
		t.Error("a program was started")
	}
	must(t, trust.Trust{}.Add(filepath.Join(root, "evil"), specLines(t, sets)))
	if w := fetch(s, "/theatre?run=0:evil"); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(),
		"another program plays this game") {
		t.Errorf("a trusted one: %d", w.Code)
	}
}

// specLines is what a spec with those fields would run.
func specLines(t *testing.T, sets []string) []string {
	t.Helper()
	spec, err := registry.New().Load("ppo", sets)
	must(t, err)
	return spec.Executes()
}

// A folder whose name is a flag is a path in every command that is started on it.
func TestAFolderIsNoFlag(t *testing.T) {
	root := t.TempDir()
	t.Chdir(root)
	run := filepath.Join(root, hostile)
	for name, words := range map[string][]string{
		"resume": resumeWords(run), "audit": auditWords(run, run), "ladder": ladderWords(run, run, run),
	} {
		path, seen := "."+string(filepath.Separator)+hostile, false
		for i, w := range words {
			_, value, _ := strings.Cut(w, "=")
			switch {
			case w == "--":
				seen = i == len(words)-2 && words[len(words)-1] == path
			case strings.HasPrefix(w, "--json"), !strings.HasPrefix(w, "-"):
			case value != path:
				t.Errorf("%s: %q could be read as a flag", name, w)
			case strings.HasPrefix(w, "--resume="):
				seen = true
			}
		}
		if !seen {
			t.Errorf("%s: the run is not kept apart from the flags: %q", name, words)
		}
	}
}

// A run whose newest checkpoint is gone or damaged is refused, as every command does, and the
// page leads to the older one by its name.
func TestReplayPlaysWhatItSays(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"whole", "deleted", "damaged"} {
		r := newRun(t, filepath.Join(root, name), "ppo-4x4", 1)
		logWindows(t, r, 1, 8, 9)
		must(t, r.Checkpoint(900, []byte("another"), 2, runlog.Keep{Last: 9}))
		finish(t, r, 1)
	}
	newest := func(name string) string {
		list, err := filepath.Glob(filepath.Join(root, name, "checkpoints", "*900*"))
		if err != nil || len(list) == 0 {
			t.Fatalf("no checkpoint: %v", err)
		}
		return list[0]
	}
	must(t, os.RemoveAll(newest("deleted")))
	b, err := os.ReadFile(newest("damaged"))
	must(t, err)
	must(t, os.WriteFile(newest("damaged"), append(b[:len(b)-1], b[len(b)-1]^1), 0o644))
	s := server(t, root)
	if w := fetch(s, "/theatre?run=0:whole"); w.Code != http.StatusOK || strings.Contains(w.Body.String(), `data-test="older"`) {
		t.Errorf("a whole run: %d", w.Code)
	}
	for _, name := range []string{"deleted", "damaged"} {
		for _, page := range []string{"/theatre", "/join"} {
			w := fetch(s, page+"?run=0:"+name+"&seat=0")
			if text := w.Body.String(); w.Code != http.StatusConflict || !strings.Contains(text, "at=800") || !strings.Contains(text,
				"env step 800") {
				t.Errorf("%s of a run whose newest checkpoint is %s: %d %s", page, name, w.Code, text[strings.Index(text, "refused"):])
			}
		}
		w := post1(s, "/api/join?seat=0&run=0:"+name, "{}")
		if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "by its step, 800") || strings.Contains(w.Body.String(),
			"accept-older") {
			t.Errorf("a seat: %d %s", w.Code, w.Body)
		}
		if w := fetch(s, "/api/theatre/stream?run=0:"+name); !strings.Contains(w.Body.String(), "by its step, 800") {
			t.Errorf("an episode: %d %s", w.Code, w.Body)
		}
		if w := fetch(s, "/theatre?at=800&run=0:"+name); w.Code != http.StatusOK || strings.Contains(w.Body.String(), `data-test="older"`) {
			t.Errorf("the older one by its name: %d %.300s", w.Code, w.Body)
		}
	}
}

// Who changed something, from where and when is written down before it is done, and what
// cannot be written down is not done.
func TestWhatChangesIsWrittenDown(t *testing.T) {
	root, _ := fixture(t)
	s := server(t, root)
	if w := post1(s, "/api/runs/label", `{"run":"0:a","tags":["<b>"],"note":"n"}`); w.Code != http.StatusOK {
		t.Fatal(w.Code, w.Body)
	}
	file := filepath.Join(root, ".hop-serve", "log.jsonl")
	b, err := os.ReadFile(file)
	must(t, err)
	var e struct{ At, Role, From, Did, What string }
	must(t, json.Unmarshal(b, &e))
	if e.Role != "act" || !strings.HasPrefix(e.From, "192.0.2.1:") || e.Did != "label" || !strings.Contains(e.What,
		`0:a: tags ["<b>"], note "n"`) || e.At == "" {
		t.Errorf("%+v", e)
	}
	if text := fetch(s, "/start").Body.String(); !strings.Contains(text, "192.0.2.1") || strings.Contains(text, "<b>") ||
		!strings.Contains(text, "&lt;b&gt;") {
		t.Error("the page does not show it, or not as text")
	}
	must(t, os.Remove(file))
	must(t, os.Mkdir(file, 0o755))
	if w := post1(s, "/api/runs/label", `{"run":"0:a","tags":["other"]}`); w.Code != http.StatusConflict ||
		!strings.Contains(w.Body.String(), "nothing was done") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if tags, err := os.ReadFile(filepath.Join(root, ".hop-serve", "tags.json")); err != nil || bytes.Contains(tags, []byte("other")) {
		t.Errorf("it was done all the same: %v", err)
	}
}

// Whoever may look sees no log, no jobs and no button, and changes nothing.
func TestWhoMayLookChangesNothing(t *testing.T) {
	root, _ := fixture(t)
	s := server(t, root)
	u, err := url.Parse(s.Visit(address("127.0.0.1:8770"), "look"))
	must(t, err)
	looks := []string{"Authorization", "Bearer " + u.Query().Get("token"), "Content-Type", "application/json"}
	for _, r := range s.routes() {
		method, path, _ := strings.Cut(r.pattern, " ")
		if method == http.MethodGet {
			continue
		}
		w := serveOne(s, httptest.NewRequest(method, path, strings.NewReader(`{"run":"0:a"}`)), looks...)
		if seat := strings.HasPrefix(path, "/api/join"); seat == (w.Code == http.StatusForbidden) {
			t.Errorf("%s: %d %s", r.pattern, w.Code, w.Body)
		}
	}
	text := fetch(s, "/start", looks...).Body.String()
	if strings.Contains(text, `data-test="log"`) || !strings.Contains(text, `data-allowed="false"`) {
		t.Error("the page offers what is not allowed")
	}
	if _, err := os.Stat(filepath.Join(root, ".hop-serve")); err == nil {
		t.Error("something was written")
	}
}

// address is a listener's.
type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

// What is asked for with GET has no effect: nothing of the folder changes, whatever the route.
func TestGettingChangesNothing(t *testing.T) {
	s, root, sets, sprung := trapped(t)
	before := snapshot(t, root)
	q := url.Values{"run": {"0:a"}, "preset": {"ppo"}, "set": sets, "game": {"python"}, "text": {"1"}, "seat": {"0"},
		"m": {"return"}, "format": {"csv"}}
	for _, r := range s.routes() {
		method, path, _ := strings.Cut(r.pattern, " ")
		if method != http.MethodGet {
			continue
		}
		serveOne(s, brief(t, method, strings.ReplaceAll(path, "{$}", "")+"?"+q.Encode(), ""))
	}
	if after := snapshot(t, root); !slices.Equal(before, after) || sprung() {
		t.Errorf("something has changed: %d files, were %d; a program was started: %v", len(after), len(before), sprung())
	}
}
