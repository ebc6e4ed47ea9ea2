package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"hop/diag"
	"hop/diag/audit"
	"hop/diag/dump"
)

// foreign audits trajectories that other code recorded.
func (c auditCmd) foreign(a *app) error {
	r, missing, err := auditDump(c.Data, c.Trajectories)
	if err != nil {
		return err
	}
	for _, why := range missing {
		fmt.Fprintln(a.err, "not asked:", why)
	}
	name := strings.TrimSuffix(filepath.Base(c.Data+c.Trajectories), ".npz")
	return c.show(a, &audit.Result{Report: *r}, name)
}

// auditDump examines trajectories that foreign code recorded: one file, or all
// .npz of a folder, runs of the same agents.
func auditDump(data, trajectories string) (r *diag.Report, missing []string, err error) {
	if data != "" && trajectories != "" {
		return nil, nil, usage("--data %s and --trajectories %s: choose one", data, trajectories)
	}
	if trajectories != "" {
		d, err := dump.Open(trajectories)
		if err != nil {
			return nil, nil, usageError{err}
		}
		r, missing = dump.Audit(trajectories, []*dump.Dump{d})
		return r, missing, nil
	}
	list, err := dump.OpenDir(data)
	if err != nil {
		return nil, nil, usageError{err}
	}
	r, missing = dump.Audit(data, list)
	return r, missing, nil
}
