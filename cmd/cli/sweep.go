package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/sweep"
	"github.com/hop-marl/hop/lab/sweep/queue"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/train/prepare"
)

type sweepCmd struct {
	Run_   sweepRun    `cmd:"" name:"run" default:"withargs" help:"Train many variants with many seeds, here or on many machines."`
	Score  sweepScore  `cmd:"" help:"Score agents among strangers, every meeting a job, here or on many machines: the page of hop strangers score."`
	Status sweepStatus `cmd:"" help:"Print how a sweep stands."`
	Resume sweepResume `cmd:"" help:"Go on with a sweep that was stopped or cancelled, or whose coordinator died."`
	Cancel sweepCancel `cmd:"" help:"End a sweep; what is done stays."`
	Retry  sweepRetry  `cmd:"" help:"Try jobs again that were given up."`
}

// sweepFlags say how a sweep is run.
type sweepFlags struct {
	flags[sweep.Options]
	Token string `hidden:"" help:"Refused: others could read it."`
}

// ProvideAsk is also given the token, for Check to refuse.
func (c *sweepFlags) ProvideAsk(k *kong.Context) (sweep.Options, error) {
	how, err := c.read(k, nil)
	if how.Token = c.Token; err == nil {
		if err = how.Check(); err != nil {
			err = usageError{err}
		}
	}
	return how, provided(err)
}

type sweepRun struct {
	sweepFlags
	What   string       `arg:"" help:"A sweep's file, or a preset or spec file whose fields --set varies." placeholder:"FILE|PRESET"`
	Set    []string     `help:"Set a field; values with commas are each tried, as in game.stags=1,2; repeatable." sep:"none" placeholder:"PATH=VALUES"`
	Seeds  config.Seeds `help:"Seeds of every variant, such as 1-10; a sweep's file may say them." default:"1"`
	Out    string       `help:"The sweep's folder." default:"sweep" type:"path"`
	DryRun bool         `help:"List what would run."`
	jsonFlag
}

func (c sweepRun) Run(a *app, how sweep.Options) error {
	f, list, err := sweep.Open(c.What, c.Set, c.Seeds)
	if err != nil {
		return usageError{err}
	}
	l := a.lab()
	s, err := sweep.New(l, f, list)
	if err != nil {
		return usageError{err}
	}
	if c.DryRun {
		jobs, err := s.Jobs(l)
		if err != nil {
			return usageError{err}
		}
		return c.answer(a, jobs, s.Plan(jobs))
	}
	if err := s.Write(c.Out); err != nil {
		return usageError{err}
	}
	if err := s.Sign(l, c.Out); err != nil {
		fmt.Fprintln(a.err, "note:", err)
	}
	return goOn(a, how, c.Out, c.JSON)
}

// sweepScore is hop strangers score as jobs.
type sweepScore struct {
	sweepFlags
	Whom   flags[prepare.Adapt] `embed:""`
	Runs   []string             `arg:"" name:"run" help:"Runs' folders, or folders of seeds; also br, plan, plan-infer, plan-paper, bandit, or a bot." placeholder:"RUN|WHO"`
	Game   string               `help:"The game for those that are no runs." default:"staghunt"`
	Set    []string             `help:"@adapt_set" sep:"none" placeholder:"PATH=VALUE"`
	Out    string               `help:"The sweep's folder, and that of the page: adapt.md, adapt.html, adapt.json." default:"scored" type:"path"`
	DryRun bool                 `help:"List what would run."`
	jsonFlag
}

// ProvideWhom hands over whom the agents meet.
func (c *sweepScore) ProvideWhom(k *kong.Context) (prepare.Adapt, error) {
	ask, err := c.Whom.read(k, nil)
	return ask, provided(err)
}

func (c sweepScore) Run(a *app, how sweep.Options, ask prepare.Adapt) error {
	ofGame, _ := splitSets(c.Set)
	l := a.lab()
	g, err := l.GameWith(c.Game, ofGame)
	if err != nil {
		return err
	}
	s, err := sweep.NewScore(a.ctx, l, ask, lab.Site{Game: g, Set: c.Set, Runs: c.Runs})
	if err != nil {
		return err
	}
	if c.DryRun {
		jobs, err := s.Jobs(l)
		if err != nil {
			return err
		}
		return c.answer(a, jobs, s.Plan(jobs))
	}
	if err := s.Write(c.Out); err != nil {
		return usageError{err}
	}
	return goOn(a, how, c.Out, c.JSON)
}

