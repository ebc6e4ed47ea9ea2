package train

import (
	"errors"
	"fmt"
	"slices"

	"hop/agent"
	"hop/batch"
	"hop/belief"
	"hop/field"
	"hop/game"
	"hop/model/moa"
	"hop/plan"
	"hop/ppo"
	"hop/rng"
	"hop/rollout"
)

// HOP is the mind of one agent that plans: its own network, a model of others
// with beliefs about what each of them wants, and a search over its own actions
// against others drawn from those (Huang et al. 2024).
//
// One network models all co-players; it is told which one, so it is as free as
// one network each, and learns what they have in common once.
type HOP struct {
	*ppo.Brain
	cfg     Planning
	search  plan.Config
	beliefs belief.Config
	world   RulesMaker
	scale   float32 // of rewards in the network's values

	me     agent.ID
	others []agent.ID
	models Models
	wants  wants // what co-players are after
	goals  int   // hypotheses about what a co-player is after, doubt among them
	random int   // the one that it acts at random, -1 if there is none
	width  int   // numbers that networks read about one co-player's goal, the last of them doubt
	see    int   // numbers that the agent's network reads about goals
	spec   game.Spec
	moa    *moa.Learner
	moaLR  float64
	rand   rng.Rand

	// By env, so that workers never meet and any number of them is the same.
	belief []*belief.Beliefs
	thinks []float32 // [N][others][goals][K] what each co-player was expected to do
	acted  []bool    // [N] thinks belongs to the slot before

	swap    Swap // what is replaced by the truth
	version int  // of the weights, for caches
}

// RulesMaker makes the rules that a search plays on, for up to envs decisions of
// so many trees each, and scripted rollouts on them, or nil.
type RulesMaker func(envs, trees int) (Rules, Scripts, error)

// Scripts judges leaves by scripted rollouts.
type Scripts interface {
	plan.Prior
	Of(tree int32) []int32 // where the goals of a tree's co-players are put
}

// Rules is what a search plays on: the real rules, or a model of them.
type Rules interface {
	plan.Dynamics
	plan.Observer
	Set(env int, st game.State, seats []game.Seat)
	Fit(f *plan.Forest)
}

// HOPConfig is what a HOP is made of.
type HOPConfig struct {
	Planning Planning
	Search   plan.Config
	Belief   belief.Config
	MOA      moa.Config
	Learning moa.Learning
	Input    moa.Input // without GoalLen
	World    RulesMaker
	Game     game.Game
	Models   Models
	Scale    float64 // of rewards in the network's values
}

