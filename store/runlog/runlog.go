// Package runlog is a run's folder.
//
//	spec.yaml                 the resolved spec
//	metrics.csv               every number, in long form, with the rows behind it
//	events.out.tfevents.0.hop the same for TensorBoard
//	checkpoints/              NAME.safetensors with NAME.json, its seal
//	log.txt                   what was said, with the time
//	findings.json             what was noticed to be wrong, if anything was
//	result.json               what its agents were found to be worth, if they were scored
//	env.json                  machine, versions, seed, what it has cost, status, sums
//
// A run can die at any moment. A checkpoint appears whole or not at all and
// remembers how long metrics and events were; resuming cuts both back to there.
// So a resumed run ends in the same bytes as one that was never interrupted, but for
// the clock: events say when they were written, and that alone differs between equal
// runs. A lock keeps a second process out; its time is the last sign of life of whoever
// writes, and metrics.csv grows with every Log, so that others can watch (disk.Held).
//
// The record is sealed. A checkpoint's seal holds the sums of its body and of all else
// as it stood then, of what grows the sum of its beginning; env.json holds the same of
// the newest checkpoint and, once a run has ended, of all files. Both hold their own.
// Reading holds every file against them, and Reader is the one way to a checkpoint.
package runlog

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hop-marl/hop/num/disk"
)

// The names of the files.
const (
	specFile    = "spec.yaml"
	metricsFile = "metrics.csv"
	resultFile  = "result.json"
	eventsFile  = "events.out.tfevents.0.hop"
	logFile     = "log.txt"
	envFile     = "env.json"
	checkDir    = "checkpoints"
	seedPrefix  = "seed-"
)

// ErrNoRun is what errors are that say that a folder is not a run's.
var ErrNoRun = errors.New("runlog: not a run's folder")

type noRun struct{ error }

func (noRun) Is(target error) bool { return target == ErrNoRun }

func notRun(dir, file string) error {
	return noRun{fmt.Errorf("runlog: %s is not a run's folder: it has no %s", dir, file)}
}

// Row is one number.
type Row struct {
	Step  int64
	Name  string // such as "return" or "ppo/entropy"
	Agent int    // -1: of no agent in particular
	Value float64
	N     int // alive rows, episodes or steps behind the value
}

// Run is a run's folder, open for writing by one process.
type Run struct {
	dir     string
	lock    *os.File
	spec    []byte
	metrics *writer
	events  *writer
	log     *os.File
	env     Env
	before  map[string]float64         // seconds by phase of earlier processes
	waited  map[string]Waited          // of them
	earlier Spent                      // before seconds began to count
	seconds func() (cpu, wall float64) // since then; nil: nothing counts
	timed   int64                      // step at which the clock was read last
	wall    float64                    // and what it said
	line    []byte                     // scratch
	beat    time.Time                  // when a sign of life was given last
	closed  bool
	specs   []string // sums that spec.yaml may have
	newest  *Body    // the newest checkpoint
	found   Part     // of findings.json
	result  *Part    // of result.json
}

// writer is a buffered file that knows its length and its sum. After an error it takes
// nothing more, because what lies on the disk is then unknown.
type writer struct {
	f    *disk.File
	name string // without the folder
	buf  *bufio.Writer
	n    int64
	hash hash.Hash // of all that was written; nil: not known yet
	safe Part      // what survives a crash
	err  error
}

func (w *writer) write(b []byte) error {
	if w.err == nil && w.hash == nil {
		w.fail(w.sum(w.n))
	}
	if w.err == nil {
		n, err := w.buf.Write(b)
		w.n += int64(n)
		w.fail(err)
		addTo(w.hash, w.name, b)
	}
	return w.err
}

// sumTo returns the sum of the file's first n bytes.
func (w *writer) sumTo(n int64) (string, error) {
	h, err := hashFile(w.name, io.NewSectionReader(w.f, 0, n), n)
	return sumText(h), err
}

// sum sums the file's first n bytes, to go on from there.
func (w *writer) sum(n int64) (err error) {
	w.hash, err = hashFile(w.name, io.NewSectionReader(w.f, 0, n), n)
	return err
}

// show lets others read what was written so far.
func (w *writer) show() error {
	if w.err == nil {
		w.fail(w.buf.Flush())
	}
	return w.err
}

