package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/cpu"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/store/stage"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/eval"
	"github.com/hop-marl/hop/train/spec"
)

// SeedResult is what one seed's final agents get.
type SeedResult struct {
	Seed       uint64       `json:"seed"`
	Run        string       `json:"run"`
	Mean       float64      `json:"mean"`
	SE         stats.Number `json:"se"` // not known of a single episode
	GreedyMean float64      `json:"greedy_mean"`
	Agents     []float64    `json:"agents"`
	// Kinds is the mean return by kind of agent, where agents of several kinds play.
	Kinds map[string]float64 `json:"kinds,omitempty"`
	// LastFifth is the mean return over the last 20 % of training; nil if no episode
	// ended then.
	LastFifth *float64 `json:"last_fifth,omitempty"`
	EnvSteps  int      `json:"env_steps"`
	// CPU and Wall are what training and scoring this seed cost, as env.json has it:
	// processor time and clock, over all parts of a run that was stopped and resumed.
	CPU  float64 `json:"cpu_s"`
	Wall float64 `json:"wall_s"`
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
	Spec    spec.Spec
	Folder  string
	Workers int // 0: all cores; numbers do not depend on it
	lab     *Lab
	jobs    []*job
	meter   cpu.Meter
}

// job is one seed.
type job struct {
	seed   uint64
	dir    string
	spec   spec.Spec
	run    *runlog.Run // nil: the seed is finished, and nothing in its folder is touched
	resume bool
	status string            // in env.json, when it was read
	build  runlog.Build      // that began it, and
	last   runlog.Build      // that wrote it last
	made   map[string]string // packages of the environment that it began on
	longer int               // env steps that it is to be trained further than before
	scored bool              // result.json is there: the seed is trained and scored
	step   int               // env step that it has come to
	err    error
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
func (t *Training) Cores() int { return cores.Count(t.Workers) }

// finished says whether every seed was finished before.
func (t *Training) finished() bool {
	return !slices.ContainsFunc(t.jobs, func(j *job) bool { return j.run != nil })
}

// NewTraining makes the folders of a training in out.
func (l *Lab) NewTraining(sp spec.Spec, seeds []uint64, out string, workers int) (*Training, error) {
	if err := f32.KernelsErr(); err != nil {
		return nil, err
	}
	if _, err := sp.Resolve(); err != nil {
		return nil, Misuse{err}
	}
	if err := errors.Join(sp.Allowed(), sp.CheckPlayers()); err != nil {
		return nil, Misuse{err} // before there is a folder
	}
	t := &Training{Spec: sp, Workers: workers, lab: l}
	if err := t.fits(len(seeds)); err != nil {
		return nil, err
	}
	var err error
	if t.Folder, err = NewFolder(out, sp.Name); err != nil {
		return nil, err
	}
	if err := l.Reg.Trust.Sign(t.Folder, sp.Executes()); err != nil {
		l.Note("%v", err)
	}
	return t, t.beginAll(seeds)
}

// share says how many seeds are trained beside each other, with how many workers each.
func (t *Training) share(seeds int) (beside, workers int) {
	n := cores.Count(t.Workers)
	if t.lab.Reg.Device != nil {
		n *= 2 // those that wait for the device leave their core to others
	}
	beside = max(1, min(n, seeds))
	return beside, max(1, cores.Count(t.Workers)/beside)
}

// fits refuses what the machine has too little memory for.
func (t *Training) fits(seeds int) error {
	beside, workers := t.share(seeds)
	if err := t.Spec.FitsMemory(cpu.Memory(), beside, workers); err != nil {
		return Misuse{err}
	}
	return nil
}

// beginAll makes the folders of seeds. Which they are is written down first: a training
// that goes on begins those that a death on the way left out.
func (t *Training) beginAll(seeds []uint64) error {
	text, err := t.Spec.YAML()
	if err = cmp.Or(t.Spec.Allowed(), err); err != nil {
		return errors.Join(err, t.abandon())
	}
	group := runlog.Group{Preset: t.Spec.Name, Seeds: slices.Concat(t.Seeds(), seeds), Spec: string(text)}
	slices.Sort(group.Seeds)
	if err := group.Write(t.Folder); err != nil {
		return errors.Join(err, t.abandon())
	}
	for _, seed := range seeds {
		if err := t.begin(runlog.SeedDir(t.Folder, seed), seed, text); err != nil {
			return errors.Join(err, t.abandon())
		}
	}
	return nil
}

// begin makes the folder of a seed.
func (t *Training) begin(dir string, seed uint64, spec []byte) error {
	info := t.lab.Info(t.Spec.Name, seed)
	info.Packages = packages(&t.Spec)
	run, err := runlog.Create(dir, spec, info)
	if err != nil {
		return err
	}
	run.Printf("started: %s; %s, %s", stage.Join(info.Command), info.Line(), plot.Count(t.Cores(), "core"))
	t.jobs = append(t.jobs, &job{seed: seed, dir: dir, spec: t.Spec, run: run, build: info.Build, last: info.Build})
	return nil
}

// abandon closes the runs of a training that cannot begin.
func (t *Training) abandon() error {
	var errs []error
	for _, j := range t.jobs {
		if j.run != nil {
			errs = append(errs, j.run.Finish("stopped"), j.run.Close())
		}
	}
	return errors.Join(errs...)
}

// log adds a line to the log of every seed that is not finished.
func (t *Training) log(format string, args ...any) {
	for _, j := range t.jobs {
		if j.run != nil {
			j.run.Printf(format, args...)
		}
	}
}

// Train runs what comes before a training, the training, what comes after it, and
// writes its report. A run is done when all of that is there; until then Reopen and
// Train complete what is missing. Where nothing is, they change nothing.
func (l *Lab) Train(ctx context.Context, t *Training) (*Trained, error) {
	return t.train(ctx, func() error { return l.finalReport(ctx, t.Folder) })
}

// train is Train with a report of another kind; nil: none is written.
func (t *Training) train(ctx context.Context, report func() error) (out *Trained, err error) {
	at := filepath.Join(t.Folder, "report.html")
	if _, err := os.Stat(at); err == nil && t.finished() {
		t.lab.Say("%s is finished; nothing in it is changed", t.Folder)
		report = nil
	}
	defer func() {
		err = Stop(t.end(ctx, err), "everything is saved. Go on with:\n  hop train --resume %s", t.Folder)
	}()
	if t.finished() {
		out = t.total()
		out.Stages, err = stage.ReadRecords(t.Folder, scores(t.jobs))
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
			if len(t.Spec.Prepare)+len(t.Spec.Follow) > 0 {
				t.lab.Note("%s has no stages.json: what was done before and after the training is not known", t.Folder)
			}
		}
	} else {
		out, err = t.run(ctx)
	}
	if err != nil {
		return nil, err
	}
	if report != nil {
		t.log("writing the report")
		if err := report(); err != nil {
			return nil, fmt.Errorf("the runs are saved, but the report could not be written: %w. When that is mended, go on with "+
				"hop train --resume %s", err, t.Folder)
		}
	}
	if _, err := os.Stat(at); err == nil {
		out.Report = at
	}
	return out, nil
}

