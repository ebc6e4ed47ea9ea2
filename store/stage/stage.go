// Package stage does the work around a training in stages, each at most once.
//
// A stage is a command of this program, written as a user would type it. Words in
// braces stand for things known only later: {NAME} for the folder of an earlier
// stage, and others that the caller gives, such as the flags that name a game. A stage's folder is
// called after its name and its key, the hash of its words, of the keys of the
// stages that it reads, of what files and folders hold that it names, and of a salt.
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
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/disk"
)

// Stage is one command.
type Stage struct {
	Name string `yaml:"name" doc:"what later stages and fields call its folder: {NAME}"`
	Run  string `yaml:"run" doc:"a command of hop with its flags, without --out"`
}

// Validate checks a list of stages: names are good and not repeated, and braces
// name an earlier stage or one of the given words.
func Validate(list []Stage, words ...string) error {
	var errs []error
	known := slices.Clone(words)
	for i, s := range list {
		at := fmt.Sprintf("[%d]", i)
		if !name.MatchString(s.Name) {
			errs = append(errs, config.Bad(at+".name", s.Name, "small letters, digits and -"))
		} else if slices.Contains(known, s.Name) {
			errs = append(errs, config.Bad(at+".name", s.Name, "a name that is not taken yet"))
		}
		if strings.TrimSpace(s.Run) == "" {
			errs = append(errs, config.Bad(at+".run", s.Run, "a command, such as collect {game} --mix ns,nh"))
		}
		for _, w := range strings.Fields(s.Run) {
			switch flag, _, _ := strings.Cut(w, "="); flag {
			case "--out":
				errs = append(errs, config.Bad(at+".run", w, "no --out: a stage has a folder of its own, {"+s.Name+"}"))
			case "--resume", "--accept-build":
				errs = append(errs, config.Bad(at+".run", w, "no "+flag+": a stage writes into its own folder, and goes on there by itself"))
			}
		}
		for _, w := range braces.FindAllString(s.Run, -1) {
			if !slices.Contains(known, w[1:len(w)-1]) {
				errs = append(errs, config.Bad(at+".run", w, "the name of an earlier stage, or one of "+strings.Join(words, ", ")))
			}
		}
		known = append(known, s.Name)
	}
	return errors.Join(errs...)
}

var (
	name   = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)
	braces = regexp.MustCompile(`\{[^}]*\}`)
)

// Runner runs stages below a root folder.
type Runner struct {
	Root string              // folders of stages are made here
	Salt string              // what besides words decides the outcome: which program it is
	Give map[string][]string // what other words in braces stand for
	Do   Command             // runs a command's words
	Now  func(Status)        // told before and after each stage, of one at a time; may be nil
	mu   *sync.Mutex         // of done and Now
	done map[string]*outcome // by name
}

// Command does what these words ask for.
type Command func(ctx context.Context, words []string) error

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
			for _, j := range reads(s, list[:i]) {
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

// reads returns which earlier stages a stage names.
func reads(s Stage, before []Stage) (list []int) {
	for i, b := range before {
		if strings.Contains(s.Run, "{"+b.Name+"}") {
			list = append(list, i)
		}
	}
	return list
}

// stage sees to it that stage i of a list is done, when those are that it reads.
func (r *Runner) stage(ctx context.Context, i int, list []Stage) (Status, error) {
	r.mu.Lock()
	words, key := r.words(list[i])
	r.mu.Unlock()
	dir := filepath.Join(r.Root, list[i].Name+"-"+key[:12])
	words = append(words, "--out", dir)
	st := Status{Index: i, Of: len(list), Name: list[i].Name, Command: Join(words), Dir: dir, State: Running}
	if err := r.one(context.WithValue(ctx, named{}, st.Name), &st, key, words); err != nil {
		return st, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done[st.Name] = &outcome{key, dir}
	return st, nil
}

// named is where in a context the name of the stage is that runs.
type named struct{}

// Name returns which stage the work of a context is for, "" if it is for none.
func Name(ctx context.Context) string {
	name, _ := ctx.Value(named{}).(string)
	return name
}

// one sees to it that a stage is done, by one training at a time.
func (r *Runner) one(ctx context.Context, st *Status, key string, words []string) error {
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
	if err := r.run(ctx, st.Dir, key, st.Command, words); err != nil {
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

// Fill replaces {NAME} in a text by the stage's folder.
func (r *Runner) Fill(text string) string {
	return braces.ReplaceAllStringFunc(text, func(w string) string {
		if o := r.done[w[1:len(w)-1]]; o != nil {
			return o.dir
		}
		return w
	})
}

// words returns a stage's words, with folders in place of names, and its key.
func (r *Runner) words(s Stage) (words []string, key string) {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", r.Salt)
	for i, w := range strings.Fields(s.Run) {
		if give, ok := r.Give[strings.Trim(w, "{}")]; ok && w[0] == '{' {
			words = append(words, give...)
			fmt.Fprintf(h, "%q\n", give)
			continue
		}
		words = append(words, r.Fill(w))
		fmt.Fprintf(h, "%q\n", braces.ReplaceAllStringFunc(w, func(b string) string {
			if o := r.done[b[1:len(b)-1]]; o != nil {
				return o.key
			}
			return b
		}))
		if i > 0 && !braces.MatchString(w) {
			for _, in := range inputs(w) {
				fmt.Fprintln(h, in)
			}
		}
	}
	return words, hex.EncodeToString(h.Sum(nil))
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
func (r *Runner) run(ctx context.Context, dir, key, command string, words []string) error {
	if err := os.Remove(filepath.Join(dir, markFile)); err == nil {
		// It was whole once and its files have changed since: nothing in it can be trusted.
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("clearing %s, whose files have changed: %w", dir, err)
		}
	}
	if err := r.Do(ctx, words); err != nil {
		return err
	}
	files, err := sums(dir)
	if err != nil {
		return fmt.Errorf("summing %s: %w", dir, err)
	}
	if len(files) == 0 {
		return fmt.Errorf("the command left nothing in %s", dir)
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
