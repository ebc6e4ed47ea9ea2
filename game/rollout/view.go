package rollout

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/rng"
)

// Player acts for one agent. Each worker has players of its own, so a player
// may keep scratch memory; what it remembers of a copy it must key by env.
type Player interface {
	// Act writes Action for the given envs, at all of which the agent is
	// alive, and LogProb, Value, Goal and Target where it has them.
	Act(v *View, envs []int32)
	// Evaluate writes Value for the given envs: the slot after a cut. It must
	// not draw, or the window's length would change what is played.
	Evaluate(v *View, envs []int32)
}

// Preparing is a Player that has to prepare something once a window, of which the players of
// all workers need the same, and perhaps those of several agents.
type Preparing interface {
	Player
	Prepare(w Window)
	Shares(other Player) bool // reports whether another agent's player prepares the same
	Follow(first Player)      // takes what another player has prepared
}

// Asking is a Player that may ask elsewhere what to do, such as a graphics card. All agents of a worker ask before the
// first of them acts: so they wait once.
type Asking interface {
	Player
	// Ask is called before Act, for the same envs, and does not wait.
	Ask(v *View, envs []int32)
}

// Watcher is a Player that remembers episodes.
type Watcher interface {
	Player
	// EpisodeOver is called when env n's episode has ended, before the reset.
	EpisodeOver(v *View, n int)
}

// Batched is a game whose states are stepped together, such as one that a network
// imagines, or one that other processes play.
type Batched interface {
	game.Game
	// StepAll is State.Step of each of the states, none of which is over; one that has
	// no actions is Reset with its stream of rules instead. A worker calls it with
	// states of its own.
	StepAll(sts []game.State, actions [][]int32, rewards [][]float32, rules []*rng.Rand)
	// Lost reports that a seat has left only because what follows is not known, or
	// by a limit from outside, which is a cut.
	Lost(st game.State, s game.Seat) bool
}

// Seated is a state of a Batched game that says who sits where, in place of the deal:
// an imagined episode goes on where a real one was.
type Seated interface {
	game.State
	// Seats writes the seat of every agent in the episode that Reset has begun.
	Seats(dst []int8)
}

// Elsewhere is a Batched game that other processes play. More workers than these would
// only wait for each other.
type Elsewhere interface {
	Batched
	Processes() int
}

// View is what a player sees and writes: one agent at one slot.
type View struct {
	*batch.Rollout
	Agent agent.ID
	T     int // the slot
	envs  *Envs
}

// SlotOf and StepOf index the rollout for env n at this slot.
func (v *View) SlotOf(n int) int { return v.Slot(v.Agent, v.T, n) }

// StepOf indexes the step that starts at this slot.
func (v *View) StepOf(n int) int { return v.Step(v.Agent, v.T, n) }

// Rand returns the agent's acting stream in env n.
func (v *View) Rand(n int) *rng.Rand { return &v.envs.env[n].act[v.Agent] }

// State returns env n's state, for scripted players and search. Learners must not look.
func (v *View) State(n int) game.State { return v.envs.env[n].st }

// SeatOf returns where the agent sits in env n.
func (v *View) SeatOf(n int) game.Seat { return game.Seat(v.envs.env[n].seat[v.Agent]) }

// GoalOf returns the goal that an agent reached last in env n's running episode,
// or game.NoGoal.
func (v *View) GoalOf(n int, a agent.ID) int { return v.envs.env[n].goal[a] }

// ReachedOf returns the goal that an agent reached in the last step of env n's
// running episode, or game.NoGoal.
func (v *View) ReachedOf(n int, a agent.ID) int {
	e := &v.envs.env[n]
	if e.goals == nil || e.steps == 0 {
		return game.NoGoal
	}
	return e.goals.Reached(game.Seat(e.seat[a]))
}

