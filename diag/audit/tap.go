package audit

import (
	"math"
	"slices"

	"hop/agent"
	"hop/batch"
	"hop/diag"
	"hop/ppo"
	"hop/rollout"
	"hop/safetensors"
	"hop/train"
)

// tap stands between the loop and a mind, counts, and at one window finds out by
// experiment what the mind learns from.
type tap struct {
	train.Mind
	u     *session
	i     int
	brain *ppo.Brain
	inner train.Mind

	first    []float32 // the network's weights before the first window
	still    map[string]bool
	windows  int // learnt from, with rows of its own
	idle     int // of those, windows in which no weight changed
	since    int // the last window in which one did
	rows     int // own alive rows of its agents, by the audit's own count
	begun    int // the learner's own count before the first window
	moaStill map[string]bool
	moaIdle  int
	moaSeen  int // windows with labelled trajectories
	lr       float64

	src   *sources
	stats statCheck
}

// probeAt is the window at which the experiments are made.
const probeAt = 2

// Players puts a recorder before each player.
func (p *tap) Players(a agent.ID, workers, envs int) ([]rollout.Player, error) {
	list, err := p.inner.Players(a, workers, envs)
	for i, q := range list {
		list[i] = &recorder{Player: q, u: p.u}
	}
	return list, err
}

// Learn counts, and lets the mind learn.
func (p *tap) Learn(ro *batch.Rollout, shape ppo.Shape, share float64) ([]agent.Stat, error) {
	own := 0
	for _, a := range p.brain.Agents {
		each(ro, a, func(_, _, step, slot int) {
			if ro.Alive[slot] && ro.Own[step] {
				own++
			}
		})
	}
	labels := 0
	if p.u.exp.Plan.On {
		labels = labelled(ro, p.brain.Agents[0], p.u.exp.Plan)
	}
	if p.u.window == probeAt {
		src, err := probe(p.inner, p.brain, ro, shape, share, p.u.spec.Obs.PlanesLen())
		if err != nil {
			return nil, err
		}
		p.src = src
	}
	if p.first == nil {
		p.begun = p.brain.RowsSeen
	}
	before := slices.Clone(p.brain.Params.W)
	var moaBefore *safetensors.File
	if p.u.exp.Plan.On {
		var err error
		if moaBefore, err = saved(p.inner); err != nil {
			return nil, err
		}
	}
	stats, err := p.inner.Learn(ro, shape, share)
	if err != nil {
		return nil, err
	}
	p.rows += own
	p.compare(before, own)
	if moaBefore != nil {
		after, err := saved(p.inner)
		if err != nil {
			return nil, err
		}
		p.compareOthers(moaBefore, after, labels)
	}
	p.stats.take(p, ro, shape, stats, own, labels)
	return stats, nil
}

// compare notes which parts of the network a window changed.
func (p *tap) compare(before []float32, own int) {
	now := p.brain.Params
	if p.first == nil {
		p.first, p.still = slices.Clone(before), map[string]bool{}
		for _, part := range now.Parts {
			p.still[part.Name] = true
		}
	}
	if own == 0 {
		return
	}
	p.windows++
	any := false
	for _, part := range now.Parts {
		lo, hi := part.Off, part.Off+part.Len
		if !slices.Equal(before[lo:hi], now.W[lo:hi]) {
			p.still[part.Name] = false
			any = true
		}
	}
	if !any {
		p.idle++
		return
	}
	p.since = p.u.window
}

// compareOthers does the same for the model of others.
func (p *tap) compareOthers(before, after *safetensors.File, labels int) {
	if p.moaStill == nil {
		p.moaStill = map[string]bool{}
	}
	if labels == 0 {
		return
	}
	p.moaSeen++
	any := false
	for _, t := range before.Tensors {
		if len(t.Name) < 8 || t.Name[:8] != "moa/net/" {
			continue
		}
		u, ok := after.Get(t.Name)
		same := ok && string(u.Data) == string(t.Data)
		if old, seen := p.moaStill[t.Name]; !seen || old {
			p.moaStill[t.Name] = same
		}
		any = any || !same
	}
	if !any {
		p.moaIdle++
	}
}

