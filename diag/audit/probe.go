package audit

import (
	"hash/fnv"
	"slices"
	"strings"

	"hop/agent"
	"hop/batch"
	"hop/diag"
	"hop/ppo"
	"hop/safetensors"
	"hop/train"
)

// rowProbes is how many single rows of an agent are changed, one at a time.
const rowProbes = 8

// sources is what one learner was found to learn from.
type sources struct {
	agents []agent.ID // whose rows it should learn from

	twice    bool      // learning twice from one checkpoint gave one result
	restored []string  // tensors that Load did not restore
	share    []float64 // [A] share of that agent's probed rows that it learns from
	probed   []int     // [A] rows probed

	// What changed the result: true is wrong in the first four, right in the others.
	dead, foreign, exits yes
	cuts, mask, obs      yes

	others yes     // model of others: changed by what co-players did
	mine   yes     // model of others: changed by the agent's own rows
	left   yes     // model of others: changed by rows of agents that had left
	fit    fitting // how well the model of others can learn one window
}

// yes is an answer that may not have been asked for.
type yes struct{ asked, is bool }

// digest is what a mind has learnt, without its counters: the own network, and
// the model of others if there is one.
type digest struct{ net, others uint64 }

// othersOf is a fingerprint of the saved model of others; 0 if there is none.
func othersOf(f *safetensors.File) uint64 {
	h, any := fnv.New64a(), false
	for _, t := range f.Tensors {
		if strings.HasPrefix(t.Name, "moa/net/") {
			h.Write(t.Data)
			any = true
		}
	}
	if !any {
		return 0
	}
	return h.Sum64()
}

// prober changes a window in one respect, lets a mind learn from it, looks
// whether that made a difference, and puts the mind back.
type prober struct {
	mind  train.Mind
	brain *ppo.Brain
	start *safetensors.File
	real  *batch.Rollout
	copy  *batch.Rollout
	shape ppo.Shape
	share float64
	base  digest
	err   error
}

// saved returns a mind's tensors.
func saved(m train.Mind) (*safetensors.File, error) {
	f := &safetensors.File{}
	return f, m.Save(f, "")
}

// learn lets the mind learn from ro and puts it back.
func (p *prober) learn(ro *batch.Rollout) (digest, []agent.Stat) {
	if p.err != nil {
		return digest{}, nil
	}
	stats, err := p.mind.Learn(ro, p.shape, p.share)
	if err != nil {
		p.err = err
		return digest{}, nil
	}
	f, err := saved(p.mind)
	if err != nil {
		p.err = err
		return digest{}, nil
	}
	d := digest{diag.Print(p.brain.Params.W), othersOf(f)}
	p.err = p.mind.Load(p.start, "")
	return d, stats
}

// changed reports whether learning from the window after edit ends elsewhere.
func (p *prober) changed(edit func(ro *batch.Rollout)) (net, others bool) {
	copyRollout(p.copy, p.real)
	edit(p.copy)
	d, _ := p.learn(p.copy)
	return d.net != p.base.net, d.others != p.base.others
}

// copyRollout makes dst, of the same shape, equal to src.
func copyRollout(dst, src *batch.Rollout) {
	copy(dst.Obs, src.Obs)
	copy(dst.Legal, src.Legal)
	copy(dst.Alive, src.Alive)
	copy(dst.Seat, src.Seat)
	copy(dst.Reward, src.Reward)
	copy(dst.End, src.End)
	copy(dst.Reached, src.Reached)
	copy(dst.Start, src.Start)
	copy(dst.Action, src.Action)
	copy(dst.LogProb, src.LogProb)
	copy(dst.Own, src.Own)
	copy(dst.Value, src.Value)
	copy(dst.Goal, src.Goal)
	copy(dst.Target, src.Target)
}

// each calls f at every step of an agent.
func each(ro *batch.Rollout, a agent.ID, f func(t, n, step, slot int)) {
	for t := range ro.Steps {
		for n := range ro.Envs {
			f(t, n, ro.Step(a, t, n), ro.Slot(a, t, n))
		}
	}
}

// another returns a legal action that is not the one played, or that one if
// there is none.
func another(legal []bool, act int32) int32 {
	for k := range legal {
		if other := int32((int(act) + 1 + k) % len(legal)); other != act && legal[other] {
			return other
		}
	}
	return act
}

