package rules

import (
	"math"
	"strconv"

	"github.com/hop-marl/hop/game"
)

// gone is where a seat is that has left.
const gone = -1

// The moves that every game on a board has.
const (
	up = iota
	down
	left
	right
	stay
	first // the game's own actions
)

// scene is what lies where, with seats by their numbers.
type scene struct {
	at     []int     // [seat] cell, or gone
	on     [][]bool  // [thing][cell]
	traits []float64 // [seat] features of the seats
	items  []float64 // further features
	t      int
	over   bool
}

// outcome is what the rules say comes of a joint action.
type outcome struct {
	at    []int     // [seat] cell, or gone
	drawn []bool    // [seat] it was put anywhere by chance: arrives checks where
	on    [][]bool  // [thing][cell]
	pays  []float64 // [seat]
	goal  []int     // [seat]
	over  bool
}

// boardGame is the rules of one game on a board.
type boardGame interface {
	// start says what is wrong with a first scene and remembers what it needs.
	start(sc *scene)
	// may writes which of its own actions a seat may play, and forbids moves.
	may(sc *scene, s int, legal []bool)
	// play changes what moves alone made of the scene. sc is the scene before.
	play(sc *scene, acts []int32, out *outcome)
	// why tells what a seat did, for a sentence about its pay.
	why(sc *scene, acts []int32, s int) string
	// arrives checks what chance put on the board. out is what is certain; it
	// takes over from now what it finds to be allowed.
	arrives(sc, now *scene, out *outcome)
}

// ground is what games on a board share.
type ground struct {
	b         *Book
	n, size   int
	horizon   int
	radius    int // rows and columns that a seat sees around itself; 0: everything
	things    []string
	egoThings bool // the first n things belong to seats and are seen ego-first
	features  int  // beyond one for each seat
	traits    bool // each seat has a feature
	actions   []string
	has       int  // number of walls' plane, or -1
	wraps     bool // the edges meet
	hidden    bool // the horizon is a limit from outside that nobody sees
	forgets   bool // the last joint action is not seen
	pooled    bool // nor is it, and co-players are counted on one plane
	solid     bool // nobody moves to where somebody stands; who moves first is drawn
	firstOf   *Odds
	least     int     // from this step on each hundredth may be the last
	stop      float64 // with this probability
	stopped   *Odds
}

// board follows a game on a board.
type board struct {
	*ground
	game   boardGame
	now    scene
	next   scene
	out    outcome
	acted  []bool
	legal  []bool
	view   []float32
	last   []int32
	broken bool // the last scene could not be read: wait for the next episode
	chance bool // the episode was ended by chance
}

// spec returns what the game must say of itself; the caller adds to it.
func (g *ground) spec(name string) game.Spec {
	planes := []string{"self"}
	if g.pooled {
		planes = append(planes, "others")
	} else {
		for k := 1; k < g.n; k++ {
			planes = append(planes, "other"+strconv.Itoa(k))
		}
	}
	l := game.Layout{Height: g.size, Width: g.size, Planes: append(planes, g.things...), Features: g.features,
		Legal: len(g.actions), Time: 1, Last: g.n}
	if g.traits {
		l.Features += g.n
	}
	if g.egoThings {
		l.Owned = g.n
	}
	if g.hidden {
		l.Time = 0
	}
	if l.Pooled = g.pooled; g.forgets || g.pooled {
		l.Last = 0
	}
	return game.Spec{Name: name, Seats: g.n, Actions: g.actions, Horizon: g.horizon, Obs: l, View: g.radius, Symmetric: true}
}

func moves(more ...string) []string {
	return append([]string{"up", "down", "left", "right", "stay"}, more...)
}

func numbered(name string, n int) []string {
	var out []string
	for i := range n {
		out = append(out, name+strconv.Itoa(i))
	}
	return out
}

// follow returns a law for one env.
func (g *ground) follow(rules boardGame) Law {
	f := &board{ground: g, game: rules, acted: make([]bool, g.n), legal: make([]bool, len(g.actions)),
		view: make([]float32, g.b.spec.Obs.Len()), last: make([]int32, g.n)}
	f.now, f.next = g.scene(), g.scene()
	f.out = outcome{at: make([]int, g.n), drawn: make([]bool, g.n), pays: make([]float64, g.n), goal: make([]int, g.n)}
	f.out.on = g.scene().on
	return f
}

func (g *ground) scene() scene {
	sc := scene{at: make([]int, g.n), traits: make([]float64, g.n), items: make([]float64, g.features)}
	for range g.things {
		sc.on = append(sc.on, make([]bool, g.size*g.size))
	}
	return sc
}

