package train_test

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"hop/exp"
	"hop/registry"
	"hop/runlog"
	"hop/train"
)

// Planners of games in which nobody leaves: goals are reached many times in an
// episode, are actions, or are not there at all. Windows end within episodes.
var games = map[string]string{
	"coin": `
game: {name: coin, size: 3, agents: 2, horizon: 12}
actor: {hidden: [16]}
plan: {on: true, leaf: scripts, bots: [own, any, random], scripts: [own, any]}
search: {trees: 2, sims: 6, depth: 1}
belief: {decay: 0.9}
moa: {hidden: [16, 16]}
train: {envs: 6, window: 17, steps: 700, save: 300, warm: {windows: 2, who: [own, any]}, standins: {share: 0.3, who: [any]}}
`,
	"matrix": `
game: {name: matrix, matrix: pd, rounds: 10}
actor: {frame: board, hidden: [16]}
plan: {on: true, leaf: net}
search: {trees: 2, sims: 6}
moa: {frame: board, hidden: [16, 16]}
train: {envs: 6, window: 17, steps: 700, save: 300, warm: {windows: 2, who: [tft, alld]}}
`,
	"tag": `
game: {name: tag, size: 4, predators: 2, prey: 1, horizon: 12}
actor: {hidden: [16]}
plan: {on: true, goals: none, leaf: scripts, bots: [chase, flee], scripts: [chase, flee]}
search: {trees: 2, sims: 5, depth: 1}
moa: {hidden: [16, 16]}
train: {envs: 6, window: 17, steps: 700, save: 300, warm: {windows: 2, who: [chase, flee]}}
`,
}

// On every kind of game a planner's run is the same for any number of workers,
// and stopped every two updates, within episodes, ends in the same bytes.
func TestPlannersOfOtherGamesResumeAndDoNotDependOnWorkers(t *testing.T) {
	for name, text := range games {
		_, one := play(t, text, 3, 1)
		_, two := play(t, text, 3, 2)
		want := last(t, one)
		if !bytes.Equal(want, last(t, two)) {
			t.Errorf("%s: one and two workers end in different checkpoints", name)
		}
		if !bytes.Equal(inPieces(t, text, 2), want) {
			t.Errorf("%s: a run stopped every two updates ends differently", name)
		}
	}
}

// inPieces trains a spec, stopped and loaded anew after every so many updates,
// and returns the last checkpoint.
func inPieces(t *testing.T, text string, updates int) []byte {
	t.Helper()
	s, err := registry.New().Parse([]byte(text), "test.yaml", "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	run, err := runlog.Create(filepath.Join(t.TempDir(), "run"), nil, runlog.Info{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	var saved []byte
	for range 20 {
		loop, err := s.Build(3, exp.Machine{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		if saved != nil {
			if err := loop.Load(saved); err != nil {
				t.Fatal(err)
			}
		}
		ctx, stop := context.WithCancel(context.Background())
		done := 0
		err = loop.Run(ctx, run, func(*train.Progress) {
			if done++; done == updates {
				stop()
			}
		})
		stop()
		if saved, _ = loop.Save(); err == nil {
			return saved
		}
	}
	t.Fatal("the run does not end")
	return nil
}
