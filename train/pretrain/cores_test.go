package pretrain_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/pretrain"
)

// An epoch of every model ends in the same checkpoint for any number of workers.
func TestModelsLearnTheSameOnAnyNumberOfCores(t *testing.T) {
	d := hunts(t, 900)
	lives := livesOf(t, 1200)
	codes := newVAE(t, "b", 0, d)
	for name, fresh := range map[string]func() *pretrain.Training{
		"vae":      func() *pretrain.Training { return newVAE(t, "b", 4, d).Training },
		"cvae":     func() *pretrain.Training { return newCVAE(t, codes, nil).Training },
		"moa":      func() *pretrain.Training { return newMOA(t, d).Training },
		"sequence": func() *pretrain.Training { return newSequence(t, lives, nil).Training },
		"world":    func() *pretrain.Training { return newWorld(t, d).Training },
	} {
		t.Run(name, func(t *testing.T) {
			var want []byte
			for _, workers := range []int{1, 2, 3, 7, 16} {
				ctx, stop := context.WithCancel(context.Background())
				run, training := folder(t), fresh()
				training.Cores = cores.New(workers, nil)
				training.Cores.Open()
				err := training.Run(ctx, run, func(p pretrain.Progress) {
					if p.Whole {
						stop()
					}
				})
				training.Cores.Close()
				if stop(); err == nil {
					t.Fatal("it was not stopped")
				}
				got, _, err := runlog.Last(run.Dir())
				must(t, err)
				if want == nil {
					want = got
				}
				if !bytes.Equal(got, want) {
					t.Errorf("%d workers end in another checkpoint than one", workers)
				}
			}
		})
	}
}
