package cli

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/lab/report/adapted"
)

func adaptOf(t *testing.T, args ...string) (r adapted.Row) {
	t.Helper()
	into(t, &r, append([]string{"adapt"}, args...)...)
	return r
}

// The exact best response has no regret on its own starts, beyond the luck of
// ties; a hare hunter among stag hunters loses what the stag pays.
func TestAdaptationRegretIsOnCommonStarts(t *testing.T) {
	args := []string{"--vs", "ns,ns,ns", "--lives", "8", "--steps", "300", "--last", "150"}
	best := adaptOf(t, append([]string{"br"}, args...)...)
	hares := adaptOf(t, append([]string{"nh"}, args...)...)
	if best.BestName != "exact" || math.Abs(best.Regret) > 0.08 || math.Abs(best.Share()-1) > 0.05 {
		t.Errorf("the best response has regret %.3f and normalised score %.3f (%s), want about 0 and 1",
			best.Regret, best.Normalised, best.BestName)
	}
	if hares.Regret < 1.5 || hares.Normalised > 0.5 {
		t.Errorf("nh has regret %.3f and normalised score %.3f, want about 1.9 and little", hares.Regret, hares.Normalised)
	}
	if got := hares.Score + hares.Regret; math.Abs(got-hares.BestResponse) > 1e-9 {
		t.Errorf("score and regret add up to %.4f, the best response is %.4f", got, hares.BestResponse)
	}
}

// A bot that follows one script never comes back after the world has changed;
// the best response is there at once.
func TestAdaptationSeesAChangeOfCoPlayers(t *testing.T) {
	dir := t.TempDir()
	args := []string{"--vs", "nh,nh,nh", "--then", "ns,ns,ns", "--at-episode", "5", "--lives", "12", "--steps", "300", "--last", "100"}
	stag := adaptOf(t, append([]string{"ns", "--out", dir}, args...)...)
	hare := adaptOf(t, append([]string{"nh"}, args...)...)
	if stag.Back == nil || *stag.Back > 1 {
		t.Errorf("a stag hunter is back after %v episodes among stag hunters, want at once", stag.Back)
	}
	if hare.Back == nil || *hare.Back != -1 {
		t.Errorf("a hare hunter is back after %v episodes among stag hunters, want never", hare.Back)
	}
	type part struct{ Score, Best_response, Regret float64 }
	var row struct {
		Table []struct{ Parts []part }
	}
	readJSON(t, filepath.Join(dir, "adapt.json"), &row)
	if parts := row.Table[0].Parts; len(parts) != 2 || math.Abs(parts[0].Best_response-1) > 1e-6 || parts[1].Best_response < 2 ||
		parts[1].Score < 2 || parts[1].Best_response != stag.BestResponse {
		t.Errorf("the parts of a life with a change are %+v, want best responses of 1 and more than 2", parts)
	}
	b, err := os.ReadFile(filepath.Join(dir, "adapt.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"3 ns from episode 6", "3 nh, episodes 1 to 5", "then 3 ns, from episode 6", "return of an episode",
		"back at 90 % of that at once", "over 12 lives", "of the best response among 3 nh"} {
		if !strings.Contains(strings.ReplaceAll(string(b), "\u00a0", " "), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	refused(t, "adapt ns --vs nh,nh,nh --then ns,ns,ns --at-episode 500 --lives 2 --steps 100 --last 50", "--at-episode")
}

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A run goes on with what it is told, and the same command gives the same numbers
// for any number of workers. It takes 4 s of processor time: lives in which each part learns.
func TestAdaptationLearnsWhatItIsAskedTo(t *testing.T) {
	t.Chdir(t.TempDir())
	ok(t, "train", "hop-4x4", "--set", "train.steps=1500", "--set", "eval.episodes=4", "--set", "train.warm.windows=1",
		"--set", "search.trees=2", "--set", "search.sims=4", "--set", small, "--set", "moa.hidden=[16,16]", "--set", short)
	scores := map[string]string{}
	for _, learn := range []string{"nothing", "beliefs", "moa", "policy", "all"} {
		var first string
		for _, workers := range []string{"2", "1"} {
			if learn != "all" && learn != "beliefs" && workers == "1" {
				continue
			}
			out := ok(t, "adapt", "runs/hop-4x4-001", "--vs", "ns,nh,deadline", "--learn", learn, "--lives", "2", "--steps", "120",
				"--last", "60", "--every", "60", "--workers", workers, "--json")
			if first == "" {
				first = out
			}
			if out != first {
				t.Errorf("%s: one and two workers differ", learn)
			}
		}
		var r adapted.Row
		if err := json.Unmarshal([]byte(first), &r); err != nil {
			t.Fatal(err)
		}
		if r.Known {
			t.Errorf("the run has not met a deadline, but is said to have")
		}
		if len(r.Action) == 0 || len(r.Belief) == 0 {
			t.Errorf("%s: %d episodes of predicted actions and %d of beliefs, want some", learn, len(r.Action), len(r.Belief))
		}
		for _, x := range r.Reading {
			if x.Goal == nil || x.Action == nil || !(x.Goal.Limit > 0.5 && x.Action.Limit > 0.5) || x.Goal.Accuracy > 1 || len(x.Words) != 3 {
				t.Errorf("%s: %s is read as %+v, goals %+v, actions %+v", learn, x.Name, x, x.Goal, x.Action)
			}
		}
		if len(r.Reading) != 3 {
			t.Errorf("%s: %d names were read, want ns, nh and deadline", learn, len(r.Reading))
		}
		r.Learn = ""
		b, _ := json.Marshal(r)
		for other, same := range scores {
			if same == string(b) {
				t.Errorf("learning %s and %s came out the same", learn, other)
			}
		}
		scores[learn] = string(b)
	}
	text := ok(t, "adapt", "runs/hop-4x4-001", "--trios", "ns,ns,ns runs/hop-4x4-001/seed-1#1,nh,nh", "--lives", "1", "--steps", "40",
		"--last", "20", "--out", "page", "--agent", "2") // who sits in another place than it learnt in
	if !strings.Contains(text, "goals right") {
		t.Errorf("nothing is said of goals:\n%s", text)
	}
	for _, name := range []string{"adapt.html", "adapt.md"} {
		b, err := os.ReadFile(filepath.Join("page", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"hop-4x4-001 gets", "It met no strangers", "warm-up, stand-ins", "hop-4x4-001, seed 1, agent 1",
			"goals right"} {
			if !strings.Contains(string(b), want) {
				t.Errorf("%s does not say %q", name, want)
			}
		}
		if strings.Contains(string(b), "runs/") {
			t.Errorf("%s names folders", name)
		}
	}
}

func TestAdaptationTableHasEveryTrio(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "table")
	out := ok(t, "adapt", "ns", "switcher", "--trios", "ns,ns,ns nh,nh,nh", "--lives", "4", "--steps", "200", "--last", "100",
		"--seeds", "1-2", "--out", dir)
	if strings.Count(out, "  switcher  ") != 2 {
		t.Fatalf("two meetings of the switcher are not listed:\n%s", out)
	}
	for _, name := range []string{"adapt.md", "adapt.html", "adapt.json"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(b), "switcher") {
			t.Errorf("%s: %v, %d bytes", name, err, len(b))
		}
	}
}
