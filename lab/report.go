package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"hop/lab/films"
	"hop/report"
	"hop/runlog"
)

// Report writes a folder's report and returns where it is. Without agents
// to play, as in a run that has no checkpoint yet, it says why there are no
// episodes.
func (l *Lab) Report(ctx context.Context, dir string, gifs bool) (string, error) {
	var o report.Options
	if gifs {
		count, end := l.Counting("parts of the report")
		defer end()
		var err error
		o, err = films.Play(ctx, l.Reg, dir, count)
		if errors.Is(err, context.Canceled) || errors.Is(err, runlog.ErrDamaged) {
			return "", err
		}
		if err != nil {
			o.Notes = append(o.Notes, fmt.Sprintf("No episodes are shown: %v", err))
		}
	}
	if err := report.Write(ctx, l.Reg, dir, o); err != nil {
		return "", err
	}
	return filepath.Join(dir, "report.html"), nil
}
