package runs

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/runlog"
)

// mark is by what a file is known to be the same.
type mark struct {
	time time.Time
	size int64
}

func markOf(dir, name string) mark {
	at, err := os.Lstat(filepath.Join(dir, name))
	if err != nil {
		return mark{size: -1}
	}
	return mark{at.ModTime(), at.Size()}
}

// looked are the files of a run that are looked at.
var looked = [...]string{"env.json", "spec.yaml", "result.json", "findings.json", "metrics.csv", "events.out.tfevents.0.hop"}

// metricsAt is the number of metrics.csv among them, the first of those that grow.
const metricsAt = 4

// about is what the list says of a spec.
type about struct {
	steps int64
	stage bool   // it is no training's
	unit  string // of its steps; "": env steps
	game  string
	rules string            // the sum of all that is said of the game
	all   map[string]string // every field by its path
	sum   [32]byte          // of the spec
}

// sample is how far a run was at a moment.
type sample struct {
	at   time.Time
	step int64
}

// known is what is known of a run's folder.
type known struct {
	dir, name, root string
	is              bool // it is a run
	marks           [len(looked)]mark
	seed            Seed
	status          string // as env.json says
	preset          string
	host, commit    string
	about           about
	rate            float64 // env steps a second up to the newest checkpoint; 0: not known
	pace            []sample
	verified        [len(looked)]mark // all files were held against their sums when they were so
	fault           string            // what came of it
}

// refresh looks at a run and reads what has changed.
func (k *known) refresh(s *Shelf, specs *sync.Mutex) {
	var now [len(looked)]mark
	for i, name := range looked {
		now[i] = markOf(k.dir, name)
	}
	small, grown := false, now[metricsAt] != k.marks[metricsAt]
	for i := range metricsAt {
		small = small || now[i] != k.marks[i]
	}
	if k.status != Running && (grown || now[metricsAt+1] != k.marks[metricsAt+1]) {
		small = true // of a run that has ended nothing may grow
	}
	if small || !k.is {
		k.read(s, specs, now)
	}
	if grown {
		k.seed.Step = max(lastStep(k.dir), 0)
	}
	k.marks = now
	if !k.is {
		return
	}
	k.seed.Sealed = k.verified == now && k.fault == "" && k.seed.Loose == ""
	if k.verified == now && k.fault != "" {
		k.seed.State, k.seed.Why = Damaged, k.fault
	}
	k.live(s, now)
}

// read reads the small files.
func (k *known) read(s *Shelf, specs *sync.Mutex, now [len(looked)]mark) {
	k.is = true
	k.seed = Seed{Name: k.name, Step: k.seed.Step, Last: k.seed.Last, SE: stats.Number(k.seed.SE)}
	plain := func(err error) string {
		return strings.TrimPrefix(strings.ReplaceAll(err.Error(), k.root+string(filepath.Separator), ""), "runlog: ")
	}
	if n, ok := runlog.SeedOf(k.dir); ok {
		k.seed.Seed = n
	}
	rec, err := runlog.Read(k.dir)
	if errors.Is(err, runlog.ErrNoRun) {
		k.is = false // no run yet, or no more
		return
	}
	if err != nil {
		k.status, k.seed.State, k.seed.Why = Damaged, Damaged, plain(err)
		return
	}
	k.status, k.preset, k.seed.Seed = rec.Env.Status, rec.Env.Preset, rec.Env.Seed
	k.host, k.commit = rec.Env.Host, commitOf(rec.Env.Last())
	k.seed.State, k.seed.Started, k.seed.Wall, k.seed.Build = rec.Env.Status, rec.Env.Started, rec.Env.Wall, rec.Env.Last().Line()
	if rec.Loose() {
		k.seed.Loose = rec.Unsealed()
	}
	sum := sha256.Sum256(rec.Spec)
	specs.Lock()
	a, ok := s.specs[sum]
	specs.Unlock()
	if !ok {
		a = aboutSpec(rec.Spec)
		a.sum = sum
		specs.Lock()
		s.specs[sum] = a
		specs.Unlock()
	}
	k.about, k.seed.Steps, k.rate = a, a.steps, 0
	if r := rec.Env.Record; r != nil && r.Checkpoint != nil && rec.Env.Wall > 0 {
		k.rate = float64(r.Checkpoint.Step) / rec.Env.Wall
	}
	result, err := rec.Result()
	if err == nil && result != nil {
		var res struct {
			Mean *float64
			SE   *float64
		}
		if err = json.Unmarshal(result, &res); err == nil {
			k.seed.Mean = res.Mean
			if res.SE != nil {
				k.seed.SE = stats.Number(*res.SE)
			}
		}
	}
	list, err2 := rec.Findings()
	for _, f := range list {
		k.seed.Findings = append(k.seed.Findings, brief(k.seed.Seed, f))
	}
	err = errors.Join(err, err2)
	if r := rec.Env.Record; err == nil && r != nil {
		for i, name := range looked[metricsAt:] {
			p, sealed := r.Files[name]
			size := now[metricsAt+i].size
			if sealed && (size < p.Bytes || k.status != Running && size != p.Bytes) {
				err = rec.Faults() // which says it in words, and reads all files
				break
			}
		}
	}
	if err != nil {
		k.seed.State, k.seed.Why = Damaged, plain(err)
	}
}

func brief(seed uint64, f check.Finding) Finding {
	return Finding{Seed: seed, Step: f.Step, Check: f.Check, Status: f.Status.String(), Says: f.Says, Next: f.Next}
}

// commitOf is by what a program is known, in short.
func commitOf(b runlog.Build) string {
	switch {
	case b.Commit == "unknown" || b.Commit == "":
		return b.Program
	case b.Dirty:
		return fmt.Sprintf("%.9s+", b.Commit)
	}
	return fmt.Sprintf("%.9s", b.Commit)
}

