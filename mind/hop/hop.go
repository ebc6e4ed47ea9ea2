// Package hop is HOP (Huang et al. 2024) and HOP+: agents that infer what the
// others want, plan against it and learn from the plan.
//
// Two functions are the algorithm, and each fits a screen: player.Act (act.go) is
// one decision, Mind.Learn (learn.go) is one update. What the others want is a
// GoalModel (goals.go, with the words that are used here); hand-made goals, points
// that are inferred from history, classes of states and what a sequence model has read
// (package incontext) are its implementations, a file each.
//
// One network models all co-players of an agent; it is given which one, so it is
// as free as one network each, and learns what they have in common once. All that
// is remembered of play is kept by env, so that workers never meet.
package hop

import (
	"errors"
	"fmt"
	"slices"

	"hop/agent"
	"hop/belief"
	"hop/field"
	"hop/game"
	"hop/mind"
	"hop/mind/hop/pretrained"
	"hop/mind/hop/sight"
	"hop/model/moa"
	"hop/model/sequence"
	"hop/plan"
	"hop/ppo"
	"hop/rng"
)

// Mind is the mind of one agent that plans.
type Mind struct {
	*ppo.Brain // the own network

	cfg    Config
	search plan.Config
	rules  mind.RulesMaker
	game   game.Game
	spec   game.Spec
	scale  float32 // of rewards in the own network's values
	models pretrained.Models

	me       agent.ID
	sight    sight.Sight // what it sees of the others
	others   []agent.ID
	who      []string // whom a co-player may be: what leaves are evaluated against
	doubtful int32    // which of them stands for doubt
	goals    GoalModel
	kinds    int // hypotheses about a co-player, doubt among them
	random   int // the one that it acts at random, -1 if there is none
	width    int // numbers that networks read about one co-player's goal, the last of them doubt
	goalLen  int // numbers that the own network reads about all of them
	moa      *moa.Learner
	rand     rng.Rand

	beliefs     []*belief.Beliefs // [N]
	likelihoods []float32         // [N][others][kinds][K] what each co-player was predicted to do
	predicted   []bool            // [N] likelihoods belong to the slot before

	frozen    bool
	truth     known     // what is replaced by the truth
	hindsight []float32 // [T+1][N][goalLen] scratch of fitOwn
	version   int       // of the weights, for caches
	cacheLog  int       // of how many answers of networks are kept; a test keeps hardly any
}

// New returns the mind of the agent that the brain belongs to.
func New(c Config, g game.Game, models pretrained.Models, b *ppo.Brain, scale float64, key rng.Key) (*Mind, error) {
	if len(b.Agents()) != 1 {
		return nil, errors.New("hop: an agent that plans needs a brain of its own; use train.brains [0,1,2,3]")
	}
	if b.Model.LSTM > 0 {
		return nil, field.Bad("actor.lstm", b.Model.LSTM, "0, because a search evaluates single states")
	}
	m := &Mind{
		Brain: b, cfg: c, search: c.Search.Resolve(len(g.Spec().Actions)), scale: float32(scale), models: models,
		me: b.Agents()[0], spec: g.Spec(), rand: key.Child("moa").Rand(), random: -1, cacheLog: cacheLog,
	}
	m.sight = sight.Sight{Spec: m.spec, Me: m.me}
	for a := range agent.ID(m.spec.Seats) {
		if a != m.me {
			m.others = append(m.others, a)
		}
	}
	if len(m.others) == 0 {
		return nil, errors.New("hop: there is nobody to model in a game of one seat")
	}
	if err := m.SetGame(g); err != nil {
		return nil, err
	}
	m.who = c.population(models)
	if m.doubtful = int32(slices.Index(m.who, actsAtRandom)); m.doubtful < 0 {
		m.doubtful = int32(len(m.who) - 1)
	}
	var err error
	if m.goals, err = newGoals(m, key); err != nil {
		return nil, err
	}
	m.kinds, m.width = m.goals.Hypotheses(), c.features(m.spec, models)
	if c.Goals.doubts() {
		m.random = m.kinds
		m.kinds++
	}
	m.goalLen = c.GoalLen(m.spec, models)
	in := moaInput(m.spec)
	in.GoalLen = m.width + len(m.others)
	if m.moa, err = moa.NewLearner(c.MOA.Config, c.MOA.Learning, in, key.Child("moa")); err != nil {
		return nil, err
	}
	known := m.goals.Features()
	if c.Goals.Kind == "none" {
		known = 0 // it was trained without goals
	}
	switch {
	case c.Goals.Kind == "context":
		err = m.moa.Widen(models.Lives, sequence.ActPrefix, known)
	case models.MOA != nil:
		err = m.moa.Widen(models.MOA, "", known)
	}
	return m, err
}

