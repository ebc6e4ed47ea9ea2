package ppo

import (
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/nn"
)

// Remember gives the brain's agents memories for envs envs and windows of steps
// steps. It does nothing for a model without an LSTM.
func (b *Brain) Remember(envs, steps int) {
	if b.Model.LSTM == 0 {
		return
	}
	b.memory = make([]*Memory, len(b.agents))
	for i := range b.memory {
		b.memory[i] = NewMemory(b.Model, envs, steps, b.cfg.SeqLen)
		if b.trial > 0 {
			b.memory[i].last = newLast(envs)
		}
	}
}

// recall puts each env's state into the workspace, zero at an episode's start or, of
// agents that live through trials, at a trial's, and notes it where a training
// sequence starts. Of a trial that is where the agent acts first in it, until when nothing
// changes; elsewhere who does not act there begins with an episode.
func (p *Player) recall(v *rollout.View, envs []int32, act bool) {
	h, c := p.ws.State()
	w := p.model.LSTM
	for i, n := range envs {
		n := int(n)
		state, cell := p.mem.h[n*w:(n+1)*w], p.mem.c[n*w:(n+1)*w]
		begins := v.Start[v.Moment(v.T, n)]
		if p.trial > 0 {
			begins = p.begins(v, n)
		}
		if begins {
			clear(state)
			clear(cell)
		}
		copy(h[i*w:(i+1)*w], state)
		copy(c[i*w:(i+1)*w], cell)
		now := stretch{v.Window(), v.T / p.seqLen}
		first := v.T%p.seqLen == 0 || p.trial > 0 && p.mem.noted[n] != now
		if act && !p.Frozen && first {
			p.mem.noted[n] = now
			at := (now.chunk*v.Envs + n) * w
			copy(p.mem.h0[at:at+w], state)
			copy(p.mem.c0[at:at+w], cell)
		}
	}
}

// remember takes the states after a step back out of the workspace.
func (p *Player) remember(envs []int32) {
	h, c := p.ws.State()
	w := p.model.LSTM
	for i, n := range envs {
		copy(p.mem.h[int(n)*w:(int(n)+1)*w], h[i*w:])
		copy(p.mem.c[int(n)*w:(int(n)+1)*w], c[i*w:])
	}
}

// sequence is a stretch of at most SeqLen steps of one agent in one env.
type sequence struct {
	agent, chunk, env int32
	rows              int // alive
}

// sequenceBatches is minibatches of whole sequences.
func (b *Brain) sequenceBatches(yield func([]int32, int) bool) {
	per := max(1, b.cfg.Minibatch/b.cfg.SeqLen)
	b.order = sized(b.order, len(b.seqs))
	b.rand.Perm(b.order)
	for lo := 0; lo < len(b.seqs); lo += per {
		b.pick = b.pick[:0]
		all := 0
		for _, s := range b.order[lo:min(lo+per, len(b.seqs))] {
			b.pick = append(b.pick, int32(s))
			all += b.seqs[s].rows
		}
		if !yield(b.pick, all) {
			return
		}
	}
}

// cut lists the stretches of a window that hold an alive row, and maps each place
// [agent][T][N] to its gathered row, or -1.
func (b *Brain) cut(ro *batch.Rollout) {
	b.rowAt = sized(b.rowAt, len(b.adv))
	for i := range b.rowAt {
		b.rowAt[i] = -1
	}
	for row, at := range b.rows.src {
		b.rowAt[at] = int32(row)
	}
	b.seqs = b.seqs[:0]
	chunks := (ro.Steps + b.cfg.SeqLen - 1) / b.cfg.SeqLen
	for a := range b.agents {
		for c := range chunks {
			for e := range ro.Envs {
				s := sequence{agent: int32(a), chunk: int32(c), env: int32(e)}
				for t := range b.cfg.SeqLen {
					if at := b.at(ro, s, t); at >= 0 && b.rowAt[at] >= 0 {
						s.rows++
					}
				}
				if s.rows > 0 {
					b.seqs = append(b.seqs, s)
				}
			}
		}
	}
}

// at returns the place of step t of a sequence in [agent][T][N], or -1 beyond the window.
func (b *Brain) at(ro *batch.Rollout, s sequence, t int) int {
	if t += int(s.chunk) * b.cfg.SeqLen; t < ro.Steps {
		return (int(s.agent)*ro.Steps+t)*ro.Envs + int(s.env)
	}
	return -1
}

// unroll puts the picked sequences into w, [steps][sequences]. Rows that are not
// alive keep the state and reach no loss.
func (b *Brain) unroll(w *work, ro *batch.Rollout, pick []int32) {
	k, width, length, n := b.Model.Actions, b.Model.LSTM, b.cfg.SeqLen, len(pick)
	w.ws.Reset()
	w.h0, w.c0, w.reset, w.alive, w.picked = w.h0[:0], w.c0[:0], w.reset[:0], w.alive[:0], w.picked[:0]
	for _, s := range pick {
		q := b.seqs[s]
		mem := b.memory[q.agent]
		at := (int(q.chunk)*ro.Envs + int(q.env)) * width
		w.h0, w.c0 = append(w.h0, mem.h0[at:at+width]...), append(w.c0, mem.c0[at:at+width]...)
	}
	for t := range length {
		for i, s := range pick {
			q, row, start := b.seqs[s], int32(-1), false
			if at := b.at(ro, q, t); at >= 0 {
				row = b.rowAt[at]
				start = ro.Start[ro.Moment(int(q.chunk)*length+t, int(q.env))]
				if b.trial > 0 {
					start = row >= 0 && b.rows.begins[row]
				}
			}
			w.reset, w.alive, w.picked = append(w.reset, start), append(w.alive, row >= 0), append(w.picked, row)
			at := (t*n + i) * k
			if row < 0 {
				w.ws.X.EndRow()
				clear(w.legal[at : at+k])
				continue
			}
			w.ws.AddFrom(&b.x, row)
			copy(w.legal[at:at+k], b.rows.legal[int(row)*k:])
		}
	}
	w.rows, w.seq = w.picked, nn.Seq{T: length, N: n, Reset: w.reset, Alive: w.alive}
}
