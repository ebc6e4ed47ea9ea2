// Package play shows episodes: in a terminal, as plain text, and as a film.
//
// The one idea is the Frame: a copy of everything a picture of one slot needs,
// taken from a state by a Recorder. The terminal view, the plain text and the
// film's picture are three functions of a Frame, so scripted bots, learnt agents and a
// person at the keyboard are all shown alike, and a report can record an
// episode without knowing how it is drawn.
//
// Games that are game.Pictured are drawn on their board; the others show their
// own text. Things are drawn by name; an unknown name gets a letter and a
// colour of its own. Seats differ in colour, digit and brackets.
//
// The same seed gives the same frames and the same GIF, byte for byte. Run
// leaves no goroutine behind.
package play

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/film"
)

// NoHuman says that no seat is played by a person.
const NoHuman game.Seat = -1

// Options says what to play and where to show it.
type Options struct {
	Game   game.Game
	Label  string    // the setting in words, for the title; empty: the game's name
	Team   []string  // a bot's name for each seat; the person's own is not looked at
	Agents *Team     // plays instead of the team's bots, and knows of the same person; nil: they do
	Seed   uint64    // of the first episode; the next one has the next seed
	Human  game.Seat // the seat that the keyboard plays, or NoHuman

	GIF   string        // write the episodes to this file, an MP4 if its name ends so; empty: none
	Plain bool          // text without escapes, also on a terminal
	Delay time.Duration // between steps, on the terminal and in the film; 0: 400 ms

	In  io.Reader // the keyboard; nil: none
	Out io.Writer

	// MaxEpisodes is how many episodes to play; 0: one, or on a terminal
	// as many as the person wants.
	MaxEpisodes int
}

// defaultDelay is long enough to see four agents move.
const defaultDelay = 400 * time.Millisecond

// Validate returns everything that is wrong with the options, joined.
func (o Options) Validate() error {
	if o.Game == nil || o.Out == nil {
		return errors.New("play: a game and somewhere to write are needed")
	}
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf("play: "+format, a...)) }
	spec := o.Game.Spec()
	if o.Human < NoHuman || int(o.Human) >= spec.Seats {
		bad("seat %d is not in the game; %s has seats 0 to %d", o.Human, spec.Name, spec.Seats-1)
	}
	if o.Delay < 0 {
		bad("delay is %v, want 0 or more", o.Delay)
	}
	if o.MaxEpisodes < 0 {
		bad("%d episodes, want 0 or more", o.MaxEpisodes)
	}
	if o.Human > NoHuman && o.In == nil {
		bad("seat %d is played by hand but there is no keyboard to read", o.Human)
	}
	if o.Agents != nil {
		if o.Agents.human != o.Human {
			bad("seat %d is played by hand, in the team it is seat %d", o.Human, o.Agents.human)
		}
		return errors.Join(errs...)
	}
	if len(o.Team) != spec.Seats {
		bad("team %v has %d names; %s has %d seats, so name %[4]d bots", o.Team, len(o.Team), spec.Name, spec.Seats)
	}
	for s, name := range o.Team {
		if game.Seat(s) == o.Human {
			continue
		}
		if _, err := game.NewBot(o.Game, name); err != nil {
			bad("seat %d: %w", s, err)
		}
	}
	return errors.Join(errs...)
}

// Run plays. On a terminal it is interactive; elsewhere, with Plain, or to make
// a film without a person it plays through and prints text. A person who is not at a
// terminal answers with one action a line.
func Run(ctx context.Context, o Options) error {
	if err := o.Validate(); err != nil {
		return err
	}
	if err := film.Possible(o.GIF); err != nil { // before anything is played
		return fmt.Errorf("play: %w", err)
	}
	if o.Delay == 0 {
		o.Delay = defaultDelay
	}
	if o.Agents != nil {
		defer o.Agents.settle()
	}
	e, err := newEnv(o)
	if err != nil {
		return err
	}
	show := o.Human > NoHuman || o.GIF == ""
	if show && !o.Plain && isTerminal(o.In) && isTerminal(o.Out) {
		err = interactive(ctx, o, e)
	} else {
		err = plain(ctx, o, e, show)
	}
	if err != nil || o.GIF == "" {
		return err
	}
	return writeFilm(ctx, o, e.rec.Frames())
}

