package rules

import (
	"math"
	"strconv"

	"hop/game"
	"hop/rng"
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
	egoThings bool // things belong to seats and are seen ego-first
	features  int  // beyond one for each seat
	traits    bool // each seat has a feature
	actions   []string
	has       int // number of walls' plane, or -1
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
}

// spec returns what the game must say of itself; the caller adds to it.
func (g *ground) spec(name string) game.Spec {
	planes := []string{"self"}
	for k := 1; k < g.n; k++ {
		planes = append(planes, "other"+strconv.Itoa(k))
	}
	l := game.Layout{Height: g.size, Width: g.size, Planes: append(planes, g.things...), Features: g.features,
		Legal: len(g.actions), Time: 1, Last: g.n}
	if g.traits {
		l.Features += g.n
	}
	if g.egoThings {
		l.Owned = g.n
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
func (g *ground) follow(rules boardGame) law {
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

// to returns where a move leads; gone: off the board or into a block.
func (g *ground) to(sc *scene, c, move int) int {
	y, x := c/g.size, c%g.size
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

// read reads the scene from a seat's observation.
func (g *ground) read(obs []float32, viewer int, sc *scene) bool {
	planes := g.n + len(g.things)
	for s := range sc.at {
		sc.at[s] = gone
	}
	ok := true
	for c := range g.size * g.size {
		row := obs[c*planes : (c+1)*planes]
		for k, v := range row {
			if v != 0 && v != 1 {
				g.b.wrong("view", "seat %d sees %v in plane %s at %s; planes are 0 or 1", viewer, v, g.b.spec.Obs.Planes[k], g.place(c))
				ok = false
			}
			switch {
			case k >= g.n && g.egoThings:
				sc.on[(viewer+k-g.n)%g.n][c] = v == 1
			case k >= g.n:
				sc.on[k-g.n][c] = v == 1
			case v == 1:
				s := (viewer + k) % g.n
				if sc.at[s] != gone {
					g.b.wrong("view", "seat %d sees seat %d in two places, %s and %s", viewer, s, g.place(sc.at[s]), g.place(c))
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
func (f *board) saw(now *seen, sc *scene) {
	if now.cut {
		f.b.wrong("end", "the episode is said to be cut from outside after %d steps; the horizon is a rule of the game", sc.t)
	}
	for s := range f.n {
		there := sc.at[s] != gone && !sc.over
		if now.alive[s] != there {
			f.b.wrong("leaving", "after %d steps seat %d is %s; the rules say it is %s", sc.t, s, present(now.alive[s]), present(there))
		}
		legal := f.mayPlay(sc, s)
		for k, ok := range now.legal[s] {
			if ok != legal[k] {
				f.b.wrong("mask", "seat %d at %s %s play %s; the rules say that it %s", s, f.place(sc.at[s]), may(ok), f.actions[k], may(legal[k]))
			}
		}
		if there || f.acted[s] {
			f.seesIt(now.obs[s], sc, s, legal)
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
	v, planes := f.view, f.n+len(f.things)
	clear(v)
	for k := range f.n {
		if c := sc.at[(s+k)%f.n]; c != gone {
			v[c*planes+k] = 1
		}
	}
	for k := range f.things {
		thing := k
		if f.egoThings {
			thing = (s + k) % f.n
		}
		for c, there := range sc.on[thing] {
			if there {
				v[c*planes+f.n+k] = 1
			}
		}
	}
	i := f.size * f.size * planes
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
	v[i] = float32(float64(sc.t) / float64(f.horizon))
	i++
	for k := range f.n {
		if a := f.last[(s+k)%f.n]; a >= 0 {
			v[i+int(a)] = 1
		}
		i += len(f.actions)
	}
	f.hide(v, sc, s)
	for i, want := range v {
		if obs[i] != want && !near(float64(obs[i]), float64(want)) {
			f.b.wrong("view", "after %d steps seat %d sees %s as %s; the rules say %s", sc.t, s, f.part(i), amount(float64(obs[i])),
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
		if k > 0 && !f.inView(f.now.at[s], f.now.at[o]) {
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
	planes := f.n + len(f.things)
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

func (f *board) begin(now *seen) {
	for s := range f.last {
		f.last[s], f.acted[s] = game.NoAction, false
	}
	sc := &f.now
	f.broken = !f.read(now.whole[0], 0, sc)
	sc.t, sc.over = 0, false
	if f.broken {
		return
	}
	if now.over {
		f.b.wrong("end", "an episode is over before its first step")
		f.broken = true
		return
	}
	for s, c := range sc.at {
		if c == gone || f.blocked(sc, c) {
			f.b.wrong("start", "seat %d starts at %s, which is no free cell", s, f.place(c))
			f.broken = true
			return
		}
	}
	f.game.start(sc)
	f.saw(now, sc)
}

func (f *board) step(now *seen, acts []int32, rewards []float32) {
	if f.broken {
		return
	}
	was, sc, out := &f.now, &f.next, &f.out
	viewer := -1
	for s := range acts {
		f.acted[s] = was.at[s] != gone
		if f.acted[s] && (viewer < 0 || now.alive[s] && !now.alive[viewer]) {
			viewer = s
		}
		f.last[s] = acts[s]
	}
	if viewer < 0 || !f.read(now.whole[viewer], viewer, sc) {
		f.broken = true
		return
	}
	sc.t, sc.over = was.t+1, now.over
	f.moved(was, acts)
	f.game.play(was, acts, out)
	out.over = out.over || sc.t >= f.horizon
	for s := range acts {
		if !near(float64(rewards[s]), out.pays[s]) {
			f.b.wrong("pay", "seat %d, who %s, is paid %s; the rules say %s", s, f.game.why(was, acts, s), amount(float64(rewards[s])),
				amount(out.pays[s]))
		}
	}
	f.game.arrives(was, sc, out)
	for s, a := range acts {
		switch got, want := sc.at[s], out.at[s]; {
		case got == want || out.drawn[s]:
		case got == gone:
			f.b.wrong("leaving", "seat %d, who %s, leaves; the rules say that it stays on the board", s, f.game.why(was, acts, s))
		case want == gone:
			f.b.wrong("leaving", "seat %d, who %s, stays on the board; the rules say that it leaves", s, f.game.why(was, acts, s))
		default:
			f.b.wrong("moves", "seat %d at %s plays %s and is at %s then; the rules say at %s", s, f.place(was.at[s]), f.called(a),
				f.place(got), f.place(want))
		}
		if len(now.goal) > 0 && now.goal[s] != out.goal[s] {
			f.b.wrong("goal", "seat %d, who %s, has reached %s; the rules say %s", s, f.game.why(was, acts, s), f.goal(now.goal[s]),
				f.goal(out.goal[s]))
		}
	}
	for k, thing := range f.things {
		if f.egoThings {
			thing = "coin of seat " + strconv.Itoa(k)
		}
		for c, there := range sc.on[k] {
			if there != out.on[k][c] {
				f.b.wrong(thing, "after a step in which %s, there is %s at %s; the rules say %s", f.deeds(was, acts, c), some(there, thing),
					f.place(c), some(out.on[k][c], thing))
				break
			}
		}
	}
	for k, x := range sc.items {
		if !near(x, out.item(f, was, k)) {
			f.b.wrong("features", "feature %d of what there is on the board is %s after a step; the rules say %s", k, amount(x),
				amount(out.item(f, was, k)))
		}
	}
	if f.traits {
		for s, x := range sc.traits {
			if x != was.traits[s] {
				f.b.wrong("features", "the feature of seat %d changes from %s to %s; it belongs to the episode", s, amount(was.traits[s]), amount(x))
			}
		}
	}
	if now.over != out.over {
		f.b.wrong("end", "the episode %s after %d steps; the rules say that it %s", ends(now.over), sc.t, ends(out.over))
	}
	f.saw(now, sc)
	f.now, f.next = f.next, f.now
}

// item returns a feature of the board after a step: it is 0 once its plane is empty.
func (o *outcome) item(f *board, was *scene, k int) float64 {
	for _, there := range o.on[k] {
		if there {
			return was.items[k]
		}
	}
	return 0
}

// moved writes what moves alone make of a scene.
func (f *board) moved(was *scene, acts []int32) {
	out := &f.out
	out.over = false
	for s, a := range acts {
		out.at[s], out.drawn[s], out.pays[s], out.goal[s] = was.at[s], false, 0, game.NoGoal
		if a >= up && a <= right && was.at[s] != gone {
			if to := f.to(was, was.at[s], int(a)); to != gone {
				out.at[s] = to
			}
		}
	}
	for k := range out.on {
		copy(out.on[k], was.on[k])
	}
}

// called names an action.
func (f *board) called(a int32) string {
	if a < 0 || int(a) >= len(f.actions) {
		return "nothing"
	}
	return f.actions[a]
}

// deeds tells what was played on a cell.
func (f *board) deeds(was *scene, acts []int32, c int) string {
	says := ""
	for s, a := range acts {
		if was.at[s] == c {
			if says != "" {
				says += " and "
			}
			says += "seat " + strconv.Itoa(s) + " played " + f.called(a) + " there"
		}
	}
	if says == "" {
		return "nobody was there"
	}
	return says
}

func (f *board) goal(k int) string {
	if k < 0 || k >= len(f.b.spec.Goals) {
		return "no goal"
	}
	return "the goal " + f.b.spec.Goals[k]
}

func some(there bool, thing string) string {
	if there {
		return thing
	}
	return "no " + thing
}

func ends(over bool) string {
	if over {
		return "ends"
	}
	return "goes on"
}

// spread counts where something appears that is drawn uniformly, by rows and by
// columns.
type spread struct{ rows, columns []*odds }

func (g *ground) spread(what string) *spread {
	sp := &spread{}
	for i := range g.size {
		sp.rows = append(sp.rows, g.b.chance("%s in row %d", what, i))
		sp.columns = append(sp.columns, g.b.chance("%s in column %d", what, i))
	}
	return sp
}

// saw counts so many cells drawn at once, without laying back, from those allowed.
func (sp *spread) saw(cells []int, allowed []bool) {
	size := len(sp.rows)
	all := 0.
	rows, columns := make([]float64, size), make([]float64, size)
	for c, ok := range allowed {
		if ok {
			all++
			rows[c/size]++
			columns[c%size]++
		}
	}
	if all == 0 {
		return
	}
	n := float64(len(cells))
	gotRows, gotColumns := make([]float64, size), make([]float64, size)
	for _, c := range cells {
		gotRows[c/size]++
		gotColumns[c%size]++
	}
	for i := range size {
		p := rows[i] / all
		sp.rows[i].add(gotRows[i], n*p, n*p*(1-p), n)
		p = columns[i] / all
		sp.columns[i].add(gotColumns[i], n*p, n*p*(1-p), n)
	}
}

// free returns the cells without blocks.
func (g *ground) free(sc *scene) ([]bool, int) {
	free, n := make([]bool, g.size*g.size), 0
	for c := range free {
		if free[c] = !g.blocked(sc, c); free[c] {
			n++
		}
	}
	return free, n
}

// cells lists where a thing is.
func cells(on []bool) []int {
	var out []int
	for c, there := range on {
		if there {
			out = append(out, c)
		}
	}
	return out
}

// starts counts where seats start: each anywhere, and where they may share cells
// whatever the others do.
type starts struct {
	of       []*spread // [seat]
	cells    []*odds   // [cell] starts of all seats; nil where there are too many
	together *odds     // nil: they share none
}

func (g *ground) starts(shared bool) *starts {
	st := &starts{}
	if shared {
		st.together = g.b.chance("starts of seats that follow each other on one cell")
	}
	for c := 0; g.size <= 10 && c < g.size*g.size; c++ {
		st.cells = append(st.cells, g.b.chance("starts at %s", g.place(c)))
	}
	for s := range g.n {
		st.of = append(st.of, g.spread("starts of seat "+strconv.Itoa(s)))
	}
	return st
}

// saw counts the seats that start on any of the allowed cells.
func (st *starts) saw(sc *scene, allowed []bool, n int) {
	for s, c := range sc.at {
		st.of[s].saw([]int{c}, allowed)
		for at, o := range st.cells {
			if allowed[at] {
				o.saw(at == c, 1/float64(n))
			}
		}
		if s > 0 && st.together != nil {
			st.together.saw(c == sc.at[s-1], 1/float64(n))
		}
	}
}

// walls checks blocks: pieces of the four kinds that do not overlap, at most so
// many of them, around which all free cells are connected.
type walls struct {
	*ground
	pieces int
	count  *odds   // blocked cells
	mean   float64 // of count at a start, by boards drawn here
	varied float64 // their variance
}

// boards is how many are drawn to know how many cells pieces block.
const boards = 3000

// walls returns the check of so many pieces. How many cells are blocked is asked
// where pieces have room, so that nothing else decides which boards are redrawn.
func (g *ground) walls(pieces int) *walls {
	w := &walls{ground: g, pieces: pieces}
	if pieces == 0 || 8*pieces > g.size*g.size {
		return w
	}
	w.count = g.b.chance("blocked cells at the start")
	r := rng.New(1).Child("blocks").Rand()
	sc := g.scene()
	var sum, squares float64
	for range boards {
		n := float64(w.draw(&sc, &r))
		sum += n
		squares += n * n
	}
	w.mean = sum / boards
	w.varied = squares/boards - w.mean*w.mean
	return w
}

// draw draws pieces, each kind and orientation as likely, anywhere they fit; one
// that overlaps is dropped; all are drawn again until free cells are connected.
func (w *walls) draw(sc *scene, r *rng.Rand) int {
	on := sc.on[w.has]
	for {
		clear(on)
		n := 0
		for range w.pieces {
			kind := r.IntN(4)
			if kind == 3 {
				kind += r.IntN(2)
			}
			n += w.put(on, pieces[8*kind+r.IntN(8)], r)
		}
		if w.connected(sc) == gone {
			return n
		}
	}
}

// put puts a piece somewhere and returns how many cells it blocks.
func (w *walls) put(on []bool, shape [][2]int, r *rng.Rand) int {
	high, first, last := 0, 0, 0
	for _, p := range shape {
		high, first, last = max(high, p[0]), min(first, p[1]), max(last, p[1])
	}
	rows, columns := w.size-high, w.size-(last-first)
	if rows <= 0 || columns <= 0 {
		return 0
	}
	at := r.IntN(rows)*w.size + r.IntN(columns) - first
	for _, p := range shape {
		if on[at+p[0]*w.size+p[1]] {
			return 0
		}
	}
	for _, p := range shape {
		on[at+p[0]*w.size+p[1]] = true
	}
	return len(shape)
}

// connected returns a free cell that the first one does not reach; gone: none.
func (g *ground) connected(sc *scene) int {
	for c := range g.size * g.size {
		if g.blocked(sc, c) {
			continue
		}
		for to, d := range g.distances(sc, []int{c}) {
			if d < 0 && !g.blocked(sc, to) {
				return to
			}
		}
		return gone
	}
	return gone
}

// saw checks the blocks of a start.
func (w *walls) saw(sc *scene) {
	blocks := cells(sc.on[w.has])
	if w.count != nil {
		// The mean is itself from so many boards, not from all.
		w.count.add(float64(len(blocks)), w.mean, w.varied*(1+float64(w.count.n)/boards), float64(4*w.pieces))
	}
	if len(blocks) == 0 {
		return
	}
	if w.pieces == 0 {
		w.b.wrong("start", "the board has %d blocked cells; the rules say none", len(blocks))
		return
	}
	if c := w.connected(sc); c != gone {
		w.b.wrong("start", "blocks part the board: %s is not reached from all free cells; the rules say it is", w.place(c))
	}
	tries := 2000
	if !w.covered(append([]bool(nil), sc.on[w.has]...), len(blocks), w.pieces, &tries) {
		w.b.wrong("start", "the %d blocked cells are not made of at most %d pieces of 3 in line, a corner of 3, 4 in line, S or L of 4",
			len(blocks), w.pieces)
	}
}

// pieces are the shapes of blocks, each in eight orientations, as offsets from
// their first cell in reading order: 3 in line, a corner of 3, 4 in line, S, L.
var pieces = orientations([][][2]int{
	{{0, 0}, {0, 1}, {0, 2}},
	{{0, 0}, {1, 0}, {1, 1}},
	{{0, 0}, {0, 1}, {0, 2}, {0, 3}},
	{{0, 1}, {0, 2}, {1, 0}, {1, 1}},
	{{0, 0}, {1, 0}, {2, 0}, {2, 1}},
})

func orientations(shapes [][][2]int) [][][2]int {
	var out [][][2]int
	for _, shape := range shapes {
		for turn := range 8 {
			turned := make([][2]int, len(shape))
			least := [2]int{math.MaxInt, 0}
			for i, p := range shape {
				for range turn % 4 {
					p = [2]int{p[1], -p[0]}
				}
				if turn >= 4 {
					p[1] = -p[1]
				}
				turned[i] = p
				if p[0] < least[0] || p[0] == least[0] && p[1] < least[1] {
					least = p
				}
			}
			for i := range turned {
				turned[i] = [2]int{turned[i][0] - least[0], turned[i][1] - least[1]}
			}
			out = append(out, turned)
		}
	}
	return out
}

// covered reports whether the cells that are left are so many pieces or fewer.
// Once it has tried for too long it says yes.
func (g *ground) covered(on []bool, left, most int, tries *int) bool {
	if left == 0 || *tries <= 0 {
		return true
	}
	*tries--
	if most == 0 || left > 4*most {
		return false
	}
	c := 0
	for !on[c] {
		c++
	}
	for _, shape := range pieces {
		fits := true
		for _, p := range shape {
			y, x := c/g.size+p[0], c%g.size+p[1]
			fits = fits && y >= 0 && y < g.size && x >= 0 && x < g.size && on[y*g.size+x]
		}
		if !fits {
			continue
		}
		for _, p := range shape {
			on[c+p[0]*g.size+p[1]] = false
		}
		if g.covered(on, left-len(shape), most-1, tries) {
			return true
		}
		for _, p := range shape {
			on[c+p[0]*g.size+p[1]] = true
		}
	}
	return false
}
