package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/train/spec"
)

// bench is where slips are built and audited.
type bench struct {
	root, dir string
	reg       *spec.Registry
	jobs      int
	seeds     string
	timeout   time.Duration
	sound     string            // the program as it is
	linked    []part            // what it is linked from
	held      map[string]bool   // names of slips that were held back
	done      map[string]result // by key
	file      *os.File          // nil: results are not kept
	mu        sync.Mutex
}

// result is what came of one slip, or of one audit of the program as it is: a line of
// the file of results.
type result struct {
	Key      string    `json:"key"` // name, sum and seeds
	Name     string    `json:"name"`
	Wanted   []string  `json:"wanted,omitempty"` // modules, the best one first
	Quiet    bool      `json:"quiet,omitempty"`
	Preset   string    `json:"preset"`  // the one of the verdict
	Verdict  string    `json:"verdict"` // pass, suspect or fault; breaks or late if there was none
	Module   string    `json:"module"`
	Says     string    `json:"says"`
	Seconds  float64   `json:"seconds"` // of all its audits, without building
	Findings []finding `json:"findings,omitempty"`
	held     bool
	why      string // it is quiet
}

// finding is one that is worse than pass.
type finding struct {
	Check  string `json:"check"`
	Status string `json:"status"`
	Module string `json:"module"`
	Says   string `json:"says"`
}

// Verdicts that an audit does not give.
const (
	breaks = "breaks" // the program fails, and no audit says so
	late   = "late"   // it takes too long
)

func (r result) detected() bool { return r.Verdict == "suspect" || r.Verdict == "fault" }

func (r result) right() bool {
	for _, m := range r.Wanted {
		if r.detected() && m == r.Module {
			return true
		}
	}
	return false
}

// open makes the folder of work and builds the program as it is.
func (l *bench) open(ctx context.Context, out string) error {
	if l.dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		l.dir = filepath.Join(cache, "hop-mutants")
	}
	var err error
	if l.dir, err = filepath.Abs(l.dir); err != nil {
		return err
	}
	for _, part := range []string{"bin", "specs", "audits"} {
		if err := os.MkdirAll(filepath.Join(l.dir, part), 0o755); err != nil {
			return err
		}
	}
	if l.sound, err = l.build(ctx, "sound", nil); err != nil {
		return err
	}
	if l.linked, err = l.parts(ctx); err != nil {
		return err
	}
	l.done = map[string]result{}
	if out == "" {
		return nil
	}
	if b, err := os.ReadFile(out); err == nil {
		lines := bufio.NewScanner(bytes.NewReader(b))
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			var r result
			if json.Unmarshal(lines.Bytes(), &r) == nil { // else it was cut off while it was written
				l.done[r.Key] = r
			}
		}
	}
	l.file, err = os.OpenFile(out, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = l.file.WriteString("\n") // after a line that was cut off
	}
	return err
}

// keep writes a result to the file.
func (l *bench) keep(r result) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done[r.Key] = r
	if l.file == nil {
		return nil
	}
	b, err := json.Marshal(r)
	if err == nil {
		_, err = l.file.Write(append(b, '\n'))
	}
	return err
}

// spec returns what a program is to be given for a preset: its name, or a file that
// holds the sets, of which none is left, and, unless the slip is in the making of them, names models that the
// program as it is has made.
func (l *bench) spec(ctx context.Context, preset string, sets []string, anew bool) (what string, left []string, err error) {
	s, err := l.reg.Load(preset, sets)
	if err != nil {
		return "", nil, err
	}
	if anew || len(s.Prepare) == 0 {
		return preset, sets, nil
	}
	sound := lab.Lab{Reg: l.reg, Watch: func(n lab.News) {
		if n.Kind == lab.Staged {
			fmt.Fprintf(os.Stderr, "preparing %s: %s %s\n", preset, n.Name, n.Text)
		}
	}}
	if _, err := sound.Prepare(ctx, &s, filepath.Join(l.dir, "prepared")); err != nil {
		return "", nil, err
	}
	s.Prepare, s.Follow = nil, nil
	text, err := s.YAML()
	if err != nil {
		return "", nil, err
	}
	dir := filepath.Join(l.dir, "specs", fmt.Sprintf("%x", sha256.Sum256(text))[:12])
	what = filepath.Join(dir, preset+".yaml")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", nil, err
	}
	return what, nil, os.WriteFile(what, text, 0o644)
}

// job is how a preset is audited.
type job struct {
	seeds string
	sets  []string
	anew  bool // the program makes the models that the training reads
}

// audit audits one preset with a program.
func (l *bench) audit(ctx context.Context, bin, name, preset string, j job) (result, error) {
	what, sets, err := l.spec(ctx, preset, j.sets, j.anew)
	if err != nil {
		return result{}, err
	}
	out := filepath.Join(l.dir, "audits", name)
	defer os.RemoveAll(out)
	args := append([]string{"audit", what, j.seeds, out}, sets...)
	ctx, stop := context.WithTimeout(ctx, l.timeout)
	defer stop()
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", max(1, runtime.NumCPU()/l.jobs)))
	var text, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &errs
	began := time.Now()
	failed := cmd.Run()
	r := result{Preset: preset, Seconds: time.Since(began).Seconds()}
	var report struct {
		Verdict, Module, Says string
		Findings              []finding
	}
	switch err := json.Unmarshal(text.Bytes(), &report); {
	case ctx.Err() == context.DeadlineExceeded:
		r.Verdict, r.Says = late, fmt.Sprintf("no verdict after %v", l.timeout)
	case ctx.Err() != nil:
		return r, ctx.Err()
	case failed != nil || err != nil:
		r.Verdict, r.Says = breaks, last(errs.Bytes())
	default:
		r.Verdict, r.Module, r.Says = report.Verdict, report.Module, report.Says
		for _, f := range report.Findings {
			if f.Status == "suspect" || f.Status == "fault" {
				r.Findings = append(r.Findings, f)
			}
		}
	}
	return r, nil
}

// last returns what a program that failed said: the panic, or its last line.
func last(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, line := range lines {
		if strings.HasPrefix(line, "panic:") {
			return line
		}
	}
	return lines[len(lines)-1]
}

// each does something for every record, several at once, until one fails.
func (l *bench) each(n int, do func(i int) error) error {
	var wg sync.WaitGroup
	errs := make(chan error, n)
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	for range min(l.jobs, n) {
		wg.Go(func() {
			for i := range next {
				if err := do(i); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	return <-errs
}

// slug is a name that a file can have.
func slug(name string) string {
	return strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(name), "-"), "-")
}
