package unknown

import (
	"sync"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/script"
)

// states keeps what the futures of one decision meet: most of them go through states where others have been,
// by steps that others have made. Of a state it keeps how likely each co-player's habits are, what each of
// them does there and what the scripts do, and of a step where it leads and what it pays. A future that goes
// where others have been plays none of the game's rules; they are caught up with where it leaves their track.
// Sizes are fixed and what is in the way is forgotten: what is drawn does not depend on it.
//
// There are such states for games that have keys, are deterministic and are played on a board.
type states struct {
	decision uint64 // names it
	root     uint64
	key      game.Key // the last one asked for

	// Of each state, by its number.
	tag   []uint64  // names it
	alive []uint64  // a bit for each seat that is there
	asked []uint64  // a bit for each script whose answer is known
	marks []uint64  // [states][scripts] the actions that one who draws evenly draws from
	own   []float32 // [states][scripts][actions] the probabilities of one who does not

	// Of each state and co-player.
	made   []uint64 // a bit for each row that is known; the last one: for the shares
	shares [][maxHabits]float32
	sum    []float32
	rows   []float32 // [states][others][rows][actions] what each habit does

	// Of each step, by its number.
	step []uint64 // names it
	to   []uint64 // the state
	pays []float32

	scripts, others, each int // how many, and rows a co-player
	habit                 []row
	even                  []bool // [scripts] they draw evenly
}

// row says where a habit's probabilities are: in one row, or one for each last action, the first for none.
type row struct {
	at     int
	lastly bool
}

// The logarithms of how many states and steps are kept.
const (
	stateLog = 10
	stepLog  = 12
	sharesAt = 63 // the bit of states.made
)

// free are the states of a plan that nobody uses at the moment: who plans takes some for a decision.
type free struct {
	sync.Mutex
	list []*states
}

func (f *free) take() *states {
	f.Lock()
	defer f.Unlock()
	n := len(f.list)
	if n == 0 {
		return nil
	}
	s := f.list[n-1]
	f.list = f.list[:n-1]
	return s
}

func (f *free) give(s *states) {
	f.Lock()
	f.list = append(f.list, s)
	f.Unlock()
}

// newStates returns room for what the futures of a life meet; nil where what somebody does does not follow from keys.
func (l *life) newStates() *states {
	const n, m = 1 << stateLog, 1 << stepLog
	keyed, ok := l.sim.(game.Keyed)
	var key game.Key
	if !ok || l.things == 0 || !keyed.Key(&key, game.ReadsLast) || l.lang.Actions != l.actions {
		return nil
	}
	s := &states{scripts: len(l.script), others: len(l.joint) - 1}
	for _, h := range l.habits {
		p, ok := h.(*script.Player)
		if !ok || p.Reads()&game.ReadsDone != 0 {
			return nil
		}
		r := row{s.each, p.Reads()&game.ReadsLast != 0}
		if s.each++; r.lastly {
			s.each += l.actions
		}
		s.habit = append(s.habit, r)
	}
	if s.each > sharesAt || s.scripts > 64 {
		return nil
	}
	for _, b := range l.script {
		_, even := b.(game.Marker)
		if p, ok := b.(*script.Player); !even && (!ok || p.Reads() != 0) {
			return nil
		}
		s.even = append(s.even, even)
	}
	s.tag, s.alive, s.asked, s.marks = make([]uint64, n), make([]uint64, n), make([]uint64, n), make([]uint64, n*s.scripts)
	s.own = make([]float32, n*s.scripts*l.actions)
	s.made, s.shares, s.sum = make([]uint64, n*s.others), make([][maxHabits]float32, n*s.others), make([]float32, n*s.others)
	s.rows = make([]float32, n*s.others*s.each*l.actions)
	s.step, s.to, s.pays = make([]uint64, m), make([]uint64, m), make([]float32, m)
	return s
}

// begin lets a life keep what the futures of a decision meet.
func (p *Plan) begin(l *life, decision uint64) {
	if !p.keeps {
		return
	}
	if l.states = p.free.take(); l.states == nil {
		l.states = l.newStates()
	}
	l.states.decision = fold(1, decision)
	l.states.root = l.states.name(l.before)
}

// end ends it.
func (p *Plan) end(l *life) {
	if l.states != nil {
		p.free.give(l.states)
		l.states = nil
	}
}

// name returns what a state is known by: what its future depends on, in this decision.
func (s *states) name(st game.State) uint64 {
	key := &s.key
	st.(game.Keyed).Key(key, game.ReadsLast)
	h := fold(fold(s.decision, key.Left), uint64(key.Clock))
	for at := 0; at < len(key.Seats); at += 4 {
		word := uint64(0)
		for i, x := range key.Seats[at : at+4] {
			word |= uint64(x&game.KeyPlace) << (16 * i)
		}
		h = fold(h, word)
	}
	return h | 1
}

