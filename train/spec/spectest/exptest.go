// Package spectest runs specs in tests, and holds them to what every run promises.
package spectest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
)

// Registry makes what specs can name. Tests of a program that has games or learners of its own
// put its registry here.
var Registry = registry.New

// Small is a spec of a PPO run of a second or less; what follows goes into its
// train block.
func Small(more string) string {
	return "actor: {hidden: [16]}\ntrain:\n  envs: 16\n  window: 16\n  steps: 8000\n  save: 2000\n" + more
}

// Planner is a spec of a short run of agents that plan.
const Planner = `
mind: hop
actor: {hidden: [16]}
ppo: {lambda: 1, epochs: 1, minibatch: 128}
leaf: {kind: both}
search: {trees: 2, sims: 6, act: visits}
moa: {hidden: [16, 16]}
train:
  envs: 6
  window: 40
  steps: 1000
  save: 300
  warm: {windows: 2, who: [ns, nh]}
  standins: {share: 0.2, teams: 0.2, who: [nh, ns]}
`

// Imagining is a spec of a short run with imagination from its second window on.
const Imagining = `
actor: {hidden: [16]}
imagine: {on: true, trust: 0, refresh: 2, length: 8, steps: 4, batch: 64, rows: 600, model: {hidden: [8]}}
train: {envs: 16, window: 16, save: 1000, steps: 2500}
`

// ImaginingAlone is a spec of a short run in which each agent imagines for itself, among
// others who act as its model of them says.
const ImaginingAlone = `
mind: hop
own: ppo
actor: {hidden: [16]}
moa: {hidden: [16, 16]}
search: {kind: none}
leaf: {kind: net}
imagine: {on: true, others: model, trust: 0, refresh: 2, length: 8, steps: 4, batch: 64, rows: 300, model: {hidden: [8]}}
train: {envs: 6, window: 40, save: 300, steps: 1000}
`

// With returns a spec with fields set.
func With(t testing.TB, text string, sets ...string) string {
	t.Helper()
	yaml, err := Parse(t, text, sets...).YAML()
	if err != nil {
		t.Fatal(err)
	}
	return string(yaml)
}

// Parse reads a spec and sets fields.
func Parse(t testing.TB, text string, sets ...string) *spec.Spec {
	t.Helper()
	s, err := Registry().Parse([]byte(text), "test.yaml", "test", sets)
	if err != nil {
		t.Fatal(err)
	}
	return &s
}

// Run is a finished run.
type Run struct {
	Seen []train.Progress // of every update
	Dir  string
}

