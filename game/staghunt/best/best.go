// Package best is exact best responses to scripted co-players in the stag hunt. The game's
// registry entry names them, and package oracle asks for them.
package best

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/game/staghunt"
)

// The scripted policies that can be responded to.
const (
	brRandom = iota
	brNS
	brNH
	brDeadline
)

var brKinds = map[string]uint8{"random": brRandom, "ns": brNS, "nh": brNH, "deadline": brDeadline}

// Solver solves the stag hunt.
type Solver struct{}

var _ oracle.Solver = Solver{}

// Solvable refuses large boards and bots that it knows no closed policy of.
func (Solver) Solvable(g game.Game, others []string) error {
	h, ok := game.As[*staghunt.Game](g)
	if !ok {
		return fmt.Errorf("oracle: %s is no stag hunt", g.Spec().Name)
	}
	var errs []error
	if c := h.Config(); c.Size > 15 {
		errs = append(errs, fmt.Errorf("oracle: best responses: the board has %d cells a side, at most 15 fit; use game.size=15 or less", c.Size))
	}
	for _, name := range others {
		if _, ok := brKinds[name]; !ok {
			errs = append(errs, fmt.Errorf("oracle: best responses: no closed policy for %q; it can be one of deadline, nh, ns, random", name))
		}
	}
	return errors.Join(errs...)
}

// response is oracle.BR by
// expectimax over a table of the states met. It has its own compact rules: a
// state is the cells of all, the prey left and the steps left, with co-players
// of one type sorted. Answers are kept for as long as the board and the team
// stay the same. For one goroutine.
//
// Against ns and nh a start costs about a millisecond, with one random
// co-player about a tenth of a second, with three on 4x4 about 20 seconds.
type response struct {
	c        staghunt.Config
	discount float64
	board    *grid.Board
	dist     [][]int16 // [prey][cells]
	prey     []int16   // [prey] cell, stags first; grid.None: was gone when first seen
	preyAt   []int8    // [cells]
	stags    uint64    // the bits of stags in left
	team     []uint8   // [seats] kind by seat
	focal    game.Seat
	seat     []int8  // [players] focal first, then the others by group
	kind     []uint8 // [players]
	weight   []float64
	group    []int8 // [players] players of one group are interchangeable
	grouped  bool   // some group has more than one member
	same     bool   // board, prey and team as at the last call

	ctx     context.Context // nil: nothing ends it
	most    int             // states of a table; 0: any number
	polled  int             // states met since ctx was last asked
	stopped error           // ctx's; the table then holds nonsense
	table   []brSlot
	used    int
	gen     uint32
	outcome []brOutcome
	seats   []game.Seat
	things  []string
	blocked []bool
}

// brState is all that the future depends on.
type brState struct {
	cell [8]uint8 // by player; brGone once left
	left uint64   // bit p: prey p is on the map
	rem  int      // steps left
	hit  bool     // something was caught, so the end cannot move any more
}

const brGone = 255

// brOutcome is one joint move of the others.
type brOutcome struct {
	p    float64
	cell [8]uint8
	hunt [8]uint8 // 0, or the hunting action
	any  bool     // someone hunts
}

type brSlot struct {
	cells, rest uint64
	value       float64
	gen         uint32
}

// Solve returns best responses at a discount per step.
func (v Solver) Solve(g game.Game, discount float64) (oracle.BR, error) {
	if err := v.Solvable(g, nil); err != nil {
		return nil, err
	}
	if !(discount >= 0 && discount <= 1) { // NaN is neither
		return nil, fmt.Errorf("oracle: best responses: discount %v, want one from 0 to 1", discount)
	}
	h, _ := game.As[*staghunt.Game](g)
	c := h.Config()
	cells, prey := c.Size*c.Size, c.Stags+c.Hares
	b := &response{
		c: c, discount: discount, board: grid.New(c.Size, c.Size),
		prey: make([]int16, prey), preyAt: make([]int8, cells), stags: 1<<c.Stags - 1, blocked: make([]bool, cells),
		table: make([]brSlot, 1<<12), focal: -1,
	}
	for range prey {
		b.dist = append(b.dist, make([]int16, cells))
	}
	return b, nil
}

// Until lets ctx end it, and a number of states.
func (b *response) Until(ctx context.Context, states int) { b.ctx, b.most = ctx, states }

// States returns how many states the table holds.
func (b *response) States() int { return b.used }

// Value returns the value of a state.
func (b *response) Value(st game.State, focal game.Seat, bots []string) (float64, error) {
	s, err := b.read(st, focal, bots)
	if err != nil {
		return 0, err
	}
	v := b.value(&s)
	return v, b.stopped
}

// Q writes the value after each action.
func (b *response) Q(dst []float64, st game.State, focal game.Seat, bots []string) (legal uint, err error) {
	s, err := b.read(st, focal, bots)
	if err != nil {
		return 0, err
	}
	clear(dst)
	if s.cell[0] == brGone || s.rem == 0 {
		return 0, nil
	}
	legal = uint(b.legal(&s, 0))
	lo := b.enumerate(&s)
	for set := legal; set != 0; set &= set - 1 {
		k := bits.TrailingZeros(set)
		dst[k] = b.after(&s, k, lo)
	}
	b.outcome = b.outcome[:lo]
	return legal, b.stopped
}