// sync makes everything written so far survive a crash.
func (w *writer) sync() error {
	if w.err == nil {
		w.fail(w.buf.Flush())
	}
	if w.err == nil {
		w.fail(w.f.Sync())
	}
	if w.err == nil && w.hash == nil {
		w.fail(w.sum(w.n))
	}
	if w.err == nil {
		w.safe = Part{w.n, sumText(w.hash)}
	}
	return w.err
}

// cut takes the file back to its first n bytes and forgets what is buffered.
func (w *writer) cut(n int64) error {
	w.buf.Reset(w.f)
	w.n, w.err = n, nil
	w.fail(w.sum(n))
	if w.err == nil {
		w.safe = Part{n, sumText(w.hash)}
		w.fail(w.f.Cut(n))
	}
	return w.err
}

func (w *writer) fail(err error) {
	if err != nil {
		w.err = explain("writing", w.f.Name(), err)
	}
}

// explain says what could not be done with which file, and what to do about it.
func explain(doing, path string, err error) error {
	is := func(list []error) bool {
		return slices.ContainsFunc(list, func(e error) bool { return errors.Is(err, e) })
	}
	hint := ""
	switch {
	case is(errsFull):
		hint = "; the disk is full: free some space, then go on with hop train --resume"
	case is(errsTooLarge):
		hint = "; files may not grow that large here: raise the limit (ulimit -f), then go on with hop train --resume"
	case errors.Is(err, fs.ErrPermission), is(errsReadOnly):
		hint = "; this user may not write there: choose another folder with --out, or change its permissions"
	case errors.Is(err, syscall.ENOTDIR):
		hint = "; a part of the path is a file: choose another folder with --out"
	}
	return fmt.Errorf("runlog: %s %s: %w%s", doing, path, err, hint)
}

