package runlog

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hop-marl/hop/num/disk"
)

// Keep says which checkpoints stay: the newest Last, every Every-th, and the
// best. Last 0 keeps all; Every 0 keeps none for its number.
type Keep struct {
	Last  int `json:"last"`
	Every int `json:"every"`
}

// The kinds of files that a checkpoint has.
const (
	bodyKind = ".safetensors"
	sealKind = ".json"
	tmpKind  = ".tmp" // of either, while it is written
)

func checkPath(dir string, step int64, kind string) string {
	return filepath.Join(dir, checkDir, fmt.Sprintf("step-%012d%s", step, kind))
}

// stepOf returns the step and kind of a checkpoint's file, and false for files
// that are not ours.
func stepOf(name string) (int64, string, bool) {
	digits, kind, _ := strings.Cut(name, ".")
	kind = "." + kind
	step, err := strconv.ParseInt(strings.TrimPrefix(digits, "step-"), 10, 64)
	if err != nil || step < 0 || filepath.Base(checkPath("", step, kind)) != name {
		return 0, "", false
	}
	switch strings.TrimSuffix(kind, tmpKind) {
	case bodyKind, sealKind:
		return step, kind, true
	}
	return 0, "", false
}

// found is a checkpoint in the folder. Its body is not looked at yet.
type found struct {
	seal
	fault error // what is wrong with the seal
}

// look lists the checkpoints of a run by step, those with a damaged seal among
// them, and all files of checkpoints.
func look(dir string) ([]found, []string, error) {
	entries, err := os.ReadDir(filepath.Join(dir, checkDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("runlog: looking for checkpoints: %w", err)
	}
	var all []found
	var files []string
	for _, e := range entries {
		step, kind, ours := stepOf(e.Name())
		if !ours {
			continue
		}
		files = append(files, e.Name())
		if kind != sealKind {
			continue
		}
		path := checkPath(dir, step, sealKind)
		b, err := disk.Read(path, smallFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since
		}
		if err != nil {
			return nil, nil, fmt.Errorf("runlog: reading a checkpoint: %w", err)
		}
		f := found{}
		if f.seal, err = parseSeal(b, step); err != nil {
			f.Step, f.fault = step, damaged{why: fmt.Sprintf("%s is damaged: %v", path, err)}
		}
		all = append(all, f)
	}
	sortSteps(all)
	return all, files, nil
}

// body reads a checkpoint and checks that it is what was written.
func (f found) body(dir string) ([]byte, error) {
	if f.fault != nil {
		return nil, f.fault
	}
	path := checkPath(dir, f.Step, bodyKind)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, damaged{path + " is missing", true}
	}
	if err == nil && info.Mode().IsRegular() && info.Size() != int64(f.Bytes) {
		return nil, damaged{why: fmt.Sprintf("%s is damaged: it has %d bytes, %d were written", path, info.Size(), f.Bytes)}
	}
	b, err := disk.Read(path, int64(f.Bytes))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, damaged{path + " is missing", true}
	}
	if err != nil {
		return nil, fmt.Errorf("runlog: reading a checkpoint: %w", err)
	}
	if sumOf(b) != f.SHA256 {
		return nil, damaged{why: path + " is damaged: it was changed after it was written"}
	}
	return b, nil
}

// among returns the checkpoints of a run, held against what env.json says of it: the
// newest that it names must be there, and all must be of this run.
func among(dir string, all []found, env *Env) []found {
	sums := env.Record
	if sums == nil {
		return all
	}
	newest := int64(math.MaxInt64) // a run that is written may just have made one
	if env.Status != running {
		newest = -1
		if sums.Checkpoint != nil {
			newest = sums.Checkpoint.Step
		}
	}
	for i := range all {
		f := &all[i]
		path := checkPath(dir, f.Step, sealKind)
		switch {
		case f.fault != nil:
		case f.loose():
			f.fault = damaged{why: path + " is damaged: it holds no sums"}
		case f.Preset != env.Preset || f.Seed != env.Seed || !slices.Contains(sums.Specs, sumOf([]byte(f.Spec))):
			f.fault = damaged{why: fmt.Sprintf("%s is of another run: %s, seed %d", path, f.Preset, f.Seed)}
		case sums.Checkpoint != nil && sums.Checkpoint.Step == f.Step && sums.Checkpoint.SHA256 != f.SHA256:
			f.fault = damaged{why: path + " is of another run: env.json names another body for that step"}
		case f.Step > newest:
			f.fault = damaged{why: fmt.Sprintf("%s is not of this run: it ended at the checkpoint of step %d; move it away", path, newest)}
		}
	}
	if c := sums.Checkpoint; c != nil && !slices.ContainsFunc(all, func(f found) bool { return f.Step == c.Step }) {
		lost := found{seal: seal{Step: c.Step}, fault: damaged{checkPath(dir, c.Step, sealKind) + " is missing", true}}
		all = append(all, lost)
		sortSteps(all)
	}
	return all
}

