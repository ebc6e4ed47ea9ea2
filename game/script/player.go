package script

import (
	"encoding/binary"
	"fmt"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
)

// State is what every game's state must tell a co-player besides the rules.
type State interface {
	game.State
	Time() int                // steps so far
	Played(s game.Seat) int32 // the seat's last action, or NoAction
}

// dist is a distribution over actions.
type dist [game.MaxActions]float32

// policy is who plays: it adds its probabilities, times w, to dst.
type policy interface {
	add(n *now, w float32, dst *dist)
}

// condition is when.
type condition interface{ holds(n *now) bool }

// now is a decision under way.
type now struct {
	st      State
	field   Field // nil: the game has no board
	s       game.Seat
	legal   game.Mask
	mask    game.Mask // scratch, as what follows
	p       *Player
	scratch dist
	spots   [maxSpots]int16
	ranks   [maxSpots]int
}

// Player is a co-player made from a text, whose next action depends on the state alone.
type Player struct {
	name  string
	words []string
	lang  *Language
	root  policy
	bots  game.Reads // what the game's own bots in it read
	mem   []uint16   // of the words that remember
	now   now
	probs dist
}

// Name returns the text, in its one form.
func (p *Player) Name() string { return p.name }

// Words returns the words of the text, sorted, without bots, things and numbers.
func (p *Player) Words() []string { return p.words }

// Reads returns what its words look at.
func (p *Player) Reads() (reads game.Reads) {
	for _, w := range p.words {
		switch w {
		case "lazy":
			reads |= game.ReadsLast
		case "slow":
			reads |= game.ReadsLast | game.ReadsClock
		case "majority", "angry":
			reads |= game.ReadsDone | game.ReadsClock // rounds are counted by the clock
		case "early", "turns", "alternates":
			reads |= game.ReadsClock
		}
	}
	return reads | p.bots
}

// Probs writes the probability of each action for a living seat.
func (p *Player) Probs(st game.State, s game.Seat, dst []float32) {
	p.decide(st, s)
	copy(dst, p.probs[:p.lang.Actions])
}

// Act draws an action.
func (p *Player) Act(st game.State, s game.Seat, r *rng.Rand) int32 {
	p.decide(st, s)
	return game.Sample(p.probs[:p.lang.Actions], r)
}

func (p *Player) decide(st game.State, s game.Seat) {
	n := &p.now
	n.st, n.s, n.p = st.(State), s, p
	n.field, _ = st.(Field)
	st.Legal(s, n.legal[:p.lang.Actions])
	p.probs = dist{}
	p.root.add(n, 1, &p.probs)
}

// Rememberer is a Player that remembers episodes.
type Rememberer struct {
	Player
	tally    Tally
	none     Tally // nothing was reached
	remember []*memory
}

// Act draws an action, and notes what everybody did in the step before.
func (p *Rememberer) Act(st game.State, s game.Seat, r *rng.Rand) int32 {
	p.tally.see(p.lang, st)
	return p.Player.Act(st, s, r)
}

// Watch remembers an episode.
func (p *Rememberer) Watch(st game.State, s game.Seat) {
	p.tally.see(p.lang, st)
	o := p.lang.Assess(&p.tally, st, s)
	p.tally.reset()
	p.note(&o)
}

// note lets every word that remembers take in how an episode went.
func (p *Rememberer) note(o *Outcome) {
	for _, m := range p.remember {
		m.note(p.mem, o)
	}
}

// Memory returns what it remembers, one number a word.
func (p *Rememberer) Memory() []uint16 { return p.mem }

// Remember makes it remember what Memory returned, of whichever copy of it.
func (p *Rememberer) Remember(mem []uint16) { copy(p.mem, mem) }

// After writes what it would remember after an episode that ended so, if that state tells.
func (p *Rememberer) After(dst []uint16, st game.State, s game.Seat) bool {
	o := p.lang.Assess(&p.none, st, s)
	copy(dst, p.mem)
	for _, m := range p.remember {
		m.note(dst, &o)
	}
	return p.lang.Shown
}

// AppendBinary appends what it remembers.
func (p *Rememberer) AppendBinary(dst []byte) ([]byte, error) {
	for _, m := range p.mem {
		dst = binary.LittleEndian.AppendUint16(dst, m)
	}
	for _, row := range p.tally.Done {
		for _, n := range row {
			dst = binary.LittleEndian.AppendUint16(dst, n)
		}
	}
	return dst, nil
}

// UnmarshalBinary remembers what AppendBinary wrote.
func (p *Rememberer) UnmarshalBinary(src []byte) error {
	if want := 2 * (len(p.mem) + len(p.tally.Done)*slots); len(src) != want {
		return fmt.Errorf("script: loading %s: %d bytes, want %d", p.name, len(src), want)
	}
	for i := range p.mem {
		p.mem[i] = binary.LittleEndian.Uint16(src[2*i:])
	}
	src = src[2*len(p.mem):]
	for i := range p.tally.Done {
		for g := range slots {
			p.tally.Done[i][g] = binary.LittleEndian.Uint16(src[2*(i*slots+g):])
		}
	}
	return nil
}

var (
	_ game.Policy = (*Player)(nil)
	_ game.Policy = (*Rememberer)(nil)
	_ game.Keeper = (*Rememberer)(nil)

	_ game.Recaller = (*Rememberer)(nil)
)

// scripted is one of the game's own bots.
type scripted struct{ game.Policy }

func (b scripted) add(n *now, w float32, dst *dist) {
	b.Probs(n.st, n.s, n.scratch[:n.p.lang.Actions])
	for k, x := range n.scratch[:n.p.lang.Actions] {
		dst[k] += w * x
	}
}

// spread adds the uniform distribution over a mask; over what is legal if the mask is empty.
func (n *now) spread(mask *game.Mask, w float32, dst *dist) {
	legal := n.legal[:n.p.lang.Actions]
	count := float32(0)
	for k, ok := range legal {
		if ok && mask[k] {
			count++
		}
	}
	if count == 0 {
		mask = &n.legal
		for _, ok := range legal {
			if ok {
				count++
			}
		}
	}
	for k, ok := range legal {
		if ok && mask[k] {
			dst[k] += w / count
		}
	}
}
