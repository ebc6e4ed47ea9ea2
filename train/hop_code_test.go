package train

import (
	"slices"
	"testing"

	"hop/batch"
	"hop/rng"
	"hop/rollout"
)

// One ns among three nh waits at the stag until time is up: it reached nothing
// and wanted the stag. What such codes lead to must not be left to the hare.
func TestWhoWaitedInVainWantedWhatItStoodAt(t *testing.T) {
	w, g := inferrer(t, -1)
	e, err := rollout.New(rollout.Config{Game: g, Envs: 6, Key: rng.New(4), Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	var players []rollout.Player
	for _, name := range []string{"nh", "ns", "nh", "nh"} {
		b, err := rollout.NewBots(g, name, 6)
		if err != nil {
			t.Fatal(err)
		}
		players = append(players, b)
	}
	ro := batch.New(e.Shape(60, 0))
	e.Collect(ro, [][]rollout.Player{players})
	var list []path
	for j, a := range w.h.others {
		for n := range 6 {
			list = paths(list, ro, a, j, n, false)
		}
	}
	w.count(ro, list)
	spec := g.Spec()
	stay := slices.Index(spec.Actions, "stay")
	stag, hare := slices.Index(spec.Goals, "stag"), slices.Index(spec.Goals, "hare")
	ends := w.ends[stay*len(spec.Goals):][:len(spec.Goals)]
	if ends[stag] < 10 || ends[hare] != 0 {
		t.Errorf("of those who stayed to the end %v wanted the stag and %v a hare, want at least 10 and 0", ends[stag], ends[hare])
	}
}