func sortSteps(all []found) {
	slices.SortFunc(all, func(a, b found) int { return int(min(max(a.Step-b.Step, -1), 1)) })
}

// Checkpoint writes everything that is needed to go on from here. Metrics and
// events are brought to the disk first. The body must follow from the run: one
// written again at the same step is the same. It panics if step is negative.
func (r *Run) Checkpoint(step int64, body []byte, score float64, keep Keep) error {
	if step < 0 {
		panic("runlog: a negative step")
	}
	if math.IsNaN(score) {
		score = math.Inf(-1) // never the best
	}
	if err := r.flush(); err != nil {
		return err
	}
	all, files, err := look(r.dir)
	if err != nil {
		return err
	}
	s := seal{
		Step: step, Number: 1, Score: max(-math.MaxFloat64, min(score, math.MaxFloat64)), SHA256: sumOf(body), Bytes: len(body),
		Metrics: r.metrics.safe.Bytes, MetricsSum: r.metrics.safe.SHA256, Events: r.events.safe.Bytes, EventsSum: r.events.safe.SHA256,
		Findings: r.found.Bytes, FindingsSum: r.found.SHA256,
		Preset: r.env.Preset, Seed: r.env.Seed, Build: r.env.Build, Keep: keep, Spec: string(r.spec),
	}
	all = slices.DeleteFunc(all, func(f found) bool {
		switch {
		case f.fault == nil && f.Step < step:
			s.Number = f.Number + 1
		case f.fault == nil && f.Step == step:
			s.Number = f.Number
		}
		return f.Step == step
	})
	if err := replace(checkPath(r.dir, step, bodyKind), body); err != nil {
		return err
	}
	if err := r.writeSeal(s); err != nil {
		return err
	}
	r.newest = &Body{step, s.SHA256}
	if err := r.saveEnv(); err != nil {
		return err
	}
	return r.prune(append(all, found{seal: s}), files, s)
}

func (r *Run) writeSeal(s seal) error {
	s.Check = ""
	b, err := withCheck(s)
	if err != nil {
		return fmt.Errorf("runlog: sealing a checkpoint: %w", err)
	}
	return replace(checkPath(r.dir, s.Step, sealKind), b)
}

// reseal brings the seals to a spec that has changed, and those of a program that
// sealed nothing but bodies to what the files are now.
func (r *Run) reseal() error {
	all, _, err := look(r.dir)
	if err != nil {
		return err
	}
	for _, f := range all {
		if f.fault != nil || f.Spec == string(r.spec) {
			continue
		}
		if f.loose() {
			f.Preset, f.Seed, f.Build = r.env.Preset, r.env.Seed, r.env.Build
			until, err := foundUntil(r.dir, f.Step)
			if err != nil {
				return err
			}
			f.Findings, f.FindingsSum = until.Bytes, until.SHA256
			if f.MetricsSum, err = r.metrics.sumTo(f.Metrics); err != nil {
				continue // it stays as it is, and is not used
			}
			if f.EventsSum, err = r.events.sumTo(f.Events); err != nil {
				continue
			}
		}
		f.Spec = string(r.spec)
		if err := r.writeSeal(f.seal); err != nil {
			return err
		}
	}
	return nil
}

