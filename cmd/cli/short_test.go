package cli

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/hop-marl/hop/lab"
)

// A run so short that no episode ends in its last fifth, scored on a single
// episode: what has no value is left out, it is said why, and nothing fails.
func TestARunInWhichNoEpisodeEnds(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		strings.Fields("train ppo-coin --set train.steps=500 --set train.envs=8 --set train.window=10 --set eval.episodes=1 --json"),
		{"train", "--resume", "runs/ppo-coin-001", "--json"},
	} {
		code, out, errs := hop(t, args...)
		var r lab.Trained
		if err := json.Unmarshal([]byte(out), &r); code != 0 || err != nil {
			t.Fatalf("exit %d, %v\n%s\n%s", code, err, out, errs)
		}
		if s := r.Seeds[0]; s.LastFifth != nil || r.Report == "" || !strings.Contains(out, `"se": null`) {
			t.Errorf("last fifth %v, report %q, want none and one:\n%s", s.LastFifth, r.Report, out)
		}
		if args[1] != "--resume" && !strings.Contains(errs, "no episode ended in the last fifth") {
			t.Errorf("it is not said what is missing:\n%s", errs)
		}
		for _, file := range []string{"report.html", "report.md", "seed-1/result.json", "seed-1/metrics.csv"} {
			text, err := os.ReadFile("runs/ppo-coin-001/" + file)
			if err != nil {
				t.Fatal(err)
			}
			text = regexp.MustCompile(`data:[^"]*`).ReplaceAll(text, nil) // pictures
			if at := regexp.MustCompile(`\bNaN\b|[^a-z]Inf\b`).FindIndex(text); at != nil {
				t.Errorf("%s says %q", file, text[max(at[0]-80, 0):min(at[1]+80, len(text))])
			}
		}
	}
	var e lab.Evaluation
	if into(t, &e, "eval", "--team", "ns,ns,nh,nh", "--episodes", "1"); e.Mean == 0 {
		t.Errorf("a single episode: %+v", e)
	}
}