// read turns a state of the game into a compact one, and starts a new table if
// the board or the team has changed.
func (b *response) read(st game.State, focal game.Seat, bots []string) (brState, error) {
	var s brState
	if len(bots) != b.c.Agents {
		return s, fmt.Errorf("oracle: best responses: %d names for %d seats", len(bots), b.c.Agents)
	}
	if err := b.setTeam(focal, bots); err != nil {
		return s, err
	}
	for i := range s.cell {
		s.cell[i] = brGone
	}
	h := st.(*staghunt.State)
	var at [staghunt.MaxSeats]uint8
	for i := range at {
		at[i] = brGone
	}
	fresh := !b.same
	b.look(h, &at, &s, &fresh)
	if fresh {
		b.relearn(h)
		s.left = 0
		known := false
		b.look(h, &at, &s, &known)
		b.gen++
		b.used = 0
		b.same = true
	}
	for i, seat := range b.seat {
		s.cell[i] = at[seat]
	}
	b.sort(&s.cell)
	if !st.Over() {
		s.rem = b.c.Horizon - h.Time()
	}
	for seat := range b.c.Agents {
		s.hit = s.hit || h.Caught(game.Seat(seat)) != game.NoGoal
	}
	if b.c.EndAfter > 0 && s.hit && s.rem > 0 {
		text, err := h.AppendText(nil)
		if err != nil {
			return s, err
		}
		var t, first int
		if _, err := fmt.Sscanf(string(text), "t=%d first=%d", &t, &first); err != nil {
			return s, fmt.Errorf("oracle: reading the step of the first catch: %w", err)
		}
		s.rem = min(s.rem, first+b.c.EndAfter-t)
	}
	s.hit = s.hit && b.c.EndAfter > 0
	return s, nil
}

// look reads seats and prey off the board, and sets fresh if blocks or prey
// do not fit what is known.
func (b *response) look(h *staghunt.State, at *[staghunt.MaxSeats]uint8, s *brState, fresh *bool) {
	for y := range b.c.Size {
		for x := range b.c.Size {
			c := y*b.c.Size + x
			b.seats, b.things = h.Cell(y, x, b.seats[:0], b.things[:0])
			for _, seat := range b.seats {
				at[seat] = uint8(c)
			}
			block := slices.Contains(b.things, "block")
			*fresh = *fresh || block != b.board.Blocked[c]
			if len(b.things) == 0 || block {
				continue
			}
			p := b.preyAt[c]
			if p < 0 || (int(p) < b.c.Stags) != (b.things[0] == "stag") {
				*fresh = true
				continue
			}
			s.left |= 1 << p
		}
	}
}

// relearn takes blocks and prey from the board.
func (b *response) relearn(h *staghunt.State) {
	stag, hare := 0, b.c.Stags
	for i := range b.preyAt {
		b.preyAt[i] = -1
	}
	for p := range b.prey {
		b.prey[p] = grid.None
	}
	for c := range b.preyAt {
		b.seats, b.things = h.Cell(c/b.c.Size, c%b.c.Size, b.seats[:0], b.things[:0])
		b.board.Blocked[c] = slices.Contains(b.things, "block")
		switch {
		case slices.Contains(b.things, "stag"):
			b.prey[stag], b.preyAt[c] = int16(c), int8(stag)
			stag++
		case slices.Contains(b.things, "hare"):
			b.prey[hare], b.preyAt[c] = int16(c), int8(hare)
			hare++
		}
	}
	b.board.Link()
	for p, c := range b.prey {
		if c != grid.None {
			b.board.Distances(b.dist[p], c)
		}
	}
}

// setTeam notes who plays where: the focal seat first, then the others, those of
// one kind and strength side by side.
func (b *response) setTeam(focal game.Seat, bots []string) error {
	if focal < 0 || int(focal) >= len(bots) {
		return fmt.Errorf("oracle: best responses: there is no seat %d", focal)
	}
	changed := b.focal != focal || len(b.team) != len(bots)
	if len(b.team) != len(bots) {
		b.team = make([]uint8, len(bots))
	}
	for s, name := range bots {
		if game.Seat(s) == focal {
			continue
		}
		k, ok := brKinds[name]
		if !ok {
			return fmt.Errorf("oracle: best responses: no closed policy for %q; it can be one of %s", name, "deadline, nh, ns, random")
		}
		changed = changed || b.team[s] != k
		b.team[s] = k
	}
	if !changed {
		return nil
	}
	b.same, b.focal = false, focal
	b.seat, b.kind, b.weight, b.group, b.grouped = b.seat[:0], b.kind[:0], b.weight[:0], b.group[:0], false
	strength := func(s int) float64 {
		if len(b.c.Strength) == 0 {
			return 1
		}
		return b.c.Strength[s]
	}
	order := make([]int, 0, len(bots))
	for s := range bots {
		if game.Seat(s) != focal {
			order = append(order, s)
		}
	}
	slices.SortStableFunc(order, func(x, y int) int {
		if b.team[x] != b.team[y] {
			return int(b.team[x]) - int(b.team[y])
		}
		switch wx, wy := strength(x), strength(y); {
		case wx < wy:
			return -1
		case wx > wy:
			return 1
		}
		return 0
	})
	for i, s := range append([]int{int(focal)}, order...) {
		group := int8(i)
		if i > 1 && b.kind[i-1] == b.team[s] && b.weight[i-1] == strength(s) {
			group, b.grouped = b.group[i-1], true
		}
		b.seat, b.kind = append(b.seat, int8(s)), append(b.kind, b.team[s])
		b.weight, b.group = append(b.weight, strength(s)), append(b.group, group)
	}
	return nil
}

// sort brings interchangeable players into one order.
func (b *response) sort(cell *[8]uint8) {
	if !b.grouped {
		return
	}
	for i := 2; i < len(b.group); i++ {
		for j := i; j > 1 && b.group[j] == b.group[j-1] && cell[j] < cell[j-1]; j-- {
			cell[j], cell[j-1] = cell[j-1], cell[j]
		}
	}
}
