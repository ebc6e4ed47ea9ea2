// Package films plays episodes with a run's final agents, for its report to show.
package films

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/lab/play"
	"github.com/hop-marl/hop/lab/report"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/eval"
	"github.com/hop-marl/hop/train/spec"
)

// sample is how many episodes the shown ones are chosen from.
const sample = 64

// Play plays episodes with the agents of the run in the middle of a folder's, and picks up
// to three. Every agent sits on the seat of its number, so that colours are the
// same in all figures. count is told how far it is.
func Play(ctx context.Context, reg *spec.Registry, dir string, count func(done, total int)) (report.Options, error) {
	var o report.Options
	run, err := cores.Await(ctx, func() (report.Run, error) { return report.Middle(reg, dir) })
	if err != nil {
		return o, err
	}
	agents, err := cores.Await(ctx, func() (*spec.Agents, error) { return reg.LoadAgents(run.Dir) })
	if err != nil {
		return o, err
	}
	if agents.Game.Spec().Opaque {
		return o, fmt.Errorf("another program plays %s, and its states cannot be drawn", agents.Game.Spec().Name)
	}
	team, err := agents.Spec.Team(agents, agents.Members)
	if err != nil {
		return o, err
	}
	steps := agents.Game.Spec().Horizon
	worked := func(done int) { count(done, steps+4) } // the steps of the sample, three films and the page
	tapes, err := record(ctx, agents.Game, team, run.Seed, worked)
	if err != nil {
		return o, err
	}
	o.Sample, o.Used = len(tapes), []runlog.Used{agents.Used}
	slices.SortStableFunc(tapes, func(a, b *tape) int { return cmp.Compare(a.mean, b.mean) })
	list := picks(tapes)
	o.Episodes = make([]report.Episode, len(list))
	var mu sync.Mutex // of how many are drawn
	drawn := 0
	err = cores.Each(ctx, 0, len(list), func(ctx context.Context, i int) error {
		pick := list[i]
		film, err := cores.Await(ctx, func() ([]byte, error) {
			var b bytes.Buffer
			err := play.GIF(&b, pick.frames(agents.Game, pick.name, team))
			return b.Bytes(), err
		})
		if err != nil {
			return err
		}
		o.Episodes[i] = report.Episode{
			Name: pick.name, Seed: run.Seed, Return: pick.mean, Agents: pick.returns, Steps: len(pick.states) - 1, GIF: film,
		}
		mu.Lock()
		defer mu.Unlock()
		drawn++
		worked(steps + drawn)
		return nil
	})
	if err != nil {
		o.Episodes = nil
	}
	return o, err
}

// pick is an episode to show, and which of the sample it is.
type pick struct {
	name string
	*tape
}

// picks returns the episode in the middle of tapes, which are in order of their
// mean return, and the best and the worst where they got more or less than it:
// drawing is most of a report's time, and a second film of the same outcome says
// nothing new.
func picks(tapes []*tape) []pick {
	const same = 1e-6 // but for rounding
	middle := tapes[len(tapes)/2]
	out := []pick{{"median", middle}}
	if best := tapes[len(tapes)-1]; best.mean > middle.mean+same {
		out = append(out, pick{"best", best})
	}
	if worst := tapes[0]; worst.mean < middle.mean-same {
		out = append(out, pick{"worst", worst})
	}
	return out
}

// tape is a recorded episode.
type tape struct {
	states  []game.State // [steps+1]
	actions [][]int32    // [steps][seat]
	rewards [][]float32  // [steps][seat]
	returns []float64    // [A]
	mean    float64
}

// frames draws the episode.
func (t *tape) frames(g game.Game, which string, team []eval.Member) []play.Frame {
	names := make([]string, len(team))
	for a := range names {
		names[a] = fmt.Sprintf("agent %d", a)
	}
	rec := play.NewRecorder(g, game.Label(g))
	rec.Start(t.states[0], which+" of the sample", names, play.Info{})
	for i, st := range t.states[1:] {
		rec.Add(st, play.Info{Actions: t.actions[i], Rewards: t.rewards[i]})
	}
	return rec.Frames()
}

