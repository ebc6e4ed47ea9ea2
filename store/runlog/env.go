package runlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/hop-marl/hop/num/cpu"
	"github.com/hop-marl/hop/num/disk"
)

// Info is what the caller knows about a run.
type Info struct {
	Preset  string   `json:"preset"`
	Seed    uint64   `json:"seed"`
	Command []string `json:"command"`
	Build
	// Packages are the versions of what a game in another program is made of.
	Packages map[string]string `json:"packages,omitempty"`
}

// Env is env.json: where and how a run was made. Nothing in it reaches a number.
type Env struct {
	Info
	Later   []Build `json:"later_builds,omitempty"` // other builds that went on with it, the last one last
	Host    string  `json:"host,omitempty"`         // the machine that began it
	CPU     string  `json:"cpu"`
	Cores   int     `json:"cores"`
	Started string  `json:"started"`
	Status  string  `json:"status"` // running, done, stopped or failed
	Spent
	Phases map[string]float64 `json:"phases_s"`
	// Waits says how the run's workers spent a phase, for phases that all of them can work in.
	Waits map[string]Waited `json:"phases_cores,omitempty"`
	// Peak is the most memory that a process which worked on the run has had, with what
	// else it did at the time: other seeds, for one. 0: not known.
	Peak   uint64 `json:"peak_memory_bytes"`
	Record *Sums  `json:"record,omitempty"` // nil: a program that did not seal its runs wrote this
	Check  string `json:"check"`            // the sum of all this
}

// Waited is how a phase was spent by the workers of a run, all of them together.
type Waited struct {
	Core  float64 `json:"core_s"`     // seconds of the clock times workers
	Idle  float64 `json:"idle_s"`     // of which they had nothing to do
	Share float64 `json:"idle_share"` // the one of the other
}

// Spent is what a run has cost, over all its parts: a run that was stopped and
// resumed adds up. What is not in a checkpoint when a run is killed is lost with its
// work. It is the one record of a run's time: results, reports and the terminal show it.
type Spent struct {
	CPU  float64 `json:"cpu_s"`  // seconds of processor time
	Wall float64 `json:"wall_s"` // seconds of the clock
}

// running is the status of a run that has not ended, or was killed.
const running = "running"

func newEnv(info Info) Env {
	host, _ := os.Hostname() // without a name it is left out
	return Env{
		Info: info, Host: host, CPU: cpuName(), Cores: runtime.NumCPU(), Started: time.Now().UTC().Format(time.RFC3339), Status: running,
	}
}

// cpuName returns the processor's name where the system tells it in a file.
func cpuName() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for _, line := range strings.Split(string(b), "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// SetPhases notes the seconds that this process has spent by phase, and the core seconds of
// those in which so many workers could work: used are those that they did. What earlier
// processes spent on the same run is added.
func (r *Run) SetPhases(seconds, used map[string]float64, workers int) {
	r.env.Phases, r.env.Waits = maps.Clone(r.before), maps.Clone(r.waited)
	if r.env.Phases == nil {
		r.env.Phases = map[string]float64{}
	}
	if r.env.Waits == nil {
		r.env.Waits = map[string]Waited{}
	}
	for phase, s := range seconds {
		r.env.Phases[phase] += s
		if u, ok := used[phase]; ok && s > 0 {
			w := r.env.Waits[phase]
			w.Core += s * float64(workers)
			w.Idle += max(0, s*float64(workers)-u)
			w.Share = w.Idle / w.Core
			r.env.Waits[phase] = w
		}
	}
}

// Measure says what tells the seconds that the run costs from now on.
func (r *Run) Measure(seconds func() (cpu, wall float64)) { r.earlier, r.seconds = r.Spent(), seconds }

// Spent returns what the run has cost so far.
func (r *Run) Spent() Spent {
	s := r.earlier
	if r.seconds != nil {
		cpu, wall := r.seconds()
		s.CPU, s.Wall = s.CPU+cpu, s.Wall+wall
	}
	return s
}

// Finish writes how the run ended: done, stopped or failed, and seals all its files.
// Nothing may be logged afterwards.
func (r *Run) Finish(status string) error {
	if r.closed {
		return fmt.Errorf("runlog: writing %s: the run is closed", envFile)
	}
	for _, w := range []*writer{r.metrics, r.events} {
		if w.hash == nil && w.n != w.safe.Bytes {
			return nil // it was killed before and has not been resumed: it stays as it is
		}
	}
	if err := r.flush(); err != nil {
		return err
	}
	r.env.Status = status
	return r.saveEnv()
}

// saveEnv writes env.json with the time spent so far and the sums of what is safely on
// the disk.
func (r *Run) saveEnv() error {
	r.sign()
	r.env.Spent, r.env.Peak = r.Spent(), max(r.env.Peak, cpu.Peak())
	sums := &Sums{Specs: r.specs, Checkpoint: r.newest, Files: map[string]Part{
		metricsFile: r.metrics.safe, eventsFile: r.events.safe, findingsFile: r.found,
	}}
	if r.result != nil {
		sums.Files[resultFile] = *r.result
	}
	r.env.Record, r.env.Check = sums, ""
	b, err := withCheck(r.env)
	if err != nil {
		return fmt.Errorf("runlog: writing %s: %w", envFile, err)
	}
	return replace(filepath.Join(r.dir, envFile), b)
}

// Build says which program it is: what hop version prints and env.json keeps.
type Build struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`          // "unknown" where the build was not told it, as by go run
	Dirty   bool   `json:"dirty,omitempty"` // files had changed since the commit
	// Program tells executables apart where the commit does not say all that they were
	// made from.
	Program string `json:"program,omitempty"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Kernels string `json:"kernels"`
}

