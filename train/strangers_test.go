package train_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/spec/spectest"
)

// scored splits a run's metrics into those about strangers, by name and agent, and the
// rest.
func scored(t *testing.T, r spectest.Run) (strangers map[string][]runlog.Row, rest []runlog.Row) {
	t.Helper()
	rows, err := runlog.ReadMetrics(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	strangers = map[string][]runlog.Row{}
	for _, row := range rows {
		if name, ok := strings.CutPrefix(row.Name, train.StrangerMetric); ok {
			at := fmt.Sprintf("%d/%s", row.Agent, name)
			strangers[at] = append(strangers[at], row)
		} else {
			rest = append(rest, row)
		}
	}
	return strangers, rest
}

// Models of others are scored before the first window and after every one that is due, of
// every agent and kind, and nothing of the training changes: every other number and every
// tensor of the checkpoint but what the guards remember are the same to the byte.
func TestScoringOnStrangersChangesNothing(t *testing.T) {
	without := spectest.Play(t, spectest.With(t, spectest.Planner, "train.strangers.every=0"), 1, 1)
	with := spectest.Play(t, spectest.With(t, spectest.Planner, "train.strangers.every=1"), 1, 2)
	none, want := scored(t, without)
	got, rest := scored(t, with)
	if len(none) != 0 || !slices.Equal(rest, want) {
		t.Errorf("%d numbers about strangers without scoring; the other numbers are the same: %v", len(none), slices.Equal(rest, want))
	}
	a, errA := safetensors.Parse(without.Last(t))
	b, errB := safetensors.Parse(with.Last(t))
	if errA != nil || errB != nil || len(a.Tensors) != len(b.Tensors) {
		t.Fatal(errA, errB, len(a.Tensors), len(b.Tensors))
	}
	for i, x := range a.Tensors {
		if y := b.Tensors[i]; x.Name != y.Name || x.Name != "guards" && !bytes.Equal(x.Data, y.Data) {
			t.Errorf("%s is not what it is without scoring", x.Name)
		}
	}
	for a := range 4 {
		for _, kind := range []string{"ns", "nh", "all"} {
			for _, name := range []string{"top1", "ce", "limit", "limit_ce"} {
				at := fmt.Sprintf("%d/%s/%s", a, kind, name)
				rows := got[at]
				if len(rows) != 1+len(with.Seen) || rows[0].Step != 0 || rows[0].N < 100 {
					t.Fatalf("%s: %d rows, want %d from step 0 on with at least 100 steps each", at, len(rows), 1+len(with.Seen))
				}
				for _, row := range rows {
					if limit := strings.HasPrefix(name, "limit"); limit && row.Value != rows[0].Value || row.N != rows[0].N {
						t.Errorf("%s: %v over %d at step %d, first %v over %d", at, row.Value, row.N, row.Step, rows[0].Value, rows[0].N)
					}
				}
			}
			top1, limit := got[fmt.Sprintf("%d/%s/top1", a, kind)], got[fmt.Sprintf("%d/%s/limit", a, kind)]
			if last := top1[len(top1)-1].Value; last == top1[0].Value || kind == "all" && last > limit[0].Value {
				t.Errorf("top-1 of %s, agent %d: %v, then %v, of %v at most", kind, a, top1[0].Value, last, limit[0].Value)
			}
			starts := got[fmt.Sprintf("%d/%s/start", a, kind)]
			best := 0. // of the warm-up, two windows, and before
			for _, row := range top1[:3] {
				best = max(best, row.Value)
			}
			if len(starts) != len(with.Seen)-1 || starts[0].Value != best || starts[len(starts)-1].Value != best {
				t.Errorf("the start of %s, agent %d: %v, want %v from the end of the warm-up on", kind, a, starts, best)
			}
		}
	}
}

// A model that stays as it is scores the same every time: strangers, their dealing and
// what is remembered of them begin anew. Three kinds are dealt as well.
func TestStrangersAreTheSameEveryTime(t *testing.T) {
	sets := []string{"train.strangers.every=2", "moa.passes=0", "train.strangers.who=[ns, nh, switcher]", "train.steps=700"}
	run := spectest.Play(t, spectest.With(t, spectest.Planner, sets...), 1, 2)
	got, _ := scored(t, run)
	rows := got["3/switcher/ce"]
	if len(rows) != 2+len(run.Seen)/2 && len(rows) != 1+len(run.Seen)/2 {
		t.Errorf("%d scorings in %d windows", len(rows), len(run.Seen))
	}
	for name, rows := range got {
		for _, row := range rows {
			if row.Value != rows[0].Value || math.IsNaN(row.Value) {
				t.Errorf("%s is %v at step %d, %v at first", name, row.Value, row.Step, rows[0].Value)
			}
		}
		if strings.Contains(name, "limit") {
			t.Errorf("%s: the switcher remembers episodes, so nobody knows a limit", name)
		}
	}
}

// A model of others that loses what it knew is named, at its agent, as a fault of moa;
// one that keeps it is not.
func TestGuardsFindAModelOfOthersThatForgets(t *testing.T) {
	text := spectest.With(t, spectest.Planner, "train.envs=16", "train.steps=1800", "train.warm.windows=2", "moa.passes=6", "moa.lr=0.003",
		"train.standins.share=1", "train.strangers.every=1")
	for _, forgets := range []bool{true, false} {
		found, err := planted(t, text, func(p *train.Parts) {
			around(p, func(_ *nn.Params, update int, stats []agent.Stat) []agent.Stat {
				nets, _ := learner.As[learner.Networked](p.Minds[2])
				for _, net := range nets.Networks() {
					if net.Module == "moa" && update > 2 && forgets {
						clear(net.Params.W)
					}
				}
				return stats
			})
		})
		var named []check.Finding
		for _, f := range found {
			if f.Check == "model of others forgets" {
				named = append(named, f)
			}
		}
		if !forgets && len(named) > 0 || forgets && (len(named) != 1 || named[0].Module != "moa" || named[0].Agent() != 2) || err != nil {
			t.Errorf("it forgets: %v; found %+v, %v", forgets, named, err)
		}
	}
}
