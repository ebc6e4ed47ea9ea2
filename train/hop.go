package train

import (
	"errors"
	"fmt"
	"math"

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
	"hop/safetensors"
)

// Planning sets agents that infer what the others want and plan against it.
type Planning struct {
	On      bool     `yaml:"on" doc:"agents search before they act and learn from the search; false: plain PPO"`
	Goals   string   `yaml:"goals" doc:"what others are thought to want: nothing (direct-OM), or one of the game's hand-made goals (HOP)" oneof:"none|hand"`
	Doubt   bool     `yaml:"doubt" doc:"one more hypothesis about each co-player: it acts at random"`
	See     bool     `yaml:"see" doc:"the agent's network is told what the others want: the belief while playing, the drawn goals while searching"`
	Own     string   `yaml:"own" doc:"how the agent's network learns: from the search's policy and the return (HOP), or by PPO on what was played" oneof:"search|ppo"`
	Leaf    string   `yaml:"leaf" doc:"value of a leaf: the agent's network, the best of several scripted rollouts against the drawn goals, or the better of the two" oneof:"net|scripts|both"`
	Bots    []string `yaml:"bots" doc:"for scripted rollouts: the bot that stands for each goal"`
	Scripts []string `yaml:"scripts" doc:"for scripted rollouts: what oneself may do; in stag hunt stag stands for one script a stag"`
	Passes  int      `yaml:"passes" doc:"passes over a window's labelled trajectories when the model of others learns" range:"0..100"`
	Group   int      `yaml:"group" doc:"trees that advance together; not part of the numbers" range:"1..4096"`
	Log     int      `yaml:"cache_log" doc:"answers of networks kept while weights stand still: 2 to this power" range:"4..24"`
}

// DefaultPlanning returns HOP's planner, switched off.
func DefaultPlanning() Planning {
	return Planning{Goals: "hand", Doubt: true, See: true, Own: "search", Leaf: "net", Bots: []string{"ns", "nh", "random"}, Scripts: []string{"nh", "stag"}, Passes: 2, Group: 256, Log: 15}
}

// GoalLen returns how many numbers the agent's network reads about the others'
// goals, in a game of that many seats and goals.
func (c Planning) GoalLen(seats, goals int) int {
	if !c.On || !c.See || c.Goals == "none" {
		return 0
	}
	return (seats - 1) * c.hypotheses(goals)
}

// hypotheses returns how many things a co-player may be after.
func (c Planning) hypotheses(goals int) int {
	switch {
	case c.Goals == "none":
		return 1
	case c.Doubt:
		return goals + 1
	}
	return goals
}

// Validate returns everything that is wrong, joined.
func (c Planning) Validate() error { return errors.Join(field.Check(c)) }

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
	goals  int // hypotheses about what a co-player is after
	random int // the one that it acts at random, -1 if there is none
	see    int // numbers that the agent's network reads about goals
	spec   game.Spec
	moa    *moa.Learner
	moaLR  float64
	rand   rng.Rand

	// By env, so that workers never meet and any number of them is the same.
	belief []*belief.Beliefs
	thinks []float32 // [N][others][goals][K] what each co-player was expected to do
	acted  []bool    // [N] thinks belongs to the slot before

	version int       // of the weights, for caches
	vectors []float32 // [others][goals][GoalLen]
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
	Scale    float64 // of rewards in the network's values
}

// NewHOP returns the mind of the agent that the brain belongs to.
func NewHOP(c HOPConfig, b *ppo.Brain, key rng.Key) (*HOP, error) {
	if len(b.Agents) != 1 {
		return nil, errors.New("train: an agent that plans needs a brain of its own; use train.brains [0,1,2,3]")
	}
	h := &HOP{
		Brain: b, cfg: c.Planning, search: c.Search, beliefs: c.Belief, world: c.World, scale: float32(c.Scale),
		me: b.Agents[0], spec: c.Game.Spec(), moaLR: c.Learning.LR, rand: key.Child("moa").Rand(),
	}
	h.goals, h.random = c.Planning.hypotheses(len(h.spec.Goals)), -1
	if c.Planning.Goals == "hand" {
		if len(h.spec.Goals) == 0 {
			return nil, field.Bad("plan.goals", c.Planning.Goals, "none, because "+h.spec.Name+" has no hand-made goals")
		}
		if c.Planning.Doubt {
			h.random = h.goals - 1
		}
	}
	h.see = c.Planning.GoalLen(h.spec.Seats, len(h.spec.Goals))
	for a := range agent.ID(h.spec.Seats) {
		if a != h.me {
			h.others = append(h.others, a)
		}
	}
	in := c.Input
	in.GoalLen = h.goals + len(h.others)
	var err error
	if h.moa, err = moa.NewLearner(c.MOA, c.Learning, in, key.Child("moa")); err != nil {
		return nil, err
	}
	h.vectors = make([]float32, len(h.others)*h.goals*in.GoalLen)
	for j := range h.others {
		for g := range h.goals {
			if g != h.random { // its vector is zero, and the model is not asked
				v := h.vector(j, g)
				v[g], v[h.goals+j] = 1, 1
			}
		}
	}
	return h, nil
}

// vector is what the model of others reads about co-player j with goal g: both
// one-hot.
func (h *HOP) vector(j, g int) []float32 {
	n := h.goals + len(h.others)
	at := (j*h.goals + g) * n
	return h.vectors[at : at+n]
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
}

