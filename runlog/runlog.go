// Package runlog is a run's folder.
//
//	spec.yaml                 the resolved spec
//	metrics.csv               every number, in long form, with the rows behind it
//	events.out.tfevents.0.hop the same for TensorBoard
//	checkpoints/              NAME.safetensors with NAME.json, which makes it whole
//	log.txt                   what was said, with the time
//	env.json                  machine, versions, seed, seconds by phase, status
//
// A run can die at any moment. A checkpoint appears whole or not at all and
// remembers how long metrics and events were; resuming cuts both back to there.
// Neither holds the time of day, so a resumed run ends in the same bytes as one
// that was never interrupted. A lock keeps a second process out.
package runlog

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// The names of the files.
const (
	specFile    = "spec.yaml"
	metricsFile = "metrics.csv"
	eventsFile  = "events.out.tfevents.0.hop"
	logFile     = "log.txt"
	envFile     = "env.json"
	lockFile    = "lock"
	checkDir    = "checkpoints"
)

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
	start   time.Time
	closed  bool
}

// writer is a buffered file that knows its length.
type writer struct {
	f   *os.File
	buf *bufio.Writer
	n   int64
}

func (w *writer) Write(b []byte) (int, error) {
	n, err := w.buf.Write(b)
	w.n += int64(n)
	return n, err
}

// sync makes everything written so far survive a crash.
func (w *writer) sync() error {
	if err := w.buf.Flush(); err != nil {
		return err
	}
	return w.f.Sync()
}

// explain says which file could not be written and what to do.
func explain(path string, err error) error {
	hint := ""
	switch {
	case errors.Is(err, errDiskFull):
		hint = "; the disk is full: free some space, then resume with hop train --resume"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, errReadOnly):
		hint = "; the folder cannot be written: choose another with --out"
	}
	return fmt.Errorf("runlog: writing %s: %w%s", path, err, hint)
}

// Create makes a run's folder. It is an error if there is a run in it.
func Create(dir string, spec []byte, info Info) (*Run, error) {
	if err := os.MkdirAll(filepath.Join(dir, checkDir), 0o755); err != nil {
		return nil, explain(dir, err)
	}
	if _, err := os.Stat(filepath.Join(dir, specFile)); err == nil {
		return nil, fmt.Errorf("runlog: %s holds a run already; resume it with hop train --resume %s, or choose another folder", dir, dir)
	}
	r, err := open(dir)
	if err != nil {
		return nil, err
	}
	r.spec, r.env = spec, newEnv(info)
	if err := r.begin(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// begin writes a new run's first files; the spec last, because it makes the
// folder a run.
func (r *Run) begin() error {
	if _, err := fmt.Fprintln(r.metrics, "step,name,agent,value,n"); err != nil {
		return explain(r.metrics.f.Name(), err)
	}
	if _, err := r.events.Write(event(0, 0, nil)); err != nil {
		return explain(r.events.f.Name(), err)
	}
	if err := r.flush(); err != nil {
		return err
	}
	if err := r.saveEnv(); err != nil {
		return err
	}
	return replace(filepath.Join(r.dir, specFile), r.spec)
}

// Open opens an existing run, to resume it.
func Open(dir string) (*Run, error) {
	spec, err := ReadSpec(dir)
	if err != nil {
		return nil, err
	}
	r, err := open(dir)
	if err != nil {
		return nil, err
	}
	r.spec = spec
	if r.env, err = ReadEnv(dir); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// open takes the lock and opens the files for appending.
func open(dir string) (*Run, error) {
	r := &Run{dir: dir, start: time.Now()}
	var err error
	if r.lock, err = takeLock(filepath.Join(dir, lockFile)); err != nil {
		return nil, err
	}
	for _, f := range []struct {
		name string
		w    **writer
	}{{metricsFile, &r.metrics}, {eventsFile, &r.events}} {
		file, n, err := appendTo(filepath.Join(dir, f.name))
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		*f.w = &writer{file, bufio.NewWriterSize(file, 1<<16), n}
	}
	if r.log, _, err = appendTo(filepath.Join(dir, logFile)); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func appendTo(path string) (*os.File, int64, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, 0, explain(path, err)
	}
	n, err := f.Seek(0, 2)
	if err != nil {
		return nil, 0, errors.Join(explain(path, err), f.Close())
	}
	return f, n, nil
}

// Dir returns the folder.
func (r *Run) Dir() string { return r.dir }

// Spec returns the resolved spec.
func (r *Run) Spec() []byte { return r.spec }

// ReadSpec returns the spec of a run's folder.
func ReadSpec(dir string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(dir, specFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("runlog: %s is not a run's folder: it has no %s", dir, specFile)
	}
	return b, err
}

// Log adds rows to metrics.csv and to TensorBoard's file. They reach the disk
// with the next checkpoint, or when the run is closed.
func (r *Run) Log(rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	var line []byte
	for _, row := range rows {
		line = row.append(line[:0])
		if _, err := r.metrics.Write(line); err != nil {
			return explain(r.metrics.f.Name(), err)
		}
	}
	for lo := 0; lo < len(rows); {
		hi := lo + 1
		for hi < len(rows) && rows[hi].Step == rows[lo].Step {
			hi++
		}
		if _, err := r.events.Write(event(float64(rows[lo].Step), rows[lo].Step, rows[lo:hi])); err != nil {
			return explain(r.events.f.Name(), err)
		}
		lo = hi
	}
	return nil
}

func (row Row) append(b []byte) []byte {
	b = strconv.AppendInt(b, row.Step, 10)
	b = append(b, ',')
	b = append(b, row.Name...)
	b = append(b, ',')
	if row.Agent >= 0 {
		b = strconv.AppendInt(b, int64(row.Agent), 10)
	}
	b = append(b, ',')
	b = strconv.AppendFloat(b, row.Value, 'g', -1, 64)
	b = append(b, ',')
	b = strconv.AppendInt(b, int64(row.N), 10)
	return append(b, '\n')
}

// Printf adds a line to log.txt.
func (r *Run) Printf(format string, args ...any) {
	fmt.Fprintf(r.log, "%s  %s\n", time.Now().Format(time.RFC3339), fmt.Sprintf(format, args...))
}

// flush makes metrics and events survive a crash.
func (r *Run) flush() error {
	for _, w := range []*writer{r.metrics, r.events} {
		if err := w.sync(); err != nil {
			return explain(w.f.Name(), err)
		}
	}
	return nil
}

// Close flushes what was logged and gives up the lock. A second call does nothing.
func (r *Run) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	var errs []error
	for _, w := range []*writer{r.metrics, r.events} {
		if w != nil {
			if err := w.sync(); err != nil {
				errs = append(errs, explain(w.f.Name(), err))
			}
			errs = append(errs, w.f.Close())
		}
	}
	if r.log != nil {
		errs = append(errs, r.log.Close())
	}
	if r.lock != nil {
		errs = append(errs, dropLock(r.lock))
	}
	return errors.Join(errs...)
}
