package hop

import (
	"math"
	"slices"

	"hop/agent"
	"hop/batch"
	"hop/belief"
	"hop/game"
	"hop/mind"
	"hop/model/cvae"
	"hop/model/vae"
	"hop/nn"
	"hop/rng"
	"hop/rollout"
	"hop/safetensors"
)

// latent is HOP+'s goals: points z, inferred from a co-player's history within
// the episode as a normal distribution, or, if the VAE's goals are discrete, as the
// probabilities of their classes; what z is, each tree draws for itself.
// There is a hypothesis for each kind of co-player in the population (kinds.go):
// that it is of this kind and after z. A goal's features are z, then the kind,
// one-hot.
type latent struct {
	*codes
	kinds   []int32 // [hypotheses] each kind's number among all of the population
	infer   *cvae.Model
	weights *nn.Params    // the inference's
	learner *cvae.Learner // nil: the weights stay as they are
	seqs    *cvae.Work
	history *cvae.Sequences // what was labelled last

	// By env and co-player, so that workers never meet.
	mem    *cvae.Memory
	open   []bool    // [N][others] the co-player is there and within the gate
	mu, sd []float32 // [N][others][Dim], zero for those who are not
}

// inferSeqs is how many sequences are inferred at a time.
const inferSeqs = 32

