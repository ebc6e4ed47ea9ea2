package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hop-marl/hop/lab/films"
	"github.com/hop-marl/hop/lab/report"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/spec"
)

// Report writes a folder's report and returns where it is. Without agents
// to play, as in a run that has no checkpoint yet, it says why there are no
// episodes.
func (l *Lab) Report(ctx context.Context, dir string, gifs bool) (string, error) {
	return l.report(ctx, l.Reg, dir, gifs, false)
}

// finalReport writes the report of a training whose seeds are all scored. It shows the
// final agents, so nobody needs to be told which: the runs are done but for this report.
func (l *Lab) finalReport(ctx context.Context, dir string) error {
	own := *l.Reg
	own.Runs = nil
	_, err := l.report(ctx, &own, dir, true, true)
	return err
}

func (l *Lab) report(ctx context.Context, reg *spec.Registry, dir string, gifs, final bool) (string, error) {
	var o report.Options
	if gifs {
		count, end := l.Counting("parts of the report")
		defer end()
		var err error
		o, err = films.Play(ctx, reg, dir, count)
		if errors.Is(err, context.Canceled) || errors.Is(err, runlog.ErrDamaged) {
			return "", err
		}
		if err != nil {
			l.Note("no episodes are shown: %v", err)
			o.Notes = append(o.Notes, fmt.Sprintf("No episodes are shown: %v", err))
		}
	}
	o.Final = final
	if err := report.Write(ctx, reg, dir, o); err != nil {
		return "", err
	}
	return filepath.Join(dir, "report.html"), nil
}
