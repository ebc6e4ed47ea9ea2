package audit_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/audit"
	checks "github.com/hop-marl/hop/audit/check"
	"github.com/hop-marl/hop/audit/record"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var (
	long = flag.Bool("long", false, "audit as hop audit does, and print a table")
	all  = flag.Bool("all", false, "the healthy runs that take longest, which are left out without it")
	out  = flag.String("out", "", "folder to write the page of docs/faults.md#shared-rows to")
)

// tiny makes a preset small enough for many audits.
var tiny = map[string][]string{
	"ppo-4x4": {"train.envs=6", "train.window=24", "actor.hidden=[24]"},
	"hop-4x4": {
		"train.envs=4", "train.window=36", "search.trees=1", "search.sims=4", "moa.hidden=[24,24]", "actor.hidden=[24]", "leaf.kind=net",
	},
	"hop-coin": {"train.envs=6", "moa.hidden=[24,24]", "actor.hidden=[24]"},
	"hop+": {
		"train.envs=6", "train.window=36", "search.trees=2", "search.sims=6", "actor.hidden=[24]",
	},
	"ppo-imagine-4x4": {"train.envs=20", "imagine.steps=40", "imagine.batch=128", "actor.hidden=[24]"},
}

func load(t *testing.T, preset string, small bool, sets ...string) spec.Spec {
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

// options are those of a short audit, or with -long of hop audit.
func options(s *spec.Spec) audit.Options {
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

// planted are faults where parts are put together, the ones that our users met
// (docs/faults.md). Slips in the source are internal/mutants'.
var planted = []struct {
	name, module string
	change       func(p *train.Parts)
}{
	{"actions of agents that had left", "buffers", onWindows(func(ro *batch.Rollout, _ agent.ID, _, _, step, slot int) {
		if !ro.Alive[slot] {
			ro.Action[step] = 4
		}
	})},
	{"the next agent's rewards", "buffers", func(p *train.Parts) {
		p.Watch = func(ro *batch.Rollout, _ bool) {
			n := ro.Steps * ro.Envs
			ro.Reward = slices.Concat(ro.Reward[n:], ro.Reward[:n])
		}
	}},
	{"cuts are called exits", "buffers", onWindows(func(ro *batch.Rollout, _ agent.ID, _, _, step, _ int) {
		if ro.End[step] == batch.Cut {
			ro.End[step] = batch.Exited
		}
	})},
	{"all-ones masks", "buffers", onWindows(func(ro *batch.Rollout, _ agent.ID, _, _, _, slot int) {
		for k := range ro.LegalAt(slot) {
			ro.LegalAt(slot)[k] = true
		}
	})},
	{"only agent 0 learns", "ppo", onLearners(func(m learner.Mind, w *learner.Window) ([]agent.Stat, error) {
		acting, _ := learner.As[learner.Acting](m)
		_, params := acting.Actor()
		was := slices.Clone(params.W)
		stats, err := m.Learn(w)
		if m.Agents()[0] > 0 {
			copy(params.W, was)
		}
		return stats, err
	})},
	{"all learn from agent 0's rows", "ppo", sharedRows},
}

// onWindows changes every row of every window between playing and learning.
func onWindows(edit func(ro *batch.Rollout, a agent.ID, t, n, step, slot int)) func(*train.Parts) {
	return func(p *train.Parts) {
		p.Watch = func(ro *batch.Rollout, _ bool) {
			for a := range agent.ID(ro.Agents) {
				record.Each(ro, a, func(t, n, step, slot int) { edit(ro, a, t, n, step, slot) })
			}
		}
	}
}

// onLearners puts something between the loop and every mind's learning.
func onLearners(learn func(m learner.Mind, w *learner.Window) ([]agent.Stat, error)) func(*train.Parts) {
	return func(p *train.Parts) {
		for i, m := range p.Minds {
			p.Minds[i] = bent{m, learn}
		}
	}
}

// bent is a mind that learns otherwise.
type bent struct {
	learner.Mind
	learn func(m learner.Mind, w *learner.Window) ([]agent.Stat, error)
}

func (b bent) Learn(w *learner.Window) ([]agent.Stat, error) { return b.learn(b.Mind, w) }

// Unwrap returns the mind behind it.
func (b bent) Unwrap() learner.Mind { return b.Mind }

// sharedRows lets every mind learn from agent 0's rows, as if they were its own.
func sharedRows(p *train.Parts) {
	onLearners(func(m learner.Mind, w *learner.Window) ([]agent.Stat, error) {
		c, me := *w, m.Agents()[0]
		c.Rollout = batch.New(w.Shape)
		c.CopyFrom(w.Rollout)
		ro := c.Rollout
		record.Each(ro, me, func(t, n, step, slot int) {
			from := ro.Step(0, t, n)
			ro.Action[step], ro.Reward[step], ro.LogProb[step] = ro.Action[from], ro.Reward[from], ro.LogProb[from]
			ro.Own[step], ro.End[step] = ro.Own[from], ro.End[from]
			copy(ro.TargetAt(step), ro.TargetAt(from))
		})
		for t := range ro.Steps + 1 {
			for n := range ro.Envs {
				slot, at := ro.Slot(me, t, n), ro.Slot(0, t, n)
				ro.Alive[slot], ro.Value[slot], ro.Seat[slot] = ro.Alive[at], ro.Value[at], ro.Seat[at]
				copy(ro.ObsAt(slot), ro.ObsAt(at))
				copy(ro.LegalAt(slot), ro.LegalAt(at))
				copy(ro.GoalAt(slot), ro.GoalAt(at))
			}
		}
		return m.Learn(&c)
	})(p)
}

// Every planted fault is found, and its module named first. It takes 6 s of processor time: a
// watched training for each fault.
func TestPlantedFaultsAreNamed(t *testing.T) {
	s := load(t, "ppo-4x4", true)
	g, err := s.Game.Build()
	must(t, err)
	known := checks.Game(g, rng.New(1), 150) // asking once is enough
	for _, f := range planted {
		t.Run(f.name, func(t *testing.T) {
			opt := options(&s)
			opt.Game, opt.Change = known, func(_ *spec.Spec, p *train.Parts) { f.change(p) }
			r, err := audit.Spec(t.Context(), s, opt)
			must(t, err)
			if r.Verdict == check.Pass || r.Module != f.module {
				t.Errorf("got %v in %q (%s), want a finding in %s", r.Verdict, r.Module, r.Says, f.module)
			}
		})
	}
}

// The fault that cost the users most (docs/faults.md#shared-rows), with the options
// of hop audit. A minute of running time is allowed; the test gives it three on a
// busy machine.
func TestTheUsersFaultIsNamed(t *testing.T) {
	s := load(t, "ppo-4x4", !*long)
	opt := options(&s)
	opt.Change = func(_ *spec.Spec, p *train.Parts) { sharedRows(p) }
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
	if !slices.ContainsFunc(r.Findings, func(f check.Finding) bool {
		return strings.Contains(f.Says, " It shows with a single row: agent 1's step ") && strings.Contains(f.Next, ".go:") &&
			strings.Contains(f.Next, "; mend: ")
	}) {
		t.Error("no update is shown by a single row, or where it is made and what mends it is not said")
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
