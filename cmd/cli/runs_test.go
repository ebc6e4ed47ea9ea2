package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/disk"
)

// Runs are listed with what tells them apart, renamed, removed into a folder, and put back.
func TestRunsAreListedMovedAndRemoved(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, lr := range []string{"1e-3", "2e-3"} {
		ok(t, append([]string{"train", "ppo-4x4", "--seeds", "1", "--set", "ppo.lr=" + lr}, brief...)...)
	}
	listed := func() (x struct {
		Runs []struct {
			Title, State string
			Mean         *float64
			Settings     map[string]string
		}
	}) {
		out := ok(t, "ls", "--json")
		if err := json.Unmarshal([]byte(out), &x); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return x
	}
	got := map[string]string{}
	for _, r := range listed().Runs {
		if len(r.Settings) != 1 || r.State != "done" || r.Mean == nil {
			t.Errorf("%+v", r)
		}
		got[r.Title] = r.Settings["ppo.lr"]
	}
	if len(got) != 2 || got["ppo-4x4-001"] != "0.001" || got["ppo-4x4-002"] != "0.002" {
		t.Errorf("told apart by %v", got)
	}
	if text := ok(t, "ls"); !strings.Contains(text, "ppo.lr=0.002") {
		t.Errorf("the table does not tell runs apart:\n%s", text)
	}
	one, two := filepath.Join("runs", "ppo-4x4-001"), filepath.Join("runs", "base line")
	ok(t, "mv", one, two)
	ok(t, "rm", two)
	bin := filepath.Join("runs", ".trash", "base line-001", "base line")
	if list := listed().Runs; len(list) != 1 {
		t.Errorf("after rm there are %d runs", len(list))
	}
	ok(t, "mv", bin, "runs")
	if list := listed().Runs; len(list) != 2 {
		t.Errorf("put back, there are %d runs", len(list))
	}
	lock, err := disk.Lock(filepath.Join(two, "seed-1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ command, says string }{
		{"rm|" + two, "is being written by process"},
		{"mv|" + two + "|runs/x", "is being written by process"},
		{"rm|runs", "holds no run"},
		{"rm|" + filepath.Join(two, "seed-1"), "is a seed of"},
		{"mv|runs/ppo-4x4-002|" + "runs/base line/seed-1/spec.yaml", "is there already"},
	} {
		code, _, errs := hop(t, strings.Split(c.command, "|")...)
		if code != 2 || !strings.Contains(errs, c.says) {
			t.Errorf("%s: exit %d, %q", c.command, code, errs)
		}
	}
	if err := disk.Unlock(lock); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(two); err != nil {
		t.Error(err)
	}
}
