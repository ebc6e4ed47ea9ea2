package dataset

import (
	"fmt"
	"math"

	"hop/batch"
	"hop/game"
	"hop/rng"
)

// player plays episodes one at a time, for one goroutine.
type player struct {
	scribe
	g    game.Game
	key  rng.Key
	team func(episode int, dst []int8) // which bot each agent is
	bots []string

	st      game.State
	cut     game.Limited // nil if the game has no outside limit
	goals   game.Goaler  // nil if the game has no goals
	bot     []game.Bot   // [A]
	act     []rng.Rand   // [A]
	kind    []int8       // [A] index of the bot
	seat    []int        // [A]
	agents  []Columns    // [A] this episode's rows
	acts    []bool       // [A]
	actions []int32      // [n] by seat
	last    []int8       // [n] by seat
	rewards []float32    // [n] by seat
}

// scribe writes observations as columns and checks that they can be read back.
type scribe struct {
	game   string
	layout *Layout
	obs    []float32 // the observation to write
	check  []float32
}

func newScribe(c *Config, m *Manifest) scribe {
	spec := c.Game.Spec()
	return scribe{spec.Name, &m.Layout, make([]float32, spec.Obs.Len()), make([]float32, spec.Obs.Len())}
}

func newPlayer(c *Config, m *Manifest) *player {
	n := m.Layout.Seats
	p := &player{
		scribe: newScribe(c, m), g: c.Game, key: rng.New(c.Seed), team: c.teamOf(m.Bots, n), bots: m.Bots, st: c.Game.New(),
		bot: make([]game.Bot, n), act: make([]rng.Rand, n), kind: make([]int8, n), seat: make([]int, n),
		agents: make([]Columns, n), acts: make([]bool, n), actions: make([]int32, n), last: make([]int8, n), rewards: make([]float32, n),
	}
	p.cut, _ = p.st.(game.Limited)
	p.goals, _ = p.st.(game.Goaler)
	return p
}

// play plays an episode from its own streams and writes its rows to dst, sorted
// by agent, then time.
func (p *player) play(episode int, dst *Columns) error {
	key := p.key.Child("episode", episode)
	rules, deal := key.Child("rules").Rand(), key.Child("deal").Rand()
	deal.Perm(p.seat)
	p.team(episode, p.kind)
	for a := range p.bot {
		bot, err := game.NewBot(p.g, p.bots[p.kind[a]])
		if err != nil {
			return err
		}
		p.bot[a], p.act[a] = bot, key.Child("act", a).Rand()
		p.agents[a].truncate()
	}
	for s := range p.last {
		p.last[s] = int8(game.NoAction)
	}
	p.st.Reset(&rules)
	for t := 0; !p.st.Over(); t++ {
		if t >= p.layout.Horizon {
			return fmt.Errorf("dataset: episode %d of %s is longer than its horizon of %d; the game is at fault", episode, p.g.Spec().Name,
				p.layout.Horizon)
		}
		for a, s := range p.seat {
			p.actions[s] = game.NoAction
			if p.acts[a] = p.st.Alive(game.Seat(s)); p.acts[a] {
				if err := p.before(a, episode, t); err != nil {
					return err
				}
				p.actions[s] = p.bot[a].Act(p.st, game.Seat(s), &p.act[a])
			}
		}
		p.st.Step(p.actions, p.rewards, &rules)
		for a, acts := range p.acts {
			if acts {
				if err := p.after(a); err != nil {
					return err
				}
			}
		}
		for s, k := range p.actions {
			p.last[s] = int8(k)
		}
	}
	dst.truncate()
	for a := range p.agents {
		p.agents[a].hindsight()
		dst.append(&p.agents[a])
	}
	return nil
}

// before writes what agent a sees, and who it is.
func (p *player) before(a, episode, t int) error {
	c, s := &p.agents[a], p.seat[a]
	p.st.Observe(game.Seat(s), p.obs)
	c.Obs = p.planes(c.Obs)
	c.Features = append(c.Features, p.features()...)
	c.Legal = p.legal(c.Legal, s)
	c.T = append(c.T, int16(t))
	c.Last = egoFirst(c.Last, p.last, s)
	c.Alive = p.alive(c.Alive, s)
	c.Episode = append(c.Episode, int32(episode))
	c.Agent = append(c.Agent, int8(a))
	c.Seat = append(c.Seat, int8(s))
	c.Bot = append(c.Bot, p.kind[a])
	c.observation(p.layout, c.rows()-1, p.check)
	return p.same(episode, t)
}

// after writes what agent a did and what came of it.
func (p *player) after(a int) error {
	c, s := &p.agents[a], p.seat[a]
	row := c.rows() - 1
	p.st.Observe(game.Seat(s), p.obs)
	c.Action = append(c.Action, int8(p.actions[s]))
	for i := range p.actions {
		c.Joint = append(c.Joint, int8(p.actions[(s+i)%len(p.actions)]))
	}
	c.Reward = append(c.Reward, p.rewards[s])
	c.Rewards = egoFirst(c.Rewards, p.rewards, s)
	c.NextObs = p.planes(c.NextObs)
	c.NextFeat = append(c.NextFeat, p.features()...)
	c.NextLegal = p.legal(c.NextLegal, s)
	c.NextAlive = p.alive(c.NextAlive, s)
	end, over := batch.Going, p.st.Over()
	if !p.st.Alive(game.Seat(s)) {
		end = batch.Exited
		if over && p.cut != nil && p.cut.Cut() {
			end = batch.Cut
		}
	}
	c.End = append(c.End, end)
	c.Over = append(c.Over, over)
	goal := game.NoGoal
	if p.goals != nil {
		goal = p.goals.Reached(game.Seat(s))
	}
	c.Goal = append(c.Goal, int8(goal))
	c.nextObservation(p.layout, row, p.check)
	return p.same(int(c.Episode[row]), int(c.T[row])+1)
}

// hindsight spreads each goal backwards over the steps that led to it.
func (c *Columns) hindsight() {
	next := int8(game.NoGoal)
	for i := c.rows() - 1; i >= 0; i-- {
		if c.Goal[i] != game.NoGoal {
			next = c.Goal[i]
		}
		c.Goal[i] = next
	}
}

func (p *scribe) planes(dst []uint8) []uint8 {
	for _, x := range p.obs[:p.layout.planesLen()] {
		dst = append(dst, uint8(x))
	}
	return dst
}

func (p *scribe) features() []float32 {
	at := p.layout.planesLen()
	return p.obs[at : at+p.layout.Features]
}

func (p *player) legal(dst []bool, s int) []bool {
	var mask [game.MaxActions]bool
	k := len(p.layout.Actions)
	p.st.Legal(game.Seat(s), mask[:k])
	return append(dst, mask[:k]...)
}

func (p *player) alive(dst []bool, s int) []bool {
	for i := range p.seat {
		dst = append(dst, p.st.Alive(game.Seat((s+i)%len(p.seat))))
	}
	return dst
}

func egoFirst[T any](dst, bySeat []T, s int) []T {
	return append(append(dst, bySeat[s:]...), bySeat[:s]...)
}

// same returns an error if the observation cannot be rebuilt from its columns.
func (p *scribe) same(episode, t int) error {
	for i, x := range p.obs {
		if math.Float32bits(x) != math.Float32bits(p.check[i]) {
			return fmt.Errorf("dataset: episode %d, time %d: %s observes %v at %d, its layout makes that %v; the game does not follow its layout "+
				"and cannot be stored",
				episode, t, p.game, x, i, p.check[i])
		}
	}
	return nil
}