// end writes how every seed has ended. A seed is done only if all is: the others are
// stopped when one fails.
func (t *Training) end(ctx context.Context, cause error) error {
	why := "from the live view"
	if ctx.Err() != nil {
		why = context.Cause(ctx).Error()
	}
	var errs []error
	scored := !slices.ContainsFunc(t.jobs, func(j *job) bool { return !j.scored })
	for _, j := range t.jobs {
		if j.run == nil {
			continue
		}
		status := "stopped"
		switch {
		case cause == nil:
			status = "done"
			s := j.run.Spent()
			j.run.Printf("done: %.1f s of the clock and %.1f s of processor time, over all parts of this seed", s.Wall, s.CPU)
		case errors.Is(cause, context.Canceled):
			j.run.Printf("stopped at env step %d: %s", j.step, why)
		case j.err != nil || scored:
			status = "failed"
			j.run.Printf("failed at env step %d: %v", j.step, cmp.Or(j.err, cause))
		default:
			j.run.Printf("stopped at env step %d, because another seed failed", j.step)
		}
		if !j.scored {
			errs = append(errs, j.run.Summarise(status, nil))
		}
		errs = append(errs, j.run.Finish(status), j.run.Close())
	}
	if err := errors.Join(errs...); err != nil {
		if errors.Is(cause, context.Canceled) {
			return err // not everything is saved
		}
		return errors.Join(cause, err)
	}
	return cause
}

