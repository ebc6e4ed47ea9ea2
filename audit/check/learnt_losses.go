package check

import (
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/audit/record"
	"github.com/hop-marl/hop/num/check"
)

// everyRow asks whether the minibatches of an update, together, are its batch: each row as often as any other.
func (r *recorded) everyRow(f *check.Finding) {
	f.Unit = "share of rows"
	never, rows, batches, again := 0, 0, 0, 0
	var who []int
	for k := range r.Batches {
		b := &r.Batches[k]
		if len(b.Mini) < 2 {
			continue
		}
		used := make([]int, len(b.Row))
		known, same := true, true
		for _, m := range b.Mini {
			known = known && len(m.At) > 0
			same = same && slices.Equal(m.At, b.Mini[0].At)
			for _, at := range m.At {
				if at >= 0 {
					used[at]++
				}
			}
		}
		if !known {
			continue
		}
		batches++
		left := 0
		for i, n := range used {
			if n == 0 && b.Kind[i] == record.Played {
				left++
			}
		}
		if never, rows = never+left, rows+len(used); left > 0 {
			who = append(who, b.Agents...)
			again += one(same)
		}
	}
	f.Rows, f.Says = rows, fmt.Sprintf("Every row of a batch is in its minibatches, in %d updates.", batches)
	if share := float64(never) / float64(max(rows, 1)); share > 0.05 {
		f.Who = unique(who)
		says := fmt.Sprintf("%.0f %% of the rows of batches are in none of their minibatches, and never learnt from.", 100*share)
		if 2*again > batches {
			says += " All minibatches of an update are the same rows."
		}
		f.Accuse(check.Fault, share, says, "the loop over minibatches: the indices that it cuts the shuffled batch by, in every epoch")
	}
}

// normalised asks whether the advantages that a loss reads are the batch's, less their mean and divided by
// their deviation over rows that are learnt from, and not over rows of agents that have left as well.
func (r *recorded) normalised(f *check.Finding) {
	f.Unit = "minibatches"
	padded, off, zeros := 0, 0, 0.
	var who []int
	for k := range r.Batches {
		b := &r.Batches[k]
		adv := b.Col["advantages"]
		if adv == nil {
			continue
		}
		whole := spreadOf(adv, nil)
		for _, m := range b.Mini {
			x := m.Col["advantages"]
			if x == nil || len(m.At) < 8 {
				continue
			}
			own := spreadOf(adv, m.At)
			slope, shift, fits := line(adv, m.At, x) // x = slope * adv + shift
			if own.sd == 0 || slope == 0 {
				continue
			}
			f.Rows++
			if !fits {
				off++
				who = append(who, b.Agents...)
				continue
			}
			mean, sd := -shift/slope, 1/slope
			plain := math.Abs(slope-1) < 1e-3 && math.Abs(shift) < 1e-3*own.sd
			if plain || own.is(mean, sd) || whole.is(mean, sd) {
				continue
			}
			// As if so many rows of zeros had been there too.
			for _, s := range []spread{whole, own} {
				if z := s.n * (s.mean/mean - 1); z > 0.5 && !math.IsInf(z, 0) && s.with(z).is(mean, sd) {
					padded++
					zeros += z / s.n
					who = append(who, b.Agents...)
					break
				}
			}
		}
	}
	f.Says = fmt.Sprintf("Advantages in losses are the batch's, normalised over rows that are learnt from or not at all, in %d minibatches.",
		f.Rows)
	share := func(n int) float64 { return float64(n) / float64(max(f.Rows, 1)) }
	switch {
	case share(padded) > 0.5:
		f.Who = unique(who)
		f.Accuse(check.Fault, share(padded), fmt.Sprintf("Advantages are normalised over rows of agents that have left as well: as if %.2g rows "+
			"of zeros came with each that is learnt from.", zeros/float64(padded)), "where advantages are normalised: choose the rows first, by "+
			"who was alive, then take mean and deviation")
	case share(off) > 0.5:
		f.Who = unique(who)
		f.Accuse(check.Fault, share(off), fmt.Sprintf("Advantages in %.0f %% of the losses are not those of their rows: no scale and shift "+
			"brings them together.", 100*share(off)), "how minibatches are cut: the same indices for observations, actions, advantages and returns")
	}
}

// spread is mean, deviation and number of some values.
type spread struct{ mean, sd, n float64 }

