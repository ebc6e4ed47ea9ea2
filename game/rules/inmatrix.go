package rules

import (
	"math"
	"slices"

	"github.com/hop-marl/hop/game"
)

// inMatrix: agents gather two kinds of resources and play a matrix game with whom they meet. Who
// moves first is drawn and not seen; so is which beam comes first, and what two beams leave of a
// resource: of such steps only what must be is held against what is seen.
type inMatrix struct {
	b                                 *Book
	n, height, width, horizon, radius int
	pays                              []float64
	least, freeze, away               int
	stop, regrow                      float64
	refill                            bool
	firsts, seconds, all              int // resources of the map: of each kind for sure, and in all
	stopped, regrown                  *Odds
	now, next                         mapped
	view                              []float32
	t                                 int
}

// mapped is what lies and stands on a map.
type mapped struct {
	at, face, frozen, off, cool []int     // [seat]
	have, met                   [][2]int  // [seat]
	last, goal                  []int     // [seat]
	pay                         []float64 // [seat]
	kind, taken, hurt           []int     // [cell] kind -1: no resource; taken 0: it is there; hurt -1: not known
	wall                        []bool    // [cell]
}

// mapSizes are the maps: rows, columns, resources of the first kind, of the second, and all.
var mapSizes = map[string][5]int{
	"repeated": {15, 23, 10, 25, 47}, "dilemma": {15, 23, 12, 12, 36}, "arena": {24, 25, 23, 40, 75}, "small": {9, 9, 6, 6, 16},
}

// The actions and numbers of the game.
const (
	turnLeft, turnRight, interact = first, first + 1, first + 2

	beamCools, beamCells, beamsDestroy, regrowsAfter, endsEvery = 2, 3, 3, 10, 100
)

// directions are those of a face: up, right, down, left.
var directions = [4]int{up, right, down, left}

// InMatrix is the rules of matrix games on a map.
func InMatrix(b *Book, p *Params) func() Law {
	at := mapSizes[p.Text("map")]
	r := inMatrix{b: b, n: p.Whole("agents"), height: at[0], width: at[1], firsts: at[2], seconds: at[3], all: at[4],
		pays: p.List("pays"), horizon: p.Whole("horizon"), radius: p.Whole("view"), least: p.Whole("least"), freeze: p.Whole("freeze"),
		away: p.Whole("away"), stop: p.Number("stop"), regrow: p.Number("regrow"), refill: p.Yes("refill")}
	planes := []string{"self"}
	for k := 1; k < r.n; k++ {
		planes = append(planes, numbered("other", r.n)[k])
	}
	b.SpecIs(game.Spec{Name: b.name, Seats: r.n, Actions: moves("turn left", "turn right", "interact"), Goals: []string{"stag", "hare"},
		Horizon: r.horizon, View: r.radius, Symmetric: true, Obs: game.Layout{Height: r.height, Width: r.width,
			Planes:   append(planes, "block", "stag", "hare", "up", "right", "down", "left", "ready"),
			Features: r.n + 6, Legal: interact + 1, Last: r.n}})
	r.stopped, r.regrown = b.Chance("ends by chance"), b.Chance("resources that come back")
	return func() Law {
		own := r
		own.view = make([]float32, b.spec.Obs.Len())
		return &own
	}
}

// fresh returns a map on which nothing is known but what an observation shows.
func (r *inMatrix) fresh() (m mapped) {
	ints := func() []int { return make([]int, r.n) }
	m.at, m.face, m.frozen, m.off, m.cool, m.last, m.goal = ints(), ints(), ints(), ints(), ints(), ints(), ints()
	m.have, m.met, m.pay = make([][2]int, r.n), make([][2]int, r.n), make([]float64, r.n)
	cells := r.height * r.width
	m.kind, m.taken, m.hurt, m.wall = make([]int, cells), make([]int, cells), make([]int, cells), make([]bool, cells)
	return m
}

func (m *mapped) copyFrom(o *mapped) {
	for _, p := range [][2][]int{{m.at, o.at}, {m.face, o.face}, {m.frozen, o.frozen}, {m.off, o.off}, {m.cool, o.cool}, {m.last, o.last},
		{m.goal, o.goal}, {m.kind, o.kind}, {m.taken, o.taken}, {m.hurt, o.hurt}} {
		copy(p[0], p[1])
	}
	copy(m.have, o.have)
	copy(m.met, o.met)
	copy(m.wall, o.wall)
	clear(m.pay)
}

