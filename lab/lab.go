// Package lab runs experiments as Go calls: it trains, scores, adapts, cross-plays,
// compares and keeps a zoo of co-players, and returns what the command line prints.
//
// It prints nothing. Long work takes a context first and hands its progress to a
// function. What specs can name is handed in with the Lab.
package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"hop/exp"
	"hop/f32"
	"hop/game"
	"hop/runlog"
)

// Lab is where experiments are run.
type Lab struct {
	Reg     *exp.Registry // what specs can name
	Version string        // of the program, for run folders
	Command []string      // how the program was called, for run folders
	Watch   func(News)    // sees how work goes, from any goroutine; may be nil
	// Do does what a stage's words ask for, such as collect --mix ns,nh.
	Do func(ctx context.Context, words []string) error
}

// Misuse is a mistake in what was asked for, not in what happened.
type Misuse struct{ error }

// Unwrap returns the mistake itself.
func (m Misuse) Unwrap() error { return m.error }

// Misused says what was wrong with what was asked for.
func Misused(format string, args ...any) error { return Misuse{fmt.Errorf(format, args...)} }

// cores returns how many cores a number of workers means.
func cores(workers int) int {
	if workers > 0 {
		return workers
	}
	return runtime.GOMAXPROCS(0)
}

// Info is what a run's folder says about its making.
func (l *Lab) Info(preset string, seed uint64) runlog.Info {
	return runlog.Info{Preset: preset, Seed: seed, Command: l.Command, Version: l.Version, Kernels: f32.Kernels()}
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
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", fmt.Errorf("making %s: %w; choose another folder with --out", out, err)
	}
	for i := 1; ; i++ {
		dir := filepath.Join(out, fmt.Sprintf("%s-%03d", name, i))
		err := os.Mkdir(dir, 0o755)
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("making %s: %w; choose another folder with --out", dir, err)
		}
	}
}

// RunSpec returns the spec of a run's folder.
func (l *Lab) RunSpec(dir string) (exp.Spec, error) {
	text, err := runlog.ReadSpec(dir)
	if err != nil {
		return exp.Spec{}, err
	}
	return l.Reg.Parse(text, filepath.Join(dir, "spec.yaml"), "run", nil)
}

// NewGame builds a game with parameters such as game.size=8, and returns the part
// of a spec that describes it.
func (l *Lab) NewGame(name string, sets []string) (game.Game, exp.Game, error) {
	spec, err := l.Reg.NewGame(name)
	if err != nil {
		return nil, spec, Misuse{err}
	}
	return build(spec, sets)
}

func build(spec exp.Game, sets []string) (game.Game, exp.Game, error) {
	for _, s := range sets {
		path, value, ok := strings.Cut(s, "=")
		path, isGame := strings.CutPrefix(path, "game.")
		if !ok || !isGame {
			return nil, spec, Misused("--set %s: want game.FIELD=VALUE, such as game.size=8", s)
		}
		if err := spec.Set(path, value); err != nil {
			return nil, spec, Misused("--set %s: %w", s, err)
		}
	}
	g, err := spec.Build()
	if err != nil {
		return nil, spec, Misuse{err}
	}
	return g, spec, nil
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

// label names a game in a few words.
func label(g game.Game) string {
	if l, ok := g.(interface{ Label() string }); ok {
		return g.Spec().Name + " " + l.Label()
	}
	return g.Spec().Name
}