func (t *Training) run(ctx context.Context) (*Trained, error) {
	begun := max(0, slices.IndexFunc(t.jobs, func(j *job) bool { return j.resume }))
	around, err := t.lab.around(&t.Spec, t.Folder, t.jobs[begun].build)
	if err != nil {
		return nil, err
	}
	around.log = t.log
	if err := around.prepare(ctx); err != nil {
		return nil, err
	}
	for _, j := range t.jobs {
		j.spec.Fill(around.fill)
	}
	around.training()
	if err := t.learn(ctx); err != nil {
		return nil, err
	}
	out := t.total()
	around.trained(out)
	if err := around.follow(ctx, t.jobs); err != nil {
		return nil, err
	}
	out.Stages = around.done
	return out, nil
}

// learn trains and scores the seeds that are not, side by side.
func (t *Training) learn(ctx context.Context) error {
	var todo []*job
	for _, j := range t.jobs {
		if !j.scored {
			todo = append(todo, j)
		}
	}
	if len(todo) == 0 {
		return nil
	}
	if err := t.fits(len(todo)); err != nil {
		return err
	}
	beside, workers := t.share(len(todo))
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	t.lab.news(News{Kind: Begun, Training: t, Stop: cancel})
	for _, j := range t.jobs {
		if j.scored {
			t.lab.news(News{Kind: Scored, Seed: j.seed, Mean: j.result.Mean})
		}
	}
	turns := make(chan struct{}, beside)
	var wg sync.WaitGroup
	for _, j := range todo {
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			j.err = t.work(inner, j, workers)
		})
	}
	wg.Wait()
	t.lab.news(News{Kind: Ended})
	var stop error
	var errs []error
	for _, j := range todo {
		if errors.Is(j.err, context.Canceled) {
			stop = j.err
		} else {
			errs = append(errs, j.err)
		}
	}
	return cmp.Or(errors.Join(errs...), stop) // what failed comes before that it was stopped
}

// total sums up the seeds.
func (t *Training) total() *Trained {
	out := &Trained{Run: t.Folder, Preset: t.Spec.Name}
	var means []float64
	var mean, greedy stats.Acc
	for _, j := range t.jobs {
		out.Seeds, means = append(out.Seeds, j.result), append(means, j.result.Mean)
		mean.Add(j.result.Mean)
		greedy.Add(j.result.GreedyMean)
	}
	out.Mean, out.CI, out.IQM, out.GreedyMean = mean.Mean(), mean.CI(0.95), stats.IQM(means), greedy.Mean()
	return out
}

// work runs one seed to its end and scores its final agents. Its cost is that of both.
func (t *Training) work(ctx context.Context, j *job, workers int) (err error) {
	cost := t.meter.Begin()
	defer cost.End()
	j.run.Measure(cost.Seconds)
	start := time.Now()
	var saved []byte
	if j.resume {
		var notes []string
		var step int64
		saved, step, notes, err = j.run.Resume()
		for _, n := range notes {
			t.lab.Note("%s", n)
		}
		if err != nil {
			return err
		}
		j.step = int(step)
	}
	machine := spec.Machine{Workers: workers, Clock: func() time.Duration { return time.Since(start) }, Saved: saved}
	loop, err := cores.Await(ctx, func() (*train.SelfPlay, error) { // large networks take minutes to make
		loop, err := j.spec.Build(j.seed, machine)
		if err != nil || saved == nil {
			return loop, err
		}
		if err := loop.Load(saved); err != nil {
			return nil, fmt.Errorf("resuming %s at env step %d: %w", j.dir, j.step, err)
		}
		return loop, nil
	})
	if err != nil {
		return err
	}
	learnt := func(p *train.Progress) { t.lab.news(News{Kind: Learnt, Seed: j.seed, Progress: p}) }
	err = loop.Run(ctx, j.run, learnt)
	if j.step = loop.Step(); err != nil {
		return err
	}
	episodes := j.spec.Eval.Episodes
	j.run.Printf("trained to env step %d; scoring the final agents on %d fresh episodes", j.step, episodes)
	if err := t.score(ctx, j, workers); err != nil {
		return err
	}
	cost.End()
	j.result.EnvSteps = j.step
	if err := j.save(); err != nil {
		return err
	}
	j.scored = true
	j.run.Printf("scored: mean return %.4f, greedily %.4f", j.result.Mean, j.result.GreedyMean)
	t.lab.news(News{Kind: Scored, Seed: j.seed, Mean: j.result.Mean})
	return nil
}

