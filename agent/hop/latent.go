package hop

import (
	"math"
	"slices"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/model/cvae"
	"github.com/hop-marl/hop/model/vae"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

// latent is the goals of HOP+ with types: points z, inferred from a co-player's history within
// the episode as a normal distribution, or, if the VAE's goals are discrete, as the
// probabilities of their classes; what z is, each tree draws for itself.
// There is a hypothesis for each type of co-player in the population: that it is of this
// type and after z. Its features are z, then the type, one-hot.
type latent struct {
	cfg     Goals
	sees    *visible
	others  *others // by whom steps are labelled with types
	codes   *codes
	types   []int32   // [hypotheses] each type's number in the population; none: there is one hypothesis, z
	reached []float32 // [types][goals] how often agents of a type reached each goal; nil: not known
	model   *cvae.Model
	params  *nn.Params
	learner *cvae.Learner // nil: the weights stay as they are
	seqs    *cvae.Work
	history *cvae.Sequences // what was labelled last

	x   *Inferred    // by env and co-player, so that workers never meet; zeros for those of whom nothing is inferred
	mem *cvae.Memory // [N][others]
}

// inferSeqs is how many sequences are inferred at a time.
const inferSeqs = 32

func newLatent(m *Mind, c *codes, key rng.Key) (*latent, error) {
	model, horizon := m.models.CVAE, m.sees.spec.Horizon
	c.gate.Distance = m.cfg.Goals.Gate
	w := &latent{
		cfg: m.cfg.Goals, sees: m.sees, others: m.others, codes: c, types: m.population.types, reached: m.models.Reached,
		model: model, params: m.models.Infer.Clone(), seqs: model.Work(inferSeqs * horizon),
	}
	if w.cfg.CVAEPasses > 0 {
		cfg := cvae.DefaultLearn()
		cfg.LR, cfg.Mix = w.cfg.Rate, 0
		var err error
		if w.learner, err = cvae.NewLearner(model, w.params, cfg, horizon, unending, key.Child("cvae")); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// features returns how many numbers say what a co-player is after.
func (w *latent) features() int { return w.model.Dim + len(w.types) }

// write writes the features of point z of type g; -1: of none.
func (w *latent) write(dst, z []float32, g int) {
	clear(dst)
	copy(dst, z)
	if g >= 0 && len(w.types) > 0 {
		dst[w.model.Dim+g] = 1
	}
}

// Remember forgets every co-player.
func (w *latent) Remember(x *Inferred, envs int) {
	n := envs * len(w.sees.others)
	w.x, w.mem = x, w.model.Memory(n)
	x.Open, x.Mean, x.Spread = make([]bool, n), make([]float32, n*w.model.Dim), make([]float32, n*w.model.Dim)
	x.Counts, x.Alike, x.Last = ByInference, NoTwoDraws, make([]int32, n)
	x.fit(n, max(1, len(w.types)), w.features())
	for at := range x.Last {
		x.Last[at] = game.NoGoal // nothing is known in the end but what evidence tells
		w.hold(at)
	}
}

// hold writes the features of all hypotheses on the co-player at a place.
func (w *latent) hold(at int) {
	mean, _ := w.x.point(at, w.model.Dim)
	for g := range max(1, len(w.types)) {
		w.write(w.x.of(at, g), mean, g)
	}
}

// Apart returns a copy on the same networks.
func (w *latent) Apart() GoalModel { c := *w; return &c }

// Trajectories returns whole episodes.
func (w *latent) Trajectories(ro *batch.Rollout) []trajectory { return w.sees.episodes(ro, false) }

// Label gives a step the code of its subgoal, or the code that is inferred from
// the history up to it: the former with a probability that falls from 1 to 0 over
// a share of the run (Goals.Mix).
func (w *latent) Label(dst []float32, ro *batch.Rollout, list []trajectory, share float64, r *rng.Rand) []agent.Stat {
	d, width := w.model.Dim, w.features()
	states, chosen := w.codes.read(ro, list), w.codes.subgoals(ro, list)
	size := len(dst) / width * d
	mu, logvar, z := make([]float32, size), make([]float32, size), make([]float32, size)
	w.codes.encode(states, func(ws *vae.Work, first int) {
		ws.Mean()
		lo, hi := first*d, (first+ws.X.Rows())*d
		copy(mu[lo:hi], ws.Z)
		copy(logvar[lo:hi], ws.LogVar) // of discrete goals there is none
	})
	s, open := w.histories(ro, list)
	for row, to := range chosen {
		if open[row] {
			s.Mu, s.LogVar = append(s.Mu, mu[to*d:(to+1)*d]...), append(s.LogVar, logvar[to*d:(to+1)*d]...)
		}
	}
	stats := w.inferred(z, s, r)
	mix, at := 0., 0
	if w.cfg.Mix > 0 {
		mix = max(0, 1-share/w.cfg.Mix)
	}
	for row := range chosen {
		goal := dst[row*width : (row+1)*width]
		if w.write(goal, nil, -1); !open[row] {
			continue
		}
		if r.Float64() < mix {
			w.model.Draw(z[at:at+d], s.Mu[at:at+d], s.LogVar[at:at+d], 1, r)
		}
		copy(goal, z[at:at+d])
		at += d
	}
	w.labelTypes(dst, ro, list, r)
	w.codes.count(ro, list)
	w.history = s
	return stats
}

// histories puts what the gate lets be inferred from into the form of the inference:
// the steps of trajectories at which it is open, which they are.
func (w *latent) histories(ro *batch.Rollout, list []trajectory) (s *cvae.Sequences, open []bool) {
	s, last := w.model.Sequences(), make([]int32, w.model.Seats)
	for _, p := range list {
		before := s.Rows()
		for t := p.lo; t < p.hi; t++ {
			obs := w.sees.obs(nil, ro, p.agent, t, p.env)
			if open = append(open, w.codes.gate.Open(obs)); open[len(open)-1] {
				w.lastJoint(last, obs)
				s.Add(obs, last)
			}
		}
		if s.Rows() > before {
			s.End()
		}
	}
	return s, open
}

// lastJoint reads the last joint action from an observation, from the observer's
// own viewpoint.
func (w *latent) lastJoint(dst []int32, obs []float32) {
	for place := range dst {
		dst[place] = w.sees.spec.Obs.LastOf(obs, place, w.model.Actions)
	}
}

// inferred draws into dst what is inferred at every row, and returns how much of
// the subgoals' codes it explains and, of discrete goals, how far it is from them.
func (w *latent) inferred(dst []float32, s *cvae.Sequences, r *rng.Rand) []agent.Stat {
	d := w.model.Dim
	mean := make([]float64, d)
	for i, x := range s.Mu {
		mean[i%d] += float64(x) / float64(s.Rows())
	}
	square, spread, ce := 0., 0., 0.
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
				w.model.Draw(dst[at:at+d], mu, w.seqs.LogVar[from:from+d], 1, r)
				if w.model.Classes > 0 {
					ce += w.model.KL(mu, s.Mu[at:at+d]) / float64(s.Rows())
				}
				for k, want := range s.Mu[at : at+d] {
					square += float64(mu[k]-want) * float64(mu[k]-want)
					spread += (float64(want) - mean[k]) * (float64(want) - mean[k])
				}
			}
		}
	}
	stats := []agent.Stat{{Name: "goal/explained", Value: 1 - square/max(spread, 1e-12), N: s.Rows()}}
	if w.model.Classes > 0 {
		stats = append(stats, agent.Stat{Name: "goal/ce", Value: ce, N: s.Rows()})
	}
	return stats
}

