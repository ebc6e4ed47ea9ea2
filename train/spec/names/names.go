// Package names finds what folders name to run: runs, trainings, datasets and sweeps. It
// reads, and runs nothing; what may run is for package trust to say.
package names

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/train/spec"
)

// most is how large a file may be that names something to run.
const most = 64 << 20

// In returns all that a folder, and what lies below it, names to run, in words: specs of
// runs and trainings, games of datasets, variants of sweeps. It runs nothing, and follows no
// link. What this program cannot read it could not run either.
func In(reg *spec.Registry, dir string) (what []string, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		lines, err := ofFile(reg, path)
		what = append(what, lines...)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s: there is no such folder: %w", dir, err)
	}
	slices.Sort(what)
	return slices.Compact(what), err
}

// Allowed refuses to run what a folder names, if it is not trusted.
func Allowed(reg *spec.Registry, dir string, what []string) error {
	if reg.Trust.Trusts(dir, what) {
		return nil
	}
	return &spec.Untrusted{Folder: dir, What: strings.Join(what, "; ")}
}

// ofFile returns what one file names to run.
func ofFile(reg *spec.Registry, path string) (what []string, err error) {
	read := map[string]func(text []byte) []string{
		"spec.yaml":     func(b []byte) []string { return ofSpec(reg, b, path) },
		"group.json":    func(b []byte) []string { return OfSpecs(reg, b, path) },
		"sweep.json":    func(b []byte) []string { return OfSpecs(reg, b, path) },
		"manifest.json": func(b []byte) []string { return ofData(reg, b) },
		"partial.json":  func(b []byte) []string { return ofData(reg, b) },
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

// ofSpec returns what a spec names to run.
func ofSpec(reg *spec.Registry, text []byte, path string) []string {
	s, err := reg.Parse(text, path, "run", nil)
	if err != nil {
		return nil
	}
	return s.Executes()
}

// OfSpecs returns what the spec of a training, or the variants of a sweep and the
// commands after it, name to run.
func OfSpecs(reg *spec.Registry, b []byte, path string) (what []string) {
	var held struct {
		Spec        string
		Variants    []struct{ Spec string }
		Then, After []string
	}
	if json.Unmarshal(b, &held) != nil {
		return nil
	}
	what = ofSpec(reg, []byte(held.Spec), path)
	for _, v := range held.Variants {
		what = append(what, ofSpec(reg, []byte(v.Spec), path)...)
	}
	for _, words := range slices.Concat(held.Then, held.After) {
		what = append(what, "hop "+words)
	}
	slices.Sort(what)
	return slices.Compact(what)
}

// ofData returns what the game of a dataset runs.
func ofData(reg *spec.Registry, b []byte) []string {
	var held struct{ Game json.RawMessage }
	if json.Unmarshal(b, &held) != nil {
		return nil
	}
	g, err := Game(reg, held.Game)
	if err != nil {
		return nil
	}
	return g.Executes()
}

// Game reads a game with all its parameters, as datasets hold it.
func Game(reg *spec.Registry, text json.RawMessage) (spec.Game, error) {
	var params map[string]json.RawMessage
	var name, word string
	err := json.Unmarshal(text, &params)
	if err == nil {
		err = json.Unmarshal(params["name"], &name)
	}
	if err != nil {
		return spec.Game{}, err
	}
	g, err := reg.NewGame(name)
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
