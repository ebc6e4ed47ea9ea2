package serve

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hop-marl/hop/lab/sweep"
	"github.com/hop-marl/hop/lab/sweep/queue"
	"github.com/hop-marl/hop/num/disk"
)

// sweptIndex is how a sweep with one job of each phase stands.
func sweptIndex(root string) *sweep.Index {
	entry := func(id string, kind sweep.Kind, s queue.State) sweep.Entry {
		return sweep.Entry{ID: id, Name: id + odd, Kind: kind, Place: "v/seed-1", State: s}
	}
	x := &sweep.Index{Base: "ppo-4x4", Refused: map[string]string{"old": "it is for another build of hop"},
		Turned: map[string]int{"a wrong token": 7},
		Jobs: []sweep.Entry{
			entry("done", sweep.Training, queue.State{Phase: queue.Done, Attempt: 1, Worker: "w1", Cost: queue.Cost{Wall: 100, CPU: 90}}),
			entry("running", sweep.Training, queue.State{Phase: queue.Running, Attempt: 2, Worker: "w2" + odd}),
			entry("queued", sweep.Training, queue.State{Phase: queue.Queued}),
			entry("failed", sweep.Training, queue.State{Phase: queue.Failed, Attempt: 3, Why: "it panicked in " + root + "/swept" + odd,
				Log: "goroutine 1 " + odd}),
			entry("waiting", sweep.After, queue.State{Phase: sweep.Waiting}),
		}}
	x.Jobs[1].Share, x.Jobs[1].Line = 0.25, "25 % "+odd
	return x
}

func writeSweep(t testing.TB, dir string, x *sweep.Index) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Join(dir, "engine", "seed-1"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "engine", "seed-1", "spec.yaml"), nil, 0o644)) // of the engine, and no run
	must(t, os.WriteFile(filepath.Join(dir, "sweep.json"), []byte("{}"), 0o644))
	must(t, disk.WriteSealed(filepath.Join(dir, sweep.IndexFile), x))
}

var markup = regexp.MustCompile(`<[^>]*>`)

// plainText is what a page says.
func plainText(s *Server, path string) string {
	return strings.Join(strings.Fields(markup.ReplaceAllString(fetch(s, path).Body.String(), " ")), " ")
}

func says(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("it does not say %q:\n%s", w, text)
		}
	}
}

// The page says of a sweep how many jobs are how far, who is at work on what, and why jobs were given up.
func TestASweepIsShown(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "swept")
	writeSweep(t, dir, sweptIndex(root))
	s := server(t, root)
	if rows := s.shelf.Now().Rows; len(rows) != 0 {
		t.Errorf("the engine's folder is shown as a run: %s", rows[0].Name)
	}
	says(t, plainText(s, "/sweeps"), "swept of ppo-4x4 stopped", "45 %", "1 given up, 1 at work, 1 queued, 1 waiting, 1 done")
	lock, err := disk.Lock(dir)
	must(t, err)
	one := plainText(s, "/sweeps?sweep=0:swept")
	// 0.75 and 1 jobs of 100 s each, one at a time; what comes after them is not known.
	says(t, one, "running 45 % · more than 2.9 min left 2 of 5 jobs have ended", "Given up 1", "it panicked in swept&lt;img",
		"goroutine 1", "Workers 3", "takes no jobs: it is for another build", "7 (a wrong token)", "25 %")
	if strings.Contains(one, root) {
		t.Error("it says where the folder lies")
	}
	if text := fetch(s, "/sweeps?sweep=0:swept").Body.String(); !strings.Contains(text, `href="/curves?run=0%3aswept%2fv%2fseed-1"`) {
		t.Error("a run that is done is not linked to")
	}
	if text := plainText(s, "/sweeps?sweep=0:swept&phase=queued&q=QUE"); !strings.Contains(text, "queued&lt;img") ||
		strings.Contains(text, "25 %") {
		t.Errorf("a phase and a search: %s", text)
	}
	says(t, plainText(s, "/sweeps?sweep=0:swept&q=nothing"), "No job matches.")
	must(t, disk.Unlock(lock))
	x := sweptIndex(root)
	x.Jobs, x.Ended = x.Jobs[:1], true
	writeSweep(t, dir, x)
	must(t, os.WriteFile(filepath.Join(dir, "report.html"), nil, 0o644))
	says(t, plainText(s, "/sweeps?sweep=0:swept"), "done 100 % 1 of 1", "Report")
	lock, err = disk.Lock(dir) // somebody goes on with it
	must(t, err)
	says(t, plainText(s, "/sweeps?sweep=0:swept"), "running 100 %")
	must(t, disk.Unlock(lock))
}

