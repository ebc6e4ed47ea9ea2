package gametest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
)

// toy is a small honest game into which one fault can be planted: three seats on
// a row of five cells with two berries. Who picks a berry leaves with it; several
// who pick one in the same step split it.
type toy struct {
	fault string

	resets int     // faults only: what a Game must not have
	shared [5]bool //
	busy   atomic.Bool
}

const (
	toySeats, toyCells, toyHorizon = 3, 5, 6

	left, right, stay, pick, toyActions = 0, 1, 2, 3, 4
	nowhere                             = int8(-1)
)

var toyLayout = game.Layout{
	Height: 1, Width: toyCells, Planes: []string{"self", "other1", "other2", "berry"},
	Features: 1, Legal: toyActions, Time: 1, Last: toySeats,
}

func (g *toy) Spec() game.Spec {
	spec := game.Spec{
		Name: "toy", Kind: game.GeneralSum, Seats: toySeats,
		Actions: []string{"left", "right", "stay", "pick"}, Goals: []string{"berry"}, Horizon: toyHorizon,
		Obs:       toyLayout,
		Symmetric: true, Deterministic: true,
	}
	switch g.fault {
	case "two actions of one name":
		spec.Actions[1] = "left"
	case "a Goaler without goals":
		spec.Goals = nil
	case "a mask too short":
		spec.Obs.Legal = 3
	case "claims to be cooperative":
		spec.Kind = game.Cooperative
	case "claims to be zero-sum":
		spec.Kind = game.ZeroSum
	}
	return spec
}

func (g *toy) New() game.State { return &toyState{g: g, berries: make([]bool, toyCells)} }

func (g *toy) Bots() []game.BotInfo {
	name := "lefty"
	if g.fault == "a bot under another name" {
		name = "righty"
	}
	return []game.BotInfo{
		game.RandomBot(toyActions),
		{Name: name, Doc: "picks, else left or stay by the toss of a coin", New: func() game.Bot { return lefty{g} }},
	}
}

type toyState struct {
	g       *toy
	t       int
	over    bool
	pos     [toySeats]int8
	last    [toySeats]int8
	just    [toySeats]bool
	berries []bool
	kept    []int32 // faults only, like the rest
	lazy    []int
	read    bool
	hidden  int
}

func (st *toyState) has(fault string) bool { return st.g.fault == fault }

func (st *toyState) Reset(r *rng.Rand) {
	*st = toyState{g: st.g, berries: st.berries}
	if !st.has("Reset leaves things about") {
		clear(st.berries)
	}
	a := r.IntN(toyCells)
	b := (a + 1 + r.IntN(toyCells-1)) % toyCells
	st.berries[a], st.berries[b] = true, true
	for s := range st.pos {
		st.pos[s], st.last[s] = int8(r.IntN(toyCells)), -1
	}
	switch st.g.fault {
	case "Reset counts":
		st.g.resets++
		st.pos[0] = int8(st.g.resets % toyCells)
	case "seat 0 starts on a berry":
		st.pos[0] = int8(a)
	case "states share the board":
		copy(st.g.shared[:], st.berries)
	}
	if st.has("states share the board") {
		st.berries = st.g.shared[:]
	}
}

func (st *toyState) Key(dst *game.Key, _ game.Reads) bool {
	*dst = game.Key{Clock: uint32(st.t)}
	for c, berry := range st.berries {
		if berry {
			dst.Left |= 1 << c
		}
	}
	for s, p := range st.pos {
		dst.Seats[s] = game.SeatKey(int16(p), 0, st.last[s])
	}
	return true
}

func (st *toyState) Alive(s game.Seat) bool {
	return st.pos[s] != nowhere && (!st.over || st.has("alive once over"))
}

func (st *toyState) Over() bool { return st.over }

// Cut reports what never happens in an honest toy: an end from outside.
func (st *toyState) Cut() bool { return st.has("cut and not over") && st.t == 3 }

func (st *toyState) Reached(s game.Seat) int {
	if !st.just[s] {
		return game.NoGoal
	}
	if st.has("a goal beyond the list") {
		return 1
	}
	return 0
}

