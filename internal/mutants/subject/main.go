// Command subject is what package mutants builds with and without a slip: the parts of hop that
// an audit needs, without pages and servers, which take longer to build than an audit.
//
//	subject audit SPEC SEEDS OUT [FIELD=VALUE ...]   prints what hop audit --json does
//	subject probe SPEC [FIELD=VALUE ...]             prints a hash
//
// A probe trains a spec for a few small windows, saves, loads what it saved and trains on; the
// hash is of all numbers on the way: what was logged, and the checkpoints.
package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hop-marl/hop/audit"
	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
)

func main() {
	reg := registry.New()
	reg.Runs = &runlog.Reader{}
	var err error
	switch args := os.Args[2:]; os.Args[1] {
	case "audit":
		err = examine(reg, args[0], args[1], args[2], args[3:])
	default:
		err = probe(reg, args[0], args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// examine audits a spec, whose models are made below a folder if they are to be made.
func examine(reg *spec.Registry, what, seeds, out string, sets []string) error {
	var opt audit.Options
	if err := (*config.Seeds)(&opt.Seeds).UnmarshalText([]byte(seeds)); err != nil {
		return err
	}
	r, _, err := (&lab.Lab{Reg: reg}).Audit(context.Background(), what, sets, out, opt)
	if err != nil {
		return err
	}
	text, err := disk.JSON(r)
	if err == nil {
		_, err = os.Stdout.Write(text)
	}
	return err
}

func probe(reg *spec.Registry, what string, sets []string) error {
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
