package gametest

import (
	"fmt"
	"math"

	"github.com/hop-marl/hop/game"
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
			for i, x := range obs[:l.PlanesLen()] {
				if x != 0 && x != 1 {
					return bad(i, fmt.Sprintf("plane %q of cell %d", l.Planes[i%len(l.Planes)], i/len(l.Planes)), "0 or 1")
				}
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
		for shift := range spec.Seats {
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
