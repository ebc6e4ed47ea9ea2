package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hop-marl/hop/lab/sweep/queue"
)

// Process runs jobs as processes of a program.
type Process struct {
	Program string
	Env     []string // more of the environment
}

// stopping is how long a process may take to save what it has.
const stopping = 60 * time.Second

// Run runs the job in its folder. The texts of the job are written there first.
func (p Process) Run(ctx context.Context, j queue.Job, dir string, say func(line string, progress float64)) (out Outcome) {
	words, err := Words(j)
	if err == nil {
		err = texts(j, dir)
	}
	if err != nil {
		return Outcome{Err: err, Useless: true}
	}
	began := time.Now()
	tail := &tail{say: say, last: began}
	job, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := exec.CommandContext(job, p.Program, words...)
	c.Dir, c.Stdout, c.Stderr = dir, nil, tail
	c.Env = append(plainEnv(), "GOMAXPROCS="+strconv.Itoa(max(j.Ask.Cores, 1)))
	c.Env = append(c.Env, p.Env...)
	c.Cancel, c.WaitDelay = func() error { return interrupt(c) }, stopping
	apart(c)
	leash, err := c.StdinPipe() // ends when this process does, however it ends, and the job with it
	if err != nil {
		return Outcome{Err: err}
	}
	defer leash.Close()
	if err := c.Start(); err != nil {
		return Outcome{Err: fmt.Errorf("starting %s: %w", filepath.Base(p.Program), err)}
	}
	var watcher sync.WaitGroup
	done := make(chan struct{})
	watcher.Go(func() { watch(j, c, tail, began, done, cancel) })
	err = c.Wait()
	close(done)
	watcher.Wait()
	out.Log = tail.text()
	out.Cost.Wall = time.Since(began).Seconds()
	if s := c.ProcessState; s != nil {
		out.Cost.CPU, out.Cost.Memory = (s.UserTime() + s.SystemTime()).Seconds(), peak(s)
	}
	why := context.Cause(job)
	switch {
	case err == nil:
		return out
	case ctx.Err() != nil:
		out.Stopped, out.Err = true, context.Cause(ctx)
	case errors.As(why, new(tooMuch)):
		out.Err = why
	default:
		out.Err = fmt.Errorf("hop %s: %w: %s", command(j), err, verdict(out.Log))
		var e *exec.ExitError
		// Wrong usage stays wrong. A panic is 2 too.
		out.Useless = errors.As(err, &e) && e.ExitCode() == 2 && strings.HasPrefix(verdict(out.Log), "hop: ")
		out.Full = full(out.Log)
	}
	return out
}

// command is what a job does, in a word.
func command(j queue.Job) string {
	if len(j.Do) > 0 {
		return j.Do[0]
	}
	return "attempt"
}

// TokenEnv is the variable that may hold a token. It is the worker's: no job's process gets to see it.
const TokenEnv = "HOP_TOKEN"

// plainEnv is the environment without secrets.
func plainEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, TokenEnv+"=") })
}

// verdict is the line in which a process says what went wrong: the program's own, or where it panicked.
func verdict(log string) string {
	for line := range strings.Lines(log) {
		if strings.HasPrefix(line, "hop: ") || strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return strings.TrimSpace(line)
		}
	}
	return lastLine(log)
}

// full reads off what a process said that a disk was full, in the words of the systems.
func full(log string) bool {
	return strings.Contains(log, "no space left on device") || strings.Contains(log, "disk quota exceeded") ||
		strings.Contains(log, "not enough space on the disk")
}

// tooMuch is what errors are that say that a process was ended for what it took.
type tooMuch struct{ error }

// watch ends a process that takes too long, says nothing, or takes more memory than it may.
func watch(j queue.Job, c *exec.Cmd, t *tail, began time.Time, done <-chan struct{}, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		var why error
		if j.Limit > 0 && time.Since(began) > j.Limit {
			why = fmt.Errorf("it took longer than %v (each.limit)", j.Limit)
		}
		if j.Quiet > 0 && time.Since(t.heard()) > j.Quiet {
			why = fmt.Errorf("it said nothing for %v (each.quiet)", j.Quiet)
		}
		if j.Ask.Memory > 0 {
			if now := resident(c.Process.Pid); now > j.Ask.Memory {
				why = fmt.Errorf("it took %d MB of memory, more than the %d that it may (each.memory)", now>>20, j.Ask.Memory>>20)
			}
		}
		if why != nil {
			cancel(tooMuch{why})
			_ = kill(c) // it has nothing to save that would help
			return
		}
	}
}

// tail keeps the end of what a process says, and when it said something.
type tail struct {
	mu   sync.Mutex
	buf  []byte
	last time.Time
	say  func(string, float64)
}

// tailBytes is how much of it is kept.
const tailBytes = 16 << 10

// Write takes what was said.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	t.last = time.Now()
	t.buf = append(t.buf, b...)
	if len(t.buf) > 2*tailBytes {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-tailBytes:]...)
	}
	line := lastLine(string(t.buf))
	t.mu.Unlock()
	if t.say != nil && line != "" {
		t.say(line, progress(line))
	}
	return len(b), nil
}

func (t *tail) heard() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.buf[max(0, len(t.buf)-tailBytes):]
	return string(bytes.ToValidUTF8(b, []byte("?")))
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}

// progress reads the share that is done off a line such as "  42 %  120k of 300k env steps".
func progress(line string) float64 {
	before, _, ok := strings.Cut(line, "%")
	if !ok {
		return 0
	}
	f := strings.Fields(before)
	if len(f) == 0 {
		return 0
	}
	x, err := strconv.ParseFloat(f[len(f)-1], 64)
	if err != nil || x < 0 || x > 100 {
		return 0
	}
	return x / 100
}

// specName is the file into which a job's spec is written, and scoreName that of a meeting.
const (
	specName  = "spec.yaml"
	scoreName = "score.json"
)

// Words is the command line of a job. It is made here, of a job's fields, and by nobody else: of a job that is not as
// jobs are there is none.
func Words(j queue.Job) ([]string, error) {
	if err := j.Validate(); err != nil {
		return nil, err
	}
	words := []string{"attempt", "--leash", "--out", "out", "--workers", strconv.Itoa(max(j.Ask.Cores, 1))}
	if len(j.Do) > 0 {
		return append(append(words, "--"), j.Do...), nil
	}
	if j.Kind == queue.Score {
		return append(words, "--score", scoreName), nil
	}
	words = append(words, "--spec", specName)
	switch j.Kind {
	case queue.Stage:
		words = append(words, "--stage", j.Stage)
	case queue.Follow:
		words = append(words, "--follow")
	case queue.Training:
		words = append(words, "--seed", strconv.FormatUint(j.Seed, 10))
		if j.Until > 0 {
			words = append(words, "--until", strconv.Itoa(j.Until))
		}
	}
	return words, nil
}

// texts writes the specs that a job reads into its folder.
func texts(j queue.Job, dir string) error {
	all := map[string]string{}
	if j.Spec != "" {
		all[specName] = j.Spec
	}
	if j.Score != nil {
		b, err := json.Marshal(j.Score)
		if err != nil {
			return err
		}
		all[scoreName] = string(b)
	}
	maps.Copy(all, j.Specs)
	for name, text := range all {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
