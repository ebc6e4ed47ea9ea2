// Package cli is the command line: flags, progress, signals and exit codes. Main is
// the whole program, for the games and presets of the registry that it is handed.
//
// The work is in the packages below it. Every command writes its result to stdout (with --json
// one object) and progress and prose to stderr. Exit codes: 0 done, 1 failed or stopped,
// 2 wrong usage, 130 ended at once by a second signal.
package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/hop-marl/hop/cmd/cli/board"
	"github.com/hop-marl/hop/cmd/cli/complete"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/pyenv"
	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/serve/jobs"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/spec"
)

// version is set by release builds.
var version = "dev"

// verbs are the commands of the command line.
type verbs struct {
	List      listCmd      `cmd:"" help:"List games, minds, bots, presets or spec fields."`
	Ls        lsCmd        `cmd:"" help:"List the runs in a folder: state, score, and the settings in which they differ."`
	Mv        mvCmd        `cmd:"" help:"Rename or move a run."`
	Rm        rmCmd        `cmd:"" help:"Move runs into the folder .trash beside them."`
	Show      showCmd      `cmd:"" help:"Print what a preset, a spec file or a run resolves to, or how two differ."`
	Train     trainCmd     `cmd:"" help:"Train agents, score them, write a report."`
	Eval      evalCmd      `cmd:"" help:"Play a team and count what it gets."`
	Report    reportCmd    `cmd:"" help:"Turn run folders into a page with figures."`
	Audit     auditCmd     `cmd:"" help:"Which module is at fault? Train for seconds, watched, and look in order; or examine a run, or records of other code."`
	Adapt     adaptCmd     `cmd:"" help:"Let an agent live among co-players, strangers or not: how fast and how well does it adapt?"`
	Strangers strangersCmd `cmd:"" help:"Co-players that nobody was raised with: list them, look at one, score agents among them."`
	Crossplay crossplayCmd `cmd:"" help:"Let everyone play with everyone: a matrix of who gets what among whom."`
	Compare   compareCmd   `cmd:"" help:"Compare variants over seeds, and train first what is missing."`
	Play      playCmd      `cmd:"" help:"Watch an episode, or join in."`
	Collect   collectCmd   `cmd:"" help:"Write a dataset of played episodes."`
	Pretrain  pretrainCmd  `cmd:"" help:"Learn a model from recorded episodes, with a report card."`
	Oracle    oracleCmd    `cmd:"" help:"Exact best responses to scripted co-players."`
	Ladder    ladderCmd    `cmd:"" help:"What is each module worth, and what does its imperfection cost?"`
	Export    exportCmd    `cmd:"" help:"Write the networks of a run's agents as ONNX files, which run without hop."`
	Bench     benchCmd     `cmd:"" help:"Measure speeds on this machine."`
	Serve     serveCmd     `cmd:"" help:"Watch, compare, replay and join runs in the browser."`
	Zoo       zooCmd       `cmd:"" help:"Co-players that have learnt: train them, list them."`
	Sweep     sweepCmd     `cmd:"" help:"Train many variants with many seeds, here or on many machines."`
	Worker    workerCmd    `cmd:"" help:"Do the jobs of sweeps elsewhere."`
	Attempt   attemptCmd   `cmd:"" hidden:"" help:"Do one job of a sweep, as its workers do."`
	Bridge    bridgeCmd    `cmd:"" hidden:"" help:"Serve games and agents to a program that has started this one, such as hop's Python package."`
	Trust     trustCmd     `cmd:"" help:"Trust a folder that somebody else made to run what it names."`
	Version   versionCmd   `cmd:"" help:"Print version, commit, Go and kernel set."`

	Completion completionCmd `cmd:"" help:"Print a script that lets your shell complete hop's commands."`
}

// grammar is the command line.
type grammar struct {
	Commands any `embed:""` // verbs, or one of them

	AcceptOlder bool `help:"Where a run's newest checkpoint is damaged, use an older one; without this, that is refused."`

	AcceptUnsealed bool `help:"Use a record that an earlier hop wrote without a seal; without this, that is refused."`

	Notify string `help:"When it has ended, run this command of yours, with the result in a sentence as its last word or in place of {}." placeholder:"CMD"`

	AnyFolder bool `name:"trust" help:"Run what folders name that somebody else made, for this once (hop trust)."`

	Built kong.VersionFlag `name:"version" help:"Print version, commit, Go and kernel set."`
}

