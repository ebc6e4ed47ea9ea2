package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// The same command keeps what is there; another game or seed is another folder.
func TestZooKeepsWhatIsThere(t *testing.T) {
	t.Chdir(t.TempDir())
	raise := func(args ...string) (z zooJSON) {
		t.Helper()
		into(t, &z, append([]string{"zoo", "train", "--who", "selfish", "--steps", "1000", "--set", "game.horizon=8"}, args...)...)
		return z
	}
	first := raise()
	if n := len(first.Members); n != 1 || first.Members[0].Reused || first.Members[0].Status != "done" {
		t.Fatalf("the first time: %+v", first.Members)
	}
	before, err := os.Stat(filepath.Join(first.Members[0].Run, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	again := raise()
	after, err := os.Stat(filepath.Join(again.Members[0].Run, "result.json"))
	if err != nil || !again.Members[0].Reused || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("the second time it was trained again: %+v, %v", again.Members[0], err)
	}
	if other := raise("--seed", "2"); other.Members[0].Reused || other.Members[0].Run == first.Members[0].Run {
		t.Errorf("another seed gave the same: %+v", other.Members[0])
	}
	if other := raise("--set", "game.stags=2"); other.Members[0].Reused {
		t.Errorf("another game gave the same: %+v", other.Members[0])
	}
	r := adaptOf(t, "ns", "--vs", "selfish,selfish,nh", "--zoo", "zoo", "--set", "game.horizon=8", "--lives", "2", "--steps", "60", "--last",
		"30")
	if r.Known || r.BestName == "exact" {
		t.Errorf("learners are said to be known (%v), or solved by %q", r.Known, r.BestName)
	}
	refused(t, "adapt ns --vs selfish,nobody,nh --set game.horizon=8", "nobody")
}
