// Command cmd builds the program with each slip of package mutants in it, audits the
// presets that run it, and prints what was found:
//
//	go run ./internal/mutants/cmd --jobs 8 --out table.jsonl --page docs/results/slips.md
//
// A line of JSON a slip goes to --out, and those that are there are not done again. With
// --healthy the program as it is is audited instead, over presets and seeds, and every
// finding worse than pass is printed. With --differs nothing is audited: it is shown
// that short runs of the patched program compute something else. With --must a slip that
// is missed, or found elsewhere, is an error; CI asks for some of every module so.
//
// Patches are laid over the tree with go build -overlay, so nothing in it changes.
// Models that a preset's training reads are made once, by the program as it is, unless
// the slip lies in the making of them.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"time"

	"github.com/hop-marl/hop/internal/mutants"
	"github.com/hop-marl/hop/train/registry"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := work(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func work(ctx context.Context) error {
	l := bench{reg: registry.New()}
	only := flag.String("only", "", "`regexp` of names: do those alone; with --healthy of presets")
	healthy := flag.Bool("healthy", false, "audit the program as it is, over presets and seeds")
	differs := flag.Bool("differs", false, "show that each slip changes what a short run computes")
	out := flag.String("out", "", "`file` of results, a line of JSON each; what it holds is not done again")
	must := flag.Bool("must", false, "fail if a slip is not found, or another module is named first")
	page := flag.String("page", "", "`file` to write the tables into, with the program that was audited")
	flag.IntVar(&l.jobs, "jobs", max(1, runtime.NumCPU()/4), "how many are done at once")
	flag.StringVar(&l.seeds, "seeds", "1-3", "seeds of an audit, `FROM-TO`; with --healthy as many audits, from each of them on")
	flag.DurationVar(&l.timeout, "timeout", 15*time.Minute, "longest time of one audit")
	flag.StringVar(&l.dir, "work", "", "`folder` for binaries and prepared models, which are kept; default: the user's cache")
	flag.Parse()
	match, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	if l.root, err = mutants.Root(); err != nil {
		return err
	}
	list, err := mutants.Load(l.root)
	if err != nil {
		return err
	}
	if l.held, err = mutants.HeldBack(l.root); err != nil {
		return err
	}
	if err := l.open(ctx, *out); err != nil {
		return err
	}
	switch {
	case *healthy:
		return l.auditHealthy(ctx, match)
	case *differs:
		return l.showDifferences(ctx, pick(list, match))
	}
	return l.auditAll(ctx, pick(list, match), *page, *must)
}

func pick(list []mutants.Record, match *regexp.Regexp) (out []mutants.Record) {
	for _, r := range list {
		if match.MatchString(r.Name) {
			out = append(out, r)
		}
	}
	return out
}
