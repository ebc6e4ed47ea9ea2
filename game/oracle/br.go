// Package oracle knows the truth about small settings: exact best responses to
// co-players that say how they act, and what a perfect predictor of them could know.
//
// BR solves for a value by expectimax over every state that can follow, so its
// values are what any agent is measured against: regret is V of the start less
// the return, on the same starts. Nothing here learns, and nothing is drawn.
package oracle

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/hop-marl/hop/game"
)

// Solvable returns an error that says why no best response can be computed
// against these co-players in this game, or nil.
func Solvable(g game.Game, others []string) error {
	st, ok := g.New().(game.Keyed)
	var key game.Key
	if spec := g.Spec(); !ok || !spec.Deterministic || spec.Seats > len(key.Seats) || !st.Key(&key, 0) {
		return fmt.Errorf("oracle: no exact best responses are known of %s: its rules draw, or it has more states than can be told apart; "+
			"deterministic games of at most %d seats have them, on boards of at most 15 cells a side", game.Label(g), len(key.Seats))
	}
	var errs []error
	for _, name := range others {
		if _, reads, err := closed(g, name); err != nil {
			errs = append(errs, err)
		} else if !st.Key(&key, reads) {
			errs = append(errs, fmt.Errorf("oracle: best responses: %q acts by what was done earlier, which states of %s do not tell",
				name, game.Label(g)))
		}
	}
	return errors.Join(errs...)
}

// closed makes a co-player that says how it acts and remembers no episodes.
func closed(g game.Game, name string) (game.Policy, game.Reads, error) {
	b, err := game.NewBot(g, name)
	if err != nil {
		return nil, 0, err
	}
	p, ok := b.(game.Policy)
	if _, remembers := b.(game.Watcher); !ok || remembers {
		return nil, 0,
			fmt.Errorf("oracle: best responses: no closed policy for %q: it must say its probabilities and remember no episodes", name)
	}
	return p, readsOf(p), nil
}

// readsOf returns what a policy reads: anything unless it says otherwise.
func readsOf(p game.Policy) game.Reads {
	if r, ok := p.(game.Reader); ok {
		return r.Reads()
	}
	return game.ReadsLast | game.ReadsDone | game.ReadsClock
}

// BR is the exact best response to fixed co-players, by expectimax over a table of
// the states met, played by the game's own rules. Co-players of one name are
// interchangeable where the game's seats are. Answers are kept for as long as the
// episode and the team stay the same. For one goroutine.
type BR struct {
	g        game.Game
	spec     game.Spec
	discount float64
	known    map[string]game.Policy
	team     []string // [seats]
	focal    game.Seat
	policy   []game.Policy // [seats] nil for the focal one
	keep     []uint16      // [seats] which bits of its key count
	group    []int         // [seats] the seat before it of the same name, or -1
	reads    game.Reads
	said     []float32 // [actions] scratch
	episode  uint64

	// end is what the end of an episode is worth besides what was paid; nil: nothing. Then an
	// episode also goes on when the focal seat has left.
	end func(st game.State) float64

	ctx     context.Context             // nil: nothing ends it
	most    struct{ states, steps int } // of a table; 0: any number
	steps   int                         // played for this table
	polled  int                         // states met since ctx was last asked
	stopped error                       // ctx's; the table then holds nonsense
	levels  []*level                    // by steps from the state that was asked about
	table   table
}

// level is a state under way and what can follow.
type level struct {
	st      game.State
	keyed   game.Keyed
	acts    []int32
	rewards []float32
	probs   [][]float64 // [seats][actions]
	legal   []bool
	key     game.Key
}

// NewBR returns a solver with the given discount per step. It refuses games
// whose states cannot be enumerated.
func NewBR(g game.Game, discount float64) (*BR, error) {
	if err := Solvable(g, nil); err != nil {
		return nil, err
	}
	if !(discount >= 0 && discount <= 1) { // NaN is neither
		return nil, fmt.Errorf("oracle: best responses: discount %v, want one from 0 to 1", discount)
	}
	n := g.Spec().Seats
	b := &BR{g: g, spec: g.Spec(), discount: discount, known: map[string]game.Policy{}, focal: -1,
		team: make([]string, n), policy: make([]game.Policy, n), keep: make([]uint16, n), group: make([]int, n),
		said: make([]float32, len(g.Spec().Actions))}
	b.table.reset()
	return b, nil
}

// Until lets ctx end it, and a number of states of an episode and a team that it meets, 0: any:
// Value and Q then return an error, now and from there on. A start against several who play at
// random may take hours; a number of states ends it by its inputs alone, where a clock would not.
func (b *BR) Until(ctx context.Context, states int) {
	b.ctx, b.most.states = ctx, states
}

// Within bounds the steps of the rules that it plays for an episode and a team, as Until does the
// states: what a state takes differs a hundredfold, by how many things the others may do.
func (b *BR) Within(steps int) { b.most.steps = steps }

// Steps returns how many it has played since the episode or the team last changed.
func (b *BR) Steps() int { return b.steps }

// States returns how many states the table holds: those met since the episode or
// the team last changed.
func (b *BR) States() int { return b.table.used }