// Of an evaluation the page says that its jobs are meetings, how many have taken place, and leads to its own page; there
// are no runs to lead to.
func TestAnEvaluationIsShown(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "scored")
	x := sweptIndex(root)
	x.Base, x.Score = "hop among staghunt/test@1", true
	x.Jobs = x.Jobs[:3]
	for i := range x.Jobs {
		x.Jobs[i].Kind, x.Jobs[i].Place = sweep.Scoring, "meetings/a.json"
	}
	writeSweep(t, dir, x)
	s := server(t, root)
	lock, err := disk.Lock(dir)
	must(t, err)
	says(t, plainText(s, "/sweeps?sweep=0:scored"), "hop among staghunt/test@1", "1 of 3 jobs have ended", "Each job is a meeting")
	must(t, os.WriteFile(filepath.Join(dir, "report.html"), nil, 0o644)) // of nobody
	text := fetch(s, "/sweeps?sweep=0:scored").Body.String()
	if strings.Contains(text, "Its runs") || strings.Contains(text, "/curves?run=") || strings.Contains(text, "sweep-report") {
		t.Errorf("it leads to runs, or to a page before there is one:\n%s", text)
	}
	must(t, os.WriteFile(filepath.Join(dir, "adapt.html"), nil, 0o644))
	if text := fetch(s, "/sweeps?sweep=0:scored").Body.String(); !strings.Contains(text, "file=0%3ascored/adapt.html") {
		t.Errorf("it does not lead to its page:\n%s", text)
	}
	must(t, disk.Unlock(lock))
}

// A sweep that cannot be read says so, and the others are shown.
func TestADamagedSweepSaysSo(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"good", "half", "new"} {
		writeSweep(t, filepath.Join(root, name), sweptIndex(root))
	}
	must(t, os.Truncate(filepath.Join(root, "half", sweep.IndexFile), 300))
	must(t, os.Remove(filepath.Join(root, "new", sweep.IndexFile)))
	s := server(t, root)
	says(t, plainText(s, "/sweeps"), "good of ppo-4x4 stopped", "half damaged", "is damaged: unexpected end", "new not begun")
	for _, name := range []string{"half", "new"} {
		if w := fetch(s, "/sweeps?sweep=0:"+name); w.Code != http.StatusOK || strings.Contains(w.Body.String(), root) {
			t.Errorf("%s: %d, or it names %s", name, w.Code, root)
		}
	}
}

// The stream sends the parts of the page that have changed, and no others.
func TestASweepIsStreamed(t *testing.T) {
	root := t.TempDir()
	x := sweptIndex(root)
	writeSweep(t, filepath.Join(root, "swept"), x)
	base, _, end := start(t, root)
	defer end()
	c := &http.Client{Transport: &http.Transport{}}
	defer c.CloseIdleConnections()
	n := 0
	events(t, c, base+"/api/sweeps/stream?sweep=0:swept", func(name, data string) bool {
		var parts map[string]string
		must(t, json.Unmarshal([]byte(data), &parts))
		if n++; n == 1 {
			if len(parts) < 4 || strings.Contains(data, "<img") {
				t.Errorf("first %d parts, or a name is not escaped", len(parts))
			}
			x.Jobs[1].Share = 0.5
			writeSweep(t, filepath.Join(root, "swept"), x)
			return false
		}
		if parts["given"] != "" || !strings.Contains(parts["workers"], `value="0.5"`) || !strings.Contains(parts["jobs"], `value="0.5"`) {
			t.Errorf("after a change: %v", parts)
		}
		return true
	})
}

// A sweep whose index was changed is not shown as it says, and of one without a seal the page says that nothing vouches for it.
func TestASweepsSealIsLookedAt(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"changed", "loose"} {
		writeSweep(t, filepath.Join(root, name), sweptIndex(root))
	}
	index := filepath.Join(root, "changed", sweep.IndexFile)
	b, err := os.ReadFile(index)
	must(t, err)
	must(t, os.WriteFile(index, []byte(strings.Replace(string(b), `"attempt": 3`, `"attempt": 1`, 1)), 0o644))
	must(t, disk.WriteJSON(filepath.Join(root, "loose", sweep.IndexFile), sweptIndex(root)))
	says(t, plainText(server(t, root), "/sweeps"), "changed damaged", "was changed after it was written", "nothing vouches for them")
}
