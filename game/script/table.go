package script

import "github.com/hop-marl/hop/game"

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
