package serve

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

var long = flag.Bool("long", false, "5,000 random requests instead of some hundreds, and a server under load")

// snapshot lists the files below folders, with their sums, but for what a server writes.
func snapshot(t testing.TB, roots ...string) (list []string) {
	t.Helper()
	for _, root := range roots {
		must(t, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.Name() == ".hop-serve" {
				return fs.SkipDir
			}
			b := []byte{}
			if d.Type().IsRegular() {
				b, err = os.ReadFile(name)
			}
			list = append(list, fmt.Sprintf("%s %x", name, sha256.Sum256(b)))
			return err
		}))
	}
	return list
}

// brief is a request that nobody waits for for long: streams go on for ever.
func brief(t testing.TB, method, address, body string) *http.Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Millisecond)
	t.Cleanup(cancel)
	r := httptest.NewRequest(method, "/", strings.NewReader(body))
	u, err := url.Parse(address)
	must(t, err)
	r.URL = u
	return r.WithContext(ctx)
}

// children lists the processes whose parent is this one.
func children(t testing.TB) (list []string) {
	t.Helper()
	dirs, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range dirs {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == fmt.Sprint(os.Getpid()) {
			list = append(list, name)
		}
	}
	return list
}

// What a random request is put together from: what is right, what is nearly right, and what
// is meant to do harm.
func pieces(root, program string) (names, values []string) {
	names = []string{"find", "group", "band", "centre", "x", "not",
		"run", "m", "by", "agent", "w", "px", "from", "to", "logx", "logy", "format", "threshold", "team", "seat",
		"seed", "moves", "at", "game",
		"set", "preset", "seeds", "folder", "file", "page", "job", "kind", "rev", "after", "sweep", "q", "phase", "lang", "rows",
		"text", "id", "session", "token", "step"}
	values = []string{"0:a", "0:a/seed-1", "0:b", "0:live", "0:evil", "0:" + hostile, "0:swept", "0:..", "0:../../etc/passwd",
		"/etc/passwd", "0:" + root, "..%2f..",
		"1:a", "-1", "0", "1", "800", "99999999999999999999", "NaN", "Inf", "1e309", "-0", "0.5", "", "\x00", "\xff\xfe",
		"<script>alert(1)</script>", "'; --", "%zz",
		"python", "cartpole", "staghunt", "coin", "matrix", "chess", "ppo", "ppo-4x4", "hop+main", "return", "return/mean", "no/such",
		"mean", "seed", "agent", "all",
		"csv", "svg", "png", "exe", "game.name=python", "game.env=subprocess:check_output", "game.python=" + program,
		`game.kwargs={"args":["touch","x"]}`,
		"game.size=900", "game.size=-1", "train.steps=1", "ppo.lr=x", "--env=evil:make", "--out=/", "plan,plan,plan,plan",
		"ns,ns,ns,ns", "run,run,run,run", "br,br",
		"0:a#0@800,ns,ns,ns", "0:evil#0,ns,ns,ns", "a#b@c", "1.2.3", "x.y", "zh", "en", strings.Repeat("x", 3000), "0:train-001",
		"0:../train-001", "train", "hop.jobs.put",
		"$JS.API.STREAM.DELETE.jobs", `{"run":"0:a"}`, controlToken}
	return names, values
}

