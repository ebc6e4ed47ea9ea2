package hop

import (
	"fmt"
	"math"

	"hop/agent"
	"hop/batch"
	"hop/belief"
	"hop/f32"
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
	*codes
	n    int
	hot  []float32 // [n][n] one-hot
	last []int32   // [N][others] the class of the last state that a co-player was seen in
}

// maxClasses bounds the hypotheses: a belief needs a prediction for each.
const maxClasses = 64

func newClasses(m *Mind, c *codes) (*classes, error) {
	w := &classes{codes: c, n: m.models.VAE.ClassCount(maxClasses + 1)}
	if w.n > maxClasses {
		return nil, fmt.Errorf("hop: the VAE's goals make more than %d classes, too many to keep a belief over; set "+
			"goals.kind latent, which infers each group apart, or train one with fewer classes or groups", maxClasses)
	}
	w.hot = make([]float32, w.n*w.n)
	for g := range w.n {
		w.hot[g*w.n+g] = 1
	}
	return w, nil
}

func (w *classes) Hypotheses() int { return w.n }
func (w *classes) Features() int   { return w.n }

func (w *classes) Remember(envs int) {
	w.last = make([]int32, envs*len(w.m.others))
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

func (w *classes) Trajectories(ro *batch.Rollout) []trajectory { return w.m.episodes(ro, false) }

// Label gives every step the class of its subgoal.
func (w *classes) Label(dst []float32, ro *batch.Rollout, list []trajectory, _ float64, _ *rng.Rand) []agent.Stat {
	states, chosen := w.read(ro, list), w.subgoals(ro, list)
	class := make([]int32, 0, states.Len())
	w.encode(states, func(ws *vae.Work, _ int) {
		for i := range ws.X.Rows() {
			class = append(class, w.class(ws, i))
		}
	})
	for row, to := range chosen {
		copy(dst[row*w.n:(row+1)*w.n], w.hot[int(class[to])*w.n:])
	}
	w.count(ro, list)
	return []agent.Stat{w.surprise(dst, ro, list)}
}

// surprise returns how much of the labels the beliefs at play did not know: the mean of
// -ln of what was believed of a step's class, where the agent was there to believe.
func (w *classes) surprise(labels []float32, ro *batch.Rollout, list []trajectory) agent.Stat {
	s, row, m := agent.Stat{Name: "goal/ce"}, 0, w.m
	for _, p := range list {
		for t := p.lo; t < p.hi; t++ {
			if slot := ro.Slot(m.me, t, p.env); ro.Alive[slot] && m.goalLen > 0 && ro.GoalLen == m.goalLen {
				at := place(ro.SeatAt(slot), ro.SeatAt(ro.Slot(p.agent, t, p.env)), m.spec.Seats) * m.width
				b := f32.Dot(labels[row*w.n:(row+1)*w.n], ro.Goal[slot*ro.GoalLen+at:][:w.n])
				s.Value -= math.Log(max(float64(b), 1e-6))
				s.N++
			}
			row++
		}
	}
	s.Value /= float64(max(s.N, 1))
	return s
}

func (w *classes) save(f *safetensors.File, prefix string) {
	w.codes.save(f, prefix)
	last := make([]int64, len(w.last))
	for i, c := range w.last {
		last[i] = int64(c)
	}
	f.PutInt64(prefix+"last", last, len(last))
}

func (w *classes) load(f *safetensors.File, prefix string, weights bool) error {
	if err := w.codes.load(f, prefix, weights); err != nil || weights {
		return err
	}
	last := make([]int64, len(w.last))
	if err := f.Int64(last, prefix+"last", len(last)); err != nil {
		return err
	}
	for i, c := range last {
		if c < -1 || c >= int64(w.n) {
			return fmt.Errorf("hop: loading %slast: there is no class %d", prefix, c)
		}
		w.last[i] = int32(c)
	}
	return nil
}

func (w *classes) Inference(envs, trees int) Inference {
	others := len(w.m.others)
	return &classInference{
		classes: w, outcomes: w.outcomes(), rows: w.vae.Rows(), ws: w.vae.Work(max(envs*others, 1)), places: make([]int, 0, envs*others),
		z: make([]float32, w.vae.Width()), partners: make([]int32, envs*trees*others),
		seen: make([]float32, w.m.spec.Obs.Len()),
	}
}

// classInference is one worker's part.
type classInference struct {
	*classes
	outcomes outcomes
	rows     *vae.Rows
	ws       *vae.Work
	places   []int
	z        []float32
	partners []int32   // [trees][others] the goal that the class leads to
	seen     []float32 // [ObsLen] of a co-player, as the agent sees it
}

// Observe notes the class of the state that each living co-player is in.
func (f *classInference) Observe(v *rollout.View, envs []int32) {
	if !f.m.cfg.Belief.Across {
		return
	}
	f.rows.Reset()
	f.ws.Reset()
	f.places = f.places[:0]
	for _, n := range envs {
		for j, a := range f.m.others {
			at := f.m.at(int(n), j)
			if v.Start[v.Moment(v.T, int(n))] {
				f.last[at] = game.NoGoal
			}
			if !f.m.sight.There(v.Rollout, a, v.T, int(n)) {
				continue
			}
			f.rows.Add(f.m.sight.Obs(f.seen, v.Rollout, a, v.T, int(n)), nil, nn.NoClass)
			f.ws.Add(f.rows, len(f.places))
			f.places = append(f.places, at)
		}
	}
	if len(f.places) == 0 {
		return
	}
	f.ws.Encode(f.params)
	for i, at := range f.places {
		f.last[at] = f.class(f.ws, i)
	}
}

func (f *classInference) Open(int, int) bool                  { return true }
func (f *classInference) Renamed() bool                       { return false }
func (f *classInference) Goal(_, _, g int) []float32          { return f.hot[g*f.n : (g+1)*f.n] }
func (f *classInference) Reached(*rollout.View, int, int) int { return game.NoGoal }

// Outcome is the class of the state that co-player j was last seen in.
func (f *classInference) Outcome(_ *rollout.View, n, j int) (goal int, counts bool) {
	return int(f.last[f.m.at(n, j)]), true
}

func (f *classInference) Draw(tree int32, _, j int, g int32, r *rng.Rand) int32 {
	if f.m.cfg.Leaf.partnered() {
		f.code(f.z, g)
		f.partners[f.m.at(int(tree), j)] = f.outcomes.draw(f.z, r)
	}
	return g
}

func (f *classInference) Drawn(_ int32, _ int, name int32) []float32 { return f.Goal(0, 0, int(name)) }

func (f *classInference) Partner(tree int32, j int, _ int32) int32 {
	return f.partners[f.m.at(int(tree), j)]
}

// Words are the goals that the class leads to; without them it has only a number.
func (f *classInference) Words(_, _, g int) []Word {
	if !f.leadsToGoals() {
		return []Word{{fmt.Sprint("class ", g), 1}}
	}
	f.code(f.z, int32(g))
	return f.outcomes.mean([][]float32{f.z})
}

func (f *classInference) Believe(*belief.Beliefs, int) bool { return false }

var (
	_ GoalModel = (*classes)(nil)
	_ Inference = (*classInference)(nil)
)
