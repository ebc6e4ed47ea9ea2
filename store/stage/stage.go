// Package stage does the work around a training in stages, each at most once.
//
// A stage is a function that fills a folder. The folder is called after the stage's name and its
// key, the hash of its command, of the keys of the stages that it reads, of what files and
// folders hold that it names, and of a salt.
// So a stage whose inputs are unchanged finds its folder there and is not run again, in
// any run below the same root; a stage with other inputs gets another folder. A stage
// writes into its own folder and nowhere else.
//
// done.json makes a folder whole. It holds the sums of the files that were there
// when the stage ended; a folder whose files are no longer those is done anew, and one
// to which files were added is refused, since a command might read them. The
// folder of an interrupted stage is left as it is: commands go on where they were.
//
// Stages that do not read each other run at the same time, since the one that waits for the
// disk or for its last worker leaves cores to the other.
//
// Two trainings at the same time may want the same stage. One does it; the other waits until
// that is done and then uses it, or does it itself if the first one failed, stopped or died.
package stage

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hop-marl/hop/num/disk"
)

// Stage is something to do once.
type Stage struct {
	Name  string   // its folder's begins with it
	Reads []string // the earlier stages whose folders it reads
	Files []string // the files and folders that it reads besides
	// Command is what it does, as a user would type it. Hashed with keys in place of folders.
	Command func(at Folders) string
	Do      func(ctx context.Context, at Folders) error
}

// Folders returns the folder of a stage: of one that is read, or the stage's own.
type Folders func(stage string) string

// Runner runs stages below a root folder.
type Runner struct {
	Root string              // folders of stages are made here
	Salt string              // what besides commands decides the outcome: which program it is
	Now  func(Status)        // told before and after each stage, of one at a time; may be nil
	mu   *sync.Mutex         // of done and Now
	done map[string]*outcome // by name
}

type outcome struct{ key, dir string }

// Status is how a stage stands.
type Status struct {
	Index, Of int
	Name      string
	Command   string // as a user would type it
	Dir       string
	State     State
	Anew      string // why it is done anew that had been done, if it is
	Owner     string // the process that does it now and is waited for, "" if it is not known
}

// State says what is happening to a stage.
type State int

// The states of a stage.
const (
	Running State = iota
	Done
	Reused  // it had been done before, with the same inputs
	Waiting // another training is doing it
)

// Run runs the stages that are not done yet, side by side, each as soon as those are done
// that it reads, and returns how each stands. When one fails the others are stopped, and those
// that were done before it stay done.
func (r *Runner) Run(ctx context.Context, list []Stage) ([]Status, error) {
	r.mu, r.done = &sync.Mutex{}, map[string]*outcome{}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	all, errs, ready := make([]Status, len(list)), make([]error, len(list)), make([]chan struct{}, len(list))
	for i := range list {
		ready[i] = make(chan struct{})
	}
	var stages sync.WaitGroup
	for i, s := range list {
		stages.Go(func() {
			defer close(ready[i])
			for j := range list[:i] {
				if !slices.Contains(s.Reads, list[j].Name) {
					continue
				}
				<-ready[j]
				if errs[i] = errs[j]; errs[i] != nil {
					return
				}
			}
			if all[i], errs[i] = r.stage(ctx, i, list); errs[i] != nil {
				stop()
			}
		})
	}
	stages.Wait()
	var stopped error
	for i, err := range errs {
		switch {
		case err == nil:
		case errors.Is(err, context.Canceled):
			stopped = cmp.Or(stopped, err)
		default:
			return all[:i], err // the first; others may have failed because of it
		}
	}
	return all, stopped
}

