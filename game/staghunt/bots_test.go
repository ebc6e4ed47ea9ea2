package staghunt

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/num/rng"
)

// probs returns what a bot does, as "action:probability" of all it may do.
func probs(t *testing.T, b game.Bot, st *State, s game.Seat) string {
	t.Helper()
	var p [actions]float32
	b.(game.Policy).Probs(st, s, p[:])
	out := ""
	for k, x := range p {
		if x > 0 {
			out += fmt.Sprintf(" %d:%.2f", k, x)
		}
	}
	return out
}

func bot(t *testing.T, st *State, name string) game.Bot {
	t.Helper()
	return gametest.Bot(t, st.g, name)
}

func TestBots(t *testing.T) {
	for _, c := range []struct {
		name, bot, board, want string // want of seat 0
	}{
		{"ns breaks ties between paths at random", "ns", "0 . .\n . . .\n 123 . S", " 1:0.50 3:0.50"},
		{"ns breaks ties between stags at random", "ns", ". S .\n . 0 .\n 123 S .", " 0:0.50 1:0.50"},
		{"ns weighs moves, not stags or paths", "ns", "S . .\n . 0 .\n 123 . S", " 0:0.25 1:0.25 2:0.25 3:0.25"},
		{"ns prefers the nearer stag", "ns", "0 . .\n . . .\n S 123 S", " 1:1.00"},
		{"ns walks around blocks", "ns", "0 # S\n . # .\n . . 123", " 1:1.00"},
		{"ns passes hares by", "ns", "0h . .\n . . .\n 123 . S", " 1:0.50 3:0.50"},
		{"ns waits on a stag alone", "ns", "0S . .\n . . .\n 123 . .", " 4:1.00"},
		{"ns hunts when a partner is there", "ns", "01S . .\n . . .\n 23 . .", " 5:1.00"},
		{"ns with no stag left goes for hares", "ns", "0 . h\n . . .\n 123 . .", " 3:1.00"},
		{"ns with no stag left hunts hares", "ns", "0h . .\n . . .\n 123 . .", " 6:1.00"},
		{"ns with nothing left is random", "ns", "0 . .\n . . .\n 123 . .", " 1:0.33 3:0.33 4:0.33"},
		{"nh breaks ties between paths at random", "nh", "0 . S\n . h .\n 123 . .", " 1:0.50 3:0.50"},
		{"nh breaks ties between hares at random", "nh", "h 0 h\n . . .\n 123 h .", " 2:0.50 3:0.50"},
		{"nh prefers the nearer hare", "nh", "0 . h\n . . .\n . h 123", " 3:1.00"},
		{"nh hunts on a hare", "nh", "0h . .\n . . .\n 123 . S", " 6:1.00"},
		{"nh passes stags by", "nh", "01S h .\n . . .\n 23 . .", " 3:1.00"},
		{"nh with no hare left is random", "nh", "01S . .\n . . .\n 23 . .", " 1:0.25 3:0.25 4:0.25 5:0.25"},
		{"random is uniform over the legal", "random", "01S . .\n . . h\n 23 . .", " 1:0.25 3:0.25 4:0.25 5:0.25"},
		{"switcher starts as ns", "switcher", "0 . h\n S . .\n 123 . .", " 1:1.00"},
		{"deadline is ns while there is time", "deadline", "t=16 first=0\n 0 . h\n S . .\n 123 . .", " 1:1.00"},
		{"deadline turns when just enough is left", "deadline", "t=17 first=0\n 0 . h\n S . .\n 123 . .", " 3:1.00"},
		{"deadline too late for the hare still goes", "deadline", "t=18 first=0\n 0 . h\n S . .\n 123 . .", " 3:1.00"},
		{"deadline hunts the hare in the last step", "deadline", "t=19 first=0\n 01h . .\n S . .\n 23 . .", " 6:1.00"},
		{"deadline with no hare left stays ns", "deadline", "t=19 first=0\n 01S . .\n . . .\n 23 . .", " 5:1.00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := at(t, small(nil), c.board)
			if got := probs(t, bot(t, st, c.bot), st, 0); got != c.want {
				t.Errorf("got%s, want%s in\n%s", got, c.want, st.show())
			}
		})
	}
}

func TestDeadlineCatchesItsHareInTime(t *testing.T) {
	st := at(t, small(nil), "t=17 first=0\n 0 . h\n S . .\n 123 . .")
	b, r := bot(t, st, "deadline"), rng.New(1).Rand()
	rewards := make([]float32, 4)
	for !st.Over() {
		st.Step([]int32{b.Act(st, 0, &r), 4, 4, 4}, rewards, nil)
	}
	if rewards[0] != 1 {
		t.Errorf("paid %v in the last step, want 1", rewards[0])
	}
}

func TestDeadlineKnowsTheEndAfterTheFirstCatch(t *testing.T) {
	c := small(func(c *Config) { c.EndAfter = 5 })
	for now, want := range map[string]string{"t=5": " 1:1.00", "t=6": " 3:1.00"} {
		st := at(t, c, now+" first=4\n 0 . h\n S . .\n 12 . .\ngone 3=hare")
		if got := probs(t, bot(t, st, "deadline"), st, 0); got != want {
			t.Errorf("%s of 9: got%s, want%s", now, got, want)
		}
	}
}