// Create makes a run's folder. It is an error if there is a run in it.
func Create(dir string, spec []byte, info Info) (*Run, error) {
	r, err := open(dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, specFile)); err == nil {
		return nil, errors.Join(fmt.Errorf("runlog: %s holds a run already; go on with it by hop train --resume %s, or choose another folder",
			dir, dir), r.Close())
	}
	if _, err := Read(dir); errors.Is(err, ErrDamaged) { // it was a run, whose spec is gone
		return nil, errors.Join(err, r.Close())
	}
	r.spec, r.specs, r.env, r.found = spec, []string{sumOf(spec)}, newEnv(info), Part{0, sumOf(nil)}
	if err := r.create(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// create writes a new run's first files; the spec last, because it makes the
// folder a run.
func (r *Run) create() error {
	if err := r.begin(); err != nil {
		return err
	}
	if err := r.saveEnv(); err != nil {
		return err
	}
	if err := replace(filepath.Join(r.dir, specFile), r.spec); err != nil {
		return err
	}
	parent := filepath.Dir(filepath.Clean(r.dir))
	if err := disk.SyncDir(parent); err != nil {
		return explain("writing", parent, err)
	}
	return nil
}

// begin brings metrics and events to a run's beginning.
func (r *Run) begin() error {
	if err := errors.Join(r.metrics.cut(0), r.events.cut(0)); err != nil {
		return err
	}
	if err := errors.Join(r.metrics.write([]byte(header+"\n")), r.events.write(version(now()))); err != nil {
		return err
	}
	return r.flush()
}

// Open opens an existing run. Call Resume before anything else. A run that is not as
// it was written is refused, but for its result, which can be found again.
func Open(dir string) (*Run, error) {
	if _, err := ReadSpec(dir); err != nil {
		return nil, err
	}
	r, err := open(dir)
	if err != nil {
		return nil, err
	}
	rec, err := Read(dir)
	if err == nil {
		err = rec.Faults(resultFile)
	}
	if err == nil {
		err = errors.Join(disk.Sweep(dir), disk.Sweep(filepath.Join(dir, checkDir)))
	}
	if err == nil {
		err = r.take(rec)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// take goes on from a record that was read.
func (r *Run) take(rec *Record) (err error) {
	r.spec, r.specs, r.env = rec.Spec, []string{sumOf(rec.Spec)}, rec.Env
	r.before, r.waited, r.earlier, r.env.Status = r.env.Phases, r.env.Waits, r.env.Spent, running
	if r.found, err = sumFindings(r.dir); err != nil {
		return err
	}
	sums := r.env.Record
	if sums == nil || len(sums.Specs) > 1 {
		if err := r.reseal(); err != nil {
			return err
		}
	}
	if sums != nil {
		r.newest, r.metrics.safe, r.events.safe = sums.Checkpoint, sums.Files[metricsFile], sums.Files[eventsFile]
		if p, ok := sums.Files[resultFile]; ok && rec.check(resultFile) == nil {
			r.result = &p
		}
		return r.saveEnv()
	}
	for _, w := range []*writer{r.metrics, r.events} {
		if sum, err := w.sumTo(w.n); err == nil {
			w.safe = Part{w.n, sum}
		} else {
			w.safe = Part{0, sumOf(nil)} // it was killed while it wrote
		}
	}
	if b, err := readSmall(r.dir, resultFile); err == nil {
		r.result = &Part{int64(len(b)), sumOf(b)}
	}
	return r.saveEnv()
}

// open makes the folder, takes the lock and opens the files for appending.
func open(dir string) (*Run, error) {
	err := disk.Make(filepath.Join(dir, checkDir))
	if err == nil {
		_, err = disk.Below(dir, checkDir) // a link would lead to somebody else's checkpoints
	}
	if err != nil {
		return nil, explain("making", dir, err)
	}
	r := &Run{dir: dir}
	if r.lock, err = disk.Lock(dir); errors.Is(err, disk.ErrHeld) {
		return nil, fmt.Errorf("runlog: %w", err)
	} else if err != nil {
		return nil, explain("writing", filepath.Join(dir, disk.LockFile), err)
	}
	for _, f := range []struct {
		name string
		w    **writer
	}{{metricsFile, &r.metrics}, {eventsFile, &r.events}} {
		path := filepath.Join(dir, f.name)
		file, n, err := disk.Append(path)
		if err != nil {
			return nil, errors.Join(explain("opening", path, err), r.Close())
		}
		*f.w = &writer{f: file, name: f.name, buf: bufio.NewWriterSize(file, 1<<16), n: n}
	}
	path := filepath.Join(dir, logFile)
	if err = disk.Own(path); err == nil {
		r.log, err = os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
	}
	if err != nil {
		return nil, errors.Join(explain("opening", path, err), r.Close())
	}
	return r, nil
}

// Dir returns the folder.
func (r *Run) Dir() string { return r.dir }

// Spec returns the resolved spec.
func (r *Run) Spec() []byte { return r.spec }

// SetSpec puts another spec in its place, such as one of a longer training. The seals
// follow; a run that dies on the way has both specs in env.json, and either is good.
func (r *Run) SetSpec(spec []byte) error {
	r.specs = append(r.specs, sumOf(spec))
	if err := r.saveEnv(); err != nil {
		return err
	}
	r.spec = spec
	if err := replace(filepath.Join(r.dir, specFile), spec); err != nil {
		return err
	}
	if err := r.reseal(); err != nil {
		return err
	}
	r.specs = r.specs[len(r.specs)-1:]
	return r.saveEnv()
}

// SetResult writes result.json and seals it.
func (r *Run) SetResult(b []byte) error {
	if err := r.flush(); err != nil {
		return err
	}
	if err := replace(filepath.Join(r.dir, resultFile), b); err != nil {
		return err
	}
	r.result = &Part{int64(len(b)), sumOf(b)}
	return r.saveEnv()
}

// RemoveResult forgets a result that is of other agents.
func (r *Run) RemoveResult() error {
	r.result = nil
	if err := r.saveEnv(); err != nil {
		return err
	}
	path := filepath.Join(r.dir, resultFile)
	if err := disk.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return explain("removing", path, err)
	}
	return nil
}

// SeedDir returns the folder of a seed.
func SeedDir(dir string, seed uint64) string {
	return filepath.Join(dir, seedPrefix+strconv.FormatUint(seed, 10))
}

// SeedOf returns the seed that a folder is of, going by its name.
func SeedOf(dir string) (uint64, bool) {
	digits, ok := strings.CutPrefix(filepath.Base(dir), seedPrefix)
	seed, err := strconv.ParseUint(digits, 10, 64)
	return seed, ok && err == nil
}

// Seeds returns the folders of the runs that dir holds: itself, or its seeds, in the
// order of their numbers.
func Seeds(dir string) ([]string, error) {
	if _, err := os.Stat(filepath.Join(dir, specFile)); err == nil {
		return []string{dir}, nil
	}
	entries, err := os.ReadDir(dir)
	var list []string
	for _, e := range entries {
		if _, ok := SeedOf(e.Name()); ok && e.IsDir() {
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	if err != nil || len(list) == 0 {
		return nil, noRun{fmt.Errorf("%s holds no run: neither %s nor folders seed-*; name a folder that hop train made", dir, specFile)}
	}
	slices.SortFunc(list, func(a, b string) int {
		x, _ := SeedOf(a)
		y, _ := SeedOf(b)
		return cmp.Compare(x, y)
	})
	return list, nil
}

// Log adds rows to metrics.csv and to TensorBoard's file. Others can read the former at
// once; both survive a crash from the next checkpoint on, or when the run is closed.
func (r *Run) Log(rows []Row) error {
	for _, row := range rows {
		if row.Name == "" || strings.ContainsAny(row.Name, ",\"\r\n") {
			return fmt.Errorf("runlog: a row is named %q; names are not empty and hold no comma, quote or line end", row.Name)
		}
	}
	for _, row := range rows {
		r.line = row.append(r.line[:0])
		if err := r.metrics.write(r.line); err != nil {
			return err
		}
	}
	for lo := 0; lo < len(rows); {
		hi := lo + 1
		for hi < len(rows) && rows[hi].Step == rows[lo].Step {
			hi++
		}
		step := rows[lo].Step
		if err := r.events.write(event(now(), step, scalars(rows[lo:hi]))); err != nil {
			return err
		}
		if clock := r.clock(step); clock != nil {
			if err := r.events.write(event(now(), step, scalars(clock))); err != nil {
				return err
			}
		}
		lo = hi
	}
	r.sign()
	return r.metrics.show()
}

// The names under which TensorBoard's file, and it alone, says how the clock went, in records of
// their own: the seconds that the run has cost, without what lies between its parts, and env steps
// a second. Equal runs differ in them, so metrics.csv, the same to the byte, has no place for them.
const (
	WallMetric = "time/wall_s"
	RateMetric = "time/steps_per_s"
)

// clock reads the clock once for each step, if there is one.
func (r *Run) clock(step int64) []Row {
	if r.seconds == nil || step <= r.timed {
		return nil
	}
	wall := r.Spent().Wall
	rate := float64(step-r.timed) / max(wall-r.wall, 1e-9)
	r.timed, r.wall = step, wall
	return []Row{{Step: step, Name: WallMetric, Agent: -1, Value: wall, N: 1}, {Step: step, Name: RateMetric, Agent: -1, Value: rate, N: 1}}
}

// sign gives a sign of life to those who watch the run (disk.Held), at most once a second.
// It changes no byte, and a run does not fail for it.
func (r *Run) sign() {
	if now := time.Now(); now.Sub(r.beat) >= time.Second {
		r.beat = now
		_ = disk.Beat(r.lock, now)
	}
}

// Printf adds a line to log.txt.
func (r *Run) Printf(format string, args ...any) {
	r.sign()
	fmt.Fprintf(r.log, "%s  %s\n", time.Now().Format(time.RFC3339), fmt.Sprintf(format, args...))
}

// flush makes metrics and events survive a crash.
func (r *Run) flush() error {
	if err := r.metrics.sync(); err != nil {
		return err
	}
	return r.events.sync()
}

// Close brings what was logged to the disk and gives up the lock. A second call
// does nothing. Errors that were returned before are not repeated.
func (r *Run) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	var errs []error
	for _, w := range []*writer{r.metrics, r.events} {
		if w == nil {
			continue
		}
		if w.err == nil {
			errs = append(errs, w.sync())
		}
		errs = append(errs, w.f.Close())
	}
	if r.log != nil {
		errs = append(errs, r.log.Close())
	}
	if r.lock != nil {
		errs = append(errs, disk.Unlock(r.lock)) // last: then everything is written
	}
	return errors.Join(errs...)
}