// NewHOP returns the mind of the agent that the brain belongs to.
func NewHOP(c HOPConfig, b *ppo.Brain, key rng.Key) (*HOP, error) {
	if len(b.Agents) != 1 {
		return nil, errors.New("train: an agent that plans needs a brain of its own; use train.brains [0,1,2,3]")
	}
	h := &HOP{
		Brain: b, cfg: c.Planning, search: c.Search, beliefs: c.Belief, world: c.World, scale: float32(c.Scale), models: c.Models,
		me: b.Agents[0], spec: c.Game.Spec(), moaLR: c.Learning.LR, rand: key.Child("moa").Rand(), random: -1,
	}
	for a := range agent.ID(h.spec.Seats) {
		if a != h.me {
			h.others = append(h.others, a)
		}
	}
	h.plan()
	if err := h.want(key); err != nil {
		return nil, err
	}
	h.goals, h.width = h.wants.hypotheses(), h.cfg.Width(h.spec, h.models)
	if h.cfg.Doubt && h.cfg.Goals != "none" {
		h.random = h.goals
		h.goals++
	}
	h.see = h.cfg.GoalLen(h.spec, h.models)
	in := c.Input
	in.GoalLen = h.width + len(h.others)
	var err error
	if h.moa, err = moa.NewLearner(c.MOA, c.Learning, in, key.Child("moa")); err != nil {
		return nil, err
	}
	if c.Models.MOA != nil {
		if err := widen(h.moa, c.Models.MOA, h.wants.width()); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// plan makes the search what the planner's name says.
func (h *HOP) plan() {
	switch s := &h.search; h.cfg.Planner {
	case "onestep":
		s.Depth, s.Sims, s.Resample, s.Hashed = 1, len(h.spec.Actions), "node", false
	case "none":
		s.Sims, s.Trees = 0, 1
	}
}

// want finds what co-players are taken to be after.
func (h *HOP) want(key rng.Key) (err error) {
	if err := h.models.check(h.cfg.Goals); err != nil {
		return err
	}
	if l := h.spec.Obs; (h.cfg.Goals == "latent" || h.cfg.Goals == "codes") && (len(l.Planes) == 0 || l.Last == 0) {
		return field.Bad("plan.goals", h.cfg.Goals, "hand or none, because "+h.spec.Name+" shows no board or no last actions")
	}
	switch h.cfg.Goals {
	case "hand":
		if len(h.spec.Goals) == 0 {
			return field.Bad("plan.goals", h.cfg.Goals, "none, because "+h.spec.Name+" has no hand-made goals")
		}
		h.wants = newHandmade(h, len(h.spec.Goals), false)
	case "latent":
		h.wants, err = newLatent(h, h.models, key)
	case "codes":
		if n := classCount(h.models.VAE); n > maxClasses {
			return fmt.Errorf("train: the VAE's goals make more than %d classes, too many to keep a belief over; train one with fewer classes or groups", maxClasses)
		}
		h.wants, err = newClasses(h, h.models, key)
	default:
		h.wants = newHandmade(h, 1, true)
	}
	if err != nil {
		return err
	}
	if c, ok := h.wants.(interface{ tells() bool }); ok && h.cfg.Casts() && !c.tells() {
		return field.Bad("plan.leaf", h.cfg.Leaf, "net, because the VAE's codes do not tell goals; train it with --loss b and model.outcome above 0")
	}
	return nil
}

// Remember prepares beliefs for envs copies.
func (h *HOP) Remember(envs, steps int) {
	h.Brain.Remember(envs, steps)
	h.belief = nil
	for range envs {
		h.belief = append(h.belief, belief.New(h.beliefs, 1, len(h.others), h.goals))
	}
	h.thinks = make([]float32, envs*len(h.others)*h.goals*len(h.spec.Actions))
	h.acted = make([]bool, envs)
	h.wants.remember(envs)
}

// Learn takes one window: what is known of the others and of their goals, then
// the agent's own network.
func (h *HOP) Learn(ro *batch.Rollout, shape ppo.Shape, share float64) ([]agent.Stat, error) {
	stats, err := h.learnOthers(ro, share)
	if err != nil {
		return nil, err
	}
	learn := h.Brain.Distil
	if h.cfg.Own == "ppo" {
		learn = h.Brain.Learn
	}
	own, err := learn(ro, shape, share)
	h.version++
	return append(own, stats...), err
}

// learnOthers judges the model of others on the window it has not seen, then
// learns from it.
func (h *HOP) learnOthers(ro *batch.Rollout, share float64) ([]agent.Stat, error) {
	rows, who, stats, err := h.rows(ro, share)
	if err != nil || rows.Len() == 0 {
		return stats, err
	}
	seqs := make([]int32, len(rows.Seqs))
	for i := range seqs {
		seqs[i] = int32(i)
	}
	seen := NewOthersSeen(h.others, h.spec.Actions)
	seen.Judge(h.moa, rows, seqs, who)
	stats = append(stats, seen.Stats(h.moa, rows)...)
	if !slices.Contains(h.cfg.Train, "moa") {
		return stats, nil
	}
	for range h.cfg.Passes {
		if _, err := h.moa.Epoch(rows, seqs, h.moaLR, &h.rand, nil); err != nil {
			return nil, err
		}
	}
	return stats, nil
}

// rows returns the co-players' steps that may be learnt from, each with what it
// was done for, and whose each episode is.
func (h *HOP) rows(ro *batch.Rollout, share float64) (*moa.Rows, []int32, []agent.Stat, error) {
	rows, who := h.moa.Model.NewRows(), []int32(nil)
	list, steps := h.learns(ro), 0
	for _, p := range list {
		steps += p.hi - p.lo
	}
	if steps == 0 {
		return rows, nil, nil, nil
	}
	width := h.wants.width()
	goals, vector := make([]float32, steps*width), make([]float32, h.moa.Model.GoalLen)
	stats, err := h.wants.label(goals, ro, list, share, &h.rand)
	if err != nil {
		return nil, nil, nil, err
	}
	h.tell(ro, list, goals)
	row := 0
	for _, p := range list {
		rows.Begin()
		who = append(who, int32(p.other))
		for t := p.lo; t < p.hi; t++ {
			h.vector(vector, p.other, goals[row*width:(row+1)*width])
			rows.Add(ro.ObsAt(ro.Slot(p.agent, t, p.env)), vector, ro.Action[ro.Step(p.agent, t, p.env)])
			row++
		}
	}
	return rows, who, stats, nil
}

// tell puts what the co-players turned out to be after in place of what was
// believed, where the agent's own network reads it when it learns from a search:
// in a tree it is told single goals, and beliefs only blur them.
func (h *HOP) tell(ro *batch.Rollout, list []path, goals []float32) {
	if h.see == 0 || ro.GoalLen != h.see || h.cfg.Own != "search" {
		return
	}
	row, width, seats := 0, h.wants.width(), h.spec.Seats
	for _, p := range list {
		for t := p.lo; t < p.hi; t++ {
			if slot := ro.Slot(h.me, t, p.env); ro.Alive[slot] {
				place := (int(ro.Seat[ro.Slot(p.agent, t, p.env)])-int(ro.Seat[slot])+seats)%seats - 1
				told := ro.GoalAt(slot)[place*h.width:][:h.width]
				clear(told)
				copy(told, goals[row*width:(row+1)*width])
			}
			row++
		}
	}
}

// vector writes what the model of others reads about co-player j: its goal, and
// which one it is, one-hot.
func (h *HOP) vector(dst []float32, j int, goal []float32) {
	clear(dst)
	copy(dst, goal)
	dst[h.width+j] = 1
}

// networks returns the networks that learn beside the brain's, for the guards.
func (h *HOP) networks() []netWatch {
	var list []netWatch
	if slices.Contains(h.cfg.Train, "moa") && h.cfg.Passes > 0 {
		list = append(list, netWatch{name: "model of others", module: "moa", params: h.moa.Params, sign: "moa/ce"})
	}
	if w, ok := h.wants.(*latent); ok && w.teach != nil && h.cfg.Infer > 0 {
		list = append(list, netWatch{name: "inference of goals", module: "cvae", params: w.params, sign: "cvae/kl"})
	}
	return list
}

// Greedy makes the agent play the action that the search finds best.
func (h *HOP) Greedy() {
	if h.search.Act != "prior" {
		h.search.Act = "q"
	}
}

var _ Mind = (*HOP)(nil)

// Players returns a planning player for each worker.
func (h *HOP) Players(a agent.ID, workers, envs int) ([]rollout.Player, error) {
	var players []rollout.Player
	for range workers {
		p, err := h.player(envs)
		if err != nil {
			return nil, err
		}
		players = append(players, p)
	}
	return players, nil
}
