package train_test

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"hop/exp"
	"hop/runlog"
)

// imagining is a short run with imagination from its second window on.
const imagining = `
actor: {hidden: [16]}
imagine: {on: true, trust: 0, refresh: 2, length: 8, steps: 4, batch: 64, rows: 600, model: {hidden: [8]}}
train: {envs: 16, window: 16, save: 1000, steps: `

// The same bytes for any number of workers.
func TestImaginationDoesNotDependOnWorkers(t *testing.T) {
	var first []byte
	for _, workers := range []int{1, 2, 3} {
		_, dir := play(t, imagining+"2500}\n", 4, workers)
		body, _, err := runlog.Last(dir)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = body
		}
		if !bytes.Equal(body, first) {
			t.Errorf("the checkpoint differs between 1 and %d workers", workers)
		}
	}
}

// Stopped and started again, the world model and its steps are as they were.
func TestImaginationResumes(t *testing.T) {
	body := func(steps string, from []byte) []byte {
		s, err := exp.Parse([]byte(imagining+steps+"}\n"), "test.yaml", "test", nil)
		if err != nil {
			t.Fatal(err)
		}
		loop, err := s.Build(9, exp.Machine{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		if from != nil {
			if err := loop.Load(from); err != nil {
				t.Fatal(err)
			}
		}
		run, err := runlog.Create(filepath.Join(t.TempDir(), "run"), nil, runlog.Info{Seed: 9})
		if err != nil {
			t.Fatal(err)
		}
		defer run.Close()
		if err := loop.Run(context.Background(), run, nil); err != nil {
			t.Fatal(err)
		}
		b, err := loop.Save()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	straight := body("2500", nil)
	if resumed := body("2500", body("1200", nil)); !bytes.Equal(straight, resumed) {
		t.Error("a resumed run differs from an uninterrupted one")
	}
}
