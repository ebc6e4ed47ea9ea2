package reference

import (
	"fmt"
	"math"
)

// World is a model of a game's rules on a board (docs/world.md): from what one
// agent observes and what all do, ego-first, what becomes of things, agents,
// rewards and the episode, and what everyone may do then. Each factor is a
// network of its own, and looks at the three by three cells around a place.
type World struct {
	Variant                                string    // "heads": a distribution for everything; "planes": regression of all planes
	Weights                                []float64 // factors of planes in the loss; nil: 1 each
	Height, Width, Planes, Agents, Actions int
	Horizon, Legal, Time, Last             int
	Owned                                  int       // planes of what belongs to agents
	Features                               int       // numbers observed besides the planes
	Rewards                                []float32 // every reward there is, ascending
	Net                                    Net
}

// Len returns the length of an observation.
func (w World) Len() int { return w.board() + w.Features + w.Legal + w.Time + w.Last*w.Actions }

// scene is what an observation shows.
type scene struct {
	at    []int    // [Agents] cell, -1 off the board
	thing [][]bool // [cells][things]
	t     int
}

func (w World) things() int { return w.Planes - w.Agents }
func (w World) cells() int  { return w.Height * w.Width }
func (w World) board() int  { return w.cells() * w.Planes }

// scene reads planes.
func (w World) scene(planes []float32) scene {
	s := scene{at: make([]int, w.Agents), thing: make([][]bool, w.cells())}
	flat := make([]bool, w.cells()*w.things())
	for a := range s.at {
		s.at[a] = -1
	}
	for c := range s.thing {
		s.thing[c] = flat[c*w.things() : (c+1)*w.things()]
		for i := range w.Planes {
			if planes[c*w.Planes+i] == 0 {
				continue
			}
			if i < w.Agents {
				s.at[i] = c
			} else {
				s.thing[c][i-w.Agents] = true
			}
		}
	}
	return s
}

// seen reads an observation.
func (w World) seen(obs []float32) scene {
	s := w.scene(obs[:w.board()])
	if w.Time > 0 {
		s.t = min(int(math.Round(float64(obs[w.board()+w.Legal])*float64(w.Horizon))), w.Horizon)
	}
	return s
}

// count returns how many cells hold thing e.
func (s scene) count(e int) int {
	n := 0
	for _, set := range s.thing {
		if set[e] {
			n++
		}
	}
	return n
}

// left returns how many agents are on the board.
func (s scene) left() int {
	n := 0
	for _, c := range s.at {
		if c >= 0 {
			n++
		}
	}
	return n
}

// sparse is a row of a network's input, most of which is zero.
type sparse []struct {
	col int
	v   float64
}

func (r *sparse) put(col int, v float64) {
	*r = append(*r, struct {
		col int
		v   float64
	}{col, v})
}

// upTo writes a count as a thermometer: a column for "at least 1", "at least 2", ...
func (r *sparse) upTo(col, n int) {
	for j := range n {
		r.put(col+j, 1)
	}
}

// base and site are the columns of a place: things, off the board, how many agents;
// with actions also how many agents do each.
func (w World) base() int { return w.things() + 1 + w.Agents }
func (w World) site() int { return w.base() + w.Actions*w.Agents }

// place writes what is on a cell from column off on; joint nil: without actions,
// else agents are counted by what they do, and not once more.
func (w World) place(r *sparse, s scene, joint []int32, cell, off int) {
	for e, is := range s.thing[cell] {
		if is {
			r.put(off+e, 1)
		}
	}
	var doing [16]int // model/world allows no more actions
	crowd := 0
	for a, c := range s.at {
		if c == cell {
			crowd++
			if joint != nil && joint[a] >= 0 {
				doing[joint[a]]++
			}
		}
	}
	if joint == nil {
		r.upTo(off+w.things()+1, crowd)
		return
	}
	for k, n := range doing[:w.Actions] {
		r.upTo(off+w.base()+k*w.Agents, n)
	}
}

