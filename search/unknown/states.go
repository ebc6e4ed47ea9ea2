package unknown

import (
	"math"
	"sync"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/script"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/rng"
)

// states keeps what the futures of one decision meet: most of them go through states where others have been,
// by steps that others have made. Of a state it keeps how likely each co-player's habits are, and of a step where
// it leads and what it pays. A future that goes where others have been plays none of the game's rules; they are
// caught up with where it leaves their track; and one that comes to where another has been, by the same script
// and with the same draws ahead, ends as that did. Sizes are fixed and what is in the way is forgotten: what is drawn
// does not depend on it.
//
// There are such states for games that have keys, are deterministic and are played on a board.
type states struct {
	decision uint64 // names it
	root     name
	key      game.Key // the last one asked for

	states []state
	weight []weight // [states][others]
	steps  []taken
	ends   []end
	trail  []uint64 // names of where the future under way has been
	timely places   // for those who read the clock: named as states are
}

// name is what a state is known by: what its future depends on, in this decision; and its place, in this episode.
type name struct{ state, place uint64 }

// state is what is kept of one.
type state struct {
	name
	alive   uint64 // a bit for each seat that is there
	weighed uint32 // a bit for each co-player whose habits are
	time    uint8  // as a situation has it
}

// weight is how likely each habit is, up to their sum.
type weight struct {
	all f32.Sixteen
	sum float32
}

// taken is a step: where it leads, and what it pays.
type taken struct {
	name uint64
	to   name
	pays float32
}

// end is how a future ended.
type end struct {
	name uint64 // of where it has been, with the script, what it had earned and the draws ahead
	sum  float64
	r    rng.Rand // the draws that it left
}

