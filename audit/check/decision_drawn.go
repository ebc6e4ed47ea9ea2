package check

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/hop-marl/hop/agent/hop"
	"github.com/hop-marl/hop/agent/hop/pretrained"
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/script"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/belief"
)

// drawn holds every draw of the co-players' actions against the model of others and
// the stream, and draws more at every root.
func (s *searched) drawn() {
	joint, rs := make([]int32, len(s.others)), make([]rng.Rand, len(s.journal.Grown))
	s.entries(search.Drew, 0, leafRows, func(i int, t int32, e *search.Entry) {
		probs := s.predicted(i, t, e.Query.Slot, nil)
		s.hold(i, e.Joint, probs, e.Rand)
		if lo, _ := s.trees(i); e.Query.Depth > 0 || int(t) > lo+1 {
			return
		}
		for more := range 100 {
			rs[t] = stream("draw", more)
			was := rs[t]
			s.journal.Model.Draw(joint, []search.Query{e.Query}, rs)
			s.hold(i, joint, probs, was)
		}
	})
}

// predicted is what each co-player does in a state, by the model of others; nil for
// who has left. A slip, if not nil, changes what the model is asked.
func (s *searched) predicted(i int, tree, slot int32, slip *drawSlip) [][]float64 {
	out := make([][]float64, len(s.others))
	for j := range s.others {
		mask := s.look.Legal(tree, slot, j+1)
		if mask == 0 {
			continue
		}
		name := s.named.Of(tree)[j]
		uniform := s.Hop.Search.Others == "uniform" || int(name) == s.doubt || !s.open(i, j) || slip != nil && slip.uniform
		if slip != nil && slip.first {
			uniform = int(s.named.Of(int32(i * s.journal.Config.Trees))[j]) == s.doubt
		}
		logits, in, legal := make([]float32, s.v.Actions), slot, mask
		if root := s.journal.Grown[tree].Root; !uniform && s.far(i, j) && (slip == nil || !slip.anew) {
			in, legal = root, s.look.Legal(tree, root, j+1)
		}
		if !uniform {
			who, from, place := j, tree, j+1
			if slip != nil && slip.next {
				who = (j + 1) % len(s.others)
			}
			if slip != nil && slip.first {
				from = int32(i * s.journal.Config.Trees)
			}
			if slip != nil && slip.me {
				place = 0
			}
			features := s.features(from, j)
			if slip != nil && slip.silent {
				clear(features)
			}
			clear(features[s.width:])
			features[s.width+who] = 1
			s.look.Observe(s.obs, tree, in, place)
			s.ws.Reset()
			s.ws.Add(s.obs, features)
			s.ws.Forward(s.moa.Params)
			copy(logits, s.ws.Logits)
		}
		out[j] = amid(softly(logits, legal, 1), mask)
	}
	return out
}

// amid is a distribution given that a legal action is played, or any of those if it has none.
func amid(probs []float64, legal uint32) []float64 {
	sum := 0.
	for k := range probs {
		probs[k] *= float64(legal >> k & 1)
		sum += probs[k]
	}
	for k := range probs {
		if probs[k] /= sum; sum == 0 {
			probs[k] = float64(legal>>k&1) / float64(bits.OnesCount32(legal))
		}
	}
	return probs
}

// far reports whether co-player j of decision i is predicted at the root alone: as many as
// search.nearest are nearer, or are as near and sit before it.
func (s *searched) far(i, j int) bool {
	most, nearer, n := s.Hop.Search.Nearest, 0, int(s.envs[i])
	field, ok := s.v.State(n).(script.Field)
	if most == 0 || !ok {
		return false
	}
	sees, spec := s.v.ObsAt(s.v.Slot(s.a, s.v.T, n)), s.Game.Spec()
	after := func(o int) int { // who is not seen is behind all
		if !s.v.Alive[s.v.Slot(s.others[o], s.v.T, n)] || spec.View > 0 && spec.Obs.CellOf(sees, s.ego(i, o)+1) < 0 {
			return math.MaxInt
		}
		moves := field.Steps(field.Place(s.seat(i, 0)), field.Place(s.seat(i, o+1)))
		return int(moves)*s.v.Agents + s.ego(i, o)
	}
	for o := range s.others {
		if after(o) < after(j) {
			nearer++
		}
	}
	return nearer >= most || after(j) == math.MaxInt
}

// open reports whether co-player j of decision i is within the gate of goals.
func (s *searched) open(i, j int) bool {
	g := reference.Goals{GoalSettings: goalsOf(s.Hop.Goals), Spec: s.Game.Spec()}
	return g.Open(s.v.ObsAt(s.v.Slot(s.others[j], s.v.T, int(s.envs[i]))))
}

