// Package exp is the spec: what a run is, written down.
//
// A spec is YAML over documented defaults. Every field documents itself in its
// tags; the list of fields, the checks and --set are generated from them. This
// is also the one place that knows the list of games and modules and wires them
// together.
package exp

import (
	"errors"

	"hop/field"
)

func join(faults []*field.Fault) error {
	errs := make([]error, len(faults))
	for i, f := range faults {
		errs[i] = f
	}
	return errors.Join(errs...)
}
