package coin_test

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/game/coin"
	"github.com/hop-marl/hop/game/gametest"
)

func newGame(t testing.TB, edit func(*coin.Config)) *coin.Game {
	t.Helper()
	c := coin.Default()
	edit(&c)
	return gametest.New(t, coin.New, c)
}

// lola are LOLA's rules with an end that nobody sees and without the last joint action.
func lola(c *coin.Config) {
	c.Size, c.Take, c.Pause, c.Wrap, c.Hidden, c.Memory = 3, "walk", 0, true, true, false
}

// pot are the rules of Melting Pot's coins, with its own end.
func pot(c *coin.Config) {
	c.Size, c.From, c.Take, c.Pause, c.Grow, c.Solid = 15, 10, "walk", 0, .0005, true
	c.Horizon, c.Hidden, c.Least, c.Stop, c.View = 5000, true, 300, .05, 5
}

func TestConformance(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(*coin.Config)
	}{
		{"5x5", func(c *coin.Config) { c.Horizon = 20 }},
		{"LOLA", func(c *coin.Config) { c.Size, c.Take, c.Pause, c.Horizon = 3, "walk", 0, 20 }},
		{"four agents, long pause", func(c *coin.Config) { c.Agents, c.Pause, c.Horizon = 4, 3, 20 }},
		{"wrapping, hidden, forgetful", func(c *coin.Config) { lola(c); c.Horizon = 20 }},
		{"view", func(c *coin.Config) { c.Agents, c.View, c.Horizon = 3, 1, 20 }},
		{"Melting Pot's, small", func(c *coin.Config) {
			pot(c)
			c.From, c.Size, c.Grow, c.Horizon, c.Least, c.Stop = 3, 5, .05, 110, 100, .5
		}},
		{"four grow coins, taken by action", func(c *coin.Config) { c.Agents, c.Pause, c.Grow, c.Horizon = 4, 0, .1, 20 }},
		{"sixteen agents", func(c *coin.Config) { c.Size, c.Agents, c.View, c.Horizon = 5, 16, 1, 10 }},
		{"sixty-four grow coins", func(c *coin.Config) { c.Size, c.Agents, c.Solid, c.Pause, c.Grow, c.Horizon = 9, 64, true, 0, .1, 5 }},
		{"three agents, crowded", func(c *coin.Config) { c.Size, c.Agents, c.Pause, c.Horizon = 2, 3, 0, 15 }},
	} {
		t.Run(tc.name, func(t *testing.T) { gametest.Run(t, newGame(t, tc.edit)) })
	}
}

func TestPlaythroughs(t *testing.T) {
	gametest.Playthrough(t, newGame(t, func(c *coin.Config) { c.Horizon = 20 }), []string{"own", "any"}, 1, "testdata/own_any.txt")
	lola := newGame(t, func(c *coin.Config) { c.Size, c.Take, c.Pause, c.Horizon = 3, "walk", 0, 12 })
	gametest.Playthrough(t, lola, []string{"own", "random"}, 2, "testdata/lola.txt")
}

// The return on which the default rules were settled: bots that take only their
// own coins earn 9 each. A mean of 2,000 episodes has a standard error of 0.05.
func TestOwnCoinBotsEarnNineEach(t *testing.T) {
	for s, got := range gametest.Returns(t, newGame(t, func(*coin.Config) {}), []string{"own", "own"}, 2000, 7) {
		if got.Mean < 8.5 || got.Mean >= 9.5 {
			t.Errorf("seat %d earns %.2f, want 9 after rounding", s, got.Mean)
		}
	}
}

// Taking everything beats restraint against either, and ruins both: a dilemma.
// The gaps are above 3, the standard errors below 0.2.
func TestTakingEverythingIsTheDilemma(t *testing.T) {
	g := newGame(t, func(*coin.Config) {})
	own := gametest.Returns(t, g, []string{"own", "own"}, 2000, 7)
	mixed := gametest.Returns(t, g, []string{"own", "any"}, 2000, 7)
	greedy := gametest.Returns(t, g, []string{"any", "any"}, 2000, 7)
	t.Logf("own own %.2f, own any %.2f, any any %.2f", own, mixed, greedy)
	if mixed[1].Mean < own[1].Mean+3 {
		t.Errorf("any against own earns %.2f, want well above own's %.2f", mixed[1].Mean, own[1].Mean)
	}
	if greedy[0].Mean < mixed[0].Mean+3 {
		t.Errorf("any against any earns %.2f, want well above own's %.2f", greedy[0].Mean, mixed[0].Mean)
	}
	if greedy[0].Mean > own[0].Mean-3 {
		t.Errorf("two any earn %.2f each, want well below two own's %.2f", greedy[0].Mean, own[0].Mean)
	}
}

func BenchmarkStep(b *testing.B) { gametest.Bench(b, newGame(b, func(*coin.Config) {})) }

// toward returns the cells from which the coin is nearer, a step away: on a ring of three the one way or the other
// leads to its row or column at once.
func toward(here, coin int) (to []int) {
	if here/3 != coin/3 {
		to = append(to, coin/3*3+here%3)
	}
	if here%3 != coin%3 {
		to = append(to, here/3*3+coin%3)
	}
	return to
}

// values is what is still to earn, by one's own cell, the other's, the coin's, and whether that is the other's.
type values [9][9][9][2]float64

// drawn returns the mean over where the next coin may lie.
func (v *values) drawn(me, other int) (mean float64) {
	n := 0.
	for c := range 9 {
		if c != me && c != other {
			mean, n = mean+v[me][other][c][0]+v[me][other][c][1], n+2
		}
	}
	return mean / n
}

