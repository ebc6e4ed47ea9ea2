package hop

import (
	"errors"

	"github.com/hop-marl/hop/agent/hop/pretrained"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/model/vae"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/belief"
	"github.com/hop-marl/hop/store/runlog"
)

// Folders names folders of models that were trained before the run.
type Folders = pretrained.Folders

// Config is the part of a spec that says what HOP and HOP+ agents are.
type Config struct {
	Own     string        `yaml:"own" doc:"how the agent's network learns: from the search's policy and the return (HOP), or by PPO on what was played" oneof:"search|ppo"`
	Rank    float64       `yaml:"rank" doc:"ranked rewards (RLlib's r2_enable): an episode's last reward counts 1 if it is at least this percentile of the last 1,000, else -1, and rewards before it count nothing, in learning and in the search; 0: rewards count as they are" range:"0..100"`
	Goals   Goals         `yaml:"goals"`
	Belief  belief.Config `yaml:"belief"`
	MOA     MOA           `yaml:"moa"`
	Search  Search        `yaml:"search"`
	Leaf    Leaf          `yaml:"leaf"`
	Vectors Vectors       `yaml:"vectors"`
	Models  Folders       `yaml:"models"`
}

// Goals is what the others are taken to be after.
type Goals struct {
	Kind       string  `yaml:"kind" doc:"what others are taken to want: nothing (direct-OM); one of the game's hand-made goals (HOP); a point inferred from their history (hop+types; needs models.vae and models.cvae); a class of states (hop+discrete; needs models.vae with discrete goals); or whatever a sequence model has read from all the episodes among them, who they are included (HOP+; needs models.sequence)" oneof:"none|hand|latent|classes|context"`
	Doubt      bool    `yaml:"doubt" doc:"one more hypothesis about each co-player: it acts at random" when:"hand|latent|classes"`
	DoubtStart float64 `yaml:"doubt_start" doc:"probability that somebody new acts at random; -1: as each other hypothesis, or as often as the response network met it, or as it was in a sequence model's lifetimes" range:"-1..1" when:"hand|latent|classes|context"`
	Life       int     `yaml:"life" doc:"episodes of a lifetime among the same co-players while agents learn; 0: one without end" unit:"episodes" range:"0..100000" when:"context"`
	Read       bool    `yaml:"read" doc:"the agent's network reads what the others want: the posterior while playing, the drawn goals while searching" when:"hand|latent|classes|context"`
	Selector   string  `yaml:"selector" doc:"which later state was a step's subgoal, the one of the highest or of the lowest value" oneof:"optimistic|conservative" when:"latent|classes"`
	Ahead      int     `yaml:"ahead" doc:"how many states ahead a subgoal lies at most" unit:"steps" range:"1..1000" when:"latent|classes"`
	VAEPasses  int     `yaml:"vae_passes" doc:"passes over a window's states when the VAE goes on learning; 0: it stays as it is" range:"0..100" when:"latent|classes"`
	CVAEPasses int     `yaml:"cvae_passes" doc:"passes over a window's histories when the inference goes on learning; 0: it stays as it is" range:"0..100" when:"latent"`
	Rate       float64 `yaml:"rate" doc:"learning rate of VAE and inference, if they learn" range:"0<..1" when:"latent|classes"`
	Mix        float64 `yaml:"mix" doc:"share of the run over which the model of others moves from the chosen subgoals' codes to inferred ones; 0: inferred ones from the start" range:"0..10" when:"latent"`
	Spread     float64 `yaml:"spread" doc:"factor on the standard deviation of what a tree draws; 0: every tree plans with the mean" range:"0..10" when:"latent"`
	Gate       int     `yaml:"gate" doc:"infer only about co-players within so many cells of something they could want; of others neither goal nor action is predicted: the goal is neutral, beliefs stay, and in a tree they act at random; -1: about all" unit:"cells" range:"-1..1000" when:"latent"`
}

// MOA is the model of others: its network, how it learns, and how often.
type MOA struct {
	moa.Config   `yaml:",inline"`
	moa.Learning `yaml:",inline"`
	Passes       int     `yaml:"passes" doc:"passes over a window's labelled trajectories; 0: it stays as it is" range:"0..100"`
	Recorded     float64 `yaml:"recorded" doc:"share of what known players did (train.recorded) in all that is learnt from" range:"0..1"`
	Slow         float64 `yaml:"slow" doc:"share of the weights of before that stays after a window's passes (Lookahead's slow weights); 0: none" range:"0..1"`
}

