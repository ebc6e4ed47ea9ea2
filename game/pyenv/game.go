// Package pyenv is a PettingZoo environment in Python as a game.
//
// Worker processes (python -m hop_marl.worker) play the copies; observations, masks,
// rewards and actions lie in memory that both sides see, and one message a step goes
// to every worker. Which worker plays a copy, and how many there are, reaches no
// number. An episode is its seed and its actions: that is how a run is resumed.
//
// Copies cannot be copied and their rules cannot be read (game.Spec.Opaque), agents
// keep their seats unless the environment declares that seats are alike, and what goes
// wrong in Python is a game.Failure. docs/environments.md is the user's page.
package pyenv

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/bridge"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/rng"
)

// Game is a Python environment. Make it with New.
type Game struct {
	cfg      Config
	spec     game.Spec
	names    []string // of the agents, by seat
	width    int      // numbers of an observation that Python writes
	tail     bool     // the mask, the time and the last actions are added to them
	packages map[string]string
	pool     pool
	host     *Hosted // who plays it; nil: workers
}

// opened are the environments that this program has opened: building a game twice
// starts Python once.
var opened struct {
	sync.Mutex
	games map[Config]*Game
	host  *Hosted // see Host
}

// New opens the environment, or says why that cannot be.
func New(c Config) (game.Game, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	opened.Lock()
	defer opened.Unlock()
	if opened.host != nil {
		return opened.host, nil
	}
	if g := opened.games[c]; g != nil {
		return g, nil
	}
	g := &Game{cfg: c}
	if err := g.open(); err != nil {
		return nil, config.Bad("env", c.Env, "an environment that can be played: "+err.Error())
	}
	if opened.games == nil {
		opened.games = map[Config]*Game{}
	}
	opened.games[c] = g
	return g, nil
}

// Close ends all workers. Games that were opened cannot be played any more.
func Close() {
	opened.Lock()
	defer opened.Unlock()
	var wg sync.WaitGroup
	for _, g := range opened.games {
		for _, w := range g.pool.workers {
			if w.peer != nil {
				wg.Go(func() { w.peer.Close() })
			}
		}
	}
	wg.Wait()
	opened.games = nil
}

// about is what Python says of an environment.
type about struct {
	Agents   []string          `json:"agents"`
	Actions  []string          `json:"actions"`
	Width    int               `json:"width"`
	Turns    bool              `json:"turns"` // agents act one after the other
	Horizon  int               `json:"horizon"`
	Masks    bool              `json:"masks"`   // some actions are forbidden at times
	Picture  [3]int            `json:"picture"` // height, width and channels that observations begin with, or zeros
	Vectors  bool              `json:"vectors"` // actions are vectors, a number for each of Actions
	Layout   *declared         `json:"layout"`
	Board    []int             `json:"board"` // height, width and planes of a board, or nothing
	Differs  string            `json:"differs"`
	Packages map[string]string `json:"packages"`
}

// declared is what an environment says of its observations in hop_layout: that they are
// laid out as game.Layout says, planes first.
type declared struct {
	Height    int      `json:"height"`
	Width     int      `json:"width"`
	Planes    []string `json:"planes"`
	Owned     int      `json:"owned"`
	Features  int      `json:"features"`
	Legal     bool     `json:"legal"`
	Time      bool     `json:"time"`
	Last      bool     `json:"last"`
	Symmetric bool     `json:"symmetric"`
}

// open starts the first worker and learns what the environment is like.
func (g *Game) open() error {
	for i := range g.cfg.workers() {
		g.pool.workers = append(g.pool.workers, &worker{id: i + 1})
	}
	hired.Lock()
	hired.list = append(hired.list, g.pool.workers...)
	hired.Unlock()
	var a about
	if err := g.pool.workers[0].start(g.cfg, true, &a); err != nil {
		return err
	}
	if a.Differs != "" {
		return fmt.Errorf("its episodes cannot be played again from a seed, so that a run that was stopped could not go on where it was: %s. "+
			"Let reset(seed=...) seed every source of chance; or train with --set game.replay=false, and do without --resume", a.Differs)
	}
	return g.describe(a)
}

// describe makes the game's spec of what Python says.
func (g *Game) describe(a about) error {
	seats, actions := len(a.Agents), len(a.Actions)
	g.names, g.width, g.packages = a.Agents, a.Width, a.Packages
	g.spec = game.Spec{
		Name: "python", Kind: game.GeneralSum, Seats: seats, Actions: a.Actions, Horizon: a.Horizon,
		Obs: game.Layout{Features: a.Width, Picture: a.Picture}, Deterministic: true, Fixed: true, Opaque: true, Continuous: a.Vectors,
	}
	if a.Masks {
		g.spec.Obs.Legal, g.tail = actions, true
	}
	if d := a.Layout; d != nil {
		return g.declare(d, a)
	}
	return nil
}

