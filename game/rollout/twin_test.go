package rollout_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
)

// transition is one row with all that belongs to it.
type transition struct {
	Seat           int
	Start          bool
	Obs            []float32
	Legal          []bool
	Action         int32
	Own            bool
	LogProb, Value float32
	Reward         float32
	End            batch.End
	Reached        int
	Next           []float32
	NextLegal      []bool
	Bootstrap      float32 // Value of the next slot if End is Cut
	Target         float32
}

// value is the value that the tests' player gives to an observation.
func value(obs []float32) float32 {
	v := float32(0.5)
	for i, x := range obs {
		v += x * float32(i+1)
	}
	return v
}

// drawer is a Player that draws a legal action and values every observation.
// Agent 0 marks the episodes that it begins with action 0 as mixed, and calls
// only actions above 0 its own.
type drawer struct{ evaluated *[]string }

func (p drawer) Act(v *rollout.View, envs []int32) {
	for _, n := range envs {
		slot, step := v.SlotOf(int(n)), v.StepOf(int(n))
		v.Action[step] = game.Uniform(v.LegalAt(slot), v.Rand(int(n)))
		v.LogProb[step], v.Own[step] = -1-float32(v.Action[step]), v.Action[step] > 0
		if v.Agent == 0 && v.Action[step] == 0 && v.Start[v.Moment(v.T, int(n))] {
			v.Mix(int(n))
		}
		v.Value[slot] = value(v.ObsAt(slot))
		v.TargetAt(step)[v.Action[step]] = 0.75
	}
}

func (p drawer) Evaluate(v *rollout.View, envs []int32) {
	for _, n := range envs {
		slot := v.SlotOf(int(n))
		v.Value[slot] = value(v.ObsAt(slot))
		if p.evaluated != nil {
			*p.evaluated = append(*p.evaluated, fmt.Sprint(v.Agent, " slot ", v.T, " env ", n))
		}
	}
}

func drawers(workers, agents int) [][]rollout.Player {
	players := make([][]rollout.Player, workers)
	for w := range players {
		for range agents {
			players[w] = append(players[w], drawer{})
		}
	}
	return players
}

// byHand plays env n without package rollout and returns every agent's
// transitions in its first slots moments, windows of length window.
func byHand(g game.Game, key rng.Key, n, slots, window int) [][]transition {
	spec := g.Spec()
	agents := spec.Seats
	rules, deal := key.Child("rules", n).Rand(), key.Child("deal", n).Rand()
	act := make([]rng.Rand, agents)
	for a := range act {
		act[a] = key.Child("act", a).Child("env", n).Rand()
	}
	out := make([][]transition, agents)
	st := g.New()
	for slot := 0; slot < slots; slot++ { // the step from an episode's last slot
		seat := make([]int, agents)
		deal.Perm(seat)
		st.Reset(&rules)
		for start := true; !st.Over() && slot < slots; slot++ {
			actions, rewards := make([]int32, agents), make([]float32, agents)
			row := make([]*transition, agents)
			for a, s := range seat {
				actions[s] = game.NoAction
				if !st.Alive(game.Seat(s)) {
					continue
				}
				tr := &transition{Seat: s, Start: start, Target: 0.75}
				tr.Obs, tr.Legal = look(st, spec, s)
				tr.Action = game.Uniform(tr.Legal, &act[a])
				tr.LogProb, tr.Value, tr.Own = -1-float32(tr.Action), value(tr.Obs), tr.Action > 0
				actions[s], row[a] = tr.Action, tr
			}
			start = false
			st.Step(actions, rewards, &rules)
			for a, s := range seat {
				tr := row[a]
				if tr == nil {
					continue
				}
				tr.Reward, tr.Reached = rewards[s], st.(game.Goaler).Reached(game.Seat(s))
				tr.Next, tr.NextLegal = look(st, spec, s)
				l, limited := st.(game.Limited)
				switch {
				case !st.Alive(game.Seat(s)) && limited && l.Cut():
					tr.End = batch.Cut
				case !st.Alive(game.Seat(s)):
					tr.End = batch.Exited
				case (slot+1)%window == 0:
					tr.End = batch.Cut
				}
				if tr.End == batch.Cut {
					tr.Bootstrap = value(tr.Next)
				}
				out[a] = append(out[a], *tr)
			}
		}
	}
	return out
}

func look(st game.State, spec game.Spec, s int) ([]float32, []bool) {
	obs, legal := make([]float32, spec.Obs.Len()), make([]bool, len(spec.Actions))
	st.Observe(game.Seat(s), obs)
	st.Legal(game.Seat(s), legal)
	return obs, legal
}

// rows appends env n's transitions of a window to those of every agent.
func rows(out [][]transition, ro *batch.Rollout, n int) {
	for a := range out {
		for t := range ro.Steps {
			id := agent.ID(a)
			slot, next, step := ro.Slot(id, t, n), ro.Slot(id, t+1, n), ro.Step(id, t, n)
			if !ro.Alive[slot] {
				continue
			}
			tr := transition{
				Seat: int(ro.Seat[slot]), Start: ro.Start[ro.Moment(t, n)],
				Obs: clone(ro.ObsAt(slot)), Legal: clone(ro.LegalAt(slot)),
				Action: ro.Action[step], Own: ro.Own[step], LogProb: ro.LogProb[step], Value: ro.Value[slot],
				Reward: ro.Reward[step], End: ro.End[step], Reached: int(ro.Reached[step]),
				Next: clone(ro.ObsAt(next)), NextLegal: clone(ro.LegalAt(next)),
				Target: ro.TargetAt(step)[ro.Action[step]],
			}
			if tr.End == batch.Cut {
				tr.Bootstrap = ro.Value[next]
			}
			out[a] = append(out[a], tr)
		}
	}
}