func (st *toyState) Legal(s game.Seat, dst []bool) {
	if !st.Alive(s) {
		if !st.has("a mask for who has left") {
			clear(dst)
		}
		return
	}
	p := st.pos[s]
	if !st.has("part of the mask not written") {
		dst[left] = p > 0
	}
	dst[right], dst[stay], dst[pick] = p < toyCells-1, true, st.berries[p]
	if st.has("no legal action") && p == 2 {
		clear(dst)
	}
}

// refuses reports whether the honest rules refuse an action.
func (st *toyState) refuses(s int, a int32) bool {
	p := st.pos[s]
	switch {
	case p == nowhere:
		return a != game.NoAction && !st.has("who has left may act")
	case a == left:
		return p == 0
	case a == right:
		return p == toyCells-1 && !st.has("a wall that gives way")
	case a == stay:
		return st.has("refuses a legal action") && p == 3
	case a == pick:
		return !st.berries[p]
	}
	return a != game.NoAction || !st.has("the living may pass")
}

func (st *toyState) Step(actions []int32, rewards []float32, r *rng.Rand) {
	if st.has("one goroutine at a time") {
		if !st.g.busy.CompareAndSwap(false, true) {
			panic("toy: somebody else is in here")
		}
		time.Sleep(100 * time.Microsecond)
		defer st.g.busy.Store(false)
	}
	if st.over && !st.has("plays on when over") {
		panic("toy: over")
	}
	for s, a := range actions {
		if !st.refuses(s, a) {
			continue
		}
		if st.has("refuses with an error") {
			panic(errors.New("toy: refused"))
		}
		panic("toy: refused")
	}
	if st.has("draws in Step") || st.has("seat 0 draws") && actions[0] == pick {
		r.Uint64()
	}
	st.t++
	st.hidden++
	for s, a := range actions {
		if !st.has("rewards left as they were") {
			rewards[s] = 0
		}
		st.just[s] = st.just[s] && st.has("reached for ever")
		st.last[s] = int8(a)
		if st.has("who has left still stays") && a == game.NoAction {
			st.last[s] = stay
		}
		switch {
		case st.pos[s] == nowhere:
			if st.has("paid after leaving") {
				rewards[s] = 1
			}
			if st.has("comes back") && st.t == 4 {
				st.pos[s] = 0
			}
		case a == left:
			st.pos[s]--
		case a == right:
			st.pos[s] = min(st.pos[s]+1, toyCells-1)
		}
	}
	for c := range int8(toyCells) {
		var on [toySeats]int
		pickers := on[:0]
		for s, a := range actions {
			if a == pick && st.pos[s] == c && !st.just[s] {
				pickers = append(pickers, s)
			}
		}
		for _, s := range pickers {
			rewards[s] = 1 / float32(len(pickers))
			if st.has("the lowest seat takes it all") {
				rewards[s] = number(s == pickers[0])
			}
			if st.has("a copy forgets what nobody sees") && st.hidden == 3 {
				rewards[s] *= 2
			}
			if st.has("an infinite reward") && len(pickers) == 2 {
				rewards[s] = float32(math.Inf(1))
			}
			st.just[s] = true
			st.pos[s] = nowhere
			st.berries[c] = false
		}
	}
	st.over = st.t >= toyHorizon && !st.has("plays on after the horizon") ||
		st.pos == [toySeats]int8{nowhere, nowhere, nowhere}
	switch st.g.fault {
	case "Step allocates":
		st.kept = slices.Clone(actions)
	case "keeps the actions":
		st.kept = actions
	case "changes the actions":
		actions[0] = stay
	case "allocates when first needed":
		if st.lazy == nil {
			st.lazy = make([]int, 9)
		}
	}
}

