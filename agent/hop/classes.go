package hop

import (
	"fmt"
	"math"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/model/vae"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

// classes is learnt goals that are discrete: the VAE gives every state a class,
// and the hypotheses about a co-player are the classes. Beliefs over them follow
// Bayes' rule, as over hand-made goals.
type classes struct {
	codes   *codes
	sees    *visible
	shape   shape
	n       int  // classes
	goalLen int  // numbers that the own network reads
	across  bool // episodes are counted, by the class of the state that a co-player was last seen in
	draws   bool // partners are drawn
	x       *Inferred
}

// maxClasses bounds the hypotheses: a belief needs a prediction for each.
const maxClasses = 64

func newClasses(m *Mind, c *codes) (*classes, error) {
	w := &classes{
		codes: c, sees: m.sees, shape: m.shape, n: m.models.VAE.ClassCount(maxClasses + 1), goalLen: m.goalLen,
		across: m.cfg.Belief.Across, draws: m.cfg.Leaf.partnered(),
	}
	if w.n > maxClasses {
		return nil, fmt.Errorf("hop: the VAE's goals make more than %d classes, too many to keep a belief over; set "+
			"goals.kind latent, which infers each group apart, or train one with fewer classes or groups", maxClasses)
	}
	return w, nil
}

// Remember forgets in what states co-players were seen.
func (w *classes) Remember(x *Inferred, envs int) {
	w.x = x
	x.oneHot(w.n)
	x.Counts, x.Last = ByInference, make([]int32, envs*len(w.sees.others))
	for i := range x.Last {
		x.Last[i] = game.NoGoal
	}
}

// Apart returns a copy on the same VAE.
func (w *classes) Apart() GoalModel { c := *w; return &c }

// class returns the likeliest class of encoded row i.
func (w *classes) class(ws *vae.Work, i int) int32 {
	c, m := int32(0), w.codes.vae
	for g := range m.Groups {
		c = c*int32(m.Discrete) + ws.Class.Mode(i*m.Groups+g)
	}
	return c
}

// code writes the VAE's own form of a class, one-hot by group.
func (w *classes) code(z []float32, class int32) {
	clear(z)
	m := w.codes.vae
	for g := m.Groups - 1; g >= 0; g-- {
		z[g*m.Discrete+int(class)%m.Discrete] = 1
		class /= int32(m.Discrete)
	}
}

// Trajectories returns whole episodes.
func (w *classes) Trajectories(ro *batch.Rollout) []trajectory { return w.sees.episodes(ro, false) }

// Label gives every step the class of its subgoal.
func (w *classes) Label(dst []float32, ro *batch.Rollout, list []trajectory, _ float64, _ *rng.Rand) []agent.Stat {
	states, chosen := w.codes.read(ro, list), w.codes.subgoals(ro, list)
	class := make([]int32, 0, states.Len())
	w.codes.encode(states, func(ws *vae.Work, _ int) {
		for i := range ws.X.Rows() {
			class = append(class, w.class(ws, i))
		}
	})
	for row, to := range chosen {
		copy(dst[row*w.n:(row+1)*w.n], w.x.of(0, int(class[to])))
	}
	w.codes.count(ro, list)
	return []agent.Stat{w.surprise(dst, ro, list)}
}

// surprise returns how much of the labels the beliefs at play did not know: the mean of
// -ln of what was believed of a step's class, where the agent was there to believe.
func (w *classes) surprise(labels []float32, ro *batch.Rollout, list []trajectory) agent.Stat {
	s, row := agent.Stat{Name: "goal/ce"}, 0
	for _, p := range list {
		for t := p.lo; t < p.hi; t++ {
			if slot := ro.Slot(w.sees.me, t, p.env); ro.Alive[slot] && w.goalLen > 0 && ro.GoalLen == w.goalLen {
				at := w.sees.place(ro, p.agent, t, p.env) * w.shape.width
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

// Fit lets the VAE learn from the states that were labelled last.
func (w *classes) Fit(r *rng.Rand) ([]agent.Stat, error) { return w.codes.fit(r) }

// Networks returns none: guards know the VAE by what its codes are used for.
func (w *classes) Networks() []learner.Network { return nil }

func (w *classes) Save(f *safetensors.File, prefix string) {
	w.codes.save(f, prefix)
	last := make([]int64, len(w.x.Last))
	for i, c := range w.x.Last {
		last[i] = int64(c)
	}
	f.PutInt64(prefix+"last", last, len(last))
}

func (w *classes) Load(f *safetensors.File, prefix string, weights bool) error {
	if err := w.codes.load(f, prefix, weights); err != nil || weights {
		return err
	}
	last := make([]int64, len(w.x.Last))
	if err := f.Int64(last, prefix+"last", len(last)); err != nil {
		return err
	}
	for i, c := range last {
		if c < -1 || c >= int64(w.n) {
			return fmt.Errorf("hop: loading %slast: there is no class %d", prefix, c)
		}
		w.x.Last[i] = int32(c)
	}
	return nil
}

// Inference returns a worker's part.
func (w *classes) Inference(envs int) Inference {
	rows := envs * len(w.sees.others)
	return &classInference{
		w: w, outcomes: w.codes.outcomes(), rows: w.codes.vae.Rows(), ws: w.codes.vae.Work(max(rows, 1)), places: make([]int, 0, rows),
		z: make([]float32, w.codes.vae.Width()), seen: make([]float32, w.sees.spec.Obs.Len()),
	}
}

// classInference is one worker's part.
type classInference struct {
	w        *classes
	outcomes outcomes
	rows     *vae.Rows
	ws       *vae.Work
	places   []int     // [rows] whose state it is, in [N][others]
	z        []float32 // [Width] the code of a class
	seen     []float32 // [ObsLen] of a co-player, as the agent sees it
}

// Infer notes the class of the state that each co-player who is there is in.
func (f *classInference) Infer(v *rollout.View, envs []int32) {
	w := f.w
	if !w.across {
		return
	}
	f.rows.Reset()
	f.ws.Reset()
	f.places = f.places[:0]
	for _, n := range envs {
		for j, a := range w.sees.others {
			at := w.sees.at(int(n), j)
			if v.Start[v.Moment(v.T, int(n))] {
				w.x.Last[at] = game.NoGoal
			}
			if !w.sees.there(v.Rollout, a, v.T, int(n)) {
				continue
			}
			f.rows.Add(w.sees.obs(f.seen, v.Rollout, a, v.T, int(n)), nil, nn.NoClass)
			f.ws.Add(f.rows, len(f.places))
			f.places = append(f.places, at)
		}
	}
	if len(f.places) == 0 {
		return
	}
	f.ws.Encode(w.codes.params)
	for i, at := range f.places {
		w.x.Last[at] = w.class(f.ws, i)
	}
}

// Draw returns the class itself; the goal that it leads to is drawn.
func (f *classInference) Draw(dst []float32, _, _ int, g int32, r *rng.Rand) (partner int32) {
	copy(dst, f.w.x.of(0, int(g)))
	if !f.w.draws {
		return 0
	}
	f.w.code(f.z, g)
	return f.outcomes.draw(f.z, r)
}

// Explain names the goals that the class leads to; without them it has only a number.
func (f *classInference) Explain(_, _, g int) []Word {
	if !f.w.codes.leadsToGoals() {
		return []Word{{fmt.Sprint("class ", g), 1}}
	}
	f.w.code(f.z, int32(g))
	return f.outcomes.mean([][]float32{f.z})
}