// declare makes the layout that an environment declares its own.
func (g *Game) declare(d *declared, a about) error {
	l := game.Layout{Height: d.Height, Width: d.Width, Planes: d.Planes, Owned: d.Owned, Features: d.Features}
	if len(a.Board) == 3 && d.Height == 0 && d.Width == 0 {
		l.Height, l.Width = a.Board[0], a.Board[1]
	}
	bare := l.PlanesLen() + l.Features
	if d.Legal || d.Last {
		l.Legal = len(a.Actions)
	}
	if d.Time {
		l.Time = 1
	}
	if d.Last {
		l.Last = len(a.Agents)
	}
	var errs []error
	if l.Owned != 0 && l.Owned != len(a.Agents) {
		errs = append(errs, fmt.Errorf("owned is %d, want 0 or the number of agents, %d", l.Owned, len(a.Agents)))
	}
	if len(l.Planes) > 0 && (l.Height < 1 || l.Width < 1 || len(l.Planes) < len(a.Agents)+l.Owned) {
		errs = append(errs, fmt.Errorf("a board of %d by %d with planes %v, want a plane for each of the %d agents first, the observer's own "+
			"before the others'", l.Height, l.Width, l.Planes, len(a.Agents)))
	}
	if g.width != bare && g.width != l.Len() {
		errs = append(errs, fmt.Errorf("its observations have %d numbers; planes and features are %d, and with mask, time and last actions %d",
			g.width, bare, l.Len()))
	}
	if a.Vectors && (d.Legal || d.Last) {
		errs = append(errs, errors.New("its actions are vectors (Box), which have no mask and no last actions to observe: let legal and "+
			"last be false"))
	}
	if a.Turns {
		errs = append(errs, errors.New("its agents act one after the other, and hop_layout is for those who act at once"))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("its hop_layout does not fit: %w", err)
	}
	g.spec.Obs, g.tail = l, g.width == bare && l.Len() > bare
	g.spec.Symmetric, g.spec.Fixed = d.Symmetric, !d.Symmetric
	return nil
}

// Spec describes the game.
func (g *Game) Spec() game.Spec { return g.spec }

// Label names the environment.
func (g *Game) Label() string { return g.cfg.Label() }

// Bots lists the one policy that every environment has.
func (g *Game) Bots() []game.BotInfo { return []game.BotInfo{game.RandomBot(len(g.spec.Actions))} }

// Packages returns the versions of what the environment is made of.
func (g *Game) Packages() map[string]string { return maps.Clone(g.packages) }

// Agents returns what the environment calls its agents, by seat.
func (g *Game) Agents() []string { return slices.Clone(g.names) }

// Replays reports whether episodes can be played again from their seed and actions.
func (g *Game) Replays() bool { return g.cfg.Replay }

// New returns a state; a worker makes the copy when it is first reset.
func (g *Game) New() game.State {
	st := g.newState()
	g.pool.add(st)
	return st
}

// newState returns a state that nobody plays yet.
func (g *Game) newState() *state {
	seats := g.spec.Seats
	st := &state{g: g, alive: make([]bool, seats), lost: make([]bool, seats), last: make([]int8, seats), over: true}
	st.self[0] = st
	return st
}

// StepAll steps and resets states of any workers, side by side.
func (g *Game) StepAll(sts []game.State, actions [][]int32, rewards [][]float32, rules []*rng.Rand) {
	if err := g.pool.place(g); err != nil {
		panic(&game.Failure{Err: err})
	}
	for i, s := range sts {
		if actions[i] != nil {
			s.(*state).check(actions[i])
		}
	}
	failed := g.pool.tick(sts, actions, rules)
	if failed == nil {
		for i, s := range sts {
			st := s.(*state)
			if err := st.take(actions[i]); err != nil {
				failed = err
				break
			}
			if actions[i] != nil {
				copy(rewards[i], st.row().reward)
			}
		}
	}
	if failed != nil {
		panic(&game.Failure{Err: failed})
	}
}

// Processes returns how many workers play.
func (g *Game) Processes() int { return len(g.pool.workers) }

// Lost reports that a seat was stopped by a limit from outside: the environment has
// truncated its episode, or it was longer than the horizon.
func (g *Game) Lost(st game.State, s game.Seat) bool {
	x := st.(*state)
	return x.lost[s] && !(g.spec.Obs.Time > 0 && x.t >= g.spec.Horizon) // who sees the time knows that limit
}

var _ rollout.Elsewhere = (*Game)(nil)

// Config says which environment is played.
type Config struct {
	Env     string `yaml:"env" doc:"the environment, MODULE:FUNCTION: a Python function that returns a PettingZoo environment; modules of the current folder come first"`
	Kwargs  string `yaml:"kwargs" doc:"arguments of that function, a JSON object such as {\"N\": 2}"`
	Horizon int    `yaml:"horizon" doc:"longest episode; longer ones are cut; 0: what the environment says, else 1000" unit:"steps" range:"0..100000"`
	Workers int    `yaml:"workers" doc:"Python processes that play the copies; 0: one a core, at most 16; no number depends on it" range:"0..256"`
	Python  string `yaml:"python" doc:"the Python interpreter; empty: HOP_PYTHON, the one beside the hop command, the one of VIRTUAL_ENV, or python3"`
	Lenient bool   `yaml:"lenient" doc:"observations outside of their Box are clipped, rewards that are arrays of one number and agents that nobody knows are taken as they come, and counted; false: refused"`
	Replay  bool   `yaml:"replay" doc:"episodes can be played again from reset(seed) and their actions, which is tried before a run begins; false: not tried, and a run that was stopped cannot be resumed"`
}