// NewBuild returns the running program's.
func NewBuild(version, kernels string) Build {
	b := Build{Version: version, Commit: "unknown", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Kernels: kernels}
	local := false // a part of the program comes from a folder, which has no version
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.modified":
				b.Dirty = s.Value == "true"
			}
		}
		for _, d := range info.Deps {
			local = local || d.Replace != nil && d.Replace.Version == ""
		}
	}
	if b.Commit == "unknown" || b.Dirty || local {
		b.Program = program()
	}
	return b
}

// program names the running executable by what it was made from: the same sources in
// the same place give the same name, also by go run, which builds anew each time.
var program = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := disk.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	head := make([]byte, 1<<16)
	n, _ := io.ReadFull(f, head)
	if id := buildID(head[:n]); id != nil {
		h.Write(id)
	} else if _, err := io.Copy(h, io.NewSectionReader(f, 0, 1<<40)); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
})

// buildID finds Go's own hash of all that went into an executable, which lies near
// its beginning: as a note on systems with ELF files, in a quoted line on others. It
// spares reading tens of megabytes. nil: there is none.
func buildID(head []byte) []byte {
	if _, rest, ok := bytes.Cut(head, []byte("\xff Go build ID: \"")); ok {
		if id, _, ok := bytes.Cut(rest, []byte("\"\n")); ok && len(id) > 0 {
			return id
		}
	}
	before, rest, ok := bytes.Cut(head, []byte("\x04\x00\x00\x00Go\x00\x00")) // the note's kind and owner
	if !ok || len(before) < 4 {
		return nil
	}
	n := int(before[len(before)-4]) | int(before[len(before)-3])<<8
	if n == 0 || n > len(rest) {
		return nil
	}
	return rest[:n]
}

// ID is the same for builds that compute the same, and for no others: the commit, or
// the executable where the commit does not say all, with Go's version, the system and
// the kernel set.
func (b Build) ID() string {
	made := b.Commit
	if b.Program != "" || b.Dirty {
		made = "program " + b.Program
	}
	return strings.Join([]string{b.Version, made, b.Go, b.OS, b.Arch, b.Kernels}, " ")
}

// Line says it on one line.
func (b Build) Line() string {
	commit := b.Commit
	if b.Dirty {
		commit += " (dirty)"
	}
	if b.Program != "" {
		commit += ", program " + b.Program
	}
	return fmt.Sprintf("hop %s, commit %s, %s, %s/%s, %s kernels", b.Version, commit, b.Go, b.OS, b.Arch, b.Kernels)
}

// Same returns nil if b is the same program, and otherwise an error that says which
// one began what the other is to go on with.
func (b Build) Same(other Build) error {
	if b.ID() == other.ID() {
		return nil
	}
	return fmt.Errorf("it was made so far by another build, %s; this is %s, and may compute something else. Go on with that one, or say "+
		"--accept-build", b.Line(), other.Line())
}

// Last returns the build that wrote the run last.
func (e *Env) Last() Build {
	if n := len(e.Later); n > 0 {
		return e.Later[n-1]
	}
	return e.Build
}

// GoOn notes which build goes on with the run.
func (r *Run) GoOn(b Build) error {
	if r.env.Last().ID() == b.ID() {
		return nil
	}
	r.env.Later = append(r.env.Later, b)
	return r.saveEnv()
}