// stage sees to it that stage i of a list is done, when those are that it reads.
func (r *Runner) stage(ctx context.Context, i int, list []Stage) (Status, error) {
	r.mu.Lock()
	key, dir := r.key(list[i])
	at := r.folders(list[i].Name, dir)
	r.mu.Unlock()
	st := Status{Index: i, Of: len(list), Name: list[i].Name, Command: list[i].Command(at), Dir: dir, State: Running}
	do := func(ctx context.Context) error { return list[i].Do(ctx, at) }
	if err := r.one(ctx, &st, key, do); err != nil {
		return st, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done[st.Name] = &outcome{key, dir}
	return st, nil
}

// folders returns what finds the folders of the stages that are done, and of one that is not yet.
func (r *Runner) folders(name, dir string) Folders {
	now := maps.Clone(r.done)
	now[name] = &outcome{dir: dir}
	return func(stage string) string {
		if o := now[stage]; o != nil {
			return o.dir
		}
		return "{" + stage + "}"
	}
}

// Folder returns the folder of a stage that is done, "" if it is not.
func (r *Runner) Folder(name string) string {
	if o := r.done[name]; o != nil {
		return o.dir
	}
	return ""
}

// key returns a stage's key, and its folder.
func (r *Runner) key(s Stage) (key, dir string) {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n", r.Salt, s.Command(func(stage string) string {
		if o := r.done[stage]; o != nil {
			return o.key
		}
		return ""
	}))
	for _, file := range s.Files {
		fmt.Fprintln(h, held(file))
	}
	key = hex.EncodeToString(h.Sum(nil))
	return key, filepath.Join(r.Root, s.Name+"-"+key[:12])
}

// one sees to it that a stage is done, by one training at a time.
func (r *Runner) one(ctx context.Context, st *Status, key string, do func(context.Context) error) error {
	done, err := whole(st.Dir, key)
	if !done && !errors.Is(err, errAdded) {
		lock, failed := r.take(ctx, *st)
		if failed != nil {
			return fmt.Errorf("stage %s (%s): %w", st.Name, st.Command, failed)
		}
		defer disk.Unlock(lock)
		done, err = whole(st.Dir, key) // whoever had it may have done it
	}
	if errors.Is(err, errAdded) {
		return fmt.Errorf("stage %s: %w", st.Name, err)
	}
	if done {
		st.State = Reused
		r.report(*st)
		return nil
	}
	if err != nil {
		st.Anew = err.Error()
	}
	r.report(*st)
	if err := r.run(ctx, st.Dir, key, st.Command, do); err != nil {
		return fmt.Errorf("stage %s (%s): %w", st.Name, st.Command, err)
	}
	st.State = Done
	r.report(*st)
	return nil
}

// locks is the folder of the locks of stages, below their root. A lock cannot be in a stage's
// own folder, which may be cleared, and in which the command takes one of its own.
const locks = ".locks"

// poll is how often one looks whether somebody else's stage is done.
const poll = 200 * time.Millisecond

// take takes a stage for this process. While another one has it, that is said, once for each
// owner, and waited for, no longer than the context lasts. The system drops the lock of
// a process that dies, so nobody waits for the dead.
func (r *Runner) take(ctx context.Context, st Status) (*os.File, error) {
	dir := filepath.Join(r.Root, locks, filepath.Base(st.Dir))
	if err := disk.Make(dir); err != nil {
		return nil, err
	}
	st.State = Waiting
	said := false
	for {
		lock, err := disk.Lock(dir)
		var busy *disk.Busy
		if !errors.As(err, &busy) {
			return lock, err
		}
		if owner := busy.Owner(); owner != "" && owner != st.Owner || !said {
			st.Owner, said = owner, true
			r.report(st)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(poll):
		}
	}
}

func (r *Runner) report(s Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Now != nil {
		r.Now(s)
	}
}

// mark is done.json.
type mark struct {
	Key     string            `json:"key"`
	Command string            `json:"command"`
	Files   map[string]string `json:"sha256"`
	Check   string            `json:"check"` // of the mark itself
}

// readMark reads what was written when a stage was done. An earlier program wrote no sum of it.
func readMark(path string) (m mark, err error) {
	if err = disk.ReadSealed(path, 64<<20, &m); errors.Is(err, disk.ErrUnsealed) {
		err = nil
	}
	return m, err
}

const markFile = "done.json"

// run runs one stage and seals its folder.
func (r *Runner) run(ctx context.Context, dir, key, command string, do func(context.Context) error) error {
	if err := os.Remove(filepath.Join(dir, markFile)); err == nil {
		// It was whole once and its files have changed since: nothing in it can be trusted.
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("clearing %s, whose files have changed: %w", dir, err)
		}
	}
	if err := do(ctx); err != nil {
		return err
	}
	files, err := sums(dir)
	if err != nil {
		return fmt.Errorf("summing %s: %w", dir, err)
	}
	if len(files) == 0 {
		return fmt.Errorf("the stage left nothing in %s", dir)
	}
	return disk.WriteSealed(filepath.Join(dir, markFile), mark{Key: key, Command: command, Files: files})
}

