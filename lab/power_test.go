package lab

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/disk/disktest"
	"github.com/hop-marl/hop/train/spec/spectest"
)

var long = flag.Bool("long", false, "let the power fail at every moment, not at some")

// TestATrainingSurvivesAnyLossOfPower records what a training of two seeds with
// checkpoints does to the disk: it is stopped, goes on, is scored and ends. Whenever the
// power fails, what was not synced is gone. What is left goes on, nothing of it is taken
// for damage, and it ends in the same bytes.
func TestATrainingSurvivesAnyLossOfPower(t *testing.T) {
	root, remove, err := disktest.Folder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove)
	out, group := filepath.Join(root, "runs"), filepath.Join(root, "runs", "brief-001")
	l := quiet()
	var notes []string
	l.Watch = func(n News) {
		if n.Kind == Noted && !strings.Contains(n.Text, "no episode ended") {
			notes = append(notes, n.Text)
		}
	}
	text := "name: brief\ngame: {horizon: 6}\nactor: {hidden: [4]}\ntrain: {envs: 4, window: 8, steps: 120, save: 32}\neval: {episodes: 2}\n"
	spec, err := l.Reg.Parse([]byte(text), "brief.yaml", "brief", nil)
	if err != nil {
		t.Fatal(err)
	}
	var got *Trained
	train := func(ctx context.Context) error {
		var training *Training
		_, err := os.Stat(filepath.Join(group, "group.json"))
		if err == nil {
			training, err = l.Reopen(group, Further{}, 1)
		} else {
			err = errors.Join(os.RemoveAll(out)) // a folder that is empty yet: hop train makes another one
			if err == nil {
				training, err = l.NewTraining(spec, []uint64{1, 10}, out, 1)
			}
		}
		if err != nil {
			return err
		}
		got, err = training.train(ctx, nil)
		return err
	}
	states, last, err := disktest.Losses(root, func() error {
		ctx, stop := context.WithCancel(t.Context())
		watch := l.Watch
		l.Watch = func(n News) {
			if watch(n); n.Kind == Learnt && n.Progress.Step >= 64 {
				stop()
			}
		}
		if err := train(ctx); !errors.Is(err, context.Canceled) {
			return fmt.Errorf("it was not stopped: %w", err)
		}
		l.Watch = watch
		return train(t.Context())
	})
	if err != nil {
		t.Fatal(err)
	}
	want, scores := exact(t, group), got
	if err := last.Restore(); err != nil {
		t.Fatal(err)
	}
	left := exact(t, group)
	for name, b := range want { // a checkpoint that was removed may be back
		if !bytes.Equal(left[name], b) {
			t.Errorf("after the end: %s is lost", name)
		}
	}
	every := 1
	if !*long {
		every = max(1, len(states)/8)
	}
	for i := 0; i < len(states); i += every {
		if err := states[i].Restore(); err != nil {
			t.Fatal(err)
		}
		notes = nil
		if err := train(t.Context()); err != nil || len(notes) > 0 {
			t.Fatalf("loss %d of %d: %v %q; left were\n%s", i+1, len(states), err, notes, states[i])
		}
		alike(t, fmt.Sprintf("loss %d of %d", i+1, len(states)), exact(t, group), want)
		for k, r := range got.Seeds {
			if !reflect.DeepEqual(r.same(), scores.Seeds[k].same()) {
				t.Errorf("loss %d of %d: %+v, want %+v", i+1, len(states), r, scores.Seeds[k])
			}
		}
	}
	t.Logf("%d states, every %d", len(states), every)
}

// exact returns the files of a training that do not depend on what happened to it; of
// events, all but the clock.
func exact(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, pattern := range []string{"group.json", "seed-*/spec.yaml", "seed-*/metrics.csv", "seed-*/events*", "seed-*/checkpoints/*"} {
		list, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
		if err != nil || len(list) == 0 {
			t.Fatalf("no %s, %v", pattern, err)
		}
		for _, path := range list {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(filepath.Base(path), "events") {
				b = spectest.Timeless(b)
			}
			out[path] = b
		}
	}
	return out
}

// alike compares such files.
func alike(t *testing.T, where string, got, want map[string][]byte) {
	t.Helper()
	for name, b := range want {
		if !bytes.Equal(got[name], b) {
			t.Errorf("%s: %s is another one", where, name)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d files, want %d", where, len(got), len(want))
	}
}
