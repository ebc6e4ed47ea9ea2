package check

import (
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/search"
)

// seeds asks whether random numbers are common where they are meant to be, and
// nowhere else.
func (s *searching) seeds() {
	common := s.Resample == "depth" && !s.Hashed
	seen := map[uint64]int{}
	streams := map[string]string{}
	for i := range s.Grown {
		seed, first := uint64(0), true
		for at := range s.Grown[i].Log {
			e := &s.Grown[i].Log[at]
			if e.What != search.Drew && e.What != search.Valued {
				continue
			}
			if first {
				seed, first = e.Query.Seed, false
			}
			if e.Query.Seed != seed || (seed != 0) != common {
				s.slip("resampled", 1, "the number that names a tree's common random numbers is %d in tree %d, and was %d", e.Query.Seed, i, seed)
			}
			if e.What != search.Drew || !slices.ContainsFunc(e.Joint, func(a int32) bool { return a >= 0 }) {
				continue // nobody is left to draw for
			}
			name := fmt.Sprint(i, ", draw ", at)
			if common {
				name = fmt.Sprint(i, ", depth ", e.Query.Depth)
			}
			stream := fmt.Sprint(e.Rand)
			if who, ok := streams[stream]; ok && who != name {
				s.slip("resampled", 1, "the co-players' actions are drawn from one stream twice: in tree %s and in tree %s", who, name)
			}
			streams[stream] = name
			if common {
				if want := fmt.Sprint(search.Common(seed, e.Query.Depth)); want != stream {
					s.slip("resampled", 1, "%d steps from the root of tree %d the co-players' actions are not drawn from the numbers that all nodes of "+
						"that depth have in common", e.Query.Depth, i)
				}
			}
		}
		if who, ok := seen[seed]; ok && common && !first {
			s.slip("resampled", 1, "trees %d and %d draw from the same random numbers", who, i)
		}
		seen[seed] = i
	}
}

// totals are a decision's results.
type totals struct {
	q, prior []float64
	visits   []int
	tried    []int
	value    float64
}

// total sums up the trees of a decision.
func (s *searching) total(trees []*tree) totals {
	r := totals{make([]float64, s.Actions), make([]float64, s.Actions), make([]int, s.Actions), make([]int, s.Actions), 0}
	for _, t := range trees {
		n := t.root
		if n == nil {
			continue
		}
		r.value += n.mean / float64(s.Config.Trees)
		for k := range r.q {
			if n.n[k] == 0 {
				continue
			}
			q := n.q[k]
			if s.PlusOne {
				q *= float64(n.n[k]) / float64(1+n.n[k])
			}
			r.q[k] += q
			r.visits[k] += n.n[k]
			r.tried[k]++
		}
	}
	for k := range r.q {
		switch {
		case r.tried[k] == 0:
		case s.Unvisited == "zero":
			r.q[k] /= float64(s.Config.Trees)
		default:
			r.q[k] /= float64(r.tried[k])
		}
	}
	return r
}

// results compares what the trees come to with what the search reports.
func (s *searching) results(grown []*tree) {
	m := s.Config.Trees
	for env := range len(grown) / m {
		mine := grown[env*m : (env+1)*m]
		if mine[0].root == nil {
			continue
		}
		r := s.total(mine)
		lo, hi := env*s.Actions, (env+1)*s.Actions
		s.priors(env, mine, s.Priors[lo:hi])
		for k, v := range s.Visits[lo:hi] {
			if int(v) != r.visits[k] {
				s.slip("added", float64(int(v)-r.visits[k]), "action %d of decision %d has %d visits, its simulations are %d", k, env, v, r.visits[k])
			}
		}
		wrong, at := 0., -1
		for k, q := range s.Q[lo:hi] {
			if off(float64(q), r.q[k]) && math.Abs(float64(q)-r.q[k]) > math.Abs(wrong) {
				wrong, at = float64(q)-r.q[k], k
			}
		}
		switch {
		case at >= 0:
			s.slip("backed", wrong, "action %d of decision %d has a Q of %.4f, what was played and evaluated makes it %.4f%s", at, env,
				s.Q[lo+at], r.q[at], s.named(env, func(t totals) bool { return !differ(s.Q[lo:hi], t.q) }))
		case off(float64(s.Value[env]), r.value):
			s.slip("backed", float64(s.Value[env])-r.value, "the root of decision %d is worth %.4f, its simulations make it %.4f%s", env,
				s.Value[env], r.value, s.named(env, func(t totals) bool { return !off(float64(s.Value[env]), t.value) }))
		}
		s.decided(env)
	}
}

// named names the slip of the backup that the results agree with.
func (s *searching) named(env int, agrees func(t totals) bool) string {
	quiet := *s
	quiet.quiet = true
	for _, b := range slippery {
		var trees []*tree
		for i := range s.Config.Trees {
			trees = append(trees, quiet.grow(env*s.Config.Trees+i, b))
		}
		if agrees(quiet.total(trees)) {
			return ": it is what comes of backing up " + b.name
		}
	}
	return ""
}

// priors compares the mean prior over the trees, before noise.
func (s *searching) priors(env int, trees []*tree, got []float32) {
	if s.NoiseEps > 0 {
		return
	}
	for k, p := range got {
		want := 0.
		for _, t := range trees {
			if t.root != nil {
				want += t.root.p[k] / float64(len(trees))
			}
		}
		if math.Abs(float64(p)-want) > 1e-4 {
			s.slip("added", float64(p)-want, "action %d of decision %d has a prior of %.4f at the root, that of its trees is %.4f", k, env, p, want)
		}
	}
}

