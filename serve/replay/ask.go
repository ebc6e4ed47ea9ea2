package replay

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/stranger"
	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/play"
	"github.com/hop-marl/hop/store/played"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/eval"
	"github.com/hop-marl/hop/train/spec"
)

// Ask is what an episode follows from.
type Ask struct {
	Run  Folder   // whose game and agents play; none: Game is played
	Game string   // a game's name, if there is no run
	Set  []string // its parameters, such as game.size=8
	Team []Member // [Seats] none: the run's own, or bots at random
	Seed uint64
	// Before is how many episodes of the life were played before the one that is shown, the first with Seed.
	Before int

	// Human is the seat that a person plays, or play.NoHuman. Moves is what the person did, for
	// an episode that has been played.
	Human game.Seat
	Moves []int32
	// Person is under which name what is played is recorded; "": it is not.
	Person string

	began string // when the run began, so that another run of the same name is not taken for it
}

// Folder is a checkpoint of a run.
type Folder struct {
	Dir  string // "": there is none
	Name string // what the run is called where it is shown
	Step int64  // of its checkpoint; -1: the newest
}

// Member is who sits on a seat.
type Member struct {
	Who   string // a bot, a text of the game's language or a planner; Own; "": agent Agent of Run
	Run   Folder
	Agent int
}

// Own stands for the run's own agent of that seat, or whom it was trained with.
const Own = "run"

// settle finds out which checkpoints are meant.
func (a *Ask) settle() error {
	if a.Run.Dir != "" {
		if err := a.Run.settle(&a.began); err != nil {
			if older, ok := err.(Older); ok {
				older.Main = true
				return older
			}
			return err
		}
	}
	if a.Run.Dir == "" && a.Game == "" {
		return errors.New("nothing was chosen to be played: name a run, or a game")
	}
	a.Team = slices.Clone(a.Team)
	for i := range a.Team {
		if m := &a.Team[i]; m.Who == "" {
			if err := m.Run.settle(&a.began); err != nil {
				return err
			}
		}
	}
	return nil
}

// Playable says whether the checkpoints that are asked for are there and whole. It loads no
// agents.
func (t *Theatre) Playable(a Ask) error { return a.settle() }

// Older is the error of a run whose newest checkpoint is not as it was written, or not there.
// An older one is played only by name.
type Older struct {
	error
	Run  Folder // with the step of the newest that is whole
	Main bool   // it is the run that is asked for, and no guest's
}

// settle makes the newest checkpoint one of a step, and adds to began when the run did. It is
// the newest as every command understands it: if that is damaged or missing, it is refused.
func (f *Folder) settle(began *string) error {
	r, err := runlog.Read(f.Dir)
	if err != nil {
		return f.named(err)
	}
	*began += r.Env.Started + " "
	if f.Step >= 0 {
		return nil
	}
	steps, err := runlog.Steps(f.Dir)
	if err != nil {
		return f.named(err)
	}
	if len(steps) == 0 {
		return fmt.Errorf("%s has no checkpoint yet, so there are no agents to play; wait until it has written one", f.Name)
	}
	last, err := (*runlog.Reader)(nil).Last(f.Dir)
	if err == nil {
		f.Step = last.Step
		return nil
	}
	whole, second := (&runlog.Reader{AcceptOlder: true}).Last(f.Dir)
	if second != nil || whole.Newest {
		return f.named(err)
	}
	f.Step = whole.Step
	return Older{error: f.named(err), Run: *f}
}

// named puts the run's name in the place of its folder.
func (f Folder) named(err error) error {
	if err == nil || f.Dir == "" || errors.As(err, new(*spec.Untrusted)) {
		return err // which says what to type, with the folder
	}
	text := err.Error()
	for _, dir := range []string{f.Dir, filepath.Clean(f.Dir)} {
		text = strings.ReplaceAll(text, dir, f.Name)
	}
	return errors.New(text)
}