// aboutSpec reads of a spec what the list shows. Specs of other programs may have nothing
// of it. The spec of a stage is the settings of its model, whose steps or epochs it counts.
func aboutSpec(text []byte) about {
	a := about{all: map[string]string{}}
	var all yaml.Node
	if yaml.Unmarshal(text, &all) != nil {
		return a
	}
	settings(&all, "", a.all)
	number := func(path string) int64 {
		n, _ := strconv.ParseInt(a.all[path], 10, 64) // one of something else stays 0
		return max(n, 0)
	}
	a.game = a.all["game.name"]
	game := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(a.all)) {
		model, field, _ := strings.Cut(path, ".")
		if model == "game" {
			fmt.Fprintf(game, "%s %q\n", path, a.all[path])
			a.rules = hex.EncodeToString(game.Sum(nil)[:4])
		}
		if _, trained := a.all["train.steps"]; trained || field != "steps" && field != "epochs" {
			continue
		}
		if a.stage, a.steps, a.unit = true, number(path), ""; field == "epochs" {
			a.unit = field
		}
	}
	if !a.stage {
		a.steps = number("train.steps")
	}
	return a
}

// live says of a run that has not ended whether somebody writes it, and how long it will
// take.
func (k *known) live(s *Shelf, now [len(looked)]mark) {
	r := &k.seed
	r.Last = now[0].time
	if now[metricsAt].time.After(r.Last) {
		r.Last = now[metricsAt].time
	}
	r.Left, r.Rate, r.Silent, r.PID = nil, nil, false, 0
	if k.status != Running {
		k.pace = nil
		return
	}
	h, err := s.held(k.dir)
	if h.Seen.After(r.Last) {
		r.Last = h.Seen
	}
	if r.State == Damaged {
		return
	}
	if err == nil && !h.Held {
		r.State, k.pace = Killed, nil
		return
	}
	at := s.now()
	r.State, r.PID, r.Silent = Running, h.PID, at.Sub(r.Last) > Silence
	k.pace = paced(k.pace, sample{now[metricsAt].time, r.Step})
	rate := rateOf(k.pace)
	if rate == 0 {
		rate = k.rate
	}
	if rate > 0 && !r.Silent {
		r.Rate = &rate
		if r.Steps > 0 {
			left := float64(max(r.Steps-r.Step, 0)) / rate
			r.Left = &left
		}
	}
}

// paceLength is how many samples of a run's pace are kept, and paceSpan how far back they
// go: the last windows.
const (
	paceLength = 60
	paceSpan   = 2 * time.Minute
)

// paced adds a sample, if the run has moved since the last. One that went back was resumed:
// it begins anew.
func paced(list []sample, x sample) []sample {
	if n := len(list); n > 0 {
		switch last := list[n-1]; {
		case x.step < last.step:
			return []sample{x}
		case x.step == last.step:
			return list
		}
	}
	list = append(list, x)
	for len(list) > 2 && (len(list) > paceLength || x.at.Sub(list[0].at) > paceSpan) {
		list = list[1:]
	}
	return list
}

// rateOf returns the env steps a second over the samples, 0 if there are too few.
func rateOf(list []sample) float64 {
	if len(list) < 2 {
		return 0
	}
	first, last := list[0], list[len(list)-1]
	if s := last.at.Sub(first.at).Seconds(); s > 0.5 {
		return float64(last.step-first.step) / s
	}
	return 0
}

// tail is how much of the end of metrics.csv is read for a run's progress.
const tail = 4096

// lastStep returns the env step of the last whole row of metrics.csv, 0 if there is none.
func lastStep(dir string) int64 {
	f, err := disk.Open(filepath.Join(dir, looked[metricsAt]))
	if err != nil {
		return 0
	}
	defer f.Close()
	at, err := f.Stat()
	if err != nil {
		return 0
	}
	from := max(0, at.Size()-tail)
	b := make([]byte, at.Size()-from)
	n, _ := f.ReadAt(b, from)
	b = b[:n]
	b = b[:bytes.LastIndexByte(b, '\n')+1] // a last line without an end is still being written
	for len(b) > 0 {
		line := b[:len(b)-1]
		i := bytes.LastIndexByte(line, '\n')
		if i < 0 && from > 0 {
			return 0
		}
		step, _, ok := bytes.Cut(line[i+1:], []byte(","))
		if v, err := strconv.ParseInt(string(step), 10, 64); ok && err == nil {
			return v
		}
		b = b[:i+1]
	}
	return 0
}

// verify holds the files of runs against their sums, for at most so long, those first
// that were not yet.
func (s *Shelf) verify(ctx context.Context, most time.Duration) {
	s.mu.Lock()
	var list []*known
	for _, k := range s.known {
		if k.is && k.status != Running && k.seed.State != Damaged && k.verified != k.marks {
			list = append(list, k)
		}
	}
	s.mu.Unlock()
	until := s.now().Add(most)
	for _, k := range list {
		if ctx.Err() != nil || s.now().After(until) {
			return
		}
		s.mu.Lock()
		dir, root, marks := k.dir, k.root, k.marks
		s.mu.Unlock()
		rec, err := runlog.Read(dir)
		if err == nil {
			err = rec.Faults()
		}
		fault := ""
		if err != nil && !errors.Is(err, runlog.ErrNoRun) && !errors.Is(err, fs.ErrNotExist) {
			fault = strings.TrimPrefix(strings.ReplaceAll(err.Error(), root+string(filepath.Separator), ""), "runlog: ")
		}
		s.mu.Lock()
		k.verified, k.fault = marks, cmp.Or(fault, "")
		s.mu.Unlock()
	}
}
