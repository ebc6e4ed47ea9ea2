package audit

import (
	"context"
	"fmt"

	"github.com/hop-marl/hop/agent/learner"
	checks "github.com/hop-marl/hop/audit/check"
	"github.com/hop-marl/hop/audit/probe"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/train/eval"
	"github.com/hop-marl/hop/train/spec"
)

// How the agents are scored once more: so many episodes in lanes, of which the first have one more, and lives.
const (
	scoredEpisodes = 11
	scoredLanes    = 4
	livesEpisodes  = 4
)

// scored loads the agents as hop eval and the end of a training do, scores them, lets them live among others as hop adapt does,
// and holds both against what was played.
func (u *session) scored(ctx context.Context) ([]check.Finding, error) {
	if u.broke != nil || u.opt.Change != nil || u.spec.Opaque {
		return nil, nil
	}
	body, err := u.loop.Save()
	if err != nil {
		return nil, err
	}
	saved, err := u.exp.Saved(body)
	if err != nil {
		return nil, err
	}
	own := func(name string) (eval.Config, error) {
		members, _, err := saved.Frozen(name == "greedy")
		if err != nil {
			return eval.Config{}, err
		}
		return u.exp.Scoring(&spec.Agents{Game: saved.Game}, members, name, u.opt.Seeds[0])
	}
	var found []check.Finding
	for _, name := range []string{"sampled", "greedy"} {
		if name == "greedy" && u.hop != nil {
			break // who plans takes long, and what is likeliest is the search's to say
		}
		list, err := u.score(ctx, own, name)
		if err != nil {
			return nil, fmt.Errorf("audit: scoring: %w", err)
		}
		found = append(found, list...)
	}
	lives, err := u.live(ctx, saved, own)
	return append(found, lives...), err
}

// score plays what the agents have learnt, as the end of their training does: on fresh streams, by the name that says how.
func (u *session) score(ctx context.Context, own func(name string) (eval.Config, error), name string) ([]check.Finding, error) {
	c, err := own(name)
	if err != nil {
		return nil, err
	}
	c.Episodes, c.Workers, c.Lanes = scoredEpisodes, 2, scoredLanes
	s := checks.NewScored(c.Game, u.key.Child("judge").Child(name), c.Lanes)
	s.Greedy = name == "greedy"
	for i, m := range c.Team {
		c.Team[i] = s.Watch(m, i)
	}
	res, err := eval.Run(ctx, c)
	if err != nil {
		return nil, err
	}
	played, replayed := s.Replayed()
	out := []check.Finding{replayed}
	if replayed.Status == check.Pass {
		out = append(out, s.Counted(res, played, c.Episodes))
	}
	return append(out, u.decided(s)), nil
}

// decided holds what networks did while they were scored against what they are.
func (u *session) decided(s *checks.Scored) check.Finding {
	f := check.Finding{
		Step: 4, Check: "agents are scored as they are", Module: "ppo", Unit: "share of decisions",
		Says: "While they are scored, agents decide as their networks say, which remember what they should.",
	}
	nets, actors := make([]reference.Net, u.spec.Seats), make([]*reference.Actor, u.spec.Seats)
	for _, t := range u.taps {
		m, ok := learner.As[learner.Acting](t.Mind)
		if of, lives := learner.As[learner.Trials](t.Mind); !ok || lives && of.Trial() > 1 || t.hop != nil {
			continue
		}
		file, err := probe.Saved(t.Mind)
		if err != nil {
			continue
		}
		net, err := reference.LoadNet(file, "net/")
		if err != nil {
			continue
		}
		model, _ := m.Actor()
		actor := checks.ActorOf(t.exp.Actor, model.Input)
		for _, a := range t.agents {
			if nets[a] = net; u.learner(int(a)) && actor.Defined() {
				actors[a] = &actor
			}
		}
	}
	for a, actor := range actors {
		if actor != nil {
			s.Decided(&f, agent.ID(a), *actor, nets)
		}
	}
	if f.Rows == 0 {
		f.Status, f.Says = check.NotAsked, "What agents who plan decide while they are scored is looked at in play alone."
	}
	return f
}

// live lets the first agent live among the others, and then among the game's random players.
func (u *session) live(ctx context.Context, saved *spec.Saved, own func(name string) (eval.Config, error)) ([]check.Finding, error) {
	if u.spec.Seats < 2 {
		return nil, nil
	}
	scoring, err := own("sampled")
	if err != nil {
		return nil, err
	}
	const lives = 3
	c := eval.Adaptation{Game: saved.Game, Lives: lives, At: 2, Steps: livesEpisodes*u.spec.Horizon - u.spec.Horizon/2,
		Last: u.spec.Horizon + 1, Key: u.key.Child("lived"), Workers: 2}
	s := checks.NewScored(c.Game, c.Key, lives)
	for i, m := range scoring.Team {
		c.Team, c.Then = append(c.Team, s.Watch(m, i)), append(c.Then, s.Watch(eval.Bot(saved.Game, "random"), u.spec.Seats+i))
	}
	res, err := c.Run(ctx)
	if err != nil {
		return nil, err
	}
	lived, replayed := s.Replayed()
	if replayed.Status != check.Pass {
		return []check.Finding{replayed}, nil
	}
	return []check.Finding{s.Lived(c, res, lived)}, nil
}
