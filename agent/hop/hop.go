// Package hop is HOP (Huang et al. 2024) and HOP+: agents that infer what the
// others want, plan against it and learn from the plan.
//
// Two functions are the algorithm, and each fits a screen: player.Act (act.go) is
// one decision, Mind.Learn (learn.go) is one update. Every line of them is a call of a
// function of a part, and a part is a type in a file of its own:
//
//	visible.go  what an agent sees of its co-players
//	goals.go    what each of them may be after: hand.go, latent.go, classes.go, context.go are four answers
//	beliefs.go  which hypothesis about each holds: Bayes within an episode, counts across
//	others.go   what each does next: likelihoods for the beliefs; drawn.go: co-players in trees
//	vectors.go  how a game of vectors goes on, learnt while playing
//	search.go   trees, whose states leaf.go evaluates; supposed.go: those of boards that are seen in part
//	own.go      the agent's own network
//
// What one part finds and another reads is data (Inferred, predictions, update), kept by
// env where it is remembered from one decision to the next, so that workers never meet.
// The networks that were trained before a run are a package of their own (pretrained):
// audits, exports and pages read them from checkpoints without an agent.
package hop

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hop-marl/hop/agent/hop/pretrained"
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/unseen"
)

// Mind is the mind of one agent that plans.
type Mind struct {
	cfg        Config
	game       game.Game
	models     pretrained.Models
	sees       *visible
	population population
	shape      shape // of the hypotheses
	goalLen    int   // numbers that the own network reads about all co-players

	goals       goals
	inferred    *Inferred // by goals
	beliefs     *beliefs
	others      *others
	predictions *predictions // by others
	answers     *answers     // the choice between ways to answer; nil: there is one
	vectors     *vectors     // the world model that it learns; nil: none
	own         *ownNetwork
	rand        rng.Rand // of all learning about others

	unseen   []*unseen.Belief // [N] what may be where nothing is seen; nil: everything is in view, or nothing is searched
	search   search.Config
	rules    learner.RulesMaker
	cacheLog int   // of how many answers of networks are kept; a test keeps hardly any
	truth    known // what is replaced by the truth
	frozen   bool
}

// New returns the mind of the agent that the brain belongs to.
func New(c Config, g game.Game, models pretrained.Models, b *ppo.Brain, scale float64, key rng.Key) (*Mind, error) {
	if len(b.Agents()) != 1 {
		return nil, errors.New("hop: an agent that plans needs a brain of its own; use train.brains [0,1,2,3]")
	}
	m, err := newMind(c, g, models, b, b.Agents()[0], scale, key)
	if err == nil {
		m.vectors, err = newVectors(m.cfg, g.Spec(), key)
	}
	return m, err
}

// newMind returns the mind of one agent of a brain.
func newMind(c Config, g game.Game, models pretrained.Models, b *ppo.Brain, me agent.ID, scale float64, key rng.Key) (*Mind, error) {
	c = c.For(g.Spec())
	if b.Model.LSTM > 0 {
		return nil, config.Bad("actor.lstm", b.Model.LSTM, "0, because a search evaluates single states")
	}
	spec := g.Spec()
	if spec.Seats < 2 {
		return nil, errors.New("hop: there is nobody to model in a game of one seat")
	}
	if err := errors.Join(models.Check(c.Goals.Kind), c.Fits(g)); err != nil {
		return nil, err
	}
	m := &Mind{
		cfg: c, models: models, sees: newVisible(spec, me), population: newPopulation(c.population(models)),
		shape: c.shape(spec, models), goalLen: c.GoalLen(spec, models), inferred: &Inferred{}, predictions: &predictions{},
		rand: key.Child("moa").Rand(), search: c.Search.Resolve(len(spec.Actions)), cacheLog: keptLog(spec.Seats),
	}
	m.game, m.rules = g, m.makeRules
	m.own = &ownNetwork{brain: b, sees: m.sees, shape: m.shape, search: c.Own == "search", goalLen: m.goalLen, scale: float32(scale)}
	m.own.ranks.percentile = c.Rank
	m.beliefs = &beliefs{cfg: c.Belief, sees: m.sees, shape: m.shape, prior: m.prior(), goalLen: m.goalLen}
	var err error
	if m.others, err = newOthers(m, key); err != nil {
		return nil, err
	}
	if m.goals, err = newGoals(m, key); err != nil {
		return nil, err
	}
	return m, m.others.begin(c.Goals.Kind, models)
}

// newGoals makes the goal model that the config names.
func newGoals(m *Mind, key rng.Key) (goals, error) {
	kind, f := m.cfg.Goals.Kind, m.shape.features
	switch kind {
	case "hand", "none":
		w := newHandmade(m, kind == "none")
		return goals{w, w, w, f}, nil
	case "context":
		w, err := newContexts(m)
		return goals{w, w, w, f}, err
	}
	codes, err := newCodes(m, key)
	if err != nil {
		return goals{}, err
	}
	if kind == "latent" {
		w, err := newLatent(m, codes, key)
		return goals{w, w, w, f}, err
	}
	if m.cfg.Leaf.partnered() && !codes.leadsToGoals() {
		return goals{}, config.Bad("leaf.kind", m.cfg.Leaf.Kind,
			"net, because the VAE's codes do not lead to goals; train it with --loss b and model.outcome above 0")
	}
	w, err := newClasses(m, codes)
	return goals{w, w, w, f}, err
}