// tamper changes everything about a row that a learner could read except
// whether it is alive and own. Rewards stay if the team's are legitimately read.
func tamper(ro *batch.Rollout, step, slot, planes int, rewards bool) {
	if k := ro.Action[step]; k >= 0 {
		ro.Action[step] = another(ro.LegalAt(slot), k)
	} else {
		ro.Action[step] = 0
	}
	if rewards {
		ro.Reward[step]++
	}
	ro.LogProb[step] -= 0.5
	ro.Value[slot]++
	obs := ro.ObsAt(slot)
	for i := range obs[:planes] {
		obs[i] = 1 - obs[i]
	}
	target := ro.TargetAt(step)
	clear(target)
	target[max(ro.Action[step], 0)] = 1
}

// mark changes one row in the way that matters most to a learner.
func mark(ro *batch.Rollout, step, slot int, prosocial bool) {
	if !prosocial {
		ro.Reward[step]++
		return
	}
	ro.Action[step] = another(ro.LegalAt(slot), ro.Action[step])
	target := ro.TargetAt(step)
	clear(target)
	target[ro.Action[step]] = 1
}

// probe finds out by experiment what a mind learns from.
func probe(mind train.Mind, brain *ppo.Brain, ro *batch.Rollout, shape ppo.Shape, share float64, planes int) (*sources, error) {
	src := &sources{agents: brain.Agents, share: make([]float64, ro.Agents), probed: make([]int, ro.Agents)}
	start, err := saved(mind)
	if err != nil {
		return nil, err
	}
	weights := slices.Clone(brain.Params.W)
	defer copy(brain.Params.W, weights) // whatever Load does, the run goes on from here
	p := &prober{mind: mind, brain: brain, start: start, real: ro, copy: batch.New(ro.Shape), shape: shape, share: share}
	copyRollout(p.copy, ro)
	p.base, _ = p.learn(p.copy)
	if p.err != nil {
		return nil, p.err
	}
	back, err := saved(mind)
	if err != nil {
		return nil, err
	}
	src.restored = unlike(start, back)
	if !slices.Equal(weights, brain.Params.W) {
		src.restored = append(src.restored, "net")
	}
	copyRollout(p.copy, ro)
	again, _ := p.learn(p.copy)
	src.twice = again == p.base
	if !src.twice || len(src.restored) > 0 {
		return src, p.err // every experiment would start elsewhere
	}
	p.rows(src, planes)
	p.places(src, planes)
	if othersOf(start) != 0 {
		p.modelled(src)
	}
	return src, p.err
}

// rows asks of every agent whether its rows matter, all at once and one by one.
func (p *prober) rows(src *sources, planes int) {
	team := p.shape.Prosocial != 0
	for b := range agent.ID(p.real.Agents) {
		var own [][2]int
		each(p.real, b, func(_, _, step, slot int) {
			if p.real.Alive[slot] && p.real.Own[step] {
				own = append(own, [2]int{step, slot})
			}
		})
		if len(own) == 0 {
			continue
		}
		mine := contains(src.agents, b)
		if !mine {
			if net, _ := p.changed(func(ro *batch.Rollout) {
				for _, r := range own {
					tamper(ro, r[0], r[1], 0, !team)
				}
			}); !net {
				src.probed[b] = len(own)
				continue
			}
		}
		hits := 0
		n := min(rowProbes, len(own))
		for i := range n {
			r := own[(2*i+1)*len(own)/(2*n)]
			if net, _ := p.changed(func(ro *batch.Rollout) { mark(ro, r[0], r[1], team) }); net {
				hits++
			}
		}
		src.share[b], src.probed[b] = float64(hits)/float64(n), n
	}
	for _, a := range src.agents {
		src.obs.asked = src.obs.asked || planes > 0 && src.probed[a] > 0
	}
	if src.obs.asked {
		src.obs.is, _ = p.changed(func(ro *batch.Rollout) {
			for _, a := range src.agents {
				each(ro, a, func(_, _, step, slot int) {
					if ro.Alive[slot] && ro.Own[step] {
						obs := ro.ObsAt(slot)
						for i := range obs[:planes] {
							obs[i] = 1 - obs[i]
						}
					}
				})
			}
		})
	}
}

