// Package assign are hunters who infer which prey each of the others is after and share the prey
// out: the joint assignment of hunters to prey that is worth most, given what was inferred.
//
// They ask what the users' notes ask of goals that are discrete: which agent is given which
// goal. Beside them stands the same hunter without it, who answers each posterior by itself.
// All of them infer from what everybody sees, of themselves too, and break ties by seat: copies
// come to the same assignment without a word.
package assign

import (
	"math"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
)

// What a hunter reckons with. Heed and Cost were chosen on seeds 101 to 105.
const (
	Err  = 0.1  // share of steps in which somebody is taken to step anyhow
	Cost = 0.05 // of a step on the way
	Heed = 1.   // what a nat of posterior counts beside pay
)

// Bots lists what joins the stag hunt.
func Bots(g game.Game) []game.BotInfo {
	return []game.BotInfo{
		{Name: "assign", Doc: "shares the prey out among all hunters, by where each seems to be going",
			New: func() game.Bot { return newHunter(g, "assign", Heed) }},
		{Name: "assign-blind", Doc: "shares the prey out by distances alone, whatever the others do",
			New: func() game.Bot { return newHunter(g, "assign-blind", 0) }},
		{Name: "goals", Doc: "answers where each of the others seems to be going, and shares nothing out",
			New: func() game.Bot { h := newHunter(g, "goals", Heed); h.alone = true; return h }},
	}
}

// hunter is one of them.
type hunter struct {
	name  string
	heed  float64
	alone bool // it chooses for itself

	spec   game.Spec
	obs    []float32
	legal  []bool
	time   int // step of the last decision; -1: none
	before []int
	me     int         // the own seat
	belief [][]float64 // [seats][prey] where each seems to be going
	seen   scene
}

// scene is what is on the board: hunters by seat, and stags before hares.
type scene struct {
	Size, Stags, Left int   // cells a side; how many of Prey are stags; steps left
	Hunters           []int // [seats] the cell of each, -1: it has left
	Prey              []int // cells
	Dist              [][]int
}

func newHunter(g game.Game, name string, heed float64) *hunter {
	s := g.Spec()
	return &hunter{name: name, heed: heed, spec: s, obs: make([]float32, s.Obs.Len()), legal: make([]bool, len(s.Actions)), time: -1}
}

// Name returns what it is called by.
func (h *hunter) Name() string { return h.name }

// Act looks, infers, chooses its prey and takes a step on the way.
func (h *hunter) Act(st game.State, s game.Seat, r *rng.Rand) int32 {
	st.Observe(s, h.obs)
	st.Legal(s, h.legal)
	last := h.seen.Prey
	h.me = int(s)
	h.look()
	h.infer(last)
	target := 0
	switch {
	case len(h.seen.Prey) == 0:
		return h.step(-1, r)
	case h.alone:
		target = h.answer(r)
	default:
		target = Best(&h.seen, h.belief, h.heed)[h.me]
	}
	return h.step(target, r)
}

// look reads the board.
func (h *hunter) look() {
	l, n := h.spec.Obs, h.spec.Seats
	planes, now := len(l.Planes), int(math.Round(float64(h.obs[l.TimeAt()])*float64(h.spec.Horizon)))
	if now <= h.time || h.time < 0 {
		h.before, h.belief = nil, nil // another episode
	} else {
		h.before = append(h.before[:0], h.seen.Hunters...)
	}
	sc := scene{Size: l.Height, Left: h.spec.Horizon - now, Hunters: make([]int, n)}
	for i := range sc.Hunters {
		sc.Hunters[i] = -1
	}
	var hares, blocks []int
	for c := range l.Height * l.Width {
		at := h.obs[c*planes : (c+1)*planes]
		for i := range n {
			if at[i] != 0 {
				sc.Hunters[(h.me+i)%n] = c
			}
		}
		if at[n] != 0 {
			blocks = append(blocks, c)
		}
		if at[n+1] != 0 {
			sc.Prey = append(sc.Prey, c)
		}
		if at[n+2] != 0 {
			hares = append(hares, c)
		}
	}
	sc.Stags, sc.Prey = len(sc.Prey), append(sc.Prey, hares...)
	for _, c := range sc.Prey {
		sc.Dist = append(sc.Dist, distances(l.Height, l.Width, c, blocks))
	}
	h.time, h.seen = now, sc
}

// far is the distance of what cannot be reached.
const far = 1 << 20