func (st *toyState) Observe(s game.Seat, dst []float32) {
	l := toyLayout
	clear(dst)
	if st.has("part of the observation not written") {
		dst[5] = float32(math.NaN())
	}
	for i := range toySeats {
		who := (int(s) + i) % toySeats
		if st.has("planes in the order of seats") {
			who = i
		}
		if p := st.pos[who]; p != nowhere {
			dst[int(p)*4+i] = 1
		}
	}
	for c, b := range st.berries {
		if b {
			dst[c*4+3] = 1
			dst[l.FeaturesAt()]++
		}
	}
	var legal [toyActions]bool
	st.Legal(s, legal[:])
	t, from := st.t, s
	switch st.g.fault {
	case "a plane of 2":
		dst[3] *= 2
	case "an infinite feature":
		dst[l.FeaturesAt()] = 1 / (1 - dst[l.FeaturesAt()])
	case "observes another's mask":
		st.Legal((s+1)%toySeats, legal[:])
	case "observes the next time":
		t++
	case "last actions in the order of seats":
		from = 0
	}
	last := st.last
	if st.has("keeps the actions") && st.kept != nil {
		last[0] = int8(st.kept[0])
	}
	l.Tail(dst, from, legal[:], t, toyHorizon, last[:])
}

func (st *toyState) CopyFrom(src game.State) {
	o := src.(*toyState)
	berries, last := st.berries, st.last
	if st.has("what was read is taken for the same episode") && st.read && o.read {
		return
	}
	*st = *o
	st.lazy, st.hidden = nil, 0
	switch st.g.fault {
	case "copies share memory":
		return
	case "a copy forgets the last actions":
		st.last = last
	case "a copy adds to what was there":
		for c, b := range o.berries {
			berries[c] = berries[c] || b
		}
		st.berries = berries
		return
	}
	st.berries = berries
	copy(st.berries, o.berries)
}

func (st *toyState) Permute(src game.State, perm []game.Seat) {
	o := src.(*toyState)
	st.CopyFrom(o)
	for s, to := range perm {
		st.pos[to], st.last[to], st.just[to] = o.pos[s], o.last[s], o.just[s]
	}
}

func (st *toyState) AppendText(b []byte) ([]byte, error) {
	last := st.last
	if st.has("a text without the last actions") {
		last = [toySeats]int8{}
	}
	for _, v := range []any{st.t, st.over, st.pos, last, st.just, st.berries} {
		b = fmt.Append(b, v, "\n")
	}
	return b, nil
}

func (st *toyState) UnmarshalText(text []byte) error {
	berries := st.berries
	*st = toyState{g: st.g, berries: berries, read: true}
	p, l, j := &st.pos, &st.last, &st.just
	var on [toyCells]bool
	_, err := fmt.Sscanf(string(text), "%d\n%t\n[%d %d %d]\n[%d %d %d]\n[%t %t %t]\n[%t %t %t %t %t]\n",
		&st.t, &st.over, &p[0], &p[1], &p[2], &l[0], &l[1], &l[2], &j[0], &j[1], &j[2], &on[0], &on[1], &on[2], &on[3], &on[4])
	if st.has("a text adds to what was there") {
		for c := range on {
			on[c] = on[c] || berries[c]
		}
	}
	copy(berries, on[:])
	if st.has("cannot read its own text") && st.t > 2 {
		return errors.New("toy: reading: too late")
	}
	return err
}

// lefty is a bot with faults of its own.
type lefty struct{ g *toy }

func (lefty) Name() string { return "lefty" }

func (lefty) Reads() game.Reads { return 0 }

func (b lefty) Act(st game.State, s game.Seat, r *rng.Rand) int32 {
	toss := r.Float32()
	h := st.(*toyState)
	switch b.g.fault {
	case "a bot acts illegally":
		return left
	case "a bot acts otherwise than it says":
		toss *= 1.6
	case "a bot changes the state":
		h.t = 0
	case "a bot allocates":
		h.lazy = make([]int, 3)
	}
	switch {
	case h.berries[h.pos[s]]:
		return pick
	case h.pos[s] > 0 && toss < 0.5:
		return left
	}
	return stay
}

func (b lefty) Probs(st game.State, s game.Seat, dst []float32) {
	h := st.(*toyState)
	clear(dst)
	switch {
	case h.berries[h.pos[s]]:
		dst[pick] = 1
	case h.pos[s] > 0:
		dst[left], dst[stay] = 0.5, 0.5
	default:
		dst[stay] = 1
	}
	switch b.g.fault {
	case "a bot acts by what it does not say":
		if h.last[s] == stay {
			clear(dst)
			dst[stay] = 1
		}
	case "a bot's probabilities sum to two":
		dst[stay]++
	case "a bot gives chances to illegal actions":
		dst[stay] -= 0.25
		dst[pick] += 0.25
	}
}