// place names a cell.
func (g *ground) place(c int) string {
	if c == gone {
		return "nowhere"
	}
	return "row " + strconv.Itoa(c/g.size) + ", column " + strconv.Itoa(c%g.size)
}

// neighbour returns the row and the column that a move leads to, which may be off the board.
func neighbour(y, x, move int) (int, int) {
	switch move {
	case up:
		y--
	case down:
		y++
	case left:
		x--
	case right:
		x++
	}
	return y, x
}

// to returns where a move leads; gone: off the board or into a block.
func (g *ground) to(sc *scene, c, move int) int {
	y, x := neighbour(c/g.size, c%g.size, move)
	if g.wraps {
		y, x = (y+g.size)%g.size, (x+g.size)%g.size
	}
	if y < 0 || x < 0 || y >= g.size || x >= g.size || g.has >= 0 && sc.on[g.has][y*g.size+x] {
		return gone
	}
	return y*g.size + x
}

// blocked reports whether a cell has a block.
func (g *ground) blocked(sc *scene, c int) bool { return g.has >= 0 && sc.on[g.has][c] }

// distances writes the moves from any of the cells to every cell; -1: no way.
func (g *ground) distances(sc *scene, from []int) []int {
	d := make([]int, g.size*g.size)
	for c := range d {
		d[c] = -1
	}
	queue := append([]int(nil), from...)
	for _, c := range from {
		d[c] = 0
	}
	for len(queue) > 0 {
		c := queue[0]
		queue = queue[1:]
		for move := up; move <= right; move++ {
			if to := g.to(sc, c, move); to != gone && d[to] < 0 {
				d[to] = d[c] + 1
				queue = append(queue, to)
			}
		}
	}
	return d
}

// shown is how many planes show seats.
func (g *ground) shown() int {
	if g.pooled {
		return 2
	}
	return g.n
}

// read reads the scene from a seat's observation; where co-players are counted, where each is from its own.
func (g *ground) read(whole [][]float32, viewer int, sc *scene) bool {
	obs, shown := whole[viewer], g.shown()
	planes := shown + len(g.things)
	for s := range sc.at {
		sc.at[s] = gone
		for c := range g.size * g.size {
			if g.pooled && whole[s][c*planes] == 1 {
				sc.at[s] = c
			}
		}
	}
	ok := true
	for c := range g.size * g.size {
		row := obs[c*planes : (c+1)*planes]
		for k, v := range row {
			if g.pooled && k < shown {
				continue // seen to be what it must be once everybody's place is known
			}
			if v != 0 && v != 1 {
				g.b.Contradict("view", "seat %d sees %v in plane %s at %s; planes are 0 or 1", viewer, v, g.b.spec.Obs.Planes[k], g.place(c))
				ok = false
			}
			switch {
			case k >= shown && k < 2*g.n && g.egoThings:
				sc.on[(viewer+k-g.n)%g.n][c] = v == 1
			case k >= shown:
				sc.on[k-shown][c] = v == 1
			case v == 1:
				s := (viewer + k) % g.n
				if sc.at[s] != gone {
					g.b.Contradict("view", "seat %d sees seat %d in two places, %s and %s", viewer, s, g.place(sc.at[s]), g.place(c))
					ok = false
				}
				sc.at[s] = c
			}
		}
	}
	features := obs[planes*g.size*g.size:]
	if g.traits {
		for k := range g.n {
			sc.traits[(viewer+k)%g.n] = float64(features[k])
		}
		features = features[g.n:]
	}
	for k := range sc.items {
		sc.items[k] = float64(features[k])
	}
	return ok
}

// mayPlay writes a seat's mask by the rules.
func (f *board) mayPlay(sc *scene, s int) []bool {
	clear(f.legal)
	if sc.over || sc.at[s] == gone {
		return f.legal
	}
	for move := up; move <= right; move++ {
		f.legal[move] = f.to(sc, sc.at[s], move) != gone
	}
	f.legal[stay] = true
	f.game.may(sc, s, f.legal)
	return f.legal
}

// saw checks masks, who is there and what everybody sees against the scene.
func (f *board) saw(now *Seen, sc *scene) {
	switch {
	case now.Cut && !f.hidden:
		f.b.Contradict("end", "the episode is said to be cut from outside after %d steps; the horizon is a rule of the game", sc.t)
	case now.Cut != (sc.over && !f.chance) && f.hidden:
		f.b.Contradict("end", "after %d steps the episode is said to be cut from outside: %v; the horizon is hidden, so the rules say %v", sc.t,
			now.Cut, !now.Cut)
	}
	for s := range f.n {
		there := sc.at[s] != gone && !sc.over
		if now.Alive[s] != there {
			f.b.Contradict("leaving", "after %d steps seat %d is %s; the rules say it is %s", sc.t, s, present(now.Alive[s]), present(there))
		}
		legal := f.mayPlay(sc, s)
		for k, ok := range now.Legal[s] {
			if ok != legal[k] {
				f.b.Contradict("mask", "seat %d at %s %s play %s; the rules say that it %s", s, f.place(sc.at[s]), may(ok), f.actions[k], may(legal[k]))
			}
		}
		if there || f.acted[s] {
			f.seesIt(now.Obs[s], sc, s, legal)
		}
	}
}

