package gametest

import (
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
)

func checkLayout(g game.Game) error {
	spec := g.Spec()
	l := spec.Obs
	obs := make([]float32, l.Len())
	legal := make([]bool, len(spec.Actions))
	return visit(g, func(tr *tour) error {
		for s := range spec.Seats {
			seat := game.Seat(s)
			for i := range obs {
				obs[i] = float32(math.NaN())
			}
			observeWhole(tr.st, seat, obs)
			bad := func(i int, what string, want any) error {
				return fmt.Errorf("seat %d observes %v at %d, %s, want %v", s, obs[i], i, what, want)
			}
			for i, x := range obs {
				if x != x {
					return bad(i, "not written", "a number")
				}
			}
			others := 0.
			for i, x := range obs[:l.PlanesLen()] {
				switch plane := i % len(l.Planes); {
				case l.Pooled && plane == 1:
					others += float64(x)
				case x != 0 && x != 1:
					return bad(i, fmt.Sprintf("plane %q of cell %d", l.Planes[plane], i/len(l.Planes)), "0 or 1")
				}
			}
			if l.Pooled && others != float64(living(tr, seat)) {
				return bad(1, "the first count of co-players", fmt.Sprintf("%d of them on the board, not %v", living(tr, seat), others))
			}
			tr.st.Legal(seat, legal)
			for k := range l.Legal {
				if i := l.LegalAt() + k; obs[i] != number(legal[k]) {
					return bad(i, "the mask of "+spec.Actions[k], number(legal[k]))
				}
			}
			if l.Time > 0 {
				if i, want := l.TimeAt(), float64(tr.t)/float64(spec.Horizon); math.Abs(float64(obs[i])-want) > 1e-6 {
					return bad(i, "the time", want)
				}
			}
			for o := range l.Last {
				who := (s + o) % spec.Seats
				for k := range l.Legal {
					i := l.LastAt() + o*l.Legal + k
					if want := number(tr.played[who] == int32(k)); obs[i] != want {
						return bad(i, fmt.Sprintf("that seat %d, %d further on, last played %s", who, o, spec.Actions[k]), want)
					}
				}
			}
		}
		return nil
	})
}

// observeWhole writes what the Layout says, all of it: what is hidden from a seat is the claim
// of another check.
func observeWhole(st game.State, s game.Seat, dst []float32) {
	if w, ok := st.(game.Whole); ok {
		w.ObserveWhole(s, dst)
		return
	}
	st.Observe(s, dst)
}

func number(b bool) float32 { return float32(bit(b)) }

// checkEgoFirst turns the seats around the table. Everyone must see what was
// seen before, since everyone's neighbours are the same.
func checkEgoFirst(g game.Game) error {
	spec := g.Spec()
	turned := g.New()
	p, ok := turned.(game.Permuter)
	if !ok || !spec.Symmetric || spec.Seats < 2 {
		return DoesNotApply("the game is not symmetric, or its states are no Permuter")
	}
	perm := make([]game.Seat, spec.Seats)
	want, got := make([]float32, spec.Obs.Len()), make([]float32, spec.Obs.Len())
	return visit(g, func(tr *tour) error {
		for shift := 0; shift < spec.Seats; shift += 1 + 2*(spec.Seats/(2*crowd)) { // an odd number, where not by each
			for s := range perm {
				perm[s] = game.Seat((s + shift) % spec.Seats)
			}
			p.Permute(tr.st, perm)
			for s, to := range perm {
				tr.st.Observe(game.Seat(s), want)
				turned.Observe(to, got)
				for i := range want {
					if got[i] != want[i] {
						return fmt.Errorf("all seats moved on by %d: seat %d, formerly %d, observes %v at %d, want %v", shift, to, s, got[i], i, want[i])
					}
				}
			}
		}
		return nil
	})
}

// Starts and episodes of each in which readers are asked: many lead to the same places by
// different ways.
const (
	readStarts   = 2
	readEpisodes = 40
)

// checkReads holds the game's own bots to what they say they read.
func checkReads(g game.Game) error {
	var list []game.Policy
	for _, info := range g.Bots() {
		if p, ok := info.New().(game.Policy); ok {
			list = append(list, p)
		}
	}
	return Reads(g, list)
}

