package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/train/registry"
)

// small makes HOP+ with types and all that comes before it small.
var small = []string{
	"prepare.response.steps=2000", "prepare.response.envs=16", "prepare.response.net.hidden=[8]", "prepare.response.episodes=2",
	"prepare.data.rows=2500", "prepare.vae.epochs=1", "prepare.vae.model.hidden=[16]", "prepare.cvae.epochs=1", "prepare.cvae.model.gru=8",
	"prepare.moa.epochs=1", "prepare.some.rows=1500", "prepare.wander.rows=1500",
	"prepare.world.epochs=1", "prepare.world.model.hidden=[16]", "prepare.world.probe=50", "prepare.world.plays=2",
	"train.steps=200", "train.envs=4", "train.window=12", "search.trees=2", "eval.episodes=2", "game.horizon=11",
}

// A program without a command line trains HOP+ with types, among bots and among learners that it grows first:
// what is done before and after the training is done by the lab itself.
func TestALabAloneTrainsHOPPlus(t *testing.T) {
	follow := "follow=[{name: adapt, adapt: {vs: [ns, nh, nh], steps: 20, last: 10, lives: 1, starts: 1}}]"
	for preset, c := range map[string]struct {
		more   []string
		stages int
	}{
		"hop+types": {[]string{follow}, 10},
		"hop+zoo":   {[]string{"prepare.zoo.who=[selfish]", "prepare.zoo.hold=[selfish-2]", "prepare.zoo.steps=500"}, 10},
	} {
		t.Run(preset, func(t *testing.T) {
			l := lab.Lab{Reg: registry.New()}
			sp, err := l.Reg.Load(preset, append(c.more, small...))
			if err != nil {
				t.Fatal(err)
			}
			training, err := l.NewTraining(sp, []uint64{1}, t.TempDir(), 0)
			if err != nil {
				t.Fatal(err)
			}
			done, err := l.Train(context.Background(), training)
			if err != nil {
				t.Fatal(err)
			}
			if len(done.Stages) != c.stages {
				t.Errorf("%d stages, want %d: %+v", len(done.Stages), c.stages, done.Stages)
			}
			for _, s := range done.Stages {
				if list, err := os.ReadDir(filepath.Join(training.Folder, filepath.FromSlash(s.Dir))); err != nil || len(list) == 0 {
					t.Errorf("stage %s (%s) left nothing: %v", s.Name, s.Command, err)
				}
			}
		})
	}
}
