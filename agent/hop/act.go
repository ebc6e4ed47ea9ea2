package hop

import (
	"math"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/rollout"
)

// Act decides for one agent in every env given: Huang et al. 2024, figure 2.
func (p *player) Act(v *rollout.View, envs []int32) {
	p.goals.Infer(v, envs)                               // what each co-player may be after, from its history
	p.beliefs.Update(v, envs, p.inferred, p.predictions) // Bayes, by what each of them just did
	p.others.Predict(v, envs, p.inferred, p.predictions) // what each would do now for each goal: the next likelihoods
	p.beliefs.Write(v, envs, p.inferred)                 // where the own network will read it when it learns
	p.search.Run(v, envs)                                // against others drawn from the beliefs
	p.choose(v, envs)                                    // by the search's policy
	p.answers.Play(v, envs, p)                           // unless what it expected has been refuted by what it earned
}

// player lets one agent decide by search, for one worker.
type player struct {
	watcher
	search *planner
	frozen bool    // its rows are not to be learnt from
	scale  float32 // of rewards in the window's values
}

// choose draws an action from the search's policy and records it.
func (p *player) choose(v *rollout.View, envs []int32) {
	for i, n := range envs {
		policy, value := p.search.Found(i)
		a := game.Sample(policy, v.Rand(int(n)))
		step := v.StepOf(int(n))
		v.Action[step], v.Own[step] = a, !p.frozen
		v.LogProb[step] = float32(math.Log(float64(policy[a])))
		copy(v.TargetAt(step), policy)
		v.Value[v.SlotOf(int(n))] = value * p.scale
	}
}

// Evaluate writes the network's own values, where a window cuts an episode.
func (p *player) Evaluate(v *rollout.View, envs []int32) {
	p.beliefs.Write(v, envs, p.inferred)
	p.search.Evaluate(v, envs)
}

// watcher reads the co-players for one agent and one worker: what both players do
// before they choose.
type watcher struct {
	sees        *visible
	shape       shape
	goals       Inference
	inferred    *Inferred // by goals, all envs
	beliefs     *beliefs
	others      *predictor
	predictions *predictions // by others, all envs
	answers     *answers     // the choice between ways to answer; nil: there is one
}

func (m *Mind) watcher(envs int) watcher {
	return watcher{
		sees: m.sees, shape: m.shape, goals: m.goals.play.Inference(envs), inferred: m.inferred, beliefs: m.beliefs,
		others: m.others.predictor(envs * len(m.sees.others) * m.shape.hypotheses), predictions: m.predictions, answers: m.answers,
	}
}

// Watch infers and predicts as Act does, and chooses nothing.
func (p *watcher) Watch(v *rollout.View, envs []int32) {
	p.goals.Infer(v, envs)
	p.beliefs.Update(v, envs, p.inferred, p.predictions)
	p.others.Predict(v, envs, p.inferred, p.predictions)
}

// EpisodeOver counts what the others turned out to be after.
func (p *watcher) EpisodeOver(v *rollout.View, n int) {
	p.beliefs.Over(v, n, p.inferred)
	p.answers.Over(v, n)
}

// Players returns a player for each worker: one that plans, or that plays by the
// network alone.
func (m *Mind) Players(_ agent.ID, workers, envs int) ([]rollout.Player, error) {
	if m.answers == nil {
		var err error
		if m.answers, err = m.newAnswers(envs); err != nil {
			return nil, err
		}
	}
	if m.cfg.ByNetwork() && (m.cfg.Search.Kind == "none" || !m.frozen) {
		return learner.Workers(workers, func() rollout.Player { return m.networkPlayer(envs) }), nil
	}
	var players []rollout.Player
	for range workers {
		p, err := m.player(envs)
		if err != nil {
			return nil, err
		}
		players = append(players, p)
	}
	return players, nil
}

// player makes a player that plans, for up to envs envs.
func (m *Mind) player(envs int) (*player, error) {
	p := &player{watcher: m.watcher(envs), frozen: m.frozen, scale: m.own.scale}
	var err error
	p.search, err = m.newSearch(envs, p.goals)
	return p, err
}

var (
	_ rollout.Watcher   = (*player)(nil)
	_ learner.Explainer = (*player)(nil)
	_ learner.Watching  = (*player)(nil)
	_ learner.Thinking  = (*player)(nil)
	_ learner.Timed     = (*player)(nil)
	_ learner.Believing = (*player)(nil)
)
