package main

import (
	"hop/diag"
	"hop/diag/dump"
)

// auditDump examines trajectories that foreign code recorded: one file, or all
// .npz of a folder, runs of the same agents.
func auditDump(data, trajectories string) (*diag.Report, error) {
	if data != "" && trajectories != "" {
		return nil, usage("--data %s and --trajectories %s: choose one", data, trajectories)
	}
	if trajectories != "" {
		d, err := dump.Open(trajectories)
		if err != nil {
			return nil, usageError{err}
		}
		return dump.Audit(trajectories, []*dump.Dump{d}), nil
	}
	list, err := dump.OpenDir(data)
	if err != nil {
		return nil, usageError{err}
	}
	return dump.Audit(data, list), nil
}
