package hop

import (
	"math"
	"slices"

	"hop/model/cvae"
	"hop/rng"
	"hop/rollout"
)

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
