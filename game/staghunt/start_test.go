package staghunt

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/num/rng"
)

// Each count is tested within 5 standard errors: with 112 counts a false alarm
// about once in 15,000 seeds, and the seed is fixed.
func TestStartIsUniform(t *testing.T) {
	g := gametest.New(t, New, Default())
	const n = 20_000
	st, r := g.New().(*State), rng.New(2).Rand()
	var agent [4][16]int
	var stag, hare, same [16]int
	for range n {
		st.Reset(&r)
		seen := map[int16]bool{}
		for p := range 5 {
			if seen[st.prey[p]] {
				t.Fatalf("two prey on cell %d", st.prey[p])
			}
			seen[st.prey[p]] = true
			if p == 0 {
				stag[st.prey[p]]++
			} else {
				hare[st.prey[p]]++
			}
		}
		for s := range 4 {
			agent[s][st.Pos[s]]++
		}
		if st.Pos[0] == st.Pos[3] {
			same[st.Pos[0]]++
		}
	}
	test := func(what string, counts [16]int, p float64) {
		for c, got := range counts {
			if want := n * p; math.Abs(float64(got)-want) > 5*math.Sqrt(want*(1-p)) {
				t.Errorf("%s on cell %d: %d of %d, want about %.0f", what, c, got, n, want)
			}
		}
	}
	for s := range agent {
		test("seat", agent[s], 1./16)
	}
	test("the stag", stag, 1./16)
	test("a hare", hare, 4./16)
	test("seats 0 and 3 together", same, 1./256)
}

func TestStartIsOnFreeCells(t *testing.T) {
	g := gametest.New(t, New, with(func(c *Config) { c.Size, c.Blocks, c.Stags = 6, 4, 2 }))
	st, r := g.New().(*State), rng.New(3).Rand()
	blocks := 0
	for range 2000 {
		st.Reset(&r)
		blocks += len(st.board.Blocks)
		for s := range 4 {
			if st.board.Blocked[st.Pos[s]] {
				t.Fatalf("seat %d starts on a block:\n%s", s, st.show())
			}
		}
		for p := range 6 {
			if st.board.Blocked[st.prey[p]] {
				t.Fatalf("prey %d starts on a block:\n%s", p, st.show())
			}
		}
		if !st.board.Connected(st.board.Scratch) {
			t.Fatalf("the free cells are not connected:\n%s", st.show())
		}
	}
	if blocks == 0 {
		t.Error("no blocks were ever drawn")
	}
}

// docs/faults.md#time-limit-as-death: tie-breaks that favour low seats.
func TestNoSeatIsFavoured(t *testing.T) {
	if testing.Short() {
		t.Skip("20,000 episodes of two teams")
	}
	g := gametest.New(t, New, Default())
	for _, info := range g.Bots()[:2] {
		if p, means := gametest.CompareSeats(g, info, 20_000, 9); p < 0.001 {
			t.Errorf("20,000 episodes of %s pay the seats %.4f: p = %.2g, want at least 0.001", info.Name, means, p)
		}
	}
}

func TestPlaythroughs(t *testing.T) {
	four := Default()
	eight := with(func(c *Config) { c.Size, c.Blocks, c.Stags = 8, 5, 2 })
	for _, c := range []struct {
		file string
		c    Config
		team []string
	}{
		{"4x4_ns.txt", four, []string{"ns", "ns", "ns", "ns"}},
		{"4x4_mixed.txt", four, []string{"ns", "nh", "ns", "random"}},
		{"8x8_blocks_ns_nh.txt", with(func(c *Config) { *c = eight; c.Horizon = 14 }), []string{"ns", "ns", "nh", "nh"}},
		{"8x8_blocks_random.txt", with(func(c *Config) { *c = eight; c.Horizon = 8 }), []string{"random", "random", "random", "deadline"}},
	} {
		t.Run(c.file, func(t *testing.T) {
			g := gametest.New(t, New, c.c)
			gametest.Playthrough(t, g, c.team, 7, "testdata/"+c.file)
		})
	}
}

func TestCellsAreNamed(t *testing.T) {
	st := at(t, small(nil), "# 01S .\n h . .\n 23 . .")
	for _, c := range []struct {
		y, x   int
		seats  int
		things string
	}{{0, 0, 0, "block"}, {0, 1, 2, "stag"}, {0, 2, 0, ""}, {1, 0, 0, "hare"}, {2, 0, 2, ""}} {
		seats, things := st.Cell(c.y, c.x, nil, nil)
		got := ""
		if len(things) > 0 {
			got = things[0]
		}
		if len(seats) != c.seats || got != c.things {
			t.Errorf("cell %d,%d: seats %v, things %v, want %d seats and %q", c.y, c.x, seats, things, c.seats, c.things)
		}
	}
	if st.Pos[0] == grid.None {
		t.Error("asking moved a seat")
	}
}
