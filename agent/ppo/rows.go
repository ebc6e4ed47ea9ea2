package ppo

import (
	"slices"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
)

// rows are the alive rows of a window, gathered.
type rows struct {
	action            []int32
	vector            []float32 // [rows][Actions] where actions are vectors
	logp, value       []float32
	adv, ret          []float32
	legal             []bool // [rows][Actions]
	begins            []bool // the row is a trial's first
	steps, slots, src []int32
	target            nn.Probs // [rows][Actions] the search's policy, to learn from a search
	real              int      // how many come first that were played; the others are imagined
}

// collect appends agent a's own rows; their advantages begin at lo.
// Workers fill a part each; the parts' rows are then put one after the other.
func (b *Brain) collect(ro *batch.Rollout, u *Update, a agent.ID, lo int) {
	r, first := &b.rows, len(b.rows.steps)
	r.steps, r.slots = ro.OwnRows(a, r.steps, r.slots)
	r.grow(len(r.steps), b.Model.Input, u.Search)
	encoders, n := b.encoders(u.Cores), len(r.steps)-first
	parts := min(len(encoders), n/minRows)
	if parts <= 1 {
		b.fill(&b.x, encoders[0], ro, u, a, lo, first, first+n)
		b.columns.Cut(&b.x)
		return
	}
	for len(b.parts) < parts {
		b.parts = append(b.parts, f32.Sparse{})
	}
	u.Cores.Do(&b.gathering, parts, func(i int) {
		x := &b.parts[i]
		b.columns.Reset(x, b.x.Cols)
		b.fill(x, encoders[i], ro, u, a, lo, first+i*n/parts, first+(i+1)*n/parts)
		b.columns.Cut(x)
	})
	u.Cores.Do(&b.joining, 1+len(b.x.Cuts), func(k int) {
		for i := range b.parts[:parts] {
			side(&b.x, k).Append(side(&b.parts[i], k))
		}
	})
}

// encoders returns whose memory rows are encoded in, one a worker.
func (b *Brain) encoders(pool *cores.Pool) []*actor.Work {
	if len(b.encode) == 0 {
		for _, w := range b.trainer.Works {
			b.encode = append(b.encode, w.ws)
		}
	}
	for len(b.encode) < pool.Workers() {
		b.encode = append(b.encode, b.Model.Work(1))
	}
	return b.encode[:pool.Workers()]
}

// side returns the k-th of what is cut: 0 for the rows themselves, and 1 on for their cuts.
func side(x *f32.Sparse, k int) *f32.Sparse {
	if k == 0 {
		return x
	}
	return &x.Cuts[k-1]
}

// minRows is how many rows a part must have for others to help.
const minRows = 64

// fill fills the rows from from to before to, and appends their encodings to x.
func (b *Brain) fill(x *f32.Sparse, ws *actor.Work, ro *batch.Rollout, u *Update, a agent.ID, lo, from, to int) {
	r, k := &b.rows, b.Model.Actions
	step0, slot0 := ro.Step(a, 0, 0), ro.Slot(a, 0, 0)
	for i := from; i < to; i++ {
		step, slot := int(r.steps[i]), int(r.slots[i])
		at := lo + step - step0
		goal := ro.GoalAt(slot)
		if u.Goal != nil {
			goal = u.Goal[(slot-slot0)*ro.GoalLen:][:ro.GoalLen]
		}
		goal = goal[:min(b.Model.Extra, ro.GoalLen)] // one that reads no goals may learn among those that do
		r.src[i], r.action[i], r.logp[i], r.value[i] = int32(at), ro.Action[step], ro.LogProb[step], ro.Value[slot]
		r.adv[i], r.ret[i] = b.adv[at], b.ret[at]
		copy(r.legal[i*k:(i+1)*k], ro.LegalAt(slot))
		copy(r.vectorAt(int32(i), k), ro.VectorAt(step))
		r.begins[i] = b.beginning(goal)
		if u.Search {
			copy(r.target[i*k:(i+1)*k], ro.TargetAt(step))
		}
		if row := ro.Row[step]; row > 0 && u.Played && ro == u.Rollout {
			x.AppendFrom(ro.EncodedOf(a, (step-step0)%ro.Envs), int(row)-1)
			continue
		}
		ws.Encode(x, ro.ObsAt(slot), goal)
	}
}

// grow makes room for n rows, with a search's policy where that is learnt from.
func (r *rows) grow(n int, in actor.Input, search bool) {
	actions := in.Actions
	r.src, r.action = sized(r.src, n), sized(r.action, n)
	r.logp, r.value, r.adv, r.ret = sized(r.logp, n), sized(r.value, n), sized(r.adv, n), sized(r.ret, n)
	r.legal, r.begins = sized(r.legal, n*actions), sized(r.begins, n)
	if in.Continuous {
		r.vector = sized(r.vector, n*actions)
	}
	if search {
		r.target = sized(r.target, n*actions)
	}
}

// clear empties the rows and keeps their memory.
func (r *rows) clear() {
	r.grow(0, actor.Input{}, true)
	r.vector = r.vector[:0]
	r.steps, r.slots = r.steps[:0], r.slots[:0]
}

// vectorAt returns a row's action where actions are vectors, of k numbers, a view; elsewhere it is nil.
func (r *rows) vectorAt(row int32, k int) []float32 {
	if len(r.vector) == 0 {
		return nil
	}
	return r.vector[int(row)*k : (int(row)+1)*k]
}

// sized returns x with n elements, those of before first.
func sized[S ~[]E, E any](x S, n int) S {
	if n > cap(x) {
		x = slices.Grow(x, n-len(x))
	}
	return x[:n]
}
