package train

import (
	"hop/agent"
	"hop/batch"
	"hop/ppo"
)

// LearnPadded is Learn with the users' fault 4 planted: episodes are padded to the
// horizon, and the model of others learns from rows of co-players that have left
// as if they stood at their last place and did action, which is staying.
func (h *HOP) LearnPadded(ro *batch.Rollout, shape ppo.Shape, share float64, action int32) ([]agent.Stat, error) {
	rows, _, stats, err := h.rows(ro, share)
	if err != nil {
		return nil, err
	}
	k, g := h.moa.Model.Actions, h.moa.Model.GoalLen
	for s := range len(rows.Seqs) {
		q := rows.Seqs[s]
		last := int(q.Hi - 1)
		rows.Begin()
		for range h.spec.Horizon - int(q.Hi-q.Lo) {
			lo, hi := rows.X.Ptr[last], rows.X.Ptr[last+1]
			rows.X.Idx = append(rows.X.Idx, rows.X.Idx[lo:hi]...)
			rows.X.Val = append(rows.X.Val, rows.X.Val[lo:hi]...)
			rows.X.EndRow()
			rows.Goals = append(rows.Goals, rows.Goals[last*g:(last+1)*g]...)
			rows.Legal = append(rows.Legal, rows.Legal[last*k:(last+1)*k]...)
			rows.Action = append(rows.Action, action)
			rows.Seqs[len(rows.Seqs)-1].Hi++
		}
	}
	seqs := make([]int32, len(rows.Seqs))
	for i := range seqs {
		seqs[i] = int32(i)
	}
	for range h.cfg.Passes {
		if _, err := h.moa.Epoch(rows, seqs, h.moaLR, &h.rand, nil); err != nil {
			return nil, err
		}
	}
	own, err := h.Brain.Distil(ro, shape, share)
	h.version++
	return append(own, stats...), err
}