// features is what the model of others reads about what was drawn for co-player j of
// a tree: the features of its goal, then which co-player it is.
func (s *searched) features(tree int32, j int) []float32 {
	dst := make([]float32, s.moa.Model.GoalLen)
	name := s.named.Of(tree)[j]
	switch {
	case int(name) == s.doubt:
	case s.Hop.Goals.OfKinds(): // points have no other record than this
		copy(dst[:s.width], s.vector.Vector(tree, j, name)[:s.width])
	default:
		dst[name] = 1
	}
	dst[s.width+j] = 1
	return dst
}

// drawSlip is a slip in what the model of others is asked, that has a name.
type drawSlip struct {
	name                             string
	uniform, silent, next, first, me bool
	anew                             bool
}

var drawSlips = []drawSlip{
	{name: "as if they acted at random", uniform: true},
	{name: "as if nothing were known of their goals", silent: true},
	{name: "as if each were the next co-player", next: true},
	{name: "by the first tree's goals", first: true},
	{name: "from what oneself sees in place of what they see", me: true},
	{name: "anew in every state, as if all were among the nearest", anew: true},
}

// hold holds one joint action against probabilities and the stream it was drawn from:
// one number for each co-player that is there, in their order.
func (s *searched) hold(i int, joint []int32, probs [][]float64, r rng.Rand) {
	for j, p := range probs {
		s.took(drawsActions, 1)
		if p == nil {
			if joint[j] != game.NoAction {
				s.wrong(drawsActions, s.a, "agent %d has left and plays action %d in the tree", s.others[j], joint[j])
			}
			continue
		}
		u := float64(r.Float32())
		if !picked(p, joint[j], u) {
			s.wrong(drawsActions, s.a, "agent %d plays action %d in the tree where its model has %.3f and the stream says %.3f: another was "+
				"to be drawn%s", s.others[j], joint[j], p, u, s.slipped(i))
		}
	}
}

// picked reports whether an action is what a number draws from probabilities, within
// what float32 loses.
func picked(p []float64, action int32, u float64) bool {
	if action < 0 || int(action) >= len(p) || p[action] <= 0 {
		return false
	}
	below := 0.
	for k := range action {
		below += p[k]
	}
	return u >= below-1e-4 && u <= below+p[action]+1e-4
}

// slipped names the slip that all draws of a decision agree with.
func (s *searched) slipped(i int) string {
	if s.q[drawsActions].says != "" || s.kept {
		return ""
	}
	var names []string
	for _, slip := range drawSlips {
		if slip.next && len(s.others) < 2 || slip.first && s.journal.Config.Trees < 2 {
			continue
		}
		if s.allDrawn(i, &slip) {
			names = append(names, slip.name)
		}
	}
	if len(names) != 1 {
		return "" // several would do: none is named
	}
	return "; they are drawn " + names[0]
}

// allDrawn reports whether all draws of a decision agree with a slip.
func (s *searched) allDrawn(decision int, slip *drawSlip) bool {
	all := true
	s.entries(search.Drew, 0, 0, func(i int, t int32, e *search.Entry) {
		if !all || i != decision {
			return
		}
		r := e.Rand
		for j, p := range s.predicted(i, t, e.Query.Slot, slip) {
			all = all && (p == nil || picked(p, e.Joint[j], float64(r.Float32())))
		}
	})
	return all
}

// goals gives every env beliefs of its own, sure ones that differ by co-player, draws
// goals again and again, and holds how often each hypothesis is drawn against them.
func (s *searched) goals() {
	const draws = 400
	kinds := len(s.beliefs) / len(s.envs) / len(s.others)
	if kinds < 2 || !s.sure(kinds) {
		return
	}
	for i := range s.envs {
		lo, _ := s.trees(i)
		count := make([][]int, len(s.others))
		for j := range count {
			count[j] = make([]int, kinds)
		}
		for d := range draws {
			r := stream("goals", d)
			s.journal.Model.Goals(int32(lo), &r)
			for j, name := range s.named.Of(int32(lo)) {
				switch {
				case int(name) == s.doubt:
					count[j][s.doubt]++
				case s.Hop.Goals.OfKinds() && len(s.pop.kinds) == 0:
					count[j][0]++
				case s.Hop.Goals.OfKinds():
					if g := s.kind(int32(lo), j); g >= 0 {
						count[j][g]++
					}
				case int(name) < kinds && name >= 0:
					count[j][name]++
				}
			}
		}
		s.points(i)
		for j := range s.others {
			b := surely(int(s.envs[i]), j, kinds)
			s.took(drawsGoals, draws)
			for g, c := range count[j] {
				if Unlikely(c, draws, b[g]) {
					s.wrong(drawsGoals, s.a, "hypothesis %d about agent %d is drawn in %d of %d trees, its posterior is "+
						"%.3f%s", g, s.others[j], c, draws, b[g], s.drawnFrom(count[j], draws, kinds, i, j))
					break
				}
			}
		}
	}
}