func isTerminal(f any) bool {
	file, ok := f.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// plain plays through and prints: every frame, or only the last of each episode.
func plain(ctx context.Context, o Options, e *env, every bool) error {
	var in *bufio.Scanner
	if o.In != nil {
		in = bufio.NewScanner(o.In)
	}
	write := func() error {
		_, err := io.WriteString(o.Out, e.rec.Last().Text()+"\n")
		return err
	}
	for n := range max(o.MaxEpisodes, 1) {
		if err := e.reset(o.Seed + uint64(n)); err != nil {
			return err
		}
		for !e.st.Over() {
			if err := ctx.Err(); err != nil {
				return err
			}
			if every {
				if err := write(); err != nil {
					return err
				}
			}
			act := game.NoAction
			if e.waits() {
				var err error
				if act, err = ask(o, e, in); err != nil {
					return err
				}
			}
			e.step(act)
			if err := e.failed(); err != nil {
				return err
			}
		}
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

// ask reads lines until one is a legal action's name, number or key.
func ask(o Options, e *env, in *bufio.Scanner) (int32, error) {
	keys := bindKeys(e.spec.Actions)
	legal := e.legal()
	for {
		fmt.Fprintf(o.Out, "seat %d, your action: %s\n", o.Human, keys.Prompt(legal))
		if !in.Scan() {
			if err := in.Err(); err != nil {
				return 0, fmt.Errorf("play: reading your action: %w", err)
			}
			return 0, fmt.Errorf("play: the input ended before the episode; join in a terminal, where keys play, "+
				"or give one action a line, such as %q", e.spec.Actions[0])
		}
		act, ok := keys.Read(in.Text())
		if !ok {
			fmt.Fprintf(o.Out, "%q is no action\n", in.Text())
			continue
		}
		if !legal[act] {
			fmt.Fprintf(o.Out, "%s is not legal now\n", e.spec.Actions[act])
			continue
		}
		return act, nil
	}
}

// interactive runs the terminal program until the person quits.
func interactive(ctx context.Context, o Options, e *env) error {
	m, err := newModel(o, e)
	if err != nil {
		return err
	}
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithoutSignalHandler())
	if _, err := p.Run(); err != nil {
		return fmt.Errorf("play: running the terminal view: %w", err)
	}
	_, err = io.WriteString(o.Out, e.rec.Last().Text())
	return err
}

// keyMap says which keys play which actions, made from the actions' names.
type keyMap struct {
	names []string
	First []string         // by action, the key that is shown
	Plays map[string]int32 // by key
}

// moves are the keys of the actions whose name ends in such a word; the first is
// shown.
var moves = map[string][]string{
	"up":    {"w", "up", "k"},
	"down":  {"s", "down", "j"},
	"left":  {"a", "left", "h"},
	"right": {"d", "right", "l"},
	"stay":  {".", "space"},
}

// letters are for the other actions, in order; none means anything else here.
var letters = []string{"e", "f", "g", "c", "v", "x", "z", "b", "t", "y", "u", "i", "o", "m",
	"E", "F", "G", "C", "V", "X", "Z", "B", "T", "Y", "U", "I", "O"}

// bindKeys gives moves their usual keys and every other action a letter and a digit.
func bindKeys(actions []string) keyMap {
	k := keyMap{names: actions, First: make([]string, len(actions)), Plays: map[string]int32{}}
	other := 0
	for a, name := range actions {
		word := name[strings.LastIndexByte(name, ' ')+1:]
		keys := moves[strings.ToLower(word)]
		if len(keys) == 0 || k.Taken(keys[0]) {
			keys = nil
			if other < len(letters) {
				keys = append(keys, letters[other])
			}
			other++
			if other <= 9 {
				keys = append(keys, strconv.Itoa(other))
			}
		}
		for _, key := range keys {
			if !k.Taken(key) {
				k.Plays[key] = int32(a)
			}
		}
		if len(keys) > 0 {
			k.First[a] = keys[0]
		}
	}
	return k
}

// Taken reports whether a key plays an action.
func (k keyMap) Taken(key string) bool {
	_, ok := k.Plays[key]
	return ok
}

// Read returns the action that a line of text means: a name or a key.
func (k keyMap) Read(line string) (int32, bool) {
	word := strings.ToLower(strings.TrimSpace(line))
	for a, name := range k.names {
		if strings.ToLower(name) == word {
			return int32(a), true
		}
	}
	a, ok := k.Plays[strings.TrimSpace(line)]
	if !ok {
		a, ok = k.Plays[word]
	}
	return a, ok
}

// Prompt lists the legal actions with their keys.
func (k keyMap) Prompt(legal []bool) string {
	var words []string
	for a, name := range k.names {
		if legal[a] {
			words = append(words, k.First[a]+" "+name)
		}
	}
	return strings.Join(words, ", ")
}

// Keys returns, for each action, the keys that play it, the one that is shown first.
func Keys(actions []string) [][]string {
	k := bindKeys(actions)
	list := make([][]string, len(actions))
	for a, key := range k.First {
		if key != "" {
			list[a] = append(list[a], key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(k.Plays)) {
		if a := k.Plays[key]; key != k.First[a] {
			list[a] = append(list[a], key)
		}
	}
	return list
}
