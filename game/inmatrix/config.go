package inmatrix

import (
	"errors"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/num/config"
)

// Config holds the parameters of the game. Default returns Melting Pot's repeated stag hunt.
type Config struct {
	Map     string    `yaml:"map" doc:"Melting Pot's maps: the stag hunt's for two (repeated), the dilemma's and chicken's for two, the stag hunt's for eight (arena); or a small one" oneof:"repeated|dilemma|arena|small"`
	Agents  int       `yaml:"agents" doc:"number of agents" range:"2..8"`
	Pays    []float64 `yaml:"pays" doc:"what one gets for both first, first beside second, second beside first, both second" range:"0.."`
	Horizon int       `yaml:"horizon" doc:"most steps of an episode: a limit from outside, which nobody sees" unit:"steps" range:"1..10000"`
	Least   int       `yaml:"least" doc:"steps before an episode may end by chance, each hundredth step" unit:"steps" range:"0..10000"`
	Stop    float64   `yaml:"stop" doc:"probability that it ends there" range:"0..1"`
	View    int       `yaml:"view" doc:"rows and columns around itself that an agent sees; 0: the whole board" unit:"cells" range:"0..63"`
	Freeze  int       `yaml:"freeze" doc:"steps for which the two of an interaction stand still before they are paid" unit:"steps" range:"1..100"`
	Away    int       `yaml:"away" doc:"steps for which they are off the board afterwards" unit:"steps" range:"1..100"`
	Regrow  float64   `yaml:"regrow" doc:"probability each step that a resource comes back, ten steps after it was taken" range:"0..1"`
	Refill  bool      `yaml:"refill" doc:"all resources come back while nobody is on the board"`
}

// Default returns the repeated stag hunt for two.
func Default() Config {
	return Config{
		Map: "repeated", Agents: 2, Pays: []float64{4, 0, 2, 2}, Horizon: 5000, Least: 1000, Stop: 0.1, View: 3,
		Freeze: 16, Away: 5, Regrow: 0.02, Refill: true,
	}
}

// Validate returns everything that is wrong with the parameters, joined.
func (c Config) Validate() error {
	err := errors.Join(config.Check(c), config.Need(len(c.Pays) == 4, "pays", c.Pays, "four numbers, those of a game of two by two"))
	if err == nil {
		m := lay(maps[c.Map])
		err = config.Need(c.Agents <= len(m.starts), "agents", c.Agents, "no more than the map has cells to start on")
	}
	return err
}

// The actions after the moves and Stay.
const (
	TurnLeft = grid.Stay + 1 + iota
	TurnRight
	Interact
	actions
)

// The goals, which are the kinds of resources, and the kind of a spot that is drawn.
const (
	GoalStag = iota
	GoalHare
	either
)

// What Melting Pot's configurations have in common.
const (
	interval = 100 // steps between chances to end
	cooling  = 2   // steps after a beam before the next
	reach    = 3   // cells of a beam ahead, and beside one on either side
	health   = 3   // beams that destroy a resource
	delay    = 10  // steps after which a taken resource may come back
)

// The planes after the agents'.
const (
	planeBlock = iota
	planeStag
	planeFacing = planeStag + 2
	planeReady  = planeFacing + 4
	planes      = planeReady + 1
)

// own is how many features tell an agent of itself alone.
const own = 6

// Game is a matrix game on a map with fixed parameters.
type Game struct {
	c    Config
	spec game.Spec
	*board
	walls []float32 // an observation of walls alone
}

// board is a map, and what never changes on it.
type board struct {
	*grid.Board
	starts []int16
	spots  []int16   // cells of resources
	kind   []int8    // [spots] stag, hare or either
	spotAt []int8    // [cells] the spot, or -1
	steps  [][]int16 // [cells to][cells from] moves
}

// lay reads a map.
func lay(rows []string) *board {
	m := &board{Board: grid.New(len(rows), len(rows[0]))}
	m.spotAt = make([]int8, m.Cells())
	for c := range int16(m.Cells()) {
		m.spotAt[c] = -1
		switch ch := rows[int(c)/m.W][int(c)%m.W]; ch {
		case '#':
			m.Blocked[c] = true
		case '@':
			m.starts = append(m.starts, c)
		case 's', 'h', '?':
			m.spotAt[c] = int8(len(m.spots))
			m.spots, m.kind = append(m.spots, c), append(m.kind, map[byte]int8{'s': GoalStag, 'h': GoalHare, '?': either}[ch])
		}
	}
	m.Link()
	return m
}

var _ game.Game = (*Game)(nil)

// New returns the game, or everything that is wrong with its parameters.
func New(c Config) (*Game, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	g := &Game{c: c, board: lay(maps[c.Map])}
	for to := range int16(g.Cells()) {
		g.steps = append(g.steps, make([]int16, g.Cells()))
		g.Distances(g.steps[to], to)
	}
	obs := grid.Layout(g.W, c.Agents, actions, "block", "stag", "hare", "up", "right", "down", "left", "ready")
	obs.Height, obs.Features, obs.Time = g.H, c.Agents+own, 0
	g.spec = game.Spec{
		Name: "inmatrix", Kind: game.GeneralSum, Seats: c.Agents,
		Actions:   grid.Actions("turn left", "turn right", "interact"),
		Goals:     []string{"stag", "hare"},
		Horizon:   c.Horizon,
		Obs:       obs,
		View:      c.View,
		Symmetric: true,
	}
	g.walls = make([]float32, obs.Len())
	for _, b := range g.Blocks {
		g.walls[int(b)*len(obs.Planes)+c.Agents+planeBlock] = 1
	}
	return g, nil
}

// Spec describes the game.
func (g *Game) Spec() game.Spec { return g.spec }

// New returns a state that must be Reset before use.
func (g *Game) New() game.State {
	return &State{g: g, play: play{Players: grid.NewPlayers(g.c.Agents, g.c.View, 0)}}
}

// Bots lists the scripted agents.
func (g *Game) Bots() []game.BotInfo {
	return []game.BotInfo{
		game.RandomBot(actions),
		game.ScriptAfter("stag", "gathers stags and meets the other: the cooperator", func(st *State, s game.Seat) game.Mask {
			return st.gather(s, GoalStag)
		}, func(*State, game.Seat) int { return GoalStag }),
		game.ScriptAfter("hare", "gathers hares and meets the other: the defector", func(st *State, s game.Seat) game.Mask {
			return st.gather(s, GoalHare)
		}, func(*State, game.Seat) int { return GoalHare }),
		game.ScriptAfter("tft", "tit for tat: gathers what the last one whom it met had more of; begins with stags",
			func(st *State, s game.Seat) game.Mask { return st.gather(s, st.mirror(s)) }, (*State).mirror),
	}
}

// payoff returns what an interaction pays to who has gathered own beside who has gathered other:
// the matrix between the two mixtures, each of which began with one of either.
func (g *Game) payoff(own, other [2]int16) float64 {
	p, q := share(own), share(other)
	m := g.c.Pays
	return p*(q*m[0]+(1-q)*m[1]) + (1-p)*(q*m[2]+(1-q)*m[3])
}

// share returns the first kind's share of an inventory.
func share(have [2]int16) float64 { return float64(1+have[0]) / float64(2+have[0]+have[1]) }
