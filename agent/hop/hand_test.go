package hop

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/coin"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/rollout"
)

// pursuit is a game with episodes of 20 steps at most, and who plays it.
type pursuit struct {
	game game.Game
	bots []string // agent 0 is the mind's
}

// pursuits are a game in which goals are reached many times an episode, and one in
// which an agent leaves with its first.
func pursuits(t *testing.T) map[string]pursuit {
	c := coin.Default()
	c.Size, c.Horizon = 3, 20
	return map[string]pursuit{
		"coin":     {gametest.New(t, coin.New, c), []string{"", "any"}},
		"staghunt": {hunt(t, 20), []string{"", "nh", "random", "ns"}},
	}
}

// fading makes beliefs forget fast.
func fading(c *Config) { c.Belief.Decay = 0.5 }

// Every step is labelled with the goal that was reached next in its episode, and
// exactly the steps after which one was reached are learnt from; an episode that
// the window cuts teaches up to its last goal.
func TestStepsAreLabelledByTheGoalReachedNext(t *testing.T) {
	const envs = 8
	for name, p := range pursuits(t) {
		m, _ := makeMind(t, p.game, 0, envs, fading)
		// A third episode is cut.
		ro := collect(t, rollout.Config{Game: p.game}, batch.Shape{Envs: envs, Steps: 50}, p.bots, bot(t, p.game, "random", envs))
		l := labelled(m, &learner.Window{Rollout: ro})
		got, k, row := map[[3]int]int{}, m.shape.features, 0
		for _, p := range l.list {
			if p.agent != m.sees.others[p.other] {
				t.Errorf("%s: a path of %v is said to be co-player %d's", name, p.agent, p.other)
			}
			for s := p.lo; s < p.hi; s++ {
				got[[3]int{int(p.agent), s, p.env}] = slices.Index(l.goals[row*k:(row+1)*k], 1)
				row++
			}
		}
		want, several := map[[3]int]int{}, 0
		for _, a := range m.sees.others {
			for n := range envs {
				for s := range ro.Steps {
					if g := later(ro, a, s, n); g != game.NoGoal {
						want[[3]int{int(a), s, n}] = g
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

// believer plays like a bot, and updates its beliefs as a planner does. What it
// predicts tells nothing apart, so only goals that are reached move beliefs.
type believer struct {
	rollout.Player
	planner *player
	t       *testing.T
	opened  int // beliefs that were started again
}

func (p *believer) Act(v *rollout.View, envs []int32) {
	m := p.planner
	was := []float64{0.75, 0, 0.25}
	for _, n := range envs {
		fresh := v.Start[v.Moment(v.T, int(n))]
		for j := range m.sees.others {
			copy(m.beliefs.held[n].At(0, j), was)
		}
		m.predictions.made[n] = true
		m.beliefs.Update(v, []int32{n}, m.inferred, m.predictions)
		for j, a := range m.sees.others {
			b, prior := m.beliefs.held[n].At(0, j), make([]float64, 3)
			m.beliefs.held[n].Prior(j, prior)
			reached := v.T > 0 && v.Reached[v.Step(a, v.T-1, int(n))] != game.NoGoal && v.Alive[v.Slot(a, v.T, int(n))]
			switch {
			case fresh || reached:
				if !fresh {
					p.opened++
				}
				if !slices.Equal(b, prior) {
					p.t.Errorf("co-player %d begins, or reached a goal and plays on: the belief is %v, want %v to start with", j, b, prior)
				}
			case !slices.Equal(b, was):
				p.t.Errorf("co-player %d reached nothing, or left: the belief has changed to %v", j, b)
			}
		}
	}
	p.Player.Act(v, envs)
}

func (p *believer) EpisodeOver(v *rollout.View, n int) { p.planner.EpisodeOver(v, n) }

// Each goal that a co-player reaches is counted once, and opens the question what
// it is after now if it plays on.
func TestEveryGoalReachedIsCountedOnce(t *testing.T) {
	const envs = 4
	for name, p := range pursuits(t) {
		m, planner := makeMind(t, p.game, 0, envs, fading)
		twin, _ := makeMind(t, p.game, 0, envs, fading)
		mine := &believer{Player: bot(t, p.game, "random", envs), planner: planner, t: t}
		ro := collect(t, rollout.Config{Game: p.game}, batch.Shape{Envs: envs, Steps: 3 * 21}, p.bots, mine)
		for n := range envs {
			if name == "coin" && ro.Alive[ro.Slot(0, ro.Steps, n)] && !ro.Start[ro.Moment(ro.Steps, n)] {
				t.Fatalf("%s: env %d is within an episode, so its last goals are not counted yet", name, n)
			}
			over := 0 // steps of episodes that are over
			for s := range ro.Steps {
				if ro.Start[ro.Moment(s+1, n)] {
					over = s + 1
				}
			}
			for j, a := range m.sees.others {
				for s := range over {
					twin.beliefs.held[n].Seen(j, int(ro.Reached[ro.Step(a, s, n)]))
				}
				if got, want := m.beliefs.held[n].Counts(j), twin.beliefs.held[n].Counts(j); !slices.Equal(got, want) {
					t.Errorf("%s: env %d: goals of co-player %d are counted as %v, want %v", name, n, j, got, want)
				}
			}
		}
		if (mine.opened > 20) != (name == "coin") {
			t.Errorf("%s: %d goals within an episode", name, mine.opened)
		}
	}
}
