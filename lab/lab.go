// Package lab runs experiments as Go calls: it trains, scores, cross-plays and keeps a
// zoo of co-players, and returns what the command line prints.
//
// It prints nothing. Long work takes a context first and hands its progress to a
// function. What specs can name is handed in with the Lab.
package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hop-marl/hop/audit"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/spec"
)

// Lab is where experiments are run.
type Lab struct {
	Reg     *spec.Registry // what specs can name
	Version string         // of the program, for run folders
	Command []string       // how the program was called, for run folders
	Watch   func(News)     // sees how work goes, from any goroutine; may be nil
}

// Misuse is a mistake in what was asked for, not in what happened.
type Misuse struct{ error }

// Unwrap returns the mistake itself.
func (m Misuse) Unwrap() error { return m.error }

// Misused says what was wrong with what was asked for.
func Misused(format string, args ...any) error { return Misuse{fmt.Errorf(format, args...)} }

// Wrong says which flag, and which of its values, a mistake is in. One that names
// another flag already is passed on.
func Wrong(err error, flag string, value ...string) error {
	if err == nil || strings.HasPrefix(err.Error(), "--") {
		return err
	}
	return Misused("%s %s: %w", flag, strings.Join(value, ","), err)
}

// Stopped is the error of work that was stopped on the way; it wraps context.Canceled.
type Stopped struct {
	error
	Next string // what is saved, and how to go on
}

// Unwrap returns what stopped it.
func (s Stopped) Unwrap() error { return s.error }

// Stop says how to go on, if err is that the work was stopped.
func Stop(err error, format string, args ...any) error {
	if errors.Is(err, context.Canceled) {
		return Stopped{err, fmt.Sprintf(format, args...)}
	}
	return err
}

// Build says which program this is.
func (l *Lab) Build() runlog.Build {
	kernels := f32.Kernels()
	if l.Reg.Device != nil {
		kernels += " and " + l.Reg.Device.Name()
	}
	return runlog.NewBuild(l.Version, kernels)
}

// commandLine is how the program was called, for pages.
func (l *Lab) commandLine() string {
	if len(l.Command) == 0 {
		return ""
	}
	return "hop " + strings.Join(l.Command[1:], " ")
}

// Info is what a run's folder says about its making.
func (l *Lab) Info(preset string, seed uint64) runlog.Info {
	return runlog.Info{Preset: preset, Seed: seed, Command: l.Command, Build: l.Build()}
}

// Folders returns the runs of a folder: itself, or its seeds.
func Folders(dir string) ([]string, error) {
	dirs, err := runlog.Seeds(dir)
	if err != nil {
		return nil, Misuse{err}
	}
	return dirs, nil
}

// NewFolder makes out/NAME-001, or the next number that is free.
func NewFolder(out, name string) (string, error) {
	if err := disk.Make(out); err != nil {
		return "", fmt.Errorf("making %s: %w; choose another folder with --out", out, err)
	}
	for i := 1; ; i++ {
		dir := filepath.Join(out, fmt.Sprintf("%s-%03d", name, i))
		err := disk.MakeNew(dir)
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("making %s: %w; choose another folder with --out", dir, err)
		}
	}
}

// RunSpec returns the spec of a run's folder.
func (l *Lab) RunSpec(dir string) (spec.Spec, error) {
	text, err := runlog.ReadSpec(dir)
	if err != nil {
		return spec.Spec{}, err
	}
	return l.Reg.Parse(text, filepath.Join(dir, "spec.yaml"), "run", nil)
}

// SpecOf returns what a preset, a spec file or the folder of a run resolves to, with fields set.
func (l *Lab) SpecOf(what string, sets []string) (spec.Spec, error) {
	if at, err := os.Stat(what); err != nil || !at.IsDir() {
		s, err := l.Reg.Load(what, sets)
		if err != nil {
			err = Misuse{err}
		}
		return s, err
	}
	dirs, err := Folders(what)
	if err != nil {
		return spec.Spec{}, err
	}
	s, err := l.RunSpec(dirs[0])
	if err != nil {
		return s, err
	}
	if err := setFields(&s, sets); err != nil {
		return s, err
	}
	if err := s.Validate(); err != nil {
		return s, Misuse{err}
	}
	return s, nil
}

