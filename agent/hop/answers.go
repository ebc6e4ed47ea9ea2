package hop

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/search/bandit"
	"github.com/hop-marl/hop/search/unknown"
)

// answers is the choice between ways to answer co-players, an episode at a time: by what has been
// read of them or, once what that expected has been refuted by what it earned, by one of the
// game's scripts, the safe ones among them. bandit.Guard decides, by what each really earned.
type answers struct {
	scripts []*rollout.Bots // [answers but the first]
	names   []string        // theirs
	guards  []*bandit.Guard // [N]
	plan    *unknown.Plan   // against models of the others that are made while playing; nil: none
	scale   float32         // of rewards in the window's values
}

// newAnswers returns the choices of an agent in envs copies; nil where there is nothing to choose.
func (m *Mind) newAnswers(envs int) (*answers, error) {
	w, ok := m.goals.play.(*contexts)
	if !ok || !m.frozen || !m.cfg.Search.Guard || w.types[0] != noType || m.sees.spec.View > 0 {
		return nil, nil
	}
	a := &answers{scale: m.own.scale, names: bandit.Scripts(m.game)}
	for _, name := range a.names {
		bots, err := rollout.NewBots(m.game, name, envs)
		if err != nil {
			return nil, err
		}
		a.scripts = append(a.scripts, bots)
	}
	if len(a.scripts) == 0 {
		return nil, nil
	}
	if m.cfg.Search.Unknown {
		var err error
		if a.plan, err = unknown.New(m.game, envs); err != nil {
			return nil, err
		}
	}
	for range envs {
		a.guards = append(a.guards, bandit.NewGuard(1+len(a.scripts)))
	}
	return a, nil
}

// Play lets the models of others that are made while playing see what they did. Where these predict
// better than what was read, a plan against them moves the policy; what is expected of an episode is
// noted as it begins; and scripts play those that are theirs, in place of the action that has been
// chosen.
func (a *answers) Play(v *rollout.View, envs []int32, by unknown.Reader) {
	if a == nil {
		return
	}
	for i, n := range envs {
		n := int(n)
		expects := float64(v.Value[v.SlotOf(n)] / a.scale)
		k := a.guards[n].Answer()
		if a.plan != nil {
			if a.plan.See(v, n, by); k == 0 && a.plan.Ready(n) {
				v.Action[v.StepOf(n)] = game.Sample(a.plan.Improve(v.TargetAt(v.StepOf(n)), v, n), v.Rand(n))
			}
		}
		if v.Start[v.Moment(v.T, n)] {
			a.guards[n].Foresee(expects)
		}
		if k > 0 {
			a.scripts[k-1].Act(v, envs[i:i+1])
		}
	}
}

// of returns the script that plays env n in this episode; empty: none does.
func (a *answers) of(n int) string {
	if a == nil || a.guards[n].Answer() == 0 {
		return ""
	}
	return a.names[a.guards[n].Answer()-1]
}

// moved returns the policy that a plan against models of the others has made of the search's in env n;
// nil: there is none.
func (a *answers) moved(n int) []float32 {
	if a == nil || a.plan == nil || a.guards[n].Answer() > 0 || !a.plan.Ready(n) {
		return nil
	}
	return a.plan.Policy(n)
}

// Over notes what an episode earned.
func (a *answers) Over(v *rollout.View, n int) {
	if a == nil {
		return
	}
	if a.plan != nil {
		a.plan.Over(v, n)
	}
	a.guards[n].Earned(v.EarnedOf(n))
}