// Reads returns an error if somebody who says what it reads (game.Reader) acts otherwise in two
// states of an episode that differ in nothing that it reads. It does not apply to games whose
// states have no keys.
func Reads(g game.Game, bots []game.Policy) error {
	spec := g.Spec()
	st := g.New()
	keyed, ok := st.(game.Keyed)
	var key game.Key
	if !ok || !spec.Deterministic || spec.Seats > len(key.Seats) || !keyed.Key(&key, 0) {
		return DoesNotApply("its states have no keys")
	}
	type reading struct {
		seat game.Seat
		key  game.Key
	}
	said := make([]map[reading][]float32, len(bots))
	probs, legal := make([]float32, len(spec.Actions)), make([]bool, len(spec.Actions))
	actions, rewards := make([]int32, spec.Seats), make([]float32, spec.Seats)
	for start := range readStarts {
		for i := range said {
			said[i] = map[reading][]float32{}
		}
		for episode := range readEpisodes {
			rules := rng.New(seed).Child("reads", start).Rand()
			act := rng.New(seed).Child("reads", start).Child("act", episode).Rand()
			for st.Reset(&rules); !st.Over(); st.Step(actions, rewards, nil) {
				for s := range game.Seat(spec.Seats) {
					if actions[s] = game.NoAction; !st.Alive(s) {
						continue
					}
					st.Legal(s, legal)
					actions[s] = game.Uniform(legal, &act)
					for i, b := range bots {
						r, ok := b.(game.Reader)
						if !ok {
							continue
						}
						at := reading{seat: s}
						if !keyed.Key(&at.key, r.Reads()) {
							continue // nobody who reads so much is solved for
						}
						for o := range at.key.Seats {
							at.key.Seats[o] &= partsRead(r.Reads(), game.Seat(o) == s)
						}
						at.key.Episode = 0
						if r.Reads()&game.ReadsClock == 0 {
							at.key.Clock = 0
						}
						b.Probs(st, s, probs)
						was, ok := said[i][at]
						if !ok {
							said[i][at] = slices.Clone(probs)
						} else if !slices.Equal(was, probs) {
							return fmt.Errorf("%s in seat %d acts by %v, and by %v in another state that differs in nothing that it says it reads",
								b.Name(), s, probs, was)
						}
					}
				}
			}
		}
	}
	return nil
}

// partsRead returns which parts of a seat's key somebody reads, of its own or of another's.
func partsRead(reads game.Reads, own bool) uint16 {
	parts := uint16(game.KeyPlace)
	if own && reads&game.ReadsLast != 0 {
		parts |= game.KeyLast
	}
	if reads&game.ReadsDone != 0 {
		parts |= game.KeyDone
	}
	return parts
}

// living returns how many others are on the board where nobody leaves before the end.
func living(tr *tour, s game.Seat) (n int) {
	for o := range game.Seat(tr.spec.Seats) {
		if o != s && (tr.st.Alive(o) || tr.st.Over()) {
			n++
		}
	}
	return n
}

// checkView holds what seats see against what there is to be seen, and then asks without
// trusting that: a seat far away plays something else, and nothing may change.
func checkView(g game.Game) error {
	spec := g.Spec()
	if spec.View == 0 {
		return DoesNotApply("every seat sees everything")
	}
	v := newViewer(g)
	if _, ok := v.a.(game.Whole); !ok {
		return fmt.Errorf("the Spec has a view of %d, so states must be a game.Whole", spec.View)
	}
	return visit(g, func(tr *tour) error {
		for s := range spec.Seats {
			if err := v.sees(tr, s); err != nil {
				return err
			}
		}
		if tr.ended() || !spec.Deterministic || spec.Opaque {
			return nil
		}
		return v.elsewhere(tr)
	})
}

// viewer is the memory of the check.
type viewer struct {
	l           game.Layout
	seats, view int
	a, b        game.State
	obs, whole  []float32
	saw         [][]bool // [seat][seat] stood in view at the slot before
	rewards     []float32
	acts        []int32
	legal       []bool
}

func newViewer(g game.Game) *viewer {
	spec := g.Spec()
	v := &viewer{
		l: spec.Obs, seats: spec.Seats, view: spec.View, a: g.New(), b: g.New(), obs: make([]float32, spec.Obs.Len()),
		whole: make([]float32, spec.Obs.Len()), rewards: make([]float32, spec.Seats), acts: make([]int32, spec.Seats),
		legal: make([]bool, len(spec.Actions)),
	}
	for range spec.Seats {
		v.saw = append(v.saw, make([]bool, spec.Seats))
	}
	return v
}