func TestSwitcherFollowsItsPartnersLastEpisode(t *testing.T) {
	start := at(t, small(nil), "0 . h\n S . .\n 123 . .")
	b := bot(t, start, "switcher")
	for _, c := range []struct{ name, end, want string }{
		{"partners took hares", "t=9 first=3 over\n . . .\n . S .\n . . .\ngone 0=hare 1=hare 2=hare 3=hare", " 3:1.00"},
		{"only its own stag", "t=20 first=3 over\n 1 . .\n . . .\n . . .\ngone 0=stag 2=hare 3=hare", " 3:1.00"},
		{"a partner took the stag", "t=20 first=3 over\n 1 0 .\n . . .\n . . .\ngone 2=stag 3=stag", " 1:1.00"},
		{"nobody took anything", "t=20 over\n 0123 . .\n . S .\n . . .", " 3:1.00"},
	} {
		b.(game.Watcher).Watch(at(t, small(nil), c.end), 0)
		if got := probs(t, b, start, 0); got != c.want {
			t.Errorf("%s: then%s, want%s", c.name, got, c.want)
		}
	}
}

// The reference returns of the rules, from 200,000 episodes of another program.
// Each cell is allowed 4.5 standard errors of 3,000 episodes and the rounding:
// a false alarm among the 24 numbers once in 6,000 seeds, and the seed is fixed.
func TestReferenceReturns(t *testing.T) {
	four := Default()
	eight := with(func(c *Config) { c.Size = 8 })
	two := with(func(c *Config) { c.Stags = 2 })
	fifty := with(func(c *Config) { c.Horizon = 50 })
	for _, c := range []struct {
		name        string
		c           Config
		team        string
		focal, mean float64
	}{
		{"4h1s 4x4", four, "SSSS", 2.831, 2.831}, {"4h1s 4x4", four, "HSSS", 0.998, 2.926},
		{"4h1s 4x4", four, "SSHH", 5.000, 2.975}, {"4h1s 4x4", four, "HSHH", 0.902, 0.676},
		{"4h1s 4x4", four, "HHHH", 0.856, 0.856}, {"4h1s 4x4", four, "SRRR", 2.098, 1.525}, {"4h1s 4x4", four, "RRRR", 0.660, 0.661},
		{"4h1s 8x8", eight, "SSSH", 3.613, 2.959}, {"4h1s 8x8", eight, "HRRR", 0.996, 0.407},
		{"4h2s 4x4", two, "SSSS", 4.332, 4.329}, {"4h2s 4x4", two, "SSHH", 2.704, 1.827},
		{"4h1s 4x4 T=50", fifty, "RRRR", 0.745, 0.745},
	} {
		t.Run(c.name+" "+c.team, func(t *testing.T) {
			g := gametest.New(t, New, c.c)
			const n = 3000
			team := strings.Fields(strings.NewReplacer("S", "ns ", "H", "nh ", "R", "random ").Replace(c.team))
			scores := gametest.Returns(t, g, team, n, 5)
			for _, m := range []struct {
				name      string
				got       gametest.Score
				want, eps float64
			}{{"focal", scores[0], c.focal, 0.007}, {"mean of all", scores[len(team)], c.mean, 0.004}} {
				if d, tol := m.got.Mean-m.want, 4.5*m.got.SE+m.eps; d > tol || d < -tol {
					t.Errorf("%s %.3f, want %.3f ± %.3f", m.name, m.got.Mean, m.want, tol)
				}
			}
		})
	}
}

// Four random hunters on 4x4 with T=50 live 25.2 steps on average; 4.5 standard
// errors of 3,000 episodes, and the rounding.
func TestRandomHuntersLive25Steps(t *testing.T) {
	g := gametest.New(t, New, with(func(c *Config) { c.Horizon = 50 }))
	const n = 3000
	st, r := g.New().(*State), rng.New(6).Rand()
	b := &game.Random{Actions: actions}
	acts, rewards := make([]int32, 4), make([]float32, 4)
	sum, sq := 0., 0.
	for range n {
		st.Reset(&r)
		x := 0.
		for !st.Over() {
			for s := range acts {
				acts[s] = game.NoAction
				if st.Alive(game.Seat(s)) {
					acts[s] = b.Act(st, game.Seat(s), &r)
					x += 0.25
				}
			}
			st.Step(acts, rewards, &r)
		}
		sum += x
		sq += x * x
	}
	mean := sum / n
	tol := 0.05 + 4.5*math.Sqrt((sq/n-mean*mean)/n)
	if mean < 25.2-tol || mean > 25.2+tol {
		t.Errorf("mean lifetime %.2f, want 25.2 ± %.2f", mean, tol)
	}
	t.Logf("mean lifetime %.2f ± %.2f", mean, tol)
}