// app is what every command is given.
type app struct {
	ctx      context.Context
	reg      *spec.Registry // what commands can name
	in       io.Reader
	out, err io.Writer
	end      *ending
}

// lab is where the app's experiments are run.
func (a *app) lab() *lab.Lab {
	watch := board.Watch(a.in, a.err, endNow)
	if a.reg.Runs != nil {
		a.reg.Runs.Watch = func(u runlog.Used) { watch(lab.News{Kind: lab.Noted, Text: u.String()}) }
	}
	return &lab.Lab{Reg: a.reg, Version: version, Command: withoutNotify(os.Args), Watch: watch}
}

// terminal says whether progress goes to a terminal.
func (a *app) terminal() bool { return board.Terminal(a.err) }

// progress begins to show work; End must be called.
func (a *app) progress(what string) *board.Progress { return board.Begin(a.err, what) }

// reading returns the app with runs read as its command line says: every checkpoint that
// is used is named, an older one than the newest only if that was accepted, and what
// folders name to run refused unless they are trusted.
func (a *app) reading(k *kong.Context) *app {
	b, reg := *a, *a.reg
	given := k.Model.Target.Interface().(grammar)
	runs := &runlog.Reader{Watch: func(u runlog.Used) { fmt.Fprintln(a.err, "note:", u) }}
	runs.AcceptOlder, runs.AcceptUnsealed, reg.Trust.All = given.AcceptOlder, given.AcceptUnsealed, reg.Trust.All || given.AnyFolder
	if was := a.reg.Runs; was != nil {
		runs.AcceptOlder, runs.AcceptUnsealed = runs.AcceptOlder || was.AcceptOlder, runs.AcceptUnsealed || was.AcceptUnsealed
	}
	reg.Runs = runs
	b.reg = &reg
	return &b
}

// Main runs the program on the process's arguments, stops it cleanly at a signal and
// at once at a second one, and exits.
func Main(reg *spec.Registry) {
	ctx, done := listen(os.Stderr)
	code := Run(ctx, reg, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	done()
	if many := pyenv.Lenient(); many > 0 {
		fmt.Fprintf(os.Stderr, "note: %d observations, rewards or agents were outside of what the environment declares, and were put up with "+
			"(lenient)\n", many)
	}
	reg.Close()
	os.Exit(code)
}

// Run runs one command line, without the program's name, and returns its exit
// code. Results go to out, progress and prose to err.
func Run(ctx context.Context, reg *spec.Registry, args []string, in io.Reader, out, err io.Writer) int {
	return run(&app{ctx: ctx, reg: reg, in: in, out: out, err: err}, args)
}

// exited is kong's wish to exit, after --help.
type exited int

func (e exited) Error() string { return "only help was asked for" }

// parse reads a command line; the error is exited when help was all it asked for.
func parse(a *app, args []string) (k *kong.Context, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case exited:
			err = r
		default:
			panic(r)
		}
	}()
	if k, err = newParser(a, args[0]).Parse(args); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, brieflyHelp(err))
	}
	return k, notNegative(k)
}

// newParser returns what reads command lines that begin with a word; "": all of them.
func newParser(a *app, word string) *kong.Kong {
	parser, err := kong.New(
		newGrammar(word),
		kong.Name("hop"),
		kong.Description(text("hop")),
		kong.UsageOnError(),
		kong.KindMapper(reflect.Int, kong.MapperFunc(whole)), kong.KindMapper(reflect.Int64, kong.MapperFunc(whole)),
		kong.KindMapper(reflect.Uint64, kong.MapperFunc(whole)),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.Writers(a.out, a.err),
		kong.Vars{"version": thisBuild().Line()},
		kong.Exit(func(code int) { panic(exited(code)) }),
	)
	if err == nil {
		err = nameBreeds(parser.Model.Node, a.reg)
	}
	if err != nil {
		panic(err) // a mistake in the flags' tags
	}
	describe(parser)
	return parser
}