// newGoals makes the goal model that the config names.
func newGoals(m *Mind, key rng.Key) (GoalModel, error) {
	c := m.cfg.Goals
	if err := errors.Join(m.models.Check(c.Kind), m.cfg.Fits(m.spec)); err != nil {
		return nil, err
	}
	var codes *codes
	var goals GoalModel
	var err error
	switch c.Kind {
	case "hand":
		return newHandmade(m, len(m.spec.Goals), false), nil
	case "none":
		return newHandmade(m, 1, true), nil
	case "context":
		return newContexts(m)
	}
	if codes, err = newCodes(m, key); err != nil {
		return nil, err
	}
	if c.Kind == "classes" && m.cfg.Leaf.partnered() && !codes.leadsToGoals() {
		return nil, field.Bad("leaf.kind", m.cfg.Leaf.Kind,
			"net, because the VAE's codes do not lead to goals; train it with --loss b and model.outcome above 0")
	}
	if c.Kind == "latent" {
		goals, err = newLatent(m, codes, key)
	} else {
		goals, err = newClasses(m, codes)
	}
	return goals, err
}

// SetGame makes the next Players plan on g's rules.
func (m *Mind) SetGame(g game.Game) error {
	if m.game != nil && m.cfg.Search.Dynamics == "world" {
		return errors.New("hop: the world model knows the rules of one game; with stages use search.dynamics rules")
	}
	m.game = g
	m.rules = m.makeRules
	return nil
}

// Remember prepares beliefs for envs copies.
func (m *Mind) Remember(envs, steps int) {
	m.Brain.Remember(envs, steps)
	m.beliefs = nil
	for range envs {
		b := belief.New(m.cfg.Belief, 1, len(m.others), m.kinds)
		b.Meet(m.prior())
		m.beliefs = append(m.beliefs, b)
	}
	m.likelihoods = make([]float32, envs*len(m.others)*m.kinds*len(m.spec.Actions))
	m.predicted = make([]bool, envs)
	m.goals.Remember(envs)
}

// GoalLen returns how many numbers about goals the own network reads.
func (m *Mind) GoalLen() int { return m.goalLen }

// Networks returns the own network, and those that learn beside it.
func (m *Mind) Networks() []mind.Network {
	list := m.Brain.Networks()
	if m.cfg.MOA.Passes > 0 {
		list = append(list, mind.Network{Name: "model of others", Module: "moa", Params: m.moa.Params, Sign: "moa/ce"})
	}
	return append(list, m.goals.Networks()...)
}

// Imagines says why it does not learn from imagined windows.
func (m *Mind) Imagines() error { return m.cfg.Imagines() }

// Freeze makes players whose rows are not to be learnt from; greedy ones play the
// action that the search finds best.
func (m *Mind) Freeze(greedy bool) {
	m.Brain.Freeze(greedy)
	m.frozen = true
	switch {
	case !greedy || m.search.Act == "prior":
	case m.search.Act == "mixed":
		m.search.Act = "prior" // its mode
	default:
		m.search.Act = "q"
	}
}

// Sure reports that a search ends in one action.
func (m *Mind) Sure() bool { return m.search.Sure() }

// Search returns the search's settings and rules.
func (m *Mind) Search() (*plan.Config, *mind.RulesMaker) { return &m.search, &m.rules }

// Models returns the networks that were trained before the run, for audits.
func (m *Mind) Models() pretrained.Models { return m.models }

// Population returns whom a co-player may be, as the mind has it.
func (m *Mind) Population() []string { return m.who }

// Model returns the model of others, for audits.
func (m *Mind) Model() *moa.Learner { return m.moa }

// at indexes co-player j of env n in arrays [N][others].
func (m *Mind) at(n, j int) int { return n*len(m.others) + j }

// place returns where a co-player sits in ego-first order, from 0 for the next
// seat.
func place(me, other game.Seat, seats int) int { return (int(other)-int(me)+seats)%seats - 1 }

// Predictions returns the agent's view of others, for one goroutine. It is an
// error if goals are not the game's own: those that are inferred need the whole
// history.
func (m *Mind) Predictions() (mind.Prediction, error) {
	kind := m.cfg.Goals.Kind
	if m.cfg.Goals.learnt() {
		return nil, fmt.Errorf("hop: the agent's models read goals of the kind %q, so single steps cannot be evaluated; look "+
			"at the models' card in the run's report", kind)
	}
	if m.spec.View > 0 {
		return nil, errors.New("hop: the model of others reads what its agent sees of them, so what they see themselves cannot be evaluated")
	}
	ws, features := m.moa.Model.Work(1), make([]float32, m.moa.Model.GoalLen)
	hot := make([]float32, m.goals.Features())
	return func(probs, obs []float32, a agent.ID, goal int) bool {
		if kind == "none" {
			goal = 0
		}
		j := slices.Index(m.others, a)
		if j < 0 || goal < 0 {
			return false
		}
		clear(hot)
		hot[goal] = 1
		m.features(features, j, hot)
		ws.Predict(m.moa.Params, obs, features, probs)
		return true
	}, nil
}

// features writes what the model of others reads about co-player j: its goal, and
// which one it is, one-hot.
func (m *Mind) features(dst []float32, j int, goal []float32) {
	clear(dst)
	copy(dst, goal)
	dst[m.width+j] = 1
}

var _ interface {
	mind.Mind
	mind.Rememberer
	mind.Saver
	mind.Weighted
	mind.Freezer
	mind.Networked
	mind.Acting
	mind.Counting
	mind.GoalReading
	mind.Declaring
	mind.Ruled
	mind.Imagining
	mind.Dreaming
	mind.Adapter
	mind.Predicting
	mind.Acquainted
	mind.Swapper
	mind.Searching
} = (*Mind)(nil)
