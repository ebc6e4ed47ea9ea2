package hop

import (
	"cmp"
	"slices"

	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search/bandit"
)

// answers is the choice between ways to answer co-players, an episode at a time: by what has been
// read of them or, once what that expected has been refuted by what it earned, as if they all were
// somebody whom the agent met while it learnt: those among whom it expects least, so that it takes
// what is safe, most, and between. bandit.Guard decides, by what each really earned.
type answers struct {
	sees   *visible
	codes  [][]float32     // [answers but the first][ReadLen] whom the others are then taken for
	guards []*bandit.Guard // [N]
	scale  float32         // of rewards in the window's values
}

// quantiles are those of the values among whom the agent has met whose answers it may choose.
var quantiles = []float64{0, 0.5, 1}

// newAnswers returns the choices of an agent in envs copies; nil where there is nothing to choose.
func (m *Mind) newAnswers(envs int) *answers {
	w, ok := m.goals.play.(*contexts)
	if !ok || !m.frozen || !m.cfg.Search.Guard || w.types[0] != noType || len(w.met) == 0 || m.sees.spec.Opaque {
		return nil
	}
	a := &answers{sees: m.sees, scale: m.own.scale}
	ranked := m.ranked(w.met)
	if len(ranked) == 0 {
		return nil
	}
	for _, q := range quantiles {
		a.codes = append(a.codes, ranked[int(q*float64(len(ranked)-1)+0.5)])
	}
	for range envs {
		a.guards = append(a.guards, bandit.NewGuard(1+len(a.codes)))
	}
	return a
}

// ranked returns codes in the order of what the agent expects at the start of an episode among
// co-players who all are of that code.
func (m *Mind) ranked(met []float32) (codes [][]float32) {
	const starts = 16
	width, others := m.shape.width, len(m.sees.others)
	net := m.own.brain.Model.Leaves(m.own.brain.Params, m.own.scale, starts)
	st, r := m.game.New(), rng.New(1).Child("starts").Rand()
	obs, goal := make([]float32, starts*m.sees.spec.Obs.Len()), make([]float32, others*width)
	for i := range starts {
		st.Reset(&r)
		st.Observe(0, obs[i*m.sees.spec.Obs.Len():(i+1)*m.sees.spec.Obs.Len()])
	}
	worth := map[*float32]float32{}
	for at := 0; at < len(met); at += width - 1 {
		code := met[at : at+width-1]
		if !slices.ContainsFunc(code, func(x float32) bool { return x != 0 }) {
			continue // nobody yet
		}
		for j := range others {
			copy(goal[j*width:], code)
			goal[(j+1)*width-1] = 1
		}
		for i := range starts {
			net.Add(obs[i*m.sees.spec.Obs.Len():(i+1)*m.sees.spec.Obs.Len()], goal)
		}
		_, values := net.Run()
		for _, v := range values {
			worth[&code[0]] += v
		}
		codes = append(codes, code)
	}
	slices.SortStableFunc(codes, func(a, b []float32) int { return cmp.Compare(worth[&a[0]], worth[&b[0]]) })
	return codes
}

// Take makes the others of some envs those of the episode's answer, if that is not by what was read.
func (a *answers) Take(envs []int32, x *Inferred) {
	if a == nil {
		return
	}
	for _, n := range envs {
		k := a.guards[n].Answer()
		if k == 0 {
			continue
		}
		for j := range a.sees.others {
			copy(x.of(a.sees.at(int(n), j), 0), a.codes[k-1])
		}
	}
}

// Foresee notes what is expected of episodes that have just begun.
func (a *answers) Foresee(v *rollout.View, envs []int32) {
	if a == nil {
		return
	}
	for _, n := range envs {
		if v.Start[v.Moment(v.T, int(n))] {
			a.guards[n].Foresee(float64(v.Value[v.SlotOf(int(n))] / a.scale))
		}
	}
}

// Over notes what an episode earned.
func (a *answers) Over(v *rollout.View, n int) {
	if a != nil {
		a.guards[n].Earned(v.EarnedOf(n))
	}
}
