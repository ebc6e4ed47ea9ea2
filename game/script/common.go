package script

import (
	"github.com/hop-marl/hop/game"
)

// choose does one or the other.
type choose struct {
	when      condition
	then, not policy
}

func (a choose) add(n *now, w float32, dst *dist) {
	if a.when.holds(n) {
		a.then.add(n, w, dst)
	} else {
		a.not.add(n, w, dst)
	}
}

// noisy does anything legal now and then.
type noisy struct {
	who   policy
	share float32
}

func (a noisy) add(n *now, w float32, dst *dist) {
	var none game.Mask
	n.spread(&none, w*a.share, dst)
	a.who.add(n, w*(1-a.share), dst)
}

// lazy does again what it did, now and then.
type lazy struct {
	who   policy
	share float32
}

func (a lazy) add(n *now, w float32, dst *dist) {
	if k := n.st.Played(n.s); k >= 0 && n.legal[k] {
		dst[k] += w * a.share
		w *= 1 - a.share
	}
	a.who.add(n, w, dst)
}

// slow decides anew only every so many steps; between it does again what it did, if that is
// legal.
type slow struct {
	who   policy
	every int
}

func (a slow) add(n *now, w float32, dst *dist) {
	if k := n.st.Played(n.s); n.st.Time()%a.every != 0 && k >= 0 && n.legal[k] {
		dst[k] += w
		return
	}
	a.who.add(n, w, dst)
}

// swap does, now and then, as another does.
type swap struct {
	who, other policy
	share      float32
}

func (a swap) add(n *now, w float32, dst *dist) {
	a.other.add(n, w*a.share, dst)
	a.who.add(n, w*(1-a.share), dst)
}

// early holds in the first steps of an episode.
type early struct{ steps int }

func (c early) holds(n *now) bool { return n.st.Time() < c.steps }

// turns holds and does not hold by turns of so many steps.
type turns struct{ steps int }

func (c turns) holds(n *now) bool { return n.st.Time()/c.steps%2 == 0 }

// not holds if the other does not.
type not struct{ when condition }

func (c not) holds(n *now) bool { return !c.when.holds(n) }

