package hop

import (
	"fmt"
	"testing"
	"time"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/cleanup"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/rollout"
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

// clocked measures how long a player takes to decide.
type clocked struct {
	rollout.Player
	spent time.Duration
}

func (p *clocked) Act(v *rollout.View, envs []int32) {
	begun := time.Now()
	p.Player.Act(v, envs)
	p.spent += time.Since(begun)
}

// BenchmarkDecisionAmong is one decision of the preset hop-cleanup-64 among so many, where trees
// predict the three nearest in every state, or all.
func BenchmarkDecisionAmong(b *testing.B) {
	for _, nearest := range []int{3, 0} {
		for _, agents := range []int{2, 4, 8, 16, 32, 64} {
			b.Run(fmt.Sprintf("nearest=%d/agents=%d", nearest, agents), func(b *testing.B) {
				g := public(b, 32, agents)
				_, p := makeMind(b, g, 0, 1, func(c *Config) {
					c.Goals.Read, c.MOA.Hidden = false, []int{16, 16}
					c.Search.Trees, c.Search.Sims, c.Search.Depth, c.Search.Act = 2, 14, 2, "q"
					c.Search.Nearest = nearest
				})
				mine := &clocked{Player: p}
				for range b.N {
					amidst(b, g, 10, mine)
				}
				b.ReportMetric(float64(mine.spent.Microseconds())/float64(10*b.N), "us/decision")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
