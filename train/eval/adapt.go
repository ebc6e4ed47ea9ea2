package eval

import (
	"context"
	"errors"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
)

// Adaptation is the few-shot protocol: one focal member lives among co-players,
// strangers or not, for a number of env steps in a row, and is scored on the last
// of them. It is lived several times over, each life with streams of its
// own, because one life is a small sample.
//
// Co-players may change once: from episode At on, Then sits in their places.
type Adaptation struct {
	Game  game.Game
	Team  []Member // the focal member first
	Then  []Member // nil: nobody changes; Then[0] is not read
	At    int      // the first episode of Then, from 0
	Lives int
	Steps int // env steps of a life
	Last  int // the steps that count
	// Episodes is how many episodes each life has instead, if not nil: a reference lives
	// the episodes of somebody else's life, however long they take it.
	Episodes []int
	Key      rng.Key
	Workers  int // 0: one a core
	GoalLen  int // numbers about goals that the focal member writes for its network

	// After is called with every window of so many steps, if not nil: a focal
	// member that learns does it there.
	After  func(ro *batch.Rollout) error
	Window int // 0: 64
}

// Lived is an episode of a life.
type Lived struct {
	Life, Index int
	Steps       int
	Return      float64
	Last        bool // it ended in the last steps, so it counts
}

// Adapted is what came of it.
type Adapted struct {
	Score    stats.Acc   // over lives: mean return of the episodes that ended in the last steps
	First    stats.Acc   // over lives: return of the first episode
	Curve    []stats.Acc // by episode, over the lives that got so far
	Played   int         // episodes in all
	Episodes []Lived     // by life, then index
}

// Run lives all lives.
func (c Adaptation) Run(ctx context.Context) (*Adapted, error) {
	if c.Episodes != nil && (len(c.Episodes) != c.Lives || slices.Min(c.Episodes) < 1) {
		return nil, errors.New("eval: every life needs episodes of its own, at least one")
	}
	if c.Lives <= 0 || c.Episodes == nil && (c.Steps <= 0 || c.Last <= 0 || c.Last > c.Steps) {
		return nil, errors.New("eval: at least one life, and some steps of which the last count, are needed")
	}
	if c.Then != nil && (len(c.Then) != len(c.Team) || c.At < 1) {
		return nil, errors.New("eval: those who come later need as many places as those before, and an episode above 0")
	}
	team := c.changing()
	blind := c.After == nil && !slices.ContainsFunc(team, func(m Member) bool { return !m.Blind })
	config := rollout.Config{Game: c.Game, Envs: c.Lives, Key: c.Key, Workers: c.Workers, Blind: blind}
	if c.After == nil { // who learns from windows does it from whole ones
		steps := make([]int, c.Lives)
		config.Rest = func(ep rollout.Episode) bool {
			steps[ep.Env] += ep.Steps
			return c.ends(ep, steps[ep.Env])
		}
	}
	envs, err := rollout.New(config)
	if err != nil {
		return nil, err
	}
	players, err := assemble(team, envs.Workers, c.Lives)
	if err != nil {
		return nil, err
	}
	if c.Window == 0 {
		c.Window = window
	}
	ro := batch.New(envs.Shape(c.Window, c.GoalLen))
	steps, tail, over := make([]int, c.Lives), make([]stats.Acc, c.Lives), make([]bool, c.Lives)
	out := &Adapted{}
	for left := c.Lives; left > 0; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := envs.Collect(ro, players); err != nil {
			return nil, err
		}
		for _, ep := range envs.Episodes() {
			if over[ep.Env] {
				continue
			}
			steps[ep.Env] += ep.Steps
			last := c.Episodes == nil && steps[ep.Env] > c.Steps-c.Last
			if c.ends(ep, steps[ep.Env]) {
				over[ep.Env] = true
				left--
			}
			out.add(ep, last)
			if last {
				tail[ep.Env].Add(ep.Return[0])
			}
		}
		if c.After != nil {
			if err := c.After(ro); err != nil {
				return nil, err
			}
		}
	}
	for n := range tail {
		if tail[n].N() > 0 {
			out.Score.Add(tail[n].Mean())
		}
	}
	slices.SortStableFunc(out.Episodes, func(a, b Lived) int {
		if a.Life != b.Life {
			return a.Life - b.Life
		}
		return a.Index - b.Index
	})
	return out, nil
}

// ends says whether a life ends with an episode, up to whose end it has so many steps.
func (c Adaptation) ends(ep rollout.Episode, steps int) bool {
	if c.Episodes != nil {
		return ep.Index+1 == c.Episodes[ep.Env]
	}
	return steps >= c.Steps
}

func (out *Adapted) add(ep rollout.Episode, last bool) {
	for len(out.Curve) <= ep.Index {
		out.Curve = append(out.Curve, stats.Acc{})
	}
	out.Played++
	out.Curve[ep.Index].Add(ep.Return[0])
	if ep.Index == 0 {
		out.First.Add(ep.Return[0])
	}
	out.Episodes = append(out.Episodes, Lived{ep.Env, ep.Index, ep.Steps, ep.Return[0], last})
}

// changing returns the team, with co-players that make way for others.
func (c Adaptation) changing() []Member {
	if c.Then == nil {
		return c.Team
	}
	team := slices.Clone(c.Team)
	for a := 1; a < len(team); a++ {
		before, after := c.Team[a], c.Then[a]
		team[a] = Member{
			Name: before.Name, Blind: before.Blind && after.Blind,
			Players: func(workers, lanes int) ([]rollout.Player, error) {
				first, err := before.Players(workers, lanes)
				if err != nil {
					return nil, err
				}
				second, err := after.Players(workers, lanes)
				if err != nil {
					return nil, err
				}
				played := make([]int, lanes) // by env, so workers never meet
				list := make([]rollout.Player, workers)
				for w := range list {
					who := func(n int) int { return min(played[n]/c.At, 1) }
					both := []rollout.Player{first[w], second[w]}
					list[w] = &relay{rollout.Split{Who: who, Player: func(i int) rollout.Player { return both[i] }}, played}
				}
				return list, nil
			},
		}
	}
	return team
}

// relay is two players of whom the second takes over after some episodes.
type relay struct {
	rollout.Split
	played []int // [N] episodes
}

// EpisodeOver tells whoever played, if it remembers, and counts.
func (p *relay) EpisodeOver(v *rollout.View, n int) {
	p.Split.EpisodeOver(v, n)
	p.played[n]++
}

var _ rollout.Watcher = (*relay)(nil)
