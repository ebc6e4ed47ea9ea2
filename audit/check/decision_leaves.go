package check

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/truth"
)

// leafRows is how many leaves of a tree are evaluated again: by networks, by scripts.
const (
	leafRows  = 12
	rollTrees = 3
	rollRows  = 8
)

// leaves evaluates states of the trees again, by the definition of leaf.kind.
func (s *searched) leaves() {
	trees, most := 0, leafRows
	switch s.Hop.Leaf.Kind {
	case "scripts", "both":
		trees, most = rollTrees, rollRows
	}
	partners := map[int32][][]int32{} // by tree: who may stand for what was drawn
	s.entries(search.Valued, trees, most, func(i int, t int32, e *search.Entry) {
		if partners[t] == nil && s.Hop.Leaf.Kind != "net" {
			partners[t] = s.partners(t)
		}
		s.took(valuesLeaves, 1)
		partners[t] = s.leaf(i, t, e, partners[t])
	})
}

// leaf holds one evaluation against its definition, and returns the partners that
// agree with it: where they are drawn and not written down, some must.
func (s *searched) leaf(i int, tree int32, e *search.Entry, partners [][]int32) [][]int32 {
	kind := s.Hop.Leaf.Kind
	s.look.Observe(s.obs, tree, e.Query.Slot, 0)
	logits, own := s.own.at(s.obs, s.read(i, tree, e.Query.Slot, true))
	if kind != "response" && !e.Query.End && !sameLogits(e.Logits, logits, e.Query.Legal) {
		s.wrong(valuesLeaves, s.a, "the prior of a state %d steps from the root is not its network's%s", e.Query.Depth,
			s.elsewhere(i, tree, e))
		return partners
	}
	if kind == "net" {
		if off(float64(e.Value), own) {
			s.wrong(valuesLeaves, s.a, "a state %d steps from the root is worth %.4f, its network says %.4f%s", e.Query.Depth,
				e.Value, own, s.misread(i, tree, e, own, s.own))
		}
		return partners
	}
	var fit [][]int32
	want := math.NaN()
	for _, p := range partners {
		switch kind {
		case "response":
			l, v := s.reply.at(s.obs, s.botsOf(i, tree, e.Query.Slot, p))
			fits := e.Query.End || sameLogits(e.Logits, l, e.Query.Legal)
			if math.IsNaN(want) || fits {
				want = v
			}
			if !fits {
				continue
			}
		case "scripts", "both":
			st := s.states[tree][e.Query.Slot]
			if st == nil || slices.ContainsFunc(s.Hop.Leaf.Scripts, func(name string) bool { return s.bot(name) == nil }) {
				return partners // a script that the game has no bot of
			}
			if want = s.rolled(i, e.Query, st, p, plainRoll); kind == "both" {
				want = max(want, own)
			}
		}
		if !off(float64(e.Value), want) {
			fit = append(fit, p)
		}
	}
	if len(fit) > 0 {
		return fit
	}
	what, more := "response network says", ""
	if kind == "response" {
		if more = s.misread(i, tree, e, want, s.reply); more == "" {
			more = s.misnamed(i, tree, e)
		}
	} else {
		if what = "scripts say"; kind == "scripts" {
			more = s.misrolled(i, tree, e, partners)
		}
	}
	s.wrong(valuesLeaves, s.a, "a state %d steps from the root is worth %.4f, its %s %.4f%s", e.Query.Depth,
		e.Value, what, want, more)
	return partners
}

// alike compares logits where they count.
func sameLogits(got, want []float32, legal uint32) bool {
	for set := legal; set != 0; set &= set - 1 {
		k := bits.TrailingZeros32(set)
		if d := math.Abs(float64(got[k] - want[k])); !(d <= 1e-3*max(1, math.Abs(float64(want[k])))) {
			return false
		}
	}
	return true
}

// read is what the own network reads about the goals drawn for a tree: by ego-first
// place, for those who are there.
func (s *searched) read(i int, tree, slot int32, goals bool) []float32 {
	if !s.Hop.Goals.Read || s.Hop.Goals.Kind == "none" {
		return nil
	}
	dst := make([]float32, len(s.others)*s.width)
	for j := range s.others {
		if s.look.Legal(tree, slot, j+1) == 0 || !goals {
			continue
		}
		at := dst[s.ego(i, j)*s.width:][:s.width]
		if int(s.named.Of(tree)[j]) == s.doubt {
			at[s.width-1] = 1
			continue
		}
		if copy(at, s.features(tree, j)[:s.width]); s.untyped() {
			at[s.width-1] = 1 // it is there
		}
	}
	return dst
}

