package score

import (
	"fmt"
	"math"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/model/vae"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/train/pretrain"
)

// ownHistory returns, for every row, the posterior of the agent's type given what
// it did before, [rows][bots]: the dataset's episodes are played again and every
// bot is asked how likely it was to do what was done. Types are equally likely at
// first, as they are over the teams of a mix. It is an error if a bot cannot say
// how it acts or the dataset is not of the game.
func ownHistory(d *dataset.Data, g game.Game) ([]float32, error) {
	b, err := oracle.NewBayes(g, d.Bots)
	if err != nil {
		return nil, err
	}
	post, types := make([]float32, d.Len()*len(d.Bots)), make([]float64, len(d.Bots))
	all := func(int) bool { return true }
	return post, Replay(d, g, all, b.Start, func(st game.State, rows []int, actions []int32) {
		for _, row := range rows {
			b.Types(types, oracle.OwnHistory, game.Seat(d.Seat[row]), 0)
			for i, p := range types {
				post[row*len(types)+i] = float32(p)
			}
		}
		b.Update(st, actions)
	})
}

// goalCounts turns a belief about an agent's type into the likeliest goal that it
// will reach: it has counted, on the rows to learn from, what each type reached when
// the same of the goals' things were still on the board.
type goalCounts struct {
	d      *dataset.Data
	goals  int
	planes []int           // of each goal's things, -1 if there is no plane of that name
	count  map[int][]int32 // by what is left: [types][goals]
}

func newGoalCounts(d *dataset.Data, learn []int32) *goalCounts {
	q := &goalCounts{d: d, goals: len(d.Layout.Goals), count: map[int][]int32{}}
	for _, goal := range d.Layout.Goals {
		at := -1
		for i, plane := range d.Layout.Planes {
			if plane == goal {
				at = i
			}
		}
		q.planes = append(q.planes, at)
	}
	for _, row := range learn {
		if g := int(d.Goal[row]); g >= 0 {
			c := q.at(int(row))
			c[int(d.Bot[row])*q.goals+g]++
		}
	}
	return q
}

// at returns the counts for what is left on the board at a row.
func (q *goalCounts) at(row int) []int32 {
	d := q.d
	c := len(d.Layout.Planes)
	size := d.Layout.Height * d.Layout.Width
	left := 0
	for i, plane := range q.planes {
		for cell := 0; plane >= 0 && cell < size; cell++ {
			if d.Obs[(row*size+cell)*c+plane] != 0 {
				left |= 1 << i
				break
			}
		}
	}
	if q.count[left] == nil {
		q.count[left] = make([]int32, len(d.Bots)*q.goals)
	}
	return q.count[left]
}

// likeliest returns the likeliest goal under the belief post[types].
func (q *goalCounts) likeliest(row int, post []float32) int {
	counts := q.at(row)
	best, top := 0, math.Inf(-1)
	for g := range q.goals {
		p := 0.
		for i, b := range post {
			sum := int32(0)
			for _, n := range counts[i*q.goals : (i+1)*q.goals] {
				sum += n
			}
			if sum > 0 {
				p += float64(b) * float64(counts[i*q.goals+g]) / float64(sum)
			}
		}
		if p > top {
			best, top = g, p
		}
	}
	return best
}

// history says what an agent's own history tells of its goal, to one who knows all
// types' policies.
type history struct {
	d     *dataset.Data
	post  []float32 // [rows][bots]
	goals *goalCounts
}

func newHistory(d *dataset.Data, g game.Game, learn []int32) (*history, error) {
	post, err := ownHistory(d, g)
	return &history{d, post, newGoalCounts(d, learn)}, err
}

// limit returns how often the goal finally reached is named, over the n rows that
// have a goal.
func (h *history) limit(rows []int32) (accuracy float64, n int) {
	types := len(h.d.Bots)
	for _, row := range rows {
		goal := int(h.d.Goal[row])
		if goal < 0 {
			continue
		}
		n++
		if h.goals.likeliest(int(row), h.post[int(row)*types:(int(row)+1)*types]) == goal {
			accuracy++
		}
	}
	return accuracy / float64(max(n, 1)), n
}

// stateLimit returns how often the goal is named from one state by a network
// that is taught the goals: what a code of that state could at best say. No exact
// posterior of single states exists without summing over all pasts, so this
// estimates it from below: layers of 128, the best of a few passes by the rows to
// choose by.
func stateLimit(m *vae.Model, parts *[3]pretrain.Part, goal []int8, goals int, key rng.Key) (float64, int, error) {
	const width, batch, passes = 128, 256, 4
	p := &nn.Params{}
	net := p.MLP("net", nn.ReLU, parts[0].States.State.Cols, width, width)
	head := p.Dense("head", width, goals, nn.None)
	p.Init(key)
	ws, mw := m.Work(batch), net.Work(batch)
	cat, logits, d, target := nn.NewCategorical(goals, batch), make(nn.Logits, batch*goals), make([]float32, batch*goals), make([]int32, batch)
	run := func(part int, pick []int) int {
		ws.Reset()
		for i, at := range pick {
			ws.Add(parts[part].States, at)
			target[i] = int32(goal[parts[part].Rows[at]])
		}
		net.ForwardSparse(p, mw, &ws.X)
		head.Forward(p, logits, mw.Y, len(pick))
		cat.Set(logits[:len(pick)*goals], nil, len(pick))
		hits := 0
		for i := range pick {
			if cat.Mode(i) == target[i] {
				hits++
			}
		}
		return hits
	}
	score := func(part int, pick []int) float64 {
		hits := 0
		for lo := 0; lo < len(pick); lo += batch {
			hits += run(part, pick[lo:min(lo+batch, len(pick))])
		}
		return float64(hits) / float64(max(len(pick), 1))
	}
	var known [3][]int
	for i := range parts {
		for at, row := range parts[i].Rows {
			if goal[row] >= 0 {
				known[i] = append(known[i], at)
			}
		}
	}
	best, limit := -1., 0.
	order := make([]int, len(known[0]))
	rate := nn.Linear(2e-3, 0, passes*((len(order)+batch-1)/batch))
	cfg := nn.TrainerConfig{Adam: nn.AdamConfig{WeightDecay: 1e-3}, Clip: 1}
	trainer := nn.NewTrainer[*nn.MLPWork, nn.Loss](p, cfg, rate, []*nn.MLPWork{mw})
	var sum nn.Loss
	for pass := range passes {
		r := key.Child("pass", pass).Rand()
		r.Perm(order)
		for i, at := range order {
			order[i] = known[0][at]
		}
		for lo := 0; lo < len(order); lo += batch {
			pick := order[lo:min(lo+batch, len(order))]
			if _, err := trainer.Step(len(pick), &sum, func(*nn.Shard[*nn.MLPWork]) nn.Loss {
				run(0, pick)
				clear(d)
				loss := cat.CrossEntropy(d, target, nil, nn.Rows{N: len(pick)})
				head.Backward(p, mw.DY, d, mw.Y, logits, len(pick))
				net.BackwardSparse(p, mw, &ws.X)
				return loss
			}); err != nil {
				return 0, 0, fmt.Errorf("pretrain: the reference of what a state tells: %w", err)
			}
		}
		if s := score(1, known[1]); s > best {
			best, limit = s, score(2, known[2])
		}
	}
	return limit, len(known[2]), nil
}
