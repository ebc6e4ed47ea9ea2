package probe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/spec"
)

// The run that is interrupted is a short one: so many windows in all, saved and
// loaded again in the middle.
const (
	resumeWindows = 4 // after the warm-up
	resumeEnvs    = 6
	resumeSteps   = 24
)

// Resumed asks whether a run that is saved, ended and loaded goes on as one that is
// not interrupted: the same log, and the same checkpoint at the end.
func Resumed(ctx context.Context, s spec.Spec, seed uint64) (check.Finding, error) {
	f := check.Finding{
		Step: 4, Check: "a resumed run goes on as if nothing had been", Module: "checkpoint", Unit: "numbers and tensors that differ",
	}
	s.Train.Envs, s.Train.Window = min(s.Train.Envs, resumeEnvs), min(s.Train.Window, resumeSteps)
	s.Train.Save = max(s.Train.Steps, 1)
	half, last := s.Train.Warm.Windows+resumeWindows/2, s.Train.Warm.Windows+resumeWindows
	const next = "Save and Load of the module that is named, and of what it plays on: all that changes from window to window must come back"
	var whole, first, second *resumer
	err := cores.All(ctx, func(ctx context.Context) (err error) {
		if whole, err = newResumer(s, seed, 1); err != nil {
			return err
		}
		return whole.to(ctx, last)
	}, func(ctx context.Context) (err error) {
		if first, err = newResumer(s, seed, 1); err != nil {
			return err
		}
		if err := first.to(ctx, half); err != nil {
			return err
		}
		body, err := first.loop.Save()
		if err != nil {
			return err
		}
		if second, err = newResumer(s, seed, 1); err != nil {
			return err
		}
		if err := second.loop.Load(body); err != nil {
			f.Accuse(check.Fault, 1, fmt.Sprintf("A checkpoint cannot be loaded again: %v.", err), next)
			return nil
		}
		return second.to(ctx, last)
	})
	if err != nil || f.Status == check.Fault {
		return f, err
	}
	rows := whole.rows[first.logged():]
	f.Rows = len(rows)
	odd, lost, err := whole.unlike(second, rows)
	if err != nil {
		return f, err
	}
	f.Says = fmt.Sprintf("A run that is saved after %d windows, ended and loaded logs the same %d numbers and ends in the same checkpoint.",
		half, f.Rows)
	if len(lost) == 0 && len(odd) > 0 {
		f.Module = "logging" // what is learnt is the same; what is said of it hangs on what was before
	}
	if n := len(odd) + len(lost); n > 0 {
		what := slices.Compact(append(slices.Clone(lost), odd...))
		f.Accuse(check.Fault, float64(n), fmt.Sprintf("A resumed run goes another way than one that is not interrupted: %d logged numbers and "+
			"%d tensors differ, such as %s.", len(odd), len(lost), strings.Join(what[:min(3, len(what))], ", ")), next)
	}
	return f, nil
}

// Cores asks whether a run comes to the same numbers on two and on three cores as on one, for two windows with as many envs
// as it has.
func Cores(ctx context.Context, s spec.Spec, seed uint64) (check.Finding, error) {
	f := check.Finding{
		Step: 2, Check: "the same on any number of cores", Module: "rollout", Unit: "numbers and tensors that differ",
	}
	s.Train.Save = max(s.Train.Steps, 1)
	var one *resumer
	for workers := 1; workers <= 3; workers++ {
		r, err := newResumer(s, seed, workers)
		if err != nil {
			return f, err
		}
		r.watched, r.loop.Pool().Backwards = true, workers == 3 // whoever is done first must not count
		for windows := s.Train.Warm.Windows + 1; windows <= s.Train.Warm.Windows+2; windows++ {
			if err := r.to(ctx, windows); err != nil {
				return f, err
			}
			if r.stages[len(r.stages)-1].after, err = r.saved(); err != nil {
				return f, err
			}
		}
		if one == nil {
			one = r
			f.Rows = len(one.rows)
			f.Says = fmt.Sprintf("With %d envs two windows log the same %d numbers and end in the same checkpoint on one, two and three cores.",
				s.Train.Envs, f.Rows)
			continue
		}
		odd, lost, err := one.unlike(r, one.rows)
		if err != nil {
			return f, err
		}
		if n := len(odd) + len(lost); n > 0 {
			module, next := one.culprit(r, &s)
			if f.Module = module; module == "" {
				f.Module, next = "logging", "what is summed for the log, and in which order"
			}
			what := slices.Compact(append(slices.Clone(lost), odd...))
			f.Accuse(check.Fault, float64(n), fmt.Sprintf("On %d cores the run is another one than on one, with %d envs: %d logged numbers and %d "+
				"tensors differ, such as %s.", workers, s.Train.Envs, len(odd), len(lost), strings.Join(what[:min(3, len(what))], ", ")), next)
			return f, nil
		}
	}
	return f, nil
}

// resumer is a run that can be taken window by window.
type resumer struct {
	loop    *train.SelfPlay
	rows    []runlog.Row
	watched bool     // windows are kept
	stages  []*stage // windows that were
}

// saved returns the run as it is now.
func (r *resumer) saved() (*safetensors.File, error) {
	body, err := r.loop.Save()
	if err != nil {
		return nil, err
	}
	return safetensors.Parse(body)
}

// unlike returns which of these numbers another run logs otherwise, and which tensors it ends in that are not the same.
func (r *resumer) unlike(other *resumer, rows []runlog.Row) (odd, lost []string, err error) {
	for i, want := range rows {
		if i >= len(other.rows) || other.rows[i] != want {
			odd = append(odd, fmt.Sprintf("%s of agent %d", want.Name, want.Agent))
		}
	}
	var files [2]*safetensors.File
	for i, x := range []*resumer{r, other} {
		if files[i], err = x.saved(); err != nil {
			return nil, nil, err
		}
	}
	return odd, Unlike(files[0], files[1]), nil
}

func newResumer(s spec.Spec, seed uint64, workers int) (*resumer, error) {
	parts, err := s.Parts(seed, spec.Machine{Workers: workers})
	if err != nil {
		return nil, err
	}
	r := &resumer{}
	parts.Watch = r.see
	r.loop, err = train.NewSelfPlay(s.Train, s.Rewards(), parts)
	return r, err
}

// logged returns how many rows were logged so far.
func (r *resumer) logged() int { return len(r.rows) }

// to runs up to a window.
func (r *resumer) to(ctx context.Context, windows int) error {
	return Windows(ctx, r.loop, windows, func(p *train.Progress) { r.rows = append(r.rows, p.Rows...) })
}

// Windows lets a loop run up to a window, in a folder of its own that is gone afterwards;
// each sees what it reports.
func Windows(ctx context.Context, loop *train.SelfPlay, windows int, each func(p *train.Progress)) error {
	dir, err := os.MkdirTemp("", "hop-audit-")
	if err != nil {
		return fmt.Errorf("probe: a folder to run in: %w", err)
	}
	defer os.RemoveAll(dir)
	run, err := runlog.Create(filepath.Join(dir, "run"), []byte("name: audit\n"), runlog.Info{})
	if err != nil {
		return err
	}
	defer run.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := false
	err = loop.Run(ctx, run, func(p *train.Progress) {
		if each(p); p.Update >= windows {
			done = true
			stop()
		}
	})
	if done && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
