package train

import (
	"math"
	"slices"

	"hop/agent"
	"hop/batch"
	"hop/game"
	"hop/model/cvae"
	"hop/model/vae"
	"hop/nn"
	"hop/rng"
	"hop/rollout"
	"hop/safetensors"
)

// latent is HOP+'s goals: points z, inferred from a co-player's history within
// the episode as a normal distribution. There is one hypothesis, that the
// co-player is after z; what z is, each tree draws for itself.
type latent struct {
	*coder
	infer  *cvae.Model
	params *nn.Params
	teach  *cvae.Learner // nil: the weights stay as they are
	seqs   *cvae.Work

	// By env and co-player, so that workers never meet.
	mem    *cvae.Memory
	mu, sd []float32 // [N][others][Dim], zero for those who left and beyond the gate
}

// inferSeqs is how many sequences are inferred at a time.
const inferSeqs = 32

func newLatent(h *HOP, m Models, key rng.Key) (*latent, error) {
	c, err := newCoder(h, m, key)
	if err != nil {
		return nil, err
	}
	w := &latent{coder: c, infer: m.CVAE, params: m.Infer.Clone(), seqs: m.CVAE.Work(inferSeqs * h.spec.Horizon)}
	if slices.Contains(h.cfg.Train, "cvae") {
		cfg := cvae.DefaultLearn()
		cfg.LR, cfg.Mix = h.cfg.Rate, 0
		if w.teach, err = cvae.NewLearner(m.CVAE, w.params, cfg, h.spec.Horizon, unending, key.Child("cvae")); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *latent) hypotheses() int { return 1 }
func (w *latent) width() int      { return w.infer.Dim }

func (w *latent) remember(envs int) {
	n := envs * len(w.h.others)
	w.mem = w.infer.Memory(n)
	w.mu, w.sd = make([]float32, n*w.infer.Dim), make([]float32, n*w.infer.Dim)
}

// at returns what is inferred about co-player j of env n: mean and standard
// deviation, views.
func (w *latent) at(n, j int) (mu, sd []float32) {
	d := w.infer.Dim
	i := (n*len(w.h.others) + j) * d
	return w.mu[i : i+d], w.sd[i : i+d]
}

// label gives a step the code of the state that its selector chose, or the code
// that is inferred from the history up to it: the chosen one with a probability
// that falls from 1 to 0 over a share of the run (Planning.Mix).
func (w *latent) label(g []float32, ro *batch.Rollout, paths []path, share float64, r *rng.Rand) ([]agent.Stat, error) {
	d := w.infer.Dim
	states, chosen := w.states(ro, paths), w.choose(ro, paths)
	mu, logvar := make([]float32, 0, len(g)), make([]float32, 0, len(g))
	w.encode(states, func(ws *vae.Work, _ int) {
		n := ws.X.Rows() * d
		mu, logvar = append(mu, ws.Mu[:n]...), append(logvar, ws.LogVar[:n]...)
	})
	s := w.histories(ro, paths)
	for _, to := range chosen {
		s.Mu, s.LogVar = append(s.Mu, mu[to*d:(to+1)*d]...), append(s.LogVar, logvar[to*d:(to+1)*d]...)
	}
	stats := []agent.Stat{w.inferred(g, s, r)}
	mix := 0.
	if w.h.cfg.Mix > 0 {
		mix = max(0, 1-share/w.h.cfg.Mix)
	}
	for row := range chosen {
		if r.Float64() < mix {
			at := row * d
			sample(g[at:at+d], s.Mu[at:at+d], s.LogVar[at:at+d], r)
		}
	}
	w.close(g, ro, paths)
	w.count(ro, paths)
	if w.teach != nil && w.h.cfg.Infer > 0 {
		more, err := w.practise(s, r)
		if err != nil {
			return nil, err
		}
		stats = append(stats, more...)
	}
	more, err := w.learn(states, paths, r)
	return append(stats, more...), err
}

// sample draws from a normal distribution.
func sample(dst, mu, logvar []float32, r *rng.Rand) {
	for i, m := range mu {
		dst[i] = m + float32(math.Exp(0.5*float64(logvar[i]))*r.Norm())
	}
}

// histories puts paths into the form of the inference.
func (w *latent) histories(ro *batch.Rollout, paths []path) *cvae.Sequences {
	s, last := w.infer.Sequences(), make([]int32, w.infer.Seats)
	for _, p := range paths {
		for t := p.lo; t < p.hi; t++ {
			obs := ro.ObsAt(ro.Slot(p.agent, t, p.env))
			w.before(last, obs)
			s.Add(obs, last)
		}
		s.End()
	}
	return s
}

// before reads the last joint action from an observation, from the observer's own
// viewpoint.
func (w *latent) before(dst []int32, obs []float32) {
	k := w.infer.Actions
	joint := obs[w.h.spec.Obs.LastAt():]
	for seat := range dst {
		dst[seat] = game.NoAction
		for a, x := range joint[seat*k : (seat+1)*k] {
			if x != 0 {
				dst[seat] = int32(a)
			}
		}
	}
}

// inferred draws into g what is inferred at every row, and returns how much of
// the chosen states' codes it explains.
func (w *latent) inferred(g []float32, s *cvae.Sequences, r *rng.Rand) agent.Stat {
	d := w.infer.Dim
	mean := make([]float64, d)
	for i, x := range s.Mu {
		mean[i%d] += float64(x) / float64(s.Rows())
	}
	square, spread := 0., 0.
	pick := make([]int, 0, inferSeqs)
	for lo := 0; lo < s.Len(); lo += inferSeqs {
		pick = pick[:0]
		for i := lo; i < min(lo+inferSeqs, s.Len()); i++ {
			pick = append(pick, i)
		}
		w.seqs.Load(s, pick)
		w.seqs.Forward(w.params)
		for n, i := range pick {
			for t := range s.Steps(i) {
				from, at := w.seqs.Row(t, n)*d, (s.Lo[i]+t)*d
				mu := w.seqs.Mu[from : from+d]
				sample(g[at:at+d], mu, w.seqs.LogVar[from:from+d], r)
				for k, want := range s.Mu[at : at+d] {
					square += float64(mu[k]-want) * float64(mu[k]-want)
					spread += (float64(want) - mean[k]) * (float64(want) - mean[k])
				}
			}
		}
	}
	return agent.Stat{Name: "goal/explained", Value: 1 - square/max(spread, 1e-12), N: s.Rows()}
}

// close makes the goals of steps beyond the gate neutral.
func (w *latent) close(g []float32, ro *batch.Rollout, paths []path) {
	if w.gate.Distance < 0 {
		return
	}
	row, d := 0, w.infer.Dim
	for _, p := range paths {
		for t := p.lo; t < p.hi; t++ {
			w.gate.Apply(g[row*d:(row+1)*d], ro.ObsAt(ro.Slot(p.agent, t, p.env)))
			row++
		}
	}
}

// practise lets the inference learn from the histories.
func (w *latent) practise(s *cvae.Sequences, r *rng.Rand) ([]agent.Stat, error) {
	order, batch := make([]int, s.Len()), cvae.DefaultLearn().Batch
	var sum cvae.Terms
	for range w.h.cfg.Infer {
		w.teach.Order(order, s, r)
		for lo := 0; lo < len(order); lo += batch {
			t, err := w.teach.Step(s, order[lo:min(lo+batch, len(order))])
			if err != nil {
				return nil, err
			}
			sum = sum.Plus(t)
		}
	}
	return []agent.Stat{
		{Name: "cvae/kl", Value: sum.KL.Mean(), N: s.Rows()},
		{Name: "cvae/feature", Value: sum.Feature.Mean(), N: s.Rows()},
	}, nil
}

func (w *latent) save(f *safetensors.File, prefix string) error {
	w.coder.save(f, prefix)
	if w.teach != nil {
		w.teach.Save(f, prefix+"cvae/")
	} else {
		w.params.Save(f, prefix+"cvae/model/")
	}
	w.mem.Save(f, prefix+"memory/")
	return nil
}

func (w *latent) load(f *safetensors.File, prefix string, alone bool) error {
	if err := w.coder.load(f, prefix, alone); err != nil {
		return err
	}
	if alone {
		return w.params.Load(f, prefix+"cvae/model/")
	}
	var err error
	if w.teach != nil {
		err = w.teach.Load(f, prefix+"cvae/")
	} else {
		err = w.params.Load(f, prefix+"cvae/model/")
	}
	if err != nil {
		return err
	}
	return w.mem.Load(f, prefix+"memory/")
}

// guess returns a worker's part.
func (w *latent) guess(envs, trees int) guess {
	n, others := envs*trees, len(w.h.others)
	return &latentGuess{
		latent: w, teller: w.teller(), work: w.infer.Work(envs * others), places: make([]int, 0, envs*others), last: make([]int32, w.infer.Seats),
		z: make([]float32, n*others*w.infer.Dim), bots: make([]int32, n*others), next: firstName,
	}
}

// firstName leaves room for the hypotheses' own numbers.
const firstName = 16

// latentGuess infers, draws and names points for one worker.
type latentGuess struct {
	*latent
	teller teller
	work   *cvae.Work
	places []int
	last   []int32   // [seats]
	z      []float32 // [trees][others][Dim] drawn
	bots   []int32   // [trees][others] the goal that z leads to
	next   int32     // the next point's name
}

// watch forgets what was remembered when an episode starts and advances what is
// remembered of the living co-players; who left wants nothing. It reports that
// names start anew.
func (g *latentGuess) watch(v *rollout.View, envs []int32) (anew bool) {
	g.work.Reset()
	g.places = g.places[:0]
	for _, n := range envs {
		fresh := v.Start[v.Moment(v.T, int(n))]
		for j, a := range g.h.others {
			place, slot := int(n)*len(g.h.others)+j, v.Slot(a, v.T, int(n))
			if fresh {
				g.mem.Forget(g.infer, place)
			}
			if !v.Alive[slot] {
				mu, sd := g.at(int(n), j)
				clear(mu)
				clear(sd)
				continue
			}
			g.before(g.last, v.ObsAt(slot))
			g.work.Add(v.ObsAt(slot), g.last)
			g.places = append(g.places, place)
		}
	}
	if len(g.places) > 0 {
		g.work.Infer(g.params, g.mem, g.places)
	}
	d, others := g.infer.Dim, len(g.h.others)
	for i, place := range g.places {
		n, j := place/others, place%others
		mu, sd := g.at(n, j)
		copy(mu, g.work.Mu[i*d:(i+1)*d])
		for k, x := range g.work.LogVar[i*d : (i+1)*d] {
			sd[k] = float32(math.Exp(0.5 * float64(x)))
		}
		if !g.gate.Apply(mu, v.ObsAt(v.Slot(g.h.others[j], v.T, n))) {
			clear(sd)
		}
	}
	if g.next > math.MaxInt32/2 {
		g.next, anew = firstName, true
	}
	return anew
}

func (g *latentGuess) now(n, j, _ int) []float32 {
	mu, _ := g.at(n, j)
	return mu
}

// draw draws a point from what is inferred. No two draws have one name.
func (g *latentGuess) draw(tree int32, n, j int, _ int32, r *rng.Rand) int32 {
	z := g.drawn(tree, j, 0)
	mu, sd := g.at(n, j)
	for k, m := range mu {
		z[k] = m + float32(g.h.cfg.Spread)*sd[k]*float32(r.Norm())
	}
	if g.h.cfg.Casts() {
		g.bots[int(tree)*len(g.h.others)+j] = g.teller.lead(z, r)
	}
	g.next++
	return g.next - 1
}

func (g *latentGuess) drawn(tree int32, j int, _ int32) []float32 {
	d := g.infer.Dim
	at := (int(tree)*len(g.h.others) + j) * d
	return g.z[at : at+d]
}

func (g *latentGuess) bot(tree int32, j int, _ int32) int32 {
	return g.bots[int(tree)*len(g.h.others)+j]
}

// over counts whether the others seemed to act at random, if beliefs are counted.
func (g *latentGuess) over(_ *rollout.View, n int) {
	for j := range g.h.others {
		g.h.belief[n].Over(0, j, game.NoGoal)
	}
}

var (
	_ wants = (*latent)(nil)
	_ guess = (*latentGuess)(nil)
)
