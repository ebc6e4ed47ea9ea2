package exp

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hop/agent"
	"hop/batch"
	"hop/eval"
	"hop/game"
	"hop/ppo"
	"hop/rng"
	"hop/rollout"
	"hop/runlog"
	"hop/safetensors"
	"hop/train"
)

// Parts that may go on learning among strangers.
const (
	LearnNothing = "nothing" // beliefs neither, within an episode or across
	LearnBeliefs = "beliefs"
	LearnMOA     = "moa"
	LearnPolicy  = "policy"
	LearnAll     = "all"
)

// Stranger is an agent of a run, loaded to live among co-players that it never
// trained with. Each call of Member starts a life of its own: weights are as the
// run left them, optimisers and beliefs fresh.
type Stranger struct {
	Spec  Spec
	Game  game.Game
	Plans bool // it models others and plans
	Learn string

	f  *safetensors.File
	id agent.ID
}

// LoadStranger loads agent id of a run. sets may change the game's parameters and
// how the agent thinks (search.*, belief.*, plan.*), not what its networks are.
func (r *Registry) LoadStranger(dir string, sets []string, id int, learn string) (*Stranger, error) {
	for _, set := range sets {
		part, _, _ := strings.Cut(set, ".")
		if !slices.Contains([]string{"game", "search", "belief", "plan"}, part) || strings.HasPrefix(set, "game.name=") {
			return nil, fmt.Errorf("--set %s: only game.*, search.*, belief.* and plan.* can change, such as game.stags=2", set)
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
	if learn == LearnNothing {
		s.Belief.Within, s.Belief.Across = false, false
	}
	body, _, err := runlog.Last(dir)
	if err != nil {
		return nil, err
	}
	x := &Stranger{Spec: s, Plans: s.Plan.On, Learn: learn, id: agent.ID(id)}
	if x.f, err = safetensors.Parse(body); err != nil {
		return nil, err
	}
	if x.Game, err = s.Game.Build(); err != nil {
		return nil, err
	}
	if seats := x.Game.Spec().Seats; id < 0 || id >= seats {
		return nil, fmt.Errorf("%s has agents 0 to %d, not %d", dir, seats-1, id)
	}
	if learn == LearnMOA && !x.Plans {
		return nil, fmt.Errorf("%s has no model of others that could learn; use --learn policy", dir)
	}
	if s.Actor.LSTM > 0 && (learn == LearnPolicy || learn == LearnAll) {
		return nil, fmt.Errorf("%s has an LSTM, whose policy cannot go on learning here; use --learn nothing", dir)
	}
	_, err = x.Member(nil)
	if err != nil {
		return nil, fmt.Errorf("exp: loading agent %d of %s: %w", id, dir, err)
	}
	return x, nil
}

// Member starts a life. reads, if not nil, is told what an agent that models
// others thought.
func (x *Stranger) Member(reads *train.Reads) (Life, error) {
	s := x.Spec
	models, err := train.ModelsOf(x.f)
	if err != nil {
		return Life{}, err
	}
	brains, of, err := s.brains(x.Game, models, rng.Key{})
	if err != nil {
		return Life{}, err
	}
	i := of[x.id]
	b := brains[i]
	prefix := fmt.Sprintf("brain/%d/", i)
	name := fmt.Sprintf("%s#%d", s.Name, x.id)
	if !x.Plans {
		if err := b.Params.Load(x.f, prefix+"net/"); err != nil {
			return Life{}, err
		}
		l := Life{Member: netMember(name, b.Model, b.Params, false)}
		if x.Learn == LearnPolicy || x.Learn == LearnAll {
			l.Member.Players = func(workers, lanes int) ([]rollout.Player, error) {
				return playersOf(workers, func() rollout.Player { return b.Player(x.id, lanes) }), nil
			}
			l.After = func(ro *batch.Rollout) error {
				_, err := b.Learn(ro, s.shape(), 1)
				return err
			}
		}
		return l, nil
	}
	minds, err := s.minds(x.Game, models, brains, rng.Key{})
	if err != nil {
		return Life{}, err
	}
	h := minds[i].(*train.HOP)
	if err := h.LoadWeights(x.f, prefix); err != nil {
		return Life{}, err
	}
	l := Life{GoalLen: h.See(), Member: eval.Member{Name: name, Players: func(workers, lanes int) ([]rollout.Player, error) {
		h.Remember(lanes, 1)
		players, err := h.Players(x.id, workers, lanes)
		if err == nil && reads != nil {
			players = h.Reading(players, lanes, reads)
		}
		return players, err
	}}}
	if moa, own := x.Learn == LearnMOA || x.Learn == LearnAll, x.Learn == LearnPolicy || x.Learn == LearnAll; moa || own {
		l.After = func(ro *batch.Rollout) error { return h.Adapt(ro, s.shape(), moa, own) }
	}
	return l, nil
}

// Life is a focal member, and how it learns.
type Life struct {
	eval.Member
	GoalLen int
	After   func(ro *batch.Rollout) error // nil: weights stand still
}

// shape is how rewards are learnt from at the end of a run.
func (s *Spec) shape() ppo.Shape {
	sh := ppo.Shape{Scale: s.PPO.RewardScale, Prosocial: s.PPO.Prosocial, Gamma: s.PPO.Gamma}
	if s.PPO.ProsocEnd >= 0 {
		sh.Prosocial = s.PPO.ProsocEnd
	}
	return sh
}

func playersOf(workers int, f func() rollout.Player) []rollout.Player {
	list := make([]rollout.Player, workers)
	for w := range list {
		list[w] = f()
	}
	return list
}

// Met returns whom the run's agents met while they learnt, or have scripts of:
// bots and frozen agents by name.
func (s *Spec) Met() []string {
	var who []string
	who = append(who, s.Train.Team...)
	for _, sw := range s.Train.Switch {
		who = append(who, sw.To)
	}
	who = append(who, s.Train.Standins.Who...)
	if s.Train.Warm.Windows > 0 {
		who = append(who, s.Train.Warm.Who...)
	}
	if s.Plan.On && s.Plan.Casts() {
		who = append(who, s.Plan.Bots...)
	}
	slices.Sort(who)
	who = slices.Compact(who)
	return slices.DeleteFunc(who, func(w string) bool { return w == "learn" || w == "past" })
}

// Member returns a bot of the game, or a frozen agent of a run as RUN#AGENT.
func (r *Registry) Member(g game.Game, who string) (eval.Member, error) {
	for _, b := range g.Bots() {
		if b.Name == who {
			return eval.Bot(g, who), nil
		}
	}
	make, err := r.players(g, who)
	return eval.Member{Name: who, Players: make}, err
}