// Value returns the expected discounted return of the best response of the
// focal seat, at st and from there on, against the named co-players, one a seat; the
// focal seat's own name is not read.
func (b *BR) Value(st game.State, focal game.Seat, names []string) (float64, error) {
	if err := b.begin(st, focal, names); err != nil {
		return 0, err
	}
	v := b.value(0)
	return v, b.stopped
}

// Q writes the best response's value after each action of the focal seat, and
// returns a bit for each legal one; an illegal action's value is 0.
func (b *BR) Q(dst []float64, st game.State, focal game.Seat, names []string) (legal uint, err error) {
	if err := b.begin(st, focal, names); err != nil {
		return 0, err
	}
	clear(dst)
	if st.Over() || !st.Alive(focal) {
		return 0, nil
	}
	b.look(0)
	for k, ok := range b.levels[0].legal {
		if ok {
			legal |= 1 << k
			dst[k] = b.after(0, int32(k))
		}
	}
	return legal, b.stopped
}

// begin takes over the state that is asked about, and starts a new table if the episode or the
// team has changed.
func (b *BR) begin(st game.State, focal game.Seat, names []string) error {
	if len(names) != b.spec.Seats {
		return fmt.Errorf("oracle: best responses: %d names for %d seats", len(names), b.spec.Seats)
	}
	if focal < 0 || int(focal) >= len(names) {
		return fmt.Errorf("oracle: best responses: there is no seat %d", focal)
	}
	changed, err := b.seat(focal, names)
	if err != nil {
		return err
	}
	l := b.level(0)
	l.st.CopyFrom(st)
	var key game.Key
	if !l.keyed.Key(&key, b.reads) {
		return fmt.Errorf("oracle: best responses: these co-players act by what was done earlier, which states of %s do not tell",
			game.Label(b.g))
	}
	if changed || key.Episode != b.episode || key.Episode == 0 {
		b.table.reset()
		b.episode, b.steps = key.Episode, 0
	}
	return nil
}

// seat notes who plays where, and reports whether that has changed.
func (b *BR) seat(focal game.Seat, names []string) (changed bool, err error) {
	changed = b.focal != focal
	for s, name := range names {
		changed = changed || game.Seat(s) != focal && b.team[s] != name
	}
	if !changed {
		return false, nil
	}
	b.focal, b.reads = -1, 0
	for s, name := range names {
		b.policy[s], b.keep[s], b.group[s] = nil, game.KeyPlace, -1
		if game.Seat(s) == focal {
			continue
		}
		p := b.known[name]
		if p == nil {
			if p, _, err = closed(b.g, name); err != nil {
				return true, err
			}
			b.known[name] = p
		}
		b.policy[s], b.team[s] = p, name
		b.reads |= readsOf(p)
		if readsOf(p)&game.ReadsLast != 0 {
			b.keep[s] |= game.KeyLast
		}
		for o := range s {
			if b.spec.Symmetric && game.Seat(o) != focal && names[o] == name {
				b.group[s] = o
			}
		}
	}
	if b.end != nil {
		b.reads |= game.ReadsDone
	}
	if b.reads&game.ReadsDone != 0 {
		for s := range b.keep {
			b.keep[s] |= game.KeyDone
		}
	}
	b.focal = focal
	return true, nil
}

// level returns the place for a state so many steps on.
func (b *BR) level(d int) *level {
	for len(b.levels) <= d {
		n := b.spec.Seats
		st := b.g.New()
		l := &level{st: st, keyed: st.(game.Keyed), acts: make([]int32, n), rewards: make([]float32, n), legal: make([]bool,
			len(b.spec.Actions))}
		for range n {
			l.probs = append(l.probs, make([]float64, len(b.spec.Actions)))
		}
		b.levels = append(b.levels, l)
	}
	return b.levels[d]
}

// value returns the best response's value of the state of a level.
func (b *BR) value(d int) float64 {
	l := b.levels[d]
	acts := l.st.Alive(b.focal)
	switch {
	case b.end == nil && !acts:
		return 0
	case l.st.Over():
		return b.end(l.st)
	}
	if solo, ok := l.st.(game.Solitary); ok && b.end == nil && b.alone(l.st) {
		return solo.Alone(b.focal, b.discount)
	}
	key := &l.key
	l.keyed.Key(key, b.reads)
	b.sort(key)
	k := slotKey{cells: pack(key.Seats[:4]), more: pack(key.Seats[4:]), left: key.Left, clock: key.Clock}
	if v, ok := b.table.get(&k); ok {
		return v
	}
	if b.ended() {
		return 0
	}
	b.look(d)
	best := math.Inf(-1)
	if !acts {
		best = b.after(d, game.NoAction)
	}
	for a, ok := range l.legal {
		if ok {
			best = max(best, b.after(d, int32(a)))
		}
	}
	b.table.put(&k, best)
	return best
}

// alone reports whether nobody but the focal seat is left.
func (b *BR) alone(st game.State) bool {
	for s, p := range b.policy {
		if p != nil && st.Alive(game.Seat(s)) {
			return false
		}
	}
	return true
}

