package batch

import (
	"encoding/binary"
	"errors"

	"github.com/hop-marl/hop/num/f32"
)

// arrays are a rollout's, but for the observations, in the order of its binary form.
func (r *Rollout) arrays() []any {
	return []any{
		r.Legal, r.Alive, r.Seat, r.Reward, r.End, r.Reached, r.Start,
		r.Action, r.Vector, r.LogProb, r.Own, r.Value, r.Goal, r.Target,
	}
}

// AppendBinary appends the window: observations as their nonzeros, and all else as it is, little endian.
func (r *Rollout) AppendBinary(b []byte) (_ []byte, err error) {
	var x f32.Sparse
	x.Reset(r.ObsLen)
	for slot := range len(r.Alive) {
		x.AppendRow(r.ObsAt(slot))
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(x.Idx)))
	for _, a := range append([]any{x.Ptr, x.Idx, x.Val}, r.arrays()...) {
		if b, err = binary.Append(b, binary.LittleEndian, a); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// UnmarshalBinary restores what AppendBinary wrote of a rollout of the same shape.
func (r *Rollout) UnmarshalBinary(b []byte) error {
	damaged := errors.New("batch: loading a window: the saved one is damaged, or of another shape; use the spec of the saved run")
	if len(b) < 4 {
		return damaged
	}
	entries := int(binary.LittleEndian.Uint32(b))
	if b = b[4:]; entries > len(r.Obs) {
		return damaged
	}
	x := f32.Sparse{Ptr: make([]int32, len(r.Alive)+1), Idx: make([]int32, entries), Val: make([]float32, entries), Cols: r.ObsLen}
	for _, a := range append([]any{x.Ptr, x.Idx, x.Val}, r.arrays()...) {
		n := binary.Size(a)
		if n > len(b) {
			return damaged
		}
		if _, err := binary.Decode(b[:n], binary.LittleEndian, a); err != nil {
			return damaged
		}
		b = b[n:]
	}
	clear(r.Obs)
	clear(r.Row)
	at := int32(0)
	for slot, end := range x.Ptr[1:] {
		if end < at || int(end) > entries {
			return damaged
		}
		obs := r.ObsAt(slot)
		for ; at < end; at++ {
			if col := int(x.Idx[at]); col < 0 || col >= len(obs) {
				return damaged
			}
			obs[x.Idx[at]] = x.Val[at]
		}
	}
	if len(b) > 0 || int(at) != entries {
		return damaged
	}
	return nil
}