func present(alive bool) string {
	if alive {
		return "still playing"
	}
	return "no longer playing"
}

func may(ok bool) string {
	if ok {
		return "may"
	}
	return "may not"
}

// seesIt checks one seat's whole observation.
func (f *board) seesIt(obs []float32, sc *scene, s int, legal []bool) {
	v, shown := f.view, f.shown()
	planes := shown + len(f.things)
	clear(v)
	for k := range f.n {
		if c := sc.at[(s+k)%f.n]; c != gone {
			v[c*planes+min(k, shown-1)]++
		}
	}
	for k := range f.things {
		thing := k
		if f.egoThings && k < f.n {
			thing = (s + k) % f.n
		}
		for c, there := range sc.on[thing] {
			if there {
				v[c*planes+shown+k] = 1
			}
		}
	}
	l, i := &f.b.spec.Obs, f.size*f.size*planes
	if f.traits {
		for k := range f.n {
			v[i] = float32(sc.traits[(s+k)%f.n])
			i++
		}
	}
	for _, x := range sc.items {
		v[i] = float32(x)
		i++
	}
	for k, ok := range legal {
		if ok {
			v[i+k] = 1
		}
	}
	i += len(legal)
	if !f.hidden {
		v[i] = float32(float64(sc.t) / float64(f.horizon))
		i++
	}
	for k := range l.Last {
		if a := f.last[(s+k)%f.n]; a >= 0 && l.Last > 0 {
			v[i+int(a)] = 1
		}
		i += len(f.actions)
	}
	f.hide(v, sc, s)
	for i, want := range v {
		if obs[i] != want && !near(float64(obs[i]), float64(want)) {
			f.b.Contradict("view", "after %d steps seat %d sees %s as %s; the rules say %s", sc.t, s, f.part(i), amount(float64(obs[i])),
				amount(float64(want)))
			return
		}
	}
}

// inView reports whether a cell is among those that a seat on another sees.
func (g *ground) inView(from, c int) bool {
	if g.radius == 0 {
		return true
	}
	if from == gone || c == gone {
		return false
	}
	rows, columns := from/g.size-c/g.size, from%g.size-c%g.size
	return rows*rows <= g.radius*g.radius && columns*columns <= g.radius*g.radius
}

// hide takes out of an observation of everything what seat s does not see: cells beyond its
// view, what belongs to those who are there, and what those did who were there before the step.
func (f *board) hide(v []float32, sc *scene, s int) {
	l, planes := f.b.spec.Obs, f.n+len(f.things)
	if f.radius == 0 {
		return
	}
	for i := range l.PlanesLen() {
		if !f.inView(sc.at[s], i/planes) {
			v[i] = 0
		}
	}
	for k := range f.n {
		o := (s + k) % f.n
		if f.traits && !f.inView(sc.at[s], sc.at[o]) {
			v[l.FeaturesAt()+k] = 0
		}
		if k > 0 && !f.forgets && !f.inView(f.now.at[s], f.now.at[o]) {
			clear(v[l.LastAt()+k*l.Legal:][:l.Legal])
		}
	}
	for k := range sc.items {
		here := false
		for c, there := range sc.on[k] {
			here = here || there && f.inView(sc.at[s], c)
		}
		if !here {
			v[l.LegalAt()-len(sc.items)+k] = 0
		}
	}
}

// part names a number of an observation.
func (f *board) part(i int) string {
	l := f.b.spec.Obs
	planes := f.shown() + len(f.things)
	switch {
	case i < l.FeaturesAt():
		return "plane " + l.Planes[i%planes] + " at " + f.place(i/planes)
	case i < l.LegalAt():
		return "feature " + strconv.Itoa(i-l.FeaturesAt())
	case i < l.TimeAt():
		return "the mask of " + f.actions[i-l.LegalAt()]
	case i < l.LastAt():
		return "the time"
	}
	k := i - l.LastAt()
	who := "itself"
	if o := k / len(f.actions); o > 0 {
		who = "the seat " + strconv.Itoa(o) + " after it"
	}
	return "the last action " + f.actions[k%len(f.actions)] + " of " + who
}

// near compares numbers that were rounded to float32.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-5*max(1, math.Abs(b)) }