// look notes what everybody may do in the state of a level.
func (b *BR) look(d int) {
	l := b.levels[d]
	l.st.Legal(b.focal, l.legal)
	for s, p := range b.policy {
		if l.acts[s] = game.NoAction; p != nil && l.st.Alive(game.Seat(s)) {
			p.Probs(l.st, game.Seat(s), b.said)
			sum := 0. // thirds of 32 bits are not thirds
			for _, q := range b.said {
				sum += float64(q)
			}
			for k, q := range b.said {
				l.probs[s][k] = float64(q) / sum
			}
			l.acts[s] = 0
		}
	}
}

// after is the value of playing k now and the best response later.
func (b *BR) after(d int, k int32) float64 {
	l := b.levels[d]
	b.level(d + 1)
	l.acts[b.focal] = k
	return b.joint(d, 0, 1)
}

// joint sums over what seats from s on may do, which comes with probability p so far.
func (b *BR) joint(d, s int, p float64) float64 {
	l := b.levels[d]
	for s < len(l.acts) && (game.Seat(s) == b.focal || l.acts[s] == game.NoAction) {
		s++
	}
	if s == len(l.acts) {
		next := b.levels[d+1]
		next.st.CopyFrom(l.st)
		next.st.Step(l.acts, next.rewards, nil)
		b.steps++
		return p * (float64(next.rewards[b.focal]) + b.discount*b.value(d+1))
	}
	sum := 0.
	for k, q := range l.probs[s] {
		if q > 0 {
			l.acts[s] = int32(k)
			sum += b.joint(d, s+1, p*q)
		}
	}
	return sum
}

// sort brings interchangeable seats into one order, and drops what nobody reads.
func (b *BR) sort(key *game.Key) {
	for s, keep := range b.keep {
		key.Seats[s] &= keep
	}
	if key.Distinct {
		return
	}
	for s := range b.group {
		for at := s; b.group[at] >= 0 && key.Seats[at] < key.Seats[b.group[at]]; at = b.group[at] {
			key.Seats[at], key.Seats[b.group[at]] = key.Seats[b.group[at]], key.Seats[at]
		}
	}
}

// pack puts four seats into one number.
func pack(seats []uint16) uint64 {
	return uint64(seats[0]) | uint64(seats[1])<<16 | uint64(seats[2])<<32 | uint64(seats[3])<<48
}

// ended asks the context, once in so many states, and counts those that are known.
func (b *BR) ended() bool {
	if b.most.states > 0 && b.table.used >= b.most.states && b.stopped == nil {
		b.stopped = fmt.Errorf("oracle: best responses: more than %d states can follow", b.most.states)
	}
	if b.most.steps > 0 && b.steps >= b.most.steps && b.stopped == nil {
		b.stopped = fmt.Errorf("oracle: best responses: more than %d steps can follow", b.most.steps)
	}
	if b.polled++; b.ctx != nil && b.polled&1023 == 0 && b.stopped == nil {
		b.stopped = b.ctx.Err()
	}
	return b.stopped != nil
}

// table holds the values of the states met, those of one moment together: what follows a state
// is looked up in memory that is near.
type table struct {
	moments [32]moments // by the clock, modulo their number
	used    int
	gen     uint32
}

// moments holds the values of states at some moments.
type moments struct {
	slots []slot
	used  int
	gen   uint32 // of used
}

type slotKey struct {
	cells, more, left uint64
	clock             uint32
}

type slot struct {
	slotKey
	gen   uint32
	value float64
}

// reset forgets all values.
func (t *table) reset() {
	t.gen++
	t.used = 0
}

// at returns the moments of a key.
func (t *table) at(k *slotKey) *moments {
	m := &t.moments[k.clock%uint32(len(t.moments))]
	if m.slots == nil {
		m.slots = make([]slot, 1<<7)
	}
	if m.gen != t.gen {
		m.gen, m.used = t.gen, 0
	}
	return m
}

// find returns the slot of a key, or the free one where it belongs.
func (m *moments) find(k *slotKey) *slot {
	mask := len(m.slots) - 1
	h := k.cells*0xd6e8feb86659fd93 ^ k.left*0x9e3779b97f4a7c15 ^ k.more*0xc2b2ae3d27d4eb4f ^ uint64(k.clock)*0xff51afd7ed558ccd
	h = (h ^ h>>32) * 0xd6e8feb86659fd93 // places of late seats are high bits, which a product alone leaves there
	for at := int(h>>32) & mask; ; at = (at + 1) & mask {
		if s := &m.slots[at]; s.gen != m.gen || s.slotKey == *k {
			return s
		}
	}
}

func (t *table) get(k *slotKey) (float64, bool) {
	s := t.at(k).find(k)
	return s.value, s.gen == t.gen
}

func (t *table) put(k *slotKey, value float64) {
	m := t.at(k)
	if 2*m.used >= len(m.slots) {
		old := m.slots
		m.slots = make([]slot, 2*len(old))
		for i := range old {
			if s := &old[i]; s.gen == t.gen {
				*m.find(&s.slotKey) = *s
			}
		}
	}
	*m.find(k) = slot{*k, t.gen, value}
	m.used++
	t.used++
}