func clone[T any](xs []T) []T { return append([]T{}, xs...) }

// garble fills everything that a window must write with nonsense.
func garble(ro *batch.Rollout) {
	for i := range ro.Obs {
		ro.Obs[i] = 99
	}
	for i := range ro.Legal {
		ro.Legal[i] = true
	}
	for i := range ro.Alive {
		ro.Alive[i], ro.Seat[i], ro.Value[i] = true, 99, 99
	}
	for i := range ro.Reward {
		ro.Reward[i], ro.End[i], ro.Reached[i], ro.Action[i], ro.LogProb[i], ro.Own[i] = 99, batch.Cut, 99, 99, 99, true
	}
	for i := range ro.Target {
		ro.Target[i] = 99
	}
	for i := range ro.Start {
		ro.Start[i] = true
	}
}

func envs(t testing.TB, cfg rollout.Config) *rollout.Envs {
	t.Helper()
	e, err := rollout.New(cfg)
	must(t, err)
	return e
}

func bots(t testing.TB, g game.Game, name string, envs int) *rollout.Bots {
	t.Helper()
	b, err := rollout.NewBots(g, name, envs)
	must(t, err)
	return b
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func stagHunt(t testing.TB, change func(*staghunt.Config)) game.Game {
	t.Helper()
	c := staghunt.Default()
	if change != nil {
		change(&c)
	}
	return gametest.New(t, staghunt.New, c)
}

// compare collects windows and says where they differ from play by hand of the
// game truth.
func compare(t *testing.T, g, truth game.Game, steps, windows int) error {
	t.Helper()
	const copies = 3
	key := rng.New(11)
	e := envs(t, rollout.Config{Game: g, Envs: copies, Key: key, Workers: 1})
	agents := g.Spec().Seats
	ro := batch.New(e.Shape(steps, 0))
	garble(ro)
	got := make([][][]transition, copies)
	for n := range got {
		got[n] = make([][]transition, agents)
	}
	for range windows {
		clear(ro.Target) // a player adds to it
		e.Collect(ro, drawers(1, agents))
		for n := range got {
			rows(got[n], ro, n)
		}
	}
	for n := range got {
		want := byHand(truth, key, n, steps*windows, steps)
		for a := range want {
			if len(got[n][a]) == 0 {
				return fmt.Errorf("env %d agent %d has no rows", n, a)
			}
			for i := range min(len(want[a]), len(got[n][a])) {
				if !reflect.DeepEqual(got[n][a][i], want[a][i]) {
					return fmt.Errorf("env %d agent %d row %d:\ngot  %+v\nwant %+v", n, a, i, got[n][a][i], want[a][i])
				}
			}
			if len(got[n][a]) != len(want[a]) {
				return fmt.Errorf("env %d agent %d: %d rows, want %d", n, a, len(got[n][a]), len(want[a]))
			}
		}
	}
	return nil
}

// SPEC's faults 4 and 11: every row, the last observation and every end are
// those of a game played by hand.
func TestRolloutEqualsPlayByHand(t *testing.T) {
	for _, c := range []struct {
		name           string
		g              game.Game
		steps, windows int
	}{
		{"toy", toy{seats: 3, horizon: 5}, 7, 9},
		{"toy, windows of one step", toy{seats: 3, horizon: 5}, 1, 40},
		{"toy, one long window", toy{seats: 3, horizon: 5}, 80, 1},
		{"toy with an outside limit", toy{seats: 3, horizon: 3, limit: true}, 7, 9},
		{"toy with an outside limit, windows end at it", toy{seats: 2, horizon: 2, limit: true}, 3, 20},
		{"one-step episodes", toy{seats: 2, horizon: 1}, 5, 4},
		{"staghunt 4x4", stagHunt(t, nil), 16, 12},
		{"staghunt 6x6 with blocks", stagHunt(t, func(c *staghunt.Config) { c.Size, c.Blocks, c.Horizon = 6, 3, 9 }), 16, 6},
	} {
		if err := compare(t, c.g, c.g, c.steps, c.windows); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// liar is a toy that mixes up its ends.
type liar struct {
	toy
	cut func(*toyState) bool
}

func (g liar) New() game.State { return &liarState{g.toy.New().(*toyState), g.cut} }

type liarState struct {
	*toyState
	cut func(*toyState) bool
}

func (st *liarState) Cut() bool { return st.cut(st.toyState) }

// A planted mix-up of the two kinds of end is seen by the comparison above.
func TestMixedUpEndsAreCaught(t *testing.T) {
	rule, limit := toy{seats: 3, horizon: 3}, toy{seats: 3, horizon: 3, limit: true}
	for _, c := range []struct {
		name  string
		truth game.Game
		cut   func(*toyState) bool
	}{
		{"an outside limit taken for an exit", limit, func(*toyState) bool { return false }},
		{"a horizon that is a rule taken for a cut", rule, func(st *toyState) bool { return st.t >= st.g.horizon }},
		{"every end taken for a cut", limit, func(*toyState) bool { return true }},
	} {
		if err := compare(t, liar{rule, c.cut}, c.truth, 7, 9); err == nil {
			t.Errorf("%s: not noticed", c.name)
		}
	}
	honest := liar{rule, func(st *toyState) bool { return st.t >= st.g.horizon && !st.left() }}
	if err := compare(t, honest, limit, 7, 9); err != nil {
		t.Errorf("an honest wrapper: %v", err)
	}
}