// Search is how an agent plans, and on what.
type Search struct {
	search.Config `yaml:",inline"`
	Dynamics      string `yaml:"dynamics" doc:"what a search plays on: the true rules; the learnt world model of a board (needs models.world); or a model of vectors, which agents learn from what they play (vectors), for any game of which all observations are known" oneof:"rules|world|vectors"`
	When          string `yaml:"when" doc:"always; or in play alone: agents that learn act by their network, which PPO teaches, and those that play what was learnt plan with it" oneof:"always|play"`
	Guard         bool   `yaml:"guard" doc:"in play, where returns refute again and again what was expected of them, answer by what really earned most: the plan, or one of the game's scripts, safe ones among them (for goals context that are read without types)"`
	Unknown       bool   `yaml:"unknown" doc:"with guard: in play, make a model of each co-player from what it does, and where that predicts better than what was read, plan against it on the true rules"`
	Unseen        string `yaml:"unseen" doc:"with game.view, what a search takes to be where nothing is seen: in each tree another draw from what may be there; what was last seen there; or nothing and nobody" oneof:"drawn|seen|gone"`
	Nearest       int    `yaml:"nearest" doc:"how many co-players, the nearest on the board, are predicted in every state of a tree; the others act in all of it as they are predicted at its root; 0: all are the nearest" unit:"co-players" range:"0..63"`
	Others        string `yaml:"others" doc:"how co-players act in a tree: as the model of others says, or uniformly (an ablation)" oneof:"model|uniform"`
}

// Leaf is what a state at the end of a search is worth.
type Leaf struct {
	Kind     string   `yaml:"kind" doc:"value of a leaf: the agent's network; the best of several scripted rollouts against the drawn goals; the better of the two; or the response network, which learnt to answer known co-players and is given the drawn goals (needs models.response)" oneof:"net|scripts|both|response"`
	Partners []string `yaml:"partners" doc:"the bot that stands for each hand-made goal, then one for doubt; with goals none each tree draws any of them; with goals latent whom a co-player may be, one hypothesis each. Empty, but not with goals hand: those that the response network knows" when:"scripts|both|response"`
	Scripts  []string `yaml:"scripts" doc:"what oneself may do; in stag hunt stag stands for one script a stag" when:"scripts|both"`
	Ahead    int      `yaml:"ahead" doc:"steps that everybody plays on from a leaf, by the own network and the model of others, before the network values it (for search.dynamics vectors); 0: none" unit:"steps" range:"0..1000" when:"net"`
	Repeat   int      `yaml:"repeat" doc:"futures that each script is averaged over before the best one counts" range:"1..1000" when:"scripts|both"`
}

// Default returns HOP's planner.
func Default() Config {
	return Config{
		Own: "search",
		Goals: Goals{
			Kind: "hand", Doubt: true, DoubtStart: -1, Read: true, Selector: "optimistic", Ahead: 5, Rate: 5e-4, Mix: 0.5, Spread: 1, Gate: -1,
		},
		Belief: belief.Default(),
		MOA:    MOA{Config: moa.Default(), Learning: moa.DefaultLearning(), Passes: 2},
		Search: Search{Config: search.Default(), Dynamics: "rules", When: "always", Guard: true, Unknown: true,
			Unseen: "drawn", Others: "model"},
		Leaf:    Leaf{Kind: "net", Partners: []string{"ns", "nh", "random"}, Scripts: []string{"nh", "stag"}, Repeat: 1},
		Vectors: DefaultVectors(),
	}
}

// learnt reports that goals are learnt ones, which need models.
func (g Goals) learnt() bool { return g.Kind == "latent" || g.Kind == "classes" || g.Kind == "context" }

// OfKinds reports that the hypotheses are the types of a population, with a point or a
// context beside them.
func (g Goals) OfKinds() bool { return g.Kind == "latent" || g.Kind == "context" }

// doubts reports that there is a hypothesis of acting at random.
func (g Goals) doubts() bool { return g.Doubt && g.Kind != "none" }

// shape returns how many hypotheses about a co-player there are, and by how many numbers
// they are read.
func (c Config) shape(spec game.Spec, m pretrained.Models) shape {
	n, features := 1, 1
	switch g := c.Goals; {
	case g.Kind == "hand":
		n, features = len(spec.Goals), len(spec.Goals)
	case g.Kind == "context" && m.Sequence != nil:
		n = len(m.Sequence.Given())
		features = m.Sequence.ReadLen() + n
		n = max(1, n) // without types: whatever has been read
	case m.VAE == nil:
	case g.Kind == "classes":
		n = m.VAE.ClassCount(maxClasses + 1)
		features = n
	case g.Kind == "latent":
		types := len(modelled(c.population(m)))
		n, features = max(1, types), m.VAE.Width()+types
	}
	return newShape(n, features, c.Goals.doubts())
}

