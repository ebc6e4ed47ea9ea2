package spec

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hop-marl/hop/game/pybot"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/store/stage"
	"github.com/hop-marl/hop/train/prepare"
)

// origin is a folder that names what is to be run, and the lines that it names: whoever
// changes a parameter on the command line changes neither.
type origin struct {
	folder string
	games  []string // lines of its game
}

// Untrusted is the error of what would run a program that a folder names and that the user
// neither wrote nor has said to trust.
type Untrusted struct {
	Folder string
	What   string // what it would run
}

func (u *Untrusted) Error() string {
	return fmt.Sprintf("%s was not made by you: it would run %s; if you trust whoever made it: hop trust %s (or --trust, for one command)",
		u.Folder, u.What, stage.Join([]string{u.Folder}))
}

// allows refuses to run a line of a folder that is not trusted. What the user typed has no
// origin.
func (o *origin) allows(r *Registry, what []string) error {
	if o == nil || r.Trust.Trusts(o.folder, o.games) {
		return nil
	}
	folder := o.folder
	if _, seed := runlog.SeedOf(folder); seed { // its training is trusted as a whole
		folder = filepath.Dir(folder)
	}
	return &Untrusted{Folder: folder, What: strings.Join(what, "; ")}
}

// Executes returns what building the game would run, in words; nil: nothing. Parameters of
// a game that runs something have a method Executes.
func (g Game) Executes() []string {
	if x, ok := g.params.(interface{ Executes() string }); ok {
		return []string{x.Executes()}
	}
	return nil
}

// Of returns the game as one that a folder names, such as a dataset: what it runs must be
// trusted.
func (g Game) Of(folder string) Game {
	g.from = &origin{folder: folder, games: g.Executes()}
	return g
}

// Executes returns what a run of the spec would run, in words: what its game starts, also
// with parameters that later stages change, and policies in Python that play in it. nil: nothing.
// What is done before and after a training is done in its game, and names no program but whom its
// agents meet.
func (s *Spec) Executes() []string {
	what := s.Game.Executes()
	for _, who := range s.players() {
		if pybot.Is(who) {
			what = append(what, pybot.Executes(who))
		}
	}
	for _, st := range s.Train.Stages {
		if g, err := s.staged(st.Set); err == nil {
			what = append(what, g.Executes()...)
		}
	}
	slices.Sort(what)
	return slices.Compact(what)
}

// players returns whom the spec names to play, in its training and in what is done around it.
func (s *Spec) players() []string {
	t := &s.Train
	who := slices.Concat(t.Team, t.Standins.Who)
	for _, sw := range t.Switch {
		who = append(who, sw.To)
	}
	for _, st := range slices.Concat(s.Prepare, s.Follow) {
		who = append(who, prepare.Players(st.Config)...)
	}
	return who
}

// Allowed refuses what would run something that a folder names and that is not trusted. It
// runs nothing.
func (s *Spec) Allowed() error {
	if what := s.Executes(); len(what) > 0 {
		return s.from.allows(s.reg, what)
	}
	return nil
}

// Folder returns the folder that the spec was read from; "": the user named a preset or a file.
func (s *Spec) Folder() string {
	if s.from == nil {
		return ""
	}
	return s.from.folder
}

// of marks the spec as one that a file of a folder holds.
func (s *Spec) of(file string) {
	s.from = &origin{filepath.Dir(file), s.Executes()}
	s.Game.from = s.from
}
