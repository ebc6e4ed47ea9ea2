package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"hop/eval"
	"hop/exp"
	"hop/f32"
	"hop/rng"
	"hop/runlog"
	"hop/stats"
	"hop/train"
)

type trainCmd struct {
	What    string   `arg:"" optional:"" help:"A preset (hop list presets) or a spec file; alone: HOP+ end to end." default:"hop+main"`
	Set     []string `help:"Set a field, such as ppo.lr=1e-3; repeatable (hop list fields)." sep:"none" placeholder:"PATH=VALUE"`
	Seeds   string   `help:"Seeds to run, such as 1-5 or 1,4,9; side by side over the cores." default:"1"`
	Out     string   `help:"Folder that runs are put in." default:"runs" type:"path"`
	Resume  string   `help:"Go on with the runs in this folder." type:"path" placeholder:"RUN"`
	Workers int      `help:"Cores to use; 0: all. Numbers do not depend on it." default:"0"`
	JSON    bool     `help:"Print one JSON object."`
}

func (trainCmd) Help() string {
	return `Examples:

  hop train
  hop train ppo-4x4 --seeds 1-5
  hop train ppo-8x8 --set train.steps=1000000 --set ppo.lr=5e-4 --json
  hop train --resume runs/ppo-4x4-001

Each seed gets a folder with its spec, metrics, TensorBoard events, checkpoints and log. Ctrl-C saves and stops; --resume goes on as if nothing had happened.`
}

// seedJSON is one seed's line of the promise.
type seedJSON struct {
	Seed       uint64    `json:"seed"`
	Run        string    `json:"run"`
	Mean       float64   `json:"mean"`
	SE         float64   `json:"se"`
	GreedyMean float64   `json:"greedy_mean"`
	Agents     []float64 `json:"agents"`
	LastFifth  float64   `json:"last_fifth"` // mean return over the last 20 % of training
	EnvSteps   int       `json:"env_steps"`
	CPU        float64   `json:"cpu_s"`
	Wall       float64   `json:"wall_s"`
}

type trainJSON struct {
	Run        string         `json:"run"`
	Preset     string         `json:"preset"`
	Seeds      []seedJSON     `json:"seeds"`
	Mean       float64        `json:"mean"`
	CI         stats.Interval `json:"ci"`
	IQM        float64        `json:"iqm"`
	GreedyMean float64        `json:"greedy_mean"`
	Report     string         `json:"report,omitempty"`
	Stages     []stageJSON    `json:"stages,omitempty"`
}

func (c trainCmd) Run(a *app) error {
	if err := f32.KernelsErr(); err != nil {
		return err
	}
	jobs, group, err := c.jobs(a)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		defer j.run.Close()
	}
	around, err := newStages(a, &jobs[0].spec, group)
	if err != nil {
		return err
	}
	if err := around.prepare(); err != nil {
		return around.stopped(err)
	}
	for _, j := range jobs {
		j.spec.Fill(around.run.Fill)
	}
	around.training()
	workers := c.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	beside := min(workers, len(jobs))
	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	show := setup{name: jobs[0].spec.Name, folder: group, cores: workers}
	for _, j := range jobs {
		show.seeds = append(show.seeds, j.seed)
	}
	board := a.board(show, cancel)
	errs := make([]error, len(jobs))
	turns := make(chan struct{}, beside)
	var wg sync.WaitGroup
	for i, j := range jobs {
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			errs[i] = j.work(ctx, a.reg, max(1, workers/beside), board)
		})
	}
	wg.Wait()
	board.end()
	if err := errors.Join(errs...); err != nil {
		return around.stopped(err)
	}
	var mean stats.Acc
	for _, j := range jobs {
		mean.Add(j.result.Mean)
	}
	around.trained(mean.Mean())
	if err := around.follow(jobs); err != nil {
		return around.stopped(err)
	}
	for _, j := range jobs {
		j.result.CPU /= float64(beside) // so many seeds ran side by side in this process
		if err := j.save(); err != nil {
			return err
		}
	}
	return c.summary(a, group, jobs, around.done)
}

// job is one seed.
type job struct {
	seed   uint64
	spec   exp.Spec
	run    *runlog.Run
	resume bool
	result seedJSON
}

