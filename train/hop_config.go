package train

import (
	"errors"
	"fmt"
	"slices"

	"hop/field"
	"hop/game"
)

// Planning sets agents that infer what the others want and plan against it.
type Planning struct {
	On       bool     `yaml:"on" doc:"agents search before they act and learn from the search; false: plain PPO"`
	Goals    string   `yaml:"goals" doc:"what others are thought to want: nothing (direct-OM); one of the game's hand-made goals (HOP); a point inferred from their history (HOP+; needs models.vae and models.cvae); or a class of states (needs models.vae with discrete goals)" oneof:"none|hand|latent|codes"`
	Doubt    bool     `yaml:"doubt" doc:"one more hypothesis about each co-player: it acts at random"`
	Start    float64  `yaml:"doubt_start" doc:"probability at an episode's start that a co-player acts at random; -1: as often as each other hypothesis, or as belief.across has counted" range:"-1..1"`
	See      bool     `yaml:"see" doc:"the agent's network is told what the others want: the belief while playing, the drawn goals while searching"`
	Others   string   `yaml:"others" doc:"how co-players act in a tree: as the model of others says, or uniformly (an ablation)" oneof:"model|uniform"`
	Planner  string   `yaml:"planner" doc:"tree search as search says; one-step look-ahead over search.trees draws; or none: the network's own policy, for plan.own ppo" oneof:"tree|onestep|none"`
	Dynamics string   `yaml:"dynamics" doc:"what a search plays on: the true rules, or the learnt world model (needs models.world)" oneof:"rules|world"`
	Own      string   `yaml:"own" doc:"how the agent's network learns: from the search's policy and the return (HOP), or by PPO on what was played" oneof:"search|ppo"`
	Leaf     string   `yaml:"leaf" doc:"value of a leaf: the agent's network, the best of several scripted rollouts against the drawn goals, the better of the two, or a network that was trained beforehand to answer known co-players and is told the drawn goals (needs models.response)" oneof:"net|scripts|both|response"`
	Bots     []string `yaml:"bots" doc:"for scripted rollouts and the response network: the bot that stands for each hand-made goal, then one for doubt; with goals none each tree draws any of them"`
	Scripts  []string `yaml:"scripts" doc:"for scripted rollouts: what oneself may do; in stag hunt stag stands for one script a stag"`
	Repeat   int      `yaml:"repeat" doc:"for scripted rollouts: futures that each script is averaged over before the best one counts" range:"1..1000"`
	Train    []string `yaml:"train" doc:"which models go on learning during the run: moa, cvae, vae"`
	Passes   int      `yaml:"passes" doc:"passes over a window's labelled trajectories when the model of others learns" range:"0..100"`
	Infer    int      `yaml:"cvae_passes" doc:"passes over a window's histories when the CVAE learns" range:"0..100"`
	Rewarded bool     `yaml:"rewarded" doc:"models learn only from trajectories that were rewarded in the end; with hand-made goals they learn from all steps up to the last goal reached"`
	Rate     float64  `yaml:"rate" doc:"learning rate of the VAE and the CVAE, if they learn" range:"0<..1"`
	Selector string   `yaml:"selector" doc:"learnt goals: which later state was a step's subgoal, the one of the highest or of the lowest value" oneof:"optimistic|conservative"`
	Ahead    int      `yaml:"ahead" doc:"learnt goals: how many states ahead a subgoal lies at most" unit:"steps" range:"1..1000"`
	Mix      float64  `yaml:"mix" doc:"latent goals: share of the run over which the model of others moves from the chosen subgoals' codes to inferred ones; 0: inferred ones from the start" range:"0..10"`
	Spread   float64  `yaml:"spread" doc:"latent goals: factor on the standard deviation of what a tree draws; 0: every tree plans with the mean" range:"0..10"`
	Gate     int      `yaml:"gate" doc:"latent goals: infer only about co-players within so many cells of a prey, others get the neutral goal; -1: always" unit:"cells" range:"-1..1000"`
	Group    int      `yaml:"group" doc:"trees that advance together; not part of the numbers" range:"1..4096"`
	Log      int      `yaml:"cache_log" doc:"answers of networks kept while weights stand still: 2 to this power" range:"4..24"`
}

// DefaultPlanning returns HOP's planner, switched off.
func DefaultPlanning() Planning {
	return Planning{
		Goals: "hand", Doubt: true, Start: -1, See: true, Others: "model", Planner: "tree", Dynamics: "rules", Own: "search", Leaf: "net",
		Bots: []string{"ns", "nh", "random"}, Scripts: []string{"nh", "stag"}, Repeat: 1, Train: []string{"moa"}, Passes: 2, Infer: 1,
		Rate: 5e-4, Selector: "optimistic", Ahead: 5, Mix: 0.5, Spread: 1, Gate: -1, Group: 256, Log: 15,
	}
}

// Width returns how many numbers say what one co-player is after, doubt among
// them.
func (c Planning) Width(spec game.Spec, m Models) int {
	n := 1
	switch {
	case c.Goals == "none":
		return n
	case c.Goals == "hand":
		n = len(spec.Goals)
	case m.VAE == nil:
	case c.Goals == "codes":
		n = classCount(m.VAE)
	default:
		n = m.VAE.Dim
	}
	if c.Doubt {
		n++
	}
	return n
}

// GoalLen returns how many numbers the agent's network reads about the others'
// goals.
func (c Planning) GoalLen(spec game.Spec, m Models) int {
	if !c.On || !c.See || c.Goals == "none" {
		return 0
	}
	return (spec.Seats - 1) * c.Width(spec, m)
}

// Learnt reports that goals are learnt ones, which need models.
func (c Planning) Learnt() bool { return c.On && (c.Goals == "latent" || c.Goals == "codes") }

// Scripted reports that leaves are judged by scripted rollouts.
func (c Planning) Scripted() bool { return c.Leaf == "scripts" || c.Leaf == "both" }

// Casts reports that leaves are judged against bots that stand for goals.
func (c Planning) Casts() bool { return c.Leaf != "net" }

// Validate returns everything that is wrong, joined.
func (c Planning) Validate() error {
	errs := []error{field.Check(c)}
	for i, name := range c.Train {
		if !slices.Contains([]string{"moa", "cvae", "vae"}, name) {
			errs = append(errs, field.Bad(fmt.Sprintf("train[%d]", i), name, "one of moa, cvae, vae"))
		}
	}
	if c.On && c.Planner == "none" && c.Own != "ppo" {
		errs = append(errs, field.Bad("own", c.Own, "ppo, because plan.planner is none and there is no search to learn from"))
	}
	if c.On && c.Dynamics == "world" && c.Scripted() {
		errs = append(errs, field.Bad("leaf", c.Leaf, "net or response, because plan.dynamics is world and scripts need the true rules"))
	}
	return errors.Join(errs...)
}
