package hop

import (
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/search/bandit"
)

// answers is the choice between ways to answer co-players, an episode at a time: by what has been
// read of them or, once what that expected has been refuted by what it earned, by one of the
// game's scripts, the safe ones among them. bandit.Guard decides, by what each really earned.
type answers struct {
	scripts []*rollout.Bots // [answers but the first]
	names   []string        // theirs
	guards  []*bandit.Guard // [N]
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
	for range envs {
		a.guards = append(a.guards, bandit.NewGuard(1+len(a.scripts)))
	}
	return a, nil
}

// Play notes what is expected of episodes that have just begun, and lets scripts play those that
// are theirs: in place of the action that has been chosen.
func (a *answers) Play(v *rollout.View, envs []int32) {
	if a == nil {
		return
	}
	for i, n := range envs {
		if v.Start[v.Moment(v.T, int(n))] {
			a.guards[n].Foresee(float64(v.Value[v.SlotOf(int(n))] / a.scale))
		}
		if k := a.guards[n].Answer(); k > 0 {
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

// Over notes what an episode earned.
func (a *answers) Over(v *rollout.View, n int) {
	if a != nil {
		a.guards[n].Earned(v.EarnedOf(n))
	}
}
