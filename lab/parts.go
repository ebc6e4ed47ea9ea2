package lab

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/hop-marl/hop/store/stage"
	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/spec"
)

// TrainOnly is Train without a report, for whoever does a part of something larger.
func (l *Lab) TrainOnly(ctx context.Context, t *Training) (*Trained, error) { return t.train(ctx, nil) }

// Plan returns the stages before a training; none is run.
func (l *Lab) Plan(sp *spec.Spec) ([]stage.Planned, error) {
	s, err := l.around(sp, "any", l.Build())
	if err != nil {
		return nil, err
	}
	return s.run.Plan(s.list(sp.Prepare)), nil
}

// PrepareStage runs one stage before a training and, if they are not there, those that it reads, in
// the folder out/stages, where a training in out looks for them.
func (l *Lab) PrepareStage(ctx context.Context, sp *spec.Spec, name, out string) error {
	s, err := l.around(sp, filepath.Join(out, "any"), l.Build())
	if err != nil {
		return err
	}
	planned := s.run.Plan(s.list(sp.Prepare))
	want := map[string]bool{name: true}
	for _, p := range slices.Backward(planned) {
		for _, read := range p.Reads {
			want[read] = want[read] || want[p.Name]
		}
	}
	own := *sp
	own.Prepare = slices.DeleteFunc(slices.Clone(sp.Prepare), func(p prepare.Stage) bool { return !want[p.Name] })
	s.spec = &own
	return s.prepare(ctx)
}

// Follow does what comes after a training whose seeds are all done, such as were trained apart from each
// other, and writes down how its stages went.
func (l *Lab) Follow(ctx context.Context, dir string, workers int) error {
	t, err := l.Reopen(dir, Further{}, workers)
	if err != nil {
		return err
	}
	if !t.finished() {
		return errors.Join(Misused("%s has seeds that are not done", dir), t.abandon())
	}
	s, err := l.around(&t.Spec, t.Folder, t.jobs[0].build)
	if err != nil {
		return err
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	s.training()
	s.trained(t.total())
	return s.follow(ctx, t.jobs)
}
