// Package scale measures how much faster work gets with more cores, and holds what it comes
// to against what it comes to on one.
package scale

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/num/cpu"
	"github.com/hop-marl/hop/train/prepare"
)

// Row is one job on so many cores.
type Row struct {
	Job        string  `json:"job"`
	Cores      int     `json:"cores"`
	Wall       float64 `json:"wall_s"`
	CPU        float64 `json:"cpu_s"`
	Speedup    float64 `json:"speedup"`    // over one core
	Efficiency float64 `json:"efficiency"` // of a core: speedup / cores
	Sum        string  `json:"sum"`        // of what it came to: checkpoints, or a table
	Same       bool    `json:"same"`       // as on one core

	// Phases are the seconds of the clock that a training of PPO spent: on its start, on the phases
	// of its loop and what lies between them, and on scoring its agents.
	Phases map[string]float64 `json:"phases,omitempty"`
}

// Jobs are the names of what is measured, in order: PPO by itself; the main job from its
// models to the lives of its agents; hop+ where models are there; lives.
func Jobs() []string { return []string{"ppo", "main", "hop+", "adapt"} }

// Counts returns 1, 2, 4 and so on, and all cores of this machine.
func Counts() (list []int) {
	all := runtime.NumCPU()
	for n := 1; n < all; n *= 2 {
		list = append(list, n)
	}
	return append(list, all)
}

// Run does jobs, in a short form, on each number of cores, the first of which is 1. The main job
// is done in any case where one that needs its agents is; PPO trains for so many steps.
func Run(ctx context.Context, l *lab.Lab, jobs []string, counts []int, steps int) ([]Row, error) {
	wanted := func(job string) bool { return slices.Contains(jobs, job) }
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	one := map[string]Row{}
	var rows []Row
	count, end := l.Counting("jobs")
	defer end()
	for _, n := range counts {
		runtime.GOMAXPROCS(n)
		dir, err := os.MkdirTemp("", "hop-scale")
		if err != nil {
			return nil, err
		}
		for _, job := range Jobs() {
			if !wanted(job) && (job != "main" || !wanted("hop+") && !wanted("adapt")) {
				continue
			}
			row, err := measure(ctx, l, job, dir, steps)
			if err != nil {
				return nil, errors.Join(err, os.RemoveAll(dir))
			}
			if !wanted(job) {
				continue
			}
			row.Cores = n
			if _, ok := one[job]; !ok {
				one[job] = row
			}
			row.Speedup = one[job].Wall / row.Wall
			row.Efficiency, row.Same = row.Speedup/float64(n), row.Sum == one[job].Sum
			rows = append(rows, row)
			count(len(rows), len(counts)*len(jobs))
		}
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// measure does one job in a folder, where the main job comes before those that use its agents.
func measure(ctx context.Context, l *lab.Lab, job, dir string, steps int) (Row, error) {
	row, watch := Row{Job: job}, cpu.Start()
	var err error
	switch job {
	case "adapt":
		row.Sum, err = lives(ctx, l, filepath.Join(dir, "main", "hop+main-001"))
	case "main":
		row.Sum, err = trained(ctx, l, "hop+main", filepath.Join(dir, "main"), 1280, true)
	case "hop+":
		row.Sum, err = trained(ctx, l, "hop+main", filepath.Join(dir, "main"), 2560, false)
	default:
		own, began := *l, time.Now()
		row.Phases = map[string]float64{}
		own.Watch = phases(row.Phases, l.Watch)
		row.Sum, err = trained(ctx, &own, "ppo-4x4", filepath.Join(dir, "ppo"), steps, false)
		row.Phases["score"] = time.Since(began).Seconds()
		for name, s := range row.Phases {
			if name != "score" {
				row.Phases["score"] -= s
			}
		}
	}
	row.CPU, row.Wall = watch.Spent()
	return row, err
}

// phases returns a watcher that notes how long a training of one seed has taken, by phase.
func phases(into map[string]float64, also func(lab.News)) func(lab.News) {
	began := time.Now()
	return func(n lab.News) {
		if n.Kind == lab.Begun {
			into["start"] = time.Since(began).Seconds()
		}
		if n.Kind == lab.Learnt {
			rest := time.Since(began).Seconds() - into["start"]
			for name, s := range n.Progress.Phases {
				into[name], rest = s, rest-s
			}
			into["rest"] = rest
		}
		if also != nil {
			also(n)
		}
	}
}

// less makes the stages of the main job short: what they do stays the same.
var less = []string{
	"prepare.lives.rows=20000", "prepare.reader.epochs=1", "prepare.some.rows=10000", "prepare.wander.rows=5000", "prepare.world.epochs=1",
	"prepare.world.probe=2000", "prepare.world.plays=50", "follow.strangers.some=2", "follow.strangers.steps=100", "follow.strangers.last=50",
}

// trained trains a preset, with all that comes after it or without, and returns the sum of its checkpoints and of those of its models.
func trained(ctx context.Context, l *lab.Lab, preset, out string, steps int, report bool) (string, error) {
	sets := []string{fmt.Sprintf("train.steps=%d", steps), "eval.episodes=40"}
	if preset == "hop+main" {
		sets = append(sets, less...)
	}
	spec, err := l.Reg.Load(preset, sets)
	if err != nil {
		return "", err
	}
	if !report {
		spec.Follow = nil
	}
	t, err := l.NewTraining(spec, []uint64{1}, out, 0)
	if err != nil {
		return "", err
	}
	if report {
		_, err = l.Train(ctx, t)
	} else {
		_, err = l.TrainOnly(ctx, t)
	}
	if err != nil {
		return "", err
	}
	h := sha256.New()
	err = checkpoints(h, out)
	return hex.EncodeToString(h.Sum(nil)), err
}

// checkpoints adds the checkpoints below a folder to a sum, with what they are of.
func checkpoints(h hash.Hash, out string) error {
	return filepath.WalkDir(out, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".safetensors" {
			return err
		}
		b, err := os.ReadFile(path)
		of, _, _ := strings.Cut(filepath.Base(filepath.Dir(filepath.Dir(path))), "-") // a stage's key is of the program
		fmt.Fprintf(h, "%s %s %x\n", of, filepath.Base(path), sha256.Sum256(b))
		return err
	})
}

// lives lets the main job's agent live among two trios, and returns the sum of its table.
func lives(ctx context.Context, l *lab.Lab, run string) (string, error) {
	c := prepare.DefaultAdapt()
	c.Trios, c.Every = "ns,nh,nh nh,ns,random random,random,random", 0
	c.Steps, c.Last, c.Lives, c.Seeds, c.Starts = 200, 100, 4, []uint64{1, 2}, 16
	table, err := l.Adapt(ctx, c, lab.Site{Runs: []string{run}})
	if err != nil {
		return "", err
	}
	table.Used = nil
	b, err := json.Marshal(table)
	folder, _ := json.Marshal(filepath.ToSlash(run))
	b = bytes.ReplaceAll(b, bytes.Trim(folder, `"`), nil) // which is thrown away
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), err
}

// Text is a table for a terminal.
func Text(rows []Row) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "job\tcores\ts of the clock\ts of processor time\tspeed-up\tefficiency\tnumbers\t")
	for _, r := range rows {
		same := "the same"
		if !r.Same {
			same = "DIFFER"
		}
		fmt.Fprintf(w, "%s\t%d\t%.2f\t%.2f\t%.2f\t%.0f %%\t%s\t\n", r.Job, r.Cores, r.Wall, r.CPU, r.Speedup, 100*r.Efficiency, same)
	}
	w.Flush()
	return b.String()
}
