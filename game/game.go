// Package game says what a game is.
//
// A Game is a fixed set of rules; a State is one episode of it. All seats act
// at once. Seats leave at different times: a seat that has left is not alive,
// plays NoAction, and gets no further reward. Nothing in a game may depend on
// seat numbers unless its Spec says that it is not symmetric.
//
// Memory belongs to the caller, randomness is an argument, and after New
// nothing allocates. A State is for one goroutine; a Game is for any number.
// Package game/gametest checks all of this for any game.
package game

import (
	"encoding"
	"fmt"
	"slices"
	"strings"

	"github.com/hop-marl/hop/num/rng"
)

// Seat is a place in a game, from 0. A seat is not a learner: learners are
// dealt to seats anew each episode.
type Seat int

// NoAction is what a seat that has left plays, everywhere.
const NoAction int32 = -1

// NoGoal says that a seat reached none of the game's goals.
const NoGoal = -1

// Kind says whose interests a game sets against whose.
type Kind uint8

// The three kinds of games.
const (
	GeneralSum  Kind = iota // interests partly agree: the mixed-motive games
	Cooperative             // every seat is paid the same
	ZeroSum                 // rewards of a step sum to zero
)

func (k Kind) String() string { return [...]string{"general-sum", "cooperative", "zero-sum"}[k] }

// Spec is what everyone may know about a game without playing it.
type Spec struct {
	Name    string   // as in `hop list games`
	Kind    Kind     //
	Seats   int      // how many play
	Actions []string // names by index; alike for all seats
	Goals   []string // hand-made goals by index; nil if the game has none
	Horizon int      // an episode has at most this many steps
	Obs     Layout   // what Observe writes

	// View is how many rows and columns around itself a seat sees; 0: everything. Above 0
	// observations are partial: what lies beyond is 0 in them, and states are Whole.
	View int

	Symmetric     bool // seats are interchangeable
	Deterministic bool // Step draws no random numbers; Reset may
	Fixed         bool // seats have roles of their own: agent a always sits on seat a
	// Opaque says that another program plays the game: states cannot be copied, and
	// their rules are not there to be searched. CopyFrom of such a state panics.
	Opaque bool
	// Continuous says that an action is a vector, a number for each of Actions: Legal says which
	// of them a seat has, every living seat plays the first such as its action, and the vector
	// itself goes to the state's Vectors. Numbers of -1 to 1 are what is usual.
	Continuous bool
}

// Discrete says why somebody who knows named actions only cannot play or learn here; nil: who can.
func (s Spec) Discrete(who string) error {
	if !s.Continuous {
		return nil
	}
	return fmt.Errorf("%s knows actions that have names, and those of this environment are vectors (Box); what knows vectors are "+
		"mind ppo and the commands train, eval, crossplay and adapt", who)
}

// Layout says what an observation holds, in this order:
//
//	planes   [Height][Width][len(Planes)]  0 or 1
//	features [Features]                    any numbers
//	legal    [Legal]                       own mask, 0 or 1
//	time     [Time]                        steps so far / Horizon
//	last     [Last][Legal]                 last joint action, one-hot, ego-first
//
// Ego-first means: the observing seat, then the next seats in order, wrapping.
// Planes of agents and the last joint action use the same order, and so do the
// planes right after the agents' if they show what belongs to whom (Owned). On a
// board the first features are one for each seat, ego-first, such as its role, and
// any others are the same for everyone.
type Layout struct {
	Height, Width int
	Planes        []string
	Owned         int // planes after the agents' that are one for each seat too: the number of seats, or 0
	// Pooled says that plane 1 counts the other seats on each cell, in place of a plane for each, and
	// that what they did is not observed: what an observation costs does not grow with the seats.
	Pooled   bool `json:",omitzero"`
	Features int
	Picture  [3]int `json:",omitzero"` // height, width and channels of a picture, 0 to 1, that the features begin with; zero: none
	Legal    int    // number of actions, or 0 if the mask is not observed
	Time     int    // 1, or 0 if time is not observed
	Last     int    // number of seats, or 0 if the last joint action is not observed
}

// PlanesLen returns the length of the planes part.
func (l Layout) PlanesLen() int { return l.Height * l.Width * len(l.Planes) }

// FeaturesAt returns the offset of the features.
func (l Layout) FeaturesAt() int { return l.PlanesLen() }

