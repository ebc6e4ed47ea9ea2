package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/npz"
)

// few are settings that make the tutorial's commands short.
var few = []shortened{
	{"hop train ppo", []string{
		"--set", "train.envs=16", "--set", "train.steps=4000", "--set", "eval.episodes=50", "--set", "train.save=4000",
		"--set", "game.horizon=5",
	}},
	{"hop report", []string{"--no-gif"}},
	{"hop adapt", []string{"--lives", "2", "--steps", "60", "--last", "30"}},
	{"hop eval", []string{"--episodes", "200"}},
	{"hop audit runs", []string{"--episodes", "20"}},
}

// Every command of the tutorial runs. Those of the program with an own game are run by
// examples/outside, and what Python writes there is written here.
func TestTutorialCommandsRun(t *testing.T) {
	lines := commands(t, "docs/tutorial.md")
	t.Chdir(t.TempDir())
	outside := false
	for _, line := range lines {
		t.Run(line, func(t *testing.T) {
			switch {
			case line == "cd examples/outside", line == "cd ../..":
				outside = line == "cd examples/outside"
			case outside, line == "go install ./cmd/hop":
			case strings.HasPrefix(line, "python3 docs/examples/dump.py"):
				recording(t, strings.HasSuffix(line, "--rows-after-exit"))
			case strings.HasPrefix(line, "hop audit --trajectories"):
				out := ok(t, strings.Fields(line)[1:]...)
				if fault := strings.Contains(out, "FAULT in buffers"); fault != faulty {
					t.Errorf("rows after exit: %v; the audit says\n%s", faulty, out)
				}
			default:
				runLine(t, line, few)
			}
		})
	}
}

// faulty says whether the recording has rows of agents that had left.
var faulty bool

// recording writes run.npz: two agents, of which one leaves after the first of two
// steps of each episode and, if the recording is faulty, acts on.
func recording(t *testing.T, bad bool) {
	t.Helper()
	faulty = bad
	gone := int64(-1)
	if faulty {
		gone = 3
	}
	var episode, actions, dones []int64
	var rewards []float64
	for e := range int64(40) {
		episode = append(episode, e, e)
		actions = append(actions, e%5, (e+1)%5, gone, e%3)
		dones = append(dones, 1, 0, 0, 1)
		rewards = append(rewards, 1, 0, 0, float64(e%2))
	}
	var b bytes.Buffer
	if err := npz.Write(&b, []npz.Array{
		{Name: "episode", Shape: []int{80}, Data: episode},
		{Name: "actions", Shape: []int{80, 2}, Data: actions},
		{Name: "rewards", Shape: []int{80, 2}, Data: rewards},
		{Name: "dones", Shape: []int{80, 2}, Data: dones},
	}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("run.npz", b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