// distances returns how many moves each cell is from one.
func distances(height, width, to int, blocks []int) []int {
	d := make([]int, height*width)
	for c := range d {
		d[c] = far
	}
	for _, b := range blocks {
		d[b] = far + 1
	}
	d[to] = 0
	for queue := []int{to}; len(queue) > 0; queue = queue[1:] {
		c := queue[0]
		for k := range 4 {
			if o, ok := after(height, width, c, k); ok && d[o] == far {
				d[o] = d[c] + 1
				queue = append(queue, o)
			}
		}
	}
	return d
}

// after returns the cell that a move leads to: up, down, left, right.
func after(height, width, c, move int) (int, bool) {
	y, x := c/width+[...]int{-1, 1, 0, 0}[move], c%width+[...]int{0, 0, -1, 1}[move]
	return y*width + x, y >= 0 && y < height && x >= 0 && x < width
}

// infer applies Bayes' rule to where everybody went since the last decision: on a shortest way
// to a prey, or waiting at it, with probability 1 - Err.
func (h *hunter) infer(last []int) {
	fresh := make([][]float64, len(h.seen.Hunters))
	for i, c := range h.seen.Hunters {
		fresh[i] = make([]float64, len(h.seen.Prey))
		sum := 0.
		for p, cell := range h.seen.Prey {
			fresh[i][p] = 1
			if old := indexOf(last, cell); h.belief != nil && old >= 0 {
				fresh[i][p] = h.belief[i][old]
			}
			if c >= 0 && h.before != nil && h.before[i] >= 0 {
				fresh[i][p] *= Likelihood(h.seen.Dist[p], h.before[i], c)
			}
			sum += fresh[i][p]
		}
		for p := range fresh[i] {
			if fresh[i][p] /= sum; sum == 0 {
				fresh[i][p] = 1 / float64(len(fresh[i]))
			}
		}
	}
	h.belief = fresh
}

// Likelihood is of a move from one cell to another by somebody who goes to where d counts from.
func Likelihood(d []int, from, to int) float64 {
	if d[to] < d[from] || d[from] == 0 && to == from {
		return 1 - Err
	}
	return Err
}

func indexOf(list []int, x int) int {
	for i, y := range list {
		if x == y {
			return i
		}
	}
	return -1
}

// answer returns the prey that promises the hunter itself most if the others go where they
// seem to be going, each by itself.
func (h *hunter) answer(r *rng.Rand) int {
	best, top, ties := 0, math.Inf(-1), 0.
	for p := range h.seen.Prey {
		v := h.promise(p)
		if v > top {
			best, top, ties = p, v, 0
		}
		if v == top {
			if ties++; r.Float64() < 1/ties {
				best = p
			}
		}
	}
	return best
}

// promise is what a prey is worth to the hunter: its share of a stag if at least one more
// comes, by how many do; a hare's pay if none does, else a share of it.
func (h *hunter) promise(p int) float64 {
	s := &h.seen
	d := s.Dist[p][s.Hunters[h.me]]
	if d >= s.Left {
		return math.Inf(-1)
	}
	many := []float64{1} // probability of so many others
	for j, cell := range s.Hunters {
		if j == h.me || cell < 0 {
			continue
		}
		b := h.belief[j][p]
		many = append(many, 0)
		for k := len(many) - 1; k >= 0; k-- {
			if many[k] *= 1 - b; k > 0 {
				many[k] += b * many[k-1]
			}
		}
	}
	v := -Cost * float64(d)
	for k, x := range many {
		switch {
		case p >= s.Stags:
			v += x / float64(k+1)
		case k > 0:
			v += x * 10 / float64(k+1)
		}
	}
	return v
}

// step returns a step towards a prey; on it, the hunt, or waiting for somebody; -1: stays.
func (h *hunter) step(p int, r *rng.Rand) int32 {
	if h.legal[staghunt.HuntStag] {
		return staghunt.HuntStag
	}
	if p < 0 {
		return stay
	}
	d, c := h.seen.Dist[p], h.seen.Hunters[h.me]
	if d[c] == 0 {
		if p >= h.seen.Stags {
			return staghunt.HuntHare
		}
		return stay
	}
	best, ties := int32(stay), 0.
	for k := range 4 {
		if to, ok := after(h.seen.Size, h.seen.Size, c, k); ok && h.legal[k] && d[to] < d[c] {
			if ties++; r.Float64() < 1/ties {
				best = int32(k)
			}
		}
	}
	return best
}

const stay = 4

var _ game.Bot = (*hunter)(nil)