// LegalAt returns the offset of the mask.
func (l Layout) LegalAt() int { return l.FeaturesAt() + l.Features }

// TimeAt returns the offset of the time.
func (l Layout) TimeAt() int { return l.LegalAt() + l.Legal }

// LastAt returns the offset of the last joint action.
func (l Layout) LastAt() int { return l.TimeAt() + l.Time }

// LastOf returns what an observation shows that a place, counted from the observer,
// played last, of so many actions; NoAction: nothing.
func (l Layout) LastOf(obs []float32, place, actions int) int32 {
	at := l.LastAt() + place*actions
	for k, x := range obs[at : at+actions] {
		if x != 0 {
			return int32(k)
		}
	}
	return NoAction
}

// CellOf returns the cell on which an observation shows the seat that is so many places further
// on than the observer, or -1.
func (l *Layout) CellOf(obs []float32, place int) int {
	for c := range l.Height * l.Width {
		if obs[c*len(l.Planes)+place] != 0 {
			return c
		}
	}
	return -1
}

// InView reports whether a cell is at most view rows and view columns from another.
func (l *Layout) InView(view, from, c int) bool {
	dy, dx := from/l.Width-c/l.Width, from%l.Width-c%l.Width
	return max(dy, -dy, dx, -dx) <= view
}

// Hide makes an observation of the whole board one of what is in view from a cell, -1 for that of
// nobody: what lies beyond is 0 on every plane, and so are features of what is on none. What was
// done last stays.
func (l *Layout) Hide(obs []float32, view, from int) {
	planes := len(l.Planes)
	row := l.Width * planes
	left, right := 0, 0 // the columns in view, times planes
	y, x := -1-view, 0
	if from >= 0 {
		y, x = from/l.Width, from%l.Width
		left, right = max(0, x-view)*planes, min(l.Width, x+view+1)*planes
	}
	for r := range l.Height {
		cells := obs[r*row : (r+1)*row]
		if r < y-view || r > y+view {
			clear(cells)
			continue
		}
		clear(cells[:left])
		clear(cells[right:])
	}
	for k, v := range obs[l.FeaturesAt():][:l.Features] {
		if v != 0 && l.CellOf(obs, k) < 0 {
			obs[l.FeaturesAt()+k] = 0
		}
	}
}

// Len returns the length of an observation.
func (l Layout) Len() int { return l.LastAt() + l.Last*l.Legal }

// Game is a fixed set of rules.
type Game interface {
	// Spec describes the game; it is the same on every call.
	Spec() Spec
	// New returns a state that must be Reset before use.
	New() State
	// Bots lists the game's scripted policies.
	Bots() []BotInfo
}

// State is one episode, for one goroutine. AppendText writes all of it, so two
// states with the same text go on alike.
type State interface {
	encoding.TextAppender
	// Reset starts a new episode.
	Reset(r *rng.Rand)
	// Step plays one simultaneous move and writes every seat's reward.
	// It panics if a living seat's action is not legal, if a seat that has
	// left plays anything but NoAction, or if the episode is over.
	Step(actions []int32, rewards []float32, r *rng.Rand)
	// Alive reports whether the seat may act. Nobody is alive once Over.
	Alive(s Seat) bool
	// Over reports whether the episode has ended.
	Over() bool
	// Legal writes which actions the seat may play; all false if not alive.
	Legal(s Seat, dst []bool)
	// Observe writes what the seat sees, as the Spec's Layout says. It works
	// for seats that have left too: their last observation has a slot.
	Observe(s Seat, dst []float32)
	// CopyFrom makes the state equal to src, a state of the same Game.
	CopyFrom(src State)
}

// Vectored is a State of a game whose actions are vectors (Spec.Continuous).
type Vectored interface {
	State
	// Vectors returns where the caller writes what the next Step plays, [seats][actions].
	Vectors() []float32
}

// Goaler is a State whose game has hand-made goals.
type Goaler interface {
	// Reached returns the goal that the seat reached in the last step, or NoGoal.
	// A trajectory is labelled backwards from there: each of its steps had the
	// goal that was reached next.
	Reached(s Seat) int
}

// Whole is a State of a game with partial observations (Spec.View) that can also write what
// the seat would see if everything were in its view. It is for those who check games; what
// acts or learns must not ask.
type Whole interface {
	ObserveWhole(s Seat, dst []float32)
}

