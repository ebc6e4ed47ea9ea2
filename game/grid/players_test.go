package grid_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
)

// On a row of 64 seats with a view of one cell everybody sees the neighbours act, up to the last, and
// that stays so through text, copies and new numbers for the seats.
func TestEveryOneOfManyIsSeen(t *testing.T) {
	const n, width = grid.MaxSeats, 64
	p := grid.NewPlayers(n, 1, 1)
	counted := p.Row(0)
	for s := range n {
		p.Pos[s], p.Last[s], counted[s] = int16(s), int8(s%5), int16(3*s)
	}
	p.Look(1, width)
	sees := func(p *grid.Players, s, o int) bool { return p.Saw[s]>>o&1 != 0 }
	for s := range n {
		for o := range n {
			if got, want := sees(&p, s, o), max(s-o, o-s) <= 1; got != want {
				t.Fatalf("seat %d sees seat %d: %v, want %v", s, o, got, want)
			}
		}
	}
	l := grid.Layout(8, n, 5)
	obs := slices.Repeat([]float32{1}, l.Len())
	p.Hide(&l, obs, 62, 1)
	for k := range n {
		if got, want := obs[l.LastAt()+k*l.Legal] != 0, k <= 1 || k == n-1; got != want {
			t.Errorf("seat 62 sees what the seat %d after it did: %v, want %v", k, got, want)
		}
	}

	text := fmt.Appendf(nil, "t=3\n")
	text = grid.AppendRows(text, 2, 32, p.Pos, grid.Wide, func(b []byte, c int16) []byte { return append(b, 'x') })
	text = p.AppendLast(text)
	read, err := grid.ReadText(text, 2, 32, n, 9, nil, grid.Lines(1, "last"))
	if err != nil {
		t.Fatal(err)
	}
	back := grid.NewPlayers(n, 1, 1)
	read.Players(&back)
	if err := read.Last(&back, 5); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(back.Pos, p.Pos) || !slices.Equal(back.Last, p.Last) || !slices.Equal(back.Saw, p.Saw) || back.T != 3 {
		t.Errorf("came back from text as %+v, want %+v", back, p)
	}
	back.Follow(&p)
	if !slices.Equal(back.Row(0), counted) {
		t.Errorf("a copy has counted %v, want %v", back.Row(0), counted)
	}
	perm := make([]game.Seat, n)
	for s := range perm {
		perm[s] = game.Seat((s*5 + 7) % n)
	}
	back.Relabel(&p, perm)
	for s, to := range perm {
		if back.Pos[to] != p.Pos[s] || back.Last[to] != p.Last[s] || back.Row(0)[to] != counted[s] {
			t.Errorf("seat %d is not what it was as seat %d", to, s)
		}
		for o, as := range perm {
			if sees(&back, int(to), int(as)) != sees(&p, s, o) {
				t.Fatalf("seat %d, formerly %d, sees seat %d, formerly %d: not as before", to, s, as, o)
			}
		}
	}
}

// Seats on one cell are numbers with commas between them where there are more than ten, so that
// 1 and 2 are not 12.
func TestCrowdedCellsAreReadAsWritten(t *testing.T) {
	for _, n := range []int{2, 10, 11, 64} {
		pos := make([]int16, n)
		for s := range pos {
			pos[s] = int16(s * s % 3)
		}
		text := grid.AppendRows([]byte("t=0\n"), 1, 3, pos, grid.Spaced(1), func(b []byte, c int16) []byte { return append(b, 'a') })
		got, err := grid.ReadText(text, 1, 3, n, 9, nil, nil)
		if err != nil {
			t.Errorf("%d seats: %v", n, err)
		} else if !slices.Equal(got.Pos, pos) || !slices.Equal(got.Things, []string{"a", "a", "a"}) {
			t.Errorf("%d seats: %s read as %v and %q", n, text, got.Pos, got.Things)
		}
	}
	for _, cell := range []string{"1,,2", ",1", "1,", "1,1", "64", "1,12a,3"} {
		if got, err := grid.ReadText([]byte("t=0\n"+cell), 1, 1, 64, 9, nil, nil); err == nil && got.Things[0] == "" {
			t.Errorf("%q was read as seats %v", cell, got.Pos)
		}
	}
}