// setFields sets fields of a spec, each FIELD=VALUE.
func setFields(s *spec.Spec, sets []string) error {
	for _, set := range sets {
		if err := s.Set(set); err != nil {
			return Misused("--set %s: %w", set, err)
		}
	}
	return nil
}

// SpecWith returns the default spec of a game with fields set.
func (l *Lab) SpecWith(game string, sets []string) (spec.Spec, error) {
	sp := l.Reg.Default()
	if err := sp.Set("game.name=" + game); err != nil {
		return sp, Misused("--game %s: %w", game, err)
	}
	return sp, setFields(&sp, sets)
}

// NewGame builds a game with parameters such as game.size=8, and returns the part
// of a spec that describes it.
func (l *Lab) NewGame(name string, sets []string) (game.Game, spec.Game, error) {
	sp, err := l.GameWith(name, nil)
	if err != nil {
		return nil, sp, err
	}
	return build(sp, sets)
}

// GameWith returns a game with such parameters, which is not built.
func (l *Lab) GameWith(name string, sets []string) (spec.Game, error) {
	sp, err := l.Reg.NewGame(name)
	if err != nil {
		return sp, Wrong(err, "--game", name)
	}
	return sp, set(sp, sets)
}

// set sets parameters of a game.
func set(sp spec.Game, sets []string) error {
	for _, s := range sets {
		path, value, ok := strings.Cut(s, "=")
		path, isGame := strings.CutPrefix(path, "game.")
		if !ok || !isGame {
			return Misused("--set %s: want game.FIELD=VALUE, such as game.size=8", s)
		}
		if err := sp.Set(path, value); err != nil {
			return Misused("--set %s: %w", s, err)
		}
	}
	return nil
}

func build(sp spec.Game, sets []string) (game.Game, spec.Game, error) {
	if err := set(sp, sets); err != nil {
		return nil, sp, err
	}
	g, err := Site{Game: sp, Set: sets}.build()
	return g, sp, err
}

// GameWords says which game it is: its name and the parameters that differ from
// their defaults.
func (l *Lab) GameWords(params map[string]any) string {
	name, _ := params["name"].(string)
	plain := map[string]any{}
	if g, err := l.Reg.NewGame(name); err == nil {
		plain, _ = g.Map()
	}
	words := []string{name}
	for _, k := range slices.Sorted(maps.Keys(params)) {
		if fmt.Sprint(params[k]) != fmt.Sprint(plain[k]) {
			words = append(words, fmt.Sprintf("%s=%v", k, params[k]))
		}
	}
	return strings.Join(words, " ")
}

// SameGame refuses specs whose returns mean different things.
func SameGame(v, w *spec.Spec) error {
	differ, err := v.GameDiffers(w)
	if err != nil || differ == "" {
		return err
	}
	return Misused("%s and %s play different games: %s; returns cannot be compared. Set the game for all with --set", v.Name, w.Name, differ)
}

// Audit audits a run's agents, or trains a preset or a spec file for seconds, watched, after what
// comes before its training was done beside the runs of out. name is what the audit is called.
func (l *Lab) Audit(ctx context.Context, what string, sets []string, out string, opt audit.Options) (r *audit.Result, name string,
	err error) {
	opt.Lives = l.learntLives
	if audit.Folder(what) {
		if len(sets) > 0 {
			return nil, "", Misused("--set: a run's folder is audited as it was run")
		}
		r, err = audit.Run(ctx, l.Reg, what, opt)
		return r, filepath.Base(what), err
	}
	sp, err := l.Reg.Load(what, sets)
	if err != nil {
		return nil, "", Misuse{err}
	}
	if _, err := l.Prepare(ctx, &sp, out); err != nil {
		return nil, "", err
	}
	if _, err := sp.Resolve(); err != nil {
		return nil, "", Misuse{err}
	}
	r, err = audit.Spec(ctx, sp, opt)
	return r, sp.Name, err
}

