package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/hop-marl/hop/train/spec"
)

// errReached is why a training is stopped that has come as far as it was to.
var errReached = errors.New("it has come as far as it was to")

// Attempt trains one seed of a spec, a part of a larger experiment, in the folder
// out/NAME-001, or goes on with what was begun there, and scores it. What follows a training
// and its report are for whoever has all seeds. With until, it stops at the first window that
// ends at that env step or later, as Ctrl-C would; going on from there ends in the same bytes
// as if it had not stopped.
func (l *Lab) Attempt(ctx context.Context, sp spec.Spec, seed uint64, out string, workers, until int) error {
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	own := *l
	if until > 0 && until < sp.Train.Steps {
		own.Watch = func(n News) {
			if n.Kind == Learnt && n.Progress.Step >= until {
				stop(errReached)
			}
			if l.Watch != nil {
				l.Watch(n)
			}
		}
	}
	dir := filepath.Join(out, sp.Name+"-001")
	_ = os.Remove(dir) // an empty one: it died before it was a training
	var t *Training
	_, err := os.Stat(dir)
	if err == nil {
		t, err = own.Reopen(dir, Further{}, workers)
	} else {
		t, err = own.NewTraining(sp, []uint64{seed}, out, workers)
	}
	if err != nil {
		return err
	}
	t.Spec.Follow = nil
	_, err = own.TrainOnly(inner, t)
	if errors.Is(context.Cause(inner), errReached) && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
