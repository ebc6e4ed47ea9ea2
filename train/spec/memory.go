package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/train"
)

// memoryMind is the settings of minds that take more than a network and its players.
type memoryMind interface {
	// GoalNumbers returns how many numbers about the others' goals the own network reads.
	GoalNumbers(spec game.Spec) int
	// Memory says about what the minds of all agents take beyond their own networks.
	Memory(g game.Game, net actor.Config, size learner.Sizes) ([]learner.Part, error)
}

// What scoring plays at once, and what the program takes for itself with a report.
const (
	scoreLanes, scoreWindow = 256, 64
	program                 = 60e6
)

// Memory estimates what a training of the spec takes, part by part, the largest first:
// so many seeds beside each other, with so many workers each. docs/runs.md says how near
// it comes. Nothing large is made to know it, and models that stages are still to train
// count as they are by default.
func (s *Spec) Memory(beside, workers int) ([]learner.Part, error) {
	if len(s.Kinds) > 0 {
		return s.memoryOfKinds(beside, workers)
	}
	g, err := s.Game.Build()
	if err != nil {
		return nil, err
	}
	spec := g.Spec()
	size := learner.Sizes{Envs: s.Train.Envs, Window: s.Train.Window, Workers: max(1, min(workers, s.Train.Envs))}
	in := Input(spec)
	planner, plans := s.Mind.params.(memoryMind)
	if m, ok := s.Mind.params.(interface{ GoalNumbers(game.Spec) int }); ok {
		in.Extra = m.GoalNumbers(spec)
	}
	net, p, err := actor.Layers(fitted(s.Actor, spec), in)
	if err != nil {
		return nil, err
	}
	var parts []learner.Part
	add := func(name string, bytes float64, fields ...string) {
		parts = append(parts, learner.Part{Name: name, Bytes: bytes * float64(max(beside, 1)), Fields: fields})
	}
	// What is played, and its rows as the networks learn from them: by what is not zero.
	seats, envs, rowBytes := float64(spec.Seats), float64(size.Envs), learner.RowBytes(p, in.Height*in.Width)
	shape := batch.Shape{Agents: spec.Seats, Steps: size.Window, Envs: size.Envs, ObsLen: spec.Obs.Len(), Actions: in.Actions}
	shape.GoalLen = in.Extra
	learnt := 64 + float64(in.Actions) + 8*float64(nonzeros(g)+in.Extra)
	add("windows", shape.Bytes()+seats*envs*float64(size.Window)*learnt, "train.envs", "train.window")

	// Weights, gradients, Adam's two and the shards' gradients; earlier selves; and a minibatch.
	_, groups := s.mindOf(spec.Seats)
	minds, weights, copies := float64(len(groups)), 4*float64(p.Len()), 4+float64(ppo.Shards(s.PPO, s.Actor, len(groups)))
	if slices.Contains(s.Train.Standins.Who, "past") {
		copies += 8
	}
	add("networks", minds*(copies*weights+2*float64(s.PPO.Minibatch)*rowBytes), "actor.hidden", "ppo.minibatch")
	player := func(envs float64) float64 { return float64(size.Workers) * seats * (envs*rowBytes + weights) }
	if !plans {
		add("players", player(envs), "train.envs", "actor.hidden")
	}
	if net.LSTM > 0 { // what is remembered at the start of each sequence
		starts := 2 + float64(2*size.Window/s.PPO.SeqLen)
		add("memories", seats*envs*starts*4*float64(net.LSTM), "train.envs", "actor.lstm")
	}
	if c := s.Imagine; c.On {
		shape.Steps, shape.Envs = c.Length, int(float64(size.Window)*envs*(1-c.RealRatio)/(c.RealRatio*float64(c.Length)))+1
		if c.Others == "model" { // each agent for itself
			shape.Envs *= spec.Seats
		}
		if plans {
			more, err := planner.Memory(g, fitted(s.Actor, spec), learner.Sizes{Envs: shape.Envs, Workers: size.Workers})
			if err != nil {
				return nil, err
			}
			add("models in imagination", sum(more), "train.envs", "moa.hidden")
		}
		add("imagination", shape.Bytes()+8*float64(spec.Obs.Len())*float64(c.Rows), "train.envs", "imagine.rows", "train.window")
	}
	// The final agents are scored side by side, sampled and then greedy.
	lanes := min(scoreLanes, s.Eval.Episodes)
	shape.Steps, shape.Envs, shape.GoalLen = scoreWindow, lanes, 0
	scoring := shape.Bytes() + player(float64(lanes))
	if plans {
		more, err := planner.Memory(g, fitted(s.Actor, spec), size)
		if err != nil {
			return nil, err
		}
		for _, m := range more {
			add(m.Name, m.Bytes, m.Fields...)
		}
		if s.Train.Strangers.Every > 0 { // minds once more, who watch strangers
			size := learner.Sizes{Envs: train.StrangerEnvs, Window: train.StrangerSteps, Workers: 1}
			if more, err = planner.Memory(g, fitted(s.Actor, spec), size); err != nil {
				return nil, err
			}
			shape.Steps, shape.Envs = size.Window, size.Envs
			add("strangers", sum(more)+minds*copies*weights+shape.Bytes(), "train.strangers.every")
		}
		if more, err = planner.Memory(g, fitted(s.Actor, spec), learner.Sizes{Envs: lanes, Workers: size.Workers}); err != nil {
			return nil, err
		}
		scoring += sum(more)
	}
	add("scoring and report", 2*scoring+program, "eval.episodes")
	slices.SortStableFunc(parts, func(a, b learner.Part) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return parts, nil
}

// memoryOfKinds estimates the largest that each part would be if all agents were of one
// kind: parts are mostly of the run and of its hungriest kind.
func (s *Spec) memoryOfKinds(beside, workers int) ([]learner.Part, error) {
	var parts []learner.Part
	for kind := -1; kind < len(s.Kinds); kind++ {
		more, err := s.Learns(kind).Memory(beside, workers)
		if err != nil {
			return nil, err
		}
		for _, m := range more {
			if i := slices.IndexFunc(parts, func(p learner.Part) bool { return p.Name == m.Name }); i < 0 {
				parts = append(parts, m)
			} else if parts[i].Bytes < m.Bytes {
				parts[i] = m
			}
		}
	}
	slices.SortStableFunc(parts, func(a, b learner.Part) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return parts, nil
}

// nonzeros returns how many numbers of an observation are not zero, at an episode's start.
func nonzeros(g game.Game) (n int) {
	st, r, obs := g.New(), rng.New(1).Rand(), make([]float32, g.Spec().Obs.Len())
	st.Reset(&r)
	st.Observe(0, obs)
	for _, x := range obs {
		if x != 0 {
			n++
		}
	}
	return n
}

// FitsMemory refuses what the machine has too little memory for, naming the parts that
// matter and what would fit. have is the machine's, in bytes; 0: not known.
func (s *Spec) FitsMemory(have uint64, beside, workers int) error {
	parts, err := s.Memory(beside, workers)
	total := sum(parts)
	if err != nil || have == 0 || total <= float64(have) {
		return err
	}
	values := map[string]string{}
	for _, f := range s.Fields() {
		values[f.Path] = f.Default
	}
	var list, lower []string
	for _, p := range parts {
		if p.Bytes >= total/50 {
			var fields []string
			lower = append(lower, p.Fields...)
			for _, path := range p.Fields {
				fields = append(fields, path+" "+values[path])
			}
			list = append(list, fmt.Sprintf("%s %s (%s)", p.Name, plot.Bytes(uint64(p.Bytes)), strings.Join(fields, ", ")))
		}
	}
	what := "this training"
	if beside > 1 {
		what = fmt.Sprintf("this training, %d seeds beside each other,", beside)
	}
	return fmt.Errorf("%s takes about %s of memory, and the machine has %s: %s; %s", what,
		plot.Bytes(uint64(total)), plot.Bytes(have), strings.Join(list, ", "), s.lower(lower, values, have, beside, workers))
}

// lower says how far one of the fields must be lowered for the training to fit.
func (s *Spec) lower(fields []string, values map[string]string, have uint64, beside, workers int) string {
	for _, path := range fields {
		n, err := strconv.Atoi(values[path])
		for n /= 2; err == nil && n >= 1; n /= 2 {
			less := *s
			if less.Set(fmt.Sprintf("%s=%d", path, n)) != nil {
				break
			}
			if parts, err := less.Memory(beside, workers); err == nil && sum(parts) <= float64(have) {
				return fmt.Sprintf("with --set %s=%d it would fit", path, n)
			}
		}
	}
	if beside > 1 {
		return "train fewer seeds at a time, or lower several of these"
	}
	return "lower several of these"
}

func sum(parts []learner.Part) (bytes float64) {
	for _, p := range parts {
		bytes += p.Bytes
	}
	return bytes
}
