// Package spec is the spec: what a run is, written down.
//
// A spec is YAML over documented defaults. Every field documents itself in its
// tags; the list of fields, the checks and --set are generated from them. It may
// name a base, of which it is the lines that differ. Which games, minds and presets
// there are is a Registry that the package is handed; runs are wired here, and this
// is the one way from a checkpoint to agents.
package spec

import (
	"errors"

	"github.com/hop-marl/hop/num/config"
)

func join(faults []*config.Fault) error {
	errs := make([]error, len(faults))
	for i, f := range faults {
		errs[i] = f
	}
	return errors.Join(errs...)
}
