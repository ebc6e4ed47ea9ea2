package exp

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"hop/agent"
	"hop/eval"
	"hop/game"
	"hop/plan"
	"hop/plan/truth"
	"hop/rng"
	"hop/rollout"
	"hop/runlog"
	"hop/safetensors"
	"hop/train"
)

// Swap says how an agent of a run plays otherwise than it was trained to: with
// fields of its spec changed, and with what it thinks of its co-players replaced
// by the truth. Its zero value changes nothing.
type Swap struct {
	Sets   []string // such as plan.planner=none; not what would change the networks
	Goals  bool     // it knows which of its hypotheses holds about each co-player
	Others bool     // it knows how each co-player acts; it then searches on the true rules
}

// Focal loads an agent of a run's newest checkpoint to play among bots: team[a]
// is the bot that every other agent a is.
func (w Swap) Focal(r *Registry, dir string, id agent.ID, team []string) (eval.Member, game.Game, error) {
	m, g, err := w.focal(r, dir, id, team)
	if err != nil {
		err = fmt.Errorf("exp: loading agent %d of %s: %w", id, dir, err)
	}
	return m, g, err
}

func (w Swap) focal(r *Registry, dir string, id agent.ID, team []string) (m eval.Member, g game.Game, err error) {
	text, err := runlog.ReadSpec(dir)
	if err != nil {
		return m, nil, err
	}
	s, err := r.Parse(text, filepath.Join(dir, "spec.yaml"), "run", w.Sets)
	if err != nil {
		return m, nil, err
	}
	body, _, err := runlog.Last(dir)
	if err != nil {
		return m, nil, err
	}
	a, err := s.agents(body)
	if err != nil {
		return m, nil, err
	}
	if int(id) >= len(a.Members) || len(team) != len(a.Members) {
		return m, nil, fmt.Errorf("the run has %d agents, the team %d", len(a.Members), len(team))
	}
	if !w.Goals && !w.Others {
		return a.Members[id], a.Game, nil
	}
	if !s.Plan.On {
		return m, nil, errors.New("it does not plan, so there is nothing to replace")
	}
	h, err := s.mind(a.Game, body, id)
	if err != nil {
		return m, nil, err
	}
	if err := w.teach(&s, h, a.Game, id, team); err != nil {
		return m, nil, err
	}
	return eval.Member{Name: a.Members[id].Name, Players: func(workers, lanes int) ([]rollout.Player, error) {
		h.Remember(lanes, 1)
		return h.Players(id, workers, lanes)
	}}, a.Game, nil
}

// mind loads the mind of one agent of a checkpoint.
func (s *Spec) mind(g game.Game, body []byte, id agent.ID) (*train.HOP, error) {
	f, err := safetensors.Parse(body)
	if err != nil {
		return nil, err
	}
	models, err := train.ModelsOf(f)
	if err != nil {
		return nil, err
	}
	brains, of, err := s.brains(g, models, rng.Key{})
	if err != nil {
		return nil, err
	}
	minds, err := s.minds(g, models, brains, rng.Key{})
	if err != nil {
		return nil, err
	}
	h, ok := minds[of[id]].(*train.HOP)
	if !ok {
		return nil, errors.New("it does not plan, so there is nothing to replace")
	}
	return h, h.LoadWeights(f, fmt.Sprintf("brain/%d/", of[id]))
}

// teach tells an agent the truth about its co-players.
func (w Swap) teach(s *Spec, h *train.HOP, g game.Game, id agent.ID, team []string) error {
	var others []string
	for a, bot := range team {
		if agent.ID(a) != id {
			others = append(others, bot)
		}
	}
	var swap train.Swap
	if w.Goals {
		if s.Plan.Goals != "hand" {
			return fmt.Errorf("plan.goals is %s: a co-player's true goal is known only where goals are hand-made", s.Plan.Goals)
		}
		for _, bot := range others {
			at := slices.Index(s.Plan.Bots, bot)
			if at < 0 || at >= len(s.hypotheses(g)) {
				return fmt.Errorf("none of its hypotheses is bot %q; plan.bots are %v", bot, s.Plan.Bots)
			}
			swap.Goals = append(swap.Goals, int32(at))
		}
	}
	if w.Others {
		bots := slices.Clone(s.Plan.Bots)
		for _, bot := range others {
			if !slices.Contains(bots, bot) {
				bots = append(bots, bot)
			}
		}
		*h.Insides().Rules = s.rulesWith(g, bots)
		known := make(fixed, len(others))
		for j, bot := range others {
			known[j] = int32(slices.Index(bots, bot))
		}
		swap.Others = func(w train.Rules, envs int) (plan.Others, error) {
			return truth.NewBots(w.(*truth.World), known, envs), nil
		}
	}
	h.Swap(swap)
	return nil
}

// fixed is beliefs that are sure.
type fixed []int32

// Draw writes what is known.
func (k fixed) Draw(dst []int32, _ int, _ *rng.Rand) { copy(dst, k) }

// rulesWith is the true rules with more bots than the spec's as models.
func (s *Spec) rulesWith(g game.Game, bots []string) train.RulesMaker {
	return func(envs, trees int) (train.Rules, train.Scripts, error) {
		w, err := truth.NewWorld(g, bots, s.Plan.Scripts, envs, trees)
		if err != nil || !s.Plan.Scripted() {
			return w, nil, err
		}
		return w, s.scripts(w, envs), nil
	}
}