// Thing is what is known of one kind of things on a board before any of them is seen.
type Thing struct {
	Count int // how many an episode begins with; 0: that is not known
	Takes int // how many seats it takes to catch one and leave with it; 0: nobody can, and nobody stands there
}

// Hiding is a Game with a view (Spec.View) whose players can suppose what they do not see.
type Hiding interface {
	Game
	// Whole returns the same game with everything in view; its states are Supposers.
	Whole() Game
	// Things returns what is known of each kind of things, by plane after the agents'.
	Things() []Thing
}

// Supposer is a State that can be made from what a seat would see of the whole board.
type Supposer interface {
	State
	// Suppose makes the state one that the seat observes so. What is on no plane has left.
	Suppose(s Seat, obs []float32)
}

// WholeOf returns a game with everything in view, with what is known of it; false if nobody can
// suppose what its view hides.
func WholeOf(g Game) (whole Game, ok bool) {
	if g.Spec().View == 0 {
		return g, true
	}
	if k, ok := g.(*Known); ok {
		whole, ok := WholeOf(k.Game)
		return With(whole, k.of...), ok
	}
	h, ok := g.(Hiding)
	if !ok {
		return nil, false
	}
	return h.Whole(), true
}

// Permuter is a State whose seats can be relabelled, to test symmetry exactly.
type Permuter interface {
	// Permute makes the state equal to src with seat s moved to perm[s].
	Permute(src State, perm []Seat)
}

// Limited is a State whose episode may be ended from outside the rules, by a
// limit that the agent cannot see. Such an end is a cut: values bootstrap.
type Limited interface {
	// Cut reports whether the episode is over by such a limit alone.
	Cut() bool
}

// Pictured is a State that can be drawn on its grid. Package `play` draws it.
type Pictured interface {
	// Cell describes what stands on a cell. The seats on it are appended to
	// seats; things are names from the game's own Spec planes, such as "hare".
	Cell(y, x int, seats []Seat, things []string) ([]Seat, []string)
}

// Bot is a scripted policy. A bot without memory may be shared by many states;
// BotInfo.New makes one for each user in any case.
type Bot interface {
	Name() string
	// Act returns a legal action for a living seat.
	Act(st State, s Seat, r *rng.Rand) int32
}

// Policy is a Bot that can say how it acts. Act draws from Probs.
type Policy interface {
	Bot
	// Probs writes the probability of each action for a living seat.
	Probs(st State, s Seat, dst []float32)
}

// Pursuer is a Bot that can say which of the game's goals it is after.
type Pursuer interface {
	Bot
	// Pursues returns the goal that a living seat is after in this state, or NoGoal.
	Pursues(st State, s Seat) int
}

// Watcher is a Bot that remembers episodes.
type Watcher interface {
	Bot
	// Watch is called once with each finished episode.
	Watch(st State, s Seat)
}

// Keeper is a Watcher whose memory can be saved, so that a resumed run goes on
// as if it had never stopped. A Watcher that is none cannot be trained with.
type Keeper interface {
	Watcher
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// BotInfo is one line of `hop list bots`, and how to make the bot.
type BotInfo struct {
	Name, Doc string
	New       func() Bot
}

// Joined are bots that somebody adds to a game (With), beside its own. They play by their names as
// those do, but nothing is measured by them: who enters a benchmark changes none of its references.
type Joined []BotInfo

// AllBots lists the game's bots, and those that have joined it.
func AllBots(g Game) []BotInfo {
	joined, _ := As[Joined](g)
	return append(slices.Clip(g.Bots()), joined...)
}

// Speaker is a Game that makes co-players from texts of a language of its own, besides its
// Bots.
type Speaker interface {
	// Speak returns a new co-player, or what is wrong with the text.
	Speak(text string) (Policy, error)
}

// NewBot makes the bot of that name, of AllBots, or the co-player that a text describes in the
// game's language. The error lists the names there are.
func NewBot(g Game, name string) (Bot, error) {
	names := make([]string, 0, 8)
	for _, b := range AllBots(g) {
		if b.Name == name {
			return b.New(), nil
		}
		names = append(names, b.Name)
	}
	if l, ok := As[Speaker](g); ok {
		bot, err := l.Speak(name)
		if err == nil || strings.Contains(name, "(") {
			return bot, err
		}
	}
	return nil, fmt.Errorf("game: %s has no bot %q; it has %v", g.Spec().Name, name, names)
}

// Called returns what a co-player is called in one form: texts of the game's language that say
// the same are called the same. Of whoever is no bot of the game the name stays as it is.
func Called(g Game, name string) string {
	if b, err := NewBot(g, name); err == nil {
		return b.Name()
	}
	return name
}

// Label names a game in a few words.
func Label(g Game) string {
	if l, ok := As[interface{ Label() string }](g); ok {
		return g.Spec().Name + " " + l.Label()
	}
	return g.Spec().Name
}

// Failure is what a State panics with when it cannot be played any further because of
// something outside of this program, such as an environment in Python that has died.
// What plays states turns it into an error with Catch.
type Failure struct{ Err error }

// Error says what happened.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Catch, deferred, turns a Failure that ends a function into its error. Other panics
// go on.
func Catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case *Failure:
		*err = r.Err
	default:
		panic(r)
	}
}

