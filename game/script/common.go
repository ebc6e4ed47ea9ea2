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