// key is the same for what gives the same episode.
func (a Ask) key() string {
	b, err := json.Marshal(struct {
		Ask
		Began string
	}{a, a.began})
	if err != nil {
		panic("theatre: an ask that is no JSON")
	}
	return string(b)
}

// scene is who plays what.
type scene struct {
	game    game.Game
	options play.Options
	names   []string // [Seats] as they are shown
	kinds   []string // [Seats] bot, planner, agent or you
	bots    []bool   // [Seats] it is a bot of that name
	scales  []float32
	players []rollout.Player // [Seats] nil of bots among bots, and of the person
}

// unknownAgent stands, among the names that planners are told, for who is no bot.
func unknownAgent(g game.Game) string { return g.Bots()[0].Name }

// team says who sits where and gets them ready. ctx ends what they do for long.
func (t *Theatre) team(ctx context.Context, a Ask) (*scene, error) {
	var sc scene
	var own []eval.Member
	var saved *spec.Saved
	var err error
	if a.Run.Dir != "" {
		if saved, err = t.open(a.Run); err != nil {
			return nil, a.Run.named(err)
		}
		sc.game = saved.Game
		if own, err = saved.Seated(-1, false); err != nil {
			return nil, a.Run.named(err)
		}
	} else {
		if sc.game, err = t.newGame(a); err != nil {
			return nil, err
		}
	}
	sp := sc.game.Spec()
	if len(a.Team) == 0 {
		who := Own
		if own == nil {
			who = "random"
		}
		a.Team = slices.Repeat([]Member{{Who: who}}, sp.Seats)
	}
	if len(a.Team) != sp.Seats {
		return nil, fmt.Errorf("the team has %d members, %s has %d seats; name one for each", len(a.Team), sp.Name, sp.Seats)
	}
	if a.Human < play.NoHuman || int(a.Human) >= sp.Seats {
		return nil, fmt.Errorf("seat %d is not in the game; %s has seats 0 to %d", a.Human, sp.Name, sp.Seats-1)
	}
	members := make([]eval.Member, sp.Seats)
	sc.kinds, sc.bots, sc.scales = make([]string, sp.Seats), make([]bool, sp.Seats), make([]float32, sp.Seats)
	bots := make([]string, sp.Seats) // as planners are told
	for s, m := range a.Team {
		sc.scales[s], sc.kinds[s], bots[s] = 1, "agent", unknownAgent(sc.game)
		switch {
		case game.Seat(s) == a.Human:
			members[s], sc.kinds[s] = eval.Member{Name: "you"}, "you"
		case m.Who == Own && own == nil:
			return nil, fmt.Errorf("seat %d: there is no run whose agents could play", s)
		case m.Who == Own:
			members[s] = own[s]
			sc.scales[s] = float32(saved.Spec.LearnsAs(agentOf(s)).PPO.RewardScale)
			if sc.bots[s] = isBot(sc.game, own[s].Name); sc.bots[s] {
				sc.kinds[s] = "bot"
			}
		case m.Who == "":
			if members[s], sc.scales[s], err = t.guest(sc.game, m, s); err != nil {
				return nil, fmt.Errorf("seat %d: %w", s, m.Run.named(err))
			}
		case lab.IsPlanner(m.Who):
			sc.kinds[s], bots[s] = "planner", m.Who
		default:
			if _, ok := played.Folder(m.Who); ok { // an address names no folders
				return nil, fmt.Errorf("seat %d: models of people play in hop play and hop adapt, not here", s)
			}
			sc.kinds[s], sc.bots[s], bots[s] = "bot", true, m.Who
		}
	}
	for s, m := range a.Team {
		if members[s].Name != "" {
			continue
		}
		if a.Human > play.NoHuman && m.Who != "plan-infer" && sc.kinds[s] == "planner" {
			return nil, fmt.Errorf("seat %d: %s is told which bots its co-players are, and you are none; choose plan-infer, which finds out",
				s, m.Who)
		}
		if members[s], err = lab.Member(sc.game, bots, s, nil); err != nil {
			return nil, fmt.Errorf("seat %d: %w", s, err)
		}
		if m.Who == "br" { // which may take hours
			members[s].Players = func(_, lanes int) ([]rollout.Player, error) {
				p, err := oracle.NewPlayer(sc.game, bots, 1, lanes)
				if err != nil {
					return nil, err
				}
				return []rollout.Player{p.Until(ctx, t.c.States)}, nil
			}
		}
	}
	return &sc, sc.seat(members, a)
}

