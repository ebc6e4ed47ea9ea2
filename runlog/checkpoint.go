package runlog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Keep says which checkpoints stay: the newest Last, every Every-th, and the
// best. Last 0 keeps all; Every 0 keeps none for its number.
type Keep struct {
	Last  int `json:"last"`
	Every int `json:"every"`
}

// seal is the small file beside a checkpoint's body that makes it whole.
type seal struct {
	Step    int64   `json:"step"`
	Number  int     `json:"number"` // counts checkpoints from 1
	Score   float64 `json:"score"`
	SHA256  string  `json:"sha256"`
	Bytes   int     `json:"bytes"`
	Metrics int64   `json:"metrics_bytes"`
	Events  int64   `json:"events_bytes"`
	Keep    Keep    `json:"keep"` // so that a run that died while removing others can finish that
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

// parseSeal reads a seal that was found under the name of a step.
func parseSeal(b []byte, step int64) (seal, error) {
	var s seal
	if err := json.Unmarshal(b, &s); err != nil {
		return seal{}, err
	}
	switch {
	case s.Step != step:
		return seal{}, fmt.Errorf("it is of env step %d", s.Step)
	case s.Number < 1 || s.Bytes < 0 || s.Metrics < 0 || s.Events < 0 || len(s.SHA256) != 2*sha256.Size:
		return seal{}, errors.New("its numbers cannot be")
	}
	return s, nil
}

// damaged is why a checkpoint cannot be used, as opposed to a file that cannot
// be read just now.
type damaged struct {
	why  string
	gone bool // the body is missing
}

func (d damaged) Error() string { return d.why }

// found is a checkpoint in the folder. Its body is not looked at yet.
type found struct {
	seal
	fault error // what is wrong with the seal
}

// look lists the checkpoints of a run by step, those with a damaged seal among
// them, and all files of checkpoints.
func look(dir string) ([]found, []string, error) {
	entries, err := os.ReadDir(filepath.Join(dir, checkDir))
	if err != nil {
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
		b, err := os.ReadFile(path)
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
	slices.SortFunc(all, func(a, b found) int { return int(min(max(a.Step-b.Step, -1), 1)) })
	return all, files, nil
}

// body reads a checkpoint and checks that it is what was written.
func (f found) body(dir string) ([]byte, error) {
	if f.fault != nil {
		return nil, f.fault
	}
	path := checkPath(dir, f.Step, bodyKind)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, damaged{path + " is missing", true}
	}
	if err != nil {
		return nil, fmt.Errorf("runlog: reading a checkpoint: %w", err)
	}
	if len(b) != f.Bytes {
		return nil, damaged{why: fmt.Sprintf("%s is damaged: it has %d bytes, %d were written", path, len(b), f.Bytes)}
	}
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != f.SHA256 {
		return nil, damaged{why: path + " is damaged: it was changed after it was written"}
	}
	return b, nil
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
	sum := sha256.Sum256(body)
	s := seal{
		Step: step, Number: 1, Score: max(-math.MaxFloat64, min(score, math.MaxFloat64)), SHA256: hex.EncodeToString(sum[:]),
		Bytes: len(body), Metrics: r.metrics.n, Events: r.events.n, Keep: keep,
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
	head, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("runlog: sealing a checkpoint: %w", err)
	}
	if err := replace(checkPath(r.dir, step, bodyKind), body); err != nil {
		return err
	}
	if err := replace(checkPath(r.dir, step, sealKind), head); err != nil {
		return err
	}
	if err := r.saveEnv(); err != nil {
		return err
	}
	return r.prune(append(all, found{seal: s}), files, s)
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
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) && !held(err) {
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
	use := len(all) - 1
	for ; use >= 0; use-- {
		if b, err = all[use].body(r.dir); err == nil {
			break
		}
		var d damaged
		if !errors.As(err, &d) {
			return nil, 0, notes, err
		}
		notes = append(notes, err.Error())
	}
	to := seal{Step: -1} // nothing is kept
	if use >= 0 {
		to = all[use].seal
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
	if err := r.cut(to); err != nil {
		return nil, 0, notes, err
	}
	if err := r.cutFindings(to.Step); err != nil {
		return nil, 0, notes, err
	}
	if err := r.prune(all, files, to); err != nil {
		return nil, 0, notes, err
	}
	return b, max(to.Step, 0), notes, nil
}

// lost says how much of what was played is thrown away by going back to a step.
func (r *Run) lost(step int64) string {
	rows, err := ReadMetrics(r.dir)
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
	for _, f := range []struct {
		w *writer
		n int64
	}{{r.metrics, s.Metrics}, {r.events, s.Events}} {
		if f.n > f.w.n {
			return fmt.Errorf("runlog: %s has %d bytes, but had %d when the checkpoint of env step %d was made: it was cut short "+
				"or replaced; put it back, or start a new run", f.w.f.Name(), f.w.n, f.n, s.Step)
		}
	}
	return errors.Join(r.metrics.cut(s.Metrics), r.events.cut(s.Events))
}

// Last returns the newest whole checkpoint of a run that another process may be
// writing.
func Last(dir string) ([]byte, int64, error) {
	if _, err := ReadSpec(dir); err != nil {
		return nil, 0, err
	}
	var faults []string
	for range 5 { // the writer may remove what was just listed: look again
		all, _, err := look(dir)
		if err != nil {
			return nil, 0, err
		}
		gone := false
		faults = faults[:0]
		for _, f := range slices.Backward(all) {
			b, err := f.body(dir)
			if err == nil {
				return b, f.Step, nil
			}
			var d damaged
			gone = gone || errors.As(err, &d) && d.gone
			faults = append(faults, err.Error())
		}
		if !gone {
			break
		}
	}
	if len(faults) > 0 {
		return nil, 0, fmt.Errorf("runlog: %s has no whole checkpoint: %s", dir, strings.Join(faults, "; "))
	}
	return nil, 0, fmt.Errorf("runlog: %s has no checkpoint yet; let the run reach its first (train.save)", dir)
}

// replace writes a file whole or not at all, and says what to do if it cannot.
func replace(path string, b []byte) error {
	if err := WriteWhole(path, b); err != nil {
		return explain("writing", path, err)
	}
	return nil
}

// WriteWhole writes a file that appears whole or not at all, also if the power goes:
// a temporary one beside it, called .tmp, is written, synced and renamed.
func WriteWhole(path string, b []byte) error {
	tmp := path + tmpKind
	f, err := os.Create(tmp)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
		return err
	}
	return syncDir(filepath.Dir(path))
}
