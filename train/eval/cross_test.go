package eval_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/coin"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/train/eval"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// spy notes from which starts a member sat where.
type spy map[string]map[game.Seat]bool

func (s spy) member(m eval.Member) eval.Member {
	inner := m.Players
	m.Players = func(workers, lanes int) ([]rollout.Player, error) {
		ps, err := inner(workers, lanes)
		for w := range ps {
			ps[w] = &spyPlayer{ps[w], s}
		}
		return ps, err
	}
	return m
}

type spyPlayer struct {
	rollout.Player
	seen spy
}

func (p *spyPlayer) Act(v *rollout.View, envs []int32) {
	for _, n := range envs {
		if v.Start[v.Moment(v.T, int(n))] {
			text, err := v.State(int(n)).AppendText(nil)
			if err != nil {
				panic(err)
			}
			if p.seen[string(text)] == nil {
				p.seen[string(text)] = map[game.Seat]bool{}
			}
			p.seen[string(text)][v.SeatOf(int(n))] = true
		}
	}
	p.Player.Act(v, envs)
}

// crossed puts a newcomer into a team of one kind, seat by seat.
func crossed(t *testing.T, g game.Game, c eval.Cross, newcomer eval.Member, team string) *eval.Crossed {
	t.Helper()
	seats := g.Spec().Seats
	teams := make([][]eval.Member, seats)
	for s := range teams {
		teams[s] = slices.Repeat([]eval.Member{eval.Bot(g, team)}, seats)
		teams[s][s] = newcomer
	}
	c.Game = g
	return summed(t, c, teams...)
}

// summed plays the teams and sums up.
func summed(t *testing.T, c eval.Cross, teams ...[]eval.Member) *eval.Crossed {
	t.Helper()
	var played [][]float64
	for _, team := range teams {
		one, err := c.Play(context.Background(), team)
		must(t, err)
		played = append(played, one)
	}
	return c.Sum(played)
}

// In a game whose steps draw no random numbers, and in one whose steps do.
func twoGames(t *testing.T) map[string]game.Game {
	t.Helper()
	hunt := gametest.New(t, staghunt.New, staghunt.Default())
	money := gametest.New(t, coin.New, coin.Default())
	return map[string]game.Game{"ns nh": hunt, "own any": money}
}

func TestCrossPlayUsesEverySeatAndTheSameStarts(t *testing.T) {
	const starts = 70 // more than one episode a lane
	for bots, g := range twoGames(t) {
		names := strings.Fields(bots)
		var first map[string]bool
		for _, pair := range [][2]string{{names[0], names[1]}, {names[1], names[0]}, {"random", names[0]}} {
			s := spy{}
			c := eval.Cross{Starts: starts, Lanes: 16, Key: rng.New(5), Workers: 1}
			crossed(t, g, c, s.member(eval.Bot(g, pair[0])), pair[1])
			kept := map[string]bool{}
			for text, seats := range s {
				if len(seats) == g.Spec().Seats {
					kept[text] = true
				}
			}
			if len(kept) < starts {
				t.Errorf("%s %v: %d starts were played from every seat, want %d", g.Spec().Name, pair, len(kept), starts)
			}
			if first == nil {
				first = kept
			}
			same := 0
			for text := range kept {
				if first[text] {
					same++
				}
			}
			if same < starts {
				t.Errorf("%s %v: %d starts are those of the first pair, want %d", g.Spec().Name, pair, same, starts)
			}
		}
	}
}

// The stag hunt's reference table: focal / mean of all.
func TestCrossPlayGetsTheReferenceReturns(t *testing.T) {
	g := gametest.New(t, staghunt.New, staghunt.Default())
	for _, c := range []struct {
		one, team  string
		focal, all float64
	}{
		{"ns", "ns", 2.831, 2.831}, {"nh", "ns", 0.998, 2.926}, {"ns", "nh", 0, 0.676}, {"ns", "random", 2.098, 1.525},
	} {
		res := crossed(t, g, eval.Cross{Starts: 3000, Key: rng.New(1)}, eval.Bot(g, c.one), c.team)
		all := (res.Own.Mean() + 3*res.Others.Mean()) / 4
		if d := math.Abs(res.Own.Mean() - c.focal); d > 4*(res.Own.SE()+0.006) {
			t.Errorf("%s among %s gets %.3f, want %.3f", c.one, c.team, res.Own.Mean(), c.focal)
		}
		if d := math.Abs(all - c.all); d > 4*(res.Others.SE()+0.006) {
			t.Errorf("%s among %s: all get %.3f, want %.3f", c.one, c.team, all, c.all)
		}
	}
}

// A team among itself is what each of its members gets in the place of itself.
func TestATeamAmongItselfIsPlayedOnce(t *testing.T) {
	for bots, g := range twoGames(t) {
		name := strings.Fields(bots)[0]
		c := eval.Cross{Game: g, Starts: 50, Lanes: 16, Key: rng.New(3)}
		long := crossed(t, g, c, eval.Bot(g, name), name)
		short := summed(t, c, slices.Repeat([]eval.Member{eval.Bot(g, name)}, g.Spec().Seats))
		for i := range long.Start {
			if math.Abs(long.Start[i]-short.Start[i]) > 1e-9 {
				t.Fatalf("%s: start %d gives %v, want %v", g.Spec().Name, i, short.Start[i], long.Start[i])
			}
		}
		if d := math.Abs(long.Others.Mean() - short.Others.Mean()); d > 1e-9 {
			t.Errorf("%s: the others get %v, want %v", g.Spec().Name, short.Others.Mean(), long.Others.Mean())
		}
	}
}

// A value belongs to its start whatever the number of lanes and workers.
func TestCrossPlayDoesNotDependOnWorkers(t *testing.T) {
	for _, g := range twoGames(t) {
		var first []float64
		for _, workers := range []int{1, 3} {
			res := crossed(t, g, eval.Cross{Starts: 40, Lanes: 16, Key: rng.New(2), Workers: workers}, eval.Bot(g, "random"), "random")
			if first == nil {
				first = res.Start
			}
			if !slices.Equal(res.Start, first) {
				t.Errorf("%s with %d workers: %v, want %v", g.Spec().Name, workers, res.Start, first)
			}
		}
	}
}

// TestCrossPlayBySeat: what a newcomer gets where it sits, and a team among itself, played once, on every seat.
func TestCrossPlayBySeat(t *testing.T) {
	c := eval.Cross{Game: gametest.New(t, coin.New, coin.Default()), Starts: 2} // two seats
	for _, x := range []struct {
		played [][]float64 // [the newcomer's seat][start, seat]
		want   [2]float64
	}{
		{[][]float64{{1, 10, 3, 30}, {100, 7, 200, 9}}, [2]float64{2, 8}},
		{[][]float64{{1, 10, 3, 30}}, [2]float64{2, 20}},
	} {
		got := c.Sum(x.played)
		if a, b := got.Seats[0].Mean(), got.Seats[1].Mean(); a != x.want[0] || b != x.want[1] {
			t.Errorf("%v: %g and %g by seat, want %v", x.played, a, b, x.want)
		}
	}
}
