package train

import (
	"hop/agent"
	"hop/batch"
	"hop/game"
	"hop/model/vae"
	"hop/nn"
	"hop/rng"
	"hop/rollout"
	"hop/safetensors"
)

// classes is learnt goals that are discrete: the VAE gives every state a class,
// and the hypotheses about a co-player are the classes. Beliefs over them follow
// Bayes' rule, as over hand-made goals.
type classes struct {
	*coder
	n    int
	hot  []float32 // [n][n] one-hot
	last []int32   // [N][others] the class of the last state that a co-player was seen in
}

// maxClasses bounds the hypotheses: a belief needs a prediction for each.
const maxClasses = 64

func newClasses(h *HOP, m Models, key rng.Key) (*classes, error) {
	c, err := newCoder(h, m, key)
	if err != nil {
		return nil, err
	}
	w := &classes{coder: c, n: classCount(m.VAE)}
	w.hot = make([]float32, w.n*w.n)
	for g := range w.n {
		w.hot[g*w.n+g] = 1
	}
	return w, nil
}

// classCount returns how many classes a VAE's groups make together.
func classCount(m *vae.Model) int {
	n := 1
	for range m.Groups {
		n = min(n*m.Discrete, maxClasses+1)
	}
	return n
}

func (w *classes) hypotheses() int { return w.n }
func (w *classes) width() int      { return w.n }

func (w *classes) remember(envs int) {
	w.last = make([]int32, envs*len(w.h.others))
	for i := range w.last {
		w.last[i] = game.NoGoal
	}
}

// class returns the likeliest class of encoded row i.
func (w *classes) class(ws *vae.Work, i int) int32 {
	c := int32(0)
	for g := range w.vae.Groups {
		c = c*int32(w.vae.Discrete) + ws.Class.Mode(i*w.vae.Groups+g)
	}
	return c
}

// code writes the VAE's own form of a class, one-hot by group.
func (w *classes) code(z []float32, class int32) {
	clear(z)
	for g := w.vae.Groups - 1; g >= 0; g-- {
		z[g*w.vae.Discrete+int(class)%w.vae.Discrete] = 1
		class /= int32(w.vae.Discrete)
	}
}

// label gives every step the class of the state that its selector chose.
func (w *classes) label(g []float32, ro *batch.Rollout, paths []path, _ float64, r *rng.Rand) ([]agent.Stat, error) {
	states, chosen := w.states(ro, paths), w.choose(ro, paths)
	class := make([]int32, 0, states.Len())
	w.encode(states, func(ws *vae.Work, _ int) {
		for i := range ws.X.Rows() {
			class = append(class, w.class(ws, i))
		}
	})
	for row, to := range chosen {
		copy(g[row*w.n:(row+1)*w.n], w.hot[int(class[to])*w.n:])
	}
	w.count(ro, paths)
	return w.learn(states, paths, r)
}

func (w *classes) save(f *safetensors.File, prefix string) error {
	w.coder.save(f, prefix)
	last := make([]int64, len(w.last))
	for i, c := range w.last {
		last[i] = int64(c)
	}
	f.PutInt64(prefix+"last", last, len(last))
	return nil
}

func (w *classes) load(f *safetensors.File, prefix string, alone bool) error {
	if err := w.coder.load(f, prefix, alone); err != nil || alone {
		return err
	}
	last := make([]int64, len(w.last))
	if err := f.Int64(last, prefix+"last", len(last)); err != nil {
		return err
	}
	for i, c := range last {
		w.last[i] = int32(c)
	}
	return nil
}

func (w *classes) guess(envs, trees int) guess {
	others := len(w.h.others)
	return &classGuess{
		classes: w, teller: w.teller(), rows: w.vae.Rows(), ws: w.vae.Work(max(envs*others, 1)), places: make([]int, 0, envs*others),
		z: make([]float32, w.vae.Width()), bots: make([]int32, envs*trees*others),
	}
}

// classGuess is one worker's part.
type classGuess struct {
	*classes
	teller teller
	rows   *vae.Rows
	ws     *vae.Work
	places []int
	z      []float32
	bots   []int32 // [trees][others] the goal that the class leads to
}

// watch notes the class of the state that each living co-player is in.
func (g *classGuess) watch(v *rollout.View, envs []int32) (anew bool) {
	if !g.h.beliefs.Across {
		return false
	}
	reset(g.rows)
	g.ws.Reset()
	g.places = g.places[:0]
	for _, n := range envs {
		for j, a := range g.h.others {
			place, slot := int(n)*len(g.h.others)+j, v.Slot(a, v.T, int(n))
			if v.Start[v.Moment(v.T, int(n))] {
				g.last[place] = game.NoGoal
			}
			if !v.Alive[slot] {
				continue
			}
			g.rows.Add(v.ObsAt(slot), nil, nn.NoClass)
			g.ws.Add(g.rows, len(g.places))
			g.places = append(g.places, place)
		}
	}
	if len(g.places) == 0 {
		return false
	}
	g.ws.Encode(g.codes)
	for i, place := range g.places {
		g.last[place] = g.class(g.ws, i)
	}
	return false
}

// reset empties rows and keeps their memory.
func reset(r *vae.Rows) {
	r.State.Reset(r.State.Cols)
	r.Obs.Reset(r.Obs.Cols)
	r.Cell, r.Bit, r.Legal, r.Action, r.Outcome = r.Cell[:0], r.Bit[:0], r.Legal[:0], r.Action[:0], r.Outcome[:0]
}

func (g *classGuess) now(_, _, class int) []float32 { return g.hot[class*g.n : (class+1)*g.n] }

func (g *classGuess) draw(tree int32, _, j int, class int32, r *rng.Rand) int32 {
	if g.h.cfg.Casts() {
		g.code(g.z, class)
		g.bots[int(tree)*len(g.h.others)+j] = g.teller.lead(g.z, r)
	}
	return class
}

func (g *classGuess) drawn(_ int32, _ int, name int32) []float32 { return g.now(0, 0, int(name)) }

func (g *classGuess) bot(tree int32, j int, _ int32) int32 {
	return g.bots[int(tree)*len(g.h.others)+j]
}

// over counts the classes of the states that the others were last seen in.
func (g *classGuess) over(_ *rollout.View, n int) {
	for j := range g.h.others {
		g.h.belief[n].Over(0, j, int(g.last[n*len(g.h.others)+j]))
	}
}

var (
	_ wants = (*classes)(nil)
	_ guess = (*classGuess)(nil)
)
