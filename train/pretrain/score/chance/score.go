// Package chance says what a world model's probabilities are worth where the rules
// of a game draw random numbers: what a step costs by them in nats beside the rules'
// own entropy, part by part, and how episodes that are drawn from the model differ
// from played ones. How rules draw is what a game's registry entry says (rules.Drawing).
package chance

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/rules"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/card"
	"github.com/hop-marl/hop/train/pretrain"
)

// Certain is the draws of rules that draw nothing.
func Certain(rules.Drawn, []float64, []float64) {}

// Part is what one part of a step costs, in nats a step.
type Part struct {
	Nats     float64       `json:"cross_entropy"`    // by the model
	Limit    *float64      `json:"limit,omitempty"`  // by the rules, on average: their entropy
	KL       *stats.Number `json:"kl,omitempty"`     // mean of the model's cost less the rules' for the same outcome
	KLSE     *stats.Number `json:"kl_se,omitempty"`  // its standard error, rows taken as independent
	Baseline float64       `json:"baseline"`         // each cell by how often its plane is set, given whether it was
	MSE      float64       `json:"mse"`              // of the raw probabilities, a cell; only of planes
	Error    float64       `json:"error"`            // share of rows in which the likeliest is not what came; only of planes
	Weight   float64       `json:"weight,omitempty"` // its factor in the loss; only of planes
}

// Score is what a model's probabilities cost on steps that it has not learnt from.
type Score struct {
	Rows  int             `json:"rows"`
	All   Part            `json:"all"`
	Parts map[string]Part `json:"parts"` // by plane, and rewards, features, over

	names []string // in order
}

// The names of the parts after the planes, as in world.Nats.
var more = []string{"rewards", "features", "over"}

// scoreRows is how many rows are scored at a time.
const scoreRows = 512

// scorer adds up rows.
type scorer struct {
	m      *world.Model
	p      *nn.Params
	ws     *world.Work
	law    rules.Draws
	next   world.Next
	nats   []float64
	rules  []float64
	middle []float64
	cost   []float64   // [cols] sums
	limit  []float64   // [cols]
	gap    []stats.Acc // [cols+1] the model's cost less the rules'
	count  [][4]float64
	square []float64
	wrong  []int
	rows   int
	pays   map[float32]float64 // how often each reward was paid
	ends   [2]float64
	zeroes [][2]float64
}

func newScorer(m *world.Model, p *nn.Params, law rules.Draws) *scorer {
	cols := m.NatsCols()
	j := &scorer{m: m, p: p, ws: m.Work(), law: law, nats: make([]float64, scoreRows*cols), rules: make([]float64, cols),
		middle: make([]float64, cols), cost: make([]float64, cols), limit: make([]float64, cols), gap: make([]stats.Acc, cols+1),
		count: make([][4]float64, m.Planes), square: make([]float64, m.Planes), wrong: make([]int, m.Planes), pays: map[float32]float64{},
		zeroes: make([][2]float64, m.Features)}
	j.next = world.Next{Planes: make([]float32, scoreRows*m.Height*m.Width*m.Planes), Obs: [][]float32{make([]float32, scoreRows*m.Len())}}
	return j
}