// goOn brings a sweep to its end.
func goOn(a *app, o sweep.Options, dir string, asJSON bool) error {
	said := time.Time{}
	watch := func(x sweep.Index) {
		if time.Since(said) < 5*time.Second {
			return
		}
		said = time.Now()
		fmt.Fprintf(a.err, "  %s\n", x.Line())
	}
	if err := sweep.Resume(dir); err != nil { // a wish to cancel was of what ran before
		return err
	}
	l := a.lab()
	l.Watch = nil // stages and trainings speak in their own processes
	x, err := o.Run(a.ctx, l, dir, watch, func(format string, args ...any) { fmt.Fprintf(a.err, "  "+format+"\n", args...) })
	if err != nil {
		return lab.Stop(err, "everything is saved. Go on with:\n  hop sweep resume %s", dir)
	}
	if x.Score && len(x.Found) > 0 {
		page, b, err := sweep.Page(dir)
		if err == nil && asJSON {
			_, err = a.out.Write(b)
		} else if err == nil {
			_, err = fmt.Fprintf(a.out, "%s\n\n%s\n\nPage: %s\n", x.Line(), strings.Join(x.Found, "\n"), page)
		}
		return err
	}
	if asJSON {
		return a.emit(x)
	}
	if x.Score {
		fmt.Fprintf(a.out, "%s\n\nThe page is made when every meeting has taken place.\n", x.Line())
	} else {
		fmt.Fprintf(a.out, "%s\n\nThe runs are in %s.\nReport: %s\n", x.Line(), dir, filepath.Join(dir, "report.html"))
	}
	if n := x.Counts["failed"]; n > 0 {
		return fmt.Errorf("%s given up; why is in %s. Try again with: hop sweep retry %s", plot.Count(n, "job"),
			filepath.Join(dir, "failed"), dir)
	}
	return nil
}

type sweepStatus struct {
	Dir string `arg:"" help:"The sweep's folder." type:"path"`
	jsonFlag
}

func (c sweepStatus) Run(a *app) error {
	x, err := sweep.ReadIndex(c.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return usage("%s holds no sweep that was begun: it has no %s", c.Dir, sweep.IndexFile)
	}
	if err != nil {
		return err
	}
	s, err := sweep.Read(c.Dir)
	if err == nil {
		err = s.Fits(c.Dir, x)
	}
	if err != nil {
		return err
	}
	if s.Loose() || x.Loose() {
		fmt.Fprintf(a.err, "  %s has no seals: nothing vouches for what it says\n", c.Dir)
	}
	if c.JSON {
		return a.emit(x)
	}
	if _, err := fmt.Fprint(a.out, x.Text()); err != nil || x.Ended || sweep.AtWork(c.Dir) {
		return err
	}
	fmt.Fprintf(a.out, "\nNo coordinator is at work on it. Go on with: hop sweep resume %s\n", c.Dir)
	return nil
}

type sweepResume struct {
	sweepFlags
	Dir string `arg:"" help:"The sweep's folder." type:"path"`
	jsonFlag
}

func (c sweepResume) Run(a *app, how sweep.Options) error {
	how.AcceptUnsealed = a.reg.Runs != nil && a.reg.Runs.AcceptUnsealed
	return goOn(a, how, c.Dir, c.JSON)
}

type sweepCancel struct {
	Dir string `arg:"" help:"The sweep's folder." type:"path"`
}

func (c sweepCancel) Run(a *app) error {
	if err := sweep.Cancel(c.Dir); err != nil {
		return usageError{err}
	}
	what := "ends within a second or two"
	if !sweep.AtWork(c.Dir) {
		what = "is not running"
	}
	fmt.Fprintf(a.out, "%s %s; hop sweep resume %[1]s goes on with it.\n", c.Dir, what)
	return nil
}

type sweepRetry struct {
	Dir  string   `arg:"" help:"The sweep's folder." type:"path"`
	Jobs []string `arg:"" optional:"" help:"Which, as hop sweep status names them; none: all that were given up."`
}

