package reference

import "github.com/hop-marl/hop/game/batch"

// Settings carry the names that specs give them (docs/ppo.md, docs/hop.md), and only
// what the definitions need.

// PPO sets an update of an own network.
type PPO struct {
	LR, LREnd, Entropy, EntropyEnd float64
	Gamma, Lambda, Clip, ValueCoef float64
	Align                          float64
	MaxGrad, TargetKL, AdamEps     float64
	Epochs, Minibatch, SeqLen      int
	NormAdv, ClipValue             bool
}

// Rewards says how true rewards become what is learnt from.
type Rewards struct {
	Scale, Prosocial, Gamma float64
	Goal                    []float64 // [goals] factor of steps that reached it; nil: 1
}

// Window is what is learnt from.
type Window struct {
	*batch.Rollout
	Rewards   Rewards
	Share     float64        // how much of the run lies behind
	Imagined  *batch.Rollout // steps that a world model made up; nil: none
	RealRatio float64        // share of played rows among both
}

// HOP sets what an agent makes of its co-players.
type HOP struct {
	Goals    GoalSettings
	Others   OthersSettings
	Belief   BeliefSettings
	Leaf     string   // what values leaves
	Partners []string // whom they are valued against
}

// GoalSettings are those of goals.
type GoalSettings struct {
	Kind, Selector                     string
	Doubt                              bool
	DoubtStart, Rate, Mix              float64
	Ahead, VAEPasses, CVAEPasses, Gate int

	// How the inference learns.
	Batch, Parts int // histories in a gradient step, and in how many parts noise is drawn
	KL, MaxGrad  float64
}

// OfKinds reports that the hypotheses are the kinds of a population, with a point or a
// context beside them.
func (g GoalSettings) OfKinds() bool { return g.Kind == "latent" || g.Kind == "context" }

// OthersSettings are those of a model of others.
type OthersSettings struct {
	Net, Frame, Augment  string
	Distances, Balance   bool
	Passes, Batch, Views int
	LR, Decay, Clip      float64
}

// BeliefSettings are those of beliefs.
type BeliefSettings struct {
	Within, Across bool
	Decay, Smooth  float64
	Count          string
}

// codeShape and inferShape are the shapes of a VAE and of the inference, as saved.
type codeShape struct {
	Net, Frame, Reads string
	Discrete, Groups  int
}

type inferShape struct {
	Frame                      string
	Dim, Classes, Feature, GRU int
}