// around writes the three by three cells around one.
func (w World) around(r *sparse, s scene, joint []int32, cell int) {
	width := w.base()
	if joint != nil {
		width = w.site()
	}
	for q := range 9 {
		y, x := cell/w.Width+q/3-1, cell%w.Width+q%3-1
		if y < 0 || y >= w.Height || x < 0 || x >= w.Width {
			r.put(q*width+w.things(), 1)
			continue
		}
		w.place(r, s, joint, y*w.Width+x, q*width)
	}
}

// seenBy returns a scene with things as agent a sees them: what belongs to agents
// is in its order, from itself on.
func (w World) seenBy(s scene, a int) scene {
	if w.Owned == 0 {
		return s
	}
	things := make([][]bool, len(s.thing))
	for c, set := range s.thing {
		things[c] = append([]bool{}, set...)
		for e := range w.Owned {
			things[c][e] = set[(e+a)%w.Owned]
		}
	}
	s.thing = things
	return s
}

// tallied is how many vanished or remaining things of a kind are told apart.
const tallied = 4

// actor writes agent a's row: the cells around it, what it does and, apart for each
// action, its own cell, which things vanish there and how many vanish in all.
func (w World) actor(s, next scene, joint []int32, a int) sparse {
	r := make(sparse, 0, 96)
	cell, k, e := s.at[a], int(joint[a]), w.things()
	s, next = w.seenBy(s, a), w.seenBy(next, a)
	w.around(&r, s, joint, cell)
	off := 9 * w.site()
	r.put(off+k, 1)
	off += w.Actions + 1 + k*(w.site()+e+e*tallied)
	w.place(&r, s, joint, cell, off)
	off += w.site()
	for j := range e {
		if s.thing[cell][j] && !next.thing[cell][j] {
			r.put(off+j, 1)
		}
		r.upTo(off+e+j*tallied, min(s.count(j)-next.count(j), tallied))
	}
	return r
}

// end writes the row of the episode's end: who and what is left, and the time.
func (w World) end(next scene) (r sparse) {
	r.put(next.left(), 1)
	off := w.Agents + 1
	for e := range w.things() {
		r.put(off+min(next.count(e), tallied), 1)
		off += tallied + 1
	}
	r.put(off+min(next.t, w.Horizon), 1)
	r.put(off+w.Horizon+1, float64(next.t)/float64(w.Horizon))
	return r
}

// mask writes the row of what agent a may do: the cells around it and, apart for
// each thing on its own, how many agents stand there.
func (w World) mask(s scene, a int) sparse {
	r := make(sparse, 0, 48)
	cell := s.at[a]
	s = w.seenBy(s, a)
	w.around(&r, s, nil, cell)
	crowd := 0
	for _, c := range s.at {
		if c == cell {
			crowd++
		}
	}
	for e, is := range s.thing[cell] {
		if is {
			r.upTo(9*w.base()+e*w.Agents, crowd)
		}
	}
	return r
}

// whole writes the row of the plane regression.
func (w World) whole(obs []float32, joint []int32) (r sparse) {
	for i, v := range obs[:w.board()] {
		if v != 0 {
			r.put(i, float64(v))
		}
	}
	for i, k := range joint {
		if k >= 0 {
			r.put(w.board()+i*w.Actions+int(k), 1)
		}
	}
	if w.Time > 0 {
		r.put(w.board()+w.Agents*w.Actions, float64(obs[w.board()+w.Legal]))
	}
	return r
}

// layerOf is a layer on sparse rows.
func layerOf(t *Tape, x []sparse, w, b *Mat) *Mat {
	y := NewMat(len(x), w.Cols)
	for i, row := range x {
		to := y.Row(i)
		copy(to, b.V)
		for _, e := range row {
			for j, u := range w.Row(e.col) {
				to[j] += e.v * u
			}
		}
	}
	t.Do(func() {
		for i, row := range x {
			d := y.Grad(i)
			for _, e := range row {
				g := w.Grad(e.col)
				for j, v := range d {
					g[j] += e.v * v
				}
			}
			for j, v := range d {
				b.G[j] += v
			}
		}
	})
	return y
}