// step is a step longer beside any. Where one may go there says; a theft of one's own coin leads to robbed.
func (v *values) step(robbed *values, chooses bool, may func(here, coin, owner int) []int) *values {
	out := new(values)
	for i := range 9 * 9 * 9 * 2 {
		me, other, c, owner := i/162, i/18%9, i/2%9, i%2
		if me == c || other == c {
			continue
		}
		theirs, options := toward(other, c), may(me, c, owner)
		most, mean := math.Inf(-1), 0.
		for _, a := range options {
			sum := 0.
			for _, b := range theirs {
				then := v
				if b == c && owner == 0 {
					sum, then = sum-2, robbed
				}
				if a == c {
					sum++
				}
				if a == c || b == c {
					sum += then.drawn(a, b)
				} else {
					sum += v[a][b][c][owner]
				}
			}
			most, mean = max(most, sum/float64(len(theirs))), mean+sum/float64(len(theirs)*len(options))
		}
		if out[me][other][c][owner] = mean; chooses {
			out[me][other][c][owner] = most
		}
	}
	return out
}

// What is possible beside any on LOLA's board, exactly: nobody earns more than 0, which any itself does; and who takes
// its own coins alone until the first of them is stolen, and every coin from then on, pays 1 for that.
func TestCourtesyToAnyCostsOne(t *testing.T) {
	best, greedy, courteous, grudge := new(values), new(values), new(values), new(values)
	for range 100 {
		best = best.step(best, true, func(here, _, _ int) []int {
			y, x := here/3*3, here%3
			return []int{here, y + (x+1)%3, y + (x+2)%3, (y+3)%9 + x, (y+6)%9 + x}
		})
		courteous = courteous.step(greedy, false, func(here, c, owner int) []int {
			if owner == 1 {
				return []int{here}
			}
			return toward(here, c)
		})
		grudge = grudge.step(greedy, false, func(here, c, owner int) (to []int) {
			for _, a := range toward(here, c) {
				if owner == 0 || a != c {
					to = append(to, a)
				}
			}
			if len(to) == 0 {
				return []int{here}
			}
			return to
		})
		greedy = greedy.step(greedy, false, func(here, c, _ int) []int { return toward(here, c) })
	}
	for _, x := range []struct {
		name string
		v    *values
		want float64
	}{{"best response", best, 0}, {"any", greedy, 0}, {"courteous", courteous, -1}, {"grudge", grudge, -1}} {
		mean := 0.
		for at := range 81 {
			mean += x.v.drawn(at/9, at%9) / 81
		}
		if math.Abs(mean-x.want) > 1e-9 {
			t.Errorf("%s earns %.6f beside any, want %v", x.name, mean, x.want)
		}
	}
}

// expected returns what two bots of LOLA's rules earn in so many steps, exactly: the distribution
// over cells of both, the coin's cell and its owner, a step at a time. It shares no code with the game.
func expected(greedy [2]bool, steps int) (earned [2]float64) {
	type where struct{ at, coin, owner int } // at is nine times seat 0's cell and seat 1's
	moves := func(s int, w where) (to []int) {
		here := [2]int{w.at / 9, w.at % 9}[s]
		if w.owner != s && !greedy[s] {
			return []int{here}
		}
		return toward(here, w.coin)
	}
	now := map[where]float64{}
	drop := func(into map[where]float64, at int, p float64) {
		var free []int
		for c := range 9 {
			if c != at/9 && c != at%9 {
				free = append(free, c)
			}
		}
		for _, c := range free {
			for owner := range 2 {
				into[where{at, c, owner}] += p / float64(2*len(free))
			}
		}
	}
	for at := range 81 {
		drop(now, at, 1./81)
	}
	for range steps {
		next := map[where]float64{}
		for w, p := range now {
			first, second := moves(0, w), moves(1, w)
			q := p / float64(len(first)*len(second))
			for _, a := range first {
				for _, b := range second {
					takes := [2]bool{a == w.coin, b == w.coin}
					for s := range takes {
						if takes[s] {
							earned[s] += q
						}
						if takes[1-s] && w.owner == s {
							earned[s] -= 2 * q
						}
					}
					if takes[0] || takes[1] {
						drop(next, a*9+b, q)
					} else {
						next[where{a*9 + b, w.coin, w.owner}] += q
					}
				}
			}
		}
		now = next
	}
	return earned
}

// The rates of LOLA's board, which others' results on it are read against: two that take their own coins
// only, two that take all, one of each. The exact figures are those of docs/games/coin.md; a mean of
// 4,000 episodes is held to them within 4.5 standard errors, a false alarm in 150,000 seeds.
func TestRatesOnLOLAsBoardAreExact(t *testing.T) {
	g := newGame(t, lola)
	for _, c := range []struct {
		team [2]string
		want [2]float64
	}{
		{[2]string{"own", "own"}, [2]float64{33.28, 33.28}},
		{[2]string{"any", "any"}, [2]float64{0, 0}},
		{[2]string{"own", "any"}, [2]float64{-28.24, 63.56}},
	} {
		exact := expected([2]bool{c.team[0] == "any", c.team[1] == "any"}, 100)
		for s, got := range gametest.Returns(t, g, c.team[:], 4000, 7)[:2] {
			if math.Abs(exact[s]-c.want[s]) > .005 {
				t.Errorf("%v: seat %d earns %.2f by the rules, the page says %.2f", c.team, s, exact[s], c.want[s])
			}
			if math.Abs(got.Mean-exact[s]) > 4.5*got.SE {
				t.Errorf("%v: seat %d earns %.2f ± %.2f, by the rules %.3f", c.team, s, got.Mean, got.SE, exact[s])
			}
		}
	}
}