// common are the words of every game.
func common() []Word {
	two := func(more ...argument) []argument {
		return append([]argument{{Who, "together"}, {Who, "alone"}}, more...)
	}
	pair := func(build func(at int, a, b policy, n uint16) *memory) func(m *maker, v []value) any {
		return func(m *maker, v []value) any {
			n := uint16(0)
			if len(v) > 2 {
				n = uint16(v[2].number)
			}
			mem := build(len(m.remember), v[0].who, v[1].who, n)
			m.remember = append(m.remember, mem)
			return mem
		}
	}
	return []Word{
		{Name: "if", Kind: Who, Group: Base, args: []argument{{When, ""}, {Who, ""}, {Who, ""}},
			Doc:  "does as one does if it holds, else as the other",
			make: func(_ *maker, v []value) any { return choose{v[0].when, v[1].who, v[2].who} }},
		{Name: "not", Kind: When, Group: Base, args: []argument{{When, ""}}, Doc: "the other does not hold",
			make: func(_ *maker, v []value) any { return not{v[0].when} }},
		{Name: "early", Kind: When, Group: Condition, args: []argument{{Count, ""}},
			Doc:  "in the first so many steps of an episode",
			make: func(_ *maker, v []value) any { return early{int(v[0].number)} }},
		{Name: "turns", Kind: When, Group: Condition, args: []argument{{Count, ""}},
			Doc:  "for so many steps, then not for as many, and so on",
			make: func(_ *maker, v []value) any { return turns{int(v[0].number)} }},
		{Name: "noisy", Kind: Who, Group: Error, args: []argument{{Who, ""}, {Share, ".3"}},
			Doc:  "does anything legal in a share of steps",
			make: func(_ *maker, v []value) any { return noisy{v[0].who, float32(v[1].number)} }},
		{Name: "lazy", Kind: Who, Group: Error, args: []argument{{Who, ""}, {Share, ".3"}},
			Doc:  "does again what it did last in a share of steps",
			make: func(_ *maker, v []value) any { return lazy{v[0].who, float32(v[1].number)} }},
		{Name: "slow", Kind: Who, Group: Error, args: []argument{{Who, ""}, {Count, "2"}},
			Doc:  "decides every so many steps, and does again what it did between",
			make: func(_ *maker, v []value) any { return slow{v[0].who, int(v[1].number)} }},
		{Name: "mix", Kind: Who, Group: Error, args: []argument{{Who, ""}, {Who, ""}, {Share, ".5"}},
			Doc:  "does as the second in a share of steps",
			make: func(_ *maker, v []value) any { return swap{v[0].who, v[1].who, float32(v[2].number)} }},
		{Name: "wsls", Kind: Who, Group: Memory, args: two(),
			Doc:  "win stay, lose shift: the other way after an episode that went badly",
			make: pair(winStay)},
		{Name: "grim", Kind: Who, Group: Memory, args: two(argument{Count, "1"}),
			Doc:  "the first way until the others were unkind in so many episodes, then the second for ever",
			make: pair(grim)},
		{Name: "tft", Kind: Who, Group: Memory, args: two(),
			Doc:  "tit for tat: the first way after an episode in which others were kind, else the second",
			make: pair(titForTat)},
		{Name: "copies", Kind: Who, Group: Memory, args: two(), Doc: "the way of whoever did best in the last episode",
			make: pair(copies)},
		{Name: "quits", Kind: Who, Group: Memory, args: two(argument{Count, "3"}),
			Doc:  "gives the first way up for ever after so many bad episodes in a row",
			make: pair(quits)},
		{Name: "forgives", Kind: Who, Group: Memory, args: two(argument{Count, "2"}),
			Doc:  "the second way for so many episodes after an unkind one, then the first again",
			make: pair(forgives)},
		{Name: "tests", Kind: Who, Group: Memory, args: two(argument{Count, "4"}),
			Doc:  "tries the first way every so many episodes, and keeps to it while that goes well",
			make: pair(tests)},
		{Name: "rounds", Kind: Who, Group: Memory, args: two(argument{Count, "5"}),
			Doc:  "so many episodes one way, then as many the other",
			make: pair(rounds)},
	}
}

// slots is how many kinds of goals are told apart.
const slots = 4

// Tally counts which goals the seats reached in an episode.
type Tally struct {
	Done [][slots]uint16 // [seats], at least least
	time int
}

// least is how many seats a tally has room for, whatever the game's: a saved memory has them.
const least = 8

func newTally(seats int) Tally { return Tally{Done: make([][slots]uint16, max(seats, least))} }

// reset forgets an episode.
func (t *Tally) reset() {
	clear(t.Done)
	t.time = 0
}

// see counts what was reached in the last step, once.
func (t *Tally) see(l *Language, st game.State) {
	g, ok := st.(game.Goaler)
	now := st.(State).Time()
	if !ok || now == t.time {
		return
	}
	t.time = now
	for s := range l.Seats {
		if goal := g.Reached(game.Seat(s)); goal >= 0 {
			if l.Slot != nil {
				goal = l.Slot(goal)
			}
			if goal < slots {
				t.Done[s][goal]++
			}
		}
	}
}

// Outcome is how an episode went for a seat.
type Outcome struct {
	Good bool // for itself
	Kind bool // the others were
	Best int  // whose mode did best: 0 the first of the language's pair, 1 the second
}

// memory is a word that does one or the other by what it remembers: mode is 0 or 1, and count
// whatever the word counts.
type memory struct {
	at    int // its place among the numbers that the player keeps
	modes [2]policy
	next  func(mode, count uint16, o *Outcome) (uint16, uint16)
}