// botsOf is what the response network reads: which bot each co-player is.
func (s *searched) botsOf(i int, tree, slot int32, partners []int32) []float32 {
	n := len(s.pop.who)
	dst := make([]float32, len(s.others)*n)
	for j, p := range partners {
		if p >= 0 && s.look.Legal(tree, slot, j+1) != 0 {
			dst[s.ego(i, j)*n+int(p)] = 1
		}
	}
	return dst
}

// partners lists who of the population may stand for what was drawn for a tree's
// co-players: the goal's own where goals are hand-made; the kind, where kinds are drawn;
// where a draw that is not written down decides, all that may be drawn.
func (s *searched) partners(tree int32) [][]int32 {
	list := [][]int32{nil}
	n := len(s.pop.who)
	for j, name := range s.named.Of(tree) {
		var may []int32
		switch {
		case s.Hop.Leaf.Kind == "response" && s.look.Legal(tree, s.journal.Grown[tree].Root, j+1) == 0:
			may = []int32{0} // it has left: nobody reads it, but rollouts name their numbers by it
		case int(name) == s.doubt:
			may = []int32{s.pop.random}
		case s.Hop.Goals.Kind == "hand":
			may = []int32{name}
		case s.Hop.Goals.OfKinds() && s.kind(tree, j) >= 0:
			may = []int32{s.pop.kinds[s.kind(tree, j)]}
		case s.Hop.Goals.Kind == "none" || s.Hop.Goals.OfKinds():
			for p := range n {
				may = append(may, int32(p))
			}
		default:
			for p := range s.Game.Spec().Goals {
				may = append(may, int32(p))
			}
		}
		var next [][]int32
		for _, p := range list {
			for _, q := range may {
				next = append(next, append(append([]int32(nil), p...), q))
			}
		}
		list = next
	}
	return list
}

// misread names the slip that a network's value agrees with.
func (s *searched) misread(i int, tree int32, e *search.Entry, want float64, n network) string {
	if s.q[valuesLeaves].says != "" || s.kept {
		return ""
	}
	got := float64(e.Value)
	if !off(got, want*n.scale) {
		return fmt.Sprintf(": the scale of rewards, %v, is not taken out of it", n.scale)
	}
	return s.elsewhere(i, tree, e)
}

// elsewhere says whose evaluation it is, if it is that of another state or of other
// goals.
func (s *searched) elsewhere(i int, tree int32, e *search.Entry) string {
	if s.q[valuesLeaves].says != "" || s.Hop.Leaf.Kind == "response" || s.kept {
		return ""
	}
	logits, v := s.own.at(s.obs, s.read(i, tree, e.Query.Slot, false))
	if is(e, logits, v) {
		return ": it is what the network says without the drawn goals"
	}
	lo, hi := s.trees(i)
	for t := lo; t < hi; t++ {
		root := s.journal.Grown[t].Root
		if l, v := s.own.at(s.obs, s.read(i, int32(t), e.Query.Slot, true)); t != int(tree) && is(e, l, v) {
			return fmt.Sprintf(": it is that of tree %d's goals", t)
		}
		s.look.Observe(s.obs, int32(t), root, 0)
		if l, v := s.own.at(s.obs, s.read(i, int32(t), root, true)); (t != int(tree) || e.Query.Depth > 0) && is(e, l, v) {
			return fmt.Sprintf(": it is that of tree %d's root", t)
		}
		s.look.Observe(s.obs, tree, e.Query.Slot, 0)
	}
	for place := 1; place <= len(s.others); place++ {
		s.look.Observe(s.obs, tree, e.Query.Slot, place)
		l, v := s.own.at(s.obs, s.read(i, tree, e.Query.Slot, true))
		s.look.Observe(s.obs, tree, e.Query.Slot, 0)
		if is(e, l, v) {
			return fmt.Sprintf(": it is that of what agent %d sees", s.who(place))
		}
	}
	return ""
}

func is(e *search.Entry, logits []float32, v float64) bool {
	return !off(float64(e.Value), v) && (e.Query.End || sameLogits(e.Logits, logits, e.Query.Legal))
}

