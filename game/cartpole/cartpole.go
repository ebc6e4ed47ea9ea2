// Package cartpole is CartPole-v1, one seat, exactly as Gymnasium has it: a pole
// on a cart, pushed left or right, pays 1 a step until it falls or the cart
// leaves the track. It is here to check learners against the literature.
//
// The limit of 500 steps is from outside: the agent does not see the time, so
// that end is a cut (game.Limited) and values bootstrap. Falling is an exit.
//
// The state is float64, as in Gymnasium; an observation is its float32 form.
// Every product is rounded before it is added, so that no compiler fuses the two
// and all machines step alike.
package cartpole

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
)

// Config holds the parameters of the game. Default returns CartPole-v1.
type Config struct {
	Limit int `yaml:"limit" doc:"cut the episode then; the agent does not see it (CartPole-v0: 200)" unit:"steps" range:"1..100000"`
}

// Default returns CartPole-v1.
func Default() Config { return Config{Limit: 500} }

// Validate returns everything that is wrong with the parameters, joined.
func (c Config) Validate() error { return config.Check(c) }

// The actions.
const (
	PushLeft = iota
	PushRight
	actions
)

// Gymnasium's constants, in metres, kilograms, seconds and radians.
const (
	gravity    = 9.8
	massCart   = 1.0
	massPole   = 0.1
	massTotal  = massCart + massPole
	halfPole   = 0.5
	poleMoment = massPole * halfPole
	force      = 10.0
	tau        = 0.02
	maxX       = 2.4
	maxTheta   = 12 * 2 * math.Pi / 360
	startBound = 0.05
)

// Game is CartPole with fixed parameters.
type Game struct {
	c    Config
	spec game.Spec
}

var _ game.Game = (*Game)(nil)

// New returns the game, or everything that is wrong with its parameters.
func New(c Config) (*Game, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Game{c: c, spec: game.Spec{
		Name: "cartpole", Kind: game.Cooperative, Seats: 1,
		Actions: []string{"push left", "push right"},
		Horizon: c.Limit,
		Obs:     game.Layout{Features: 4},

		Symmetric: true, Deterministic: true,
	}}, nil
}

// Spec describes the game.
func (g *Game) Spec() game.Spec { return g.spec }

// New returns a state that must be Reset before use.
func (g *Game) New() game.State { return &State{g: g} }

// Bots lists the scripted policies.
func (g *Game) Bots() []game.BotInfo {
	return []game.BotInfo{
		game.RandomBot(actions),
		{Name: "balance", Doc: "pushes towards where the pole and the cart are heading; never falls", New: func() game.Bot { return balance{} }},
	}
}

// State is one episode.
type State struct {
	g    *Game
	t    int32
	fell bool
	at   [4]float64 // cart position, its velocity, pole angle, its velocity
}

var (
	_ game.State    = (*State)(nil)
	_ game.Limited  = (*State)(nil)
	_ game.Permuter = (*State)(nil)
)

// Reset draws each of the four numbers uniformly from ±0.05.
func (st *State) Reset(r *rng.Rand) {
	st.t, st.fell = 0, false
	for i := range st.at {
		st.at[i] = startBound * (2*r.Float64() - 1)
	}
}

// Step pushes the cart for 0.02 s, by Euler's method, and pays 1, also for the
// step in which the pole falls.
func (st *State) Step(acts []int32, rewards []float32, _ *rng.Rand) {
	game.Ready(st.Over(), 1, acts, rewards)
	push := force
	switch acts[0] {
	case PushLeft:
		push = -force
	case PushRight:
	default:
		panic("cartpole: illegal action")
	}
	x, v, theta, omega := st.at[0], st.at[1], st.at[2], st.at[3]
	sin, cos := math.Sincos(theta)
	temp := (push + float64(poleMoment*float64(omega*omega)*sin)) / massTotal
	thetaAcc := (float64(gravity*sin) - float64(cos*temp)) /
		(halfPole * (4.0/3.0 - float64(massPole*float64(cos*cos)/massTotal)))
	xAcc := temp - float64(poleMoment*thetaAcc*cos/massTotal)
	x += float64(tau * v)
	v += float64(tau * xAcc)
	theta += float64(tau * omega)
	omega += float64(tau * thetaAcc)
	st.at = [4]float64{x, v, theta, omega}
	st.t++
	st.fell = fallen(x, theta)
	rewards[0] = 1
}

