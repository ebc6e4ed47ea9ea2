package train_test

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"hop/exp"
	"hop/registry"
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
		s, err := registry.New().Parse([]byte(imagining+steps+"}\n"), "test.yaml", "test", nil)
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

// Imagination is self-play of networks on one game; all else is refused with the
// field to change.
func TestWhatCannotBeImaginedIsRefused(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"lstm", "actor: {lstm: 8}\nimagine: {on: true}", "actor.lstm"},
		{"bots", "train: {team: [learn, nh, nh, nh]}\nimagine: {on: true}", "train.team"},
		{"stand-ins", "train: {standins: {share: 0.1, who: [nh]}}\nimagine: {on: true}", "train.standins"},
		{"stages", "train: {stages: [{at: 0, set: [game.hares=0]}]}\nimagine: {on: true}", "train.stages"},
		{"goal weight", "train: {goal_weight: [{goal: hare, from: 0, to: 1, over: 9}]}\nimagine: {on: true}", "train.goal_weight"},
		{"all real", "imagine: {on: true, real_ratio: 1}", "imagine.real_ratio"},
		{"no world", "imagine: {on: true, world: nowhere}", "nowhere"},
		{"no board", "game: {name: matrix}\nimagine: {on: true}", "board"},
	} {
		s, err := registry.New().Parse([]byte(c.text), "test.yaml", "test", nil)
		if err == nil {
			_, err = s.Build(1, exp.Machine{Workers: 1})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want one that names %s", c.name, err, c.want)
		}
	}
}
