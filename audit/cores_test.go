package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/hop-marl/hop/audit"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/spec"
)

// TestAuditOnAnyCores: the same bytes on one core and on three, also where the second seed's run
// breaks, after which later seeds do not count.
func TestAuditOnAnyCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	s := load(t, "ppo-matrix", true)
	for name, breaks := range map[string]bool{"healthy": false, "the second seed breaks": true} {
		var first string
		for _, cores := range []int{1, 3} {
			runtime.GOMAXPROCS(cores)
			opt := audit.Options{Seeds: []uint64{1, 2, 3}, Updates: 3, Episodes: 40}
			if breaks {
				opt.Change = breakAt(t, 2)
			}
			r, err := audit.Spec(t.Context(), s, opt)
			must(t, err)
			if want := map[bool]int{false: 3, true: 2}[breaks]; len(r.Returns) != want || len(r.Curves) != want {
				t.Errorf("%s, %d cores: returns of %d seeds, want %d", name, cores, len(r.Returns), want)
			}
			b, err := json.Marshal(r)
			must(t, err)
			if first == "" {
				first = string(b)
			}
			if string(b) != first {
				t.Errorf("%s, %d cores: %s\nwant %s", name, cores, b, first)
			}
		}
	}
}

// breakAt lets the run of a seed panic in its third window.
func breakAt(t *testing.T, seed uint64) func(*spec.Spec, *train.Parts) {
	s := load(t, "ppo-matrix", true)
	fresh, err := s.Parts(seed, spec.Machine{Workers: 1})
	must(t, err)
	return func(_ *spec.Spec, p *train.Parts) {
		if p.Key != fresh.Key {
			return
		}
		seen := 0
		p.Watch = func(*batch.Rollout, bool) {
			if seen++; seen == 3 {
				panic("planted")
			}
		}
	}
}

// TestAnAuditIsStopped: all seeds are.
func TestAnAuditIsStopped(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var once sync.Once
	opt := audit.Options{Seeds: []uint64{1, 2, 3}, Updates: 1 << 20, Episodes: 40}
	opt.Change = func(_ *spec.Spec, p *train.Parts) {
		p.Watch = func(*batch.Rollout, bool) { once.Do(stop) }
	}
	if _, err := audit.Spec(ctx, load(t, "ppo-matrix", true), opt); !errors.Is(err, context.Canceled) {
		t.Errorf("an audit that is stopped ends with %v", err)
	}
}
