package exp

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hop/agent"
	"hop/eval"
	"hop/frame"
	"hop/game"
	"hop/model/actor"
	"hop/model/moa"
	"hop/nn"
	"hop/plan/learned"
	"hop/plan/truth"
	"hop/ppo"
	"hop/rng"
	"hop/rollout"
	"hop/runlog"
	"hop/safetensors"
	"hop/train"
)

// input says in numbers what an observation of the game looks like.
func input(spec game.Spec) actor.Input {
	return actor.Input{Input: frame.Layout(spec.Obs).Input(), Actions: len(spec.Actions)}
}

// brainOf returns each agent's brain, numbered from 0 in order of appearance,
// and the agents of each brain.
func (s *Spec) brainOf(seats int) ([]int, [][]agent.ID) {
	of, agents := make([]int, seats), [][]agent.ID{}
	number := map[int]int{}
	for a := range seats {
		name := a
		if len(s.Train.Brains) > 0 {
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

// shards is how many parts a brain's minibatch is split into: the fewer the
// brains, the more. It follows from the spec alone, never from the machine.
func shards(brains int) int { return max(1, 4/brains) }

// brains makes the spec's brains for a seed.
func (s *Spec) brains(g game.Game, models train.Models, key rng.Key) ([]*ppo.Brain, []int, error) {
	of, agents := s.brainOf(g.Spec().Seats)
	var list []*ppo.Brain
	for i, ids := range agents {
		in := input(g.Spec())
		in.Extra = s.Plan.GoalLen(g.Spec(), models)
		b, err := ppo.New(s.PPO, s.Actor, in, ids, shards(len(agents)), key.Child("brain", i))
		if err != nil {
			return nil, nil, fmt.Errorf("exp: making brain %d: %w", i, err)
		}
		list = append(list, b)
	}
	return list, of, nil
}

// stage returns the game with some parameters changed.
func (s *Spec) stage(set []string) (game.Game, error) {
	g, err := s.Game.clone()
	if err != nil {
		return nil, err
	}
	for _, kv := range set {
		path, value, ok := strings.Cut(kv, "=")
		path, isGame := strings.CutPrefix(path, "game.")
		if !ok || !isGame {
			return nil, fmt.Errorf("set %q, want game.FIELD=VALUE", kv)
		}
		if err := g.Set(path, value); err != nil {
			return nil, err
		}
	}
	return g.Build()
}

// Machine is what a run may use of the machine; none of it reaches a number.
type Machine struct {
	Workers int                  // cores
	Clock   func() time.Duration // nil: phases are not timed
	// Saved is the checkpoint that will be loaded, if there is one: models come from
	// it, and folders of models need not be there any more.
	Saved []byte
}

// Build wires a run of the spec with a seed.
func (s *Spec) Build(seed uint64, m Machine) (*train.SelfPlay, error) {
	parts, err := s.Parts(seed, m)
	if err != nil {
		return nil, err
	}
	return train.NewSelfPlay(s.Train, s.PPO, parts)
}

// Parts makes what a run with a seed is built of.
func (s *Spec) Parts(seed uint64, m Machine) (train.Parts, error) {
	g, err := s.Game.Build()
	if err != nil {
		return train.Parts{}, err
	}
	models, err := s.models(g, m.Saved)
	if err != nil {
		return train.Parts{}, err
	}
	key := rng.New(seed)
	brains, of, err := s.brains(g, models, key)
	if err != nil {
		return train.Parts{}, err
	}
	minds, err := s.minds(g, models, brains, key)
	if err != nil {
		return train.Parts{}, err
	}
	return train.Parts{
		Game: g, Stage: s.stage, Brains: brains, Minds: minds, BrainOf: of, GoalLen: s.Plan.GoalLen(g.Spec(), models), Key: key, Workers: m.Workers, Clock: m.Clock, Imagine: s.Imagine,
		Players: func(who string) (train.PlayerMaker, error) { return s.reg.players(g, who) },
	}, nil
}

// models returns the models that were trained before: from their folders, or as a
// checkpoint holds them.
func (s *Spec) models(g game.Game, saved []byte) (train.Models, error) {
	if saved == nil {
		return s.load(g)
	}
	f, err := safetensors.Parse(saved)
	if err != nil {
		return train.Models{}, err
	}
	return train.ModelsOf(f)
}

// moaInput says what a model of others reads of the game, without goals.
func moaInput(spec game.Spec) moa.Input {
	return moa.NewInput(frame.Layout(spec.Obs), spec.Seats, spec.Actions, 0)
}

// minds puts a planner around each brain, if the spec says so.
func (s *Spec) minds(g game.Game, models train.Models, brains []*ppo.Brain, key rng.Key) ([]train.Mind, error) {
	if s.LOLA.On || s.Influence.On {
		return s.social(g, brains, key)
	}
	if !s.Plan.On {
		return nil, nil
	}
	in := moaInput(g.Spec())
	var minds []train.Mind
	for i, b := range brains {
		m, err := train.NewHOP(train.HOPConfig{
			Planning: s.Plan, Search: s.Search, Belief: s.Belief, MOA: s.MOA.Config, Learning: s.MOA.Learning, Input: in, Game: g,
			Scale: s.PPO.RewardScale, Models: models,
			World: s.rules(g, models),
		}, b, key.Child("mind", i))
		if err != nil {
			return nil, fmt.Errorf("exp: making mind %d: %w", i, err)
		}
		minds = append(minds, m)
	}
	return minds, nil
}

// rules makes what a search plays on: the learnt world model, or the true rules,
// with scripted rollouts if leaves are judged by them.
func (s *Spec) rules(g game.Game, models train.Models) train.RulesMaker {
	return func(envs, trees int) (train.Rules, train.Scripts, error) {
		if s.Plan.Dynamics == "world" {
			w, err := learned.New(models.World, models.Steps, learned.Config{Envs: envs, Trees: trees, Log: s.Plan.Log})
			return w, nil, err
		}
		if !s.Plan.Scripted() {
			w, err := truth.NewWorld(g, nil, nil, envs, trees)
			return w, nil, err
		}
		w, err := truth.NewWorld(g, s.Plan.Bots, s.Plan.Scripts, envs, trees)
		if err != nil {
			return nil, nil, err
		}
		return w, s.scripts(w, envs), nil
	}
}

// scripts judges leaves by scripted rollouts on the real rules.
func (s *Spec) scripts(w *truth.World, envs int) *truth.Scripts {
	scripts := truth.NewScripts(truth.NewBots(w, nil, envs), s.Search.Discount, s.Plan.Log)
	scripts.Repeat = s.Plan.Repeat
	return scripts
}

// players returns a maker of a bot, or of a frozen agent of an earlier run.
func (r *Registry) players(g game.Game, who string) (train.PlayerMaker, error) {
	for _, b := range g.Bots() {
		if b.Name == who {
			return eval.Bot(g, who).Players, nil
		}
	}
	dir, number, ok := strings.Cut(who, "#")
	id, err := strconv.Atoi(number)
	if !ok || err != nil {
		_, err := game.NewBot(g, who)
		return nil, fmt.Errorf("%w; or name a frozen agent as RUN#AGENT, such as runs/ppo-4x4-001/seed-1#0", err)
	}
	a, err := r.LoadAgents(dir)
	if err != nil {
		return nil, err
	}
	if id < 0 || id >= len(a.Members) {
		return nil, fmt.Errorf("%s has agents 0 to %d, not %d", dir, len(a.Members)-1, id)
	}
	if got, want := a.Game.Spec().Obs.Len(), g.Spec().Obs.Len(); got != want || len(a.Game.Spec().Actions) != len(g.Spec().Actions) {
		return nil, fmt.Errorf("%s was trained on another game: its observations have %d numbers, here %d", dir, got, want)
	}
	return a.Members[id].Players, nil
}

// Agents are the agents of a run, loaded to play.
type Agents struct {
	Spec    Spec
	Game    game.Game
	Step    int64         // env step of the checkpoint
	Members []eval.Member // [A]
	Greedy  []eval.Member // [A] the same, taking the likeliest action
	Sure    bool          // Members take the likeliest action too: their search ends in one
}

// LoadAgents loads the newest checkpoint of a run's folder.
func (r *Registry) LoadAgents(dir string) (*Agents, error) { return r.LoadAgentsFor(dir, nil) }

// LoadAgentsFor loads them to play the game with some parameters changed, such
// as game.stags=2.
func (r *Registry) LoadAgentsFor(dir string, sets []string) (*Agents, error) {
	for _, set := range sets {
		if !strings.HasPrefix(set, "game.") || strings.HasPrefix(set, "game.name=") {
			return nil, fmt.Errorf("--set %s: only parameters of the game can change, such as game.stags=2", set)
		}
	}
	text, err := runlog.ReadSpec(dir)
	if err != nil {
		return nil, err
	}
	s, err := r.Parse(text, filepath.Join(dir, "spec.yaml"), "run", sets)
	if err != nil {
		return nil, err
	}
	body, step, err := runlog.Last(dir)
	if err != nil {
		return nil, err
	}
	a, err := s.agents(body)
	if err != nil {
		return nil, fmt.Errorf("exp: loading the agents of %s: %w", dir, err)
	}
	a.Step = step
	return a, nil
}

// saved is what a checkpoint is read into: brains of its shapes, not loaded yet.
type saved struct {
	f      *safetensors.File
	game   game.Game
	models train.Models
	brains []*ppo.Brain
	of     []int // [agents] its brain
}

// open makes what a checkpoint's weights are to be loaded into.
func (s *Spec) open(body []byte) (c saved, err error) {
	if c.f, err = safetensors.Parse(body); err != nil {
		return c, err
	}
	if c.game, err = s.Game.Build(); err != nil {
		return c, err
	}
	if c.models, err = train.ModelsOf(c.f); err != nil {
		return c, err
	}
	c.brains, c.of, err = s.brains(c.game, c.models, rng.Key{})
	return c, err
}

// agents returns the agents that a checkpoint holds.
func (s *Spec) agents(body []byte) (*Agents, error) {
	c, err := s.open(body)
	if err != nil {
		return nil, err
	}
	for i, b := range c.brains {
		if err := b.Params.Load(c.f, fmt.Sprintf("brain/%d/net/", i)); err != nil {
			return nil, err
		}
	}
	out := &Agents{Spec: *s, Game: c.game}
	if s.Plan.On {
		return out, s.planners(out, c.f, c.models, c.brains)
	}
	for a, i := range c.of {
		name := fmt.Sprintf("%s#%d", s.Name, a)
		out.Members = append(out.Members, netMember(name, c.brains[i].Model, c.brains[i].Params, false))
		out.Greedy = append(out.Greedy, netMember(name, c.brains[i].Model, c.brains[i].Params, true))
	}
	return out, nil
}

// planners fills in agents that plan; each plays with a mind of its own.
func (s *Spec) planners(out *Agents, f *safetensors.File, models train.Models, brains []*ppo.Brain) error {
	out.Sure = s.Search.Sure() && s.Plan.Planner != "none"
	for _, greedy := range []bool{false, true} {
		minds, err := s.minds(out.Game, models, brains, rng.Key{})
		if err != nil {
			return err
		}
		for i, m := range minds {
			h := m.(*train.HOP)
			if err := h.LoadWeights(f, fmt.Sprintf("brain/%d/", i)); err != nil {
				return err
			}
			if greedy {
				h.Greedy()
			}
			id := brains[i].Agents[0]
			member := eval.Member{Name: fmt.Sprintf("%s#%d", s.Name, id), Players: func(workers, lanes int) ([]rollout.Player, error) {
				h.Remember(lanes, 1)
				return h.Players(id, workers, lanes)
			}}
			if greedy {
				out.Greedy = append(out.Greedy, member)
			} else {
				out.Members = append(out.Members, member)
			}
		}
	}
	return nil
}

// Team returns who sits with the run's agents when they are judged: the agents
// themselves, and where the spec's team ends with bots or frozen agents, those.
func (s *Spec) Team(a *Agents, own []eval.Member) ([]eval.Member, error) {
	team := make([]eval.Member, len(own))
	for i := range own {
		who := "learn"
		if len(s.Train.Team) > 0 {
			who = s.Train.Team[i]
		}
		for _, sw := range s.Train.Switch {
			if sw.Agent == i {
				who = sw.To
			}
		}
		if who == "learn" {
			team[i] = own[i]
			continue
		}
		make, err := s.reg.players(a.Game, who)
		if err != nil {
			return nil, err
		}
		team[i] = eval.Member{Name: who, Players: make}
	}
	return team, nil
}

// netMember plays a network that does not learn.
func netMember(name string, m *actor.Model, p *nn.Params, greedy bool) eval.Member {
	return eval.Member{Name: name, Players: func(workers, lanes int) ([]rollout.Player, error) {
		mem := ppo.NewMemory(m, lanes, 1, 1)
		list := make([]rollout.Player, workers)
		for w := range list {
			q := ppo.NewPlayer(m, p, lanes, mem, 1)
			q.Greedy, q.Frozen = greedy, true
			list[w] = q
		}
		return list, nil
	}}
}
