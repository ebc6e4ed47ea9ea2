package play

import (
	"fmt"
	"io"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/rng"
)

// Seat says who plays: bots as they are, and teams in which anyone is none, or of which
// thoughts are shown, through their players. player makes the one of a seat, and is not asked
// for the person's. focal is whose thoughts are shown, or NoHuman.
func (o *Options) Seat(names []string, player func(s game.Seat) (rollout.Player, error), focal game.Seat) error {
	o.Team = names
	bots := true
	for s, name := range names {
		_, err := game.NewBot(o.Game, name)
		bots = bots && (game.Seat(s) == o.Human || err == nil)
	}
	if bots && focal <= NoHuman {
		return nil
	}
	players := make([]rollout.Player, len(names))
	for s := range names {
		if game.Seat(s) == o.Human {
			continue
		}
		var err error
		if players[s], err = player(game.Seat(s)); err != nil {
			return err
		}
	}
	var err error
	o.Agents, err = NewTeam(o.Game, names, players, focal, o.Human)
	return err
}

// Episode is an episode that is stepped from outside, by the code that Run plays with: the
// same options and seed give the same frames. What shows Options, the keyboard and the film
// are not looked at. It is for one goroutine.
type Episode struct{ e *env }

// NewEpisode starts the episode of the options' seed. It must be closed.
func NewEpisode(o Options) (*Episode, error) {
	o.GIF, o.In, o.Out = "", strings.NewReader(""), io.Discard
	if err := o.Validate(); err != nil {
		return nil, err
	}
	e, err := newEnv(o)
	if err != nil {
		return nil, err
	}
	if err := e.reset(o.Seed); err != nil {
		return nil, err
	}
	return &Episode{e}, nil
}

// Next starts the episode of a seed after one that is over, with the same players: they remember.
func (p *Episode) Next(seed uint64) error { return p.e.reset(seed) }

// Close ends what still waits for the person.
func (p *Episode) Close() {
	if p.e.team != nil {
		p.e.team.settle()
	}
}

// Frame returns the latest frame, a view that is valid until the next Step.
func (p *Episode) Frame() *Frame { return p.e.rec.Last() }

// State returns what the latest frame shows, a view that is valid until the next Step.
func (p *Episode) State() game.State { return p.e.st }

// Waits reports whether the person must choose before the next step.
func (p *Episode) Waits() bool { return p.e.waits() }

// Legal returns what the person may do, a view that is valid until the next call.
func (p *Episode) Legal() []bool { return p.e.legal() }

// Step plays one step, with the person's action if the episode waits for it. It must not be
// called once the episode is over.
func (p *Episode) Step(act int32) error {
	p.e.step(act)
	return p.e.failed()
}

// Last returns what was played and earned in the last step, by seat: views.
func (p *Episode) Last() (actions []int32, rewards []float32) { return p.e.actions, p.e.rewards }

// Picture is how a thing is shown where this package does not draw it.
type Picture struct {
	Word   string `json:"word"`            // its name without numbers
	Kind   string `json:"kind,omitempty"`  // the known thing that it is drawn as, such as "stag"; "": a letter
	Sign   string `json:"sign"`            // its letter
	Level  string `json:"level,omitempty"` // a number that belongs to the name
	Fill   string `json:"fill"`            // colours, as #rrggbb
	Ground string `json:"ground,omitempty"`
	Flat   bool   `json:"flat,omitempty"` // it covers its tile, and seats stand on it
}

// PictureOf returns how a thing of that name is shown.
func PictureOf(name string) Picture {
	t := thingOf(name)
	p := Picture{Word: t.word, Kind: t.known, Sign: string(t.sign), Level: t.level, Fill: hex(t.fill), Flat: t.flat}
	if t.ground.A != 0 {
		p.Ground = hex(t.ground)
	}
	return p
}

// env is one copy of the game with bots on its seats, and perhaps a person.
type env struct {
	spec    game.Spec
	st      game.State
	human   game.Seat
	bots    []game.Bot // [Seats] nil where the person sits
	names   []string   // [Seats]
	rules   rng.Rand
	act     []rng.Rand // [Seats]
	actions []int32
	rewards []float32
	mask    []bool // [Actions]
	rec     *Recorder
	keep    bool  // keep the frames of earlier episodes, for a GIF
	team    *Team // plays instead of the bots, or nil
}

// newEnv returns a copy that must be reset before use.
func newEnv(o Options) (*env, error) {
	spec := o.Game.Spec()
	e := &env{
		spec: spec, st: o.Game.New(), human: o.Human,
		bots: make([]game.Bot, spec.Seats), names: append([]string(nil), o.Team...),
		actions: make([]int32, spec.Seats), rewards: make([]float32, spec.Seats),
		mask: make([]bool, len(spec.Actions)),
		rec:  NewRecorder(o.Game, o.Label),
		keep: o.GIF != "",
		team: o.Agents,
	}
	if e.team != nil {
		e.st, e.names = e.team.now, e.team.names
		return e, nil
	}
	for s, name := range o.Team {
		if game.Seat(s) == o.Human {
			e.names[s] = "you"
			continue
		}
		bot, err := game.NewBot(o.Game, name)
		if err != nil {
			return nil, fmt.Errorf("play: seat %d: %w", s, err)
		}
		e.bots[s] = bot
	}
	return e, nil
}

// reset starts the episode of that seed. Bots keep what they remember.
func (e *env) reset(seed uint64) error {
	if !e.keep {
		e.rec.Drop()
	}
	name := fmt.Sprintf("seed %d", seed)
	if e.team != nil {
		if err := e.team.reset(seed); err != nil {
			return err
		}
		e.rec.Start(e.st, name, e.names, Info{Mind: e.team.mind, Minds: e.team.minds})
		return nil
	}
	key := rng.New(seed)
	e.rules = key.Child("rules", 0).Rand()
	e.act = key.Rands("act", e.spec.Seats)
	e.st.Reset(&e.rules)
	e.rec.Start(e.st, name, e.names, Info{})
	return nil
}

// waits reports whether the person must choose before the next step.
func (e *env) waits() bool { return e.human > NoHuman && e.st.Alive(e.human) }

// legal returns the person's mask, a view valid until the next call.
func (e *env) legal() []bool {
	clear(e.mask)
	if e.human > NoHuman {
		e.st.Legal(e.human, e.mask)
	}
	return e.mask
}

// failed says what ended the play before the episode was over; nil: nothing did.
func (e *env) failed() error {
	if e.team == nil {
		return nil
	}
	return e.team.err
}

// step plays one step. act is the person's, and not looked at unless e waits.
func (e *env) step(act int32) {
	if e.team != nil {
		e.team.step(act, e.actions, e.rewards)
		e.rec.Add(e.st, Info{Actions: e.actions, Rewards: e.rewards, Mind: e.team.mind, Minds: e.team.minds})
		return
	}
	for s, bot := range e.bots {
		seat := game.Seat(s)
		switch {
		case !e.st.Alive(seat):
			e.actions[s] = game.NoAction
		case bot == nil:
			e.actions[s] = act
		default:
			e.actions[s] = bot.Act(e.st, seat, &e.act[s])
		}
	}
	e.st.Step(e.actions, e.rewards, &e.rules)
	e.rec.Add(e.st, Info{Actions: e.actions, Rewards: e.rewards})
	if !e.st.Over() {
		return
	}
	for s, bot := range e.bots {
		if w, ok := bot.(game.Watcher); ok {
			w.Watch(e.st, game.Seat(s))
		}
	}
}
