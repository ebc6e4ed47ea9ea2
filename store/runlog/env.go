package runlog

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/hop-marl/hop/num/cpu"
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
	return Env{
		Info: info, CPU: cpuName(), Cores: runtime.NumCPU(), Started: time.Now().UTC().Format(time.RFC3339), Status: running,
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