// notNegative refuses numbers below 0 where a flag has no use for them. Those that do
// have one below 0 as their default.
func notNegative(k *kong.Context) error {
	for _, p := range k.Path {
		if p.Flag == nil || strings.HasPrefix(p.Flag.Default, "-") || !p.Flag.Target.CanInt() || p.Flag.Target.Int() >= 0 {
			continue
		}
		return fmt.Errorf("--%s %v: want 0 or more", p.Flag.Name, p.Flag.Target.Interface())
	}
	return nil
}

// run runs a command line, says what went wrong, and returns the exit code.
func run(a *app, args []string) int {
	a.end = &ending{}
	if !a.terminal() {
		a.err = &board.Shared{Writer: a.err} // progress keeps time beside the work
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	if args[0] == "__complete" && len(args) > 1 {
		complete.Word(a.out, newParser(a, "").Model.Node, a.reg, lab.Planners, args[1:])
		return 0
	}
	if args[0] == "__interrupt" && len(args) > 1 {
		return a.failed(jobs.Interrupt(args[1]))
	}
	k, err := parse(a, args)
	var help exited
	if errors.As(err, &help) {
		return int(help)
	}
	if err != nil {
		fmt.Fprintf(a.err, "hop: %v\n", err)
		return 2
	}
	notify, err := notifier(k.Model.Target.Interface().(grammar).Notify)
	if err != nil {
		return a.failed(err)
	}
	began := time.Now()
	err = game.Attempt(func() error { return k.Run(a.reading(k)) })
	code := a.failed(err)
	a.over(k.Selected().Path(), err, time.Since(began), notify)
	return code
}

// failed says what went wrong, once, and returns the exit code.
func (a *app) failed(err error) int {
	var wrong usageError
	var misuse lab.Misuse
	var stopped lab.Stopped
	switch {
	case err == nil:
		return 0
	case errors.As(err, &stopped):
		fmt.Fprintf(a.err, "hop: stopped; %s\n", stopped.Next)
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(a.err, "hop: stopped")
	case errors.Is(err, runlog.ErrDamaged):
		fmt.Fprintf(a.err, "hop: %s\n", byFlags(err))
	case errors.As(err, &wrong), errors.As(err, &misuse), errors.Is(err, runlog.ErrNoRun), errors.Is(err, dataset.ErrNone):
		fmt.Fprintf(a.err, "hop: %s\n", byFlags(err))
		return 2
	default:
		fmt.Fprintf(a.err, "hop: %s\n", byFlags(err))
	}
	return 1
}

// byEnv is how faults begin that are about what --env named.
var byEnv = regexp.MustCompile(`(--set game\.env=\S+: )?game\.env is (\S+), want an environment that can be played: `)

// byFlags is an error with an environment called as the user named it: by --env.
func byFlags(err error) string { return byEnv.ReplaceAllString(err.Error(), "--env $2: ") }

// usageError is a mistake in what the user asked for, not in what happened.
type usageError struct{ error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// emit writes the result as one JSON object. Whatever it is, it says which checkpoints
// were read for it.
func (a *app) emit(v any) error {
	b, err := disk.JSON(v)
	if err != nil {
		return err
	}
	var keys struct{ Checkpoints json.RawMessage }
	if used := a.reg.Runs.Used(); len(used) > 0 && json.Unmarshal(b, &keys) == nil && keys.Checkpoints == nil {
		list, err := json.MarshalIndent(used, "  ", "  ")
		if err != nil {
			return err
		}
		b = fmt.Appendf(bytes.TrimSuffix(bytes.TrimSpace(b), []byte("\n}")), ",\n  \"checkpoints\": %s\n}\n", list)
	}
	_, err = a.out.Write(b)
	return err
}

// jsonFlag is of commands whose answer a program can read.
type jsonFlag struct {
	JSON bool `help:"Print one JSON object."`
}

// answer writes the answer: as one JSON object, or as text.
func (c jsonFlag) answer(a *app, v any, text string) error {
	if first, _, _ := strings.Cut(strings.TrimSpace(text), "\n"); a.end.says == "" {
		a.end.says = first
	}
	if c.JSON {
		return a.emit(v)
	}
	_, err := fmt.Fprint(a.out, text)
	return err
}

// thisBuild says which program it is.
func thisBuild() runlog.Build { return runlog.NewBuild(version, f32.Kernels()) }

type versionCmd struct{ jsonFlag }

func (c versionCmd) Run(a *app) error {
	return c.answer(a, thisBuild(), thisBuild().Line()+"\n")
}

// patience is how long the first signal may take before it is said what a second one does.
const patience = time.Second

// killed is the exit code of a program that a signal has ended, as shells have it.
const killed = 130

// stops are the signals that ask for an end: Ctrl-C, a polite kill, and a terminal that
// is gone. Under nohup the last is ignored, as whoever wrote nohup wants it.
func stops() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}

// listen returns a context that the first signal ends: what is running saves and stops.
// A second signal ends the program at once.
func listen(out io.Writer) (ctx context.Context, stop func()) {
	screen, _ = term.GetState(int(os.Stdin.Fd()))
	ctx, cancel := context.WithCancelCause(context.Background())
	signals, done := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(signals, stops()...)
	go watchPython(out, done)
	go func() {
		var first time.Time
		select {
		case s := <-signals:
			first = time.Now()
			cancel(fmt.Errorf("%v signal received", s))
		case <-done:
			return
		}
		late := time.After(patience)
		for {
			select {
			case s := <-signals:
				if !echo(s, time.Since(first)) {
					endNow()
				}
			case <-done:
				return
			case <-late:
				fmt.Fprintln(out, "hop: stopping; a second signal ends it at once, and what is not saved is then lost")
				for _, w := range pyenv.Waiting() {
					if w.For > patience/2 {
						fmt.Fprintf(out, "hop: %s; a second signal ends it\n", w.Text)
					}
				}
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}

// echo reports whether a second signal is the first one once more: timeout(1) sends its signal to the
// program and then to its group, within a moment. Nobody presses Ctrl-C twice as fast.
func echo(s os.Signal, after time.Duration) bool {
	return after < 100*time.Millisecond || s != os.Interrupt && after < time.Second
}

// How long Python may take before it is said, once and at every doubling: to make an environment, and to answer.
const (
	slowOpening = 3 * time.Second
	slowAnswer  = 60 * time.Second
)

// watchPython says what Python is waited for.
func watchPython(out io.Writer, done <-chan struct{}) {
	said := map[int]pyenv.Wait{}
	for {
		select {
		case <-done:
			return
		case <-time.After(time.Second / 2):
		}
		for _, w := range slow(pyenv.Waiting(), said) {
			fmt.Fprintf(out, "note: %s\n", w)
		}
	}
}

// slow returns what is to be said of what is waited for; said is what was, by worker.
func slow(list []pyenv.Wait, said map[int]pyenv.Wait) (lines []string) {
	for _, w := range list {
		least := slowAnswer
		if w.Opening {
			least = slowOpening
		}
		if was := said[w.Worker]; was.Number == w.Number && was.Worker != 0 {
			least = 2 * was.For
		}
		if w.For >= least {
			said[w.Worker] = w
			lines = append(lines, w.Text)
		}
	}
	return lines
}

// orphaned ends a program whose starter has died: nobody waits for what it would save.
func orphaned() { os.Exit(killed) }

// screen is how the terminal was when the program began; nil: there is none.
var screen *term.State

// endNow ends the program, which somebody has asked for a second time.
func endNow() {
	if screen != nil { // the live view reads single keys and hides the cursor
		_ = term.Restore(int(os.Stdin.Fd()), screen)
	}
	if board.Terminal(os.Stderr) {
		fmt.Fprint(os.Stderr, "\x1b[?25h")
	}
	fmt.Fprintln(os.Stderr, "\nhop: ended at once, as asked a second time; what was not saved is lost, and what was saved is whole")
	os.Exit(killed)
}