func newLatent(m *Mind, c *codes, key rng.Key) (*latent, error) {
	model := m.models.CVAE
	c.gate.Distance = m.cfg.Goals.Gate
	w := &latent{codes: c, kinds: kinds(m.who), infer: model, weights: m.models.Infer.Clone(), seqs: model.Work(inferSeqs * m.spec.Horizon)}
	if m.cfg.Goals.CVAEPasses > 0 {
		cfg := cvae.DefaultLearn()
		cfg.LR, cfg.Mix = m.cfg.Goals.Rate, 0
		var err error
		if w.learner, err = cvae.NewLearner(model, w.weights, cfg, m.spec.Horizon, unending, key.Child("cvae")); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *latent) Hypotheses() int { return max(1, len(w.kinds)) }
func (w *latent) Features() int   { return w.infer.Dim + len(w.kinds) }

func (w *latent) Remember(envs int) {
	n := envs * len(w.m.others)
	w.mem, w.open = w.infer.Memory(n), make([]bool, n)
	w.mu, w.sd = make([]float32, n*w.infer.Dim), make([]float32, n*w.infer.Dim)
}

// at returns what is inferred about co-player j of env n: mean and standard
// deviation, views.
func (w *latent) at(n, j int) (mu, sd []float32) {
	d := w.infer.Dim
	i := w.m.at(n, j) * d
	return w.mu[i : i+d], w.sd[i : i+d]
}

func (w *latent) Trajectories(ro *batch.Rollout) []trajectory { return w.m.episodes(ro, false) }

// Label gives a step the code of its subgoal, or the code that is inferred from
// the history up to it: the former with a probability that falls from 1 to 0 over
// a share of the run (Goals.Mix).
func (w *latent) Label(dst []float32, ro *batch.Rollout, list []trajectory, share float64, r *rng.Rand) []agent.Stat {
	d, width := w.infer.Dim, w.Features()
	states, chosen := w.read(ro, list), w.subgoals(ro, list)
	size := len(dst) / width * d
	mu, logvar, z := make([]float32, size), make([]float32, size), make([]float32, size)
	w.encode(states, func(ws *vae.Work, first int) {
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
	if w.m.cfg.Goals.Mix > 0 {
		mix = max(0, 1-share/w.m.cfg.Goals.Mix)
	}
	for row := range chosen {
		goal := dst[row*width : (row+1)*width]
		if w.write(goal, nil, -1); !open[row] {
			continue
		}
		if r.Float64() < mix {
			w.infer.Draw(z[at:at+d], s.Mu[at:at+d], s.LogVar[at:at+d], 1, r)
		}
		copy(goal, z[at:at+d])
		at += d
	}
	w.labelKinds(dst, ro, list, r)
	w.count(ro, list)
	w.history = s
	return stats
}

// histories puts what the gate lets be inferred from into the form of the inference:
// the steps of trajectories at which it is open, which they are.
func (w *latent) histories(ro *batch.Rollout, list []trajectory) (s *cvae.Sequences, open []bool) {
	s, last := w.infer.Sequences(), make([]int32, w.infer.Seats)
	for _, p := range list {
		before := s.Rows()
		for t := p.lo; t < p.hi; t++ {
			obs := w.m.sight.Obs(nil, ro, p.agent, t, p.env)
			if open = append(open, w.gate.Open(obs)); open[len(open)-1] {
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
		dst[place] = w.m.spec.Obs.LastOf(obs, place, w.infer.Actions)
	}
}

// inferred draws into dst what is inferred at every row, and returns how much of
// the subgoals' codes it explains and, of discrete goals, how far it is from them.
func (w *latent) inferred(dst []float32, s *cvae.Sequences, r *rng.Rand) []agent.Stat {
	d := w.infer.Dim
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
		w.seqs.Forward(w.weights)
		for n, i := range pick {
			for t := range s.Steps(i) {
				from, at := w.seqs.Row(t, n)*d, (s.Lo[i]+t)*d
				mu := w.seqs.Mu[from : from+d]
				w.infer.Draw(dst[at:at+d], mu, w.seqs.LogVar[from:from+d], 1, r)
				if w.infer.Classes > 0 {
					ce += w.infer.KL(mu, s.Mu[at:at+d]) / float64(s.Rows())
				}
				for k, want := range s.Mu[at : at+d] {
					square += float64(mu[k]-want) * float64(mu[k]-want)
					spread += (float64(want) - mean[k]) * (float64(want) - mean[k])
				}
			}
		}
	}
	stats := []agent.Stat{{Name: "goal/explained", Value: 1 - square/max(spread, 1e-12), N: s.Rows()}}
	if w.infer.Classes > 0 {
		stats = append(stats, agent.Stat{Name: "goal/ce", Value: ce, N: s.Rows()})
	}
	return stats
}

// Fit lets the inference learn from the histories that were labelled last, then
// the VAE from their states.
func (w *latent) Fit(r *rng.Rand) ([]agent.Stat, error) {
	if w.learner == nil {
		return w.codes.Fit(r)
	}
	s := w.history
	order, size := make([]int, s.Len()), cvae.DefaultLearn().Batch
	var sum cvae.Terms
	for range w.m.cfg.Goals.CVAEPasses {
		w.learner.Order(order, s, r)
		for lo := 0; lo < len(order); lo += size {
			t, err := w.learner.Step(s, order[lo:min(lo+size, len(order))])
			if err != nil {
				return nil, err
			}
			sum = sum.Plus(t)
		}
	}
	more, err := w.codes.Fit(r)
	return append([]agent.Stat{
		{Name: "cvae/kl", Value: sum.KL.Mean(), N: s.Rows()},
		{Name: "cvae/feature", Value: sum.Feature.Mean(), N: s.Rows()},
	}, more...), err
}

// Networks returns the inference, if it learns.
func (w *latent) Networks() []mind.Network {
	if w.learner == nil {
		return nil
	}
	return []mind.Network{{Name: "inference of goals", Module: "goals", Params: w.weights, Sign: "cvae/kl"}}
}

func (w *latent) save(f *safetensors.File, prefix string) {
	w.codes.save(f, prefix)
	if w.learner != nil {
		w.learner.Save(f, prefix+"cvae/")
	} else {
		w.weights.Save(f, prefix+"cvae/model/")
	}
	w.mem.Save(f, prefix+"memory/")
}

func (w *latent) load(f *safetensors.File, prefix string, weights bool) error {
	if err := w.codes.load(f, prefix, weights); err != nil {
		return err
	}
	if weights {
		return w.weights.Load(f, prefix+"cvae/model/")
	}
	var err error
	if w.learner != nil {
		err = w.learner.Load(f, prefix+"cvae/")
	} else {
		err = w.weights.Load(f, prefix+"cvae/model/")
	}
	if err != nil {
		return err
	}
	return w.mem.Load(f, prefix+"memory/")
}

// Inference returns a worker's part.
func (w *latent) Inference(envs, trees int) Inference {
	n, others := envs*trees, len(w.m.others)
	return &latentInference{
		latent: w, outcomes: w.outcomes(), work: w.infer.Work(envs * others), places: make([]int, 0, envs*others),
		last: make([]int32, w.infer.Seats), z: make([]float32, n*others*w.Features()), kind: make([]int32, n*others), next: firstName,
		goal: make([]float32, w.Features()), seen: make([]float32, w.m.spec.Obs.Len()),
	}
}

// firstName leaves room for the hypotheses' own numbers: kinds are counted in bytes.
const firstName = 256

// latentInference infers, draws and names points for one worker.
type latentInference struct {
	*latent
	outcomes outcomes
	work     *cvae.Work
	places   []int
	last     []int32   // [seats]
	z        []float32 // [trees][others][Features] drawn
	kind     []int32   // [trees][others] whom, of all of the population
	goal     []float32 // [Features] of a hypothesis
	seen     []float32 // [ObsLen] of a co-player, as the agent sees it
	next     int32     // the next point's name
	renamed  bool
	cloud    cvae.Cloud
	said     []Word // of whom it spoke last
	spoke    int    // who that was, counted from 1; 0: nobody since it observed
}

// Observe forgets what was remembered when an episode starts and advances what is
// remembered of the living co-players within the gate. The others cost nothing: who
// left wants nothing, and a step beyond the gate is no part of what is remembered.
func (f *latentInference) Observe(v *rollout.View, envs []int32) {
	f.work.Reset()
	f.places, f.spoke = f.places[:0], 0
	for _, n := range envs {
		fresh := v.Start[v.Moment(v.T, int(n))]
		for j, a := range f.m.others {
			at := f.m.at(int(n), j)
			if fresh {
				f.mem.Forget(f.infer, at)
			}
			there := f.m.sight.There(v.Rollout, a, v.T, int(n))
			if f.open[at] = there && f.gate.Open(f.m.sight.Obs(f.seen, v.Rollout, a, v.T, int(n))); !f.open[at] {
				mu, sd := f.at(int(n), j)
				clear(mu)
				clear(sd)
				continue
			}
			obs := f.m.sight.Obs(f.seen, v.Rollout, a, v.T, int(n))
			f.lastJoint(f.last, obs)
			f.work.Add(obs, f.last)
			f.places = append(f.places, at)
		}
	}
	if len(f.places) > 0 {
		f.work.Infer(f.weights, f.mem, f.places)
	}
	d, others := f.infer.Dim, len(f.m.others)
	for i, at := range f.places {
		n, j := at/others, at%others
		mu, sd := f.at(n, j)
		copy(mu, f.work.Mu[i*d:(i+1)*d])
		for k, x := range f.work.LogVar[i*d : (i+1)*d] {
			sd[k] = float32(math.Exp(0.5 * float64(x)))
		}
		if f.m.truth.blind {
			clear(mu)
			clear(sd)
		}
	}
	if f.next > math.MaxInt32/2 {
		f.next, f.renamed = firstName, true
	}
}

func (f *latentInference) Open(n, j int) bool { return f.open[f.m.at(n, j)] }

func (f *latentInference) Renamed() bool {
	was := f.renamed
	f.renamed = false
	return was
}

func (f *latentInference) Goal(n, j, g int) []float32 {
	mu, _ := f.at(n, j)
	f.write(f.goal, mu, g)
	return f.goal
}

func (f *latentInference) Reached(*rollout.View, int, int) int { return game.NoGoal }

// Outcome is that nothing is known but whether a co-player seemed to act at random,
// which evidence tells.
func (f *latentInference) Outcome(*rollout.View, int, int) (goal int, counts bool) {
	return game.NoGoal, true
}

// Draw draws a point from what is inferred, for a co-player of kind g. No two
// draws have one name.
func (f *latentInference) Draw(tree int32, n, j int, g int32, r *rng.Rand) int32 {
	z := f.Drawn(tree, j, 0)
	mu, sd := f.at(n, j)
	f.write(z, mu, int(g))
	f.infer.Near(z, mu, sd, f.m.cfg.Goals.Spread, r)
	if len(f.kinds) > 0 {
		f.kind[f.m.at(int(tree), j)] = f.kinds[g]
	}
	f.next++
	return f.next - 1
}

func (f *latentInference) Drawn(tree int32, j int, _ int32) []float32 {
	d := f.Features()
	at := f.m.at(int(tree), j) * d
	return f.z[at : at+d]
}

func (f *latentInference) Partner(tree int32, j int, _ int32) int32 {
	return f.kind[f.m.at(int(tree), j)]
}

// Words are the goals that the inferred points lead to, by the VAE's outcome head:
// a mean over points drawn here alone, so that looking changes nothing.
func (f *latentInference) Words(n, j, g int) []Word {
	mu, sd := f.at(n, j)
	if !f.leadsToGoals() {
		return []Word{{"some goal", 1}}
	}
	if f.gate.Distance >= 0 && !f.open[f.m.at(n, j)] {
		return []Word{{"too far to tell", 1}} // beyond the gate
	}
	if at := f.m.at(n, j) + 1; f.spoke != at { // once for all hypotheses
		f.cloud.Draw(f.infer, mu, sd, f.m.cfg.Goals.Spread)
		f.said, f.spoke = f.outcomes.mean(f.cloud.Points), at
	}
	list := slices.Clone(f.said)
	f.weigh(list, g)
	return list
}

func (f *latentInference) Believe(*belief.Beliefs, int) bool { return false }

var (
	_ GoalModel = (*latent)(nil)
	_ Inference = (*latentInference)(nil)
)