func spreadOf(x []float64, at []int) (s spread) {
	sum, squares := 0., 0.
	add := func(v float64) { sum, squares, s.n = sum+v, squares+v*v, s.n+1 }
	if at == nil {
		for _, v := range x {
			add(v)
		}
	}
	for _, i := range at {
		if i >= 0 {
			add(x[i])
		}
	}
	s.mean = sum / s.n
	s.sd = math.Sqrt(max(0, squares/s.n-s.mean*s.mean) * s.n / max(1, s.n-1))
	return s
}

// with is the spread with so many zeros more.
func (s spread) with(zeros float64) spread {
	squares := (s.sd*s.sd*max(1, s.n-1)/s.n + s.mean*s.mean) * s.n
	t := spread{n: s.n + zeros, mean: s.mean * s.n / (s.n + zeros)}
	t.sd = math.Sqrt(max(0, squares/t.n-t.mean*t.mean) * t.n / max(1, t.n-1))
	return t
}

// is reports whether mean and deviation are those; the deviation may be of the sample or of the whole.
func (s spread) is(mean, sd float64) bool {
	return math.Abs(mean-s.mean) < 0.02*s.sd && math.Abs(sd-s.sd) < 0.02*s.sd+s.sd/s.n
}

// line fits y = slope * x[at] + shift, and says whether it does.
func line(x []float64, at []int, y []float64) (slope, shift float64, fits bool) {
	var n, sx, sy, sxx, sxy, syy float64
	for i, k := range at {
		if k >= 0 {
			n, sx, sy, sxx, sxy, syy = n+1, sx+x[k], sy+y[i], sxx+x[k]*x[k], sxy+x[k]*y[i], syy+y[i]*y[i]
		}
	}
	vx, vy := sxx-sx*sx/n, syy-sy*sy/n
	if n < 3 || vx <= 0 {
		return 0, 0, false
	}
	slope = (sxy - sx*sy/n) / vx
	shift = (sy - slope*sx) / n
	return slope, shift, vy-slope*slope*vx <= 1e-3*vy+1e-9*n
}

// ratios asks whether the ratio of the policy to the one that played moves away from 1 as an update goes on.
func (r *recorded) ratios(f *check.Finding) {
	f.Unit = "minibatches"
	still := 0
	var who []int
	for k := range r.Batches {
		b := &r.Batches[k]
		for i, m := range b.Mini {
			x := m.Col["ratios"]
			if x == nil {
				continue
			}
			if i == 0 {
				continue
			}
			far := 0.
			for _, v := range x {
				far = max(far, math.Abs(v-1))
			}
			f.Rows++
			if far < 1e-6 {
				still++
				who = append(who, b.Agents...)
			}
		}
	}
	f.Says = fmt.Sprintf("Ratios move away from 1 after an update's first step, in %d minibatches.", f.Rows)
	if share := float64(still) / float64(max(f.Rows, 1)); f.Rows >= 3 && share > 0.9 {
		f.Who = unique(who)
		f.Accuse(check.Fault, share, fmt.Sprintf("The ratio of the policy to the one that played is exactly 1 in %d of %d minibatches after the "+
			"first: nothing is ever clipped.", still, f.Rows), "the old log-probabilities: those of the time of acting, stored and detached, not "+
			"computed again in every minibatch")
	}
}