// Default returns a config that names no environment.
func Default() Config { return Config{Replay: true} }

// Validate returns everything that is wrong with the parameters, joined. Whether there
// is such an environment is found out when it is opened.
func (c Config) Validate() error {
	errs := []error{
		config.Check(c),
		config.Need(c.Env != "", "env", c.Env, "MODULE:FUNCTION, such as mpe2.simple_spread_v3:parallel_env (--env names it too)"),
	}
	var args map[string]any
	if c.Kwargs != "" && json.Unmarshal([]byte(c.Kwargs), &args) != nil {
		errs = append(errs, config.Bad("kwargs", c.Kwargs, `a JSON object such as {"N": 2}`))
	}
	return errors.Join(errs...)
}

// Label names the environment.
func (c Config) Label() string { return strings.TrimSpace(c.Env + " " + c.Kwargs) }

// Executes says what opening the environment runs.
func (c Config) Executes() string {
	return fmt.Sprintf("\"%s -m hop_marl.worker\" with %s(%s)", cmp.Or(c.Python, "python3"), c.Env, c.Kwargs)
}

// workers returns how many processes there are to be.
func (c Config) workers() int {
	if c.Workers > 0 {
		return c.Workers
	}
	return max(1, min(runtime.NumCPU(), 16))
}

// Hosted is an environment that the Python process plays which started this program: agents of ours
// are asked to act in it. What came of a reset or a step stands in memory that the host writes, and
// nothing is started here. Make it with Host.
type Hosted struct {
	g     *Game
	there *block // the host's memory; nil until it is shared
}

// Host takes what the host says of its environment, as a worker would. From then on that is the
// environment which New returns, whatever a config names: this program starts no other.
func Host(c Config, said json.RawMessage) (*Hosted, error) {
	var a about
	if err := json.Unmarshal(said, &a); err != nil {
		return nil, err
	}
	h := &Hosted{g: &Game{cfg: c}}
	h.g.host = h
	if err := h.g.describe(a); err != nil {
		return nil, err
	}
	opened.Lock()
	defer opened.Unlock()
	opened.host = h
	return h, nil
}

// Arrays lists what the host must share, beside what it sees of any game.
func (h *Hosted) Arrays() []bridge.Array {
	list := h.g.arrays(1)[4:9] // the host knows its seeds and actions
	for i := range list {
		list[i].Name = "own_" + list[i].Name
	}
	return list
}

// Share takes the host's memory.
func (h *Hosted) Share(m *bridge.Memory) {
	h.there = &block{
		obs: bridge.Slice[float32](m, "own_obs"), mask: bridge.Slice[uint8](m, "own_mask"), alive: bridge.Slice[uint8](m, "own_alive"),
		cut: bridge.Slice[uint8](m, "own_cut"), reward: bridge.Slice[float32](m, "own_reward"),
	}
}

// Spec describes the game.
func (h *Hosted) Spec() game.Spec { return h.g.spec }

// Label names the environment.
func (h *Hosted) Label() string { return h.g.Label() }

// Bots lists the one policy that every environment has.
func (h *Hosted) Bots() []game.BotInfo { return h.g.Bots() }

// Agents returns what the environment calls its agents, by seat.
func (h *Hosted) Agents() []string { return h.g.Agents() }

// New returns the state of the host's one copy.
func (h *Hosted) New() game.State {
	st := h.g.newState()
	seats, k := h.g.spec.Seats, len(h.g.spec.Actions)
	st.at.b = &block{
		obs: make([]float32, seats*h.g.width), mask: make([]uint8, seats*k), alive: make([]uint8, seats),
		cut: make([]uint8, seats), reward: make([]float32, seats), action: make([]int32, seats),
		vector: make([]float32, seats*k),
	}
	return st
}

// played takes what the host has written of a step or, without actions, of a reset.
func (h *Hosted) played(st *state, actions []int32, rewards []float32) {
	if h.there == nil { // copies are reset once before the host has begun
		return
	}
	if actions != nil {
		st.check(actions)
	}
	mine := st.at.b
	copy(mine.obs, h.there.obs)
	copy(mine.mask, h.there.mask)
	copy(mine.alive, h.there.alive)
	copy(mine.cut, h.there.cut)
	copy(mine.reward, h.there.reward)
	if err := st.take(actions); err != nil {
		panic(&game.Failure{Err: err})
	}
	copy(rewards, mine.reward)
}