func (m *memory) add(n *now, w float32, dst *dist) { m.modes[n.p.mem[m.at]&1].add(n, w, dst) }

// note takes in how an episode went.
func (m *memory) note(mem []uint16, o *Outcome) {
	mode, count := m.next(mem[m.at]&1, mem[m.at]>>1, o)
	mem[m.at] = mode | min(count, 1<<14)<<1
}

func remembering(at int, a, b policy, next func(mode, count uint16, o *Outcome) (uint16, uint16)) *memory {
	return &memory{at, [2]policy{a, b}, next}
}

func winStay(at int, a, b policy, _ uint16) *memory {
	return remembering(at, a, b, func(mode, _ uint16, o *Outcome) (uint16, uint16) {
		if !o.Good {
			mode = 1 - mode
		}
		return mode, 0
	})
}

func grim(at int, a, b policy, n uint16) *memory {
	return remembering(at, a, b, func(mode, count uint16, o *Outcome) (uint16, uint16) {
		if !o.Kind && mode == 0 {
			count++
		}
		if count >= n {
			mode = 1
		}
		return mode, min(count, n)
	})
}

func titForTat(at int, a, b policy, _ uint16) *memory {
	return remembering(at, a, b, func(_, _ uint16, o *Outcome) (uint16, uint16) {
		if o.Kind {
			return 0, 0
		}
		return 1, 0
	})
}

func copies(at int, a, b policy, _ uint16) *memory {
	return remembering(at, a, b, func(_, _ uint16, o *Outcome) (uint16, uint16) { return uint16(o.Best), 0 })
}

func quits(at int, a, b policy, n uint16) *memory {
	return remembering(at, a, b, func(mode, count uint16, o *Outcome) (uint16, uint16) {
		switch {
		case mode == 1:
			return 1, 0
		case o.Good:
			return 0, 0
		case count+1 >= n:
			return 1, 0
		}
		return 0, count + 1
	})
}

func forgives(at int, a, b policy, n uint16) *memory {
	return remembering(at, a, b, func(mode, count uint16, o *Outcome) (uint16, uint16) {
		switch {
		case mode == 1 && count+1 < n:
			return 1, count + 1
		case mode == 1:
			return 0, 0
		case !o.Kind:
			return 1, 0
		}
		return 0, 0
	})
}

func tests(at int, a, b policy, n uint16) *memory {
	return remembering(at, a, b, func(mode, count uint16, o *Outcome) (uint16, uint16) {
		switch {
		case mode == 0 && o.Good:
			return 0, 0
		case count+1 >= n:
			return 0, 0
		}
		return 1, count + 1
	})
}

func rounds(at int, a, b policy, n uint16) *memory {
	return remembering(at, a, b, func(mode, count uint16, _ *Outcome) (uint16, uint16) {
		if count+1 >= n {
			return 1 - mode, 0
		}
		return mode, count + 1
	})
}

// Rounds is a State of two seats who choose at once, round after round, between cooperating,
// action 0, and defecting, action 1.
type Rounds interface {
	State
	// Ago returns what a seat played so many rounds ago, 1 the last; NoAction before the first.
	// Two rounds are kept.
	Ago(s game.Seat, rounds int) int32
	// Times returns how often a seat has played an action.
	Times(s game.Seat, action int32) int
}

// cooperates adds the probability of cooperating.
func cooperates(w, share float32, dst *dist) {
	dst[0] += w * share
	dst[1] += w * (1 - share)
}

// table cooperates with a probability for each outcome of the last rounds, own action first,
// the older round first: CC, CD, DC, DD.
type table struct {
	shares []float32 // 4, or 16 for two rounds
	first  float32   // before there were so many rounds
}

func (a table) add(n *now, w float32, dst *dist) {
	r := n.st.(Rounds)
	at := 0
	for back := len(a.shares)/16 + 1; back > 0; back-- {
		own, other := r.Ago(n.s, back), r.Ago(1-n.s, back)
		if own < 0 {
			cooperates(w, a.first, dst)
			return
		}
		at = at*4 + int(own)*2 + int(other)
	}
	cooperates(w, a.shares[at], dst)
}

