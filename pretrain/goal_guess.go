package pretrain

import (
	"errors"
	"fmt"
	"math"

	"hop/dataset"
	"hop/game"
	"hop/model/vae"
	"hop/nn"
	"hop/rng"
)

// ownHistory returns, for every row, the posterior of the agent's type given what
// it did before, [rows][bots]: the dataset's episodes are played again and every
// bot is asked how likely it was to do what was done. Types are equally likely at
// first, as they are over the teams of a mix. It is an error if a bot cannot say
// how it acts or the dataset is not of the game.
func ownHistory(d *dataset.Data, g game.Game) ([]float32, error) {
	n, types, k := d.Layout.Seats, len(d.Bots), len(d.Layout.Actions)
	bots := make([]game.Policy, types)
	for i, name := range d.Bots {
		b, err := game.NewBot(g, name)
		if err != nil {
			return nil, err
		}
		p, ok := b.(game.Policy)
		if !ok {
			return nil, fmt.Errorf("pretrain: the bot %s cannot say how it acts, so nothing is known of what can be known", name)
		}
		bots[i] = p
	}
	post := make([]float32, d.Len()*types)
	st, rewards, joint := g.New(), make([]float32, n), make([]int32, n)
	belief, probs := make([]float64, n*types), make([]float32, k)
	at := make([]int, n) // the row of each seat at this step, -1 if it has left
	for lo := 0; lo < len(d.Sequences); {
		hi := lo
		for hi < len(d.Sequences) && d.Sequences[hi].Episode == d.Sequences[lo].Episode {
			hi++
		}
		rules := rng.New(d.Seed).Child("episode", d.Sequences[lo].Episode).Child("rules").Rand()
		st.Reset(&rules)
		for i := range belief {
			belief[i] = 1 / float64(types)
		}
		for t := 0; !st.Over(); t++ {
			for s := range at {
				at[s], joint[s] = -1, game.NoAction
			}
			for _, q := range d.Sequences[lo:hi] {
				if row := q.Lo + t; row < q.Hi {
					s := int(d.Seat[row])
					at[s], joint[s] = row, int32(d.Action[row])
				}
			}
			for s, row := range at {
				if st.Alive(game.Seat(s)) != (row >= 0) {
					return nil, errors.New("pretrain: the dataset's episodes cannot be played again; it was made by another version of the game")
				}
				if row < 0 {
					continue
				}
				b := belief[s*types : (s+1)*types]
				for i := range b {
					post[row*types+i] = float32(b[i])
				}
				bayesUpdate(b, bots, st, game.Seat(s), joint[s], probs)
			}
			st.Step(joint, rewards, &rules)
		}
		lo = hi
	}
	return post, nil
}

// bayesUpdate is Bayes' rule; an action that no type can do leaves all as likely as
// before.
func bayesUpdate(b []float64, bots []game.Policy, st game.State, s game.Seat, action int32, probs []float32) {
	like, sum := make([]float64, len(b)), 0.
	for i, bot := range bots {
		bot.Probs(st, s, probs)
		like[i] = b[i] * float64(probs[action])
		sum += like[i]
	}
	if sum == 0 {
		return
	}
	for i := range b {
		b[i] = like[i] / sum
	}
}

// guesser turns a belief about an agent's type into a guess of the goal it will
// reach: it has counted, on the rows to learn from, what each type reached when
// the same of the goals' things were still on the board.
type guesser struct {
	d      *dataset.Data
	goals  int
	planes []int           // of each goal's things, -1 if there is no plane of that name
	count  map[int][]int32 // by what is left: [types][goals]
}

func newGuesser(d *dataset.Data, learn []int32) *guesser {
	q := &guesser{d: d, goals: len(d.Layout.Goals), count: map[int][]int32{}}
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
func (q *guesser) at(row int) []int32 {
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

// guess returns the likeliest goal under the belief post[types].
func (q *guesser) guess(row int, post []float32) int {
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

// historyLimit returns how often the goal finally reached is guessed from the
// agent's own history by one who knows all types' policies, over the rows that
// have a goal.
func historyLimit(d *dataset.Data, g game.Game, learn, judge []int32) (accuracy float64, n int, err error) {
	post, err := ownHistory(d, g)
	if err != nil {
		return 0, 0, err
	}
	q, types := newGuesser(d, learn), len(d.Bots)
	for _, row := range judge {
		goal := int(d.Goal[row])
		if goal < 0 {
			continue
		}
		n++
		if q.guess(int(row), post[int(row)*types:(int(row)+1)*types]) == goal {
			accuracy++
		}
	}
	return accuracy / float64(max(n, 1)), n, nil
}

// stateLimit returns how often the goal is guessed from one state by a network
// that is taught the goals: what a code of that state could at best say. No exact
// posterior of single states exists without summing over all pasts, so this
// estimates it from below: layers of 128, the best of a few passes by the rows to
// choose by.
func stateLimit(m *vae.Model, parts *[3]pretrainPart, goal []int8, goals int, key rng.Key) (float64, int, error) {
	const width, batch, passes = 128, 256, 4
	p := &nn.Params{}
	net := p.MLP("net", nn.ReLU, parts[0].vae.State.Cols, width, width)
	head := p.Dense("head", width, goals, nn.None)
	p.Init(key)
	opt, err := nn.NewAdam(nn.AdamConfig{WeightDecay: 1e-3}, p)
	if err != nil {
		return 0, 0, err
	}
	ws, mw := m.Work(batch), net.Work(batch)
	cat, logits, d, target := nn.NewCategorical(goals, batch), make(nn.Logits, batch*goals), make([]float32, batch*goals), make([]int32, batch)
	run := func(part int, pick []int) int {
		ws.Reset()
		for i, at := range pick {
			ws.Add(parts[part].vae, at)
			target[i] = int32(goal[parts[part].rows[at]])
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
		for at, row := range parts[i].rows {
			if goal[row] >= 0 {
				known[i] = append(known[i], at)
			}
		}
	}
	best, limit := -1., 0.
	order := make([]int, len(known[0]))
	steps := passes * ((len(order) + batch - 1) / batch)
	done := 0
	for pass := range passes {
		r := key.Child("pass", pass).Rand()
		r.Perm(order)
		for i, at := range order {
			order[i] = known[0][at]
		}
		for lo := 0; lo < len(order); lo += batch {
			pick := order[lo:min(lo+batch, len(order))]
			run(0, pick)
			clear(d)
			cat.CrossEntropy(d, target, nil, nn.Rows{N: len(pick)})
			head.Backward(p, mw.DY, d, mw.Y, logits, len(pick))
			net.BackwardSparse(p, mw, &ws.X)
			if _, err := opt.Step(nn.Linear(2e-3, 0, steps)(done), 1); err != nil {
				return 0, 0, fmt.Errorf("pretrain: the reference of what a state tells: %w", err)
			}
			done++
		}
		if s := score(1, known[1]); s > best {
			best, limit = s, score(2, known[2])
		}
	}
	return limit, len(known[2]), nil
}
