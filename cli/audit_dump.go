package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"hop/diag/audit"
	"hop/diag/dump"
)

// foreign audits trajectories that other code recorded: one file, or all .npz
// of a folder, runs of the same agents.
func (c auditCmd) foreign(a *app) error {
	if c.Data != "" && c.Trajectories != "" {
		return usage("--data %s and --trajectories %s: choose one", c.Data, c.Trajectories)
	}
	list, err := dump.OpenDir(c.Data)
	if c.Trajectories != "" {
		var d *dump.Dump
		d, err = dump.Open(c.Trajectories)
		list = []*dump.Dump{d}
	}
	if err != nil {
		return usageError{err}
	}
	subject := c.Data + c.Trajectories
	r, missing := dump.Audit(subject, list)
	for _, why := range missing {
		fmt.Fprintln(a.err, "not asked:", why)
	}
	out := &audit.Result{Report: *r, Agents: list[0].Agents}
	for _, d := range list {
		out.Returns = append(out.Returns, d.Late())
	}
	return c.show(a, out, strings.TrimSuffix(filepath.Base(subject), ".npz"))
}
