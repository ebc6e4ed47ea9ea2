package serve

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hop-marl/hop/store/runlog"
)

// Runs are renamed with what is written about them, put out of the list and back, and deleted into a
// folder beside them; one that is being written, or that a sweep counts on, stays where it is.
func TestRunsAreRenamedArchivedAndDeleted(t *testing.T) {
	root, _ := fixture(t)
	s := server(t, root)
	must(t, os.Rename(filepath.Join(root, odd), filepath.Join(root, "swept", "x")))
	do := func(what, body string, code int, words string) {
		t.Helper()
		w := post1(s, "/api/runs/"+what, body)
		if w.Code != code || !strings.Contains(w.Body.String(), words) {
			t.Errorf("%s %s: %d %s, want %d with %q", what, body, w.Code, w.Body, code, words)
		}
	}
	do("label", `{"run":"0:a","tags":["good"],"note":"n"}`, 200, "good")
	do("rename", `{"run":"0:a","to":"c d"}`, 200, `"0:c d"`)
	if row, ok := s.shelf.Now().Row("0:c d"); !ok || len(row.Tags) != 1 || row.Note != "n" || len(row.Seeds) != 2 {
		t.Errorf("renamed: %v %+v", ok, row.Training)
	}
	for _, to := range []string{"b", "../x", "x/y", ".x", "seed-3", "", "a:b", `a\\b`} {
		code, words := 400, "no name for a run"
		if to == "b" {
			code, words = 409, "is there already"
		}
		do("rename", `{"run":"0:c d","to":"`+to+`"}`, code, words)
	}
	do("rename", `{"run":"0:c d/seed-1","to":"e"}`, 404, "no training of the list")
	do("rename", `{"run":"0:live","to":"e"}`, 409, "is being written")
	do("delete", `{"runs":["0:b","0:live"]}`, 409, "is being written")
	do("delete", `{"runs":["0:swept/x"]}`, 409, "belongs to the sweep")
	do("delete", `{"runs":[]}`, 400, "no run is named")
	do("archive", `{"runs":["0:none"],"archived":true}`, 404, "")
	do("archive", `{"runs":["0:b","0:c d"],"archived":true}`, 200, "")
	if row, _ := s.shelf.Now().Row("0:c d"); !row.Archived || len(row.Tags) != 1 {
		t.Errorf("archived: %+v", row.Training)
	}
	if list := fetch(s, "/").Body.String(); strings.Contains(list, "c d") || !strings.Contains(fetch(s, "/?archived=1").Body.String(), "c d") {
		t.Error("what is archived is listed with the others, or not at all")
	}
	do("archive", `{"runs":["0:b"]}`, 200, "")
	do("delete", `{"runs":["0:b","0:c d"]}`, 200, ".trash")
	if _, err := runlog.Seeds(filepath.Join(root, ".trash", "b-001", "b")); err != nil {
		t.Error(err)
	}
	if _, ok := s.shelf.Now().Row("0:b"); ok {
		t.Error("what was deleted is still listed")
	}
	must(t, os.Rename(filepath.Join(root, ".trash", "c d-001", "c d"), filepath.Join(root, "c d")))
	if w := fetch(s, "/api/runs"); w.Code != http.StatusOK || strings.Contains(w.Body.String(), `"good"`) {
		t.Error("a run that takes the name of a deleted one takes its tags")
	}
	b, err := os.ReadFile(filepath.Join(root, ".hop-serve", "log.jsonl"))
	text := string(b)
	if err != nil || !strings.Contains(text, `"did":"delete","what":"2 runs: 0:b, 0:c d"`) || !strings.Contains(text, `"0:a: c d"`) {
		t.Errorf("the log says %s, %v", text, err)
	}
}

// All that a search finds can be shown without their names, in groups, over the clock too; more than
// sixty trainings are never lines of their own.
func TestCurvesOfWhatASearchFinds(t *testing.T) {
	root := t.TempDir()
	many(t, root, 65, 3)
	s := server(t, root)
	ask := func(query string) (c struct {
		All    int
		Field  string
		Band   string
		Groups []curveGroup
		Panels []struct {
			Lines []struct {
				Label     string
				Step      []int64
				Runs      []int
				Low, High []float64
			}
		}
	}) {
		t.Helper()
		fetchJSON(t, s, "/api/curves?m=return/mean&"+query, &c)
		return c
	}
	ahead, stop := context.WithCancel(t.Context())
	go s.readAhead(ahead)
	oldest := s.indexes.Of(filepath.Join(root, "run-0000", "seed-1"))
	for began := time.Now(); !oldest.Begun(); oldest = s.indexes.Of(filepath.Join(root, "run-0000", "seed-1")) {
		if time.Sleep(time.Millisecond); time.Since(began) > 20*time.Second {
			t.Fatal("of 65 runs nobody reads ahead")
		}
	}
	stop()
	c := ask("find=1")
	if c.All != 65 || c.Field != "preset" || len(c.Panels[0].Lines) != 1 || c.Panels[0].Lines[0].Runs[0] != 65 {
		t.Errorf("65 runs: %+v", c)
	}
	for _, axis := range []string{"", "wall", "agents"} {
		c = ask("find=1&q=lr<0.005+gamma>0.91&group=ppo.lr&band=minmax&x=" + axis)
		if len(c.Groups) != 3 || c.Groups[0].Label != "ppo.lr=0.0003" || c.Groups[2].Label != "ppo.lr=0.003" || c.Groups[0].Runs != 15 {
			t.Fatalf("groups are %+v", c.Groups)
		}
		for i, l := range c.Panels[0].Lines {
			if len(c.Panels[0].Lines) != 3 || l.Runs[0] != c.Groups[i].Runs || l.Label != c.Groups[i].Label {
				t.Errorf("line %d of %d is %s over %d runs, want %+v", i, len(c.Panels[0].Lines), l.Label, l.Runs[0], c.Groups[i])
			}
		}
		first := c.Panels[0].Lines[0]
		want := map[string]int64{"": 3840, "wall": 500, "agents": 4 * 900}[axis] // of the first window
		if n := len(first.Step); n == 0 || first.Step[0] < want || first.Step[n-1] > 3*want+1000 || first.Low[0] < 0 {
			t.Errorf("over %q: %+v", axis, first)
		}
	}
	if c = ask("find=1&q=lr<0.005&not=0:run-0000"); c.All != 49 {
		t.Errorf("%d runs, want all but one of fifty", c.All)
	}
	var n names
	fetchJSON(t, s, "/api/curves/names?find=1", &n)
	if got := strings.Join(n.Fields, " "); got != "ppo.gamma ppo.lr" {
		t.Errorf("they differ in %s", got)
	}
	fetchJSON(t, s, "/api/curves/names?run=0:run-0000", &n)
	if last := n.Metrics[len(n.Metrics)-1]; last.Name != runlog.RateMetric || last.Rows != 3 {
		t.Errorf("the last metric is %+v, want env steps a second", last)
	}
}
