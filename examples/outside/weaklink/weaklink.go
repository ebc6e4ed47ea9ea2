// Package weaklink is the minimum-effort game (Van Huyck et al. 1990): everybody
// gains by the lowest effort in the group and pays for its own: a stag hunt without
// a board.
//
// It is a template: copy it, change the rules, and let gametest.Run hold it to the
// contract.
package weaklink

import (
	"fmt"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/rng"
)

// Config is the game's block of a spec. Tags document and check every field.
type Config struct {
	Agents int     `yaml:"agents" doc:"how many play" range:"2..16"`
	Levels int     `yaml:"levels" doc:"efforts to choose from, 0 the lowest" range:"2..9"`
	Rounds int     `yaml:"rounds" doc:"rounds of an episode" unit:"steps" range:"1..1000"`
	Cost   float64 `yaml:"cost" doc:"of one level of one's own effort; the group's lowest pays 1 a level" range:"0..1"`
}

// Default returns a group of three.
func Default() Config { return Config{Agents: 3, Levels: 3, Rounds: 10, Cost: 0.5} }

// Game is fixed rules. It serves any number of goroutines.
type Game struct {
	cfg  Config
	spec game.Spec
}

// New returns the game, or everything that is wrong with its parameters.
func New(c Config) (*Game, error) {
	if err := config.Check(c); err != nil {
		return nil, err
	}
	g := &Game{cfg: c, spec: game.Spec{
		Name: "weaklink", Kind: game.GeneralSum, Seats: c.Agents, Horizon: c.Rounds, Symmetric: true, Deterministic: true,
		// A network sees its mask, the time and what everybody did last, itself first.
		Obs: game.Layout{Legal: c.Levels, Time: 1, Last: c.Agents},
	}}
	for k := range c.Levels {
		g.spec.Actions = append(g.spec.Actions, fmt.Sprint("effort", k))
	}
	return g, nil
}

// Spec describes the game.
func (g *Game) Spec() game.Spec { return g.spec }

// Bots lists scripted co-players; every game has random.
func (g *Game) Bots() []game.BotInfo {
	most := int32(g.cfg.Levels - 1)
	return []game.BotInfo{
		{Name: "hard", Doc: "always works as hard as it can", New: func() game.Bot { return &bot{"hard", most} }},
		{Name: "idle", Doc: "never works", New: func() game.Bot { return &bot{"idle", 0} }},
		game.RandomBot(g.cfg.Levels),
	}
}

// bot plays one effort.
type bot struct {
	name  string
	level int32
}

func (b *bot) Name() string                               { return b.name }
func (b *bot) Act(game.State, game.Seat, *rng.Rand) int32 { return b.level }

// Probs says how it acts, so that planners can infer who it is.
func (b *bot) Probs(_ game.State, _ game.Seat, dst []float32) {
	clear(dst)
	dst[b.level] = 1
}

// anyEffort is that of the bot random.
const anyEffort = -1

// level returns a bot's effort.
func (g *Game) level(name string) (effort int32, ok bool) {
	switch name {
	case "hard":
		return int32(g.cfg.Levels - 1), true
	case "idle":
		return 0, true
	case "random":
		return anyEffort, true
	}
	return 0, false
}

// New returns a state; memory is made here and nowhere else.
func (g *Game) New() game.State {
	return &State{g: g, last: make([]int8, g.cfg.Agents), legal: make([]bool, g.cfg.Levels)}
}

// State is one episode, for one goroutine.
type State struct {
	g     *Game
	t     int
	last  []int8 // [seats] what everybody did; -1: nothing yet
	legal []bool // scratch of Observe
}

// Reset starts an episode. Randomness, if there were any, is r.
func (st *State) Reset(*rng.Rand) {
	st.t = 0
	for s := range st.last {
		st.last[s] = -1
	}
}

// Step plays one simultaneous round. No outcome depends on seat numbers.
func (st *State) Step(actions []int32, rewards []float32, _ *rng.Rand) {
	if st.Over() {
		panic("weaklink: the episode is over")
	}
	lowest := actions[0]
	for s, a := range actions {
		if a < 0 || int(a) >= st.g.cfg.Levels {
			panic("weaklink: an action is not legal")
		}
		lowest, st.last[s] = min(lowest, a), int8(a)
	}
	for s, a := range actions {
		rewards[s] = float32(lowest) - float32(st.g.cfg.Cost)*float32(a)
	}
	st.t++
}

// Alive reports whether the seat may act: nobody leaves before the end.
func (st *State) Alive(game.Seat) bool { return !st.Over() }

// Over reports whether the last round is played.
func (st *State) Over() bool { return st.t >= st.g.cfg.Rounds }

// Legal writes the mask: every effort, until the end.
func (st *State) Legal(_ game.Seat, dst []bool) {
	for k := range dst {
		dst[k] = !st.Over()
	}
}

// Observe writes what the seat sees, as the layout says.
func (st *State) Observe(s game.Seat, dst []float32) {
	clear(dst)
	st.Legal(s, st.legal)
	st.g.spec.Obs.Tail(dst, s, st.legal, st.t, st.g.cfg.Rounds, st.last)
}

// CopyFrom makes the state equal to src, for searches.
func (st *State) CopyFrom(src game.State) {
	o := src.(*State)
	st.t = o.t
	copy(st.last, o.last)
}

// AppendText writes all of the state: equal texts go on alike.
func (st *State) AppendText(b []byte) ([]byte, error) {
	return fmt.Appendf(b, "t=%d last=%v", st.t, st.last), nil
}

// Permute relabels the seats, so that symmetry can be tested exactly.
func (st *State) Permute(src game.State, perm []game.Seat) {
	o := src.(*State)
	st.t = o.t
	for s, to := range perm {
		st.last[to] = o.last[s]
	}
}
