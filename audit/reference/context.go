package reference

import (
	"hop/batch"
	"hop/rng"
)

// read labels the steps of co-players that the agent was there to read, of episodes that
// began in the window: each by the context that it had read by then, and all of a path by the
// kind that is drawn from what it believed at the path's last step. Both follow from what it
// wrote for its own network: the beliefs times the features, acting at random the last number.
// What a context should have been is not asked here; mind/hop/incontext is tested for it.
func (g *Goals) read(ro *batch.Rollout, r *rng.Rand) (list []Label, paths []int) {
	for j, a := range g.Others {
		for n := range ro.Envs {
			for t := range ro.Steps {
				if !ro.Start[ro.Moment(t, n)] {
					continue
				}
				first := len(list)
				for s := t; s < ro.Steps && ro.Alive[ro.Slot(a, s, n)]; s++ {
					if s > t && ro.Start[ro.Moment(s, n)] || g.wrote(ro, Label{Agent: a, T: s, Env: n}) == nil {
						break
					}
					list = append(list, Label{Other: j, Agent: a, T: s, Env: n})
				}
				if len(list) > first {
					paths = append(paths, first)
					g.recall(ro, list[first:], r.Float64())
				}
			}
		}
	}
	return list, append(paths, len(list))
}

// wrote returns what the agent wrote about a step's co-player; nil: nothing.
func (g *Goals) wrote(ro *batch.Rollout, l Label) []float32 {
	slot, width := ro.Slot(g.Me, l.T, l.Env), g.Width()
	if !ro.Alive[slot] || ro.GoalLen != width*len(g.Others) {
		return nil
	}
	place := (int(ro.Seat[ro.Slot(l.Agent, l.T, l.Env)])-int(ro.Seat[slot])+g.Spec.Seats)%g.Spec.Seats - 1
	row, sum := ro.GoalAt(slot)[place*width:(place+1)*width], 0.
	for _, b := range row[g.infer.Dim:] {
		sum += float64(b)
	}
	if sum < 0.5 {
		return nil
	}
	return row
}

// recall fills in the goals of a path.
func (g *Goals) recall(ro *batch.Rollout, path []Label, u float64) {
	n, d := len(g.Kinds), g.infer.Dim
	sum, kind, sure := 0., n, true
	for k, b := range g.wrote(ro, path[len(path)-1])[d : d+n] {
		if sum += float64(b); u < sum && kind == n {
			kind = k
		}
		sure = sure && (u < sum-1e-4 || u > sum+1e-4)
	}
	for i, l := range path {
		row := g.wrote(ro, l)
		known := 1 - float64(row[len(row)-1])
		if !sure || known < 1e-2 {
			continue // either is right, or rounding decides
		}
		path[i].Goal = make([]float64, d+n)
		for k := range d {
			path[i].Goal[k] = float64(row[k]) / known
		}
		if kind < n {
			path[i].Goal[d+kind] = 1
		}
	}
}
