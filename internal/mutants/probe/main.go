// Command probe trains a spec for a few small windows, saves, loads what it saved and
// trains on, and prints the hash of all numbers on the way: what was logged, and the
// checkpoints. Package mutants builds it with and without a slip.
package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
)

func main() {
	if err := probe(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func probe(what string, sets []string) error {
	reg := registry.New()
	reg.Runs = &runlog.Reader{}
	spec, err := reg.Load(what, sets)
	if err != nil {
		return err
	}
	c := &spec.Train
	c.Envs, c.Warm.Windows, c.Save = min(c.Envs, 8), min(c.Warm.Windows, 2), 1
	windows := 4
	if spec.Imagine.On {
		spec.Imagine.Trust, windows = 0, 6
	}
	h := sha256.New()
	var body []byte
	for part := 1; part <= 2; part++ {
		c.Steps = part * windows * c.Envs * c.Window * 3 / 4
		var log []runlog.Row
		if body, log, err = run(spec, body); err != nil {
			return err
		}
		fmt.Fprintf(h, "%v", log)
		h.Write(body)
	}
	fmt.Printf("%x\n", h.Sum(nil)[:8])
	return nil
}

// run trains a spec, from what was saved before unless that is nil, and returns what
// it saves in the end and what it logged.
func run(sp spec.Spec, saved []byte) ([]byte, []runlog.Row, error) {
	dir, err := os.MkdirTemp("", "probe")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	log, err := runlog.Create(filepath.Join(dir, "run"), nil, runlog.Info{})
	if err != nil {
		return nil, nil, err
	}
	defer log.Close()
	play, err := sp.Build(1, spec.Machine{Workers: 2, Saved: saved})
	if err == nil && saved != nil {
		err = play.Load(saved)
	}
	var rows []runlog.Row
	if err == nil {
		err = play.Run(context.Background(), log, func(p *train.Progress) { rows = append(rows, p.Rows...) })
	}
	if err != nil {
		return nil, nil, err
	}
	body, err := play.Save()
	return body, rows, err
}