// fold adds a number to a hash.
func fold(h, x uint64) uint64 {
	h = (h ^ x) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

// along plays an episode on in a future, as play does, along what is kept.
func (l *life) along(own agent.ID, act int32, script int) float64 {
	s, me, sum := l.states, l.seat[own], 0.
	l.path, l.caught, l.shown = l.path[:0], -1, -1
	for at := l.state(s.root); s.alive[at]>>me&1 != 0; act = game.NoAction {
		if act == game.NoAction {
			act = l.answer(at, script, me)
		}
		for b, seat := range l.seat {
			switch {
			case s.alive[at]>>seat&1 == 0:
				l.joint[seat] = game.NoAction
			case agent.ID(b) == own:
				l.joint[seat] = act
			default:
				l.joint[seat] = l.drawn(at, seat, me, other(b, own))
			}
		}
		var pays float32
		at, pays = l.next(at, me)
		sum += float64(pays)
	}
	return sum
}

// state returns the number of a state by its name; the path leads there.
func (l *life) state(name uint64) int {
	s := l.states
	at := int(name >> (64 - stateLog))
	if s.tag[at] == name {
		return at
	}
	l.catchUp()
	s.tag[at], s.alive[at], s.asked[at] = name, 0, 0
	for seat := range l.seat {
		if l.sim.Alive(game.Seat(seat)) {
			s.alive[at] |= 1 << seat
		}
	}
	clear(s.made[at*s.others : (at+1)*s.others])
	return at
}

// next returns where the joint action leads, which the path then ends with, and what it pays.
func (l *life) next(from int, me game.Seat) (at int, pays float32) {
	s, all := l.states, uint64(0)
	for _, k := range l.joint {
		all = all<<8 | uint64(uint8(k+1))
	}
	l.path = append(l.path, l.joint...)
	name := fold(s.tag[from], all) | 1
	i := int(name >> (64 - stepLog))
	if s.step[i] != name {
		l.catchUp()
		s.step[i], s.to[i], s.pays[i] = name, s.name(l.sim), l.rewards[me]
	}
	return l.state(s.to[i]), s.pays[i]
}

// catchUp plays the path by the game's rules, as far as that has not been done.
func (l *life) catchUp() {
	n := len(l.joint)
	if l.caught < 0 {
		l.sim.CopyFrom(l.before)
		l.caught = 0
	}
	for ; l.caught < len(l.path); l.caught += n {
		l.sim.Step(l.path[l.caught:l.caught+n], l.rewards, &l.r)
	}
}

// show catches up and lets the model look.
func (l *life) show() {
	if l.catchUp(); l.shown != l.caught {
		l.set(l.sim)
		l.shown = l.caught
	}
}

// answer lets a script act.
func (l *life) answer(state, script int, me game.Seat) int32 {
	s, at := l.states, state*l.states.scripts+script
	probs := s.own[at*l.actions : (at+1)*l.actions]
	if s.asked[state]>>script&1 == 0 {
		s.asked[state] |= 1 << script
		l.catchUp()
		if b := l.script[script]; s.even[script] {
			s.marks[at] = b.(game.Marker).Marks(l.sim, me)
		} else {
			b.(game.Policy).Probs(l.sim, me, probs)
		}
	}
	if s.even[script] {
		return game.UniformOf(s.marks[at], &l.r)
	}
	return game.Sample(probs, &l.r)
}

// drawn lets a co-player act, as draw does.
func (l *life) drawn(state int, seat, me game.Seat, who int) int32 {
	s, at := l.states, state*l.states.others+who
	if s.made[at] == 0 {
		l.show()
		x := l.look(seat, me, l.last)
		s.shares[at], s.sum[at] = l.model.shares(&x, who)
		s.made[at] = 1 << sharesAt
	}
	habit := pick(&s.shares[at], s.sum[at], len(l.habits), &l.r)
	row := s.habit[habit].at
	if s.habit[habit].lastly {
		row += int(l.played(seat)) + 1
	}
	lo := (at*s.each + row) * l.actions
	probs := s.rows[lo : lo+l.actions]
	if s.made[at]>>row&1 == 0 {
		s.made[at] |= 1 << row
		l.show()
		l.habits[habit].Probs(l.st, seat, probs)
	}
	return game.Sample(probs, &l.r)
}

// played returns a seat's last action where the path has led.
func (l *life) played(seat game.Seat) int32 {
	if len(l.path) == 0 {
		return l.before.(script.State).Played(seat)
	}
	return l.path[len(l.path)-len(l.joint)+int(seat)]
}
