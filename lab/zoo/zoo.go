// Package zoo is the index of a zoo: who its members are, and which of them are held out.
//
// It is sealed as a whole and by member, so that it can be said which of them was changed. Runs
// stand in it as they lie below the folder, which may be moved.
package zoo

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hop-marl/hop/num/disk"
)

// File is the index's name.
const File = "zoo.json"

// Entry is a member of a zoo: the agents of a run, as they were at one of its
// checkpoints.
type Entry struct {
	Name     string         `json:"name"` // KIND-SEED or KIND-SEED-AGE
	Kind     string         `json:"kind"`
	Age      string         `json:"age"`
	HeldOut  bool           `json:"held_out"` // nothing may learn from it
	Run      string         `json:"run"`
	Step     int64          `json:"step"`
	SHA256   string         `json:"sha256,omitempty"` // of the checkpoint
	Game     map[string]any `json:"game"`
	Seed     uint64         `json:"seed"`
	Status   string         `json:"status"`
	Reused   bool           `json:"reused,omitempty"`
	Build    string         `json:"build,omitempty"` // that trained it, if it is another one than this
	Mean     float64        `json:"mean"`            // return of an agent among its own
	Agents   []float64      `json:"agents,omitempty"`
	EnvSteps int            `json:"env_steps"`
	CPU      float64        `json:"cpu_s"`
	Check    string         `json:"check,omitempty"` // in the index: the sum of all the rest
}

// Address names an agent of the member for spec.Registry.Member.
func (e *Entry) Address(id int) string {
	if e.SHA256 == "" { // of a folder without an index
		return fmt.Sprintf("%s#%d", e.Run, id)
	}
	return fmt.Sprintf("%s#%d@%d", e.Run, id, e.Step)
}

type index struct {
	Members []Entry `json:"members"`
	Check   string  `json:"check"`
}

// Own returns a member as its run has it.
type Own func(run string) (Entry, error)

// Read reads the index of a folder; nothing if there is none. One that was changed is
// refused, with what differs as far as the members' own sums and runs tell. One that an
// earlier program wrote comes with disk.ErrUnsealed.
func Read(dir string, own Own) ([]Entry, error) {
	path := filepath.Join(dir, File)
	var x index
	loose := disk.ReadSealed(path, 64<<20, &x)
	switch {
	case errors.Is(loose, fs.ErrNotExist):
		return nil, nil
	case errors.Is(loose, disk.ErrChanged):
		return nil, changed(path, x.Members, own)
	case loose != nil && !errors.Is(loose, disk.ErrUnsealed):
		return nil, fmt.Errorf("reading the zoo's index: %w, or remove it: the hop zoo train that made it writes it anew", loose)
	}
	for i := range x.Members {
		var err error
		e := &x.Members[i]
		e.Check = ""
		if e.Run, err = disk.Below(dir, e.Run); err != nil {
			return nil, fmt.Errorf("%s names %s: %w; the hop zoo train that made it trains it anew", path, e.Name, err)
		}
	}
	return x.Members, loose
}

// Write writes and seals the index of a folder.
func Write(dir string, list []Entry) error {
	list = slices.Clone(list)
	for i := range list {
		e := &list[i]
		rel, err := filepath.Rel(dir, e.Run)
		if err != nil {
			return err
		}
		e.Run, e.Reused, e.Build, e.CPU = filepath.ToSlash(rel), false, "", 0 // what follows from the command alone
		if e.Check, err = e.sum(); err != nil {
			return err
		}
	}
	return disk.WriteSealed(filepath.Join(dir, File), index{Members: list})
}

// sum is that of a member as it stands in the index.
func (e Entry) sum() (string, error) {
	e.Check = ""
	b, err := disk.JSON(e)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), err
}

// changed says in what an index differs from the one that was written, as far as
// the members' own sums and runs tell.
func changed(path string, members []Entry, own Own) error {
	var list []string
	for _, e := range members {
		if sum, err := e.sum(); err != nil || sum != e.Check {
			list = append(list, changedMember(filepath.Dir(path), e, own))
		}
	}
	if len(list) == 0 {
		list = append(list, "members were added or left out, or the seal itself is another one")
	}
	when := ""
	if info, err := os.Stat(path); err == nil {
		when = " (the last time " + info.ModTime().UTC().Format(time.RFC3339) + ")"
	}
	return fmt.Errorf("%s was changed after hop zoo train wrote it%s: %s; put it back from a copy, or remove it and give the same "+
		"hop zoo train again, which keeps the runs and writes it anew", path, when, strings.Join(list, "; "))
}

// changedMember finds the one value that, put back, makes a member what it was: the
// other answer to whether it is held out, or what its run has.
func changedMember(dir string, e Entry, own Own) string {
	run, err := disk.Below(dir, e.Run)
	var has Entry
	if err == nil {
		has, err = own(run)
	}
	for _, f := range []struct {
		name    string
		is, was any
		set     func(e *Entry)
	}{
		{"held_out", e.HeldOut, !e.HeldOut, func(e *Entry) { e.HeldOut = !e.HeldOut }},
		{"seed", e.Seed, has.Seed, func(e *Entry) { e.Seed = has.Seed }},
		{"status", e.Status, has.Status, func(e *Entry) { e.Status = has.Status }},
		{"mean", e.Mean, has.Mean, func(e *Entry) { e.Mean = has.Mean }},
		{"env_steps", e.EnvSteps, has.EnvSteps, func(e *Entry) { e.EnvSteps = has.EnvSteps }},
	} {
		back := e
		if f.set(&back); err == nil || f.name == "held_out" {
			if sum, err := back.sum(); err == nil && sum == e.Check {
				return fmt.Sprintf("%s of %s is %v, was %v", f.name, e.Name, f.is, f.was)
			}
		}
	}
	return e.Name + " is not as it was written"
}
