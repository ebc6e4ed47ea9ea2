package unknown

import (
	"math"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/script"
	"github.com/hop-marl/hop/num/rng"
)

// places keeps what is known of places for an episode: states that differ in the clock alone are in one place.
// What is in the way is forgotten.
type places struct {
	names      []uint64
	answers    []answer    // [places][scripts]
	situations []situation // [places][others] as the clock was where it was looked at; of none holds nothing: not known
	does       []uint16    // [places][others][each] the row of what each habit does; 0: not known

	scripts, others, each int // how many, and rows a co-player
	habit                 []habit
	script                []asked
}

// moment is what places are kept for: an episode, and the board of it.
type moment struct {
	episodes int
	board    uint64 // 0: it may be any other
}

// placeLog is the logarithm of how many places are kept.
const placeLog = 10

// answer is what a script does: it draws from some actions alike, or by a row.
type answer struct {
	marks uint64
	row   uint16
	known bool
}

// habit says where its probabilities are: in one row, or one for each last action, the first for none.
type habit struct {
	at             int
	lastly, timely bool // it reads its last action, the clock
}

// asked says how a script draws.
type asked struct {
	even   bool // from some actions alike
	timely bool // it reads the clock
}

// newPlaces returns room for what is known of a life's places; nil where what somebody does does not follow from keys.
func (l *life) newPlaces() *places {
	keyed, ok := l.sim.(game.Keyed)
	var key game.Key
	if !ok || l.things == 0 || !keyed.Key(&key, game.ReadsLast) || l.lang.Actions != l.actions {
		return nil
	}
	p := &places{scripts: len(l.script), others: len(l.joint) - 1}
	for _, b := range l.habits {
		s, ok := b.(*script.Player)
		if !ok || s.Reads()&game.ReadsDone != 0 {
			return nil
		}
		h := habit{p.each, s.Reads()&game.ReadsLast != 0, s.Reads()&game.ReadsClock != 0}
		if p.each++; h.lastly {
			p.each += l.actions
		}
		p.habit = append(p.habit, h)
	}
	for _, b := range l.script {
		_, even := b.(game.Marker)
		s, says := b.(*script.Player)
		if !even && !says || says && s.Reads()&^game.ReadsClock != 0 {
			return nil
		}
		r, ok := b.(game.Reader)
		p.script = append(p.script, asked{even, !ok || r.Reads()&game.ReadsClock != 0})
	}
	*p = p.more()
	return p
}

// more returns as much room, with nothing in it.
func (p *places) more() places {
	const n = 1 << placeLog
	m := *p
	m.names, m.answers = make([]uint64, n), make([]answer, n*p.scripts)
	m.situations, m.does = make([]situation, n*p.others), make([]uint16, n*p.others*p.each)
	return m
}

// at returns the number of a place.
func (p *places) at(name uint64) int {
	at := int(name >> (64 - placeLog))
	if p.names[at] != name {
		p.names[at] = name
		clear(p.answers[at*p.scripts : (at+1)*p.scripts])
		clear(p.situations[at*p.others : (at+1)*p.others])
		clear(p.does[at*p.others*p.each : (at+1)*p.others*p.each])
	}
	return at
}

// clear forgets all.
func (p *places) clear() { clear(p.names) }

// rows are the probabilities of actions that have been met, each once; the first is none.
type rows struct {
	probs   []float32 // [rows][actions]
	sure    []int8    // [rows] the only action that is ever drawn, or none
	by      [1 << rowLog]uint16
	actions int
}

// rowLog is the logarithm of the places of rows by their hashes; half of them are filled at most.
const rowLog = 11

const none = -1

func newRows(actions int) rows {
	return rows{actions: actions, probs: make([]float32, actions, actions<<(rowLog-1)), sure: make([]int8, 1, 1<<(rowLog-1))}
}

// clear forgets all.
func (t *rows) clear() {
	t.probs, t.sure, t.by = t.probs[:t.actions], t.sure[:1], [1 << rowLog]uint16{}
}

// full reports whether there is no room for one more.
func (t *rows) full() bool { return len(t.sure) == cap(t.sure) }

// number returns the number of a row, which is kept.
func (t *rows) number(probs []float32) uint16 {
	h := uint64(1)
	for _, x := range probs {
		h = fold(h, uint64(math.Float32bits(x)))
	}
	at := h >> (64 - rowLog)
	for t.by[at] != 0 && !slices.Equal(t.row(t.by[at]), probs) {
		at = (at + 1) % (1 << rowLog)
	}
	if t.by[at] == 0 {
		t.by[at] = uint16(len(t.sure))
		t.probs, t.sure = append(t.probs, probs...), append(t.sure, certain(probs))
	}
	return t.by[at]
}

// row returns a row by its number.
func (t *rows) row(n uint16) []float32 { return t.probs[int(n)*t.actions : (int(n)+1)*t.actions] }

// draw draws by a row, as game.Sample does.
func (t *rows) draw(n uint16, r *rng.Rand) int32 {
	if k := t.sure[n]; k != none {
		r.Uint64()
		return int32(k)
	}
	return game.Sample(t.row(n), r)
}

// certain returns the only action that is ever drawn, or none.
func certain(probs []float32) int8 {
	sure := none
	for k, p := range probs {
		switch {
		case p <= 0:
		case sure != none:
			return none
		default:
			sure = k
		}
	}
	return int8(sure)
}

// row returns the number of the row of what has just been asked for. Where there is no room for it all is forgotten.
func (l *life) row() uint16 {
	if l.rows.full() {
		l.rows.clear()
		l.kept.clear()
		l.states.timely.clear()
	}
	return l.rows.number(l.probs[:l.actions])
}
