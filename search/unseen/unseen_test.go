package unseen

import (
	"math"
	"slices"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
)

// looker plays episodes in which all act at random and seat 0 keeps a belief.
type looker struct {
	g      game.Game
	whole  game.Game
	b      *Belief
	st     game.State
	obs    []float32
	truth  []float32 // what seat 0 would see of the whole board
	time   int
	seenAt [][2]int // of the others: where last seen and when; -1: not yet
}

func newLooker(t *testing.T, set func(c *staghunt.Config)) *looker {
	c := staghunt.Default()
	c.View, c.Stags = 1, 2
	set(&c)
	l := &looker{g: gametest.New(t, staghunt.New, c)}
	l.whole, _ = game.WholeOf(l.g)
	b, err := New(l.g)
	if err != nil {
		t.Fatal(err)
	}
	l.b, l.st, l.obs, l.truth = b, l.g.New(), make([]float32, l.g.Spec().Obs.Len()), make([]float32, l.g.Spec().Obs.Len())
	return l
}

// play plays an episode while seat 0 is there, and lets look look after each observation.
func (l *looker) play(r *rng.Rand, look func()) {
	spec := l.g.Spec()
	acts, rewards, legal := make([]int32, spec.Seats), make([]float32, spec.Seats), make([]bool, len(spec.Actions))
	l.st.Reset(r)
	l.b.Reset()
	l.seenAt = slices.Repeat([][2]int{{-1, 0}}, spec.Seats-1)
	for l.time = 0; l.st.Alive(0); l.time++ {
		l.st.Observe(0, l.obs)
		l.st.(game.Whole).ObserveWhole(0, l.truth)
		l.b.See(l.obs)
		for k := range l.seenAt {
			if c := spec.Obs.CellOf(l.obs, k+1); c >= 0 {
				l.seenAt[k] = [2]int{c, l.time}
			}
		}
		look()
		for s := range acts {
			acts[s] = game.NoAction
			if l.st.Legal(game.Seat(s), legal); l.st.Alive(game.Seat(s)) {
				acts[s] = game.Uniform(legal, r)
			}
		}
		l.st.Step(acts, rewards, r)
	}
}

// ground is a board with the blocks that are on a plane of an observation.
func ground(l *game.Layout, obs []float32, plane int) *grid.Ground {
	g := grid.NewGround(l.Width, 0)
	for c := range g.Blocked {
		g.Blocked[c] = obs[c*len(l.Planes)+plane] != 0
	}
	g.Redraw()
	return &g
}

// A drawn board shows what is seen where it is seen; elsewhere it keeps to the rules: nobody is
// further from where it was last seen than steps have passed, nobody is twice or on a block, and
// there is no more prey than the game has. A state made of it observes just that.
func TestDrawnBoardsAreSeenAsTheGameIs(t *testing.T) {
	for _, c := range []struct{ size, blocks, view, episodes int }{{4, 0, 1, 10}, {6, 3, 2, 10}, {5, 4, 1, 40}} {
		l, r := newLooker(t, func(to *staghunt.Config) { to.Size, to.Blocks, to.View = c.size, c.blocks, c.view }), rng.New(1).Rand()
		lay, n := l.g.Spec().Obs, l.g.Spec().Seats
		board, seen, again := make([]float32, lay.Len()), make([]float32, lay.Len()), make([]float32, lay.Len())
		st := l.whole.New().(game.Supposer)
		for range c.episodes {
			l.play(&r, func() {
				for range 2 {
					l.b.Draw(board, l.obs, Drawn, &r)
					st.Suppose(0, board)
					if st.Observe(0, again); !slices.Equal(again, board) {
						t.Fatalf("%d x %d: what was drawn is observed otherwise\n%s", c.size, c.size, gametest.Text(t, st))
					}
					paths := ground(&lay, board, n)
					for i, x := range board[:lay.PlanesLen()] {
						plane, at := i%len(lay.Planes), int16(i/len(lay.Planes))
						if x != 0 && plane != n && paths.Steps(at, int16(lay.CellOf(board, 0))) >= grid.Far {
							t.Fatalf("no path leads to %q\n%s", lay.Planes[plane], gametest.Text(t, st))
						}
					}
					copy(seen, board)
					if lay.Hide(seen, c.view, lay.CellOf(board, 0)); !slices.Equal(seen, l.obs) {
						t.Fatalf("what is drawn in view is not what is seen\n%s", gametest.Text(t, l.st))
					}
					count := make([]int, len(lay.Planes))
					for i, x := range board[:lay.PlanesLen()] {
						count[i%len(lay.Planes)] += int(x)
						if x != 0 && i%len(lay.Planes) < n && board[i-i%len(lay.Planes)+n] != 0 {
							t.Fatal("somebody stands on a block")
						}
					}
					if slices.Max(count[:n]) > 1 || count[n+1] > 2 || count[n+2] > 4 {
						t.Fatalf("%v of each plane", count)
					}
					left, caught, hidden := 0, 0, 0
					for k := range l.seenAt {
						if count[k+1] == 0 {
							left++
						}
					}
					for c, f := range l.b.found {
						if l.b.known[c] == 0 && l.b.open[c] {
							hidden++ // what was never found may be there
						}
						if f > 0 && l.b.is[c] == 0 {
							caught += l.b.things[int(f)-1].Takes
						}
					}
					if missing := 2*(2-count[n+1]) + 4 - count[n+2]; missing > max(left, caught) && hidden >= l.b.missing(1)+l.b.missing(2) {
						t.Fatalf("%d have left, and prey of %d is missing, of which %d is known", left, missing, caught)
					}
					for k, was := range l.seenAt {
						at := lay.CellOf(board, k+1)
						if at < 0 || was[0] < 0 {
							continue
						}
						dy, dx := at/c.size-was[0]/c.size, at%c.size-was[0]%c.size
						if max(dy, -dy)+max(dx, -dx) > l.time-was[1] {
							t.Fatalf("%d cells away after %d steps", max(dy, -dy)+max(dx, -dx), l.time-was[1])
						}
					}
				}
			})
		}
	}
}

