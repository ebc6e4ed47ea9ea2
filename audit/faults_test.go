package audit_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hop/audit"
	checks "hop/audit/check"
	"hop/check"
	"hop/diag/faults"
	"hop/exp"
	"hop/registry"
	"hop/rng"
	"hop/train"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var (
	long  = flag.Bool("long", false, "audit as hop audit does, and print the table of docs/audit.md")
	all   = flag.Bool("all", false, "also the healthy runs that take longest")
	out   = flag.String("out", "", "folder to write the page of docs/faults.md#shared-rows to")
	named = flag.String("fault", "", "only faults whose names hold this text")
)

// tiny makes a preset small enough for many audits.
var tiny = map[string][]string{
	"ppo-4x4": {"train.envs=6", "train.window=24", "actor.hidden=[24]"},
	"hop-4x4": {
		"train.envs=4", "train.window=36", "search.trees=1", "search.sims=4", "moa.hidden=[24,24]", "actor.hidden=[24]", "leaf.kind=net",
	},
	"hop-coin":        {"train.envs=6", "moa.hidden=[24,24]", "actor.hidden=[24]"},
	"ppo-imagine-4x4": {"train.envs=20", "imagine.steps=40", "imagine.batch=128", "actor.hidden=[24]"},
}

func load(t *testing.T, preset string, small bool, sets ...string) exp.Spec {
	t.Helper()
	if small && tiny[preset] == nil {
		sets = append([]string{"train.envs=6", "actor.hidden=[24]"}, sets...)
	} else if small {
		sets = append(slices.Clone(tiny[preset]), sets...)
	}
	s, err := registry.New().Load(preset, sets)
	must(t, err)
	return s
}

// sample is which share of the planted faults every test run asks about.
const sample = 6

// options are those of a short audit, or with -long of hop audit.
func options(s *exp.Spec) audit.Options {
	opt := audit.Options{Seeds: []uint64{1}, Updates: 7, Episodes: 150}
	if s.Mind.Name == "hop" {
		opt.Updates = 4
	}
	if s.Imagine.On {
		opt.Updates = 9
	}
	if *long {
		opt = audit.Options{Seeds: []uint64{1}}
	}
	return opt
}

// Every planted fault is found, and its module named first. At least 23 of 25
// are asked for; none is missed.
func TestTableOfFaults(t *testing.T) {
	missed, all := 0, 0
	objected, asked := map[string]bool{}, map[string]bool{}
	s := load(t, "ppo-4x4", !*long)
	straight, err := s.Game.Build()
	must(t, err)
	known := checks.Game(straight, rng.New(1), 150) // all presets here play one game; asking once is enough
	list := faults.Named(*named)
	if f := faults.Frozen(75); *long && strings.Contains(f.Name, *named) {
		list = append(list, f) // as the users met it; an audit has 90 windows
	}
	for i, f := range list {
		if *named == "" && !*long && i%sample != 0 {
			continue // -args -fault " " asks all of them
		}
		t.Run(f.Name, func(t *testing.T) {
			s := load(t, f.Preset, !*long, f.Sets...)
			opt := options(&s)
			opt.Change, opt.Rows = f.Change, f.Rows
			if f.Module != "game" && !*long {
				opt.Game = known
			}
			at := time.Now()
			r, err := audit.Spec(t.Context(), s, opt)
			must(t, err)
			all++
			for _, g := range r.Findings {
				asked[g.Check] = true
				objected[g.Check] = objected[g.Check] || g.Status >= check.Suspect
			}
			if r.Verdict == check.Pass || r.Module != f.Module {
				missed++
				t.Errorf("%s (%s): got %v in %q (%s), want a finding in %s", f.Name, f.Says, r.Verdict, r.Module, r.Says, f.Module)
				for _, g := range r.Findings {
					if g.Status != check.Pass {
						t.Logf("  %v %s %s: %s", g.Status, g.Module, g.Check, g.Says)
					}
				}
			}
			if *long || *named != "" {
				fmt.Printf("| %s | %s | %v, %s | %s | %.1f s |\n", f.Name, f.Module, r.Verdict, r.Module, r.Says, time.Since(at).Seconds())
			}
		})
	}
	if *named == "" {
		t.Logf("%d of %d faults found in the right module", all-missed, all)
		for _, check := range slices.Sorted(maps.Keys(asked)) {
			if !objected[check] {
				t.Logf("never objected: %s", check)
			}
		}
	}
}

// A game that is wrapped and not bent passes, so the faults of the game are
// found for what they bend.
func TestWrappingAGameIsHarmless(t *testing.T) {
	s := load(t, "ppo-4x4", true)
	opt := options(&s)
	opt.Change = func(s *exp.Spec, p *train.Parts) { faults.Straight(s, p) }
	r, err := audit.Spec(t.Context(), s, opt)
	must(t, err)
	if r.Verdict != check.Pass {
		t.Errorf("got %v in %s: %s", r.Verdict, r.Module, r.Says)
	}
}

// The fault that cost the users most (docs/faults.md#shared-rows), with the options
// of hop audit. A minute of running time is allowed; the test gives it three on a
// busy machine.
func TestTheUsersFaultIsNamed(t *testing.T) {
	s := load(t, "ppo-4x4", !*long)
	opt := options(&s)
	opt.Change = faults.Named("all learn from agent 0's rows")[0].Change
	if *long {
		opt.Seeds = []uint64{1, 2, 3} // hop audit's
	}
	at := time.Now()
	r, err := audit.Spec(t.Context(), s, opt)
	must(t, err)
	const says = "Agents 1, 2 and 3 learn from agent 0's rows: 100 % of them, and from none of their own."
	if r.Verdict != check.Fault || r.Module != "ppo" || r.Says != says {
		t.Errorf("got %v in %q: %q, want %q", r.Verdict, r.Module, r.Says, says)
	}
	if spent := time.Since(at); spent > 3*time.Minute {
		t.Errorf("the audit took %v", spent)
	}
	if *out != "" {
		page, err := r.Page("hop audit ppo-4x4")
		must(t, err)
		must(t, os.WriteFile(filepath.Join(*out, "shared-rows.html"), page, 0o644))
	}
	t.Logf("named after %v", time.Since(at))
}