// jobs makes or opens the folders.
func (c trainCmd) jobs(a *app) ([]*job, string, error) {
	if c.Resume != "" {
		return c.reopen(a)
	}
	spec, err := a.reg.Load(c.What, c.Set)
	if err != nil {
		return nil, "", usageError{err}
	}
	seeds, err := parseSeeds(c.Seeds)
	if err != nil {
		return nil, "", usageError{err}
	}
	text, err := spec.YAML()
	if err != nil {
		return nil, "", err
	}
	group, err := freeFolder(c.Out, spec.Name)
	if err != nil {
		return nil, "", err
	}
	var jobs []*job
	for _, seed := range seeds {
		run, err := runlog.Create(filepath.Join(group, fmt.Sprintf("seed-%d", seed)), text, runlog.Info{
			Preset: spec.Name, Seed: seed, Command: os.Args, Version: version, Kernels: f32.Kernels(),
		})
		if err != nil {
			return nil, "", err
		}
		jobs = append(jobs, &job{seed: seed, spec: spec, run: run})
	}
	return jobs, group, nil
}

// reopen opens the runs of a folder, or the one run that it is.
func (c trainCmd) reopen(a *app) ([]*job, string, error) {
	dirs := []string{c.Resume}
	group := c.Resume
	if _, err := os.Stat(filepath.Join(c.Resume, "spec.yaml")); err != nil {
		if dirs, err = filepath.Glob(filepath.Join(c.Resume, "seed-*")); err != nil || len(dirs) == 0 {
			return nil, "", usage("%s holds no run: neither spec.yaml nor folders seed-*", c.Resume)
		}
	}
	var jobs []*job
	for _, dir := range dirs {
		run, err := runlog.Open(dir)
		if err != nil {
			return nil, "", err
		}
		env, err := runlog.ReadEnv(dir)
		if err != nil {
			return nil, "", err
		}
		spec, err := a.reg.Parse(run.Spec(), filepath.Join(dir, "spec.yaml"), env.Preset, nil)
		if err != nil {
			return nil, "", err
		}
		if env.Kernels != f32.Kernels() {
			fmt.Fprintf(os.Stderr, "note: %s was started with %s kernels, this machine uses %s: numbers will differ in rounding\n", dir, env.Kernels, f32.Kernels())
		}
		jobs = append(jobs, &job{seed: env.Seed, spec: spec, run: run, resume: true})
	}
	slices.SortFunc(jobs, func(a, b *job) int { return int(a.seed) - int(b.seed) })
	return jobs, group, nil
}

// freeFolder makes out/NAME-001, or the next number that is free.
func freeFolder(out, name string) (string, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", fmt.Errorf("making %s: %w; choose another folder with --out", out, err)
	}
	for i := 1; ; i++ {
		dir := filepath.Join(out, fmt.Sprintf("%s-%03d", name, i))
		err := os.Mkdir(dir, 0o755)
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("making %s: %w; choose another folder with --out", dir, err)
		}
	}
}

// parseSeeds reads "1-5" or "1,4,9".
func parseSeeds(text string) ([]uint64, error) {
	var seeds []uint64
	for _, part := range strings.Split(text, ",") {
		lo, hi, isRange := strings.Cut(strings.TrimSpace(part), "-")
		first, err := strconv.ParseUint(lo, 10, 63)
		last := first
		if err == nil && isRange {
			last, err = strconv.ParseUint(hi, 10, 63)
		}
		if err != nil || last < first || last-first >= 10_000 {
			return nil, fmt.Errorf("--seeds %s: want numbers such as 1-5 or 1,4,9", text)
		}
		for s := first; s <= last; s++ {
			if slices.Contains(seeds, s) {
				return nil, fmt.Errorf("--seeds %s: seed %d stands there twice", text, s)
			}
			seeds = append(seeds, s)
		}
	}
	return seeds, nil
}

// work runs one seed to its end and judges its final agents.
func (j *job) work(ctx context.Context, reg *exp.Registry, workers int, board *board) (err error) {
	start := time.Now()
	cpu := cpuTime()
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
			board.note(n)
			j.run.Printf("%s", n)
		}
		if err != nil {
			return err
		}
	}
	loop, err := j.spec.Build(j.seed, exp.Machine{Workers: workers, Clock: func() time.Duration { return time.Since(start) }, Saved: saved})
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
	if err := loop.Run(ctx, j.run, func(p *train.Progress) { board.update(j.seed, p) }); err != nil {
		return err
	}
	board.note(fmt.Sprintf("seed %d: judging the final agents on %d fresh episodes", j.seed, j.spec.Eval.Episodes))
	if err := j.judge(ctx, reg, workers); err != nil {
		return err
	}
	j.result.EnvSteps = loop.Step()
	j.result.Wall = time.Since(start).Seconds()
	j.result.CPU = (cpuTime() - cpu).Seconds()
	j.run.Printf("done: mean return %.4f over %d fresh episodes", j.result.Mean, j.spec.Eval.Episodes)
	status = "done"
	board.done(j.seed, j.result.Mean)
	return j.save()
}

