package train

import (
	"slices"

	"hop/batch"
	"hop/game"
	"hop/ppo"
	"hop/rollout"
	"hop/stats"
)

// Adapt lets parts of the mind go on learning from a window among strangers: the
// model of others, the agent's own network, or both. Beliefs move by themselves.
func (h *HOP) Adapt(ro *batch.Rollout, shape ppo.Shape, others, own bool) error {
	if others {
		train := h.cfg.Train
		h.cfg.Train = append(slices.Clone(train), "moa")
		_, err := h.learnOthers(ro, 1)
		h.cfg.Train = train
		if err != nil {
			return err
		}
	}
	if own {
		learn := h.Brain.Distil
		if h.cfg.Own == "ppo" {
			learn = h.Brain.Learn
		}
		if _, err := learn(ro, shape, 1); err != nil {
			return err
		}
	}
	h.version++
	return nil
}

// See returns how many numbers about goals the agent's network reads.
func (h *HOP) See() int { return h.see }

// Reads is how well an agent read its co-players, by episode and by step of an
// episode. Each entry of Action is whether the likeliest action, by belief and
// model of others, was played; of Belief, the probability that the belief gave to
// the truth. Steps after the agent's last decision are not seen.
type Reads struct {
	// Truth returns which hypothesis is true of co-player j, counted without the
	// agent itself, in an episode; -1: none is.
	Truth func(episode, j int) int

	env []envReads
}

type envReads struct {
	episode        int
	step           int
	guess          []int32 // [others] what is expected of them; game.NoAction: nothing
	action, belief []stats.Acc
	steps          []stats.Acc // of belief, by step
}

// ByEpisode returns the means over envs, in the order of envs.
func (r *Reads) ByEpisode() (action, belief []stats.Acc) {
	for i := range r.env {
		action, belief = merge(action, r.env[i].action), merge(belief, r.env[i].belief)
	}
	return action, belief
}

// ByStep returns the belief's means by step of an episode.
func (r *Reads) ByStep() (belief []stats.Acc) {
	for i := range r.env {
		belief = merge(belief, r.env[i].steps)
	}
	return belief
}

func merge(dst, src []stats.Acc) []stats.Acc {
	for i, x := range src {
		if i == len(dst) {
			dst = append(dst, stats.Acc{})
		}
		dst[i].Merge(x)
	}
	return dst
}

func addAt(list []stats.Acc, i int, x float64) []stats.Acc {
	for len(list) <= i {
		list = append(list, stats.Acc{})
	}
	list[i].Add(x)
	return list
}

// Reading returns players that note in r how well the agent reads the others.
func (h *HOP) Reading(players []rollout.Player, envs int, r *Reads) []rollout.Player {
	r.env = make([]envReads, envs)
	for n := range r.env {
		r.env[n].guess = make([]int32, len(h.others))
	}
	var list []rollout.Player
	for _, p := range players {
		list = append(list, &reading{hopPlayer: p.(*hopPlayer), r: r})
	}
	return list
}

// reading is a player whose thoughts are noted.
type reading struct {
	*hopPlayer
	r *Reads
}

// Act compares what was expected with what was done, acts, and notes what is
// expected next.
func (p *reading) Act(v *rollout.View, envs []int32) {
	for _, n := range envs {
		if v.Start[v.Moment(v.T, int(n))] {
			p.r.env[n].step = 0
		} else {
			p.check(v, int(n))
		}
	}
	p.hopPlayer.Act(v, envs)
	for _, n := range envs {
		p.note(v, int(n))
	}
}

// check reads what the others did off the agent's own observation.
func (p *reading) check(v *rollout.View, n int) {
	e := &p.r.env[n]
	k := len(p.h.spec.Actions)
	last := v.ObsAt(v.SlotOf(n))[p.h.spec.Obs.LastAt():]
	for j, guess := range e.guess {
		if guess == game.NoAction {
			continue
		}
		at := (p.place(v, n, j) + 1) * k
		hit := 0.
		if last[at+int(guess)] != 0 {
			hit = 1
		}
		e.action = addAt(e.action, e.episode, hit)
	}
}

// note keeps what is expected of each co-player that is there.
func (p *reading) note(v *rollout.View, n int) {
	h, e := p.h, &p.r.env[n]
	k := len(h.spec.Actions)
	var sum [game.MaxActions]float64
	for j, a := range h.others {
		e.guess[j] = game.NoAction
		if !v.Alive[v.Slot(a, v.T, n)] {
			continue
		}
		b := h.belief[n].At(0, j)
		thinks := h.thinks[(n*len(h.others)+j)*h.goals*k:]
		clear(sum[:])
		for g, w := range b {
			for i := range k {
				sum[i] += w * float64(thinks[g*k+i])
			}
		}
		best := 0
		for i := range k {
			if sum[i] > sum[best] {
				best = i
			}
		}
		if sum[best] > 0 {
			e.guess[j] = int32(best)
		}
		if p.r.Truth == nil {
			continue
		}
		if g := p.r.Truth(e.episode, j); g >= 0 && g < len(b) {
			e.belief = addAt(e.belief, e.episode, b[g])
			e.steps = addAt(e.steps, e.step, b[g])
		}
	}
	e.step++
}

// EpisodeOver goes on to the next episode.
func (p *reading) EpisodeOver(v *rollout.View, n int) {
	p.hopPlayer.EpisodeOver(v, n)
	p.r.env[n].episode++
}

var _ rollout.Watcher = (*reading)(nil)
