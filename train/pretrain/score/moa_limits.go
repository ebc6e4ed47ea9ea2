package score

import (
	"errors"
	"fmt"
	"hash/maphash"
	"math"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search/belief"
	"github.com/hop-marl/hop/store/card"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/train/pretrain"
)

// MOALimits are what can be known about the rows that a model is scored on.
type MOALimits struct {
	Know [oracle.Knowledges]*card.Classes // what each exact observer predicts; nil if the bots cannot say how they act
	// [row of the dataset] the own-history observer's belief in the true type, after the row's action; nil elsewhere
	post [][]float64
	why  error // why there are none
}

// limits replays the scored episodes with exact observers; there are none if g is nil, a game that
// is not here.
func limits(t *pretrain.MOA, g game.Game) *MOALimits {
	l := &MOALimits{}
	if g == nil {
		l.why = errors.New("the data are of a game that hop does not have, so nobody knows how its agents act")
		return l
	}
	b, err := oracle.NewBayes(g, t.Data.Bots)
	if err != nil {
		l.why = err
		return l
	}
	for k := range l.Know {
		l.Know[k] = card.NewClasses(t.Data.Layout.Actions)
	}
	l.post = make([][]float64, t.Data.Len())
	rowOf := map[int32]bool{}
	episodes := map[int]bool{}
	for _, s := range t.Parts[2] {
		for i := t.Rows.Seqs[s].Lo; i < t.Rows.Seqs[s].Hi; i++ {
			rowOf[t.Source[i]] = true
			episodes[int(t.Data.Episode[t.Source[i]])] = true
		}
	}
	probs, types := make([]float32, len(t.Data.Layout.Actions)), make([]float64, len(t.Data.Bots))
	l.why = Replay(t.Data, g, func(e int) bool { return episodes[e] }, b.Start,
		func(st game.State, rows []int, actions []int32) {
			for _, row := range rows {
				if !rowOf[int32(row)] {
					continue
				}
				for k, c := range l.Know {
					b.Predict(probs, oracle.Knowledge(k), st, game.Seat(t.Data.Seat[row]), int(t.Data.Bot[row]))
					c.Add(int(t.Data.Action[row]), probs)
				}
			}
			b.Update(st, actions)
			for _, row := range rows {
				b.Types(types, oracle.OwnHistory, game.Seat(t.Data.Seat[row]), 0)
				l.post[row] = []float64{types[t.Data.Bot[row]]}
			}
		})
	return l
}

// Replay plays recorded episodes again, from their start streams and actions, and
// calls step before each with the rows of those who act and everyone's actions by
// seat. It is an error if what is seen is not what was recorded.
func Replay(d *dataset.Data, g game.Game, want func(episode int) bool, start func(),
	step func(st game.State, rows []int, actions []int32)) error {
	n := d.Layout.Seats
	st := g.New()
	actions, rewards, obs, was := make([]int32, n), make([]float32, n), make([]float32, d.ObsLen()), make([]float32, d.ObsLen())
	var rows []int
	for lo := 0; lo < len(d.Sequences); {
		e, hi := d.Sequences[lo].Episode, lo
		for hi < len(d.Sequences) && d.Sequences[hi].Episode == e {
			hi++
		}
		seqs := d.Sequences[lo:hi]
		if lo = hi; !want(e) {
			continue
		}
		rules := rng.New(d.Seed).Child("episode", e).Child("rules").Rand()
		st.Reset(&rules)
		start()
		for step0 := 0; !st.Over(); step0++ {
			rows = rows[:0]
			for s := range actions {
				actions[s] = game.NoAction
			}
			for _, s := range seqs {
				row := s.Lo + step0
				if row >= s.Hi {
					continue
				}
				rows = append(rows, row)
				seat := int(d.Seat[row])
				actions[seat] = int32(d.Action[row])
				st.Observe(game.Seat(seat), obs)
				d.Observation(row, was)
				for i := range obs {
					if obs[i] != was[i] {
						return fmt.Errorf("pretrain: episode %d, step %d: seat %d does not see what was recorded; the dataset is from another version of "+
							"the game, collect it again", e, step0, seat)
					}
				}
			}
			step(st, rows, actions)
			st.Step(actions, rewards, &rules)
		}
	}
	return nil
}

// baselines are predictions that need no learning, on the scored rows.
func baselines(t *pretrain.MOA) (uniform MOABase, majority, table *card.Classes) {
	k := len(t.Data.Layout.Actions)
	counts := t.Rows.Counts(t.Parts[0])
	seed := maphash.MakeSeed()
	near := map[uint64][]float32{}
	for _, s := range t.Parts[0] {
		for i := t.Rows.Seqs[s].Lo; i < t.Rows.Seqs[s].Hi; i++ {
			key := around(t, seed, int(t.Source[i]))
			if near[key] == nil {
				near[key] = make([]float32, k)
			}
			near[key][t.Rows.Action[i]]++
		}
	}
	majority, table = card.NewClasses(t.Data.Layout.Actions), card.NewClasses(t.Data.Layout.Actions)
	p := make([]float32, k)
	for _, s := range t.Parts[2] {
		for i := int(t.Rows.Seqs[s].Lo); i < int(t.Rows.Seqs[s].Hi); i++ {
			legal, a := t.Rows.Legal[i*k:(i+1)*k], int(t.Rows.Action[i])
			spread(p, legal, func(a int) float32 { return float32(counts[a]) })
			majority.Add(a, p)
			seen := near[around(t, seed, int(t.Source[i]))]
			spread(p, legal, func(a int) float32 {
				if seen == nil {
					return float32(counts[a])
				}
				return seen[a] + 0.1
			})
			table.Add(a, p)
			k := 0
			for _, ok := range legal {
				if ok {
					k++
				}
			}
			n := float64(k)
			uniform.Top1 += 1 / n
			uniform.Top3 += min(1, 3/n)
			uniform.CE += math.Log(n)
			uniform.floor += check.SoftmaxFloor(k)
		}
	}
	n := float64(majority.N)
	uniform.Top1, uniform.Top3, uniform.CE, uniform.floor = uniform.Top1/n, uniform.Top3/n, uniform.CE/n, uniform.floor/n
	return uniform, majority, table
}