// Among co-players who really act at random the belief is calibrated: the truth is as likely to it
// as what it draws is on average. It knows more than where they were last seen. Both are compared
// by how likely each holds the cell, or having left, of who is not seen.
func TestBeliefsAreCalibrated(t *testing.T) {
	l, r := newLooker(t, func(*staghunt.Config) {}), rng.New(2).Rand()
	lay := l.g.Spec().Obs
	held, own, last, rows := 0., 0., 0., 0.
	for range 400 {
		l.play(&r, func() {
			for k, was := range l.seenAt {
				if lay.CellOf(l.obs, k+1) >= 0 {
					continue
				}
				p, at := l.b.At(k), lay.CellOf(l.truth, k+1)
				if at < 0 {
					at = len(p) - 1
				} else if at == was[0] {
					last++
				}
				held += float64(p[at])
				for _, x := range p {
					own += float64(x * x)
				}
				rows++
			}
		})
	}
	held, own, last = held/rows, own/rows, last/rows
	if math.Abs(held-own) > 0.03 || held < 1.5*last || rows < 3000 {
		t.Errorf("the truth is held %.3f likely, what is drawn %.3f; where they were last seen are %.3f, in %.0f cases", held, own, last, rows)
	}
}

// What was believed in an episode is forgotten in the next, and a belief is its numbers: another
// that is given them goes on alike.
func TestBeliefsAreTheirNumbers(t *testing.T) {
	same := func(*staghunt.Config) {}
	l, r := newLooker(t, same), rng.New(3).Rand()
	other := newLooker(t, same).b
	fresh := slices.Clone(other.W)
	steps := 0
	l.play(&r, func() {
		other.See(l.obs)
		if !slices.Equal(other.W, l.b.W) {
			t.Fatal("two that saw the same believe otherwise")
		}
		resumed := newLooker(t, same).b
		copy(resumed.W, other.W)
		other = resumed
		steps++
	})
	if other.Reset(); !slices.Equal(other.W, fresh) || steps < 2 {
		t.Errorf("after %d steps something is left", steps)
	}
}

// Of two hunters the one who is not seen has left if prey is missing.
func TestMissingPreyWasCaught(t *testing.T) {
	l, r, rows := newLooker(t, func(c *staghunt.Config) { c.Agents = 2 }), rng.New(4).Rand(), 0
	for range 200 {
		l.play(&r, func() {
			for c, f := range l.b.found {
				if p := l.b.At(0); f > 0 && l.b.is[c] == 0 {
					if rows++; p[len(p)-1] != 1 {
						t.Fatalf("it is held %v likely that it has left", p[len(p)-1])
					}
				}
			}
		})
	}
	if rows < 30 {
		t.Errorf("prey was missing %d times: the test saw too little", rows)
	}
}
