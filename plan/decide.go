package plan

import "math"

// harvest adds the root of lane i's tree, which is finished, to its env's results. Trees
// are added in their order, whoever searched them.
func (f *Forest) harvest(i int) {
	env, slot := int(f.lane[i].tree)/f.Trees, i*f.stride
	n := &f.nodes[slot]
	if n.legal == 0 {
		return
	}
	f.Value[env] += n.mean / float32(f.Trees)
	edges := f.edges[slot*f.row : slot*f.row+f.Actions]
	for k := range f.Actions {
		f.Prior[env*f.Actions+k] += f.first[i*f.row+k] / float32(f.Trees)
		if n.legal>>k&1 == 0 || edges[k].n == 0 {
			continue
		}
		q := edges[k].q
		if f.PlusOne {
			q *= float32(edges[k].n) / float32(1+edges[k].n)
		}
		f.Q[env*f.Actions+k] += q
		f.Visits[env*f.Actions+k] += edges[k].n
		f.tried[env*f.Actions+k]++
	}
}

// decide turns the sums over trees into means and a policy.
func (f *Forest) decide(envs int) {
	for env := range envs {
		lo, hi := env*f.Actions, (env+1)*f.Actions
		q, visits, tried, prior, policy := f.Q[lo:hi], f.Visits[lo:hi], f.tried[lo:hi], f.Prior[lo:hi], f.Policy[lo:hi]
		legal, total, best := uint32(0), int32(0), 0
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
		if total == 0 {
			copy(policy, prior)
			continue
		}
		for k := range q {
			if legal>>k&1 != 0 && f.better(q, prior, visits, k, best) {
				best = k
			}
		}
		switch f.Act {
		case "prior":
			clear(policy)
			policy[f.improved(q, prior, tried, best)] = 1
		case "mixed":
			f.mix(policy, q, prior, tried)
		case "softmax":
			softmax(policy, q, legal, float32(f.Beta))
		case "visits":
			for k := range policy {
				policy[k] = float32(visits[k]) / float32(total)
			}
		default:
			clear(policy)
			policy[best] = 1
		}
	}
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
