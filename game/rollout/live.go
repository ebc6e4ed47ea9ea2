package rollout

import (
	"errors"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/rng"
)

// Live are copies that somebody outside steps, each when it pleases: agent a sits on
// seat a, an episode that is over stays so until Reset, and players act when they are
// asked to. Nothing but what players see is recorded.
//
// Different copies may be used by different goroutines at once, except for saving.
type Live struct {
	envs  *Envs
	ro    *batch.Rollout // of one step: what players see and write; nil until Views
	views []View
}

// NewLive returns copies that must be started with Seed before use.
func NewLive(g game.Game, envs int) (*Live, error) {
	if _, ok := g.(Batched); ok {
		return nil, errors.New("rollout: a game whose states are stepped together cannot be stepped one by one")
	}
	e, err := New(Config{Game: g, Envs: envs, Workers: 1, FixSeat: true})
	if err != nil {
		return nil, err
	}
	return &Live{envs: e}, nil
}

// Share lets the workers of an open pool help players, whom so many goroutines let act.
func (l *Live) Share(p *cores.Pool, workers int) { l.envs.Cores, l.envs.Workers = p, workers }

// Seed starts copy n's first episode of that seed. Which copy it is does not matter:
// the streams are those of the only copy of a run with that seed.
func (l *Live) Seed(n int, seed uint64) {
	v, key := &l.envs.env[n], rng.New(seed)
	v.rules = key.Child("rules", 0).Rand()
	v.deal = key.Child("deal", 0).Rand()
	for a := range v.act {
		v.act[a] = key.Child("act", a).Child("env", 0).Rand()
	}
	v.episode = -1
	l.Reset(n)
}

// Reset starts copy n's next episode; its streams go on.
func (l *Live) Reset(n int) {
	v := &l.envs.env[n]
	l.envs.deal(v)
	v.st.Reset(&v.rules)
}

// State returns copy n's state.
func (l *Live) State(n int) game.State { return l.envs.env[n].st }

// Rand returns agent a's acting stream in copy n.
func (l *Live) Rand(n int, a agent.ID) *rng.Rand { return &l.envs.env[n].act[a] }

// Steps returns how many steps copy n's episode has had.
func (l *Live) Steps(n int) int { return l.envs.env[n].steps }

// Return returns the sum of agent a's rewards in copy n's episode.
func (l *Live) Return(n int, a agent.ID) float64 { return l.envs.env[n].ret[a] }

// Cut reports whether copy n's episode is over by an outside limit alone.
func (l *Live) Cut(n int) bool {
	v := &l.envs.env[n]
	return v.cut != nil && v.cut.Cut()
}

// Step plays a step of copy n, whose episode is not over, and writes the rewards. Both
// are by agent; one that has left plays game.NoAction.
func (l *Live) Step(n int, actions []int32, rewards []float32) {
	v := &l.envs.env[n]
	v.st.Step(actions, rewards, &v.rules)
	v.steps++
	for a, k := range actions {
		v.log = append(v.log, int8(k))
		if k == game.NoAction {
			continue
		}
		v.ret[a] += float64(rewards[a])
		v.paid[a] = rewards[a]
		v.life[a]++
		if v.goals == nil {
			continue
		}
		if g := v.goals.Reached(game.Seat(a)); g != game.NoGoal {
			v.goal[a] = g
		}
	}
}

// Views returns one view an agent, by which its player acts in any of the copies after
// Look: it reads and writes at slot 0.
func (l *Live) Views() []View {
	if l.ro == nil {
		l.ro = batch.New(l.envs.Shape(1, 0))
		for a := range agent.ID(l.envs.spec.Seats) {
			l.views = append(l.views, View{Rollout: l.ro, Agent: a, envs: l.envs})
		}
	}
	return l.views
}

// Look shows copy n as it is now to players. It needs Views.
func (l *Live) Look(n int) { l.envs.observe(l.ro, n, 0) }

// AppendBinary appends everything needed to go on from here; UnmarshalBinary does.
func (l *Live) AppendBinary(b []byte) ([]byte, error) { return l.envs.AppendBinary(b) }

// UnmarshalBinary goes on from what AppendBinary wrote for as many copies of the same
// game. After an error they must not be used.
func (l *Live) UnmarshalBinary(b []byte) error { return l.envs.UnmarshalBinary(b) }

// Fork returns what the agent would see on other arrays, for audits: states and
// streams are copies, so that nothing a player does there reaches the run. With a
// salt, everything that is still to come by chance is different: what the rules draw,
// and what the other agents draw.
func (v *View) Fork(ro *batch.Rollout, salt uint64) *View {
	e := *v.envs
	e.env = slices.Clone(v.envs.env)
	for n := range e.env {
		c := &e.env[n]
		st := e.Game.New()
		st.CopyFrom(c.st)
		c.st = st
		c.cut, _ = st.(game.Limited)
		c.goals, _ = st.(game.Goaler)
		c.seated, _ = st.(Seated)
		c.vector, _ = st.(game.Vectored)
		c.act, c.seat, c.log, c.goal = slices.Clone(c.act), slices.Clone(c.seat), slices.Clone(c.log), slices.Clone(c.goal)
		if salt == 0 {
			continue
		}
		c.rules, c.deal = salted(c.rules, salt), salted(c.deal, salt)
		for a := range c.act {
			if a != int(v.Agent) {
				c.act[a] = salted(c.act[a], salt)
			}
		}
	}
	return &View{Rollout: ro, Agent: v.Agent, T: v.T, envs: &e}
}

// salted returns another stream.
func salted(r rng.Rand, salt uint64) rng.Rand { return rng.Raw(r.Uint64(), r.Uint64()^salt) }
