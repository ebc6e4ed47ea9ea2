package audit

import (
	"context"
	"fmt"
	"math"

	"github.com/hop-marl/hop/agent/learner"
	checks "github.com/hop-marl/hop/audit/check"
	"github.com/hop-marl/hop/audit/probe"
	"github.com/hop-marl/hop/audit/record"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
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
	wide, err := u.wide(own)
	if err != nil {
		return nil, fmt.Errorf("audit: scoring: %w", err)
	}
	found = append(found, wide)
	lives, err := u.live(ctx, saved, own)
	if found = append(found, lives...); err == nil && u.opt.Lives != nil && u.spec.Seats > 1 {
		lives, err = u.opt.Lives(ctx, &u.exp, body)
		found = append(found, lives...)
	}
	return found, err
}

// How many copies agents act in at once: more than the trees of a search that advance together; for how many steps; and how many
// copies they act in where they are compared with themselves.
const (
	wideEnvs  = 67
	wideSteps = 3
	wideFew   = 9
)

// wide asks whether agents decide in many copies at once what they decide in a few.
func (u *session) wide(own func(name string) (eval.Config, error)) (check.Finding, error) {
	f := check.Finding{
		Step: 4, Check: "many decisions at once are as if each were alone", Module: "ppo", Unit: "share of decisions",
		Says: fmt.Sprintf("In %d copies at once agents decide as in %d.", wideEnvs, wideFew),
	}
	next := "agent/ppo: Player.forward, and what it shares between rows of a batch"
	if u.hop != nil {
		f.Module, next = "planner", "search: Forest.SearchOn, and how groups of trees follow each other; agent/hop: what is kept by env"
	}
	var seen [2]*batch.Rollout
	for i, workers := range []int{1, (wideEnvs + wideFew - 1) / wideFew} {
		c, err := own("sampled")
		if err != nil {
			return f, err
		}
		envs, err := rollout.New(rollout.Config{Game: c.Game, Envs: wideEnvs, Key: u.key.Child("wide"), Workers: workers})
		if err != nil {
			return f, err
		}
		players := make([][]rollout.Player, envs.Workers)
		for _, m := range c.Team {
			list, err := m.Players(envs.Workers, wideEnvs)
			if err != nil {
				return f, err
			}
			for w, p := range list {
				players[w] = append(players[w], p)
			}
		}
		seen[i] = batch.New(envs.Shape(wideSteps, 0))
		if err := envs.Collect(seen[i], players); err != nil {
			return f, err
		}
	}
	many, few, wrong, first := seen[0], seen[1], 0, ""
	for a := range agent.ID(many.Agents) {
		record.Each(many, a, func(t, n, step, slot int) {
			if !many.Alive[slot] || !few.Alive[slot] {
				return
			}
			if f.Rows++; many.Action[step] == few.Action[step] && many.LogProb[step] == few.LogProb[step] && many.Value[slot] == few.Value[slot] {
				return
			}
			if wrong++; first == "" {
				first = fmt.Sprintf("agent %d plays action %d of probability %.4f and value %.4f in copy %d, alone %d of %.4f and %.4f", a,
					many.Action[step], math.Exp(float64(many.LogProb[step])), many.Value[slot], n, few.Action[step],
					math.Exp(float64(few.LogProb[step])), few.Value[slot])
			}
		})
	}
	return counted(f, float64(wrong)/float64(max(f.Rows, 1)), fmt.Sprintf("In %d copies at once %s (%d of %d decisions).", wideEnvs, first,
		wrong, f.Rows), next), nil
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