// Attempt does something that may end in a Failure.
func Attempt(do func() error) (err error) {
	defer Catch(&err)
	return do()
}

// Known is a game with what is known of it beside its rules, such as rules made for search or
// best responses: values that a registry's entry names and that whoever uses one asks for by
// its type.
type Known struct {
	Game
	of []any
}

// With returns the game with what is known of it; the game itself if that is nothing.
func With(g Game, known ...any) Game {
	if len(known) == 0 {
		return g
	}
	return &Known{g, known}
}

// As returns what is known of a game as a T: the game itself, if it is one, or what stands
// beside it.
func As[T any](g Game) (found T, ok bool) {
	if found, ok = g.(T); ok {
		return found, true
	}
	k, ok := g.(*Known)
	if !ok {
		return found, false
	}
	for _, x := range k.of {
		if found, ok = x.(T); ok {
			return found, true
		}
	}
	return As[T](k.Game)
}

// Return is what is known of the mean return of agents in a game, such as the optimum or that of
// random play; reports draw it beside curves.
type Return struct {
	Name  string
	Value float64
}

// Reads says what besides the places of things and seats somebody's choice depends on.
type Reads uint8

// What may be read.
const (
	ReadsLast  Reads = 1 << iota // its own last action
	ReadsDone                    // what seats have done in the episode so far
	ReadsClock                   // the clock
)

// Reader is a Policy that says what it reads. One that does not may read anything.
type Reader interface {
	Reads() Reads
}

// Key is all that the future of an episode depends on, in few numbers.
type Key struct {
	Episode uint64    // of what is fixed within it; 0: not known to be any other's
	Seats   [8]uint16 // by seat: where it is in bits 0 to 7, what it has done in 8 to 11, its last action + 1 in 12 to 15
	Left    uint64    // of things
	Clock   uint32    // steps so far, and what else counts them
	// Distinct says that seats differ in this episode by more than where they are and what they did.
	Distinct bool
}

// The parts of Key.Seats.
const (
	KeyPlace = 0x00ff
	KeyDone  = 0x0f00
	KeyLast  = 0xf000
)

// Keyed is a State of a deterministic game, of no more seats than a Key has, that can say its Key. Two states with equal keys,
// of one episode, go on alike, whoever plays that reads no more than that.
type Keyed interface {
	// Key writes the key, with what is needed for those reads; false: the game is too large for
	// one.
	Key(dst *Key, reads Reads) bool
}

// SeatKey returns a seat's number of a Key.
func SeatKey(place int16, done int, last int8) uint16 {
	return uint16(uint8(place)) | uint16(done&15)<<8 | uint16(last+1)<<12
}

// Solitary is a State that knows what the last seat that is left can still get.
type Solitary interface {
	// Alone returns the best discounted return of a seat that nobody else plays with any more.
	Alone(s Seat, discount float64) float64
}

// Recaller is a Policy that remembers episodes, in a few numbers that follow from the last
// state of each.
type Recaller interface {
	Policy
	// Memory returns what it remembers; it belongs to the bot.
	Memory() []uint16
	// Remember makes it remember something else.
	Remember(memory []uint16)
	// After writes what it would remember after an episode that ended so; false: the last state
	// does not tell.
	After(dst []uint16, st State, s Seat) bool
}