// labelTypes writes the type of each trajectory into the features of its steps, which
// hold their z: a draw from the posterior given all that its agent did in it. Who acted at
// random is of no type.
func (w *latent) labelTypes(dst []float32, ro *batch.Rollout, list []trajectory, r *rng.Rand) {
	n, width, row := len(w.types), w.features(), 0
	if n == 0 {
		return
	}
	h, horizon := w.others.shape.hypotheses, w.sees.spec.Horizon
	asks, posterior := w.others.predictor(horizon*n), make([]float64, h)
	probs, goal := make([]float32, horizon*h*len(w.sees.spec.Actions)), make([]float32, width)
	for _, p := range list {
		asks.hindsight(posterior, probs, ro, p, func(t, g int) []float32 {
			w.write(goal, dst[(row+t)*width:][:w.model.Dim], g)
			return goal
		})
		steps := p.hi - p.lo
		if g := int(rng.Pick(posterior, r.Float64())); g < n {
			for t := range steps {
				dst[(row+t)*width+w.model.Dim+g] = 1
			}
		}
		row += steps
	}
}

// Fit lets the inference learn from the histories that were labelled last, then
// the VAE from their states.
func (w *latent) Fit(r *rng.Rand) ([]agent.Stat, error) {
	if w.learner == nil {
		return w.codes.fit(r)
	}
	s := w.history
	order, size := make([]int, s.Len()), cvae.DefaultLearn().Batch
	var sum cvae.Terms
	for range w.cfg.CVAEPasses {
		w.learner.Order(order, s, r)
		for lo := 0; lo < len(order); lo += size {
			t, err := w.learner.Step(s, order[lo:min(lo+size, len(order))])
			if err != nil {
				return nil, err
			}
			sum = sum.Plus(t)
		}
	}
	more, err := w.codes.fit(r)
	return append([]agent.Stat{
		{Name: "cvae/kl", Value: sum.KL.Mean(), N: s.Rows()},
		{Name: "cvae/feature", Value: sum.Feature.Mean(), N: s.Rows()},
	}, more...), err
}

