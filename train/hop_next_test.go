package train

import (
	"fmt"
	"slices"
	"testing"

	"hop/agent"
	"hop/batch"
	"hop/belief"
	"hop/game"
	"hop/game/coin"
	"hop/game/staghunt"
	"hop/rng"
	"hop/rollout"
)

// pursuit is a game, who plays it, and how long its episodes may be.
type pursuit struct {
	game    game.Game
	bots    []string
	horizon int
}

// pursuits are a game in which goals are reached many times an episode, and one in
// which an agent leaves with its first.
func pursuits(t *testing.T) map[string]pursuit {
	c := coin.Default()
	c.Size, c.Horizon = 3, 20
	coins, err := coin.New(c)
	if err != nil {
		t.Fatal(err)
	}
	s := staghunt.Default()
	s.Size, s.Horizon = 4, 20
	hunt, err := staghunt.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]pursuit{
		"coin":     {coins, []string{"random", "any"}, 20},
		"staghunt": {hunt, []string{"ns", "nh", "random", "ns"}, 20},
	}
}

// mind returns agent 0, who takes its co-players to be after the game's goals.
func (p pursuit) mind(envs int) *HOP {
	spec := p.game.Spec()
	h := &HOP{cfg: DefaultPlanning(), spec: spec, random: len(spec.Goals), goals: len(spec.Goals) + 1}
	for a := 1; a < spec.Seats; a++ {
		h.others = append(h.others, agent.ID(a))
	}
	h.wants = newHandmade(h, len(spec.Goals), false)
	cfg := belief.Default()
	cfg.Decay = 0.5
	for range envs {
		h.belief = append(h.belief, belief.New(cfg, 1, len(h.others), h.goals))
	}
	return h
}

// play returns the envs and their players.
func (p pursuit) play(t *testing.T, envs int) (*rollout.Envs, []rollout.Player) {
	t.Helper()
	e, err := rollout.New(rollout.Config{Game: p.game, Envs: envs, Key: rng.New(4), Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	var players []rollout.Player
	for _, name := range p.bots {
		b, err := rollout.NewBots(p.game, name, envs)
		if err != nil {
			t.Fatal(err)
		}
		players = append(players, b)
	}
	return e, players
}

// Every step is labelled with the goal that was reached next in its episode, and
// exactly the steps after which one was reached are learnt from; an episode that
// the window cuts teaches up to its last goal.
func TestStepsAreLabelledByTheGoalReachedNext(t *testing.T) {
	const envs = 8
	for name, p := range pursuits(t) {
		h := p.mind(envs)
		e, players := p.play(t, envs)
		ro := batch.New(e.Shape(50, 0)) // a third episode is cut
		e.Collect(ro, [][]rollout.Player{players})
		list, got := h.learns(ro), map[[3]int]int{}
		steps := 0
		for _, p := range list {
			steps += p.hi - p.lo
		}
		goals, k := make([]float32, steps*h.wants.width()), h.wants.width()
		if _, err := h.wants.label(goals, ro, list, 0, nil); err != nil {
			t.Fatal(err)
		}
		row := 0
		for _, p := range list {
			if p.agent != h.others[p.other] {
				t.Errorf("%s: a path of %v is said to be co-player %d's", name, p.agent, p.other)
			}
			for s := p.lo; s < p.hi; s++ {
				got[[3]int{int(p.agent), s, p.env}] = slices.Index(goals[row*k:(row+1)*k], 1)
				row++
			}
		}
		want, several := map[[3]int]int{}, 0
		for _, a := range h.others {
			for n := range envs {
				for s := range ro.Steps {
					if ro.Alive[ro.Slot(a, s, n)] && later(ro, a, s, n) != game.NoGoal {
						want[[3]int{int(a), s, n}] = later(ro, a, s, n)
					}
					if ro.Reached[ro.Step(a, s, n)] != game.NoGoal && ro.End[ro.Step(a, s, n)] == batch.Going {
						several++
					}
				}
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %d steps are labelled, want %d; by agent, step and env:\n%v\nwant\n%v", name, len(got), len(want), got, want)
		}
		if len(want) < 100 || (several > 20) != (name == "coin") {
			t.Errorf("%s: %d labels and %d goals within an episode: the test saw too little", name, len(want), several)
		}
	}
}

// later returns the goal that is reached first from step s on, within the episode
// and the window.
func later(ro *batch.Rollout, a agent.ID, s, n int) int {
	for ; s < ro.Steps && ro.Alive[ro.Slot(a, s, n)]; s++ {
		if g := ro.Reached[ro.Step(a, s, n)]; g != game.NoGoal {
			return int(g)
		}
	}
	return game.NoGoal
}

// noticer plays like a bot, and takes in what the others reach as a planner does.
type noticer struct {
	rollout.Player
	h      *HOP
	guess  guess
	t      *testing.T
	opened int // beliefs that were started again
}

func (p *noticer) Act(v *rollout.View, envs []int32) {
	for _, n := range envs {
		for j, a := range p.h.others {
			b := p.h.belief[n].At(0, j)
			copy(b, []float64{0.75, 0, 0.25})
			prior := make([]float64, len(b))
			p.h.next(v, int(n), j)
			p.h.belief[n].Prior(j, prior)
			reached := v.T > 0 && v.Reached[v.Step(a, v.T-1, int(n))] != game.NoGoal && v.Alive[v.Slot(a, v.T, int(n))]
			switch {
			case reached:
				p.opened++
				if !slices.Equal(b, prior) {
					p.t.Errorf("co-player %d reached a goal and plays on: the belief is %v, want %v to start with", j, b, prior)
				}
			case !slices.Equal(b, []float64{0.75, 0, 0.25}):
				p.t.Errorf("co-player %d reached nothing, or left: the belief has changed to %v", j, b)
			}
		}
	}
	p.Player.Act(v, envs)
}

func (p *noticer) EpisodeOver(v *rollout.View, n int) { p.guess.over(v, n) }

// Each goal that a co-player reaches is counted once, and opens the question what
// it is after now if it plays on.
func TestEveryGoalReachedIsCountedOnce(t *testing.T) {
	const envs = 4
	for name, p := range pursuits(t) {
		h, twin := p.mind(envs), p.mind(envs)
		e, players := p.play(t, envs)
		watch := &noticer{Player: players[0], h: h, guess: h.wants.guess(envs, 1), t: t}
		players[0] = watch
		ro := batch.New(e.Shape(3*(p.horizon+1), 0))
		e.Collect(ro, [][]rollout.Player{players})
		for n := range envs {
			if name == "coin" && ro.Alive[ro.Slot(0, ro.Steps, n)] && !ro.Start[ro.Moment(ro.Steps, n)] {
				t.Fatalf("%s: env %d is within an episode, so its last goals are not counted yet", name, n)
			}
			for j, a := range h.others {
				over := 0 // steps of episodes that are over
				for s := range ro.Steps {
					if ro.Start[ro.Moment(s+1, n)] {
						over = s + 1
					}
				}
				for s := range over {
					twin.belief[n].Seen(j, int(ro.Reached[ro.Step(a, s, n)]))
				}
				if got, want := h.belief[n].Counts(j), twin.belief[n].Counts(j); !slices.Equal(got, want) {
					t.Errorf("%s: env %d: goals of co-player %d are counted as %v, want %v", name, n, j, got, want)
				}
			}
		}
		if (watch.opened > 20) != (name == "coin") {
			t.Errorf("%s: %d goals within an episode", name, watch.opened)
		}
	}
}