// planes returns what an observation of everything by seat 0 shows of a cell: what stands there
// and what lies there.
func (r *inMatrix) planes(now *Seen, cell int) []float32 {
	all := r.n + 8
	return now.Whole[0][cell*all : (cell+1)*all]
}

// stands returns where a seat is seen, and where it looks.
func (r *inMatrix) stands(now *Seen, s int) (cell, face int) {
	for c := range r.height * r.width {
		if p := r.planes(now, c); p[s] == 1 {
			return c, slices.Index(p[r.n+3:r.n+7], 1)
		}
	}
	return gone, 0
}

func (r *inMatrix) Begin(now *Seen) {
	r.now, r.next, r.t = r.fresh(), r.fresh(), 0
	m, count := &r.now, [2]int{}
	for c := range m.kind {
		p := r.planes(now, c)
		m.wall[c], m.kind[c] = p[r.n] == 1, slices.Index(p[r.n+1:r.n+3], 1)
		if m.kind[c] >= 0 {
			count[m.kind[c]]++
		}
	}
	if count[0] < r.firsts || count[1] < r.seconds || count[0]+count[1] != r.all {
		r.b.Contradict("start", "an episode starts with %d and %d resources; the rules say at least %d and %d, and %d in all", count[0], count[1],
			r.firsts, r.seconds, r.all)
	}
	for s := range r.n {
		m.at[s], m.face[s] = r.stands(now, s)
		m.last[s], m.goal[s] = -1, -1
		if c := m.at[s]; c == gone || m.wall[c] || m.kind[c] >= 0 || slices.Contains(m.at[:s], c) {
			r.b.Contradict("start", "seat %d does not start on a free cell of its own", s)
		}
	}
	r.saw(now, nil)
}

func (r *inMatrix) Step(now *Seen, acts []int32, rewards []float32) {
	if r.b.closed {
		return
	}
	r.t++
	m := &r.next
	m.copyFrom(&r.now)
	for s := range m.goal {
		m.goal[s], m.last[s] = -1, int(acts[s])
	}
	r.moved(now, acts)
	r.shoot(now, acts)
	r.returned(now)
	r.grown(now)
	r.paid()
	r.ends(now)
	r.saw(now, rewards)
	r.now, r.next = r.next, r.now
}

// beside returns the cell that a move leads to, gone if it is a wall.
func (r *inMatrix) beside(m *mapped, c, move int) int {
	y, x := neighbour(c/r.width, c%r.width, move)
	if y < 0 || x < 0 || y >= r.height || x >= r.width || m.wall[y*r.width+x] {
		return gone
	}
	return y*r.width + x
}

// moved takes over where those are seen who moved: where they went, or where they were if somebody
// stood or came there.
func (r *inMatrix) moved(now *Seen, acts []int32) {
	m := &r.next
	for s, a := range acts {
		switch {
		case a == turnLeft:
			m.face[s] = (m.face[s] + 3) % 4
		case a == turnRight:
			m.face[s] = (m.face[s] + 1) % 4
		case a < stay:
			to := r.beside(m, m.at[s], int(a))
			seen, _ := r.stands(now, s)
			taken := slices.Contains(r.now.at, to)
			for o := range r.n {
				at, _ := r.stands(now, o)
				taken = taken || o != s && at == to
			}
			if seen == to || !taken {
				m.at[s] = to
			}
			if to != gone && m.at[s] == to && m.kind[to] >= 0 && m.taken[to] == 0 {
				m.have[s][m.kind[to]]++
				m.taken[to], m.hurt[to] = 1, 0
			}
		}
	}
}

// shoot follows the beams. Where several shoot in one step, who met whom is taken over.
func (r *inMatrix) shoot(now *Seen, acts []int32) {
	m, shots := &r.next, 0
	for s, a := range acts {
		if m.cool[s] > 0 && m.frozen[s] == 0 {
			m.cool[s]--
		}
		if a == interact {
			m.cool[s] = beamCools
			shots++
		}
	}
	for s, a := range acts {
		if a != interact {
			continue
		}
		met := false
		for _, side := range [3]int{3, 1, 0} {
			c := r.beside(m, m.at[s], directions[(m.face[s]+side)%4])
			for k := 0; k < beamCells && c != gone; k++ {
				if o := slices.Index(m.at, c); o >= 0 {
					free := m.frozen[s] == 0 && m.frozen[o] == 0 && m.have[s] != [2]int{} && m.have[o] != [2]int{}
					if free && !met && (shots == 1 || r.showsMet(now, s, o) && r.showsMet(now, o, s)) {
						r.meets(s, o)
					}
					met = true
					break
				}
				if m.kind[c] >= 0 && m.taken[c] == 0 && r.stopsAt(now, c, shots) {
					break
				}
				c = r.beside(m, c, directions[m.face[s]])
			}
		}
	}
}