// add scores the first rows of a batch, at most scoreRows. joint is what truly was played.
func (j *scorer) add(b *world.Batch, rows int) {
	m := j.m
	cols, board := m.NatsCols(), m.Height*m.Width*m.Planes
	part := b.Part(m.Input, 0, rows)
	j.ws.Nats(j.p, &part, j.nats)
	j.ws.Step(j.p, &j.next, part.Obs, part.Joint, rows)
	for i := range rows {
		nats := j.nats[i*cols : (i+1)*cols]
		s := rules.Drawn{Before: part.Obs[i*m.Len() : i*m.Len()+board], After: part.Next[i*board : (i+1)*board],
			Feat: part.Obs[i*m.Len()+board : i*m.Len()+board+m.Features], Joint: part.Joint[i*m.Agents : (i+1)*m.Agents]}
		clear(j.rules)
		clear(j.middle)
		if j.law != nil {
			j.law(s, j.rules, j.middle)
		}
		sum := 0.
		for c, v := range nats {
			j.cost[c] += v
			j.limit[c] += j.middle[c]
			j.gap[c].Add(v - j.rules[c])
			sum += v - j.rules[c]
		}
		j.gap[cols].Add(sum)
		j.planes(i, s)
		for a, r := range part.Reward[i*m.Agents : (i+1)*m.Agents] {
			if s.Joint[a] >= 0 {
				j.pays[r]++
			}
		}
		j.ends[bit(part.Over[i])]++
		for f := range s.Feat {
			if s.Feat[f] != 0 {
				j.zeroes[f][bit(part.NextFeat[i*m.Features+f] == 0)]++
			}
		}
		j.rows++
	}
}

