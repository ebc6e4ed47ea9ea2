package gametest

import (
	"fmt"

	"github.com/hop-marl/hop/game"
)

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