// Networks returns the inference, if it learns.
func (w *latent) Networks() []learner.Network {
	if w.learner == nil {
		return nil
	}
	return []learner.Network{{Name: "inference of goals", Module: "goals", Params: w.params, Sign: "cvae/kl"}}
}

func (w *latent) Save(f *safetensors.File, prefix string) {
	w.codes.save(f, prefix)
	if w.learner != nil {
		w.learner.Save(f, prefix+"cvae/")
	} else {
		w.params.Save(f, prefix+"cvae/model/")
	}
	w.mem.Save(f, prefix+"memory/")
}

func (w *latent) Load(f *safetensors.File, prefix string, weights bool) error {
	err := w.codes.load(f, prefix, weights)
	switch {
	case err != nil:
	case w.learner != nil && !weights:
		err = w.learner.Load(f, prefix+"cvae/")
	default:
		err = w.params.Load(f, prefix+"cvae/model/")
	}
	if err != nil || weights {
		return err
	}
	return w.mem.Load(f, prefix+"memory/")
}

// Inference returns a worker's part.
func (w *latent) Inference(envs int) Inference {
	rows := envs * len(w.sees.others)
	return &latentInference{
		w: w, outcomes: w.codes.outcomes(), work: w.model.Work(rows), places: make([]int, 0, rows),
		last: make([]int32, w.model.Seats), seen: make([]float32, w.sees.spec.Obs.Len()),
	}
}

// latentInference infers and draws points for one worker.
type latentInference struct {
	w        *latent
	outcomes outcomes
	work     *cvae.Work
	places   []int     // [rows] whose history it is, in [N][others]
	last     []int32   // [seats]
	seen     []float32 // [ObsLen] of a co-player, as the agent sees it
	cloud    cvae.Cloud
	said     []Word // of whom it spoke last
	spoke    int    // who that was, counted from 1; 0: nobody since it inferred
}

