package learner

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/search"
)

// Rememberer remembers something of every env.
type Rememberer interface {
	// Remember prepares for envs copies and windows of steps steps, and forgets
	// what was remembered.
	Remember(envs, steps int)
}

// Trials learns over trials (Duan et al. 2016): several episodes in a row among the
// same co-players, through which it remembers.
type Trials interface {
	// Trial returns how many episodes a trial has; 0: it does not live through trials.
	Trial() int
}

// Announcing may learn beside others, on a device, and is told that a window is coming before it is
// there.
type Announcing interface{ Announce() }

// Behind may learn while its players play, once it was told.
type Behind interface{ Behind() }

// Saver can be saved: everything that changes from one window to the next, so
// that a resumed run equals an uninterrupted one.
type Saver interface {
	Save(f *safetensors.File, prefix string) error
	// Load restores what Save stored, exactly.
	Load(f *safetensors.File, prefix string) error
}

// Weighted can play by saved weights alone.
type Weighted interface {
	// LoadWeights restores the networks that Save stored and nothing else.
	LoadWeights(f *safetensors.File, prefix string) error
}

// Freezer plays without learning: its rows are nobody's to learn from.
type Freezer interface {
	// Freeze makes Players return players whose rows are not marked as own;
	// greedy ones take the likeliest action instead of drawing one.
	Freeze(greedy bool)
	// Sure reports that frozen players take the likeliest action in any case.
	Sure() bool
}

// Network is a network of a mind, to show and to guard: it must change while it
// learns.
type Network struct {
	Name   string // for people
	Module string // for a finding
	Params *nn.Params
	Sign   string // the statistic that a window reports when it learnt; "": any
}

// Networked has networks.
type Networked interface {
	// Networks returns them all, the one that acts first.
	Networks() []Network
}

// Acting acts by a network, or starts its search from one.
type Acting interface {
	Actor() (*actor.Model, *nn.Params)
}

// Counts are a learner's counters, for reports and audits.
type Counts struct {
	Updates int // windows learnt from
	Steps   int // gradient steps
	Rows    int // alive rows, each counted once a window
}

// Save adds the counters to f under prefix.
func (c Counts) Save(f *safetensors.File, prefix string) {
	f.PutInt64(prefix+"counters", []int64{int64(c.Updates), int64(c.Steps), int64(c.Rows)}, 3)
}

// Load restores what Save stored.
func (c *Counts) Load(f *safetensors.File, prefix string) error {
	var n [3]int64
	if err := f.Int64(n[:], prefix+"counters", 3); err != nil {
		return err
	}
	*c = Counts{int(n[0]), int(n[1]), int(n[2])}
	return nil
}

// Counting counts what it learnt from.
type Counting interface{ Counts() Counts }

// Reads is what the network that acts learns from other agents' rows of a window: by
// design, so that an audit can hold it against what the network is found to learn
// from. What is not declared must not count, what is declared must. How long others
// lived and where they sat is open to everyone.
type Reads struct {
	Why     string // in a few words; "": nothing is read
	Obs     bool   // what they saw, and which actions they could choose
	Action  bool   // what they did
	Reward  bool   // what they earned
	Reached bool   // goals that they reached
	Value   bool   // what they expected to earn
}

// Declares says what it reads of others.
type Declares interface {
	// Reads returns what Learn will read of the rows of agents that are not its own.
	Reads(w *Window) Reads
}

// GoalReading has a network that reads more than the observation: what the others
// are after, or what came before.
type GoalReading interface {
	// GoalLen returns how many numbers its player writes into a window's Goal.
	GoalLen() int
}

// Ruled plans on the rules of a game, which a curriculum may change.
type Ruled interface {
	// SetGame makes the next Players plan on g's rules.
	SetGame(g game.Game) error
}

// Imagining can learn from imagined windows beside played ones.
type Imagining interface {
	// Imagines says why it cannot; nil: it can.
	Imagines() error
}

// ImaginationPlayer is a mind that remembers something of every env and can play in envs that
// are made up, beside those that are played.
type ImaginationPlayer interface {
	// InImagination returns the mind as it plays there: its networks, which may go on learning,
	// and a memory of its own for envs copies. What recall does before each imagined
	// window: of the co-players it knows then what is known of them in real play.
	InImagination(envs int) (m Mind, recall func())
}

// Adapter can go on learning in parts, among strangers.
type Adapter interface {
	// Adapts says what it has to learn with.
	Adapts() (others, own bool)
	// Adapt learns the model of others, the own network, or both from a window.
	Adapt(w *Window, others, own bool) error
}

// Predict predicts what co-player a does if it pursues goal: probs [Actions]
// from a's own observation. It reports false where the model cannot say: of the
// agent itself, or without a goal if it was taught goals. It is for one goroutine.
type Predict func(probs, obs []float32, a agent.ID, goal int) bool

// Acquainted is a mind that takes co-players to be of a population.
type Acquainted interface {
	// Population names its kinds.
	Population() []string
}

// Predicting models its co-players.
type Predicting interface {
	// Predictions returns the agent's view of others. It is an error if single
	// steps cannot be predicted.
	Predictions() (Predict, error)
}

// Truth replaces what an agent believes of its co-players by the truth, or takes an
// inference away, to measure what not knowing costs. Its zero value replaces nothing.
type Truth struct {
	Team   []string // [A] the bot that every co-player is
	Goals  bool     // it knows which of its hypotheses holds about each
	Others bool     // it knows how each acts, and searches on the true rules
	Blind  bool     // goals that are inferred from history are neutral
}

// Swapper can have parts swapped for the truth.
type Swapper interface {
	// Swap is called before Players. It says why a part cannot be replaced.
	Swap(t Truth) error
}

// Searching plans by search.
type Searching interface {
	// Search returns its settings and the rules that it plays on. Both may be
	// changed before the first Players.
	Search() (*search.Config, *RulesMaker)
}

// Rules is what a search plays on: the real rules, or a model of them.
type Rules interface {
	search.Dynamics
	search.Observer
	// Set puts the state of an env's decision at the root of its trees. seats are
	// the places: oneself, then the co-players.
	Set(env int, st game.State, seats []game.Seat)
}

// Scripts evaluates leaves by scripted rollouts.
type Scripts interface {
	search.Prior
	// Of returns where the numbers of the bots that a tree's co-players are put.
	Of(tree int32) []int32
}

// RulesMaker makes the rules that a search plays on, with room for all trees of a forest,
// and scripted rollouts on them, or nil.
type RulesMaker func(f *search.Forest) (Rules, Scripts, error)

// Thinking is a player whose last decision can be looked at.
type Thinking interface {
	rollout.Player
	// Trace makes it remember the lines of its searches.
	Trace()
	// Think returns the first of its last decisions.
	Think() search.Thought
}

// Deciding is a player that can say how it decided in each of the envs that it was handed last, by
// their order.
type Deciding interface {
	rollout.Player
	// Decision returns the probabilities of the actions, a view, and the value, in the scale of
	// the rewards that it learnt from.
	Decision(i int) (probs []float32, value float32)
}

// Timed is a player that searches before it acts.
type Timed interface {
	rollout.Player
	// Forest returns the memory of its searches.
	Forest() *search.Forest
}

// Snapshots can be met again as it was: a population of its own past.
type Snapshots interface {
	// Weights returns what it plays by now; nil if there is more to it.
	Weights() *nn.Params
	// Past returns a player by weights of before, whose rows are nobody's.
	Past(w *nn.Params, envs int) rollout.Player
}
