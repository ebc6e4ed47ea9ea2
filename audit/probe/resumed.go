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
		if whole, err = newResumer(s, seed); err != nil {
			return err
		}
		return whole.to(ctx, last)
	}, func(ctx context.Context) (err error) {
		if first, err = newResumer(s, seed); err != nil {
			return err
		}
		if err := first.to(ctx, half); err != nil {
			return err
		}
		body, err := first.loop.Save()
		if err != nil {
			return err
		}
		if second, err = newResumer(s, seed); err != nil {
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
	rows, logged := whole.rows[first.logged():], second.rows
	f.Rows = len(rows)
	var odd []string
	for i, want := range rows {
		if i >= len(logged) || logged[i] != want {
			odd = append(odd, fmt.Sprintf("%s of agent %d", want.Name, want.Agent))
		}
	}
	a, err1 := whole.loop.Save()
	b, err2 := second.loop.Save()
	if err := errors.Join(err1, err2); err != nil {
		return f, err
	}
	x, err1 := safetensors.Parse(a)
	y, err2 := safetensors.Parse(b)
	if err := errors.Join(err1, err2); err != nil {
		return f, err
	}
	lost := Unlike(x, y)
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

// resumer is a run that can be taken window by window.
type resumer struct {
	loop *train.SelfPlay
	rows []runlog.Row
}

func newResumer(s spec.Spec, seed uint64) (*resumer, error) {
	parts, err := s.Parts(seed, spec.Machine{Workers: 1})
	if err != nil {
		return nil, err
	}
	loop, err := train.NewSelfPlay(s.Train, s.Rewards(), parts)
	return &resumer{loop: loop}, err
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
