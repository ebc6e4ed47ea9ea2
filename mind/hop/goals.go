package hop

import (
	"hop/agent"
	"hop/batch"
	"hop/belief"
	"hop/mind"
	"hop/rng"
	"hop/rollout"
	"hop/safetensors"
)

// GoalModel is what an agent takes its co-players to be after.
//
// A *goal* is what a co-player pursues: one of the game's own, a point z, or a
// class of states. A *hypothesis* is one of finitely many statements about it,
// which beliefs are over: that it pursues goal g; or, where goals are points, that
// it pursues the z that is inferred. That it acts at random is one more, which the
// mind adds (doubt). The *features* of a goal are the numbers by which networks
// read it. The *inference* finds goals from history while playing; a *label* is
// the goal of a step as it is known in hindsight. What a tree's co-player is
// *drawn* to be after follows from the beliefs, then from the inference. A
// *partner* is the bot that stands for a goal in scripted rollouts and for the
// response network.
type GoalModel interface {
	// Hypotheses returns how many there are, without doubt.
	Hypotheses() int
	// Features returns how many numbers say what one co-player is after, without
	// doubt.
	Features() int
	// Remember prepares for envs copies.
	Remember(envs int)
	// Inference returns a worker's part, for up to envs decisions of so many trees.
	Inference(envs, trees int) Inference

	// Trajectories returns the steps of a window that labels can be given to.
	Trajectories(ro *batch.Rollout) []trajectory
	// Label writes into dst, [steps of all trajectories][Features], what each of
	// their steps was done for.
	Label(dst []float32, ro *batch.Rollout, list []trajectory, share float64, r *rng.Rand) []agent.Stat
	// Fit lets the inference learn from what was labelled last.
	Fit(r *rng.Rand) ([]agent.Stat, error)
	// Networks returns those that learn, for guards.
	Networks() []mind.Network

	save(f *safetensors.File, prefix string)
	// load restores what save stored; weights: those alone, to play.
	load(f *safetensors.File, prefix string, weights bool) error
}

// Inference is what a GoalModel is to one worker.
type Inference interface {
	// Observe takes in what the co-players of the envs show, before anything else
	// is asked.
	Observe(v *rollout.View, envs []int32)
	// Open reports whether co-player j of env n, who is there, is near enough to what it
	// may want that its goal and its next action are inferred at all.
	Open(n, j int) bool
	// Goal returns the features of hypothesis g on co-player j of env n, a view.
	Goal(n, j, g int) []float32
	// Reached returns the goal that co-player j of env n, who plays on, has just
	// reached, so that the next one is open; game.NoGoal if it has not.
	Reached(v *rollout.View, n, j int) int
	// Outcome returns what co-player j was after in env n's episode, which is
	// over: a hypothesis or game.NoGoal, and whether beliefs count episodes.
	Outcome(v *rollout.View, n, j int) (goal int, counts bool)

	// Draw draws what co-player j of env n is after in a tree if hypothesis g
	// holds, and returns a number that names it in this worker's caches for good.
	// Numbers below Hypotheses are the hypotheses themselves.
	Draw(tree int32, n, j int, g int32, r *rng.Rand) int32
	// Drawn returns the features of what was drawn, a view.
	Drawn(tree int32, j int, name int32) []float32
	// Partner returns the number of the bot that stands for it.
	Partner(tree int32, j int, name int32) int32
	// Renamed reports that names have started anew since Renamed was last asked,
	// so that caches must forget the old ones.
	Renamed() bool
	// Believe writes what is believed of the co-players of env n, where the inference says it
	// itself; false: Bayes' rule does.
	Believe(b *belief.Beliefs, n int) bool
	// Words says in words what hypothesis g on co-player j of env n is, for people
	// to look at.
	Words(n, j, g int) []Word
}

// Word is a goal's name and how much of a hypothesis it is.
type Word struct {
	Name  string
	Share float64
}

// trajectory is one co-player's steps lo to hi-1 of an episode.
type trajectory struct {
	other  int // which of the others
	agent  agent.ID
	env    int
	lo, hi int
}

// last returns the index of the trajectory's last step.
func (t trajectory) last(ro *batch.Rollout) int { return ro.Step(t.agent, t.hi-1, t.env) }

// episodes returns the steps of the others' episodes that began in the window and,
// unless cut ones are wanted too, ended in it.
func (m *Mind) episodes(ro *batch.Rollout, cut bool) (list []trajectory) {
	for j, a := range m.others {
		m.sight.Episodes(ro, a, cut, func(n, lo, hi int) { list = append(list, trajectory{j, a, n, lo, hi}) })
	}
	return list
}