// valueLoss asks whether the value loss is the mean over rows of what each is off by, and not over all pairs: which of
// the two explains the losses of a learner to their rounding, up to one factor for all of them.
func (r *recorded) valueLoss(f *check.Finding) {
	f.Unit = "minibatches"
	type losses struct {
		who             []int
		said, own, pair []float64
	}
	var list []*losses
	of := map[string]*losses{}
	for k := range r.Batches {
		b := &r.Batches[k]
		returns := b.Col["returns"]
		l := of[r.whose(b)]
		if l == nil {
			l = &losses{who: b.Agents}
			of[r.whose(b)] = l
			list = append(list, l)
		}
		for _, m := range b.Mini {
			v, n := m.Col["values"], float64(len(m.At))
			loss, ok := m.Terms["value"]
			if !ok || v == nil || returns == nil || n < 4 || slices.Contains(m.At, -1) {
				continue
			}
			mean, own, spread, centre := 0., 0., 0., 0. // pairs are apart by both deviations and by the means
			for _, at := range m.At {
				centre += returns[at] / n
			}
			for i, at := range m.At {
				mean += v[i] / n
				own += (v[i] - returns[at]) * (v[i] - returns[at]) / n
				spread += (returns[at] - centre) * (returns[at] - centre) / n
			}
			for i := range m.At {
				spread += (v[i] - mean) * (v[i] - mean) / n
			}
			l.said, l.own, l.pair = append(l.said, loss), append(l.own, own), append(l.pair, spread+(mean-centre)*(mean-centre))
		}
	}
	pairs := 0
	for _, l := range list {
		if len(l.said) < 4 || misfit(l.own, l.pair) < 1e-5 {
			continue // one cannot be told from the other
		}
		f.Rows += len(l.said)
		own, pair := misfit(l.said, l.own), misfit(l.said, l.pair)
		if pair < 1e-3 && own > 1e-5 && own > 10*pair {
			pairs += len(l.said)
			f.Who = append(f.Who, l.who...)
			f.Saw(own, 0, "%s: how far losses are off the mean over rows, beside %.2g over pairs", check.List(r.titles(l.who)), pair)
		}
	}
	f.Says = fmt.Sprintf("No value loss is taken over pairs of rows, in %d minibatches.", f.Rows)
	if f.Who = unique(f.Who); pairs > 0 {
		f.Accuse(check.Fault, float64(pairs)/float64(f.Rows), "The value loss holds every value against every row's return, not each against "+
			"its own.", "shapes in the value loss: [n, 1] less [n] is [n, n]; squeeze the values")
	}
}

// misfit is how far numbers are off one multiple of others, as a share of them.
func misfit(x, y []float64) float64 {
	xy, yy, off, size := 0., 0., 0., 0.
	for i := range x {
		xy, yy = xy+x[i]*y[i], yy+y[i]*y[i]
	}
	for i := range x {
		off, size = off+math.Abs(x[i]-xy/yy*y[i]), size+math.Abs(x[i])
	}
	return off / size
}

// lossTerms asks with which sign the entropy and the value loss are in the loss.
func (r *recorded) lossTerms(f *check.Finding) {
	f.Unit = "minibatches"
	var xx, xy, yy, xz, yz float64 // of value, entropy and the rest, about their means
	var list [][3]float64
	for k := range r.Batches {
		for _, m := range r.Batches[k].Mini {
			total, a := m.Terms["total"]
			policy, b := m.Terms["policy"]
			entropy, c := m.Terms["entropy"]
			if a && b && c {
				list = append(list, [3]float64{m.Terms["value"], entropy, total - policy})
			}
		}
	}
	if f.Rows = len(list); f.Rows < 8 {
		f.Rows, f.Says = 0, "Fewer than eight losses were recorded."
		return
	}
	for _, l := range list {
		xx, xy, yy, xz, yz = xx+l[0]*l[0], xy+l[0]*l[1], yy+l[1]*l[1], xz+l[0]*l[2], yz+l[1]*l[2]
	}
	value, entropy := 0., 0.
	if det := xx*yy - xy*xy; det > 1e-9*xx*yy {
		value, entropy = (xz*yy-yz*xy)/det, (yz*xx-xz*xy)/det
	} else if yy > 0 {
		entropy = yz / yy
	}
	rest, size := 0., 0.
	for _, l := range list {
		rest, size = rest+math.Abs(l[2]-value*l[0]-entropy*l[1]), size+math.Abs(l[2])
	}
	f.Says = fmt.Sprintf("The loss is the policy's, with %.3g of the value loss and %.3g of the entropy, in %d minibatches.", value, entropy,
		f.Rows)
	switch {
	case rest > 0.02*size:
		f.Says = fmt.Sprintf("The loss has other terms than policy, value and entropy, so their signs cannot be read, in %d minibatches.", f.Rows)
	case entropy > 1e-6:
		f.Accuse(check.Fault, entropy, fmt.Sprintf("The entropy is in the loss with the factor +%.3g: it is pushed down, and policies close too "+
			"early.", entropy), "the sign of the entropy's term: loss = policy + c1 * value - c2 * entropy")
	case value < -1e-6:
		f.Accuse(check.Fault, value, fmt.Sprintf("The value loss is in the loss with the factor %.3g: values are pushed away from returns.",
			value), "the sign of the value loss: loss = policy + c1 * value - c2 * entropy")
	}
}