// places asks about rows and slots that must, or must not, matter.
func (p *prober) places(src *sources, planes int) {
	real, team := p.real, p.shape.Prosocial != 0
	ask := func(y *yes, want func(t, n, step, slot int) bool, edit func(ro *batch.Rollout, t, n int, a agent.ID, step, slot int)) {
		type place struct {
			t, n, step, slot int
			a                agent.ID
		}
		var at []place
		for _, a := range src.agents {
			each(real, a, func(t, n, step, slot int) {
				if want(t, n, step, slot) {
					at = append(at, place{t, n, step, slot, a})
				}
			})
		}
		if len(at) == 0 {
			return
		}
		y.asked = true
		y.is, _ = p.changed(func(ro *batch.Rollout) {
			for _, q := range at {
				edit(ro, q.t, q.n, q.a, q.step, q.slot)
			}
		})
	}
	cutBefore := func(a agent.ID, t, n int) bool { return t > 0 && real.End[real.Step(a, t-1, n)] == batch.Cut }
	ask(&src.dead, func(_, _, _, slot int) bool { return !real.Alive[slot] }, func(ro *batch.Rollout, t, n int, a agent.ID, step, slot int) {
		value := ro.Value[slot]
		tamper(ro, step, slot, planes, !team)
		if cutBefore(a, t, n) {
			ro.Value[slot] = value
		}
	})
	ask(&src.foreign, func(_, _, step, slot int) bool { return real.Alive[slot] && !real.Own[step] }, func(ro *batch.Rollout, _, _ int, _ agent.ID, step, slot int) {
		tamper(ro, step, slot, planes, !team)
	})
	next := func(ro *batch.Rollout, t, n int, a agent.ID) *float32 { return &ro.Value[ro.Slot(a, t+1, n)] }
	ask(&src.exits, func(_, _, step, slot int) bool {
		return real.Alive[slot] && real.Own[step] && real.End[step] == batch.Exited
	}, func(ro *batch.Rollout, t, n int, a agent.ID, _, _ int) {
		*next(ro, t, n, a) += 3
	})
	ask(&src.cuts, func(_, _, step, slot int) bool {
		return real.Alive[slot] && real.Own[step] && real.End[step] == batch.Cut
	}, func(ro *batch.Rollout, t, n int, a agent.ID, _, _ int) {
		*next(ro, t, n, a) += 3
	})
	ask(&src.mask, func(_, _, step, slot int) bool {
		illegal := false
		for _, ok := range real.LegalAt(slot) {
			illegal = illegal || !ok
		}
		return illegal && real.Alive[slot] && real.Own[step]
	}, func(ro *batch.Rollout, _, _ int, _ agent.ID, _, slot int) {
		legal := ro.LegalAt(slot)
		for k := range legal {
			legal[k] = true
		}
	})
}

// modelled asks what the model of others learns from.
func (p *prober) modelled(src *sources) {
	me := src.agents[0]
	ask := func(y *yes, want func(a agent.ID, step, slot int) bool, edit func(ro *batch.Rollout, step, slot int)) {
		asked := false
		var is bool
		_, is = p.changed(func(ro *batch.Rollout) {
			for a := range agent.ID(ro.Agents) {
				each(p.real, a, func(_, _, step, slot int) {
					if want(a, step, slot) {
						asked = true
						edit(ro, step, slot)
					}
				})
			}
		})
		y.asked, y.is = asked, is && asked
	}
	flip := func(ro *batch.Rollout, step, slot int) {
		if ro.Action[step] >= 0 {
			ro.Action[step] = another(ro.LegalAt(slot), ro.Action[step])
		} else {
			ro.Action[step] = 0
		}
	}
	ask(&src.others, func(a agent.ID, step, slot int) bool { return a != me && p.real.Alive[slot] }, flip)
	ask(&src.mine, func(a agent.ID, step, slot int) bool { return a == me && p.real.Alive[slot] }, flip)
	ask(&src.left, func(a agent.ID, step, slot int) bool { return a != me && !p.real.Alive[slot] }, flip)
	src.fit = p.fitted()
}

// fitting is what repeated learning from one window came to.
type fitting struct {
	asked       bool
	first, last float64 // cross-entropy before and after
	rows        int
}

// fitRounds is how often the model of others learns one window.
const fitRounds = 40

// fitted lets the model of others learn the same window again and again.
func (p *prober) fitted() (f fitting) {
	if p.err != nil {
		return f
	}
	for i := range fitRounds {
		copyRollout(p.copy, p.real)
		stats, err := p.mind.Learn(p.copy, p.shape, p.share)
		if err != nil {
			p.err = err
			return f
		}
		for _, st := range stats {
			if st.Name == "moa/ce" {
				if f.asked = true; i == 0 {
					f.first = st.Value
				}
				f.last, f.rows = st.Value, st.N
			}
		}
	}
	p.err = p.mind.Load(p.start, "")
	return f
}

// unlike returns the names of tensors that differ or are missing.
func unlike(a, b *safetensors.File) []string {
	var out []string
	for _, t := range a.Tensors {
		u, ok := b.Get(t.Name)
		if !ok || string(u.Data) != string(t.Data) {
			out = append(out, t.Name)
		}
	}
	return out
}

func contains(list []agent.ID, a agent.ID) bool {
	for _, b := range list {
		if a == b {
			return true
		}
	}
	return false
}