// Learn takes one window: the model of others from trajectories whose goal is
// known in hindsight, then the agent's own network.
func (h *HOP) Learn(ro *batch.Rollout, shape ppo.Shape, share float64) ([]agent.Stat, error) {
	stats, err := h.learnOthers(ro)
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
func (h *HOP) learnOthers(ro *batch.Rollout) ([]agent.Stat, error) {
	rows := h.moa.Model.NewRows()
	for j, a := range h.others {
		for n := range ro.Envs {
			h.trajectories(rows, ro, a, j, n)
		}
	}
	if rows.Len() == 0 {
		return nil, nil
	}
	seqs := make([]int32, len(rows.Seqs))
	for i := range seqs {
		seqs[i] = int32(i)
	}
	hits, nll := 0, 0.
	h.moa.Each(rows, seqs, func(row int, probs nnProbs) {
		best := 0
		for k, p := range probs {
			if p > probs[best] {
				best = k
			}
		}
		if int32(best) == rows.Action[row] {
			hits++
		}
		nll -= math.Log(max(float64(probs[rows.Action[row]]), 1e-9))
	})
	n := rows.Len()
	stats := []agent.Stat{
		{Name: "moa/top1", Value: float64(hits) / float64(n), N: n},
		{Name: "moa/ce", Value: nll / float64(n), N: n},
	}
	for range h.cfg.Passes {
		if _, err := h.moa.Epoch(rows, seqs, h.moaLR, &h.rand, nil); err != nil {
			return nil, err
		}
	}
	return stats, nil
}

// trajectories adds co-player a's steps of env n, episode by episode, labelled
// with the goal that it reached in the end. With goals, only episodes in which
// it was rewarded count; without, all.
func (h *HOP) trajectories(rows *moa.Rows, ro *batch.Rollout, a agent.ID, j, n int) {
	for t := 0; t < ro.Steps; t++ {
		if !ro.Start[ro.Moment(t, n)] {
			continue
		}
		end := t
		for end < ro.Steps && ro.Alive[ro.Slot(a, end, n)] && ro.End[ro.Step(a, end, n)] == batch.Going {
			end++
		}
		if end == ro.Steps || ro.End[ro.Step(a, end, n)] != batch.Exited {
			return // the window ends first
		}
		last := ro.Step(a, end, n)
		goal := 0
		if h.cfg.Goals == "hand" {
			goal = int(ro.Reached[last])
			if goal == game.NoGoal || ro.Reward[last] <= 0 {
				continue
			}
		}
		rows.Begin()
		for s := t; s <= end; s++ {
			rows.Add(ro.ObsAt(ro.Slot(a, s, n)), h.vector(j, goal), ro.Action[ro.Step(a, s, n)])
		}
	}
}

// Save adds everything to f under prefix.
func (h *HOP) Save(f *safetensors.File, prefix string) error {
	if err := h.Brain.Save(f, prefix); err != nil {
		return err
	}
	h.moa.Save(f, prefix+"moa/")
	var b []byte
	var err error
	for _, x := range h.belief {
		if b, err = x.AppendBinary(b); err != nil {
			return err
		}
	}
	f.PutBytes(prefix+"beliefs", b)
	stream, err := h.rand.MarshalBinary()
	if err != nil {
		return err
	}
	f.PutBytes(prefix+"moa_stream", stream)
	f.PutFloat32(prefix+"thinks", h.thinks, len(h.thinks))
	acted := make([]byte, len(h.acted))
	for n, on := range h.acted {
		if on {
			acted[n] = 1
		}
	}
	f.PutBytes(prefix+"acted", acted)
	return nil
}

// Load restores what Save stored, exactly.
func (h *HOP) Load(f *safetensors.File, prefix string) error {
	if err := h.Brain.Load(f, prefix); err != nil {
		return err
	}
	if err := h.moa.Load(f, prefix+"moa/"); err != nil {
		return err
	}
	h.version++
	b, err := f.Bytes(prefix + "beliefs")
	if err != nil {
		return err
	}
	if len(h.belief) == 0 || len(b)%len(h.belief) != 0 {
		return fmt.Errorf("train: loading %sbeliefs: made for another number of envs", prefix)
	}
	size := len(b) / len(h.belief)
	for n, x := range h.belief {
		if err := x.UnmarshalBinary(b[n*size : (n+1)*size]); err != nil {
			return err
		}
	}
	stream, err := f.Bytes(prefix + "moa_stream")
	if err != nil {
		return err
	}
	if err := h.rand.UnmarshalBinary(stream); err != nil {
		return err
	}
	if err := f.Float32(h.thinks, prefix+"thinks", len(h.thinks)); err != nil {
		return err
	}
	acted, err := f.Bytes(prefix + "acted")
	if err != nil {
		return err
	}
	if len(acted) != len(h.acted) {
		return fmt.Errorf("train: loading %sacted: made for another number of envs", prefix)
	}
	for n := range acted {
		h.acted[n] = acted[n] == 1
	}
	return nil
}

// LoadWeights restores the networks alone, to play.
func (h *HOP) LoadWeights(f *safetensors.File, prefix string) error {
	if err := h.Params.Load(f, prefix+"net/"); err != nil {
		return err
	}
	h.version++
	return h.moa.Load(f, prefix+"moa/")
}

// Greedy makes the agent play the action of the highest value.
func (h *HOP) Greedy() { h.search.Act = "q" }

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
