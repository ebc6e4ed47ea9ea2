package chance

import (
	"fmt"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/card"
)

// Drift is how far something is off on average in episodes drawn from a model.
type Drift struct {
	Name  string         `json:"name"`
	Game  float64        `json:"game"`
	Model float64        `json:"model"`
	Diff  float64        `json:"diff"`
	CI    stats.Interval `json:"ci95"` // of the difference, over plays from the same starts
}

// Rollouts plays random agents from the same starts in the game and in the model,
// whose outcomes are drawn (Sample) and which never sees the game again, to the end
// of the episode, and compares return, length, what lies on the board at a step on
// average, and for each kind of thing that appears the share of steps with more than
// one of it. It returns nothing if the model has no probabilities.
func Rollouts(m *world.Model, p *nn.Params, g game.Game, plays int, key rng.Key) []Drift {
	if !able(m) {
		return nil
	}
	spec := g.Spec()
	n, kinds := m.Agents, m.Planes-m.Agents
	cols := 2 + 2*kinds
	truth, made := make([]float64, plays*cols), make([]float64, plays*cols)
	width, acts := m.Len(), m.Actions
	obs, joint := make([]float32, plays*width), make([]int32, plays*n)
	dst := world.Next{Obs: [][]float32{make([]float32, plays*width)}, Over: make([]bool, plays)}
	for range n {
		dst.Reward, dst.Legal = append(dst.Reward, make([]float32, plays)), append(dst.Legal, make([]bool, plays*acts))
	}
	rs := make([]rng.Rand, plays)
	streams := make([]*rng.Rand, plays)
	st, seen, played, pays, legal := g.New(), make([]float32, width), make([]int32, n), make([]float32, n), make([]bool, acts)
	for i := range plays {
		r := key.Child("rollout", i).Rand()
		rs[i] = key.Child("drawn", i).Rand()
		streams[i] = &rs[i]
		st.Reset(&r)
		st.Observe(0, obs[i*width:(i+1)*width])
		for a := range n {
			st.Legal(game.Seat(a), dst.Legal[a][i*acts:(i+1)*acts])
		}
		for !st.Over() {
			for s := range played {
				st.Legal(game.Seat(s), legal)
				played[s] = draw(legal, &r)
			}
			st.Step(played, pays, &r)
			st.Observe(0, seen)
			count(truth[i*cols:(i+1)*cols], m, seen, pays)
		}
	}
	ws := m.Work()
	for range spec.Horizon {
		left := false
		for i := range plays {
			for a := range n {
				joint[i*n+a] = game.NoAction
				if !dst.Over[i] {
					joint[i*n+a] = draw(dst.Legal[a][i*acts:(i+1)*acts], streams[i])
				}
			}
			left = left || !dst.Over[i]
		}
		if !left {
			break
		}
		over := append([]bool{}, dst.Over...)
		ws.Sample(p, &dst, obs, joint, plays, streams)
		copy(obs, dst.Obs[0])
		for i := range plays {
			if over[i] {
				continue
			}
			for a := range n {
				pays[a] = dst.Reward[a][i]
			}
			count(made[i*cols:(i+1)*cols], m, obs[i*width:(i+1)*width], pays)
		}
	}
	return drifts(m, spec.Obs.Planes, truth, made, plays)
}

// draw draws one of the legal actions, NoAction if there is none.
func draw(legal []bool, r *rng.Rand) int32 {
	n := 0
	for _, ok := range legal {
		n += bit(ok)
	}
	if n == 0 {
		return game.NoAction
	}
	k := r.IntN(n)
	for a, ok := range legal {
		if ok {
			if k == 0 {
				return int32(a)
			}
			k--
		}
	}
	return game.NoAction
}

// count adds a step: mean reward, one step, and each kind of thing.
func count(dst []float64, m *world.Model, obs []float32, pays []float32) {
	for _, v := range pays {
		dst[0] += float64(v) / float64(len(pays))
	}
	dst[1]++
	board := m.Height * m.Width * m.Planes
	for e := range m.Planes - m.Agents {
		k := 0
		for i := m.Agents + e; i < board; i += m.Planes {
			k += bit(obs[i] != 0)
		}
		dst[2+2*e] += float64(k)
		dst[3+2*e] += float64(bit(k > 1))
	}
}

// drifts compares the columns.
func drifts(m *world.Model, planes []string, truth, made []float64, plays int) []Drift {
	cols := len(truth) / plays
	var out []Drift
	add := func(name string, c int, perStep bool) {
		var a, b, d stats.Acc
		for i := range plays {
			x, y := truth[i*cols+c], made[i*cols+c]
			if perStep {
				x, y = x/max(truth[i*cols+1], 1), y/max(made[i*cols+1], 1)
			}
			a.Add(x)
			b.Add(y)
			d.Add(y - x)
		}
		out = append(out, Drift{name, a.Mean(), b.Mean(), d.Mean(), d.CI(0.95)})
	}
	add("return", 0, false)
	add("length", 1, false)
	for e := range m.Planes - m.Agents {
		add(planes[m.Agents+e], 2+2*e, true)
		add("several "+planes[m.Agents+e], 3+2*e, true)
	}
	return out
}

// ShowRollouts adds them to a card, with a check: nothing is off by more than a
// tenth of what it is, but for what an interval of 99 % may hide.
func ShowRollouts(c *card.Card, drifts []Drift, plays int) {
	says, worst := "", 0.
	for _, d := range drifts {
		c.Notes = append(c.Notes, fmt.Sprintf("Drawn episodes of random play, %d from the same starts: %s is %.4g in the game and %.4g in the "+
			"model; difference %.3g, 95 %% %.3g to %.3g.", plays, d.Name, d.Game, d.Model, d.Diff, d.CI[0], d.CI[1]))
		size := max(d.Game, -d.Game, 0.05)
		off := max(d.CI[0], -d.CI[1], 0) / size // how far it surely is off
		if off > worst || says == "" {
			worst, says = off, fmt.Sprintf("%s is furthest off in drawn episodes of random play: %.4g where the game has %.4g", d.Name, d.Model,
				d.Game)
		}
	}
	if says == "" {
		c.Answer(check.Finding{Check: "drawn episodes", Status: check.NotAsked, Says: "the model has no probabilities to draw from"})
		return
	}
	c.Check("drawn episodes", worst <= 0.1, worst <= 0.25, says, "more data or epochs; see which plane costs more than the rules")
}