// Random requests over every route, of every method, by everybody: none is answered with a
// fault of the server, none starts a process, and none touches a file outside of what the
// server writes. Runs of the fixture stay as they were. Starting a training is left out where it
// would succeed: that is what it is for.
func TestRandomRequestsDoNoHarm(t *testing.T) {
	s, root, sets, sprung := trapped(t)
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "x"), nil, 0o644))
	t.Chdir(outside)
	program := strings.TrimPrefix(sets[2], "game.python=")
	before, had := snapshot(t, root, outside, filepath.Dir(program)), children(t)
	look, err := url.Parse(s.Visit(address("127.0.0.1:8770"), "look"))
	must(t, err)
	tokens := []string{"", "Bearer wrong-wrong-wrong-wrong", "Bearer " + look.Query().Get("token"), "Bearer " + controlToken,
		"Bearer " + controlToken, "Bearer " + controlToken, "Bearer " + controlToken}
	methods := []string{"GET", "GET", "GET", "POST", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"}
	names, values := pieces(root, program)
	n, seed := 400, uint64(7)
	if *long {
		n = 5000
	}
	rnd := rand.New(rand.NewPCG(seed, 1))
	pick := func(list []string) string { return list[rnd.IntN(len(list))] }
	routes := s.routes()
	codes, began := map[int]int{}, time.Now()
	for i := range n {
		own, path, _ := strings.Cut(routes[i%len(routes)].pattern, " ")
		path = strings.ReplaceAll(path, "{$}", "")
		method := own
		if rnd.IntN(3) == 0 {
			method = pick(methods)
		}
		if rnd.IntN(20) == 0 {
			path += pick([]string{"/..", "/%2e%2e/x", "//evil.example", "/0:a", "%00", "\\"})
		}
		q := url.Values{}
		for range rnd.IntN(6) {
			q.Add(pick(names), pick(values))
		}
		if rnd.IntN(8) == 0 { // one that would start a program, if anything did
			q = url.Values{"preset": {"ppo"}, "game": {"python"}, "set": sets, "text": {"1"}}
		}
		body := map[string]any{}
		for range rnd.IntN(4) {
			body[pick([]string{"run", "Run", "tags", "note", "job", "ID", "At", "Action", "preset", "sets", "seeds", "folder",
				"PPO", "runs", "to"})] =
				[]any{pick(values), []string{pick(values)}, rnd.IntN(9) - 2, nil, "0:a", "0:" + hostile, []string{"ppo.lr=x"}}[rnd.IntN(7)]
		}
		text := asJSON(t, body)
		if rnd.IntN(8) == 0 {
			text = pick([]string{"", "{", "null", "[]", `"x"`, strings.Repeat("[", 10_000)})
		}
		if strings.HasPrefix(path, "/api/control/start") {
			text = strings.ReplaceAll(text, `"preset"`, `"preset_"`) // it might be good, and would start something
		}
		if path == "/api/control/audit" || path == "/api/control/resume" { // of these runs too
			text = strings.NewReplacer(`"0:a"`, `"0:evil"`, `"0:b"`, `"0:evil"`, `"0:a/seed-1"`, `"0:evil"`, `"0:live"`, `"0:evil"`).Replace(text)
		}
		if path == "/api/runs/rename" || path == "/api/runs/delete" { // it might be good, and would move one
			text = strings.ReplaceAll(text, `"0:`, `"0:no-`)
		}
		address := (&url.URL{Path: path}).String() + "?" + q.Encode()
		u, err := url.Parse(address)
		if err != nil {
			continue
		}
		r := brief(t, method, "/", text)
		r.URL = u
		header := []string{"Authorization", pick(tokens), "Content-Type", pick([]string{"application/json", "application/json",
			"application/json", "application/json", "text/plain"}),
			"Sec-Fetch-Site", pick([]string{"same-origin", "same-origin", "same-origin", "same-origin", "same-origin", "none", "none",
				"cross-site", "same-site", ""})}
		if rnd.IntN(4) == 0 {
			header = append(header, "Origin", pick([]string{"http://127.0.0.1:8770", "http://127.0.0.1:1", "null", "http://evil.example"}))
		}
		w := serveOne(s, r, header...)
		codes[w.Code]++
		if w.Code >= 500 && r.Context().Err() == nil || sprung() {
			t.Fatalf("request %d of seed %d, %s %s with %s: %d %.300s; a program was started: %v", i, seed, method, address, text, w.Code,
				w.Body, sprung())
		}
	}
	t.Logf("%d requests over %d routes in %v: %v", n, len(routes), time.Since(began).Round(time.Second), codes)
	if after := snapshot(t, root, outside, filepath.Dir(program)); strings.Join(before, "\n") != strings.Join(after, "\n") {
		t.Errorf("files have changed: %d, were %d\n%s", len(after), len(before), strings.Join(after, "\n"))
	}
	if now := children(t); runtime.GOOS == "linux" && len(now) > len(had) {
		t.Errorf("processes were started: %v", now)
	}
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	must(t, err)
	return string(b)
}