// showsMet reports whether a seat is seen to stand still after meeting one with another's mixture.
func (r *inMatrix) showsMet(now *Seen, s, o int) bool {
	own := now.Whole[s][r.b.spec.Obs.FeaturesAt()+r.n:]
	return own[5] > 0 && near(float64(own[3]), part(r.next.have[o]))
}

// stopsAt lets a ray hit a resource, and reports whether it ends there.
func (r *inMatrix) stopsAt(now *Seen, c, shots int) bool {
	m := &r.next
	if shots > 1 || m.hurt[c] < 0 {
		m.hurt[c] = -1
		if r.planes(now, c)[r.n+1+m.kind[c]] == 0 {
			m.taken[c], m.hurt[c] = 1, 0
		}
		return m.taken[c] == 0
	}
	if m.hurt[c]++; m.hurt[c] == beamsDestroy {
		m.taken[c], m.hurt[c] = 1, 0
	}
	return m.taken[c] == 0
}

func (r *inMatrix) meets(s, o int) {
	m := &r.next
	m.met[s], m.met[o] = m.have[o], m.have[s]
	for _, k := range [2]int{s, o} {
		m.frozen[k] = r.freeze + 1
		if d := m.have[k][0] - m.have[k][1]; d > 0 {
			m.goal[k] = 0
		} else if d < 0 {
			m.goal[k] = 1
		}
	}
}

// returned puts those back who were away for long enough, where they are seen.
func (r *inMatrix) returned(now *Seen) {
	m := &r.next
	for s := range r.n {
		if m.off[s] == 0 {
			continue
		}
		if m.off[s]--; m.off[s] > 0 {
			continue
		}
		at, face := r.stands(now, s)
		if at == gone || m.wall[at] || m.kind[at] >= 0 || slices.Contains(m.at, at) {
			r.b.Contradict("return", "after %d steps seat %d is back on no free start", r.t, s)
			continue
		}
		m.at[s], m.face[s] = at, face
	}
}

// grown takes over which resources have come back, of those that may.
func (r *inMatrix) grown(now *Seen) {
	m := &r.next
	nobody := r.refill && !slices.ContainsFunc(m.at, func(c int) bool { return c != gone })
	for c, kind := range m.kind {
		switch {
		case kind < 0 || m.taken[c] == 0:
		case nobody:
			m.taken[c] = 0
		case m.taken[c] <= regrowsAfter:
			m.taken[c]++
		case !slices.Contains(m.at, c):
			back := r.planes(now, c)[r.n+1+kind] == 1
			r.regrown.Saw(back, r.regrow)
			if back {
				m.taken[c] = 0
			}
		}
	}
}

// worth returns what an interaction pays a seat.
func (r *inMatrix) worth(m *mapped, s int) float64 {
	x, y := part(m.have[s]), part(m.met[s])
	return x*y*r.pays[0] + x*(1-y)*r.pays[1] + (1-x)*y*r.pays[2] + (1-x)*(1-y)*r.pays[3]
}

func part(have [2]int) float64 { return float64(1+have[0]) / float64(2+have[0]+have[1]) }

func (r *inMatrix) paid() {
	m := &r.next
	for s := range r.n {
		if m.frozen[s] == 0 {
			continue
		}
		if m.frozen[s]--; m.frozen[s] == 0 {
			m.pay[s] = r.worth(m, s)
			m.have[s], m.at[s], m.off[s], m.cool[s] = [2]int{}, gone, r.away, 0
		}
	}
}

func (r *inMatrix) ends(now *Seen) {
	chance := r.t >= r.least && r.t%endsEvery == 0
	stopped := now.Over && !now.Cut
	if chance {
		r.stopped.Saw(stopped, r.stop)
	}
	if limit := r.t >= r.horizon; stopped && (!chance || r.stop == 0) || now.Cut != (limit && !stopped) || limit && !now.Over {
		r.b.Contradict("end", "after %d steps the episode is over: %v, cut from outside: %v; the rules say that it is cut at %d and may end "+
			"from %d on at each %dth step", r.t, now.Over, now.Cut, r.horizon, r.least, endsEvery)
	}
}

