package rollout_test

import (
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/rng"
)

// asker asks before every act what everybody did last.
type asker struct {
	rollout.Player
	t     *testing.T
	last  map[[2]int][2]int // by env and agent: action and goal of the last step
	asked int
}

func (p *asker) Act(v *rollout.View, envs []int32) {
	for _, n := range envs {
		for a := range agent.ID(v.Agents) {
			want := [2]int{int(game.NoAction), game.NoGoal}
			if !v.Start[v.Moment(v.T, int(n))] {
				if want = p.last[[2]int{int(n), int(a)}]; v.T > 0 {
					step := v.Step(a, v.T-1, int(n))
					want = [2]int{int(v.Action[step]), int(v.Reached[step])}
				}
				p.asked++
			}
			if got := [2]int{int(v.PlayedOf(int(n), a)), v.ReachedOf(int(n), a)}; got != want {
				p.t.Fatalf("slot %d, env %d, %v: the last action and goal are said to be %v, want %v", v.T, n, a, got, want)
			}
		}
	}
	p.Player.Act(v, envs)
}

// What was played and reached last is known at every slot of an episode, also at
// the first of a window.
func TestWhatWasPlayedLastIsKnownAcrossWindows(t *testing.T) {
	e := envs(t, rollout.Config{Game: stagHunt(t, nil), Envs: 4, Key: rng.New(2), Workers: 1})
	players := drawers(1, 4)
	ask := &asker{Player: players[0][0], t: t, last: map[[2]int][2]int{}}
	players[0][0] = ask
	ro := batch.New(e.Shape(7, 0))
	for range 20 {
		e.Collect(ro, players)
		for n := range ro.Envs {
			for a := range agent.ID(4) {
				step := ro.Step(a, ro.Steps-1, n)
				ask.last[[2]int{n, int(a)}] = [2]int{int(ro.Action[step]), int(ro.Reached[step])}
			}
		}
	}
	if ask.asked < 500 {
		t.Errorf("asked %d times: the test saw too little", ask.asked)
	}
}