// drawnFrom names the posterior that draws agree with in place of the right one.
func (s *searched) drawnFrom(count []int, draws, kinds, i, j int) string {
	fits := func(b func(g int) float64) bool {
		for g, c := range count {
			if Unlikely(c, draws, b(g)) {
				return false
			}
		}
		return true
	}
	if fits(func(int) float64 { return 1 / float64(kinds) }) {
		return ": they are drawn as if all were equally likely"
	}
	for o := range s.others {
		if b := surely(int(s.envs[i]), o, kinds); o != j && fits(func(g int) float64 { return b[g] }) {
			return fmt.Sprintf(": they follow what is believed of agent %d", s.others[o])
		}
	}
	for n := range s.v.Envs {
		if b := surely(n, j, kinds); n != int(s.envs[i]) && fits(func(g int) float64 { return b[g] }) {
			return fmt.Sprintf(": they follow the beliefs of env %d, not of env %d", n, s.envs[i])
		}
	}
	return ""
}

// surely is a belief that tells envs and co-players apart.
func surely(n, j, kinds int) []float64 {
	b := make([]float64, kinds)
	likely := 0.6 + 0.35*float64(n%5)/4
	for g := range b {
		b[g] = (1 - likely) / float64(kinds-1)
	}
	b[(n/5+j)%kinds] = likely
	return b
}

// sure lets the mind believe so, until it is put back.
func (s *searched) sure(kinds int) bool {
	f := &safetensors.File{}
	if s.saver.Save(f, "") != nil {
		return false
	}
	t, ok := f.Get("beliefs")
	if !ok || len(t.Data)%s.v.Envs != 0 {
		return false
	}
	size := len(t.Data) / s.v.Envs
	var data []byte
	for n := range s.v.Envs {
		b := belief.New(s.Hop.Belief, 1, len(s.others), kinds)
		if b.UnmarshalBinary(t.Data[n*size:(n+1)*size]) != nil {
			return false
		}
		for j := range s.others {
			copy(b.At(0, j), surely(n, j, kinds))
		}
		data, _ = b.AppendBinary(data)
	}
	changed := &safetensors.File{Meta: f.Meta}
	for _, one := range f.Tensors {
		if one.Name == "beliefs" {
			changed.PutBytes(one.Name, data)
			continue
		}
		changed.Tensors = append(changed.Tensors, one)
	}
	return s.saver.Load(changed, "") == nil
}

// Unlikely reports that so many of n draws of probability p happen less often than
// once in a thousand million (Chernoff's bound).
func Unlikely(count, n int, p float64) bool {
	q := float64(count) / float64(n)
	kl := 0.
	if q > 0 {
		kl += q * math.Log(q/max(p, 1e-12))
	}
	if q < 1 {
		kl += (1 - q) * math.Log((1-q)/max(1-p, 1e-12))
	}
	return float64(n)*kl > math.Log(2e9)
}

// population is whom a co-player may be: those of whom the response network was told, or
// the partners of leaves.
type population struct {
	who    []string
	kinds  []int32 // [hypotheses] with latent goals or contexts: each one's number among them
	random int32   // who of them stands for acting at random
}

func populationOf(m pretrained.Models, c *hop.Config) population {
	p := population{who: m.Population}
	switch {
	case len(p.who) == 0 && c.Leaf.Kind != "net":
		p.who = c.Leaf.Partners
	case len(p.who) == 0 && m.Sequence != nil:
		p.who = m.Sequence.Kinds
	}
	p.random = int32(len(p.who) - 1)
	for i, name := range p.who {
		switch {
		case name == "random":
			p.random = int32(i)
		case c.Goals.OfKinds() && (m.Sequence == nil || !m.Sequence.Untyped):
			p.kinds = append(p.kinds, int32(i))
		}
	}
	return p
}

// untyped reports that nothing is asked of a co-player but what has been read of it.
func (s *searched) untyped() bool { return s.models.Sequence != nil && s.models.Sequence.Untyped }

// pointLen returns how many numbers a point, or a context, has.
func (s *searched) pointLen() int {
	if s.models.Sequence != nil {
		return s.models.Sequence.ReadLen()
	}
	return s.models.VAE.Width()
}

// kind returns the hypothesis that was drawn for co-player j of a tree, by what the model
// of others is given: the point, then the kind, one-hot; -1 if there is no such kind.
func (s *searched) kind(tree int32, j int) int {
	hot := s.vector.Vector(tree, j, s.named.Of(tree)[j])[s.pointLen():][:len(s.pop.kinds)]
	g := slices.Index(hot, 1)
	for k, x := range hot {
		if k != g && x != 0 {
			return -1
		}
	}
	return g
}

