package runlog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Keep says which checkpoints stay: the newest Last, every Every-th, and the
// best. Last 0 keeps all.
type Keep struct{ Last, Every int }

// seal is the small file that makes a checkpoint whole.
type seal struct {
	Step    int64   `json:"step"`
	Number  int     `json:"number"` // counts checkpoints from 1
	Score   float64 `json:"score"`
	SHA256  string  `json:"sha256"`
	Bytes   int     `json:"bytes"`
	Metrics int64   `json:"metrics_bytes"`
	Events  int64   `json:"events_bytes"`
}

func checkName(step int64) string { return fmt.Sprintf("step-%012d", step) }

// Checkpoint writes everything that is needed to go on from here. Metrics and
// events are brought to the disk first.
func (r *Run) Checkpoint(step int64, body []byte, score float64, keep Keep) error {
	if err := r.flush(); err != nil {
		return err
	}
	old, _ := seals(r.dir)
	s := seal{Step: step, Number: 1, Score: score, Bytes: len(body), Metrics: r.metrics.n, Events: r.events.n}
	if n := len(old); n > 0 {
		s.Number = old[n-1].Number + 1
		if old[n-1].Step == step {
			old = old[:n-1]
			s.Number--
		}
	}
	sum := sha256.Sum256(body)
	s.SHA256 = hex.EncodeToString(sum[:])
	head, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("runlog: sealing a checkpoint: %w", err)
	}
	at := filepath.Join(r.dir, checkDir, checkName(step))
	if err := replace(at+".safetensors", body); err != nil {
		return err
	}
	if err := replace(at+".json", head); err != nil {
		return err
	}
	if err := r.saveEnv(); err != nil {
		return err
	}
	return r.prune(append(old, s), keep)
}

// prune removes what need not be kept, seal first.
func (r *Run) prune(all []seal, keep Keep) error {
	if keep.Last <= 0 {
		return nil
	}
	best := 0
	for i, s := range all {
		if s.Score >= all[best].Score {
			best = i
		}
	}
	for i, s := range all {
		if i >= len(all)-keep.Last || i == best || keep.Every > 0 && s.Number%keep.Every == 0 {
			continue
		}
		if err := r.remove(s); err != nil {
			return err
		}
	}
	return nil
}

func (r *Run) remove(s seal) error {
	at := filepath.Join(r.dir, checkDir, checkName(s.Step))
	return errors.Join(os.Remove(at+".json"), os.Remove(at+".safetensors"))
}

// seals returns the checkpoints of a run, oldest first, without looking at their
// bodies, and a note about each seal that cannot be read.
func seals(dir string) ([]seal, []string) {
	files, _ := filepath.Glob(filepath.Join(dir, checkDir, "step-*.json"))
	slices.Sort(files)
	var out []seal
	var notes []string
	for _, path := range files {
		var s seal
		b, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(b, &s)
		}
		if err == nil && checkName(s.Step)+".json" != filepath.Base(path) {
			err = errors.New("it is of another step")
		}
		if err != nil {
			notes = append(notes, fmt.Sprintf("%s is damaged (%v); using an earlier checkpoint", path, err))
			continue
		}
		out = append(out, s)
	}
	return out, notes
}

// body reads a checkpoint and checks that it is what was written.
func body(dir string, s seal) ([]byte, error) {
	path := filepath.Join(dir, checkDir, checkName(s.Step)+".safetensors")
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(b) != s.Bytes {
		return nil, fmt.Errorf("%s has %d bytes, %d were written", path, len(b), s.Bytes)
	}
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != s.SHA256 {
		return nil, fmt.Errorf("%s was changed after it was written", path)
	}
	return b, nil
}

// Resume returns the newest whole checkpoint, or nil if there is none, and cuts
// metrics and events back to it. Damaged checkpoints are named in notes and
// passed over; what is newer than the one used is removed.
func (r *Run) Resume() (b []byte, step int64, notes []string, err error) {
	all, notes := seals(r.dir)
	use := len(all) - 1
	for ; use >= 0; use-- {
		if b, err = body(r.dir, all[use]); err == nil {
			break
		}
		notes = append(notes, fmt.Sprintf("checkpoint is damaged: %v; using an earlier one", err))
	}
	to := seal{}
	if use >= 0 {
		to, step = all[use], all[use].Step
	}
	if err := r.cut(to); err != nil {
		return nil, 0, notes, err
	}
	if err := r.tidy(to); err != nil {
		return nil, 0, notes, err
	}
	return b, step, notes, nil
}

// tidy removes files of checkpoints that are newer than s or were never finished.
func (r *Run) tidy(s seal) error {
	files, err := filepath.Glob(filepath.Join(r.dir, checkDir, "*"))
	if err != nil {
		return err
	}
	for _, path := range files {
		name := filepath.Base(path)
		newer := s.Number == 0 || name > checkName(s.Step)+".safetensors" && !strings.HasPrefix(name, checkName(s.Step))
		if newer || strings.HasSuffix(name, ".tmp") {
			if err := os.Remove(path); err != nil {
				return explain(path, err)
			}
		}
	}
	return nil
}

// cut takes metrics and events back to where they were at a checkpoint, or to a
// run's beginning.
func (r *Run) cut(s seal) error {
	for _, f := range []struct {
		w *writer
		n int64
	}{{r.metrics, s.Metrics}, {r.events, s.Events}} {
		if f.n > f.w.n {
			return fmt.Errorf("runlog: %s has %d bytes, the checkpoint was made when it had %d: the file was changed", f.w.f.Name(), f.w.n, f.n)
		}
		if err := f.w.f.Truncate(f.n); err != nil {
			return explain(f.w.f.Name(), err)
		}
		if _, err := f.w.f.Seek(f.n, 0); err != nil {
			return explain(f.w.f.Name(), err)
		}
		f.w.n = f.n
		f.w.buf.Reset(f.w.f)
	}
	if s.Number == 0 {
		return r.begin()
	}
	return nil
}

// Last returns the newest whole checkpoint of a run that another process may be
// writing.
func Last(dir string) ([]byte, int64, error) { return pick(dir, false) }

// Best returns the whole checkpoint with the best score.
func Best(dir string) ([]byte, int64, error) { return pick(dir, true) }

func pick(dir string, best bool) ([]byte, int64, error) {
	if _, err := ReadSpec(dir); err != nil {
		return nil, 0, err
	}
	all, notes := seals(dir)
	if best {
		slices.SortStableFunc(all, func(a, b seal) int {
			switch {
			case a.Score < b.Score:
				return -1
			case a.Score > b.Score:
				return 1
			}
			return 0
		})
	}
	for i := len(all) - 1; i >= 0; i-- {
		b, err := body(dir, all[i])
		if err == nil {
			return b, all[i].Step, nil
		}
		notes = append(notes, err.Error())
	}
	if len(notes) > 0 {
		return nil, 0, fmt.Errorf("runlog: %s has no whole checkpoint: %s", dir, strings.Join(notes, "; "))
	}
	return nil, 0, fmt.Errorf("runlog: %s has no checkpoint yet; let the run reach its first (train.save)", dir)
}

// replace writes a file whole or not at all.
func replace(path string, b []byte) error {
	tmp := path + ".tmp"
	f, err := os.Create(tmp)
	if err != nil {
		return explain(path, err)
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
		return explain(path, err)
	}
	return syncDir(filepath.Dir(path))
}
