package dataset

import (
	"fmt"
	"math"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/rng"
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
	alive   []bool       // [n] by seat
	mask    [game.MaxActions]bool
}

// scribe writes steps as columns and checks that observations can be read back.
type scribe struct {
	game   string
	layout *Layout
	obs    []float32 // the observation to write
	check  []float32
}

// moment is what a seat sees besides its observation.
type moment struct {
	t     int
	legal []bool // its own mask
	alive []bool // by seat
}

func newScribe(c *Config, m *Manifest) scribe {
	spec := c.Game.Spec()
	return scribe{spec.Name, &m.Layout, make([]float32, spec.Obs.Len()), make([]float32, spec.Obs.Len())}
}

// before begins a row: obs is what seat s sees, last the joint action before, by
// seat.
func (p *scribe) before(c *Columns, m moment, episode, a, s int, kind int8, last []int8) error {
	c.Obs, c.Features = p.planes(c.Obs), append(c.Features, p.features()...)
	c.Legal, c.T = append(c.Legal, m.legal...), append(c.T, int16(m.t))
	c.Last, c.Alive = egoFirst(c.Last, last, s), egoFirst(c.Alive, m.alive, s)
	c.Episode, c.Agent = append(c.Episode, int32(episode)), append(c.Agent, int8(a))
	c.Seat, c.Bot = append(c.Seat, int8(s)), append(c.Bot, kind)
	c.observation(p.layout, c.rows()-1, p.check)
	return p.same(episode, m.t)
}

// after ends the row: what all did and got, by seat, and what seat s then sees.
func (p *scribe) after(c *Columns, m moment, actions []int8, rewards []float32, end batch.End, over bool, goal int8) error {
	row := c.rows() - 1
	s := int(c.Seat[row])
	c.Action, c.Joint = append(c.Action, actions[s]), egoFirst(c.Joint, actions, s)
	c.Reward, c.Rewards = append(c.Reward, rewards[s]), egoFirst(c.Rewards, rewards, s)
	c.NextObs, c.NextFeat = p.planes(c.NextObs), append(c.NextFeat, p.features()...)
	c.NextLegal, c.NextAlive = append(c.NextLegal, m.legal...), egoFirst(c.NextAlive, m.alive, s)
	c.End, c.Over, c.Goal = append(c.End, end), append(c.Over, over), append(c.Goal, goal)
	c.nextObservation(p.layout, row, p.check)
	return p.same(int(c.Episode[row]), m.t)
}

func newPlayer(c *Config, m *Manifest) *player {
	n := m.Layout.Seats
	p := &player{
		scribe: newScribe(c, m), g: c.Game, key: rng.New(c.Seed), team: c.teamOf(m.Bots, n), bots: m.Bots, st: c.Game.New(),
		bot: make([]game.Bot, n), act: make([]rng.Rand, n), kind: make([]int8, n), seat: make([]int, n),
		agents: make([]Columns, n), acts: make([]bool, n), actions: make([]int32, n), last: make([]int8, n), rewards: make([]float32, n),
		alive: make([]bool, n),
	}
	p.cut, _ = p.st.(game.Limited)
	p.goals, _ = p.st.(game.Goaler)
	return p
}

// play plays an episode from its own streams and writes its rows to dst, sorted
// by agent, then time.
func (p *player) play(episode int, dst *Columns) (err error) {
	defer game.Catch(&err)
	key := p.key.Child("episode", episode)
	rules, deal := key.Child("rules").Rand(), key.Child("deal").Rand()
	deal.Perm(p.seat)
	if p.g.Spec().Fixed {
		for a := range p.seat {
			p.seat[a] = a
		}
	}
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
				if err := p.before(&p.agents[a], p.look(t, s), episode, a, s, p.kind[a], p.last); err != nil {
					return err
				}
				p.actions[s] = p.bot[a].Act(p.st, game.Seat(s), &p.act[a])
			}
		}
		p.st.Step(p.actions, p.rewards, &rules)
		for s, k := range p.actions {
			p.last[s] = int8(k)
		}
		for a, acts := range p.acts {
			if !acts {
				continue
			}
			end, goal := p.outcome(p.seat[a])
			if err := p.after(&p.agents[a], p.look(t+1, p.seat[a]), p.last, p.rewards, end, p.st.Over(), goal); err != nil {
				return err
			}
		}
	}
	dst.truncate()
	for a := range p.agents {
		p.agents[a].hindsight()
		dst.append(&p.agents[a])
	}
	return nil
}

// look observes the game from seat s.
func (p *player) look(t, s int) moment {
	k := len(p.layout.Actions)
	if whole, ok := p.st.(game.Whole); ok && p.layout.View > 0 {
		whole.ObserveWhole(game.Seat(s), p.obs)
	} else {
		p.st.Observe(game.Seat(s), p.obs)
	}
	p.st.Legal(game.Seat(s), p.mask[:k])
	for i := range p.alive {
		p.alive[i] = p.st.Alive(game.Seat(i))
	}
	return moment{t, p.mask[:k], p.alive}
}

// outcome returns how the last step ended for seat s, and which goal it reached.
func (p *player) outcome(s int) (end batch.End, goal int8) {
	if !p.st.Alive(game.Seat(s)) {
		end = batch.Exited
		if p.st.Over() && p.cut != nil && p.cut.Cut() {
			end = batch.Cut
		}
	}
	goal = int8(game.NoGoal)
	if p.goals != nil {
		goal = int8(p.goals.Reached(game.Seat(s)))
	}
	return end, goal
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