// trunk is the layers of a network below its head.
func (w World) trunk(t *Tape, name string, x []sparse) *Mat {
	y := t.ReLU(layerOf(t, x, w.Net[name+"/0/w"], w.Net[name+"/0/b"]))
	for i := 1; ; i++ {
		next := fmt.Sprintf("%s/%d", name, i)
		if w.Net[next+"/w"] == nil {
			return y
		}
		y = t.ReLU(t.Affine(y, w.Net[next+"/w"], w.Net[next+"/b"]))
	}
}

func (w World) head(t *Tape, name string, y *Mat) *Mat {
	return t.Affine(y, w.Net[name+"/w"], w.Net[name+"/b"])
}

// through runs a network with one head.
func (w World) through(t *Tape, name string, x []sparse) *Mat {
	return w.head(t, name+"/head", w.trunk(t, name, x))
}

// open says which of the nine cells around one are on the board; the tenth class is
// to leave.
func (w World) open(cell int) []bool {
	ok := make([]bool, 10)
	for q := range 9 {
		y, x := cell/w.Width+q/3-1, cell%w.Width+q%3-1
		ok[q] = y >= 0 && y < w.Height && x >= 0 && x < w.Width
	}
	ok[9] = true
	return ok
}

// Foreseen is a step as a model predicts it, at its likeliest. Agents are
// ego-first.
type Foreseen struct {
	scene
	Reward []float64
	End    []bool   // has left, or the episode is over
	Legal  [][]bool // none once ended
	Over   bool

	Mean   []float64 // expected rewards
	Gone   []float64 // probability of End
	Planes []float64 // raw probabilities
	Margin float64   // how far the closest decision was from another one: rounding decides what is within it
}

// Predict returns what follows when joint is done at what one agent observes.
func (w World) Predict(obs []float32, joint []int32) *Foreseen {
	n := w.Agents
	was := w.seen(obs)
	f := &Foreseen{
		scene: w.scene(obs[:w.board()]), Reward: make([]float64, n), End: make([]bool, n), Legal: make([][]bool, n),
		Mean: make([]float64, n), Gone: make([]float64, n), Planes: make([]float64, w.board()), Margin: 1,
	}
	f.t = min(was.t+1, w.Horizon)
	if w.Variant == "planes" {
		w.regress(f, obs, joint)
	} else {
		w.classify(f, was, joint)
	}
	for a := range n {
		f.End[a] = f.Over || f.at[a] < 0
		f.Legal[a] = make([]bool, w.Actions)
		if f.End[a] {
			continue
		}
		y := w.through(&Tape{}, "legal", []sparse{w.mask(f.scene, a)})
		for k, x := range y.V {
			f.Legal[a][k] = f.decide(x)
		}
	}
	return f
}