// judge plays the final agents on fresh episodes of the true game.
func (j *job) judge(ctx context.Context, reg *exp.Registry, workers int) error {
	agents, err := reg.LoadAgents(j.run.Dir())
	if err != nil {
		return err
	}
	j.result.Seed, j.result.Run = j.seed, j.run.Dir()
	for _, way := range []struct {
		name string
		team []eval.Member
	}{{"sampled", agents.Members}, {"greedy", agents.Greedy}} {
		team, err := j.spec.Team(agents, way.team)
		if err != nil {
			return err
		}
		res, err := eval.Run(ctx, eval.Config{
			Game: agents.Game, Team: team, Episodes: j.spec.Eval.Episodes, Workers: workers, Lanes: 256,
			Key: rng.New(j.seed).Child("judge").Child(way.name),
		})
		if err != nil {
			return err
		}
		if way.name == "greedy" {
			j.result.GreedyMean = res.Mean.Mean()
			break
		}
		j.result.Mean, j.result.SE = res.Mean.Mean(), res.Mean.SE()
		j.result.Agents = nil
		for i := range res.Return {
			j.result.Agents = append(j.result.Agents, res.Return[i].Mean())
		}
		if agents.Sure {
			j.result.GreedyMean = j.result.Mean // there is nothing to draw
			break
		}
	}
	rows, err := runlog.ReadMetrics(j.run.Dir())
	if err != nil {
		return err
	}
	var last stats.Acc
	for _, r := range rows {
		if r.Name == "return/mean" && float64(r.Step) > 0.8*float64(j.spec.Train.Steps) {
			last.Add(r.Value)
		}
	}
	j.result.LastFifth = last.Mean()
	return nil
}

// save writes result.json beside the run's other files.
func (j *job) save() error {
	b, err := json.MarshalIndent(j.result, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(j.run.Dir(), "result.json"), append(b, '\n'), 0o644)
}

func (c trainCmd) summary(a *app, group string, jobs []*job, around []stageJSON) error {
	out := trainJSON{Run: group, Preset: jobs[0].spec.Name, Stages: around}
	var means, greedy []float64
	for _, j := range jobs {
		out.Seeds = append(out.Seeds, j.result)
		means, greedy = append(means, j.result.Mean), append(greedy, j.result.GreedyMean)
	}
	var acc, g stats.Acc
	for i := range means {
		acc.Add(means[i])
		g.Add(greedy[i])
	}
	out.Mean, out.CI, out.IQM, out.GreedyMean = acc.Mean(), acc.CI(0.95), stats.IQM(means), g.Mean()
	page, err := a.writeReport(group, true)
	if err != nil {
		fmt.Fprintf(a.err, "note: the runs are saved, but the report could not be written: %v\n", err)
	}
	out.Report = page
	if c.JSON {
		return a.emit(out)
	}
	fmt.Fprintf(a.out, "\n%s: %d fresh episodes of the true game for each seed, actions sampled\n\n", out.Preset, jobs[0].spec.Eval.Episodes)
	for _, s := range out.Seeds {
		fmt.Fprintf(a.out, "  seed %-4d mean %.3f  agents", s.Seed, s.Mean)
		for _, x := range s.Agents {
			fmt.Fprintf(a.out, " %.2f", x)
		}
		fmt.Fprintf(a.out, "  greedy %.3f  %s env steps  %.1f s\n", s.GreedyMean, short(float64(s.EnvSteps)), s.Wall)
	}
	fmt.Fprintf(a.out, "\n  all seeds  mean %.3f", out.Mean)
	if len(jobs) > 1 {
		fmt.Fprintf(a.out, " (95 %% %.3f to %.3f), IQM %.3f", out.CI[0], out.CI[1], out.IQM)
	}
	fmt.Fprintf(a.out, "\n\nThe runs are in %s.\n", group)
	if page != "" {
		fmt.Fprintf(a.out, "Open the report: %s\n", page)
	}
	return nil
}