// seat makes the options of the play, as hop play does.
func (sc *scene) seat(members []eval.Member, a Ask) error {
	for _, m := range members {
		sc.names = append(sc.names, m.Name)
	}
	sc.players = make([]rollout.Player, len(members))
	sc.options = play.Options{Game: sc.game, Label: game.Label(sc.game), Seed: a.Seed, Human: a.Human}
	player := func(s game.Seat) (rollout.Player, error) {
		p, err := members[s].Players(1, 1)
		if err != nil {
			return nil, err
		}
		sc.players[s] = p[0]
		return p[0], nil
	}
	if err := sc.options.Seat(sc.names, player, play.NoHuman); err != nil {
		return err
	}
	if sc.options.Agents != nil {
		sc.options.Agents.KeepMinds()
	}
	return nil
}

func isBot(g game.Game, name string) bool {
	_, err := game.NewBot(g, name)
	return err == nil
}

// open reads a checkpoint, unless its agents would take too much memory or another program
// plays its game.
func (t *Theatre) open(f Folder) (*spec.Saved, error) {
	sp, err := t.c.Lab.RunSpec(f.Dir)
	if err != nil {
		return nil, err
	}
	if err := plays(&sp); err != nil {
		return nil, err
	}
	if err := t.fits(&sp); err != nil {
		return nil, err
	}
	return t.c.Lab.Reg.OpenAt(f.Dir, f.Step, nil)
}

// plays refuses runs whose game another program plays, and what is not trusted. Policies in Python
// that play in a trusted run are started: they are the run's, and no address names one.
func plays(sp *spec.Spec) error {
	switch {
	case len(sp.Executes()) == 0:
		return nil
	case len(sp.Game.Executes()) == 0:
		return sp.Allowed()
	}
	return cmp.Or(sp.Allowed(), errOther)
}

var errOther = errors.New("another program plays this game, and its states can be neither copied nor drawn; " +
	"hop eval counts what a team gets")

// newGame builds a game that no other program plays.
func (t *Theatre) newGame(a Ask) (game.Game, error) {
	spec, err := t.c.Lab.GameWith(a.Game, a.Set)
	if err != nil {
		return nil, err
	}
	if len(spec.Executes()) > 0 {
		return nil, errOther
	}
	return spec.Build()
}

// fits refuses agents that would take too much memory.
func (t *Theatre) fits(sp *spec.Spec) error {
	alone := *sp // one copy of the game, in windows of a step
	alone.Train.Envs, alone.Train.Window, alone.Eval.Episodes, alone.Imagine.On = 1, 1, 1, false
	parts, err := alone.Memory(1, 1)
	if err != nil {
		return err
	}
	sum := 0.
	for _, p := range parts {
		sum += p.Bytes
	}
	if sum > float64(t.c.Memory) {
		return fmt.Errorf("its agents take about %.1f GiB of memory to play, and an episode gets %.1f GiB here; hop play has no such limit",
			sum/(1<<30), float64(t.c.Memory)/(1<<30))
	}
	return nil
}

