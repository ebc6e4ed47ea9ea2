package lab

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/registry"
)

// A program that is no command line trains, goes on and evaluates with nobody
// watching.
func TestALabNeedsNoCommandLine(t *testing.T) {
	l, out := &Lab{Reg: registry.New(), Version: "test"}, t.TempDir()
	spec, err := l.Reg.Load("ppo-4x4", []string{"train.steps=3000", "train.save=1500", "eval.episodes=20"})
	if err != nil {
		t.Fatal(err)
	}
	training, err := l.NewTraining(spec, []uint64{1, 2}, out, 1)
	if err != nil {
		t.Fatal(err)
	}
	var scoring, report []int // what is said to be done
	var mu sync.Mutex
	l.Watch = func(n News) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case n.Kind == Scoring && n.Seed == 2 && n.Of == 40: // drawn and greedy
			scoring = append(scoring, n.At)
		case n.Kind == Counted && n.Of > 0:
			report = append(report, 1000*n.At/n.Of)
		}
	}
	first, err := l.Train(t.Context(), training)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(first.Report); err != nil || len(first.Seeds) != 2 || first.Run != filepath.Join(out, "ppo-4x4-001") {
		t.Errorf("%d seeds in %s, %v", len(first.Seeds), first.Run, err)
	}
	for what, done := range map[string][]int{"scoring": scoring, "the report": report} {
		if len(done) < 10 || done[0] != 0 || !slices.IsSorted(done) {
			t.Errorf("%s said %v; want many numbers, from 0 on", what, done)
		}
	}
	if n, m := len(scoring), len(report); n > 0 && scoring[n-1] != 40 || m > 0 && report[m-1] < 900 {
		t.Errorf("the last that was said: %v of 40 episodes, %v of 1000 of the report, and the page is left", scoring[n-1:], report[m-1:])
	}
	again, err := l.Reopen(first.Run, Further{}, 2)
	if err != nil {
		t.Fatal(err)
	}
	l.Watch = nil
	second, err := l.Train(t.Context(), again)
	if err != nil || second.Mean != first.Mean {
		t.Errorf("a finished training that goes on gets %+v, %v; want %v", second, err, first.Mean)
	}
}

// What was asked wrongly is told apart from what went wrong.
func TestMisuseIsAKindOfError(t *testing.T) {
	l := &Lab{Reg: registry.New()}
	g, _, err := l.NewGame("staghunt", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _, wrongGame := l.NewGame("staghunt", []string{"size=8"})
	_, wrongTeam := Eval(t.Context(), g, EvalConfig{Team: []string{"ns", "ns"}, Episodes: 1})
	_, wrongBots := Solve(t.Context(), g, SolveConfig{VS: []string{"nobody"}, Episodes: 1, Discount: 1})
	_, _, wrongEntry := l.Crossplay(t.Context(), CrossConfig{Entries: []string{"ns", "nobody"}, Episodes: 1})
	_, wrongKind := l.TrainZoo(t.Context(), prepare.Zoo{Who: []string{"no-such"}}, siteOf(t, l, "staghunt", t.TempDir()))
	_, wrongFolder := Folders(t.TempDir())
	for i, err := range []error{wrongGame, wrongTeam, wrongBots, wrongEntry, wrongKind, wrongFolder} {
		var m Misuse
		if !errors.As(err, &m) {
			t.Errorf("mistake %d: %v is no Misuse", i, err)
		}
	}
}