// MOABase is what a predictor reaches.
type MOABase struct {
	Top1 float64 `json:"top1"`
	Top3 float64 `json:"top3"`
	CE   float64 `json:"ce"`

	floor float64 // the least cross-entropy after a softmax of a softmax
}

func base(c *card.Classes) MOABase {
	return MOABase{Top1: c.Accuracy(), Top3: c.Accuracy3(), CE: c.CE()}
}

// spread normalises weights over the legal actions; without any, all alike.
func spread(p []float32, legal []bool, weight func(a int) float32) {
	sum := float32(0)
	for a, ok := range legal {
		if p[a] = 0; ok {
			p[a] = weight(a)
			sum += p[a]
		}
	}
	if sum == 0 {
		game.Spread(p, legal)
		return
	}
	for a := range p {
		p[a] /= sum
	}
}

// around hashes the state as a small table sees it: what lies on the agent's
// cell and on its eight neighbours, and its mask.
func around(t *pretrain.MOA, seed maphash.Seed, row int) uint64 {
	l := t.Data.Layout
	c := len(l.Planes)
	planes := t.Data.Obs[row*l.Height*l.Width*c : (row+1)*l.Height*l.Width*c]
	var h maphash.Hash
	h.SetSeed(seed)
	me := -1
	for cell := range l.Height * l.Width {
		if planes[cell*c] != 0 {
			me = cell
		}
	}
	for dy := -1; me >= 0 && dy <= 1; dy++ {
		for dx := -1; dx <= 1; dx++ {
			y, x := me/l.Width+dy, me%l.Width+dx
			if y < 0 || x < 0 || y >= l.Height || x >= l.Width {
				h.WriteByte(2)
				continue
			}
			cell := y*l.Width + x
			h.Write(planes[cell*c : (cell+1)*c])
		}
	}
	for _, ok := range t.Data.Legal[row*len(l.Actions) : (row+1)*len(l.Actions)] {
		if ok {
			h.WriteByte(1)
		} else {
			h.WriteByte(0)
		}
	}
	return h.Sum64()
}

// MOABelief is how fast a belief with the model's likelihoods finds out what an
// agent is, next to the exact observer.
type MOABelief struct {
	Agents  int         `json:"agents"`  // agents' episodes in which the exact observer was ever 90 % sure
	OnTime  float64     `json:"on_time"` // share of them in which the belief was so at most one step later
	Learnt  [][]float64 `json:"learnt"`  // [type][step] mean belief in the true type after so many actions
	Exact   [][]float64 `json:"exact"`   // the same of the exact observer
	Counted [][]int     `json:"counted"` // agents still in the game
}

// follow watches the scored agents with the model as likelihood. It needs a
// model that is told goals or types.
func follow(t *pretrain.MOA, l *MOALimits) *MOABelief {
	m := t.Learner.Model
	g, k := m.GoalLen, m.Actions
	if g < 2 || l.post == nil || l.why != nil {
		return nil
	}
	d := t.Data
	out := &MOABelief{}
	for range d.Bots {
		out.Learnt, out.Exact, out.Counted = append(out.Learnt, make([]float64, d.Layout.Horizon)), append(out.Exact,
			make([]float64, d.Layout.Horizon)), append(out.Counted, make([]int, d.Layout.Horizon))
	}
	ws := m.Work(64 * g)
	obs, probs := make([]float32, d.ObsLen()), make([]float32, g*k)
	hidden := make([]float32, m.History)
	b := make([]float64, g)
	hits := 0
	for _, s := range t.Parts[2] {
		span := t.Rows.Seqs[s]
		truth := t.Label(int(t.Source[span.Lo]))
		bot := d.Bot[t.Source[span.Lo]]
		for i := range b {
			b[i] = 1 / float64(g)
		}
		clear(hidden)
		exact, mine := -1, -1
		for i := int(span.Lo); i < int(span.Hi); i++ {
			row, step := int(t.Source[i]), i-int(span.Lo)
			d.Observation(row, obs)
			ws.PredictGoals(t.Learner.Params, obs, hidden, probs)
			belief.Bayes(b, probs, t.Rows.Legal[i*k:(i+1)*k], t.Rows.Action[i], t.Config.Smooth)
			if m.History > 0 {
				ws.Remember(t.Learner.Params, obs, hidden)
			}
			if exact < 0 && l.post[row][0] > 0.9 {
				exact = step
			}
			if mine < 0 && b[truth] > 0.9 {
				mine = step
			}
			out.Learnt[bot][step] += b[truth]
			out.Exact[bot][step] += l.post[row][0]
			out.Counted[bot][step]++
		}
		if exact >= 0 {
			out.Agents++
			if mine >= 0 && mine <= exact+1 {
				hits++
			}
		}
	}
	out.OnTime = float64(hits) / float64(max(out.Agents, 1))
	for bot := range out.Counted {
		for i, n := range out.Counted[bot] {
			out.Learnt[bot][i] /= float64(max(n, 1))
			out.Exact[bot][i] /= float64(max(n, 1))
		}
	}
	return out
}