func bit(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// planes counts how planes change and how far the likeliest and the raw
// probabilities are from what came.
func (j *scorer) planes(i int, s rules.Drawn) {
	board := len(s.After)
	raw, says := j.next.Planes[i*board:(i+1)*board], j.next.Obs[0][i*j.m.Len():]
	var off [64]bool
	for k, v := range s.After {
		c := k % j.m.Planes
		j.count[c][2*bit(s.Before[k] != 0)+bit(v != 0)]++
		d := float64(raw[k] - v)
		j.square[c] += d * d
		off[c] = off[c] || says[k] != v
	}
	for c := range j.wrong {
		j.wrong[c] += bit(off[c])
	}
}

// entropyOf returns the sum of -log of each count's share.
func entropyOf(counts ...float64) float64 {
	total, sum := 0., 0.
	for _, n := range counts {
		total += n
	}
	for _, n := range counts {
		if n > 0 {
			sum -= n * math.Log(n/total)
		}
	}
	return sum
}

// finish turns sums into means a step.
func (j *scorer) finish(planes []string) *Score {
	m, rows := j.m, float64(max(j.rows, 1))
	s := &Score{Rows: j.rows, Parts: map[string]Part{}, names: append(append([]string{}, planes...), more...)}
	cols := m.NatsCols()
	limit := func(p *Part, sum float64, gap stats.Acc) {
		if j.law != nil {
			v, kl, se := sum/rows, stats.Number(gap.Mean()), stats.Number(gap.SE())
			p.Limit, p.KL, p.KLSE = &v, &kl, &se
		}
	}
	total := 0.
	for c, name := range s.names {
		p := Part{Nats: j.cost[c] / rows}
		limit(&p, j.limit[c], j.gap[c])
		total += j.limit[c]
		switch c - m.Planes {
		case world.NatsReward:
			counts := slices.Sorted(maps.Values(j.pays)) // the sum must not depend on the map's order
			p.Baseline = entropyOf(counts...) / rows
		case world.NatsFeatures:
			for _, n := range j.zeroes {
				p.Baseline += entropyOf(n[:]...) / rows
			}
		case world.NatsOver:
			p.Baseline = entropyOf(j.ends[:]...) / rows
		default:
			p.Baseline = (entropyOf(j.count[c][:2]...) + entropyOf(j.count[c][2:]...)) / rows
			p.MSE, p.Error = j.square[c]/(rows*float64(m.Height*m.Width)), float64(j.wrong[c])/rows
			if p.Weight = 1; len(m.Weights) > 0 {
				p.Weight = m.Weights[c]
			}
		}
		s.Parts[name] = p
		s.All.Nats += p.Nats
		s.All.Baseline += p.Baseline
	}
	limit(&s.All, total, j.gap[cols])
	return s
}

// able reports whether a model has probabilities to be scored.
func able(m *world.Model) bool { return m.Variant == world.Heads && m.Fault == world.NoFault }

// Held scores the rows that a training kept for it; nil if the model has no
// probabilities.
func Held(w *pretrain.World, law rules.Draws) *Score {
	if !able(w.Model) {
		return nil
	}
	j, b, n := newScorer(w.Model, w.Net, law), world.NewBatch(w.Model.Input, scoreRows), 0
	for _, at := range w.Parts[2] {
		w.Fill(&b, n, at)
		if n++; n == scoreRows {
			j.add(&b, n)
			n = 0
		}
	}
	j.add(&b, n)
	return j.finish(w.Data[0].Layout.Planes)
}

// New scores steps of new episodes, each through the eyes of one living seat drawn
// at random, by teams drawn from the game's bots; nil if the model has no probabilities.
func New(m *world.Model, p *nn.Params, g game.Game, law rules.Draws, rows int, key rng.Key) *Score {
	if !able(m) {
		return nil
	}
	j, b := newScorer(m, p, law), world.NewBatch(m.Input, scoreRows)
	spec, r := g.Spec(), key.Child("nats").Rand()
	st, n, infos := g.New(), spec.Seats, g.Bots()
	board := m.Height * m.Width * m.Planes
	bots, acts, pays, obs := make([]game.Bot, n), make([]int32, n), make([]float32, n), make([]float32, m.Len())
	start := true
	for done, at := 0, 0; done < rows; done++ {
		if start || st.Over() {
			start = false
			st.Reset(&r)
			for s := range bots {
				bots[s] = infos[r.IntN(len(infos))].New()
			}
		}
		me := r.IntN(n)
		for s := range acts {
			acts[s] = game.NoAction
			if st.Alive(game.Seat(s)) {
				acts[s] = bots[s].Act(st, game.Seat(s), &r)
			}
		}
		for acts[me] == game.NoAction {
			me = (me + 1) % n
		}
		st.Observe(game.Seat(me), b.Obs[at*m.Len():(at+1)*m.Len()])
		st.Step(acts, pays, &r)
		st.Observe(game.Seat(me), obs)
		copy(b.Next[at*board:(at+1)*board], obs)
		copy(b.NextFeat[at*m.Features:(at+1)*m.Features], obs[board:])
		for a := range n {
			b.Joint[at*n+a], b.Reward[at*n+a] = acts[(me+a)%n], pays[(me+a)%n]
		}
		b.Over[at] = st.Over()
		if at++; at == scoreRows || done == rows-1 {
			j.add(&b, at)
			at = 0
		}
	}
	return j.finish(spec.Obs.Planes)
}

// Show adds the score to a card: the sum between its baseline and the rules'
// entropy, and a table of the parts.
func (s *Score) Show(c *card.Card, where string) {
	n := card.Number{Name: "nats a step, " + where, Value: s.All.Nats, N: s.Rows, Lower: true,
		Baselines: []card.Ref{{Name: "each cell by itself", Value: s.All.Baseline}}, Fix: "more data or epochs; see which plane costs most"}
	if s.All.Limit != nil {
		// What the same outcomes cost by the rules, which is their entropy on average.
		n.Limit = &card.Ref{Name: "the rules", Value: s.All.Nats - float64(*s.All.KL)}
		n.SE = max(float64(*s.All.KLSE), 1e-6)
	}
	c.Add(n)
	cols := []string{"weight", "squared error, thousandths", "wrong", "each cell by itself", "this model"}
	if s.All.Limit != nil {
		cols = append(cols, "the rules", "above the rules")
	}
	var values []float64
	for _, name := range s.names {
		p := s.Parts[name]
		if values = append(values, p.Weight, 1000*p.MSE, p.Error, p.Baseline, p.Nats); p.Limit != nil {
			values = append(values, *p.Limit, float64(*p.KL))
		}
	}
	c.Figures = append(c.Figures, plot.HeatOf("nats_"+fmt.Sprint(len(c.Figures)), "What a step costs, by part, "+where,
		"Weight in the loss; squared error a cell and share of steps with a wrong likeliest cell; then nats a step: each cell by how often its "+
			"plane is set, this model, the entropy of the rules, and how much more the model needs than the rules.",
		"", s.names, cols, values))
}

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
