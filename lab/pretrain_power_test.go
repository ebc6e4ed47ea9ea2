package lab

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/disk/disktest"
	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec/spectest"
)

// Whenever the power fails while a dataset is collected, or a model learns from it, the
// same command goes on from what was synced, takes nothing of it for damage, and ends in
// the same bytes. After its end nothing is lost.
func TestPreparingSurvivesAnyLossOfPower(t *testing.T) {
	root, remove, err := disktest.Folder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove)
	var notes []string
	l := &Lab{Reg: registry.New(), Version: "test", Watch: func(n News) {
		if n.Kind == Noted || strings.HasPrefix(n.Text, "note:") {
			notes = append(notes, n.Text)
		}
	}}
	data := filepath.Join(t.TempDir(), "data")
	small := []string{"game.size=4", "game.horizon=5"}
	collect := func(dir string) error {
		c := prepare.Collect{Mix: []string{"ns", "nh"}, Life: 1, Rows: 240, Shard: 80, Seed: 7, Workers: 1}
		_, _, err := l.Collect(t.Context(), c, siteOf(t, l, "staghunt", dir, small...))
		return err
	}
	if err := collect(data); err != nil {
		t.Fatal(err)
	}
	learn := func(dir string) error {
		_, err := l.PretrainVAE(t.Context(), smallVAE(prepare.Folder(data), "a", 3, 2, 4), Site{Dir: dir})
		return err
	}
	for name, do := range map[string]func(dir string) error{"a collection": collect, "a pretraining": learn} {
		if err := os.RemoveAll(root); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(root, 0o755); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(root, "out", "of", "it")
		states, last, err := disktest.Losses(root, func() error { return do(dir) })
		if err != nil {
			t.Fatal(name, err)
		}
		want := lasting(t, dir)
		if err := last.Restore(); err != nil {
			t.Fatal(err)
		}
		left := lasting(t, dir)
		for file, b := range want {
			if !bytes.Equal(left[file], b) {
				t.Errorf("%s, after its end: %s is lost", name, file)
			}
		}
		every := 1
		if !*long {
			every = max(1, len(states)/4)
		}
		for i := 0; i < len(states); i += every {
			if err := states[i].Restore(); err != nil {
				t.Fatal(err)
			}
			notes = nil
			if err := do(dir); err != nil || len(notes) > 0 {
				t.Fatalf("%s, loss %d of %d: %v %q; left were\n%s", name, i+1, len(states), err, notes, states[i])
			}
			got := lasting(t, dir)
			for file, b := range want {
				if !bytes.Equal(got[file], b) {
					t.Errorf("%s, loss %d of %d: %s is another one", name, i+1, len(states), file)
				}
			}
			if len(got) != len(want) {
				t.Errorf("%s, loss %d of %d: %d files, want %d", name, i+1, len(states), len(got), len(want))
			}
		}
		t.Logf("%s: %d states, every %d", name, len(states), every)
	}
}

// lasting returns the files of a folder that do not depend on what happened to it; of
// events, all but the clock.
func lasting(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, pattern := range []string{"manifest.json", "shard*", "spec.yaml", "metrics.csv", "events*", "checkpoints/*", "card.json"} {
		list, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
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