// onlooker is a player that keeps a copy of every state it acts in.
type onlooker struct {
	rollout.Player
	game   game.Game
	tapes  []*tape
	worked func(steps int) // nil: another says it
}

func (o *onlooker) Act(v *rollout.View, envs []int32) {
	if o.worked != nil {
		o.worked(v.T)
	}
	for _, n := range envs {
		o.keep(v, int(n))
	}
	o.Player.Act(v, envs)
}

// EpisodeOver keeps the state after the last step.
func (o *onlooker) EpisodeOver(v *rollout.View, n int) {
	o.keep(v, n)
	if w, ok := o.Player.(rollout.Watcher); ok {
		w.EpisodeOver(v, n)
	}
}

// keep copies the state unless another agent's onlooker did; of each copy of
// the game, only the first episode, which starts with the window.
func (o *onlooker) keep(v *rollout.View, n int) {
	t := o.tapes[n]
	at := v.T
	if st := v.State(n); st.Over() {
		at = v.T + 1
	}
	if len(t.states) != at || at > 0 && t.states[at-1].Over() {
		return
	}
	st := o.game.New()
	st.CopyFrom(v.State(n))
	t.states = append(t.states, st)
}

// room is how many bytes a sample's window takes at most, where three episodes fit into them.
const room = 256 << 20

// sampled returns how many episodes are played: as many as there is room for, up to sample.
func sampled(g game.Spec) int {
	one := batch.Shape{Agents: g.Seats, Steps: g.Horizon, Envs: 1, ObsLen: g.Obs.Len(), Actions: len(g.Actions)}.Bytes()
	return min(sample, max(3, int(room/one)))
}

// record plays the sample. It says how many steps are played.
func record(ctx context.Context, g game.Game, team []eval.Member, seed uint64, worked func(steps int)) ([]*tape, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	episodes := sampled(g.Spec())
	envs, err := rollout.New(rollout.Config{Game: g, Envs: episodes, Key: rng.New(seed).Child("films"), Cores: cores.Of(ctx), FixSeat: true})
	if err != nil {
		return nil, err
	}
	tapes := make([]*tape, episodes)
	for n := range tapes {
		tapes[n] = &tape{}
	}
	players := make([][]rollout.Player, envs.Workers)
	for _, m := range team {
		ps, err := m.Players(envs.Workers, episodes)
		if err != nil {
			return nil, err
		}
		for w := range players {
			o := &onlooker{Player: ps[w], game: g, tapes: tapes}
			if w == 0 {
				o.worked = worked
			}
			players[w] = append(players[w], o)
		}
	}
	ro := batch.New(envs.Shape(g.Spec().Horizon, 0))
	if err := envs.Collect(ro, players); err != nil {
		return nil, err
	}
	for _, ep := range envs.Episodes() {
		if ep.Index > 0 {
			continue
		}
		t := tapes[ep.Env]
		for i := range ep.Steps {
			actions, rewards := make([]int32, len(team)), make([]float32, len(team))
			for a := range actions {
				at := ro.Step(agent.ID(a), i, ep.Env)
				actions[a], rewards[a] = ro.Action[at], ro.Reward[at]
			}
			t.actions, t.rewards = append(t.actions, actions), append(t.rewards, rewards)
		}
		t.returns = slices.Clone(ep.Return)
		for _, x := range t.returns {
			t.mean += x / float64(len(t.returns))
		}
	}
	tapes = slices.DeleteFunc(tapes, func(t *tape) bool { return t.returns == nil || len(t.states) != len(t.actions)+1 })
	if len(tapes) == 0 {
		return nil, errors.New("no episode ended within the game's horizon")
	}
	return tapes, nil
}
