// Package cli is the command line: flags, progress, signals and exit codes. Main is
// the whole program, for the games and presets of the registry that it is handed.
//
// The work is in the packages below it. Every command writes its result to stdout (with --json
// one object) and progress and prose to stderr. Exit codes: 0 done, 1 failed,
// 2 wrong usage.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"hop/exp"
	"hop/lab"
)

// version is set by release builds.
var version = "dev"

type grammar struct {
	List      listCmd      `cmd:"" help:"List games, minds, bots, presets or spec fields."`
	Show      showCmd      `cmd:"" help:"Print what a preset, a spec file or a run resolves to, or how two differ."`
	Train     trainCmd     `cmd:"" help:"Train agents, score them, write a report."`
	Eval      evalCmd      `cmd:"" help:"Play a team and count what it gets."`
	Report    reportCmd    `cmd:"" help:"Turn run folders into a page with figures."`
	Audit     auditCmd     `cmd:"" help:"Which module is at fault? Train for seconds, watched, and ask in order."`
	Adapt     adaptCmd     `cmd:"" help:"Live among co-players, strangers or not: how fast and how well does it adapt?"`
	Crossplay crossplayCmd `cmd:"" help:"Everyone with everyone: a matrix of who gets what among whom."`
	Compare   compareCmd   `cmd:"" help:"Variants and seeds in one command: train what is missing, then compare."`
	Play      playCmd      `cmd:"" help:"Watch an episode, or join in."`
	Collect   collectCmd   `cmd:"" help:"Write a dataset of played episodes."`
	Pretrain  pretrainCmd  `cmd:"" help:"Learn a model from recorded episodes, with a report card."`
	Oracle    oracleCmd    `cmd:"" help:"Exact best responses to scripted co-players."`
	Ladder    ladderCmd    `cmd:"" help:"What is each module worth, and what does its imperfection cost?"`
	Bench     benchCmd     `cmd:"" help:"Measure speeds on this machine."`
	Zoo       zooCmd       `cmd:"" help:"Co-players that have learnt: train them, list them."`
	Version   versionCmd   `cmd:"" help:"Print the version."`
}

// app is what every command is given.
type app struct {
	ctx      context.Context
	reg      *exp.Registry // what commands can name
	in       io.Reader
	out, err io.Writer
}

// lab is where the app's experiments are run.
func (a *app) lab() *lab.Lab {
	return &lab.Lab{Reg: a.reg, Version: version, Command: os.Args, Watch: a.view(), Do: a.stage}
}

// worker is a command that can be a stage: it does its work and prints nothing.
type worker interface {
	work(ctx context.Context, l *lab.Lab) (any, error)
}

// stage does what the words of a spec's stage ask for.
func (a *app) stage(ctx context.Context, words []string) error {
	k, err := parse(&app{ctx, a.reg, strings.NewReader(""), io.Discard, io.Discard}, words)
	if err != nil {
		return usageError{err}
	}
	w, ok := k.Selected().Target.Interface().(worker)
	if !ok {
		return usage("hop %s cannot be a stage", k.Command())
	}
	_, err = w.work(ctx, a.lab())
	return err
}

// Main runs the program on the process's arguments, stops it cleanly at a signal,
// and exits.
func Main(reg *exp.Registry) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Run(ctx, reg, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Run runs one command line, without the program's name, and returns its exit
// code. Results go to out, progress and prose to err.
func Run(ctx context.Context, reg *exp.Registry, args []string, in io.Reader, out, err io.Writer) int {
	return run(&app{ctx, reg, in, out, err}, args)
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
	parser, err := kong.New(
		&grammar{},
		kong.Name("hop"),
		kong.Description(text("hop")),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.Writers(a.out, a.err),
		flagHelp(),
		kong.Exit(func(code int) { panic(exited(code)) }),
	)
	if err != nil {
		panic(err) // a mistake in the flags' tags
	}
	describe(parser)
	return parser.Parse(args)
}

func run(a *app, args []string) int {
	if len(args) == 0 {
		args = []string{"--help"}
	}
	k, err := parse(a, args)
	var help exited
	if errors.As(err, &help) {
		return int(help)
	}
	if err != nil {
		fmt.Fprintf(a.err, "hop: %v\nTry: hop --help\n", err)
		return 2
	}
	if err := k.Run(a); err != nil {
		var u usageError
		var m lab.Misuse
		switch {
		case errors.Is(err, context.Canceled):
			fmt.Fprintln(a.err, "hop: stopped")
			return 1
		case errors.As(err, &u), errors.As(err, &m):
			fmt.Fprintf(a.err, "hop: %v\n", err)
			return 2
		}
		fmt.Fprintf(a.err, "hop: %v\n", err)
		return 1
	}
	return 0
}

// usageError is a mistake in what the user asked for, not in what happened.
type usageError struct{ error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// emit writes the result as one JSON object.
func (a *app) emit(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

type versionCmd struct{}

func (versionCmd) Run(a *app) error {
	_, err := fmt.Fprintf(a.out, "hop %s\n", version)
	return err
}
