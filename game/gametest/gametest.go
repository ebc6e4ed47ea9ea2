// Package gametest is the conformance suite that every game runs:
//
//	func TestGame(t *testing.T) { gametest.Run(t, g) }
//
// Each check is a function of a game that returns an error, so the package's own
// tests can plant one fault at a time in a toy game and see the check meant for
// it object. A check that has never failed proves nothing.
//
// All play is seeded and the same on every machine. Half of the episodes are
// played by uniformly random seats and half by the game's bots, so that states
// which random play rarely reaches are visited too. The only checks that are
// statistical, "bots" and "seats", state their error rate. Nothing here may be
// run beside parallel tests, because allocations are counted.
//
// help.go has what games' own tests share: positions from text, steps, returns of
// teams of bots, texts that must be refused, and a benchmark.
package gametest

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
)

// Check is one claim about games.
type Check struct {
	Name, Doc string
	Fn        func(g game.Game) error
}

// Checks are all the claims, in the order in which Run tries them.
var Checks = []Check{
	{"spec", "the Spec, the layout and the bots' names make sense", checkSpec},
	{"horizon", "an episode is over after at most Horizon steps; only a game that is over can be cut", checkHorizon},
	{"determinism", "the same seed gives the same episode, whatever the state held before and whatever others play", checkDeterminism},
	{"arguments", "Step changes and keeps none of its arguments, writes every reward, and draws nothing if the Spec says so", checkArguments},
	{"legal", "Step accepts exactly the actions of the mask and refuses the rest with a constant string", checkLegal},
	{"leaving", "nobody comes back, who has left is paid nothing, and nobody is alive once the episode is over", checkLeaving},
	{"finite", "rewards and observations are finite", checkFinite},
	{"kind", "a cooperative game pays all alike, a zero-sum game pays nothing in sum", checkKind},
	{"goals", "Reached names a goal of the Spec, or none", checkGoals},
	{"layout", "an observation is what the Layout says, all of it", checkLayout},
	{"view", "a seat sees what is in its view and those who act there, and nothing that happens elsewhere changes what it sees", checkView},
	{"ego-first", "turning the seats around the table turns nothing that a seat sees", checkEgoFirst},
	{"copy", "a copy equals its original, goes on like a replay, and shares no memory with it", checkCopy},
	{"text", "a state that can be read from text comes back whole", checkText},
	{"allocations", "after New nothing allocates", checkAllocations},
	{"bots", "bots act legally and as often as they say", checkBots},
	{"reads", "bots act by nothing that they do not say they read", checkReads},
	{"permutation", "relabelling the seats relabels the outcome and changes nothing else", checkPermutation},
	{"seats", "under equal play no seat earns more than another", checkSeats},
	{"goroutines", "a Game serves several goroutines at once; run with -race", checkGoroutines},
}

// Run holds g to every check, each a subtest. A wrong Spec ends it early, since
// the other checks believe the Spec.
func Run(t *testing.T, g game.Game) {
	t.Helper()
	for _, c := range Checks {
		ok := t.Run(c.Name, func(t *testing.T) {
			err := c.Try(g)
			if why, ok := err.(DoesNotApply); ok {
				t.Skip(why)
			}
			if err != nil {
				t.Errorf("%s\n%s: %v", c.Doc, g.Spec().Name, err)
			}
		})
		if !ok && c.Name == "spec" {
			return
		}
	}
}

// DoesNotApply is what a check returns for games that it says nothing about, such
// as those of symmetry about games that are not symmetric.
type DoesNotApply string

// noCopies is said of games that another program plays.
const noCopies = DoesNotApply("its states cannot be copied")

func (d DoesNotApply) Error() string { return "gametest: does not apply: " + string(d) }

// Try runs the check and returns a panic of the game as an error.
func (c Check) Try(g game.Game) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the game panics: %v", p)
		}
	}()
	return c.Fn(g)
}

// seed is that of all the suite's episodes.
const seed = 20

// slots is how many slots a check visits at least, in minEpisodes or more; fewer in proportion
// where more than a crowd play, each of whom is looked at.
const (
	slots       = 400
	minEpisodes = 8
	crowd       = 8
)

// tour plays episodes and stops at every slot.
type tour struct {
	g       game.Game
	spec    game.Spec
	st      game.State
	bots    []game.Bot // [Seats] nil plays uniformly
	episode int
	t       int
	start   rng.Rand // where rules began
	rules   rng.Rand
	act     rng.Rand // the players' draws
	pick    rng.Rand // the check's own draws

	was     []bool    // [Seats] alive before the last step
	played  []int32   // [Seats] the last joint action; NoAction before the first
	rewards []float32 // [Seats] of the last step
	actions []int32   // [Seats] the next joint action, legal; NoAction once over
	history []int32   // [t][Seats] all joint actions of the episode
	legal   []bool    // [Actions] scratch
}

func newTour(g game.Game) *tour {
	spec := g.Spec()
	return &tour{
		g: g, spec: spec, st: g.New(), bots: make([]game.Bot, spec.Seats),
		was: make([]bool, spec.Seats), played: make([]int32, spec.Seats),
		rewards: make([]float32, spec.Seats), history: make([]int32, 0, spec.Seats*spec.Horizon), actions: make([]int32, spec.Seats),
		legal: make([]bool, len(spec.Actions)),
	}
}

