package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/store/stage"
	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/spec"
)

// Site is where something is done: in which game, by whom, in which folder.
type Site struct {
	Game spec.Game
	Set  []string // changes to the game of a run, such as game.size=8, and to how its agents think
	Runs []string // whose agents meet others
	Dir  string   // what is made is written there

	AcceptBuild bool // go on with what another build began
}

// build builds the game.
func (s Site) build() (game.Game, error) {
	g, err := s.Game.Build()
	if err != nil && len(s.Set) > 0 {
		return nil, Wrong(err, "--set", s.Set...)
	}
	if err != nil {
		return nil, Misuse{err}
	}
	return g, nil
}

// Do does what a config says and returns what it comes to.
func (l *Lab) Do(ctx context.Context, c prepare.Config, at Site) (any, error) {
	switch c := c.(type) {
	case *prepare.Collect:
		m, _, err := l.Collect(ctx, *c, at)
		return m, err
	case *prepare.MOA:
		return l.PretrainMOA(ctx, *c, at)
	case *prepare.Sequence:
		return l.PretrainSequence(ctx, *c, at)
	case *prepare.VAE:
		return l.PretrainVAE(ctx, *c, at)
	case *prepare.CVAE:
		return l.PretrainCVAE(ctx, *c, at)
	case *prepare.World:
		return l.PretrainWorld(ctx, *c, at)
	case *prepare.Response:
		return l.PretrainResponse(ctx, *c, at)
	case *prepare.Zoo:
		return l.TrainZoo(ctx, *c, at)
	case *prepare.Adapt:
		return l.Adapt(ctx, *c, at)
	}
	return nil, Misuse{c.Validate()}
}

// inStage returns the lab as it is within a stage: what it says is the stage's, and what it reads
// is counted apart.
func (l *Lab) inStage(name string) *Lab {
	own, reg := *l, *l.Reg
	if l.Watch != nil {
		own.Watch = func(n News) {
			n.Stage = name
			l.Watch(n)
		}
	}
	if was := l.Reg.Runs; was != nil {
		reg.Runs = &runlog.Reader{AcceptOlder: was.AcceptOlder, AcceptUnsealed: was.AcceptUnsealed, Watch: was.Watch}
	}
	own.Reg = &reg
	return &own
}

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
