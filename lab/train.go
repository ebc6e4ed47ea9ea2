package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"hop/eval"
	"hop/exp"
	"hop/f32"
	"hop/internal/cpu"
	"hop/rng"
	"hop/runlog"
	"hop/stats"
	"hop/train"
)

// SeedResult is what one seed's final agents get.
type SeedResult struct {
	Seed       uint64       `json:"seed"`
	Run        string       `json:"run"`
	Mean       float64      `json:"mean"`
	SE         stats.Number `json:"se"` // not known of a single episode
	GreedyMean float64      `json:"greedy_mean"`
	Agents     []float64    `json:"agents"`
	// LastFifth is the mean return over the last 20 % of training; nil if no episode
	// ended then.
	LastFifth *float64 `json:"last_fifth,omitempty"`
	EnvSteps  int      `json:"env_steps"`
	CPU       float64  `json:"cpu_s"`
	Wall      float64  `json:"wall_s"`
}

// Trained is what a training came to, over its seeds.
type Trained struct {
	Run        string         `json:"run"`
	Preset     string         `json:"preset"`
	Seeds      []SeedResult   `json:"seeds"`
	Mean       float64        `json:"mean"`
	CI         stats.Interval `json:"ci"`
	IQM        float64        `json:"iqm"`
	GreedyMean float64        `json:"greedy_mean"`
	Report     string         `json:"report,omitempty"`
	Stages     []Stage        `json:"stages,omitempty"`
}

// Training is a spec's runs, one for each seed, in one folder.
type Training struct {
	Spec    exp.Spec
	Folder  string
	Workers int // 0: all cores; numbers do not depend on it
	lab     *Lab
	jobs    []*job
}

// job is one seed.
type job struct {
	seed   uint64
	spec   exp.Spec
	run    *runlog.Run
	resume bool
	result SeedResult
}

// Seeds returns the seeds in order.
func (t *Training) Seeds() (list []uint64) {
	for _, j := range t.jobs {
		list = append(list, j.seed)
	}
	return list
}

// Cores returns how many cores it uses.
func (t *Training) Cores() int { return cores(t.Workers) }

// NewTraining makes the folders of a training in out.
func (l *Lab) NewTraining(spec exp.Spec, seeds []uint64, out string, workers int) (*Training, error) {
	if err := f32.KernelsErr(); err != nil {
		return nil, err
	}
	t := &Training{Spec: spec, Workers: workers, lab: l}
	var err error
	if t.Folder, err = NewFolder(out, spec.Name); err != nil {
		return nil, err
	}
	for _, seed := range seeds {
		if err := t.begin(filepath.Join(t.Folder, fmt.Sprintf("seed-%d", seed)), seed); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// begin makes the folder of a seed.
func (t *Training) begin(dir string, seed uint64) error {
	text, err := t.Spec.YAML()
	if err != nil {
		return err
	}
	run, err := runlog.Create(dir, text, t.lab.Info(t.Spec.Name, seed))
	if err != nil {
		return err
	}
	t.jobs = append(t.jobs, &job{seed: seed, spec: t.Spec, run: run})
	return nil
}

// Reopen opens the runs of a folder, or the one run that it is, to go on.
func (l *Lab) Reopen(dir string, workers int) (*Training, error) {
	if err := f32.KernelsErr(); err != nil {
		return nil, err
	}
	dirs, err := Folders(dir)
	if err != nil {
		return nil, err
	}
	t := &Training{Folder: dir, Workers: workers, lab: l}
	for _, dir := range dirs {
		run, err := runlog.Open(dir)
		if err != nil {
			return nil, err
		}
		env, err := runlog.ReadEnv(dir)
		if err != nil {
			return nil, err
		}
		spec, err := l.Reg.Parse(run.Spec(), filepath.Join(dir, "spec.yaml"), env.Preset, nil)
		if err != nil {
			return nil, err
		}
		if env.Kernels != f32.Kernels() {
			l.note("%s was started with %s kernels, this machine uses %s: numbers will differ in rounding", dir, env.Kernels, f32.Kernels())
		}
		t.jobs = append(t.jobs, &job{seed: env.Seed, spec: spec, run: run, resume: true})
	}
	slices.SortFunc(t.jobs, func(a, b *job) int { return int(a.seed) - int(b.seed) })
	t.Spec = t.jobs[0].spec
	return t, nil
}

// Train runs what comes before a training, the training, what comes after it, and
// writes its report.
func (l *Lab) Train(ctx context.Context, t *Training) (*Trained, error) {
	out, err := t.run(ctx)
	if errors.Is(err, context.Canceled) {
		l.say("stopped; everything is saved. Go on with:\n  hop train --resume %s", t.Folder)
	}
	if err != nil {
		return nil, err
	}
	if out.Report, err = l.Report(ctx, t.Folder, true); err != nil {
		l.note("the runs are saved, but the report could not be written: %v", err)
	}
	return out, nil
}

func (t *Training) run(ctx context.Context) (*Trained, error) {
	for _, j := range t.jobs {
		defer j.run.Close()
	}
	around, err := t.lab.around(&t.Spec, t.Folder)
	if err != nil {
		return nil, err
	}
	if err := around.prepare(ctx); err != nil {
		return nil, err
	}
	for _, j := range t.jobs {
		j.spec.Fill(around.run.Fill)
	}
	around.training()
	workers := cores(t.Workers)
	beside := min(workers, len(t.jobs))
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	t.lab.news(News{Kind: Begun, Training: t, Stop: cancel})
	errs := make([]error, len(t.jobs))
	turns := make(chan struct{}, beside)
	var wg sync.WaitGroup
	for i, j := range t.jobs {
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			errs[i] = t.work(inner, j, max(1, workers/beside))
		})
	}
	wg.Wait()
	t.lab.news(News{Kind: Ended})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	out := &Trained{Run: t.Folder, Preset: t.Spec.Name}
	var means []float64
	var mean, greedy stats.Acc
	for _, j := range t.jobs {
		means = append(means, j.result.Mean)
		mean.Add(j.result.Mean)
		greedy.Add(j.result.GreedyMean)
	}
	out.Mean, out.CI, out.IQM, out.GreedyMean = mean.Mean(), mean.CI(0.95), stats.IQM(means), greedy.Mean()
	around.trained(out.Mean)
	if err := around.follow(ctx, t.jobs); err != nil {
		return nil, err
	}
	for _, j := range t.jobs {
		j.result.CPU /= float64(beside) // so many seeds ran side by side in this process
		if err := j.save(); err != nil {
			return nil, err
		}
		out.Seeds = append(out.Seeds, j.result)
	}
	out.Stages = around.done
	return out, nil
}