// The logarithms of how many of them are kept.
const (
	stateLog = 12
	stepLog  = 12
	endLog   = 12
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

// newStates returns room for what the futures of a decision meet.
func (l *life) newStates() *states {
	const n, m = 1 << stateLog, 1 << stepLog
	others := len(l.joint) - 1
	return &states{states: make([]state, n), weight: make([]weight, n*others), steps: make([]taken, m),
		ends: make([]end, 1<<endLog), trail: make([]uint64, 0, 64), timely: l.kept.more()}
}

// begin lets a life keep what the futures of a decision meet.
func (p *Plan) begin(l *life, decision uint64) {
	if l.kept == nil {
		return
	}
	if l.states = p.free.take(); l.states == nil {
		l.states = l.newStates()
	}
	s := l.states
	s.decision = fold(1, decision)
	s.root = s.name(l.before)
	if now := (moment{l.episodes, s.key.Episode}); now != l.known || now.board == 0 {
		l.kept.clear()
		l.known = now
	}
}

// end ends it.
func (p *Plan) end(l *life) {
	if l.states != nil {
		p.free.give(l.states)
		l.states = nil
	}
}

// name returns what a state is known by.
func (s *states) name(st game.State) name {
	key := &s.key
	st.(game.Keyed).Key(key, game.ReadsLast)
	h := fold(1, key.Left)
	for at := 0; at < len(key.Seats); at += 4 {
		word := uint64(0)
		for i, x := range key.Seats[at : at+4] {
			word |= uint64(x&game.KeyPlace) << (16 * i)
		}
		h = fold(h, word)
	}
	return name{fold(fold(s.decision, h), uint64(key.Clock)) | 1, h | 1}
}

// fold adds a number to a hash.
func fold(h, x uint64) uint64 {
	h = (h ^ x) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

// along plays an episode on in a future, as play does, along what is kept.
func (l *life) along(own agent.ID, act int32, script int) float64 {
	s, me, sum := l.states, l.seat[own], 0.
	l.path, l.caught, l.shown, s.trail = l.path[:0], -1, -1, s.trail[:0]
	met := act != game.NoAction // futures of other first actions have the same draws ahead
	for at := l.state(s.root); at.alive>>me&1 != 0; act = game.NoAction {
		if act == game.NoAction {
			if met {
				name := l.ahead(at, script, me, sum)
				if e := &s.ends[name>>(64-endLog)]; e.name == name {
					sum, l.r = e.sum, e.r
					break
				}
				s.trail = append(s.trail, name)
			}
			act = l.answer(at, script, me)
		}
		for b, seat := range l.seat {
			switch {
			case at.alive>>seat&1 == 0:
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
	for _, name := range s.trail {
		s.ends[name>>(64-endLog)] = end{name, sum, l.r}
	}
	return sum
}

// ahead returns the name of all that what follows depends on, the last actions of the others among it.
func (l *life) ahead(at *state, script int, me game.Seat, sum float64) uint64 {
	hi, lo := l.r.Position()
	last := uint64(script)
	for s, k := range l.path[len(l.path)-len(l.joint):] {
		if game.Seat(s) != me {
			last = last<<8 | uint64(uint8(k+1))
		}
	}
	return fold(fold(fold(fold(at.name.state, hi), lo), last), math.Float64bits(sum)) | 1
}

// state returns what is kept of a state; the path leads there.
func (l *life) state(by name) *state {
	at := &l.states.states[by.state>>(64-stateLog)]
	if at.name == by {
		return at
	}
	l.catchUp()
	*at = state{name: by, time: clock(l.sim.(script.State))}
	for seat := range l.seat {
		if l.sim.Alive(game.Seat(seat)) {
			at.alive |= 1 << seat
		}
	}
	return at
}

// next returns where the joint action leads, which the path then ends with, and what it pays.
func (l *life) next(from *state, me game.Seat) (to *state, pays float32) {
	all := uint64(0)
	for _, k := range l.joint {
		all = all<<8 | uint64(uint8(k+1))
	}
	l.path = append(l.path, l.joint...)
	by := fold(from.name.state, all) | 1
	at := &l.states.steps[by>>(64-stepLog)]
	if at.name != by {
		l.catchUp()
		*at = taken{by, l.states.name(l.sim), l.rewards[me]}
	}
	return l.state(at.to), at.pays
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

// at returns what is known of a state's place, and where; for those who read the clock, of the state.
func (l *life) at(in *state, timely bool) (of *places, at int) {
	if timely {
		return &l.states.timely, l.states.timely.at(in.name.state)
	}
	return l.kept, l.kept.at(in.name.place)
}

// answer lets a script act.
func (l *life) answer(in *state, script int, me game.Seat) int32 {
	p, place := l.at(in, l.kept.script[script].timely)
	at := &p.answers[place*p.scripts+script]
	if !at.known {
		l.catchUp()
		if at.known = true; p.script[script].even {
			at.marks = l.script[script].(game.Marker).Marks(l.sim, me)
		} else {
			l.script[script].(game.Policy).Probs(l.sim, me, l.probs[:l.actions])
			at.row = l.row()
		}
	}
	if p.script[script].even {
		return game.UniformOf(at.marks, &l.r)
	}
	return l.rows.draw(at.row, &l.r)
}

// drawn lets a co-player act, as draw does.
func (l *life) drawn(in *state, seat, me game.Seat, who int) int32 {
	p, place := l.at(in, false)
	w := &l.states.weight[int(in.name.state>>(64-stateLog))*p.others+who]
	if in.weighed>>who&1 == 0 {
		x := &p.situations[place*p.others+who]
		if x.n == 0 {
			l.show()
			*x = l.look(seat, me, l.last)
		}
		x.on[clockAt] = clockAt + in.time
		w.all, w.sum = l.model.shares(x, who)
		in.weighed |= 1 << who
	}
	habit := pick(&w.all, w.sum, len(l.habits), &l.r)
	h := p.habit[habit]
	if h.timely {
		p, place = l.at(in, true)
	}
	if h.lastly {
		h.at += int(l.played(seat)) + 1
	}
	row := &p.does[(place*p.others+who)*p.each+h.at]
	if *row == 0 {
		l.show()
		l.habits[habit].Probs(l.st, seat, l.probs[:l.actions])
		*row = l.row()
	}
	return l.rows.draw(*row, &l.r)
}

// played returns a seat's last action where the path has led.
func (l *life) played(seat game.Seat) int32 {
	if len(l.path) == 0 {
		return l.before.(script.State).Played(seat)
	}
	return l.path[len(l.path)-len(l.joint)+int(seat)]
}
