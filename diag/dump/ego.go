package dump

import "slices"

// tally counts rows that fit an order.
type tally struct{ ego, global, rows int }

func (c *tally) share(n int) float64 { return float64(n) / float64(max(c.rows, 1)) }

// order names the one that all rows fit; with only one agent moving both may.
func (c *tally) order() string {
	switch {
	case c.rows > 0 && c.share(c.ego) > 0.99:
		return "ego-first"
	case c.rows > 0 && c.share(c.global) > 0.99:
		return "global"
	}
	return ""
}

// add counts a row in which the orders differ.
func (c *tally) add(ego, global bool) {
	if ego && global {
		return
	}
	c.rows++
	if ego {
		c.ego++
	}
	if global {
		c.global++
	}
}

// planes looks at where agents are shown to be.
type planes struct {
	d       *Dump
	n, size int // planes of an observation, and their cells
	buf     [2][]float32
}

// newPlanes returns nil if observations cannot hold a plane for each agent.
func newPlanes(d *Dump) *planes {
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
func (d *Dump) sit(t int) (seat, at []int) {
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
func (v *planes) look(c *tally, t int) {
	d, k := v.d, len(v.d.Agents)
	seat, at := d.sit(t)
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
			c.add(ego, global)
		}
	}
}

// lastJoint compares the joint action that an agent recorded with those of the
// step before.
func (d *Dump) lastJoint(c *tally, t int) {
	k := len(d.Agents)
	seat, at := d.sit(t)
	for a := range k {
		if !d.Alive[d.At(t, a)] {
			continue
		}
		row := d.Joint[d.At(t, a)*k : (d.At(t, a)+1)*k]
		ego, global := true, true
		for j := range k {
			was := func(s int) int32 {
				i := d.At(t-1, at[s])
				if !d.Alive[i] {
					return row[j] // what stands for who has left is the recorder's choice
				}
				return d.Action[i]
			}
			ego = ego && row[j] == was((seat[a]+j)%k)
			global = global && row[j] == was(j)
		}
		c.add(ego, global)
	}
}