// PlayedOf returns what an agent played in the last step of env n's running
// episode, or game.NoAction.
func (v *View) PlayedOf(n int, a agent.ID) int32 {
	e := &v.envs.env[n]
	if e.steps == 0 {
		return game.NoAction
	}
	return int32(e.log[len(e.log)-len(e.seat)+int(e.seat[a])])
}

// RewardOf returns what the agent earned in its last step of env n's running
// episode; 0 if it has not acted in it yet.
func (v *View) RewardOf(n int) float32 { return v.envs.env[n].paid[v.Agent] }

// EarnedOf returns what the agent has earned in env n's running episode, or, once that is over,
// in all of it.
func (v *View) EarnedOf(n int) float64 { return v.envs.env[n].ret[v.Agent] }

// EpisodeOf returns which of env n's episodes is running, from 0.
func (v *View) EpisodeOf(n int) int { return v.envs.env[n].episode }

// StepsOf returns how many steps env n's running episode has had.
func (v *View) StepsOf(n int) int { return v.envs.env[n].steps }

// Mix marks env n's episode as one in which a stand-in plays.
func (v *View) Mix(n int) { v.envs.env[n].mixed = true }

// Imagined reports that what is played is made up by a model.
func (v *View) Imagined() bool { return v.envs.Config.Imagined }

// Helpers returns the run's workers, and how many of them there are for each of those who
// play: 1 where everyone has copies to play. More can share what a player does alone.
func (v *View) Helpers() (*cores.Pool, int) {
	return v.envs.Cores, max(1, v.envs.Cores.Workers()/v.envs.Workers)
}

// AgentAt returns who sits on a seat of env n.
func (v *View) AgentAt(n int, s game.Seat) agent.ID {
	for a, seat := range v.envs.env[n].seat {
		if game.Seat(seat) == s {
			return agent.ID(a)
		}
	}
	panic("rollout: no agent on that seat")
}

// Window names one Collect; no two have the same.
type Window struct {
	of *Envs
	n  int
}

// Window returns which Collect this is. A player's weights stay the same within
// one.
func (v *View) Window() Window { return Window{v.envs, v.envs.windows} }

// Episode is the record of a finished episode, by agent. Its slices are views,
// valid until the next Collect.
type Episode struct {
	Env, Index int       // which copy, and its how-manieth episode, from 0
	Steps      int       // how long it lasted
	Return     []float64 // [A] undiscounted sum of rewards
	Life       []int     // [A] steps the agent was alive
	Goal       []int     // [A] the last goal reached, or game.NoGoal
	Mixed      bool      // a stand-in played in it (View.Mix)
}

// Split is a Player that is another one in each env.
type Split struct {
	Who        func(n int) int      // the number of the one that plays env n in this episode
	Player     func(who int) Player // the one of a number
	rows, left []int32
}

// Act lets each player act in its envs.
func (s *Split) Act(v *View, envs []int32) {
	s.each(envs, func(p Player, rows []int32) { p.Act(v, rows) })
}

// Evaluate lets each player write its values.
func (s *Split) Evaluate(v *View, envs []int32) {
	s.each(envs, func(p Player, rows []int32) { p.Evaluate(v, rows) })
}

// each splits envs by who plays there.
func (s *Split) each(envs []int32, do func(p Player, rows []int32)) {
	for s.left = append(s.left[:0], envs...); len(s.left) > 0; {
		who := s.Who(int(s.left[0]))
		rest := s.left[:0]
		s.rows = s.rows[:0]
		for _, n := range s.left {
			if s.Who(int(n)) == who {
				s.rows = append(s.rows, n)
			} else {
				rest = append(rest, n)
			}
		}
		s.left = rest
		do(s.Player(who), s.rows)
	}
}

// EpisodeOver tells whoever played, if it remembers.
func (s *Split) EpisodeOver(v *View, n int) {
	if w, ok := s.Player(s.Who(n)).(Watcher); ok {
		w.EpisodeOver(v, n)
	}
}

var _ Watcher = (*Split)(nil)