// begin starts an episode, which depends on nothing but its number.
func (tr *tour) begin(episode int) {
	key := rng.New(seed).Child("episode", episode)
	tr.episode, tr.t = episode, 0
	tr.rules, tr.act, tr.pick = key.Child("rules").Rand(), key.Child("act").Rand(), key.Child("pick").Rand()
	infos := tr.g.Bots()
	for s := range tr.bots {
		tr.bots[s] = nil
		if episode%2 == 1 && len(infos) > 0 {
			tr.bots[s] = infos[tr.act.IntN(len(infos))].New()
		}
		tr.was[s], tr.played[s], tr.rewards[s] = false, game.NoAction, 0
	}
	tr.start, tr.history = tr.rules, tr.history[:0]
	tr.st.Reset(&tr.rules)
	tr.choose()
}

// replay returns a new state played from the start of the episode to this slot.
func (tr *tour) replay() game.State {
	st, r := tr.g.New(), tr.start
	rewards := make([]float32, tr.spec.Seats)
	st.Reset(&r)
	for h := tr.history; len(h) > 0; h = h[tr.spec.Seats:] {
		st.Step(h[:tr.spec.Seats], rewards, &r)
	}
	return st
}

// choose fills actions. A bot that acts illegally is replaced by a random draw:
// only the check of the bots shall object to it.
func (tr *tour) choose() {
	for s := range tr.actions {
		tr.actions[s] = game.NoAction
		if tr.st.Over() || !tr.st.Alive(game.Seat(s)) {
			continue
		}
		tr.st.Legal(game.Seat(s), tr.legal)
		if tr.bots[s] != nil {
			if a := tr.bots[s].Act(tr.st, game.Seat(s), &tr.act); a >= 0 && int(a) < len(tr.legal) && tr.legal[a] {
				tr.actions[s] = a
				continue
			}
		}
		tr.actions[s] = game.Uniform(tr.legal, &tr.act)
	}
}

// step plays the chosen actions and chooses the next.
func (tr *tour) step() {
	for s := range tr.was {
		tr.was[s] = tr.st.Alive(game.Seat(s))
	}
	copy(tr.played, tr.actions)
	tr.history = append(tr.history, tr.actions...)
	tr.st.Step(tr.actions, tr.rewards, &tr.rules)
	tr.t++
	tr.choose()
}

// ended reports that the episode is over, or should be.
func (tr *tour) ended() bool { return tr.st.Over() || tr.t >= tr.spec.Horizon }

// where puts the place of a fault, and the state, around it.
func (tr *tour) where(err error) error {
	text, _ := tr.st.AppendText(nil)
	return fmt.Errorf("episode %d, step %d: %w\nthe state:\n%s", tr.episode, tr.t, err, text)
}

// apart is how many slots of a long episode lie between those that copies are played on from, and looked at on
// their way after the first hundred.
func apart(spec *game.Spec) int { return 1 + spec.Horizon/200 }

// visit calls see at every slot of many episodes, the last slots included.
func visit(g game.Game, see func(tr *tour) error) error {
	tr := newTour(g)
	for e, n := 0, 0; e < minEpisodes || n*max(crowd, tr.spec.Seats) < slots*crowd; e++ {
		tr.begin(e)
		for ; ; n++ {
			if err := see(tr); err != nil {
				return tr.where(err)
			}
			if tr.ended() {
				n++
				break
			}
			tr.step()
		}
	}
	return nil
}

// view is everything that can be asked of a state, for comparing two.
type view struct{ text, rest string }

// look asks a state everything.
func look(spec *game.Spec, st game.State) view {
	text, _ := st.AppendText(nil)
	var mask [game.MaxActions]bool
	obs := make([]float32, spec.Obs.Len())
	b := append(make([]byte, 0, 4*spec.Seats*(len(obs)+len(mask))), bit(st.Over()))
	for s := range spec.Seats {
		seat := game.Seat(s)
		b = append(b, bit(st.Alive(seat)))
		st.Legal(seat, mask[:len(spec.Actions)])
		for _, ok := range mask {
			b = append(b, bit(ok))
		}
		if g, ok := st.(game.Goaler); ok {
			b = append(b, byte(g.Reached(seat)))
		}
		st.Observe(seat, obs)
		b = appendFloats(b, obs)
	}
	return view{string(text), string(b)}
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func appendFloats(b []byte, x []float32) []byte {
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// compare returns an error that says how two views differ.
func compare(what string, got, want view) error {
	switch {
	case got.text != want.text:
		return fmt.Errorf("%s: got the text\n%s\nwant\n%s", what, got.text, want.text)
	case got.rest != want.rest:
		return fmt.Errorf("%s: the texts are equal, but what is alive, legal, reached or observed is not:\n%s", what, got.text)
	}
	return nil
}

// alike steps two states, equal now, with the same actions and draws to the end
// and returns where they part. It leaves both over and takes the draws by value. A long way
// is looked at here and there.
func alike(what string, tr *tour, a, b game.State, rules, act rng.Rand) error {
	spec := &tr.spec
	other := rules
	ra, rb := make([]float32, spec.Seats), make([]float32, spec.Seats)
	actions := make([]int32, spec.Seats)
	var mask [game.MaxActions]bool
	for t := tr.t; ; t++ {
		if t-tr.t < 100 || t%apart(spec) == 0 || a.Over() || t >= spec.Horizon {
			if err := compare(fmt.Sprintf("%s, step %d", what, t), look(spec, a), look(spec, b)); err != nil {
				return err
			}
		}
		if a.Over() || t >= spec.Horizon {
			return nil
		}
		for s := range actions {
			a.Legal(game.Seat(s), mask[:len(spec.Actions)])
			actions[s] = game.Uniform(mask[:len(spec.Actions)], &act)
		}
		a.Step(actions, ra, &rules)
		b.Step(actions, rb, &other)
		for s := range ra {
			if ra[s] != rb[s] {
				return fmt.Errorf("%s, step %d: seat %d gets %v and %v", what, t, s, ra[s], rb[s])
			}
		}
	}
}