func fallen(x, theta float64) bool {
	return x < -maxX || x > maxX || theta < -maxTheta || theta > maxTheta
}

// Alive reports whether the episode goes on.
func (st *State) Alive(game.Seat) bool { return !st.Over() }

// Over reports whether the pole fell, the cart left the track or the limit was reached.
func (st *State) Over() bool { return st.fell || int(st.t) >= st.g.c.Limit }

// Cut reports whether the limit alone ended the episode.
func (st *State) Cut() bool { return st.Over() && !st.fell }

// Time returns the number of steps played.
func (st *State) Time() int { return int(st.t) }

// Legal allows both pushes as long as the episode goes on.
func (st *State) Legal(_ game.Seat, dst []bool) {
	going := !st.Over()
	dst[PushLeft], dst[PushRight] = going, going
}

// Observe writes cart position, cart velocity, pole angle and pole velocity.
func (st *State) Observe(_ game.Seat, dst []float32) {
	for i, v := range st.at {
		dst[i] = float32(v)
	}
}

// CopyFrom makes the state equal to src.
func (st *State) CopyFrom(src game.State) { *st = *src.(*State) }

// Permute is CopyFrom: there is one seat.
func (st *State) Permute(src game.State, _ []game.Seat) { st.CopyFrom(src) }

// balance pushes towards the side to which the pole leans and the cart drifts.
type balance struct{}

func (balance) Name() string { return "balance" }

func (balance) Act(st game.State, _ game.Seat, _ *rng.Rand) int32 {
	at := &st.(*State).at
	if lean := at[2] + 0.3*at[3] + 0.03*at[0] + 0.08*at[1]; lean > 0 {
		return PushRight
	}
	return PushLeft
}

func (b balance) Probs(st game.State, s game.Seat, dst []float32) {
	dst[PushLeft], dst[PushRight] = 0, 0
	dst[b.Act(st, s, nil)] = 1
}

var _ game.Policy = balance{}

// names are the four numbers of a state, in the order of the observation.
var names = [4]string{"x", "v", "theta", "omega"}

// AppendText writes the whole state, for playthroughs and failures, each number
// with all its digits:
//
//	t=3 x=0.0123 v=-0.2 theta=0.01 omega=0.3
func (st *State) AppendText(b []byte) ([]byte, error) {
	b = fmt.Appendf(b, "t=%d", st.t)
	for i, v := range st.at {
		b = append(b, ' ')
		b = append(b, names[i]...)
		b = append(b, '=')
		b = strconv.AppendFloat(b, v, 'g', -1, 64)
	}
	return append(b, '\n'), nil
}

// UnmarshalText sets the state from what AppendText wrote. A number that is left
// out is 0.
func (st *State) UnmarshalText(text []byte) error {
	fresh := State{g: st.g}
	for _, w := range strings.Fields(string(text)) {
		key, val, _ := strings.Cut(w, "=")
		if key == "t" {
			t, err := strconv.ParseInt(val, 10, 32)
			if err != nil || t < 0 || int(t) > st.g.c.Limit {
				return fmt.Errorf("cartpole: reading a position: %q, want t from 0 to %d", w, st.g.c.Limit)
			}
			fresh.t = int32(t)
			continue
		}
		i := 0
		for i < len(names) && names[i] != key {
			i++
		}
		v, err := strconv.ParseFloat(val, 64)
		if i == len(names) || err != nil || v-v != 0 {
			return fmt.Errorf("cartpole: reading a position: %q, want t=3 x=0.1 v=0.2 theta=0.03 omega=0.4", w)
		}
		fresh.at[i] = v
	}
	fresh.fell = fallen(fresh.at[0], fresh.at[2])
	*st = fresh
	return nil
}

// Bounds is what the return cannot leave: 1 a step.
func Bounds(c Config) stats.Interval { return stats.Interval{0, float64(c.Limit)} }
