package check

import (
	"slices"

	"hop/audit/record"
	"hop/check"
)

// planes looks at where agents are shown to be.
type planes struct {
	d       *record.Trajectories
	n, size int // planes of an observation, and their cells
	buf     [2][]float32
}

// newPlanes returns nil if observations cannot hold a plane for each agent.
func newPlanes(d *record.Trajectories) *planes {
	v := &planes{d: d, n: d.Shape[0], size: d.Shape[1] * d.Shape[2]}
	if d.Last {
		v.n, v.size = d.Shape[2], d.Shape[0]*d.Shape[1]
	}
	if v.n < len(d.Agents) || v.size == 0 {
		return nil
	}
	v.buf = [2][]float32{make([]float32, v.size), make([]float32, v.size)}
	return v
}

// plane copies plane p of what agent a sees.
func (v *planes) plane(dst []float32, t, a, p int) []float32 {
	base := v.d.At(t, a) * v.n * v.size
	for c := range dst {
		if v.d.Last {
			dst[c] = v.d.Obs[base+c*v.n+p]
		} else {
			dst[c] = v.d.Obs[base+p*v.size+c]
		}
	}
	return dst
}

// sit returns each agent's seat and who sits where, its number if seats are not
// recorded.
func sit(d *record.Trajectories, t int) (seat, at []int) {
	k := len(d.Agents)
	seat, at = make([]int, k), make([]int, k)
	for a := range k {
		seat[a] = a
		if d.Seat != nil {
			seat[a] = int(d.Seat[d.At(t, a)])
		}
		at[seat[a]] = a
	}
	return seat, at
}

// look compares two viewers' planes of the same agent. In ego-first order plane
// j of a viewer on seat s shows seat s+j; in global order plane j shows seat j.
// Either way all viewers must show a seat in the same cell.
func (v *planes) look(c *check.Orders, t int) {
	d, k := v.d, len(v.d.Agents)
	seat, at := sit(d, t)
	for a := range k {
		for b := a + 1; b < k; b++ {
			if !d.Alive[d.At(t, a)] || !d.Alive[d.At(t, b)] {
				continue
			}
			ego, global := true, true
			for s := range k {
				if !d.Alive[d.At(t, at[s])] {
					continue
				}
				x := v.plane(v.buf[0], t, a, (s-seat[a]+k)%k)
				ego = ego && slices.Equal(x, v.plane(v.buf[1], t, b, (s-seat[b]+k)%k))
				x = v.plane(v.buf[0], t, a, s)
				global = global && slices.Equal(x, v.plane(v.buf[1], t, b, s))
			}
			c.Add(ego, global)
		}
	}
}

// lastJoint compares the joint action that an agent recorded with those of the
// step before.
func lastJoint(c *check.Orders, d *record.Trajectories, t int) {
	k := len(d.Agents)
	seat, at := sit(d, t)
	did := make([]int32, k)
	for s := range did {
		if did[s] = -1; d.Alive[d.At(t-1, at[s])] {
			did[s] = d.Action[d.At(t-1, at[s])]
		}
	}
	for a := range k {
		if i := d.At(t, a); d.Alive[i] {
			_, wrong, global := check.Joint(seat[a], d.Joint[i*k:(i+1)*k], did)
			c.Add(wrong == 0, global)
		}
	}
}