// saw holds everything that is seen against the map.
func (r *inMatrix) saw(now *Seen, rewards []float32) {
	m := &r.next
	if rewards == nil {
		m = &r.now
	}
	for s := range r.n {
		if rewards != nil && !near(float64(rewards[s]), m.pay[s]) {
			r.b.Contradict("pay", "after %d steps seat %d is paid %s; the rules say %s", r.t, s, amount(float64(rewards[s])), amount(m.pay[s]))
		}
		if now.Goal != nil && rewards != nil && now.Goal[s] != m.goal[s] {
			r.b.Contradict("goal", "after %d steps seat %d has reached goal %d; the rules say %d", r.t, s, now.Goal[s], m.goal[s])
		}
		if now.Alive[s] == now.Over {
			r.b.Contradict("leaving", "after %d steps seat %d is there: %v; the rules say that nobody leaves before the end", r.t, s, now.Alive[s])
		}
		r.sees(now.Whole[s], m, s, now.Over, true)
		r.sees(now.Obs[s], m, s, now.Over, r.radius == 0)
		legal := r.b.spec.Obs.LegalAt()
		for k, ok := range now.Legal[s] {
			if ok != (r.view[legal+k] == 1) {
				r.b.Contradict("mask", "after %d steps seat %d %s play %s; the rules say that it %s", r.t, s, may(ok), r.b.spec.Actions[k],
					may(!ok))
			}
		}
	}
}

// sees holds one observation against the map.
func (r *inMatrix) sees(obs []float32, m *mapped, s int, over, whole bool) {
	v, l, all := r.view, &r.b.spec.Obs, r.n+8
	clear(v)
	for c := range m.kind {
		if !whole && !r.near(m.at[s], c) {
			continue
		}
		p := v[c*all : (c+1)*all]
		if m.wall[c] {
			p[r.n] = 1
		}
		if m.kind[c] >= 0 && m.taken[c] == 0 {
			p[r.n+1+m.kind[c]] = 1
		}
		for o, at := range m.at {
			if at != c {
				continue
			}
			p[(o-s+r.n)%r.n], p[r.n+3+m.face[o]] = 1, 1
			if m.have[o] != [2]int{} {
				p[r.n+7] = 1
			}
			if m.frozen[o] > 0 {
				v[l.FeaturesAt()+(o-s+r.n)%r.n] = float32(r.worth(m, o))
			}
		}
	}
	f := v[l.FeaturesAt()+r.n:]
	f[0], f[1] = float32(part(m.have[s])), float32(m.have[s][0]+m.have[s][1])/10
	if m.met[s] != [2]int{} {
		f[2], f[3] = 1, float32(part(m.met[s]))
	}
	f[4], f[5] = float32(m.cool[s])/beamCools, float32(m.frozen[s])/float32(r.freeze+1)
	r.mayPlay(v[l.LegalAt():], m, s, over)
	for k := range r.n {
		o := (s + k) % r.n
		if a := m.last[o]; a >= 0 && (k == 0 || whole || r.near(r.now.at[s], r.now.at[o])) {
			v[l.LastAt()+k*l.Legal+a] = 1
		}
	}
	for i, want := range v {
		if math.Abs(float64(obs[i]-want)) > 1e-5 {
			r.b.Contradict("view", "after %d steps seat %d observes %s at %d; the rules say %s", r.t, s, amount(float64(obs[i])), i,
				amount(float64(want)))
			return
		}
	}
}

func (r *inMatrix) mayPlay(dst []float32, m *mapped, s int, over bool) {
	if over {
		return
	}
	dst[stay] = 1
	if m.at[s] == gone || m.frozen[s] > 0 {
		return
	}
	for move := up; move <= right; move++ {
		if r.beside(m, m.at[s], move) != gone {
			dst[move] = 1
		}
	}
	dst[turnLeft], dst[turnRight] = 1, 1
	if m.cool[s] == 0 {
		dst[interact] = 1
	}
}

// near reports whether a cell is in the view from another.
func (r *inMatrix) near(from, c int) bool {
	if r.radius == 0 {
		return true
	}
	if from == gone || c == gone {
		return false
	}
	y, x := from/r.width-c/r.width, from%r.width-c%r.width
	return max(y, -y, x, -x) <= r.radius
}