// decided compares the policy with what Act says of the results as reported.
func (s *searching) decided(env int) {
	lo, hi := env*s.Actions, (env+1)*s.Actions
	policy, prior, q, visits := s.Policy[lo:hi], s.Priors[lo:hi], s.Q[lo:hi], s.Visits[lo:hi]
	total := 0
	for _, v := range visits {
		total += int(v)
	}
	want := make([]float64, s.Actions)
	switch {
	case total == 0:
		for k := range want {
			want[k] = float64(prior[k])
		}
	case s.Act == "visits":
		for k := range want {
			want[k] = float64(visits[k]) / float64(total)
		}
	case s.Act == "softmax":
		legal := uint32(0)
		for k, p := range prior {
			if p > 0 {
				legal |= 1 << k
			}
		}
		want = softly(q, legal, s.Beta)
	case s.Act == "mixed":
		want = mixed(prior, q, visits, s.Beta)
	default:
		s.sure(env, policy, prior, q, visits)
		return
	}
	for k, p := range policy {
		if math.Abs(float64(p)-want[k]) > 1e-4 {
			s.slip("decided", float64(p)-want[k], "action %d of decision %d has probability %.4f, act %s makes it %.4f%s", k, env, p, s.Act, want[k],
				s.unmixed(policy, prior, q, visits))
		}
	}
}

// mixed is prior exp(beta Q) over the actions that were tried, normalised.
func mixed(prior, q []float32, visits []int32, beta float64) []float64 {
	logits, tried := make([]float32, len(q)), uint32(0)
	for k := range q {
		if visits[k] > 0 && prior[k] > 0 {
			logits[k], tried = float32(math.Log(float64(prior[k]))+beta*float64(q[k])), tried|1<<k
		}
	}
	return softly(logits, tried, 1)
}

// unmixed names the slip that a mixed policy agrees with.
func (s *searching) unmixed(policy, prior, q []float32, visits []int32) string {
	even := make([]float32, len(q))
	for k, p := range prior {
		if p > 0 {
			even[k] = 1
		}
	}
	switch {
	case s.Act != "mixed":
	case !differ(policy, mixed(even, q, visits, s.Beta)):
		return ": it is what comes of Q without the prior"
	case !differ(policy, mixed(prior, q, visits, 0)):
		return ": it is the prior, without Q"
	case !differ(policy, mixed(prior, q, visits, 1)):
		return ": it is what comes of a beta of 1"
	}
	return ""
}

// sure holds a policy that is all on one action to the rule that chooses it.
func (s *searching) sure(env int, policy, prior, q []float32, visits []int32) {
	score := func(k int) float64 {
		switch s.Act {
		case "prior":
			return math.Log(max(float64(prior[k]), 1e-9)) + s.Beta*float64(q[k])
		case "most":
			return float64(visits[k])
		}
		return float64(q[k])
	}
	best, at := -1, -1
	for k, p := range policy {
		if p == 1 {
			at = k
		}
		if visits[k] > 0 && (best < 0 || score(k) > score(best)) {
			best = k
		}
	}
	switch {
	case at < 0:
		s.slip("decided", 1, "the policy of decision %d is not all on one action, as act %s says", env, s.Act)
	case visits[at] == 0:
		s.slip("decided", 1, "decision %d is for action %d, which no simulation tried", env, at)
	case score(best)-score(at) > 1e-5*max(1, math.Abs(score(best))):
		s.slip("decided", score(best)-score(at), "decision %d is for action %d with %.4f, action %d has %.4f (act %s)", env, at, score(at), best,
			score(best), s.Act)
	}
}

// Chose holds the last decisions of a search, so many, against the rule that chooses an action by their results: inside searches only a few
// decisions are looked at, and in those Q and prior may agree.
func (l *Decisions) Chose(a agent.ID, f *search.Forest, decisions int) {
	k := decisions * f.Actions
	if !f.Sure() || decisions > f.Envs {
		return
	}
	s := &searching{found: map[string]*wrong{}, Journal: &search.Journal{Config: f.Config, Actions: f.Actions, Policy: f.Policy[:k],
		Q: f.Q[:k], Priors: f.Prior[:k], Visits: f.Visits[:k]}}
	for env := range decisions {
		lo, hi := env*f.Actions, (env+1)*f.Actions
		if s.tried(lo, hi) {
			l.took(choosesBest, 1)
			s.sure(env, s.Policy[lo:hi], s.Priors[lo:hi], s.Q[lo:hi], s.Visits[lo:hi])
		}
	}
	if w := s.found["decided"]; w != nil {
		l.wrong(choosesBest, a, "%s", w.Says)
	}
}

// tried reports whether something was tried, and nothing to which the prior gives no chance.
func (s *searching) tried(lo, hi int) bool {
	some := false
	for k := lo; k < hi; k++ {
		if s.Visits[k] > 0 && s.Priors[k] == 0 {
			return false
		}
		some = some || s.Visits[k] > 0
	}
	return some
}

// softly is the softmax over the legal actions.
func softly(logits []float32, legal uint32, beta float64) []float64 {
	x, mask := make([]float64, len(logits)), make([]bool, len(logits))
	for k, v := range logits {
		x[k], mask[k] = beta*float64(v), legal>>k&1 != 0
	}
	return reference.Softmax(x, mask)
}

// off reports that two values differ by more than float32 makes them: 1e-4, absolute
// or relative, whichever is looser.
func off(got, want float64) bool { return !(math.Abs(got-want) <= 1e-4*max(1, math.Abs(want))) }

func differ(got []float32, want []float64) bool {
	for k, x := range got {
		if off(float64(x), want[k]) {
			return true
		}
	}
	return false
}