// prune removes what need not be kept now that s is the newest checkpoint: seals
// before bodies, bodies that have no seal, and what is newer than s.
func (r *Run) prune(all []found, files []string, s seal) error {
	old := slices.DeleteFunc(slices.Clone(all), func(f found) bool { return f.fault != nil || f.Step > s.Step })
	best := 0
	for i, f := range old {
		if f.Score >= old[best].Score {
			best = i
		}
	}
	stays := map[int64]bool{}
	for _, f := range all {
		stays[f.Step] = f.fault != nil && f.Step < s.Step // damaged long ago: not ours to judge
	}
	for i, f := range old {
		k := s.Keep
		stays[f.Step] = k.Last <= 0 || i >= len(old)-k.Last || i == best || k.Every > 0 && f.Number%k.Every == 0
	}
	for _, kind := range []string{sealKind, ""} {
		for _, name := range files {
			step, is, _ := stepOf(name)
			if stays[step] && !strings.HasSuffix(is, tmpKind) || kind != "" && is != kind {
				continue
			}
			path := filepath.Join(r.dir, checkDir, name)
			if err := disk.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) && !held(err) {
				return explain("removing", path, err)
			}
		}
	}
	return nil
}

// Resume returns the newest whole checkpoint, or nil if there is none, and cuts
// metrics, events and findings back to it. Damaged checkpoints are named in notes and
// passed over; what is newer than the one used is removed, and log.txt says how much
// that is. After an error, nothing has been removed.
func (r *Run) Resume() (b []byte, step int64, notes []string, err error) {
	all, files, err := look(r.dir)
	if err != nil {
		return nil, 0, nil, err
	}
	all = among(r.dir, all, &r.env)
	use := len(all) - 1
	for ; use >= 0; use-- {
		if b, err = all[use].body(r.dir); err == nil {
			break
		}
		if !errors.Is(err, ErrDamaged) {
			return nil, 0, notes, err
		}
		notes = append(notes, err.Error())
	}
	to := seal{Step: -1, MetricsSum: sumOf(nil), EventsSum: sumOf(nil), FindingsSum: sumOf(nil)} // nothing is kept
	r.newest = nil
	if use >= 0 {
		to = all[use].seal
		r.newest = &Body{to.Step, to.SHA256}
	}
	for file, p := range to.parts() {
		if err := p.verify(r.dir, file, false); err != nil {
			return nil, 0, notes, fmt.Errorf("runlog: going on from the checkpoint of env step %d: %w", to.Step, err)
		}
	}
	switch {
	case len(notes) > 0 && use >= 0:
		notes = append(notes, fmt.Sprintf("going on from the checkpoint before, at env step %d", to.Step))
	case len(notes) > 0:
		notes = append(notes, "no whole checkpoint is left: starting over")
	}
	for _, n := range notes {
		r.Printf("%s", n)
	}
	r.Printf("resumed at env step %d; %s", max(to.Step, 0), r.lost(max(to.Step, 0)))
	parts := to.parts()
	r.metrics.safe, r.events.safe, r.found, r.result = parts[metricsFile], parts[eventsFile], parts[findingsFile], nil
	if err := r.saveEnv(); err != nil { // first, because what follows is then as it says at every moment
		return nil, 0, notes, err
	}
	if err := r.prune(all, files, to); err != nil {
		return nil, 0, notes, err
	}
	if err := r.cut(to); err != nil {
		return nil, 0, notes, err
	}
	if err := r.cutFindings(r.found); err != nil {
		return nil, 0, notes, err
	}
	r.timed, r.wall = max(to.Step, 0), r.Spent().Wall
	return b, r.timed, notes, nil
}

// lost says how much of what was played is thrown away by going back to a step.
func (r *Run) lost(step int64) string {
	rows, err := readMetrics(r.dir)
	if err != nil || len(rows) == 0 || rows[len(rows)-1].Step <= step {
		return "nothing that was played is lost"
	}
	return fmt.Sprintf("%d env steps that were played after it are thrown away", rows[len(rows)-1].Step-step)
}

// cut takes metrics and events back to where they were at a checkpoint, or to a
// run's beginning.
func (r *Run) cut(s seal) error {
	if s.Number == 0 {
		return r.begin()
	}
	return errors.Join(r.metrics.cut(s.Metrics), r.events.cut(s.Events))
}

// replace writes a file whole or not at all, and says what to do if it cannot.
func replace(path string, b []byte) error {
	if err := disk.Write(path, b); err != nil {
		return explain("writing", path, err)
	}
	return nil
}