// Last returns its newest checkpoint.
func (r Run) Last(t testing.TB) []byte {
	t.Helper()
	body, _, err := runlog.Last(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// Play runs a spec to its end.
func Play(t testing.TB, text string, seed uint64, workers int) Run {
	t.Helper()
	r, err := Try(t, text, seed, workers, func(*train.Parts) {})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Try runs a spec with parts changed, and returns the error that ends it.
func Try(t testing.TB, text string, seed uint64, workers int, change func(p *train.Parts)) (Run, error) {
	t.Helper()
	s := Parse(t, text)
	parts, err := s.Parts(seed, spec.Machine{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	change(&parts)
	loop, err := train.NewSelfPlay(s.Train, s.Rewards(), parts)
	if err != nil {
		t.Fatal(err)
	}
	yaml, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	r := Run{Dir: filepath.Join(t.TempDir(), "run")}
	run, err := runlog.Create(r.Dir, yaml, runlog.Info{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	ran := loop.Run(context.Background(), run, func(p *train.Progress) { r.Seen = append(r.Seen, *p) })
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	return r, ran
}

// Refused checks that a spec with fields set cannot be built, and that the error
// holds some words.
func Refused(t testing.TB, want, text string, sets ...string) {
	t.Helper()
	s, err := Registry().Parse([]byte(text), "test.yaml", "test", sets)
	if err == nil {
		_, err = s.Build(1, spec.Machine{Workers: 1})
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s with %v: the error is %v, want one that names %s", text, sets, err, want)
	}
}

// Timeless returns the records of a TensorBoard file without the clock, in which alone
// equal runs differ: the first field of each message, under the checksum at its end, and the
// messages that say how the clock went.
func Timeless(b []byte) (out []byte) {
	const head, clock, tail = 12, 9, 4
	for len(b) >= head {
		n := int(binary.LittleEndian.Uint64(b))
		if n < clock || len(b) < head+n+tail {
			break
		}
		if !bytes.Contains(b[:head+n], []byte(runlog.WallMetric)) {
			out = append(append(out, b[:head]...), b[head+clock:head+n]...)
		}
		b = b[head+n+tail:]
	}
	return append(out, b...)
}

// Promises checks what every run promises: in one go by one worker, and by three workers, stopped and resumed after every
// second update, it logs and ends in the same bytes but for the clock in its events; and no mind writes to a window.
// The folders gone are not needed once there is a checkpoint. It returns the last one.
func Promises(t *testing.T, text string, seed uint64, gone ...string) []byte {
	t.Helper()
	last, _ := PromisesOf(t, text, seed, func(*train.Parts) {}, gone...)
	return last
}

// PromisesOf does so with parts changed, where it is stopped and resumed, that may not change anything. It returns
// the last checkpoint and the folder of the run that was not stopped.
func PromisesOf(t *testing.T, text string, seed uint64, change func(p *train.Parts), gone ...string) (last []byte, dir string) {
	t.Helper()
	whole, err := Try(t, text, seed, 1, func(p *train.Parts) {
		for i, m := range p.Minds {
			p.Minds[i] = &witness{m, t}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	want := whole.Last(t)
	pieces, got := inPieces(t, Parse(t, text), seed, change, gone)
	faults := 0
	for _, name := range []string{"metrics.csv", "events.out.tfevents.0.hop"} {
		a, errA := os.ReadFile(filepath.Join(whole.Dir, name))
		b, errB := os.ReadFile(filepath.Join(pieces, name))
		if name != "metrics.csv" {
			a, b = Timeless(a), Timeless(b)
		}
		if err := errors.Join(errA, errB); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs between a run by one worker and one by three, resumed after every second update; %v", name, err)
			faults++
		}
	}
	if !bytes.Equal(got, want) {
		t.Error("a run by three workers that is resumed after every second update ends differently")
		faults++
	}
	if faults > 0 && len(gone) == 0 && !bytes.Equal(Play(t, text, seed, 3).Last(t), want) {
		t.Error("it is the number of workers: three of them end differently in one go as well")
	}
	return want, whole.Dir
}

// inPieces runs a spec by three workers, stopped and loaded anew after every second update, and returns its folder and
// the last checkpoint.
func inPieces(t testing.TB, s *spec.Spec, seed uint64, change func(p *train.Parts), gone []string) (dir string, saved []byte) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	run, err := runlog.Create(dir, nil, runlog.Info{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	for {
		parts, err := s.Parts(seed, spec.Machine{Workers: 3, Saved: saved})
		if err != nil {
			t.Fatal(err)
		}
		change(&parts)
		loop, err := train.NewSelfPlay(s.Train, s.Rewards(), parts)
		if err == nil && saved != nil {
			err = loop.Load(saved)
		}
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		updates := 0
		ran := loop.Run(ctx, run, func(*train.Progress) {
			if updates++; updates == 2 {
				stop()
			}
		})
		stop()
		if saved, err = loop.Save(); err != nil || ran == nil {
			return dir, saved
		} else if !errors.Is(ran, context.Canceled) {
			t.Fatal(ran)
		}
		for _, dir := range gone {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// witness is a mind that is watched while it learns.
type witness struct {
	learner.Mind
	t testing.TB
}

// Unwrap returns the mind itself.
func (w *witness) Unwrap() learner.Mind { return w.Mind }

// Learn checks that every array of a window is as it was before.
func (w *witness) Learn(win *learner.Window) ([]agent.Stat, error) {
	before := arrays(win)
	stats, err := w.Mind.Learn(win)
	for name, sum := range arrays(win) {
		if before[name] != sum {
			w.t.Errorf("the mind of agents %v has written to %s of its window", w.Agents(), name)
		}
	}
	return stats, err
}

// arrays returns a number for what each array of a window holds, and of what is
// imagined beside it.
func arrays(win *learner.Window) map[string]uint32 {
	sums, windows := map[string]uint32{}, map[string]*batch.Rollout{"": win.Rollout}
	if win.Imagined != nil {
		windows["imagined "] = win.Imagined.Rollout
	}
	for kind, ro := range windows {
		for name, x := range map[string]any{
			"Obs": ro.Obs, "Legal": ro.Legal, "Alive": ro.Alive, "Seat": ro.Seat, "Reward": ro.Reward, "End": ro.End, "Reached": ro.Reached,
			"Start": ro.Start, "Action": ro.Action, "LogProb": ro.LogProb, "Own": ro.Own, "Value": ro.Value, "Goal": ro.Goal, "Target": ro.Target,
		} {
			b, err := binary.Append(nil, binary.LittleEndian, x)
			if err != nil {
				panic(err)
			}
			sums[kind+name] = crc32.ChecksumIEEE(b)
		}
	}
	return sums
}