// score plays the final agents on fresh episodes of the true game.
func (t *Training) score(ctx context.Context, j *job, workers int) error {
	own := *t.lab.Reg
	own.Runs = nil // the final agents or none
	agents, err := cores.Await(ctx, func() (*spec.Agents, error) { return own.LoadAgents(j.dir) })
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
		c, err := j.spec.Scoring(agents, members, name, j.seed)
		if err != nil {
			return nil, err
		}
		c.Workers, c.Progress = workers, scoring
		return eval.Run(ctx, c)
	}
	sampled, err := play("sampled", agents.Members)
	if err != nil {
		return err
	}
	played = j.spec.Eval.Episodes
	r := &j.result
	r.Seed, r.Run, r.Mean, r.SE, r.Agents = j.seed, j.dir, sampled.Mean.Mean(), stats.Number(sampled.Mean.SE()), nil
	for i := range sampled.Return {
		mean := sampled.Return[i].Mean()
		if sampled.Return[i].N() == 0 {
			mean = 0
			t.lab.Note("seed %d: agent %d was in none of the %d episodes that were scored; its return is not known, and stands as 0", j.seed, i,
				j.spec.Eval.Episodes)
		}
		r.Agents = append(r.Agents, mean)
	}
	r.Kinds = j.spec.ByKind(r.Agents)
	if r.GreedyMean = r.Mean; !agents.Sure { // else there is nothing to draw
		greedy, err := play("greedy", agents.Greedy)
		if err != nil {
			return err
		}
		r.GreedyMean = greedy.Mean.Mean()
	}
	rows, err := runlog.ReadMetrics(j.dir)
	if err != nil {
		return err
	}
	if r.LastFifth = lastFifth(rows, &j.spec.Train); r.LastFifth == nil {
		why := "no episode ended in the last fifth of the training, so there is no mean return of it"
		j.run.Printf("%s", why)
		t.lab.Note("seed %d: %s", j.seed, why)
	}
	return nil
}

// save puts the result where TensorBoard shows it, and then into result.json, which
// makes the seed scored.
func (j *job) save() error {
	r := &j.result
	spent := j.run.Spent()
	r.CPU, r.Wall = spent.CPU, spent.Wall
	rows := []runlog.Row{
		{Step: int64(j.step), Name: "result/mean", Agent: -1, Value: r.Mean},
		{Step: int64(j.step), Name: "result/greedy_mean", Agent: -1, Value: r.GreedyMean},
	}
	for a, mean := range r.Agents {
		rows = append(rows, runlog.Row{Step: int64(j.step), Name: "result", Agent: a, Value: mean})
	}
	if err := j.run.Summarise("done", rows); err != nil {
		return err
	}
	b, err := disk.JSON(r)
	if err != nil {
		return err
	}
	return j.run.SetResult(b)
}

// lastFifth returns the mean return over the last 20 % of a training, nil if no
// episode ended then. What bots got in the warm-up is not the agents'.
func lastFifth(rows []runlog.Row, c *train.Config) *float64 {
	warm := c.Warm.Until(rows)
	var last stats.Acc
	for _, row := range rows {
		if row.Name == "return/mean" && row.Step > warm && float64(row.Step) > 0.8*float64(c.Steps) {
			last.Add(row.Value)
		}
	}
	if last.N() == 0 {
		return nil
	}
	mean := last.Mean()
	return &mean
}

// readResult reads what a seed's final agents got; nil if they are not scored yet.
func readResult(rec *runlog.Record, dir string) (*SeedResult, error) {
	b, err := rec.Result()
	if err != nil || b == nil {
		return nil, err
	}
	r := &SeedResult{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("reading the result of %s: %w", dir, err)
	}
	return r, nil
}

// ResultFile is what lies in a seed's folder: what its final agents got.
const ResultFile = "result.json"
