package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hop/npz"
)

// What cannot be climbed is refused before anything is trained.
func TestLadderRefusesWhatItCannotClimb(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"ladder", "ppo-4x4"}, "do not plan"},
		{[]string{"ladder", "hop-4x4", "--episodes", "1"}, "at least 2"},
		{[]string{"ladder", "hop-4x4", "--vs", "ns,,nh"}, "want bots"},
		{[]string{"ladder", "nothing"}, "nothing"},
	} {
		code, _, err := hop(t, c.args...)
		if code != 2 || !strings.Contains(err, c.want) {
			t.Errorf("%v: exit %d, %q, want exit 2 with %q", c.args, code, err, c.want)
		}
	}
	if list, err := filepath.Glob("runs/*"); err != nil || len(list) > 0 {
		t.Errorf("%v was left behind, %v", list, err)
	}
}

// Trajectories of other code are audited; a damaged file is wrong usage.
func TestAuditReadsTrajectories(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name string, left int64) {
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := npz.Write(f, []npz.Array{
			{Name: "rewards", Shape: []int{3, 2}, Data: []float32{0, 1, 0, 0, 1, 0}},
			{Name: "actions", Shape: []int{3, 2}, Data: []int64{0, 1, 1, left, 0, left}},
			{Name: "dones", Shape: []int{3, 2}, Data: []bool{false, true, false, false, true, false}},
			{Name: "episode", Shape: []int{3}, Data: []int64{0, 0, 0}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	write("good.npz", -1)
	write("bad.npz", 3)
	if code, out, err := hop(t, "audit", "--trajectories", "good.npz", "--json"); code != 0 || !strings.Contains(out, `"verdict": "pass"`) ||
		!strings.Contains(err, "not asked: Seats are not recorded") {
		t.Errorf("good: exit %d, %s, %s", code, out, err)
	}
	if code, out, _ := hop(t, "audit", "--trajectories", "bad.npz", "--json"); code != 0 || !strings.Contains(out, `"module": "buffers"`) ||
		!strings.Contains(out, "2 rows of agent 1") {
		t.Errorf("bad: exit %d, %s", code, out)
	}
	if err := os.WriteFile("text.npz", []byte("no"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, err := hop(t, "audit", "--trajectories", "text.npz"); code != 2 || !strings.Contains(err, "text.npz") {
		t.Errorf("a text file: exit %d, %s", code, err)
	}
	if code, _, err := hop(t, "audit", "--data", ".", "--trajectories", "good.npz"); code != 2 || !strings.Contains(err, "choose one") {
		t.Errorf("both: exit %d, %s", code, err)
	}
}
