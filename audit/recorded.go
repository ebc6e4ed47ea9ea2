package audit

import (
	"os"

	"github.com/hop-marl/hop/audit/check"
	"github.com/hop-marl/hop/audit/record"
)

// Recorded audits trajectories that other code recorded: one .npz, or all of a folder, runs of the
// same agents.
func Recorded(path string) (*Result, error) {
	var list []*record.Trajectories
	at, err := os.Stat(path)
	if err == nil && at.IsDir() {
		list, err = record.OpenDir(path)
	} else {
		var d *record.Trajectories
		d, err = record.Open(path)
		list = []*record.Trajectories{d}
	}
	if err != nil {
		return nil, err
	}
	r, err := check.Recorded(path, list)
	if err != nil {
		return nil, err
	}
	out := &Result{Report: *r, Agents: list[0].Agents}
	for _, d := range list {
		out.Returns = append(out.Returns, d.Late())
	}
	return out, nil
}
