package runlog

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"hop/internal/cpu"
)

// Info is what the caller knows about a run.
type Info struct {
	Preset  string   `json:"preset"`
	Seed    uint64   `json:"seed"`
	Command []string `json:"command"`
	Build
}

// Env is env.json: where and how a run was made. Nothing in it reaches a number.
type Env struct {
	Info
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	Started string `json:"started"`
	Status  string `json:"status"` // running, done, stopped or failed
	Spent
	Phases map[string]float64 `json:"phases_s"`
	// Peak is the most memory that a process which worked on the run has had, with what
	// else it did at the time: other seeds, for one. 0: not known.
	Peak uint64 `json:"peak_memory_bytes"`
}

// Spent is what a run has cost, over all its parts: a run that was stopped and
// resumed adds up. What is not in a checkpoint when a run is killed is lost with its
// work. It is the one record of a run's time: results, reports and the terminal show it.
type Spent struct {
	CPU  float64 `json:"cpu_s"`  // seconds of processor time
	Wall float64 `json:"wall_s"` // seconds of the clock
}

func newEnv(info Info) Env {
	return Env{
		Info: info, CPU: cpuName(), Cores: runtime.NumCPU(), Started: time.Now().UTC().Format(time.RFC3339), Status: "running",
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

// SetPhases notes the seconds that this process has spent by phase. Those of
// earlier processes on the same run are added.
func (r *Run) SetPhases(seconds map[string]float64) {
	r.env.Phases = maps.Clone(r.before)
	if r.env.Phases == nil {
		r.env.Phases = map[string]float64{}
	}
	for phase, s := range seconds {
		r.env.Phases[phase] += s
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

// Finish writes how the run ended: done, stopped or failed.
func (r *Run) Finish(status string) error {
	if r.closed {
		return fmt.Errorf("runlog: writing %s: the run is closed", envFile)
	}
	r.env.Status = status
	return r.saveEnv()
}

// saveEnv writes env.json with the time spent so far.
func (r *Run) saveEnv() error {
	r.env.Spent, r.env.Peak = r.Spent(), max(r.env.Peak, cpu.Peak())
	b, err := json.MarshalIndent(r.env, "", "  ")
	if err != nil {
		return fmt.Errorf("runlog: writing %s: %w", envFile, err)
	}
	return replace(filepath.Join(r.dir, envFile), b)
}

// ReadEnv returns a run's env.json.
func ReadEnv(dir string) (Env, error) {
	var e Env
	b, err := os.ReadFile(filepath.Join(dir, envFile))
	if err == nil {
		err = json.Unmarshal(b, &e)
	}
	if err != nil {
		return e, fmt.Errorf("runlog: reading %s, which holds the run's seed: %w", filepath.Join(dir, envFile), err)
	}
	return e, nil
}
