package hop

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/cleanup"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/cpu"
)

// public returns a cleanup of so many who are counted on one plane.
func public(t testing.TB, size, agents int) game.Game {
	c := cleanup.Default()
	c.Size, c.Agents, c.Pooled, c.Start, c.Horizon = size, agents, true, 0.1, 50
	return gametest.New(t, cleanup.New, c)
}

// amidst lets a planner be watched among bots who act at random.
func amidst(t testing.TB, g game.Game, steps int, mine rollout.Player) {
	bots := make([]string, g.Spec().Seats)
	for a := range bots {
		if a > 0 {
			bots[a] = "random"
		}
	}
	collect(t, rollout.Config{Game: g}, batch.Shape{Envs: 1, Steps: steps}, bots, mine)
}

// clocked measures the processor time that a player takes to decide, once it has begun.
type clocked struct {
	rollout.Player
	spent     time.Duration
	decisions int
}

func (p *clocked) Act(v *rollout.View, envs []int32) {
	begun := cpu.Time()
	if p.Player.Act(v, envs); v.T > 0 {
		p.spent, p.decisions = p.spent+cpu.Time()-begun, p.decisions+1
	}
}

// steepness is the slope of the line through points, by least squares.
func steepness(x, y []float64) float64 {
	var xy, xx, mx, my float64
	for i := range x {
		mx, my = mx+x[i]/float64(len(x)), my+y[i]/float64(len(x))
	}
	for i := range x {
		xy, xx = xy+(x[i]-mx)*(y[i]-my), xx+(x[i]-mx)*(x[i]-mx)
	}
	return xy / max(xx, 1e-9)
}

// BenchmarkDecisionAmong is one decision of the preset hop-cleanup-64 among so many, where trees
// predict the three nearest in every state, or all; slope is that of log cost over log agents so far.
func BenchmarkDecisionAmong(b *testing.B) {
	for _, nearest := range []int{3, 0} {
		var x, y []float64
		for _, agents := range []int{2, 4, 8, 16, 32, 64} {
			b.Run(fmt.Sprintf("nearest=%d/agents=%d", nearest, agents), func(b *testing.B) {
				g := public(b, 32, agents)
				_, p := makeMind(b, g, 0, 1, func(c *Config) {
					c.Goals.Read, c.MOA.Hidden, c.MOA.Frame = false, []int{8, 16}, "ego"
					c.Search.Trees, c.Search.Sims, c.Search.Depth, c.Search.Act = 2, 14, 2, "visits"
					c.Search.Nearest = nearest
				})
				mine := &clocked{Player: p}
				for b.Loop() {
					amidst(b, g, 20, mine)
				}
				us := float64(mine.spent.Microseconds()) / float64(mine.decisions)
				b.ReportMetric(us, "us/decision")
				b.ReportMetric(0, "ns/op")
				x, y = append(x, math.Log(float64(agents))), append(y, math.Log(us))
				b.ReportMetric(steepness(x, y), "slope")
			})
		}
	}
}

// looker looks at a planner after each of its decisions.
type looker struct {
	*player
	look func(v *rollout.View, n int)
}

func (p looker) Act(v *rollout.View, envs []int32) {
	p.player.Act(v, envs)
	for _, n := range envs {
		p.look(v, int(n))
	}
}

// Trees predict anew the nearest few alone: nobody else is nearer than any of them.
func TestTheNearestFewAreNear(t *testing.T) {
	g := public(t, 6, 10)
	_, p := makeMind(t, g, 0, 1, func(c *Config) { c.Goals.Read, c.Search.Nearest, c.MOA.Hidden = false, 3, []int{4, 4} })
	seen, moved := 0, map[string]bool{}
	amidst(t, g, 20, looker{p, func(v *rollout.View, n int) {
		st := v.State(n).(*cleanup.State)
		me, count, farthest, nearest := st.Pos[v.SeatOf(n)], 0, int16(0), int16(99)
		for j, near := range p.search.near {
			d := st.Steps(me, st.Pos[v.SeatAt(v.Slot(p.sees.others[j], v.T, n))])
			if near {
				count, farthest = count+1, max(farthest, d)
			} else {
				nearest = min(nearest, d)
			}
		}
		if seen, moved[fmt.Sprint(p.search.near)] = seen+1, true; count != 3 || farthest > nearest {
			t.Errorf("%d are near, one of them %d moves away, and one who is not %d moves", count, farthest, nearest)
		}
	}})
	if seen < 20 || len(moved) < 3 {
		t.Errorf("%d decisions with %d different sets of who is near: the test saw too little", seen, len(moved))
	}
}

// Where all are among the nearest, nothing is different from where nobody asks.
func TestAllAreTheNearest(t *testing.T) {
	play := func(nearest int) (acts []int32) {
		g := public(t, 5, 4)
		_, p := makeMind(t, g, 0, 1, func(c *Config) {
			c.Goals.Read, c.Search.Nearest, c.Search.Depth, c.Search.Sims = false, nearest, 3, 20
		})
		amidst(t, g, 30, looker{p, func(v *rollout.View, n int) {
			q, _ := p.search.Found(0)
			for _, x := range q {
				acts = append(acts, int32(1000*x))
			}
		}})
		return acts
	}
	all := play(0)
	if got := play(3); !slices.Equal(got, all) {
		t.Error("with the three nearest of three others trees are not those of all")
	}
	if got := play(1); slices.Equal(got, all) {
		t.Error("with the nearest of three others trees are those of all: nobody is far")
	}
}
