package gametest

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
)

var update = flag.Bool("update", false, "rewrite the playthroughs in testdata")

// Playthrough plays one episode with a bot of each name in each seat and
// compares its text with the file, which the flag -update rewrites.
func Playthrough(t *testing.T, g game.Game, team []string, seed uint64, file string) {
	t.Helper()
	got, err := Record(g, team, seed)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; write it with: go test -run %s -update", err, t.Name())
	}
	if err := firstDifference(got, bytes.ReplaceAll(want, []byte("\r"), nil)); err != nil {
		t.Fatalf("%s, %v\nif the change is right: go test -run %s -update", file, err, t.Name())
	}
}

// firstDifference returns an error that shows the first line in which two texts
// differ, or nil.
func firstDifference(got, want []byte) error {
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		a, b := "(end)", "(end)"
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			return fmt.Errorf("line %d:\ngot  %s\nwant %s", i+1, a, b)
		}
	}
	return nil
}

// Record returns the text of one episode: every state, joint action and reward.
func Record(g game.Game, team []string, seed uint64) ([]byte, error) {
	spec := g.Spec()
	if len(team) != spec.Seats {
		return nil, fmt.Errorf("gametest: %s has %d seats, got a team of %d", spec.Name, spec.Seats, len(team))
	}
	bots := make([]game.Bot, spec.Seats)
	for s, name := range team {
		b, err := game.NewBot(g, name)
		if err != nil {
			return nil, err
		}
		bots[s] = b
	}
	key := rng.New(seed)
	rules, act := key.Child("rules").Rand(), key.Child("act").Rand()
	st := g.New()
	st.Reset(&rules)
	out := fmt.Appendf(nil, "%s, seed %d, team %s\n\n", spec.Name, seed, strings.Join(team, " "))
	actions, rewards := make([]int32, spec.Seats), make([]float32, spec.Seats)
	for {
		var err error
		if out, err = st.AppendText(out); err != nil {
			return nil, err
		}
		if st.Over() {
			return out, nil
		}
		out = append(out, "\nplay"...)
		for s := range actions {
			actions[s] = game.NoAction
			name := "-"
			if st.Alive(game.Seat(s)) {
				actions[s] = bots[s].Act(st, game.Seat(s), &act)
				name = strings.ReplaceAll(spec.Actions[actions[s]], " ", "-")
			}
			out = fmt.Appendf(out, " %s", name)
		}
		st.Step(actions, rewards, &rules)
		out = append(out, "\npaid"...)
		for _, r := range rewards {
			out = fmt.Appendf(out, " %.4g", r)
		}
		out = append(out, "\n\n"...)
	}
}
