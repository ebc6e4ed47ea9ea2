package audit

import (
	"slices"
	"testing"

	"github.com/hop-marl/hop/num/check"
)

// Guards do what the drills say, on either side of every limit.
func TestDrills(t *testing.T) {
	for i, d := range drills() {
		said, err := d.run(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(said, func(list []check.Finding) bool {
			return slices.ContainsFunc(list, func(f check.Finding) bool { return f.Check == d.guard && f.Module == d.module })
		})
		if at+1 != d.window {
			t.Errorf("drill %d: %q is said in window %d, want %d; said: %v", i, d.guard, at+1, d.window, said)
		}
	}
}