// Infer forgets what was remembered when an episode starts and advances what is
// remembered of the co-players who are there within the gate. The others cost nothing: who
// left wants nothing, and a step beyond the gate is no part of what is remembered.
func (f *latentInference) Infer(v *rollout.View, envs []int32) {
	w := f.w
	f.work.Reset()
	f.places, f.spoke = f.places[:0], 0
	for _, n := range envs {
		fresh := v.Start[v.Moment(v.T, int(n))]
		for j, a := range w.sees.others {
			at := w.sees.at(int(n), j)
			if fresh {
				w.mem.Forget(w.model, at)
			}
			there := w.sees.there(v.Rollout, a, v.T, int(n))
			if w.x.Open[at] = there && w.codes.gate.Open(w.sees.obs(f.seen, v.Rollout, a, v.T, int(n))); !w.x.Open[at] {
				f.neutral(at)
				continue
			}
			obs := w.sees.obs(f.seen, v.Rollout, a, v.T, int(n))
			w.lastJoint(f.last, obs)
			f.work.Add(obs, f.last)
			f.places = append(f.places, at)
		}
	}
	if len(f.places) > 0 {
		f.work.Infer(w.params, w.mem, f.places)
	}
	d := w.model.Dim
	for i, at := range f.places {
		mu, sd := w.x.point(at, d)
		copy(mu, f.work.Mu[i*d:(i+1)*d])
		for k, x := range f.work.LogVar[i*d : (i+1)*d] {
			sd[k] = float32(math.Exp(0.5 * float64(x)))
		}
		if w.hold(at); w.x.blind {
			f.neutral(at)
		}
	}
}

// neutral infers nothing of the co-player at a place.
func (f *latentInference) neutral(at int) {
	mu, sd := f.w.x.point(at, f.w.model.Dim)
	clear(mu)
	clear(sd)
	f.w.hold(at)
}

// Draw draws a point from what is inferred, for a co-player of type g.
func (f *latentInference) Draw(dst []float32, n, j int, g int32, r *rng.Rand) (partner int32) {
	w := f.w
	mu, sd := w.x.point(w.sees.at(n, j), w.model.Dim)
	w.write(dst, mu, int(g))
	w.model.Near(dst, mu, sd, w.cfg.Spread, r)
	if len(w.types) > 0 {
		partner = w.types[g]
	}
	return partner
}

// Explain names the goals that the inferred points lead to, by the VAE's outcome head:
// a mean over points drawn here alone, so that looking changes nothing.
func (f *latentInference) Explain(n, j, g int) []Word {
	w, at := f.w, f.w.sees.at(n, j)
	if !w.codes.leadsToGoals() {
		return []Word{{"some goal", 1}}
	}
	if w.codes.gate.Distance >= 0 && !w.x.Open[at] {
		return []Word{{"too far to tell", 1}} // beyond the gate
	}
	if f.spoke != at+1 { // once for all hypotheses
		mu, sd := w.x.point(at, w.model.Dim)
		f.cloud.Draw(w.model, mu, sd, w.cfg.Spread)
		f.said, f.spoke = f.outcomes.mean(f.cloud.Points), at+1
	}
	list := slices.Clone(f.said)
	w.weigh(list, g)
	return list
}

// weigh turns what z alone leads to into what it leads to for type g, by how often such
// agents reached each goal. What z leads to was learnt among those who were met, some of
// whom never reach a goal; so it is no more than a hint.
func (w *latent) weigh(list []Word, g int) {
	if len(w.types) == 0 || len(w.reached) != len(w.types)*len(list) {
		return
	}
	sum, reached := 0., w.reached[g*len(list):]
	for i := range list {
		list[i].Share = (list[i].Share + 0.1) * (float64(reached[i]) + 1) // who was never seen to may still
		sum += list[i].Share
	}
	for i := range list {
		list[i].Share /= max(sum, 1e-9)
	}
}
