// Package played keeps what people played, and makes co-players of it.
//
// An episode is a file: the states in which a person at a seat had something to choose, as texts
// of the game, and what was chosen. It is data: to read it runs nothing and needs none of those
// who played beside the person. It is sealed, and one that was changed is refused.
//
// A person is a folder of episodes, and the model of a person is the simplest that can be said in
// words: in every episode it acts as one of the texts of the game's language does (the bots and
// the train split, but for those that remember episodes) and errs in a share of its steps. How
// often it acts as which, and how often it errs, is what makes its steps likeliest.
package played

import (
	"encoding"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/disk"
)

// Prefix begins the names of co-players that are models of a person: played:FOLDER.
const Prefix = "played:"

// Folder returns the folder that such a name names.
func Folder(name string) (dir string, ok bool) { return strings.CutPrefix(name, Prefix) }

// Step is something that a person chose.
type Step struct {
	State  string `json:"state"` // before it, as the game writes it
	Action string `json:"action"`
}

// Episode is what a person chose in an episode.
type Episode struct {
	Game    string   `json:"game"` // its label
	Actions []string `json:"actions"`
	Seat    int      `json:"seat"`
	Team    []string `json:"team"` // who played, by seat
	Steps   []Step   `json:"steps"`
	Check   string   `json:"check"` // the sum of all the rest

	file string
}

// Bounds of what is written and read.
const (
	MostEpisodes = 5000 // of a person
	mostPeople   = 500
	mostBytes    = 16 << 20 // of an episode
)

// person is what somebody may be called: it is the name of a folder.
var person = regexp.MustCompile(`^[\p{L}\p{N}][\p{L}\p{N}_-]{0,31}$`)

// Name says what is wrong with what somebody wants to be called.
func Name(name string) error {
	if !person.MatchString(name) {
		return fmt.Errorf("%.40q is no name here: want at most 32 letters and digits, _ and -, such as anna", name)
	}
	return nil
}

// New returns an episode of a game without steps. States that cannot be read again are refused.
func New(g game.Game, seat game.Seat, team []string) (*Episode, error) {
	if _, ok := g.New().(encoding.TextUnmarshaler); !ok {
		return nil, fmt.Errorf("played: what is played on %s cannot be recorded: its states cannot be read from their text", game.Label(g))
	}
	return &Episode{Game: game.Label(g), Actions: g.Spec().Actions, Seat: int(seat), Team: team, Steps: []Step{}}, nil
}

// Add notes what was chosen in a state.
func (e *Episode) Add(st game.State, action int32) error {
	text, err := st.AppendText(nil)
	e.Steps = append(e.Steps, Step{string(text), e.Actions[action]})
	return err
}

// Write adds an episode to a person's, below a folder; id is its own name.
func (e *Episode) Write(dir, name, id string) error {
	if err := Name(name); err != nil {
		return err
	}
	own := filepath.Join(dir, name)
	if _, err := os.Stat(own); errors.Is(err, fs.ErrNotExist) {
		if n, err := count(dir); err != nil || n >= mostPeople {
			return errors.Join(err, fmt.Errorf("%d people have played already, which is all that %s has room for", n, filepath.Base(dir)))
		}
		if err := disk.Make(own); err != nil {
			return err
		}
	}
	if n, err := count(own); err != nil || n >= MostEpisodes {
		return errors.Join(err, fmt.Errorf("%s has played %d episodes, which is all that there is room for", name, n))
	}
	return disk.WriteSealed(filepath.Join(own, "episode-"+id+".json"), e)
}

// count returns how much lies in a folder; nothing if it is not there.
func count(dir string) (int, error) {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	return len(list), err
}

// Read returns a person's episodes.
func Read(dir string) (list []*Episode, err error) {
	files, err := disk.Match(dir, "episode-*.json")
	if err != nil {
		return nil, err
	}
	switch n := len(files); {
	case n == 0:
		return nil, fmt.Errorf("played: there is no episode in %s; hop serve --record DIR writes those of people who join into DIR/NAME", dir)
	case n > MostEpisodes:
		return nil, fmt.Errorf("played: %s has %d episodes; at most %d are read", dir, n, MostEpisodes)
	}
	slices.Sort(files)
	for _, file := range files {
		e := &Episode{file: file}
		if err := disk.ReadSealed(file, mostBytes, e); err != nil {
			return nil, fmt.Errorf("played: %w; or take the file out of the folder", err)
		}
		list = append(list, e)
	}
	return list, nil
}