// points draws goals again and again and holds the points against what is inferred: of a
// number's distance from its mean, in standard deviations, neither sum nor sum of squares
// is likely to be off by more than 6.1 of their own.
func (s *searched) points(i int) {
	const draws = 400
	b, ok := s.Player.(learner.Believing)
	if !s.Hop.Goals.OfKinds() || !ok {
		return
	}
	lo, _ := s.trees(i)
	d, classes := s.pointLen(), s.models.VAE != nil && s.models.VAE.Discrete > 0
	sum, square, rows := make([]float64, len(s.others)*d), make([]float64, len(s.others)*d), make([]float64, len(s.others))
	for t := range draws {
		r := stream("points", t)
		s.journal.Model.Goals(int32(lo), &r)
		for j := range s.others {
			name := s.named.Of(int32(lo))[j]
			if int(name) == s.doubt {
				continue
			}
			rows[j]++
			held := b.Believes(int(s.envs[i]), j)
			for k, z := range s.vector.Vector(int32(lo), j, name)[:d] {
				sd := s.Hop.Goals.Spread * float64(held.Spread[k])
				if p := float64(held.Mean[k]); classes { // a class is drawn with its probability
					sd = math.Sqrt(p * (1 - p))
				}
				off := (float64(z) - float64(held.Mean[k])) / max(sd, 1e-9)
				if sd == 0 && math.Abs(float64(z)-float64(held.Mean[k])) < 1e-4 {
					off = 0
				}
				sum[j*d+k] += off
				square[j*d+k] += off * off
			}
		}
	}
	for j, n := range rows {
		s.took(drawsGoals, int(n))
		held := b.Believes(int(s.envs[i]), j)
		for k := range d {
			x, xx := sum[j*d+k], square[j*d+k]-n
			wide := s.Hop.Goals.Spread > 0 && held.Spread[k] > 0 && !classes
			if classes && math.Abs(float64(held.Mean[k])-0.5) > 0.48 {
				continue // too seldom, or too often, to tell by so many draws
			}
			// A sum of squares has a longer tail than a normal one (Laurent and Massart 2000).
			if math.Abs(x) > 6.1*math.Sqrt(n)+1e-2 || wide && (xx > 2*math.Sqrt(n*21)+2*21 || xx < -2*math.Sqrt(n*21)) {
				s.wrong(drawsGoals, s.a, "number %d of the points drawn for agent %d is off from what is inferred by %.2f on the mean "+
					"and %.2f in square, in standard deviations, over %.0f draws", k, s.others[j], x/max(n, 1), square[j*d+k]/max(n, 1), n)
				break
			}
		}
	}
}

// misnamed names the slip by which the response network was told of others than were
// drawn.
func (s *searched) misnamed(i int, tree int32, e *search.Entry) string {
	if s.q[valuesLeaves].says != "" || s.kept || len(s.pop.kinds) == 0 {
		return ""
	}
	number := func(t int32, j int) int32 { // as it ought to be
		if name := s.named.Of(t)[j]; int(name) == s.doubt {
			return s.pop.random
		}
		if g := s.kind(t, j); g >= 0 {
			return s.pop.kinds[g]
		}
		return -1
	}
	try := func(who func(j int) int32) bool {
		read := make([]int32, len(s.others))
		for j := range read {
			if read[j] = who(j); int(read[j]) >= len(s.pop.who) {
				return false
			}
		}
		l, v := s.reply.at(s.obs, s.botsOf(i, tree, e.Query.Slot, read))
		return is(e, l, v)
	}
	var names []string
	if try(func(int) int32 { return -1 }) {
		names = append(names, "without saying who the others are")
	}
	if try(func(j int) int32 {
		if int(s.named.Of(tree)[j]) == s.doubt {
			return int32(s.doubt)
		}
		return int32(s.kind(tree, j))
	}) {
		names = append(names, "by the numbers of hypotheses, not of the population")
	}
	if try(func(j int) int32 {
		if n := number(tree, j); n != s.pop.random {
			return n
		}
		return int32(len(s.pop.who) - 1)
	}) {
		names = append(names, fmt.Sprintf("with %s for whoever acts at random", s.pop.who[len(s.pop.who)-1]))
	}
	for k, name := range s.pop.who {
		if try(func(int) int32 { return int32(k) }) {
			names = append(names, "as if all were "+name)
		}
		if try(func(j int) int32 {
			if n := number(tree, j); int(n) != k {
				return n
			}
			return s.pop.random
		}) && int32(k) != s.pop.random {
			names = append(names, fmt.Sprintf("with %s told as acting at random", name))
		}
	}
	lo, hi := s.trees(i)
	for t := lo; t < hi && len(names) == 0; t++ {
		if t != int(tree) && try(func(j int) int32 { return number(int32(t), j) }) {
			names = append(names, fmt.Sprintf("by what was drawn for tree %d", t))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ": it is what the network says " + names[0]
}