// News is what a lab says while it works.
type News struct {
	Kind     Kind
	Text     string
	Stage    string             // within which it happens; "": none
	Name     string             // of a stage
	At, Of   int                // of a stage: its number, and how many there are; of a count: how far, of how many
	Training *Training          // that has begun
	Stop     context.CancelFunc // of it
	Seed     uint64
	Progress *train.Progress // of the seed; its memory is the loop's
	Mean     float64         // what the seed's final agents get
}

// Kind is a kind of news.
type Kind int

const (
	Said    Kind = iota // Text, by the way
	Noted               // Text, which should not be missed
	Staged              // Text about stage Name, At and Of
	Begun               // Training has begun, Stop stops it
	Learnt              // Seed has learnt from a window: Progress
	Scoring             // Seed's final agents are being scored: At of Of episodes
	Scored              // Seed's final agents were scored: Mean
	Ended               // the training has ended
	Counted             // At of Of, in units of Text; Of is 0 when the loop has ended
)

func (l *Lab) news(n News) {
	if l.Watch != nil {
		l.Watch(n)
	}
}

// Say says something by the way.
func (l *Lab) Say(format string, args ...any) {
	l.news(News{Kind: Said, Text: fmt.Sprintf(format, args...)})
}

// Note says what should not be missed.
func (l *Lab) Note(format string, args ...any) {
	l.news(News{Kind: Noted, Text: fmt.Sprintf(format, args...)})
}

// Counting returns what says how far a loop is, in some unit such as rows, and what
// says that it has ended.
func (l *Lab) Counting(unit string) (update func(done, total int), end func()) {
	update = func(done, total int) { l.news(News{Kind: Counted, Text: unit, At: done, Of: total}) }
	return update, func() { update(0, 0) }
}

// PythonEnv names an environment in Python, MODULE:FUNCTION: short for the game python and
// its parameter game.env; "": none.
type PythonEnv string

// Named returns the game that is played and its parameters.
func (e PythonEnv) Named(name string, sets []string) (string, []string) {
	if e == "" {
		return name, sets
	}
	return "python", slices.Concat([]string{"game.env=" + string(e)}, sets)
}

// Preset returns what is trained, and with which settings: of a preset that has a
// variant for environments, NAME-env, that one.
func (e PythonEnv) Preset(reg *spec.Registry, what string, sets []string) (string, []string) {
	if e == "" {
		return what, sets
	}
	if what == "hop+main" { // nothing was named
		what = "ppo"
	}
	if slices.Contains(reg.PresetNames(), what+"-env") {
		what += "-env"
	}
	return what, slices.Concat([]string{"game.name=python", "game.env=" + string(e)}, sets)
}

// packages returns the versions of what a spec's game is made of, if another program
// plays it.
func packages(s *spec.Spec) map[string]string {
	g, err := s.Game.Build()
	if err != nil {
		return nil
	}
	if p, ok := game.As[interface{ Packages() map[string]string }](g); ok {
		return p.Packages()
	}
	return nil
}

// moved says in which packages two lists differ; "" if in none.
func moved(was, is map[string]string) string {
	all := maps.Clone(is)
	maps.Copy(all, was)
	var list []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if a, b := was[name], is[name]; a != b {
			list = append(list, fmt.Sprintf("%s was %s and is %s", name, cmp.Or(a, "not there"), cmp.Or(b, "not there")))
		}
	}
	return strings.Join(list, ", ")
}

// goesOn refuses to go on with a run whose running episodes cannot be played again.
func goesOn(dir string, g game.Game) error {
	if r, ok := game.As[interface{ Replays() bool }](g); ok && !r.Replays() {
		return Misused("%s cannot go on: its environment's episodes cannot be played again (game.replay is false), so nobody knows where they "+
			"stood; train anew, or let reset(seed=...) seed every source of chance", dir)
	}
	return nil
}