// work runs one seed to its end and scores its final agents.
func (t *Training) work(ctx context.Context, j *job, workers int) (err error) {
	start, watch := time.Now(), cpu.Start()
	status := "failed"
	defer func() {
		if errors.Is(err, context.Canceled) {
			status = "stopped"
		}
		err = errors.Join(err, j.run.Finish(status), j.run.Close())
	}()
	var saved []byte
	step := int64(0)
	if j.resume {
		var notes []string
		saved, step, notes, err = j.run.Resume()
		for _, n := range notes {
			t.lab.note("%s", n)
			j.run.Printf("%s", n)
		}
		if err != nil {
			return err
		}
	}
	machine := exp.Machine{Workers: workers, Clock: func() time.Duration { return time.Since(start) }, Saved: saved}
	loop, err := j.spec.Build(j.seed, machine)
	if err != nil {
		return err
	}
	if saved != nil {
		if err := loop.Load(saved); err != nil {
			return fmt.Errorf("resuming %s at env step %d: %w", j.run.Dir(), step, err)
		}
	}
	if j.resume {
		j.run.Printf("resumed at env step %d", step)
	}
	learnt := func(p *train.Progress) { t.lab.news(News{Kind: Learnt, Seed: j.seed, Progress: p}) }
	if err := loop.Run(ctx, j.run, learnt); err != nil {
		return err
	}
	episodes := j.spec.Eval.Episodes
	if err := t.score(ctx, j, workers); err != nil {
		return err
	}
	j.result.EnvSteps = loop.Step()
	j.result.CPU, j.result.Wall = watch.Spent()
	j.run.Printf("done: mean return %.4f over %d fresh episodes", j.result.Mean, episodes)
	status = "done"
	t.lab.news(News{Kind: Scored, Seed: j.seed, Mean: j.result.Mean})
	return j.save()
}

// score plays the final agents on fresh episodes of the true game.
func (t *Training) score(ctx context.Context, j *job, workers int) error {
	agents, err := t.lab.Reg.LoadAgents(j.run.Dir())
	if err != nil {
		return err
	}
	played, all := 0, 2*j.spec.Eval.Episodes
	if agents.Sure {
		all /= 2
	}
	scoring := func(done, _ int) { t.lab.news(News{Kind: Scoring, Seed: j.seed, At: played + done, Of: all}) }
	scoring(0, 0)
	play := func(name string, members []eval.Member) (*eval.Result, error) {
		team, err := j.spec.Team(agents, members)
		if err != nil {
			return nil, err
		}
		return eval.Run(ctx, eval.Config{
			Game: agents.Game, Team: team, Episodes: j.spec.Eval.Episodes, Workers: workers, Lanes: 256,
			Key:      rng.New(j.seed).Child("judge").Child(name), // the name is part of the numbers
			Progress: scoring,
		})
	}
	sampled, err := play("sampled", agents.Members)
	if err != nil {
		return err
	}
	played = j.spec.Eval.Episodes
	r := &j.result
	r.Seed, r.Run, r.Mean, r.SE, r.Agents = j.seed, j.run.Dir(), sampled.Mean.Mean(), stats.Number(sampled.Mean.SE()), nil
	for i := range sampled.Return {
		r.Agents = append(r.Agents, sampled.Return[i].Mean())
	}
	if r.GreedyMean = r.Mean; !agents.Sure { // else there is nothing to draw
		greedy, err := play("greedy", agents.Greedy)
		if err != nil {
			return err
		}
		r.GreedyMean = greedy.Mean.Mean()
	}
	rows, err := runlog.ReadMetrics(j.run.Dir())
	if err != nil {
		return err
	}
	var last stats.Acc
	warm := j.spec.Train.Warm.Until(rows) // what bots got then is not the agents'
	for _, row := range rows {
		if row.Name == "return/mean" && row.Step > warm && float64(row.Step) > 0.8*float64(j.spec.Train.Steps) {
			last.Add(row.Value)
		}
	}
	r.LastFifth = nil
	if mean := last.Mean(); last.N() > 0 {
		r.LastFifth = &mean
	} else {
		why := "no episode ended in the last fifth of the training, so there is no mean return of it"
		j.run.Printf("%s", why)
		t.lab.note("seed %d: %s", j.seed, why)
	}
	return nil
}

// save writes result.json beside the run's other files.
func (j *job) save() error { return writeJSON(filepath.Join(j.run.Dir(), "result.json"), j.result) }

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}
