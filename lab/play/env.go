package play

import (
	"fmt"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
)

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