// decide says whether a bit is likelier on than off.
func (f *Foreseen) decide(logit float64) bool {
	p := logistic(logit)
	f.Margin = min(f.Margin, math.Abs(p-0.5))
	return p > 0.5
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// choose returns the likeliest class and all probabilities.
func (f *Foreseen) choose(logits []float64, legal []bool) (int, []float64) {
	x := &Mat{Rows: 1, Cols: len(logits), V: logits, G: make([]float64, len(logits))}
	logp := (&Tape{}).LogSoftmax(x, legal).V
	p, best, second := make([]float64, len(logits)), -1, 0.
	for k, v := range logp {
		if legal != nil && !legal[k] {
			continue
		}
		p[k] = math.Exp(v)
		switch {
		case best < 0 || p[k] > p[best]:
			if best >= 0 {
				second = p[best]
			}
			best = k
		case p[k] > second:
			second = p[k]
		}
	}
	f.Margin = min(f.Margin, p[best]-second)
	return best, p
}

// classify is a step by a distribution for everything: things first, then agents
// and rewards given what became of the things, then the end.
func (w World) classify(f *Foreseen, was scene, joint []int32) {
	n, c := w.Agents, w.Planes
	if w.things() > 0 {
		var rows []sparse
		for cell := range w.cells() {
			r := make(sparse, 0, 48)
			w.around(&r, was, joint, cell)
			rows = append(rows, r)
		}
		y := w.through(&Tape{}, "things", rows)
		for cell := range w.cells() {
			for e, x := range y.Row(cell) {
				f.thing[cell][e] = f.decide(x)
				f.Planes[cell*c+n+e] = logistic(x)
			}
		}
	}
	for a := range n {
		cell := was.at[a]
		switch {
		case cell < 0:
			f.Gone[a] = 1
			continue
		case joint[a] < 0: // who does nothing stays
			f.Planes[cell*c+a] = 1
			continue
		}
		t := &Tape{}
		y := w.trunk(t, "move", []sparse{w.actor(was, f.scene, joint, a)})
		q, p := f.choose(w.head(t, "move/head", y).V, w.open(cell))
		f.at[a] = -1
		if q < 9 {
			f.at[a] = cell + (q/3-1)*w.Width + q%3 - 1
		}
		for q, v := range p[:9] {
			if v > 0 {
				f.Planes[(cell+(q/3-1)*w.Width+q%3-1)*c+a] = v
			}
		}
		f.Gone[a] = p[9]
		level, pays := f.choose(w.head(t, "reward", y).V, nil)
		f.Reward[a] = float64(w.Rewards[level])
		for i, p := range pays {
			f.Mean[a] += p * float64(w.Rewards[i])
		}
	}
	over := w.through(&Tape{}, "over", []sparse{w.end(f.scene)}).V[0]
	f.Over = f.decide(over)
	for a := range n {
		f.Gone[a] += (1 - f.Gone[a]) * logistic(over)
	}
}

// regress is a step by the plane regression: an agent is where its plane is
// largest, gone if the plane sums to less than a half; a thing is where its plane is
// above a half.
func (w World) regress(f *Foreseen, obs []float32, joint []int32) {
	n, c := w.Agents, w.Planes
	y := w.through(&Tape{}, "dense", []sparse{w.whole(obs, joint)}).V
	copy(f.Planes, y)
	near := func(x float64) bool {
		f.Margin = min(f.Margin, math.Abs(x-0.5))
		return x > 0.5
	}
	for a := range n {
		best, second, sum := 0, math.Inf(-1), 0.
		for cell := range w.cells() {
			v := y[cell*c+a]
			sum += v
			switch {
			case cell == 0:
			case v > y[best*c+a]:
				best, second = cell, y[best*c+a]
			default:
				second = max(second, v)
			}
		}
		f.at[a] = best
		if !near(sum) {
			f.at[a] = -1
		} else {
			f.Margin = min(f.Margin, y[best*c+a]-second)
		}
		f.Reward[a], f.Mean[a], f.Gone[a] = y[w.board()+a], y[w.board()+a], min(max(1-sum, 0), 1)
	}
	for cell := range w.cells() {
		for e := range w.things() {
			f.thing[cell][e] = near(y[cell*c+n+e])
		}
	}
	f.Over = near(y[w.board()+n])
}

// View is what the agent at offset s observes of a foreseen step after joint.
func (w World) View(f *Foreseen, joint []int32, s int) []float32 {
	n := w.Agents
	out := make([]float32, w.board(), w.Len())
	for i := range n {
		if c := f.at[(s+i)%n]; c >= 0 {
			out[c*w.Planes+i] = 1
		}
	}
	for c, set := range w.seenBy(f.scene, s).thing {
		for e, is := range set {
			if is {
				out[c*w.Planes+n+e] = 1
			}
		}
	}
	for k := range w.Legal {
		v := float32(0)
		if f.Legal[s][k] {
			v = 1
		}
		out = append(out, v)
	}
	if w.Time > 0 {
		out = append(out, float32(f.t)/float32(w.Horizon))
	}
	for i := range w.Last {
		hot := make([]float32, w.Actions)
		if k := joint[(s+i)%n]; k >= 0 {
			hot[k] = 1
		}
		out = append(out, hot...)
	}
	return out
}
