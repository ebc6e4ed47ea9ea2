// Package bandit chooses between ways to play, an episode at a time, by what each has really
// earned.
package bandit

import (
	"math"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/stranger"
)

// Choice is what is known of some ways: UCB1 (Auer, Cesa-Bianchi and Fischer 2002). Its regret
// after n episodes is at most 8 ln n times the sum of 1/gap over the worse ways, in units of
// the range of returns, plus a constant, whatever the ways earn on average.
type Choice struct {
	Explore float64   // how much what is unsure is preferred; 1: as the bound wants, below: less
	Tried   []int     // how often each way was gone
	Sum     []float64 // what it earned in all
	lo, hi  float64   // the range of what was earned
	total   int
}

// New returns a choice between so many ways.
func New(arms int, explore float64) *Choice {
	return &Choice{Explore: explore, Tried: make([]int, arms), Sum: make([]float64, arms), lo: math.Inf(1), hi: math.Inf(-1)}
}

// Pick returns the way to go next: one that was never gone, the first of them, else the one
// that may be best.
func (c *Choice) Pick() int {
	best, at := math.Inf(-1), 0
	for i, n := range c.Tried {
		if n == 0 {
			return i
		}
		if v := c.Sum[i]/float64(n) + c.Explore*(c.hi-c.lo)*math.Sqrt(2*math.Log(float64(c.total))/float64(n)); v > best {
			best, at = v, i
		}
	}
	return at
}

// Earned notes what a way earned.
func (c *Choice) Earned(arm int, x float64) {
	c.lo, c.hi = min(c.lo, x), max(c.hi, x)
	c.Tried[arm]++
	c.Sum[arm] += x
	c.total++
}

// Scripts are the ways to play a game that there is a choice between: its bots that remember
// nothing and do not act at random, and who joins others at the first of the game's things.
func Scripts(g game.Game) (list []string) {
	for _, b := range g.Bots() {
		if _, remembers := b.New().(game.Watcher); !remembers && b.Name != "random" {
			list = append(list, b.Name)
		}
	}
	if l, err := stranger.Language(g); err == nil && len(l.Things) > 0 {
		list = append(list, "help("+l.Things[0]+","+l.Pair[1]+")")
	}
	return list
}

// Player plays one of a game's scripts for an episode, chosen by what each has earned in this
// env so far. It has no network and no model. Each worker needs one of its own.
type Player struct {
	rollout.Split
	choice []*Choice // [envs]
	arm    []int     // [envs] of this episode
}

// NewPlayer returns a player that chooses between the named scripts.
func NewPlayer(g game.Game, scripts []string, explore float64, envs int) (*Player, error) {
	p := &Player{choice: make([]*Choice, envs), arm: make([]int, envs)}
	players := make([]rollout.Player, len(scripts))
	for i, name := range scripts {
		b, err := rollout.NewBots(g, name, envs)
		if err != nil {
			return nil, err
		}
		players[i] = b
	}
	for n := range p.choice {
		p.choice[n] = New(len(scripts), explore)
	}
	p.Split = rollout.Split{Who: func(n int) int { return p.arm[n] }, Player: func(i int) rollout.Player { return players[i] }}
	return p, nil
}

// EpisodeOver notes what the script earned, and chooses the next.
func (p *Player) EpisodeOver(v *rollout.View, n int) {
	p.Split.EpisodeOver(v, n)
	p.choice[n].Earned(p.arm[n], v.EarnedOf(n))
	p.arm[n] = p.choice[n].Pick()
}

var _ rollout.Watcher = (*Player)(nil)