func (c sweepRetry) Run(a *app) error {
	n, err := sweep.Retry(c.Dir, c.Jobs...)
	switch {
	case err != nil:
		return usageError{err}
	case n == 0:
		fmt.Fprintf(a.out, "Nothing of that was given up or cancelled.\n")
	case sweep.AtWork(c.Dir):
		fmt.Fprintf(a.out, "%s tried again within a second or two.\n", plot.Count(n, "job"))
	default:
		fmt.Fprintf(a.out, "%s will be tried again. The sweep is not running; go on with: hop sweep resume %s\n", plot.Count(n, "job"), c.Dir)
	}
	return nil
}

type workerCmd struct {
	flags[sweep.Server]
	Token  string   `hidden:"" help:"Refused: others could read it."`
	Slots  int      `help:"Jobs at once; 0: as many as there are cores." default:"0"`
	Cores  int      `help:"Cores that jobs may use; 0: all." default:"0"`
	Labels []string `help:"What jobs may ask for, such as fast." placeholder:"NAME"`
	Dir    string   `help:"Where jobs work; what they leave is removed." type:"path" placeholder:"DIR"`
	Leash  bool     `help:"Leave when the standard input ends, as it does when an ssh connection breaks."`
}

func (c workerCmd) Run(a *app, server sweep.Server) error {
	server.Token = c.Token
	if server.Connect == "" {
		return usage("a worker needs --connect, the address that hop sweep --listen prints\n" +
			"Example: hop worker --connect nats://node1:4222 --token-file sweeps/lr/worker.token")
	}
	if c.Dir == "" {
		c.Dir = filepath.Join(os.TempDir(), "hop-worker")
	}
	w, err := sweep.Here(a.lab(), c.Dir, func(format string, args ...any) { fmt.Fprintf(a.err, "  "+format+"\n", args...) })
	if err != nil {
		return err
	}
	w.Slots, w.Labels = c.Slots, c.Labels
	if c.Cores > 0 {
		w.Cores = c.Cores
	}
	nc, token, err := server.Join(w.Name, w.Log)
	if err != nil {
		return usageError{err}
	}
	defer nc.Close()
	fmt.Fprintf(a.err, "worker %s: %s, build %s; Ctrl-C lets its jobs move on\n", w.Name, plot.Count(w.Cores, "core"), w.Build)
	ctx, leave := context.WithCancelCause(a.ctx)
	defer leave(nil)
	if c.Leash {
		go func() {
			_, _ = io.Copy(io.Discard, a.in)
			leave(errors.New("its standard input has ended"))
		}()
	}
	return sweep.Work(ctx, nc, token, w)
}

type attemptCmd struct {
	Spec    string   `help:"The resolved spec." type:"path"`
	Seed    uint64   `help:"Train this seed of it."`
	Until   int      `help:"Stop at this env step."`
	Stage   string   `help:"Do this stage of it."`
	Score   string   `help:"Let the agent and the stranger of this file meet." type:"path"`
	Follow  bool     `help:"Do what follows the training."`
	Leash   bool     `help:"End at once when the standard input does."`
	Out     string   `help:"Folder of what is done." required:"" type:"path"`
	Workers int      `help:"Cores to use."`
	Words   []string `arg:"" optional:"" help:"Or do this command of hop." passthrough:"all"`
}

func (c attemptCmd) Run(a *app) error {
	a.reg.Trust.All = true // whoever let the worker join the coordinator trusts it
	if c.Leash {
		go func() {
			_, _ = io.Copy(io.Discard, a.in)
			orphaned()
		}()
	}
	if c.Score != "" {
		return sweep.Meet(a.ctx, a.lab(), c.Score, c.Out, c.Workers)
	}
	if c.Spec == "" {
		words := c.Words
		if len(words) > 0 && words[0] == "--" {
			words = words[1:]
		}
		if len(words) == 0 {
			return usage("neither --spec nor a command")
		}
		if err := queue.Line(words).Validate(); err != nil {
			return usageError{err}
		}
		own := *a
		own.out = io.Discard
		k, err := parse(&own, append(words, "--out", c.Out))
		if err != nil {
			return usageError{err}
		}
		return k.Run(own.reading(k))
	}
	spec, err := a.reg.Load(c.Spec, nil)
	if err != nil {
		return usageError{err}
	}
	l := a.lab()
	if c.Follow {
		return l.Follow(a.ctx, filepath.Join(c.Out, spec.Name+"-001"), c.Workers)
	}
	if c.Stage != "" {
		return l.PrepareStage(a.ctx, &spec, c.Stage, c.Out)
	}
	return l.Attempt(a.ctx, spec, c.Seed, c.Out, c.Workers, c.Until)
}
