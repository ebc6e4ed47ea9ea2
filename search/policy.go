package search

import "math"

// means turns sums over trees into means. It returns which actions are legal and how often any
// was visited.
func (f *Forest) means(q []float32, visits, tried []int32, prior []float32) (legal uint32, total int32) {
	for k := range q {
		switch {
		case tried[k] == 0:
		case f.Unvisited == "zero":
			q[k] /= float32(f.Trees)
		default:
			q[k] /= float32(tried[k])
		}
		total += visits[k]
		if prior[k] > 0 {
			legal |= 1 << k
		}
	}
	return legal, total
}

// better reports whether action k should be played rather than b: by Q, then
// visits, or the other way round, then prior. Of equals the first is played.
func (f *Forest) better(q, prior []float32, visits []int32, k, b int) bool {
	switch {
	case visits[k] == 0 || visits[b] == 0:
		return visits[b] == 0 && visits[k] > 0
	case q[k] == q[b] && visits[k] == visits[b]:
		return prior[k] > prior[b]
	case f.Act == "most" && visits[k] != visits[b]:
		return visits[k] > visits[b]
	case q[k] == q[b]:
		return visits[k] > visits[b]
	}
	return q[k] > q[b]
}

// improved returns the action of the highest log prior + beta Q: as good as Q says
// it is, as far as Q and prior can be trusted (Grill et al. 2020). Actions that
// were not tried are not played.
func (f *Forest) improved(q, prior []float32, tried []int32, best int) int {
	score := func(k int) float64 {
		return math.Log(max(float64(prior[k]), 1e-9)) + f.Beta*float64(q[k])
	}
	for k := range q {
		if tried[k] > 0 && prior[k] > 0 && score(k) > score(best) {
			best = k
		}
	}
	return best
}

// mix writes the policy prior exp(beta Q), normalised, of which improved takes the
// mode: drawn from, it leaves open what is even, so that those who are alike part. If
// the prior has no place for anything that was tried, the best of that is played.
func (f *Forest) mix(policy, q, prior []float32, tried []int32) {
	top, sum, best := math.Inf(-1), 0., 0
	for k := range q {
		if tried[k] > 0 && prior[k] > 0 {
			top = max(top, f.Beta*float64(q[k]))
		}
		if tried[k] > 0 && (tried[best] == 0 || q[k] > q[best]) {
			best = k
		}
	}
	for k := range q {
		x := 0.
		if tried[k] > 0 && prior[k] > 0 {
			x = float64(prior[k]) * math.Exp(f.Beta*float64(q[k])-top)
		}
		policy[k], sum = float32(x), sum+x
	}
	if sum == 0 {
		policy[best] = 1
		return
	}
	for k := range policy {
		policy[k] /= float32(sum)
	}
}

// softmax writes the distribution of scaled logits over the legal actions.
func softmax(dst, logits []float32, legal uint32, scale float32) {
	top := float32(math.Inf(-1))
	for k, x := range logits {
		if legal>>k&1 != 0 {
			top = max(top, x*scale)
		}
	}
	sum := 0. // in double, so that it is the same in any order
	for k, x := range logits {
		dst[k] = 0
		if legal>>k&1 != 0 {
			dst[k] = float32(math.Exp(float64(x*scale - top)))
			sum += float64(dst[k])
		}
	}
	if sum > 0 {
		inv := float32(1 / sum)
		for k := range logits {
			dst[k] *= inv
		}
	}
}