// cell returns where an observation shows the seat that is k further on, or -1.
func (v *viewer) cell(obs []float32, k int) int {
	for c := range v.l.Height * v.l.Width {
		if obs[c*len(v.l.Planes)+k] != 0 {
			return c
		}
	}
	return -1
}

// apart returns how many rows or columns two cells are apart, whichever is more.
func (v *viewer) apart(a, b int) int {
	dy, dx := a/v.l.Width-b/v.l.Width, a%v.l.Width-b%v.l.Width
	return max(dy, -dy, dx, -dx)
}

// sees holds one seat's observation against that of the whole board.
func (v *viewer) sees(tr *tour, s int) error {
	tr.st.Observe(game.Seat(s), v.obs)
	tr.st.(game.Whole).ObserveWhole(game.Seat(s), v.whole)
	me, planes := v.cell(v.whole, 0), len(v.l.Planes)
	inView := func(c int) bool { return me >= 0 && c >= 0 && v.apart(me, c) <= v.view }
	is := func(i int, shown bool, what string, args ...any) error {
		want := float32(0)
		if shown {
			want = v.whole[i]
		}
		if v.obs[i] != want {
			return fmt.Errorf("seat %d, who sees %d cells around itself, observes %v at %d, %s, want %v", s, v.view, v.obs[i], i,
				fmt.Sprintf(what, args...), want)
		}
		return nil
	}
	for i := range v.l.PlanesLen() {
		if err := is(i, inView(i/planes), "plane %q of cell %d", v.l.Planes[i%planes], i/planes); err != nil {
			return err
		}
	}
	for i := v.l.LegalAt(); i < v.l.LastAt(); i++ {
		if err := is(i, true, "the mask or the time"); err != nil {
			return err
		}
	}
	for k := range v.l.Last {
		who := (s + k) % v.seats
		for a := range v.l.Legal {
			err := is(v.l.LastAt()+k*v.l.Legal+a, k == 0 || tr.t > 0 && v.saw[s][who], "the last action of seat %d", who)
			if err != nil {
				return err
			}
		}
		if k < v.l.Features {
			if err := is(v.l.FeaturesAt()+k, inView(v.cell(v.whole, k)), "the feature of seat %d", who); err != nil {
				return err
			}
		}
	}
	for k := range v.l.Last {
		v.saw[s][(s+k)%v.seats] = inView(v.cell(v.whole, k))
	}
	return nil
}

// elsewhere lets a seat whose own view does not come near another's play something else in
// the next step: the other must observe the same. Positions are what each says of itself.
func (v *viewer) elsewhere(tr *tour) error {
	s, far := tr.pick.IntN(v.seats), tr.pick.IntN(v.seats)
	tr.st.Observe(game.Seat(s), v.obs)
	me := v.cell(v.obs, 0)
	tr.st.Observe(game.Seat(far), v.obs)
	it := v.cell(v.obs, 0)
	if me < 0 || it < 0 || v.apart(me, it) <= 2*v.view+1 {
		return nil
	}
	tr.st.Legal(game.Seat(far), v.legal)
	copy(v.acts, tr.actions)
	r := tr.rules
	v.a.CopyFrom(tr.st)
	v.a.Step(v.acts, v.rewards, &r)
	v.a.Observe(game.Seat(s), v.whole)
	for k, ok := range v.legal {
		if !ok {
			continue
		}
		v.acts[far] = int32(k)
		r = tr.rules
		v.b.CopyFrom(tr.st)
		v.b.Step(v.acts, v.rewards, &r)
		if v.b.Over() != v.a.Over() {
			continue // an end is for all to see
		}
		v.b.Observe(game.Seat(s), v.obs)
		for i, x := range v.obs {
			if x != v.whole[i] {
				return fmt.Errorf("seat %d is %d cells away and plays %d in place of %d: seat %d, who sees %d, then observes %v at %d in place of %v",
					far, v.apart(me, it), k, tr.actions[far], s, v.view, x, i, v.whole[i])
			}
		}
	}
	return nil
}
