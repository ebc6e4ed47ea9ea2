package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// bench is where commands are run: with hop, and the program of examples/outside, on the PATH, and docs beside them.
type bench struct {
	root string
	dir  string // with the programs; "": not built yet
	made bool   // by open
}

func (b *bench) close() {
	if b.made {
		os.RemoveAll(b.dir)
	}
}

// open builds the programs.
func (b *bench) open() (err error) {
	if b.root, err = filepath.Abs(b.root); err != nil {
		return err
	}
	if b.dir != "" {
		b.dir, err = filepath.Abs(b.dir)
		return err
	}
	b.made = true
	if b.dir, err = os.MkdirTemp("", "numbers"); err != nil {
		return err
	}
	for name, from := range map[string]string{"hop": ".", "outside": "examples/outside"} {
		what := map[string]string{"hop": "./cmd/hop", "outside": "."}[name]
		build := exec.Command("go", "build", "-o", filepath.Join(b.dir, name), what)
		build.Dir, build.Stderr = filepath.Join(b.root, from), os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("building %s: %w", name, err)
		}
	}
	return nil
}

// measure runs a group's commands in a new folder.
func (b *bench) measure(g *group, variant string) (*measured, error) {
	if err := b.open(); err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "numbers")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	for _, name := range []string{"docs", "examples"} {
		if err := os.Symlink(filepath.Join(b.root, name), filepath.Join(work, name)); err != nil {
			return nil, err
		}
	}
	env := append(os.Environ(), "PATH="+b.dir+string(os.PathListSeparator)+os.Getenv("PATH"), "SEED="+variant)
	if len(g.Kernels) > 0 {
		env = append(env, "HOP_KERNELS="+variant)
	}
	m := &measured{Date: time.Now().UTC().Format(time.DateOnly), Steps: map[string]*found{}}
	for _, s := range append([]step{{Run: "hop version --json"}}, g.Steps...) {
		var out, said bytes.Buffer
		cmd := exec.Command("sh", "-c", s.Run)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = work, env, &out, &said
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", s.Run, err, said.Bytes())
		}
		if s.Name == "" {
			if err := json.Unmarshal(out.Bytes(), &m.By); err != nil {
				return nil, err
			}
			continue
		}
		for from, to := range s.Files {
			picture, err := os.ReadFile(filepath.Join(work, filepath.FromSlash(from)))
			if err != nil {
				return nil, err
			}
			if m.pictures == nil {
				m.pictures = map[string][]byte{}
			}
			m.pictures[to] = picture
		}
		if m.Steps[s.Name], err = s.take(strings.ReplaceAll(out.String(), work+string(filepath.Separator), "")); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// passing is what differs each time: seconds.
var passing = regexp.MustCompile(`\d+(\.\d+)? s\b`)

// differ says in what two measurements with one kernel set differ, but for seconds. With other kernels nothing is known.
func differ(g *group, was, is *measured) error {
	if was.By.Kernels != is.By.Kernels {
		return nil
	}
	var list []string
	for _, s := range g.Steps {
		a, b := was.Steps[s.Name], is.Steps[s.Name]
		if a == nil || b == nil {
			continue
		}
		if x, y := passing.ReplaceAllString(a.Text, "? s"), passing.ReplaceAllString(b.Text, "? s"); x != y {
			list = append(list, fmt.Sprintf("%s was\n%s\nand is\n%s", s.Run, x, y))
			continue
		}
		for name, x := range a.Numbers {
			if y := b.Numbers[name]; x != y {
				list = append(list, fmt.Sprintf("%s, %s: was %s and is %s", s.Run, name, x, y))
			}
		}
	}
	if len(list) > 0 {
		return fmt.Errorf("%s", strings.Join(list, "\n"))
	}
	return nil
}