// GoalLen returns how many numbers the agent's network reads about the others'
// goals.
func (c Config) GoalLen(spec game.Spec, m pretrained.Models) int {
	if !c.Goals.Read || c.Goals.Kind == "none" {
		return 0
	}
	return (spec.Seats - 1) * c.shape(spec, m).width
}

// population returns whom a co-player may be: those that the response network knows, or the
// partners of scripted leaves, or those that the sequence model knows.
func (c Config) population(m pretrained.Models) []string {
	switch {
	case len(m.Population) == 0 && c.Leaf.partnered():
		return c.Leaf.Partners
	case len(m.Population) == 0 && m.Sequence != nil:
		return m.Sequence.Kinds
	}
	return m.Population
}

// moaInput says what a model of others reads of a game, without goals.
func moaInput(spec game.Spec) moa.Input {
	return moa.NewInput(frame.Layout(spec.Obs), spec.Seats, spec.Actions, 0)
}

// LoadMOA reads the best weights of a model of others that was trained before.
func LoadMOA(runs *runlog.Reader, c Config, spec game.Spec, m *pretrained.Models) error {
	in, types := moaInput(spec), -1 // of whom nothing is counted
	switch c.Goals.Kind {
	case "hand":
		in.GoalLen = len(spec.Goals)
	case "latent":
		types = len(modelled(c.population(*m)))
		in.GoalLen = m.VAE.Width() + types
	}
	return m.LoadMOA(runs, c.Models.MOA, c.MOA.Config, in, types, len(spec.Goals))
}

// scripted reports that leaves are evaluated by scripted rollouts.
func (l Leaf) scripted() bool { return l.Kind == "scripts" || l.Kind == "both" }

// partnered reports that leaves are evaluated against bots that stand for goals.
func (l Leaf) partnered() bool { return l.Kind != "net" }

// Met returns the bots that an agent has scripts of.
func (c *Config) Met() []string {
	if c.Leaf.partnered() {
		return c.Leaf.Partners
	}
	return nil
}

// Planning is the settings of minds that plan as HOP does: its own, or those of a kind of minds
// that hold them.
type Planning interface{ Planner() *Config }

// Planner returns the settings themselves.
func (c *Config) Planner() *Config { return c }

// Watches reports whether agents can learn by watching others play: those that learn from a search.
func (c *Config) Watches() bool { return c.Own == "search" }

// FolderFields returns the fields that name folders of models.
func (c *Config) FolderFields() []*string { return c.Models.Fields() }

// Hypotheses names what a co-player of the game may be after.
func (c *Config) Hypotheses(goals []string) []string {
	if c.Goals.Kind == "none" {
		return []string{"anything"}
	}
	names := append([]string(nil), goals...)
	if c.Goals.Doubt {
		names = append(names, "acting at random")
	}
	return names
}

// Validate returns everything that is wrong without a game, joined.
func (c *Config) Validate() error {
	var errs []error
	part := func(err error, path string) { errs = append(errs, config.At(err, path, nil)) }
	if err := config.Check(*c); err != nil {
		errs = append(errs, err)
	}
	part(c.Belief.Validate(), "belief")
	part(errors.Join(c.MOA.Config.Validate(), c.MOA.Learning.Validate()), "moa")
	if c.MOA.History > 0 {
		part(config.Bad("history", c.MOA.History, "0, because a search asks about single states"), "moa")
	}
	if c.Search.Kind == "none" && c.Own != "ppo" {
		errs = append(errs, config.Bad("own", c.Own, "ppo, because search.kind is none and there is no search to learn from"))
	}
	if c.Search.When == "play" && (c.Own != "ppo" || c.Leaf.Kind != "net") {
		part(config.Bad("when", c.Search.When, "always, because own is "+c.Own+" and leaf.kind is "+c.Leaf.Kind+
			": in play alone plans who learns by PPO (own ppo) and evaluates leaves by that network (leaf.kind net)"), "search")
	}
	if err := c.checkRank(); err != nil {
		errs = append(errs, err)
	}
	part(c.Vectors.Validate(), "vectors")
	if c.Search.Dynamics != "rules" && c.Leaf.scripted() {
		part(config.Bad("kind", c.Leaf.Kind, "net or response, because search.dynamics is "+c.Search.Dynamics+
			" and scripts need the true rules"), "leaf")
	}
	return errors.Join(append(errs, c.Models.Needs(c.Goals.Kind, c.Search.Dynamics, c.Leaf.Kind))...)
}