// labelled counts the steps of co-players that a model of others learns from: in
// episodes that began within the window, with hand-made goals those up to the last
// goal reached; else those of episodes that ended within it too and, if only such
// count, paid in the end.
func labelled(ro *batch.Rollout, me agent.ID, c train.Planning) int {
	count := 0
	for a := range agent.ID(ro.Agents) {
		if a == me {
			continue
		}
		for n := range ro.Envs {
			length := -1 // of the running episode; -1: it began before the window
			for t := range ro.Steps {
				if ro.Start[ro.Moment(t, n)] {
					length = 0
				}
				step, slot := ro.Step(a, t, n), ro.Slot(a, t, n)
				if length < 0 || !ro.Alive[slot] {
					continue
				}
				length++
				over := ro.End[step] == batch.Exited
				if c.Goals == "hand" && ro.Reached[step] >= 0 || c.Goals != "hand" && over && (ro.Reward[step] > 0 || !c.Rewarded) {
					count += length
					length = 0
				}
				if over {
					length = -1
				}
			}
		}
	}
	return count
}

// recorder keeps what an agent saw and did, beside what the rollout keeps.
type recorder struct {
	rollout.Player
	u *session
}

// Act lets the player act and writes down what came of it.
func (r *recorder) Act(v *rollout.View, envs []int32) {
	r.Player.Act(v, envs)
	for _, n := range envs {
		step, slot := v.StepOf(int(n)), v.SlotOf(int(n))
		d := diag.Deed{
			Acted: true, Own: v.Own[step], Action: v.Action[step], LogProb: v.LogProb[step], Value: v.Value[slot],
			Obs: diag.Print(v.ObsAt(slot)), Legal: diag.Bits(v.LegalAt(slot)),
		}
		if v.T > 0 && !v.Start[v.Moment(v.T, int(n))] {
			d.Paid, d.Reward = true, v.Reward[v.Step(v.Agent, v.T-1, int(n))]
		}
		r.u.deeds[step] = d
	}
}

// EpisodeOver passes on.
func (r *recorder) EpisodeOver(v *rollout.View, n int) {
	if w, ok := r.Player.(rollout.Watcher); ok {
		w.EpisodeOver(v, n)
	}
}

var _ rollout.Watcher = (*recorder)(nil)

// statCheck compares what a learner reports of a window with the audit's own
// arithmetic.
type statCheck struct {
	windows int
	far     float64 // largest distance of the explained share
	got     float64 // where that was
	want    float64
	wrongN  int // windows with another count of rows
	gotN    int
	wantN   int
	moaN    int // windows in which the model of others counted otherwise
	gotMoa  int
	wantMoa int
}

func (c *statCheck) take(p *tap, ro *batch.Rollout, shape ppo.Shape, stats []agent.Stat, own, labels int) {
	c.windows++
	cfg := p.u.exp.PPO
	want, varied := explained(ro, p.brain.Agents, shape, cfg.Gamma, cfg.Lambda)
	seenN := false
	for _, st := range stats {
		switch st.Name {
		case "ppo/explained", "search/explained":
			// A share far below 0 is a large ratio of two sums: compare it as one.
			if d := math.Abs(st.Value-want) / max(1, math.Abs(want)); varied && d > c.far {
				c.far, c.got, c.want = d, st.Value, want
			}
			if seenN = true; st.N != own {
				c.wrongN++
				c.gotN, c.wantN = st.N, own
			}
		case "ppo/lr", "search/lr":
			p.lr = st.Value
		case "moa/ce":
			if st.N != labels {
				c.moaN++
				c.gotMoa, c.wantMoa = st.N, labels
			}
		}
	}
	if !seenN && own > 0 {
		c.wrongN++
		c.gotN, c.wantN = 0, own
	}
}