// guest returns an agent of another run, or of an earlier age, on a seat.
func (t *Theatre) guest(g game.Game, m Member, seat int) (eval.Member, float32, error) {
	x, err := t.open(m.Run)
	if err != nil {
		return eval.Member{}, 1, err
	}
	got, want := x.Game.Spec(), g.Spec()
	if got.Name != want.Name || got.Seats != want.Seats || got.Obs.Len() != want.Obs.Len() || len(got.Actions) != len(want.Actions) {
		return eval.Member{}, 1, fmt.Errorf("%s was trained on another game: %s, %d seats, %d numbers observed; here it is %s with %d and %d",
			m.Run.Name, got.Name, got.Seats, got.Obs.Len(), want.Name, want.Seats, want.Obs.Len())
	}
	if m.Agent < 0 || m.Agent >= got.Seats {
		return eval.Member{}, 1, fmt.Errorf("%s has agents 0 to %d, not %d", m.Run.Name, got.Seats-1, m.Agent)
	}
	all, err := x.Seated(m.Agent, false)
	if err != nil {
		return eval.Member{}, 1, err
	}
	member := all[seat]
	member.Name = fmt.Sprintf("%s#%d@%d", x.Spec.Name, m.Agent, m.Run.Step)
	return member, float32(x.Spec.LearnsAs(agentOf(m.Agent)).PPO.RewardScale), nil
}

// Choices is what can be asked for.
type Choices struct {
	Title    string     `json:"title"`
	Game     string     `json:"game"`
	Seats    int        `json:"seats"`
	Actions  []string   `json:"actions"`
	Own      []string   `json:"own,omitempty"` // [Seats] the run's team
	Bots     []Choice   `json:"bots"`
	Text     string     `json:"text,omitempty"` // such as can sit there too; none: the game has no language
	Planners []Choice   `json:"planners"`
	Steps    []int64    `json:"steps,omitempty"` // of the run's checkpoints
	Keys     [][]string `json:"keys"`            // by action
	Horizon  int        `json:"horizon"`
}

// Choice is somebody who may sit on a seat.
type Choice struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
}

var planners = []Choice{
	{"br", "the best response to scripted co-players, exactly"},
	{"plan", "searches on the rules, and is told which bots its co-players are"},
	{"plan-infer", "searches on the rules, and infers who its co-players are"},
	{"plan-paper", "as plan, with the settings of HOP's paper"},
}

// Choices returns what can be asked for of a run, or of a game. It loads no agents.
func (t *Theatre) Choices(a Ask) (*Choices, error) {
	var g game.Game
	c := &Choices{}
	if a.Run.Dir != "" {
		spec, err := t.c.Lab.RunSpec(a.Run.Dir)
		if err != nil {
			return nil, a.Run.named(err)
		}
		if err := plays(&spec); err != nil {
			return nil, a.Run.named(err)
		}
		if g, err = spec.Game.Build(); err != nil {
			return nil, a.Run.named(err)
		}
		if c.Steps, err = runlog.Steps(a.Run.Dir); err != nil {
			c.Steps = nil // a run that has not begun to be written
		}
		for s := range g.Spec().Seats {
			who := fmt.Sprintf("%s#%d", spec.Name, s)
			if len(spec.Train.Team) > s && spec.Train.Team[s] != "learn" {
				who = spec.Train.Team[s]
			}
			c.Own = append(c.Own, who)
		}
	} else {
		var err error
		if g, err = t.newGame(a); err != nil {
			return nil, err
		}
	}
	spec := g.Spec()
	c.Title, c.Game, c.Seats, c.Horizon = game.Label(g), spec.Name, spec.Seats, spec.Horizon
	c.Actions, c.Keys = spec.Actions, play.Keys(spec.Actions)
	for _, b := range g.Bots() {
		c.Bots = append(c.Bots, Choice{b.Name, b.Doc})
	}
	if l, err := stranger.Language(g); err == nil {
		c.Text = "noisy(" + l.Pair[0] + ",.1)"
	}
	names := slices.Repeat([]string{"random"}, spec.Seats)
	for _, p := range planners {
		names[0] = p.Name
		if _, err := lab.Member(g, names, 0, nil); err == nil {
			c.Planners = append(c.Planners, p)
		}
	}
	return c, nil
}