// prior returns what is believed of somebody new.
func (m *Mind) prior() []float64 {
	var met []float64
	if m.cfg.Goals.Kind == "latent" && len(m.population.types) > 0 {
		met = m.models.Met
	}
	return m.population.prior(m.shape, met, m.cfg.Goals.DoubtStart)
}

// SetGame makes the next Players plan on g's rules.
func (m *Mind) SetGame(g game.Game) error {
	if m.game != nil && m.cfg.Search.Dynamics != "rules" {
		return errors.New("hop: the world model knows the rules of one game; with stages use search.dynamics rules")
	}
	m.game = g
	m.rules = m.makeRules
	return nil
}

// Unwrap returns the own network's mind, whose abilities are the agent's where it has none
// of its own: what acts, what counts, who it was before.
func (m *Mind) Unwrap() learner.Mind { return m.own.brain }

// Remember prepares what is remembered of envs copies.
func (m *Mind) Remember(envs, steps int) {
	m.own.brain.Remember(envs, steps)
	m.remember(envs)
}

// remember prepares what is remembered beside the own network.
func (m *Mind) remember(envs int) {
	m.goals.play.Remember(m.inferred, envs)
	m.beliefs.Remember(envs)
	m.predictions.remember(envs, m.sees, m.shape)
	m.suppose(envs)
	m.answers = nil // players make them: by then it is known what was learnt
}

// InImagination returns the mind as it plays in envs that are made up.
func (m *Mind) InImagination(envs int) (learner.Mind, func()) {
	d, b := *m, *m.beliefs
	d.goals.play, d.inferred, d.beliefs, d.predictions = m.goals.play.Apart(), &Inferred{blind: m.inferred.blind}, &b, &predictions{}
	d.Remember(envs, 0)
	return &d, func() {
		for n, held := range d.beliefs.held {
			held.CopyCounts(m.beliefs.held[n%len(m.beliefs.held)])
		}
	}
}

// Freeze makes players whose rows are not to be learnt from; greedy ones play the
// action that the search finds best.
func (m *Mind) Freeze(greedy bool) {
	m.own.brain.Freeze(greedy)
	m.frozen, m.cfg.Goals.Life = true, 0
	switch {
	case !greedy || m.search.Act == "prior":
	case m.search.Act == "mixed":
		m.search.Act = "prior" // its mode
	default:
		m.search.Act = "q"
	}
}

// Predictions returns the agent's view of others, for one goroutine. It is an
// error if goals are not the game's own: those that are inferred need the whole
// history.
func (m *Mind) Predictions() (learner.Predict, error) {
	if m.cfg.Goals.learnt() {
		return nil, fmt.Errorf("hop: the agent's models read goals of the kind %q, so single steps cannot be evaluated; look "+
			"at the models' card in the run's report", m.cfg.Goals.Kind)
	}
	if m.sees.spec.View > 0 {
		return nil, errors.New("hop: the model of others reads what its agent sees of them, so what they see themselves cannot be evaluated")
	}
	return m.others.single(m.cfg.Goals.Kind != "none"), nil
}

// Trial returns how many episodes a lifetime has while it learns; 0: that is not said.
func (m *Mind) Trial() int { return m.cfg.Goals.Life }

// Agents returns whose mind it is.
func (m *Mind) Agents() []agent.ID { return m.own.brain.Agents() }

// GoalLen returns how many numbers about goals the own network reads.
func (m *Mind) GoalLen() int { return m.goalLen }

// Networks returns the own network, and those that learn beside it.
func (m *Mind) Networks() []learner.Network {
	return slices.Concat(m.own.brain.Networks(), m.others.Networks(), m.goals.learn.Networks(), m.vectors.Networks())
}

// Imagines says why it does not learn from imagined windows.
func (m *Mind) Imagines() error { return m.cfg.Imagines() }

// Sure reports that a search ends in one action.
func (m *Mind) Sure() bool { return m.search.Sure() }

// Search returns the search's settings and rules.
func (m *Mind) Search() (*search.Config, *learner.RulesMaker) { return &m.search, &m.rules }

// Models returns the networks that were trained before the run, for audits.
func (m *Mind) Models() pretrained.Models { return m.models }

// Population returns whom a co-player may be, as the mind has it.
func (m *Mind) Population() []string { return m.population.names }

// Model returns the agent's model of others, for audits.
func (m *Mind) Model(agent.ID) *moa.Learner { return m.others.model }

var (
	_ learner.Mind              = (*Mind)(nil)
	_ learner.Rememberer        = (*Mind)(nil)
	_ learner.Saver             = (*Mind)(nil)
	_ learner.Weighted          = (*Mind)(nil)
	_ learner.Freezer           = (*Mind)(nil)
	_ learner.Networked         = (*Mind)(nil)
	_ learner.GoalReading       = (*Mind)(nil)
	_ learner.Declares          = (*Mind)(nil)
	_ learner.Ruled             = (*Mind)(nil)
	_ learner.Imagining         = (*Mind)(nil)
	_ learner.ImaginationPlayer = (*Mind)(nil)
	_ learner.Adapter           = (*Mind)(nil)
	_ learner.Predicting        = (*Mind)(nil)
	_ learner.Acquainted        = (*Mind)(nil)
	_ learner.Swapper           = (*Mind)(nil)
	_ learner.Searching         = (*Mind)(nil)
	_ learner.Trials            = (*Mind)(nil)
)
