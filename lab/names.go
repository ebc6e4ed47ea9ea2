package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"hop/exp"
	"hop/internal/disk"
)

// most is how large a file may be that names something to run.
const most = 64 << 20

// Names returns all that a folder, and what lies below it, names to run, in words: specs of
// runs and trainings, games of datasets, variants of sweeps. It runs nothing, and follows no
// link. What this program cannot read it could not run either.
func (l *Lab) Names(dir string) (what []string, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		lines, err := l.namesIn(path)
		what = append(what, lines...)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = Misused("%s: there is no such folder", dir)
	}
	slices.Sort(what)
	return slices.Compact(what), err
}

// Allowed refuses to run what a folder names, if it is not trusted.
func (l *Lab) Allowed(dir string, what []string) error {
	if l.Reg.Trust.Trusts(dir, what) {
		return nil
	}
	return &exp.Untrusted{Folder: dir, What: strings.Join(what, "; ")}
}

// namesIn returns what one file names to run.
func (l *Lab) namesIn(path string) (what []string, err error) {
	read := map[string]func(text []byte) []string{
		"spec.yaml":     func(b []byte) []string { return l.specNames(b, path) },
		"group.json":    func(b []byte) []string { return l.SpecNames(b, path) },
		"sweep.json":    func(b []byte) []string { return l.SpecNames(b, path) },
		"manifest.json": func(b []byte) []string { return l.dataNames(b) },
		"partial.json":  func(b []byte) []string { return l.dataNames(b) },
	}[filepath.Base(path)]
	if read == nil {
		return nil, nil
	}
	text, err := disk.Read(path, most)
	if err != nil {
		return nil, fmt.Errorf("what %s names to run: %w", path, err)
	}
	return read(text), nil
}

// specNames returns what a spec names to run.
func (l *Lab) specNames(text []byte, path string) []string {
	s, err := l.Reg.Parse(text, path, "run", nil)
	if err != nil {
		return nil
	}
	return s.Executes()
}

// SpecNames returns what the spec of a training, or the variants of a sweep and the
// commands after it, name to run.
func (l *Lab) SpecNames(b []byte, path string) (what []string) {
	var held struct {
		Spec        string
		Variants    []struct{ Spec string }
		Then, After []string
	}
	if json.Unmarshal(b, &held) != nil {
		return nil
	}
	what = l.specNames([]byte(held.Spec), path)
	for _, v := range held.Variants {
		what = append(what, l.specNames([]byte(v.Spec), path)...)
	}
	for _, words := range slices.Concat(held.Then, held.After) {
		what = append(what, "hop "+words)
	}
	return what
}

// dataNames returns what the game of a dataset runs.
func (l *Lab) dataNames(b []byte) []string {
	var held struct{ Game json.RawMessage }
	if json.Unmarshal(b, &held) != nil {
		return nil
	}
	g, err := l.GameOf(held.Game)
	if err != nil {
		return nil
	}
	return g.Executes()
}

// GameOf reads a game with all its parameters, as datasets hold it.
func (l *Lab) GameOf(text json.RawMessage) (exp.Game, error) {
	var params map[string]json.RawMessage
	var name, word string
	err := json.Unmarshal(text, &params)
	if err == nil {
		err = json.Unmarshal(params["name"], &name)
	}
	if err != nil {
		return exp.Game{}, err
	}
	g, err := l.Reg.NewGame(name)
	if err != nil {
		return g, err
	}
	delete(params, "name")
	for path, value := range params {
		text := string(value)
		if json.Unmarshal(value, &word) == nil {
			text = word
		}
		if err := g.Set(path, text); err != nil {
			return g, err
		}
	}
	return g, nil
}
