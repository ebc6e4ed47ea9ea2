package cli

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func compared(t *testing.T, args ...string) (compareJSON, string) {
	t.Helper()
	args = append(append(append([]string{"compare"}, args...), brief...), "--json")
	code, out, errs := hop(t, args...)
	if code != 0 {
		t.Fatalf("hop %s: exit %d\n%s", strings.Join(args, " "), code, errs)
	}
	var x compareJSON
	if err := json.Unmarshal([]byte(out), &x); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return x, errs
}

// A comparison trains what is missing, uses what is there, and goes on with what
// was stopped, to the same numbers.
func TestComparisonTrainsOnlyWhatIsMissing(t *testing.T) {
	t.Chdir(t.TempDir())
	ok(t, append([]string{"train", "ppo-4x4", "--seeds", "2"}, brief...)...)
	x, _ := compared(t, "ppo-4x4", "ppo-shared-4x4", "--seeds", "1-2")
	reused := func(x compareJSON) (list []string) {
		for _, v := range x.Variants {
			for _, s := range v.Seeds {
				if s.Reused {
					list = append(list, v.Name+" "+filepath.Base(s.Dir))
				}
			}
		}
		return list
	}
	if got := strings.Join(reused(x), ", "); got != "ppo-4x4 seed-2" {
		t.Errorf("reused %q, want the run that was there", got)
	}
	again, _ := compared(t, "ppo-4x4", "ppo-shared-4x4", "--seeds", "1-2")
	if got := len(reused(again)); got != 4 {
		t.Errorf("the second time %d of 4 runs were reused", got)
	}
	// Seed 1 of the first variant, as if it had been killed before its end.
	dir := again.Variants[0].Seeds[0].Dir
	if err := os.Remove(filepath.Join(dir, "result.json")); err != nil {
		t.Fatal(err)
	}
	more, errs := compared(t, "ppo-4x4", "ppo-shared-4x4", "--seeds", "1-2")
	if !strings.Contains(errs, "seed 1 goes on") || len(reused(more)) != 3 {
		t.Errorf("a run without result was not gone on with: reused %v\n%s", reused(more), errs)
	}
	for i, v := range more.Variants {
		for k, s := range v.Seeds {
			if want := x.Variants[i].Seeds[k].Mean; s.Mean != want {
				t.Errorf("%s seed %d: %v, the first time %v", v.Name, s.Seed, s.Mean, want)
			}
		}
	}
	mean := (x.Variants[0].Seeds[0].Mean + x.Variants[0].Seeds[1].Mean) / 2
	if math.Abs(x.Variants[0].Mean-mean) > 1e-9 || len(x.Improve) != 2 || x.Variants[0].Diff != 0 {
		t.Errorf("mean %v, want %v; %d improvements; difference to itself %v", x.Variants[0].Mean, mean, len(x.Improve), x.Variants[0].Diff)
	}
	// Another spec is another run.
	other, _ := compared(t, "ppo-4x4", "--seeds", "2", "--set", "ppo.lr=2e-3")
	if got := reused(other); len(got) != 0 {
		t.Errorf("a run with another learning rate was reused: %v", got)
	}
	if _, err := os.Stat(filepath.Join("runs", "compare", "compare.html")); err != nil {
		t.Error(err)
	}
}

// Runs are compared as they are, beside each other or beside what is varied.
func TestRunsAndVariedSettingsAreCompared(t *testing.T) {
	t.Chdir(t.TempDir())
	ok(t, append([]string{"train", "ppo-4x4", "--seeds", "2,4"}, brief...)...)
	ok(t, append([]string{"train", "ppo-4x4", "--seeds", "2", "--set", "ppo.lr=2e-3"}, brief...)...)
	_, out, _ := hop(t, "compare", filepath.Join("runs", "ppo-4x4-001"), filepath.Join("runs", "ppo-4x4-002"), "--json")
	var x compareJSON
	if err := json.Unmarshal([]byte(out), &x); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if v := x.Variants; len(v) != 2 || v[0].Name != "ppo-4x4-001" || len(v[0].Seeds) != 2 ||
		v[0].Seeds[1].Seed != 4 || len(v[1].Seeds) != 1 {
		t.Errorf("two runs with seeds 2 and 4, and 2: %+v", v)
	}
	y, _ := compared(t, "ppo-4x4", "--vary", "ppo.lr=1e-3,2e-3", "--seeds", "2")
	if v := y.Variants; len(v) != 2 || v[0].Name != "ppo-4x4 lr=1e-3" || v[1].Name != "ppo-4x4 lr=2e-3" ||
		v[1].Seeds[0].Mean != x.Variants[1].Seeds[0].Mean {
		t.Errorf("varied: %+v", v)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"runs/ppo-4x4-001", "ppo-8x8"}, "play different games"},
		{[]string{"runs/ppo-4x4-001", "--set", "ppo.lr=1"}, "compared as it was trained"},
		{[]string{"ppo-4x4", "--vary", "ppo.lr"}, "want PATH=VALUE,VALUE"},
		{[]string{"runs"}, "holds no run"},
	} {
		if code, _, errs := hop(t, append([]string{"compare"}, c.args...)...); code != 2 || !strings.Contains(errs, c.says) {
			t.Errorf("compare %v: exit %d, %q; want 2 and %q", c.args, code, errs, c.says)
		}
	}
}
