package serve

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/train/registry"
)

const controlToken = "a-token-of-many-letters"

// controlled serves a folder with a page in it, with or without control.
func controlled(t testing.TB, control bool) (*Server, string) {
	t.Helper()
	top := t.TempDir()
	dir := filepath.Join(top, "runs")
	outside := filepath.Join(top, "secret.html")
	err := errors.Join(os.MkdirAll(filepath.Join(dir, "audit-a-001"), 0o755), os.WriteFile(outside, []byte("secret"), 0o644),
		os.WriteFile(filepath.Join(dir, "audit-a-001", "audit.html"), []byte("<script>alert(1)</script>an audit"), 0o644),
		os.WriteFile(filepath.Join(dir, "audit-a-001", "audit.json"),
			[]byte(`{"subject": "a<b>", "verdict": "pass", "says": "<i>well</i>"}`), 0o644),
		os.WriteFile(filepath.Join(dir, "audit-a-001", "notes.txt"), []byte("secret"), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	_ = os.Symlink(outside, filepath.Join(dir, "audit-a-001", "link.html"))
	s, err := New(Config{Lab: &lab.Lab{Reg: registry.New()}, Folders: []string{dir}, Control: control, Token: controlToken})
	if err != nil {
		t.Fatal(err)
	}
	return s, dir
}

// asked asks the server's handler as a page of its own would.
func asked(s *Server, method, path, body string) (int, string, http.Header) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "localhost"
	r.Header.Set("Authorization", "Bearer "+controlToken)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	b, _ := io.ReadAll(w.Body)
	return w.Code, string(b), w.Header()
}

func TestWhatCannotBeStartedIsRefused(t *testing.T) {
	s, dir := controlled(t, true)
	for _, c := range []struct {
		path, body string
		code       int
		says       string
	}{
		{"start", `{"preset": "ppo-4x5", "seeds": "1"}`, 400, "did you mean ppo-4x4?"},
		{"start", `{"preset": "/etc/passwd", "seeds": "1"}`, 400, "there is no preset"},
		{"start", `{"preset": "ppo-4x4", "seeds": "1 --out /"}`, 400, "want numbers"},
		{"start", `{"preset": "ppo-4x4", "sets": ["ppo.lr=-1"], "seeds": "1"}`, 400, "ppo.lr is -1, want above 0"},
		{"start", `{"preset": "ppo-4x4", "sets": ["--resume=x"], "seeds": "1"}`, 400, "want FIELD=VALUE"},
		{"start", `{"preset": "ppo-4x4", "folder": 7}`, 400, "no folder 7"},
		{"start", `{"preset": "ppo-4x4", "folder": -1}`, 400, "no folder"},
		{"start", `{"preset": "ppo-4x4", "evil": 1}`, 400, "not the JSON"},
		{"start", `{`, 400, "not the JSON"},
		{"resume", `{"run": "0:../secret"}`, 404, "not a path below"},
		{"resume", `{"run": "0:audit-a-001"}`, 404, "no run"},
		{"audit", `{"run": "/etc"}`, 404, "no such run"},
		{"ladder", `{"run": "1:x"}`, 404, "no such run"},
		{"stop", `{"job": "0:train-001"}`, 404, "no such job"},
		{"stop", `{"job": "0:../../x"}`, 404, "no such job"},
	} {
		code, text, _ := asked(s, "POST", "/api/control/"+c.path, c.body)
		if code != c.code || !strings.Contains(text, c.says) {
			t.Errorf("%s %s: %d %s, want %d %s", c.path, c.body, code, text, c.code, c.says)
		}
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("something was made: %v %v", list, err)
	}
	off, _ := controlled(t, false)
	code, text, _ := asked(off, "POST", "/api/control/start", `{"preset": "ppo-4x4"}`)
	if code != 403 || !strings.Contains(text, "--control") {
		t.Errorf("without --control: %d %s", code, text)
	}
	_, text, _ = asked(off, "GET", "/start", "")
	if !strings.Contains(text, "without --control") || !strings.Contains(text, "hop train ppo-4x4 --seeds 1") {
		t.Error("the page does not say that nothing can be started, and what to type instead")
	}
}

func TestPagesOfRunsAreShownAndCanDoNothing(t *testing.T) {
	s, _ := controlled(t, false)
	code, text, h := asked(s, "GET", "/page?file=0:audit-a-001/audit.html", "")
	p := h.Get("Content-Security-Policy")
	if code != 200 || !strings.Contains(text, "an audit") || !strings.HasPrefix(p, "sandbox; default-src 'none'") {
		t.Errorf("%d %s %s", code, text, p)
	}
	for _, name := range []string{
		"0:audit-a-001/link.html", "0:audit-a-001/notes.txt", "0:../secret.html", "/etc/passwd", "0:audit-a-001/../../secret.html",
		"0:%2e%2e/secret.html", "0:audit-a-001", "0:", "", "1:a.html", "0:audit-a-001/none.html", `0:audit-a-001\audit.html`,
	} {
		code, text, _ := asked(s, "GET", "/page?file="+name, "")
		if code != 404 && code != 400 || strings.Contains(text, "secret\n") || text == "secret" {
			t.Errorf("%s: %d %.200s", name, code, text)
		}
	}
}

func TestNamesAreEscaped(t *testing.T) {
	s, _ := controlled(t, true)
	for _, path := range []string{
		"/start?preset=ppo-4x4&set=<script>alert(1)</script>", "/start?preset=<script>alert(1)</script>", "/start?preset=ppo-4x4&seeds=<script>",
		"/start?preset=ppo-4x4&set=ppo.lr=<script>", "/diagnose?run=<script>alert(1)</script>", "/diagnose?page=<script>", "/diagnose",
		"/diagnose?page=0:audit-a-001/audit.html",
	} {
		address := strings.NewReplacer("<", "%3C", ">", "%3E").Replace(path)
		code, text, _ := asked(s, "GET", address, "")
		if code != 200 && code != 404 && code != 400 {
			t.Errorf("%s: %d", path, code)
		}
		for _, bad := range []string{"<script>", "<i>well", " style=\"", "onclick="} {
			if strings.Contains(text, bad) {
				t.Errorf("%s: the page holds %s", path, bad)
			}
		}
	}
}

func FuzzControl(f *testing.F) {
	f.Add("start", `{"preset": "ppo-4x4", "sets": ["ppo.lr=x"], "seeds": "a"}`)
	f.Add("resume", `{"run": "0:x"}`)
	f.Add("stop", `{"job": "0:train-001"}`)
	f.Add("start", `{"preset": "ppo", "sets": ["game.name=python", "game.env=subprocess:check_output", "ppo.lr=x"], "seeds": "1"}`)
	f.Add("audit", `{"run": "0:--env=evil:make"}`)
	f.Add("ladder", `{"run": "0:../..", "PPO": "--out=/"}`)
	f.Add("resume", `{"run": "0:$JS.API.STREAM.DELETE.jobs"}`)
	s, dir := controlled(f, true)
	f.Fuzz(func(t *testing.T, what, body string) {
		if strings.HasPrefix(what, "start") && !strings.Contains(body, "ppo.lr=x") {
			return // it might be good, and would start something
		}
		r := httptest.NewRequest("POST", "/", strings.NewReader(body))
		r.URL.Path, r.Host = "/api/control/"+what, "localhost"
		r.Header.Set("Authorization", "Bearer "+controlToken)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code == 200 || w.Code == 500 {
			t.Errorf("%q %q: %d %s", what, body, w.Code, w.Body)
		}
		if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
			t.Errorf("something was made: %v %v", list, err)
		}
	})
}

func FuzzPages(f *testing.F) {
	f.Add("/page", "file=0:audit-a-001/audit.html")
	f.Add("/start", "preset=ppo-4x4&set=ppo.lr=1&seeds=1")
	f.Add("/diagnose", "run=0:x&page=..")
	f.Add("/start", "preset=ppo&set=game.name=python&set=game.env=subprocess:check_output&set=game.python=/bin/sh")
	f.Add("/page", "file=0:--env=evil:make/report.html")
	f.Add("/api/control/stream", "job=x&at=-1")
	s, _ := controlled(f, true)
	f.Fuzz(func(t *testing.T, path, query string) {
		if path != "/page" && path != "/start" && path != "/diagnose" {
			path, query = "/api/control/stream", "at=x"+query
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.URL.Path, r.URL.RawQuery, r.Host = path, query, "localhost"
		r.Header.Set("Authorization", "Bearer "+controlToken)
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code == 500 || strings.Contains(w.Body.String(), "secret\n") {
			t.Errorf("%s?%q: %d %.300s", path, query, w.Code, w.Body)
		}
	})
}
