package runlog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/disk"
)

// smallFile is the most that files may hold that are read at once.
const smallFile = 64 << 20

func readSmall(dir, file string) ([]byte, error) {
	return disk.Read(filepath.Join(dir, file), smallFile)
}

// Record is what a run's folder holds, held against its seals. Another process may be
// writing it.
type Record struct {
	Spec []byte
	Env  Env
	dir  string
	text []byte // env.json, by which it is known whether somebody is writing
}

// Read reads a run's folder. Its spec and env.json are then known to be as they were
// written; the other files are looked at when they are asked for.
func Read(dir string) (*Record, error) {
	var err error
	for range tries {
		var r *Record
		if r, err = read(dir); err == nil {
			return r, nil
		}
		if r == nil || !r.moved() {
			break
		}
	}
	return nil, err
}

// tries is how often is looked anew at a folder that is being written.
const tries = 5

// moved reports whether env.json has changed since.
func (r *Record) moved() bool {
	b, err := readSmall(r.dir, envFile)
	return err == nil && !bytes.Equal(b, r.text)
}

func read(dir string) (r *Record, err error) {
	r = &Record{dir: dir}
	if r.Spec, err = readSmall(dir, specFile); errors.Is(err, fs.ErrNotExist) {
		return nil, noSpec(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("runlog: reading a spec: %w", err)
	}
	path := filepath.Join(dir, envFile)
	if r.text, err = readSmall(dir, envFile); err != nil {
		why := fmt.Sprintf("%s, which holds the run's seed, cannot be read: %v; put it back from a copy", path, err)
		return nil, damaged{why, errors.Is(err, fs.ErrNotExist)}
	}
	if err := json.Unmarshal(r.text, &r.Env); err != nil {
		return r, damaged{why: fmt.Sprintf("%s, which holds the run's seed, is damaged: %v; put it back from a copy", path, err)}
	}
	if r.Loose() {
		return r, nil
	}
	newest := newestSeal(dir)
	if r.Env.Record == nil || !checked(r.text, r.Env.Check) {
		return r, damaged{why: fmt.Sprintf("%s is damaged: %s; put it back from a copy", path, r.Env.changed(newest))}
	}
	if !slices.Contains(r.Env.Record.Specs, sumOf(r.Spec)) {
		return r, r.wrongSpec(newest)
	}
	return r, nil
}

// noSpec is the error of a folder without a spec: it is no run yet, unless env.json says
// that it was one.
func noSpec(dir string) error {
	var e Env
	b, err := readSmall(dir, envFile)
	if err != nil || json.Unmarshal(b, &e) != nil || !checked(b, e.Check) || e.Status == running && e.Record.Checkpoint == nil {
		return notRun(dir, specFile)
	}
	next := "put it back from a copy"
	if s := newestSeal(dir); s != nil {
		next = fmt.Sprintf("put it back (it stands in %s, under \"spec\")", checkPath(dir, s.Step, sealKind))
	}
	return damaged{fmt.Sprintf("%s is missing; %s", filepath.Join(dir, specFile), next), true}
}

// Loose reports whether the run is of a program that did not seal its runs yet: nothing
// says whether its files are as they were written.
func (r *Record) Loose() bool { return r.Env.Record == nil && r.Env.Check == "" }

// newestSeal returns the newest seal that is whole, nil if there is none.
func newestSeal(dir string) *seal {
	all, _, err := look(dir)
	if err != nil {
		return nil
	}
	for _, f := range slices.Backward(all) {
		if f.fault == nil && !f.loose() {
			return &f.seal
		}
	}
	return nil
}

// changed says in what env.json differs from a seal.
func (e *Env) changed(s *seal) string {
	var list []string
	if s != nil {
		for _, f := range []struct {
			name    string
			is, was any
		}{{"preset", e.Preset, s.Preset}, {"seed", e.Seed, s.Seed}, {"program", e.Line(), s.Build.Line()}} {
			if f.is != f.was {
				list = append(list, fmt.Sprintf("%s is %v, was %v", f.name, f.is, f.was))
			}
		}
	}
	if len(list) == 0 {
		return "it was changed after it was written"
	}
	return strings.Join(list, ", ")
}

// wrongSpec says what was changed in spec.yaml.
func (r *Record) wrongSpec(s *seal) error {
	path, what, next := filepath.Join(r.dir, specFile), "", "put it back from a copy"
	if s != nil && s.Spec == string(r.Spec) {
		return damaged{why: fmt.Sprintf("%s is of another run: %s and %s have another spec; put it back from a copy",
			filepath.Join(r.dir, envFile), path, checkPath(r.dir, s.Step, sealKind))}
	}
	if s != nil && slices.Contains(r.Env.Record.Specs, sumOf([]byte(s.Spec))) {
		what = ": " + Differences(r.Spec, []byte(s.Spec))
		next = fmt.Sprintf("put it back (it stands in %s, under \"spec\")", checkPath(r.dir, s.Step, sealKind))
	}
	return damaged{why: fmt.Sprintf("%s was changed after the run began%s; %s, or train anew with another spec", path, what, next)}
}

// check holds a file against what env.json says of it.
func (r *Record) check(file string) error {
	var err error
	for range tries {
		if err = r.checkNow(file); err == nil || !r.moved() {
			return err
		}
		now, err := Read(r.dir)
		if err != nil {
			return err
		}
		*r = *now
	}
	return err
}

func (r *Record) checkNow(file string) error {
	if r.Loose() {
		return nil
	}
	ended := r.Env.Status != running
	p, known := r.Env.Record.Files[file]
	if !known {
		if ended && exists(r.dir, file) {
			path := filepath.Join(r.dir, file)
			return damaged{why: fmt.Sprintf("%s is not of this run: it had none when it ended; move it away", path)}
		}
		return nil
	}
	return p.verify(r.dir, file, ended || file == resultFile)
}

// Faults returns what is not as it was written, but for the files that are named.
func (r *Record) Faults(but ...string) error {
	var errs []error
	all := true
	for _, file := range []string{metricsFile, eventsFile, findingsFile, resultFile} {
		if !slices.Contains(but, file) {
			err := r.check(file)
			all = all && (err != nil || !exists(r.dir, file))
			errs = append(errs, err)
		}
	}
	err := errors.Join(errs...)
	if s := newestSeal(r.dir); err != nil && all && s != nil && (s.Seed != r.Env.Seed || s.Preset != r.Env.Preset) {
		return damaged{why: fmt.Sprintf("%s is of another run: %s; no other file is as it says: put it back from a copy",
			filepath.Join(r.dir, envFile), r.Env.changed(s))}
	}
	return err
}

// Unsealed says what nothing vouches for; "" if everything is sealed.
func (r *Record) Unsealed() string {
	switch {
	case r.Loose():
		return "made by a program that did not seal its runs yet, so nothing says whether they are"
	case r.Env.Status == running:
		return "running, or killed, and nothing vouches yet for what came after the newest checkpoint"
	}
	return ""
}

// Metrics returns all whole rows of metrics.csv.
func (r *Record) Metrics() ([]Row, error) {
	if err := r.check(metricsFile); err != nil {
		return nil, err
	}
	return readMetrics(r.dir)
}

// Findings returns what was found, in order; nothing if all was well.
func (r *Record) Findings() ([]check.Finding, error) {
	if err := r.check(findingsFile); err != nil {
		return nil, err
	}
	return readFindings(r.dir)
}

// Result returns result.json; nil if the run is not scored yet. One that was not sealed
// any more, because the run was killed in that moment, is none.
func (r *Record) Result() ([]byte, error) {
	if err := r.check(resultFile); err != nil {
		return nil, cmp.Or(r.Faults(), err) // which knows whether it is env.json that is not of this run
	}
	if !r.trained() && !r.Loose() {
		return nil, nil
	}
	b, err := readSmall(r.dir, resultFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// trained says whether the run's final agents are scored.
func (r *Record) trained() bool {
	if r.Env.Record == nil {
		return false
	}
	_, known := r.Env.Record.Files[resultFile]
	return known
}

// ReadSpec returns the spec of a run's folder.
func ReadSpec(dir string) ([]byte, error) {
	r, err := Read(dir)
	if err != nil {
		return nil, err
	}
	return r.Spec, nil
}

// ReadEnv returns a run's env.json.
func ReadEnv(dir string) (Env, error) {
	r, err := Read(dir)
	if err != nil {
		return Env{}, err
	}
	return r.Env, nil
}

// ReadMetrics returns all whole rows of a run's metrics.csv.
func ReadMetrics(dir string) ([]Row, error) {
	r, err := Read(dir)
	if err != nil {
		return nil, err
	}
	return r.Metrics()
}

// ReadFindings returns what was found in a run, in order; nothing if all was well.
func ReadFindings(dir string) ([]check.Finding, error) {
	r, err := Read(dir)
	if err != nil {
		return nil, err
	}
	return r.Findings()
}

// Reader reads checkpoints. It is the only way to one, so that nobody is given an older
// one without a word: that needs to be accepted, and whoever watches is told. Nil is a
// reader that accepts nothing and is not watched.
type Reader struct {
	AcceptOlder    bool       // if the newest is damaged
	AcceptUnsealed bool       // learn from what an earlier program wrote, such as a zoo's index
	Watch          func(Used) // told of each once; may be nil
	mu             sync.Mutex
	used           []Used
}

// Used says which checkpoint of a run was read, and why not the newest.
type Used struct {
	Run    string `json:"run"`
	Step   int64  `json:"step"`
	Newest bool   `json:"newest"`
	Why    string `json:"why,omitempty"` // not the newest
	Status string `json:"status"`        // of the run: done, running, stopped or failed
	// Trained says that the run's final agents are scored: what is missing, if it is not
	// done, comes after its training and changes nothing about them.
	Trained bool `json:"trained"`
}

// String says it in words.
func (u Used) String() string {
	text := fmt.Sprintf("%s: its newest checkpoint, step %d", u.Run, u.Step)
	if !u.Newest {
		text = fmt.Sprintf("%s: an older checkpoint, step %d, because %s", u.Run, u.Step, u.Why)
	}
	if u.Status != "done" && !u.Trained {
		text += "; the run is not done (" + u.Status + ")"
	}
	return text
}

// Short says the same for a page, where the run is called by its name and seed and not
// by where it lies on a disk.
func (u Used) Short() string {
	dir := filepath.Clean(u.Run)
	u.Run = filepath.Base(filepath.Dir(dir)) + "/" + filepath.Base(dir)
	return u.String()
}

// Used returns what was read so far, each once, in the order of the first time.
func (d *Reader) Used() []Used {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.used)
}

func (d *Reader) note(u Used) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Contains(d.used, u) {
		return
	}
	d.used = append(d.used, u)
	if d.Watch != nil {
		d.Watch(u)
	}
}

// Checkpoint is a run's newest checkpoint, or an older one that was accepted.
type Checkpoint struct {
	Used
	*Record
	Body []byte
}

// Last returns the newest checkpoint of a run that another process may be writing. If
// it is damaged, an older one will do only if that was accepted. All else in the folder
// must be as it was written.
func (d *Reader) Last(dir string) (*Checkpoint, error) {
	c, err := last(dir, d != nil && d.AcceptOlder)
	if err == nil && d != nil {
		d.note(c.Used)
	}
	return c, err
}

// At returns the checkpoint of a run at an env step, an earlier age of its agents.
func (d *Reader) At(dir string, step int64) (*Checkpoint, error) {
	r, err := Read(dir)
	if err != nil {
		return nil, err
	}
	if err := r.Faults(); err != nil {
		return nil, err
	}
	all, _, err := look(dir)
	if err != nil {
		return nil, err
	}
	all = among(dir, all, &r.Env)
	var steps []string
	for i, f := range all {
		if steps = append(steps, fmt.Sprint(f.Step)); f.Step != step {
			continue
		}
		c := &Checkpoint{Record: r, Used: Used{Run: dir, Step: step, Newest: i == len(all)-1, Status: r.Env.Status, Trained: r.trained()}}
		if !c.Newest {
			c.Why = "it was asked for"
		}
		if c.Body, err = f.body(dir); err == nil && d != nil {
			d.note(c.Used)
		}
		return c, err
	}
	return nil, fmt.Errorf("runlog: %s has no checkpoint of env step %d: %s is missing; there are those of %s", dir, step,
		CheckpointFile(dir, step), strings.Join(steps, ", "))
}

// CheckpointFile returns where the seal of a checkpoint lies.
func CheckpointFile(dir string, step int64) string { return checkPath(dir, step, sealKind) }

// Lost says of a run that is done what is missing of its last checkpoint, and what can
// still be done about it; nil if it is all there.
func Lost(dir string) error {
	_, _, err := Last(dir)
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s is finished and its numbers are whole, but what it learnt is lost or not its last: %w", dir, err)
}

// Steps returns the env steps of a run's checkpoints, in order.
func Steps(dir string) (steps []int64, err error) {
	all, _, err := look(dir)
	for _, f := range all {
		steps = append(steps, f.Step)
	}
	return steps, err
}

// Last is that of a reader that accepts nothing.
func Last(dir string) ([]byte, int64, error) {
	c, err := (*Reader)(nil).Last(dir)
	if err != nil {
		return nil, 0, err
	}
	return c.Body, c.Step, nil
}

func last(dir string, acceptOlder bool) (*Checkpoint, error) {
	r, err := Read(dir)
	if err != nil {
		return nil, err
	}
	if err := r.Faults(); err != nil {
		return nil, err
	}
	c := &Checkpoint{Record: r}
	for range tries { // the writer may remove what was just listed: look again
		if err = c.find(acceptOlder); err == nil && c.Newest || !r.moved() {
			break
		}
		now, err := Read(dir)
		if err != nil {
			return nil, err
		}
		*r = *now
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// find finds the newest whole checkpoint.
func (c *Checkpoint) find(acceptOlder bool) error {
	all, _, err := look(c.dir)
	if err != nil {
		return err
	}
	ended := c.Env.Status == "done"
	if all = among(c.dir, all, &c.Env); len(all) == 0 && !ended {
		return fmt.Errorf("runlog: %s has no checkpoint yet; let the run reach its first (train.save)", c.dir)
	}
	next := "go on training from there with hop train --resume"
	if ended {
		next = "train anew into another folder"
	}
	var faults []string
	for _, f := range slices.Backward(all) {
		body, err := f.body(c.dir)
		if err != nil && !errors.Is(err, ErrDamaged) {
			return err
		}
		if err != nil {
			faults = append(faults, err.Error())
			continue
		}
		why := strings.Join(faults, "; ")
		if why != "" && !acceptOlder {
			return damaged{why: fmt.Sprintf("%s; the newest whole checkpoint of %s is that of step %d: put the damaged file back from a copy, "+
				"%s, or use the older one with --accept-older", why, c.dir, f.Step, next)}
		}
		c.Body, c.Used = body, Used{Run: c.dir, Step: f.Step, Newest: why == "", Why: why, Status: c.Env.Status, Trained: c.trained()}
		return nil
	}
	return damaged{why: fmt.Sprintf("%s has no whole checkpoint: %s; put them back from a copy, or train anew into another folder", c.dir,
		cmp.Or(strings.Join(faults, "; "), filepath.Join(c.dir, checkDir)+" is empty"))}
}