// majority cooperates while the other has in at least a share of rounds.
type majority struct{ share float64 }

func (a majority) add(n *now, w float32, dst *dist) {
	r := n.st.(Rounds)
	c, d := r.Times(1-n.s, 0), r.Times(1-n.s, 1)
	if float64(c) >= a.share*float64(c+d) {
		cooperates(w, 1, dst)
	} else {
		cooperates(w, 0, dst)
	}
}

// angry defects once the other has defected so often, for ever.
type angry struct{ times int }

func (a angry) add(n *now, w float32, dst *dist) {
	if n.st.(Rounds).Times(1-n.s, 1) >= a.times {
		cooperates(w, 0, dst)
	} else {
		cooperates(w, 1, dst)
	}
}

// alternates cooperates in every second round, the first among them.
type alternates struct{}

func (alternates) add(n *now, w float32, dst *dist) { cooperates(w, float32(1-n.st.Time()%2), dst) }

// tables are the words of games of rounds.
func tables() []Word {
	shares := func(n int) []argument {
		list := make([]argument, n)
		for i := range list {
			list[i] = argument{Share, ""}
		}
		return append(list, argument{Share, "1"})
	}
	read := func(_ *maker, v []value) any {
		t := table{first: float32(v[len(v)-1].number)}
		for _, x := range v[:len(v)-1] {
			t.shares = append(t.shares, float32(x.number))
		}
		return t
	}
	known := func(name, doc string, first float32, shares ...float32) Word {
		return Word{Name: name, Kind: Who, Group: Table,
			Doc: doc, make: func(*maker, []value) any { return table{shares, first} }}
	}
	return []Word{
		{Name: "m1", Kind: Who, Group: Table, args: shares(4), make: read,
			Doc: "memory one: cooperates with these shares after CC, CD, DC, DD, own action first; and the share in the first round"},
		{Name: "m2", Kind: Who, Group: Table, args: shares(16), make: read,
			Doc: "memory two: cooperates with these shares after CC CC, CC CD, ... DD DD, the older round first; and the share in the " +
				"first two rounds"},
		{Name: "majority", Kind: Who, Group: Table, args: []argument{{Share, ".5"}},
			Doc:  "cooperates while the other has in at least that share of rounds",
			make: func(_ *maker, v []value) any { return majority{v[0].number} }},
		{Name: "angry", Kind: Who, Group: Table, args: []argument{{Count, "2"}},
			Doc:  "cooperates until the other has defected so often, then never again",
			make: func(_ *maker, v []value) any { return angry{int(v[0].number)} }},
		{Name: "alternates", Kind: Who, Group: Table,
			Doc: "cooperates in every second round", make: func(*maker, []value) any { return alternates{} }},
		known("pavlov", "win stay, lose shift by rounds", 1, 1, 0, 0, 1),
		known("gtft", "generous tit for tat: forgives a third", 1, 1, 1./3, 1, 1./3),
		known("stft", "suspicious tit for tat: begins by defecting", 0, 1, 0, 1, 0),
		known("joss", "tit for tat that defects in a tenth of rounds anyway", 1, .9, 0, .9, 0),
		known("bully", "the opposite of the other's last", 0, 0, 1, 0, 1),
		known("fbf", "firm but fair: tit for tat that tries again after both defected", 1, 1, 0, 1, 2./3),
		known("extort", "zero-determinant extortion of factor 2", 1, 8./9, .5, 1./3, 0),
		known("zdgtft", "zero-determinant generosity of factor 2", 1, 1, 1./8, 1, 1./4),
		known("tf2t", "tit for two tats: defects after two defections in a row", 1,
			1, 1, 1, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1, 0, 1, 0),
		known("ttft", "two tits for tat: defects twice after a defection", 1,
			1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0),
	}
}