// errAdded is what errors are that say that a folder holds what its stage did not make.
var errAdded = errors.New("a file was added")

// whole says whether a folder is done. If it was, and does not hold what it held then,
// the error says what differs.
func whole(dir, key string) (bool, error) {
	path := filepath.Join(dir, markFile)
	m, err := readMark(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || m.Key != key || len(m.Files) == 0 {
		return false, fmt.Errorf("%s is damaged", path)
	}
	is, err := sums(dir)
	if err != nil {
		return false, fmt.Errorf("what %s holds cannot be read: %w", dir, err)
	}
	for _, file := range slices.Sorted(maps.Keys(m.Files)) {
		if is[file] != m.Files[file] {
			return false, fmt.Errorf("%s is not as it was when the stage was done", filepath.Join(dir, file))
		}
	}
	for _, file := range slices.Sorted(maps.Keys(is)) {
		if _, known := m.Files[file]; !known && file != markFile && filepath.Base(file)[0] != '.' { // nobody reads hidden ones
			return false, fmt.Errorf("%s was not there when the stage was done (%w); move it away", filepath.Join(dir, file), errAdded)
		}
	}
	return true, nil
}

// Verify holds what was read from a file of a stage's folder, nil if there was none,
// against the sums that were taken when the stage was done.
func Verify(dir, file string, read []byte) error {
	path := filepath.Join(dir, markFile)
	m, err := readMark(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // of no stage
	}
	if err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	was, is := m.Files[file], ""
	if read != nil {
		h := sha256.Sum256(read)
		is = hex.EncodeToString(h[:])
	}
	if is != was {
		return fmt.Errorf("stage: %s is not as it was when the stage was done, going by %s; put it back from a copy, or run the training's "+
			"command again", filepath.Join(dir, file), path)
	}
	return nil
}

// sums returns the sum of every file below dir.
func sums(dir string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == disk.LockFile || e.Name() == disk.SignatureFile {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		files[filepath.ToSlash(rel)], err = sum(path)
		return err
	})
	return files, err
}

func sum(path string) (string, error) {
	f, err := disk.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Join writes words as a line that a shell takes apart the same way.
func Join(words []string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		if w == "" || strings.ContainsAny(w, " \t\n'\"\\$`*?[]{}();&|<>#!~") {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		b.WriteString(w)
	}
	return b.String()
}

// Planned is a stage before it is run.
type Planned struct {
	Stage
	Key   string   // the same for the same work, wherever it is done
	Dir   string   // its folder below the root
	Local []string // files or folders of this machine that it reads
}

// Plan returns what Run would run, in order, and runs nothing.
func (r *Runner) Plan(list []Stage) []Planned {
	r.done = map[string]*outcome{}
	var all []Planned
	for _, s := range list {
		key, dir := r.key(s)
		p := Planned{Stage: s, Key: key, Dir: filepath.Base(dir)}
		for _, file := range s.Files {
			if held(file) != "" {
				p.Local = append(p.Local, file)
			}
		}
		r.done[s.Name] = &outcome{key, dir}
		all = append(all, p)
	}
	return all
}

// held returns the sum of what a file, a dataset, a zoo, a run or a folder of runs holds,
// "" for all else. A dataset is its manifest and a zoo its index, which have the sums of
// what they name; a run is its spec and its checkpoints.
func held(name string) string {
	info, err := os.Stat(name)
	if err != nil {
		return ""
	}
	if info.Mode().IsRegular() {
		s, _ := sum(name)
		return s
	}
	h := sha256.New()
	found := false
	for _, pattern := range []string{"manifest.json", "zoo.json", "spec.yaml", "checkpoints/*", "seed-*/spec.yaml", "seed-*/checkpoints/*"} {
		list, err := disk.Match(name, pattern)
		for _, file := range list {
			if s, err := sum(file); err == nil {
				found = true
				fmt.Fprintf(h, "%s %s\n", filepath.Base(file), s)
			}
		}
		if err != nil || found && (pattern == "manifest.json" || pattern == "zoo.json") {
			break
		}
	}
	if !found {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}
