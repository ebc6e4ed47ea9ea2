package lab

import (
	"context"
	"path/filepath"

	"github.com/hop-marl/hop/audit"
)

// Audit audits a run's agents, or trains a preset or a spec file for seconds, watched, after what
// comes before its training was done beside the runs of out. name is what the audit is called.
func (l *Lab) Audit(ctx context.Context, what string, sets []string, out string, opt audit.Options) (r *audit.Result, name string,
	err error) {
	if audit.Folder(what) {
		if len(sets) > 0 {
			return nil, "", Misused("--set: a run's folder is audited as it was run")
		}
		r, err = audit.Run(ctx, l.Reg, what, opt)
		return r, filepath.Base(what), err
	}
	sp, err := l.Reg.Load(what, sets)
	if err != nil {
		return nil, "", Misuse{err}
	}
	if _, err := l.Prepare(ctx, &sp, out); err != nil {
		return nil, "", err
	}
	if _, err := sp.Resolve(); err != nil {
		return nil, "", Misuse{err}
	}
	r, err = audit.Spec(ctx, sp, opt)
	return r, sp.Name, err
}
