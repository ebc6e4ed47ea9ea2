package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hop-marl/hop/agent/imagine"
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/cpu"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/train"
)

// Machine is what a run may use of the machine; none of it reaches a number.
type Machine struct {
	Workers int                  // cores
	Clock   func() time.Duration // nil: phases are not timed
	// Saved is the checkpoint that will be loaded, if there is one: models come from
	// it, and folders of models need not be there any more.
	Saved []byte
}

// Build wires a run of the spec with a seed. What the machine has no memory for is refused.
func (s *Spec) Build(seed uint64, m Machine) (*train.SelfPlay, error) {
	own := *s
	s = &own
	if _, err := s.Resolve(); err != nil {
		return nil, err
	}
	if err := s.FitsMemory(cpu.Memory(), 1, m.Workers); err != nil {
		return nil, err
	}
	parts, err := s.Parts(seed, m)
	if err != nil {
		return nil, err
	}
	return train.NewSelfPlay(s.Train, s.Rewards(), parts)
}

// Rewards says how true rewards become what is learnt from.
func (s *Spec) Rewards() train.Rewards {
	c := s.PPO
	return train.Rewards{Scale: c.RewardScale, Gamma: c.Gamma, Prosocial: c.Prosocial, ProsocialEnd: c.ProsocEnd}
}

// Parts makes what a run with a seed is built of.
func (s *Spec) Parts(seed uint64, m Machine) (train.Parts, error) {
	own := *s
	s = &own
	g, err := s.Resolve()
	if err != nil {
		return train.Parts{}, err
	}
	var saved *safetensors.File
	if m.Saved != nil {
		if saved, err = safetensors.Parse(m.Saved); err != nil {
			return train.Parts{}, err
		}
	}
	key := rng.New(seed)
	minds, of, err := s.minds(g, key, saved)
	if err != nil {
		return train.Parts{}, err
	}
	parts := train.Parts{
		Game: g, Stage: s.stage, Minds: minds, MindOf: of, Key: key, Workers: m.Workers, Clock: m.Clock,
		Players: func(who string) (train.PlayerMaker, error) {
			m, err := s.member(g, who)
			return m.Players, err
		},
		Kinds: s.KindNames(g.Spec().Seats),
	}
	if len(s.Kinds) > 0 {
		for _, m := range minds {
			parts.Rewards = append(parts.Rewards, s.LearnsAs(m.Agents()[0]).Rewards())
		}
	}
	if s.reg.Device != nil {
		parts.Device = true
		if err := s.move(minds, s.reg.Device); err != nil {
			return parts, err
		}
	}
	parts.Twins = func() ([]learner.Mind, error) {
		twins, _, err := s.minds(g, key, saved)
		return twins, err
	}
	if s.Imagine.On {
		parts.Imagine = func(played batch.Shape, minds []learner.Mind, workers int) (train.Imagination, error) {
			return imagine.New(s.Imagine, s.reg.Runs, g.Spec(), played, minds, of, key, workers)
		}
	}
	return parts, nil
}

// LearnOn chooses the device that learns; "": the processor.
func (r *Registry) LearnOn(device string) (err error) {
	if device == "" {
		return nil
	}
	open, ok := r.Devices[device]
	switch {
	case !ok && len(r.Devices) == 0:
		return fmt.Errorf("this program learns on the processor alone; hop-cuda, a program beside it, also does on graphics cards (docs/cuda.md)")
	case !ok:
		return unknown("device", device, slices.Sorted(maps.Keys(r.Devices)))
	}
	r.Device, err = open()
	return err
}

// move lets a device learn in place of the processor.
func (s *Spec) move(minds []learner.Mind, d ppo.Device) error {
	if !s.Plain() || s.Imagine.On {
		return fmt.Errorf("what learns on %s is PPO and nothing else, and %s is more; without --device the processor learns", d.Name(), s.Title())
	}
	for _, m := range minds {
		moving, ok := learner.As[interface {
			learner.Announcing
			Move(d ppo.Device) error
		}](m)
		if !ok {
			return fmt.Errorf("%s cannot learn on %s; without --device the processor learns", s.Title(), d.Name())
		}
		if err := moving.Move(d); err != nil {
			return fmt.Errorf("%w; without --device the processor learns", err)
		}
	}
	return nil
}

// minds makes the spec's minds, and says which is each agent's.
func (s *Spec) minds(g game.Game, key rng.Key, saved *safetensors.File) ([]learner.Mind, []int, error) {
	if saved == nil {
		for _, f := range s.folders() {
			if strings.Contains(*f, "{") {
				return nil, nil, fmt.Errorf("spec: %s names a stage that has not been run; use hop train, which runs spec.prepare, "+
					"or give a folder", *f)
			}
		}
	}
	of, agents := s.mindOf(g.Spec().Seats)
	minds, err := s.makeMinds(g, key, saved, agents)
	return minds, of, err
}

// mindOf returns each agent's mind, numbered from 0 in order of appearance, and
// the agents of each.
func (s *Spec) mindOf(seats int) ([]int, [][]agent.ID) {
	of, agents := make([]int, seats), [][]agent.ID{}
	number := map[int]int{}
	for a := range seats {
		name := a
		switch n := len(s.Train.Brains); {
		case n == 1: // for all
			name = s.Train.Brains[0]
		case a < n:
			name = s.Train.Brains[a]
		}
		i, seen := number[name]
		if !seen {
			i = len(agents)
			number[name] = i
			agents = append(agents, nil)
		}
		of[a] = i
		agents[i] = append(agents[i], agent.ID(a))
	}
	return of, agents
}

// Groups returns each agent's mind and the agents of each mind, for a game, or for
// as many agents as train.brains names if it is nil.
func (s *Spec) Groups(g game.Game) ([]int, [][]agent.ID) {
	if g == nil {
		return s.mindOf(len(s.Train.Brains))
	}
	return s.mindOf(g.Spec().Seats)
}

// stage builds the game with some parameters changed.
func (s *Spec) stage(set []string) (game.Game, error) {
	g, err := s.staged(set)
	if err != nil {
		return nil, err
	}
	return g.Build()
}

// staged returns the game with some parameters changed.
func (s *Spec) staged(set []string) (Game, error) {
	g, err := s.Game.clone()
	if err != nil {
		return g, err
	}
	for _, kv := range set {
		path, value, ok := strings.Cut(kv, "=")
		path, isGame := strings.CutPrefix(path, "game.")
		if !ok || !isGame {
			return g, fmt.Errorf("set %q, want game.FIELD=VALUE", kv)
		}
		if err := g.Set(path, value); err != nil {
			return g, err
		}
	}
	return g, nil
}