// rolling is how scripted rollouts are summed up: as the definition says, or by a
// slip that has a name.
type rolling struct {
	name     string
	discount bool
	worst    bool
	shift    int32 // of partners
}

var (
	plainRoll = rolling{discount: true}
	rollSlips = []rolling{
		{name: "without the discount"}, {name: "by the worst script, not the best", discount: true, worst: true},
		{name: "against the next partner in the list", discount: true, shift: 1},
	}
)

// misrolled names the slip that scripted rollouts agree with.
func (s *searched) misrolled(i int, tree int32, e *search.Entry, partners [][]int32) string {
	if s.q[valuesLeaves].says != "" {
		return ""
	}
	var names []string
	for _, how := range rollSlips {
		if slices.ContainsFunc(partners, func(p []int32) bool {
			return !off(float64(e.Value), s.rolled(i, e.Query, s.states[tree][e.Query.Slot], p, how))
		}) {
			names = append(names, how.name)
		}
	}
	if len(names) == 1 {
		return ": it is what comes of playing on " + names[0]
	}
	if st := s.states[tree][s.journal.Grown[tree].Root]; e.Query.Depth > 0 {
		q := e.Query
		for _, q.Key = range []uint64{q.Key, s.journal.Grown[tree].Key} {
			for _, p := range partners {
				if !off(float64(e.Value), s.rolled(i, q, st, p, plainRoll)) {
					return ": it is that of the root"
				}
			}
		}
	}
	return ""
}

// bot returns a scripted policy by name, or that by which the game's rules made for search play it.
func (s *searched) bot(name string) game.Bot {
	if s.bots == nil {
		s.bots = map[string]game.Bot{}
	}
	name = truth.BotOf(s.Game, name)
	if b, ok := s.bots[name]; ok {
		return b
	}
	b, err := game.NewBot(s.Game, name)
	if err != nil {
		b = nil
	}
	s.bots[name] = b
	return b
}

// rolled is what a state is worth by scripted play, on the game's own states with the
// game's own bots: the best of the scripts, each the mean over Repeat futures against
// the partners. Random numbers are those that truth.Scripts names by state, models and
// script; the co-players', where a tree's are common, those of its depth.
func (s *searched) rolled(i int, q search.Query, st game.State, partners []int32, how rolling) float64 {
	key := (q.Key ^ q.Seed*uint64(2*q.Depth+1)) | 1
	for _, g := range partners {
		key = (key ^ uint64(g+1)) * 0x9e3779b97f4a7c15
		key ^= key >> 31
	}
	repeat := s.Hop.Leaf.Repeat
	best := math.NaN()
	for script, name := range s.Hop.Leaf.Scripts {
		r := search.Stream(key, uint64(script)+1)
		sum := 0.
		for k := range repeat {
			seed := uint64(0)
			if q.Seed != 0 {
				seed = q.Seed + uint64(k)*0x9e3779b97f4a7c16
			}
			sum += s.rollout(i, st, name, partners, seed, q.Depth, how, &r) / float64(repeat)
		}
		if script == 0 || (sum > best) != how.worst {
			best = sum
		}
	}
	return best
}

// rollout plays on to the end.
func (s *searched) rollout(
	i int, from game.State, script string, partners []int32, seed uint64, depth int32, how rolling, r *rng.Rand,
) float64 {
	fast := truth.FastOf(s.Game)
	st, me := s.Game.New(), s.seat(i, 0)
	st.CopyFrom(from)
	joint, rewards := make([]int32, len(s.others)+1), make([]float32, len(s.others)+1)
	sum, weight := 0., 1.
	for st.Alive(me) {
		joint[me] = s.bot(script).Act(st, me, r)
		draw := r
		if seed != 0 {
			common := search.Common(seed, depth)
			draw = &common
			depth++
		}
		for j, p := range partners {
			seat := s.seat(i, j+1)
			if joint[seat] = game.NoAction; st.Alive(seat) {
				joint[seat] = s.bot(s.pop.who[(p+how.shift)%int32(len(s.pop.who))]).Act(st, seat, draw)
			} else if fast != nil && fast.DrawsForGone() {
				draw.Uint64() // one number for each, needed or not
			}
		}
		st.Step(joint, rewards, r)
		sum += weight * float64(rewards[me])
		if how.discount {
			weight *= s.journal.Discount
		}
	}
	return sum
}
