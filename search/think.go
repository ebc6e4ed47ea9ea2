package search

import "slices"

// Thought is one decision as a person may look at it.
type Thought struct {
	Posteriors []Posterior // what is believed of each co-player, in the order of Others
	Visits     []int32     // [Actions] of all trees
	Q          []float32   // [Actions] 0 where never tried
	Prior      []float32   // [Actions] 0 where not legal
	Policy     []float32   // [Actions]
	Value      float32
	Line       []Move
	Made       bool   // the policy was moved by a plan against models of the others that were made while playing
	Script     string // that plays this episode in its place, because what was expected has been refuted; empty: none
}

// Posterior is a belief about one co-player.
type Posterior struct {
	Seat  int
	Left  bool
	Names []string // what it may be, or be after
	Probs []float64
	// Expected is what it is expected to do now, [Actions], by belief and model; zero if it has
	// left, nil if nobody can say.
	Expected []float64
}

// Move is one step of the line that a search expects.
type Move struct {
	Action int32
	Others []int32 // -1 for who has left; nil if the search does not know
	Visits int32   // of the trees that take the line so far
	Over   bool    // nothing is left to decide after it
}

// Trace makes searches keep what co-players do on every edge, for Line.
func (f *Forest) Trace() {
	if f.joint == nil {
		f.joint = make([]int32, f.Slots()*f.Others)
	}
}

// Think returns copies of decision env's results, and its line. Posteriors are the
// caller's to add.
func (f *Forest) Think(env, most int) Thought {
	lo, hi := env*f.Actions, (env+1)*f.Actions
	return Thought{
		Visits: slices.Clone(f.Visits[lo:hi]), Q: slices.Clone(f.Q[lo:hi]), Prior: slices.Clone(f.Prior[lo:hi]),
		Policy: slices.Clone(f.Policy[lo:hi]), Value: f.Value[env], Line: f.Line(env, most),
	}
}

// Line returns the steps that the last search expects of decision env, at most
// so many: first the policy's likeliest action, then always the one that the
// trees visited most, each with the joint action of the co-players that most of
// the trees drew there. From then on only those trees are looked at, so the line
// is one that they contain. It knows the trees of the last group that was
// searched, so it wants a group that holds all trees of a decision, and nothing
// beyond the first action when equal states are one node.
func (f *Forest) Line(env, most int) []Move {
	var at []int32 // the node that each tree has come to
	for i := range f.live {
		if int(f.lane[i].tree)/f.Trees == env && f.nodes[i*f.stride].legal != 0 {
			at = append(at, int32(i*f.stride))
		}
	}
	first := int32(0)
	for k, p := range f.Policy[env*f.Actions : (env+1)*f.Actions] {
		if p > f.Policy[env*f.Actions+int(first)] {
			first = int32(k)
		}
	}
	var line []Move
	for len(at) > 0 && len(line) < most {
		sum := make([]int32, f.Actions)
		for _, slot := range at {
			if n := &f.nodes[slot]; !n.over && !n.shut {
				for k := range sum {
					sum[k] += f.edges[int(slot)*f.row+k].n
				}
			}
		}
		m := Move{Action: first}
		if len(line) > 0 {
			for k := range sum {
				if sum[k] > sum[m.Action] {
					m.Action = int32(k)
				}
			}
		}
		if m.Visits = sum[m.Action]; m.Visits == 0 {
			break
		}
		at = f.along(at, &m)
		line = append(line, m)
	}
	return line
}

// along moves to the children that a move leads to, in the trees that agree on
// what the others do, and writes that.
func (f *Forest) along(at []int32, m *Move) []int32 {
	var kids []int32
	for _, slot := range at {
		if n := &f.nodes[slot]; n.over || n.shut {
			continue
		}
		if kid := f.edges[int(slot)*f.row+int(m.Action)].child; kid >= 0 {
			kids = append(kids, slot-slot%int32(f.stride)+kid%int32(f.stride)) // parts count slots from their own first
		}
	}
	if f.joint == nil || len(kids) == 0 {
		m.Over = len(kids) > 0 && f.nodes[kids[0]].over
		return kids
	}
	best := 0
	var agreed []int32
	for _, kid := range kids {
		var with []int32
		for _, other := range kids {
			if slices.Equal(f.drawnAt(kid), f.drawnAt(other)) {
				with = append(with, other)
			}
		}
		if len(with) > best {
			best, agreed = len(with), with
		}
	}
	m.Others = slices.Clone(f.drawnAt(agreed[0]))
	m.Over = f.nodes[agreed[0]].over
	return agreed
}

// drawnAt returns what the co-players did on the way into a node.
func (f *Forest) drawnAt(slot int32) []int32 {
	return f.joint[int(slot)*f.Others : (int(slot)+1)*f.Others]
}