// ByNetwork reports that agents who learn act by their own network alone, without a search.
func (c *Config) ByNetwork() bool {
	return c.Leaf.Kind == "net" && (c.Search.Kind == "none" || c.Search.When == "play")
}

// Imagines says why agents do not learn from imagined windows: only those do that
// play by their own network alone.
func (c *Config) Imagines() error {
	switch {
	case c.Search.Kind != "none":
		return config.Bad("search.kind", c.Search.Kind, "none, because imagine.on is true and there is no search in imagination")
	case c.Leaf.Kind != "net":
		return config.Bad("leaf.kind", c.Leaf.Kind, "net, because imagine.on is true and agents imagine by their own network")
	case c.Goals.Kind == "context":
		return config.Bad("goals.kind", c.Goals.Kind, "another kind, because imagine.on is true and a sequence model reads no imagined steps")
	}
	return nil
}

// For returns the settings for a game: without what needs a board where there is none.
func (c Config) For(spec game.Spec) Config {
	if c.Goals.Kind == "context" && len(spec.Obs.Planes) == 0 {
		c.MOA.Frame, c.MOA.Distances = frame.Board, false
	}
	return c
}

// Pools says why players cannot read boards that count the co-players in place of showing each.
func (c *Config) Pools() error {
	switch {
	case c.Goals.learnt():
		return config.Bad("goals.kind", c.Goals.Kind, "hand or none, because game.pooled shows no histories to infer goals from")
	case c.Search.Dynamics == "world":
		return config.Bad("search.dynamics", c.Search.Dynamics, "rules, because game.pooled tells co-players apart no more")
	case c.MOA.Augment != "none":
		return config.Bad("moa.augment", c.MOA.Augment, "none, because game.pooled shows no co-players to be put in another order")
	}
	return nil
}

// Fits says why the settings cannot be those of players of a game.
func (c *Config) Fits(g game.Game) error {
	spec := g.Spec()
	of := c.For(spec)
	c = &of
	l, board := spec.Obs, len(spec.Obs.Planes) > 0
	const hidden = " because game.view hides a part of the board and "
	switch {
	case spec.View > 0 && c.Search.Kind != "none" && !supposes(g):
		return config.Bad("search.kind", c.Search.Kind, "none,"+hidden+"nothing can be supposed of it in "+spec.Name+"; or game.view 0")
	case spec.View > 0 && c.Goals.Kind == "hand" && c.Belief.Count == "goal":
		return config.Bad("belief.count", c.Belief.Count, "evidence,"+hidden+"goals that are reached there are not seen")
	case c.Search.Nearest > 0 && !onBoard(g):
		return config.Bad("search.nearest", c.Search.Nearest, "0, because nobody is near or far in "+spec.Name)
	case c.Search.Dynamics == "vectors" && l.Picture != [3]int{}:
		return config.Bad("search.dynamics", c.Search.Dynamics, "another learner, such as ppo, because "+spec.Name+" shows pictures")
	case c.Goals.Kind == "hand" && len(spec.Goals) == 0:
		return config.Bad("goals.kind", c.Goals.Kind, "none, because "+spec.Name+" has no hand-made goals")
	case c.Goals.learnt() && c.Goals.Kind != "context" && (!board || l.Last == 0):
		return config.Bad("goals.kind", c.Goals.Kind, "hand or none, because "+spec.Name+" shows no board or no last actions")
	case c.Goals.Kind == "latent" && c.Goals.Gate >= 0 && len(vae.NewGate(frame.Layout(l), spec.Seats, 0).Prey) == 0:
		return config.Bad("goals.gate", c.Goals.Gate, "-1, because "+spec.Name+" has nothing on its board that somebody could want")
	case !board && (c.MOA.Frame != "board" || c.MOA.Net == "conv"):
		return config.Bad("moa.frame", c.MOA.Frame, "board and a dense net, because "+spec.Name+" has no board")
	case c.MOA.Augment != "none" && !moaInput(spec).CanTurn():
		return config.Bad("moa.augment", c.MOA.Augment, "none, because observations of "+spec.Name+" cannot be turned")
	case c.MOA.Distances && !moaInput(spec).HasDistances():
		return config.Bad("moa.distances", c.MOA.Distances, "false, because "+spec.Name+" has no board with moves and things on it")
	}
	return nil
}
