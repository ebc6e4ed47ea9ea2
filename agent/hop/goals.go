package hop

import (
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

// A *goal* is what a co-player pursues: one of the game's own, a point z, a class of
// states, or whatever a sequence model has read. A *hypothesis* is one of finitely many
// statements about a co-player, which beliefs are over: that it pursues goal g; or, where
// goals are points or contexts, that it is of *type* g, one of a population, and pursues
// what is inferred. That it acts at random is one more, the last: *doubt*. The *features*
// of a hypothesis are the numbers by which networks read it. The *inference* finds them
// from history while playing; a *label* is the goal of a step as it is known in hindsight.
// What a tree's co-player is *drawn* to be after follows from the beliefs, then from the
// inference. A *partner* is the bot that stands for it in scripted rollouts and for the
// response network.

// shape is how many hypotheses about a co-player there are, and by how many numbers they
// are read.
type shape struct {
	hypotheses int // what beliefs are over, doubt among them
	doubt      int // the one that a co-player acts at random, the last; -1: there is none
	features   int // numbers that say what one co-player is after
	width      int // those that networks read about one co-player: features, then doubt if there is any
}

func newShape(hypotheses, features int, doubt bool) shape {
	if doubt {
		return shape{hypotheses + 1, hypotheses, features, features + 1}
	}
	return shape{hypotheses, -1, features, features}
}

// Inferred is what is inferred about all co-players: an Inference writes it, the other
// parts of a decision read it. It is kept by env, so that workers never meet.
type Inferred struct {
	Features []float32 // [N][others][hypotheses but doubt][features], or [hypotheses but doubt][features] if they never change
	Open     []bool    // [N][others] near enough to what it may want that goal and next action are inferred; nil: all are
	Mean     []float32 // [N][others][dim] the point or context that is inferred; nil: there is none
	Spread   []float32 // [N][others][dim] its standard deviation
	Belief   []float64 // [N][others][hypotheses] what is believed, where the inference says so itself; nil: Bayes' rule does
	Last     []int32   // [N][others] hypothesis that an episode counts for if it ends now, or game.NoGoal, for ByInference
	Counts   Counts    // what beliefs count of an episode that is over
	Alike    Alike     // how long what is drawn for a hypothesis stays the same
	Present  bool      // there are no hypotheses: doubt's place says that a co-player is there

	features int  // of one hypothesis
	each     int  // of all hypotheses about one co-player; 0: they never change
	blind    bool // points are neutral: nothing is to be known of history
}

// Counts says what beliefs count of an episode that is over.
type Counts int

const (
	Nothing     Counts = iota // there is one hypothesis, or the inference remembers episodes itself
	ByGoal                    // the game's own goals are the hypotheses, and co-players are seen to reach them
	ByInference               // Inferred.Last
)

// Alike says how long what is drawn for a hypothesis stays the same, so that trees can share
// what networks say of it.
type Alike int

const (
	Always     Alike = iota // a hypothesis says it all
	ADecision               // for one co-player of one env at one slot
	NoTwoDraws              // every draw differs
)

// fit makes room for the features of n co-players, under so many hypotheses each.
func (x *Inferred) fit(n, hypotheses, features int) {
	x.features, x.each = features, hypotheses*features
	x.Features = make([]float32, n*x.each)
}

// oneHot makes the features of n hypotheses those of their numbers, for good.
func (x *Inferred) oneHot(n int) {
	x.fit(1, n, n)
	x.each = 0
	for g := range n {
		x.Features[g*n+g] = 1
	}
}

// of returns the features of hypothesis g on the co-player at a place of [N][others], a view.
func (x *Inferred) of(at, g int) []float32 {
	lo := at*x.each + g*x.features
	return x.Features[lo : lo+x.features]
}

// open reports whether anything is inferred of the co-player at a place, who is there.
func (x *Inferred) open(at int) bool { return x.Open == nil || x.Open[at] }

// point returns the mean and the spread at a place, views; nil where there are none.
func (x *Inferred) point(at, dim int) (mean, spread []float32) {
	return x.Mean[at*dim : (at+1)*dim], x.Spread[at*dim : (at+1)*dim]
}

// Inference finds what co-players are after, for one worker.
type Inference interface {
	// Infer takes in what the co-players of the envs show, before anything else is
	// asked, and writes what follows into the model's Inferred.
	Infer(v *rollout.View, envs []int32)
	// Draw draws what co-player j of env n is after in a tree if hypothesis g holds,
	// writes all its features to dst and returns the number of the partner that stands for it.
	Draw(dst []float32, n, j int, g int32, r *rng.Rand) (partner int32)
	// Explain says in words what hypothesis g on co-player j of env n is, for people to
	// look at. It changes nothing.
	Explain(n, j, g int) []Word
}

// Word is a goal's name and how much of a hypothesis it is.
type Word struct {
	Name  string
	Share float64
}

// GoalModel is what an agent takes its co-players to be after, to those who play.
type GoalModel interface {
	// Remember makes x, which it writes to from now on, ready for envs copies.
	Remember(x *Inferred, envs int)
	// Inference returns a worker's part, for up to envs decisions at a time.
	Inference(envs int) Inference
	// Apart returns the model with the same networks, to remember something else.
	Apart() GoalModel
}

// GoalLearner is a GoalModel to those who learn.
type GoalLearner interface {
	// Trajectories returns the steps of a window that labels can be given to.
	Trajectories(ro *batch.Rollout) []trajectory
	// Label writes into dst, [steps of all trajectories][features], what each of
	// their steps was done for.
	Label(dst []float32, ro *batch.Rollout, list []trajectory, share float64, r *rng.Rand) []agent.Stat
	// Fit lets the inference learn from what was labelled last.
	Fit(r *rng.Rand) ([]agent.Stat, error)
	// Networks returns those that learn, for guards.
	Networks() []learner.Network
}

// GoalSaver is a GoalModel in a checkpoint.
type GoalSaver interface {
	Save(f *safetensors.File, prefix string)
	// Load restores what Save stored; weights: those alone, to play.
	Load(f *safetensors.File, prefix string, weights bool) error
}

// goals is the part that says what co-players are after: one goal model, by who uses it.
type goals struct {
	play     GoalModel
	learn    GoalLearner
	save     GoalSaver
	features int // of a hypothesis
}

// Label labels a window in hindsight: what each co-player's steps were done for.
func (g *goals) Label(u *update) {
	if !u.others {
		return
	}
	u.list = g.learn.Trajectories(u.window.Rollout)
	for _, p := range u.list {
		u.steps += p.hi - p.lo
	}
	if u.steps == 0 {
		return
	}
	u.goals = make([]float32, u.steps*g.features)
	u.add(g.learn.Label(u.goals, u.window.Rollout, u.list, u.window.Share, u.rand), nil)
}

// Fit lets the inference learn from what was labelled.
func (g *goals) Fit(u *update) {
	if u.steps > 0 && u.err == nil {
		u.add(g.learn.Fit(u.rand))
	}
}

// Recall labels what known players did, beside the window, and lets the inference learn from
// that as well.
func (g *goals) Recall(u *update) {
	if !u.others || u.err != nil || u.window.Recorded == nil {
		return
	}
	w := *u.window
	w.Rollout = w.Recorded
	u.known = &update{window: &w, others: true, rand: u.rand}
	g.Label(u.known)
	g.Fit(u.known)
	u.err = u.known.err
}
