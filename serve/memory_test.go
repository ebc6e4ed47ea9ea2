package serve

import (
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hop-marl/hop/store/runlog"
)

// bigRun makes a run of so many rows of metrics, about 45 bytes each, in 97 series.
func bigRun(t testing.TB, dir string, seed uint64, rows int) {
	t.Helper()
	r := newRun(t, dir, "ppo-4x4", seed)
	names := make([]string, 24)
	for i := range names {
		names[i] = fmt.Sprintf("agent/number-%02d", i)
	}
	for step := int64(900); rows > 0; step += 100 {
		list := []runlog.Row{{Step: step, Name: "return/mean", Agent: -1, Value: float64(seed) + float64(step%7), N: 20}}
		for a := range 4 {
			for _, name := range names {
				list = append(list, runlog.Row{Step: step, Name: name, Agent: a, Value: float64(step%97) / 7, N: 5})
			}
		}
		must(t, r.Log(list))
		rows -= len(list)
	}
	must(t, r.Checkpoint(1_000_000_000, []byte("body"), 1, runlog.Keep{}))
	finish(t, r, 1+float64(seed))
}

// inUse is how much memory is in use, in megabytes.
func inUse() float64 {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / 1e6
}

// Comparisons of large runs at many thresholds, their curves and their specs are all kept in
// one budget, and what they need while they are made is that of one run.
func TestComparingLargeRunsHoldsLittle(t *testing.T) {
	root, rows, runs := t.TempDir(), 100_000, 3
	if *long {
		rows = 1_850_000 // 84 MB each
	}
	for i := range runs {
		bigRun(t, filepath.Join(root, fmt.Sprint("r", i), "seed-1"), uint64(i+1), rows)
	}
	s := server(t, root)
	before := inUse()
	var most atomic.Uint64
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most.Store(max(most.Load(), m.HeapAlloc))
			}
		}
	}()
	for i := range 8 {
		if w := fetch(s, fmt.Sprintf("/compare?run=0:r0&run=0:r1&run=0:r2&threshold=%d.5", i)); w.Code != 200 || w.Body.Len() < 20_000 {
			t.Fatalf("%d %.300s", w.Code, w.Body)
		}
		fetch(s, "/api/curves?run=0:r0&run=0:r1&run=0:r2&m=return/mean&m=agent/number-01&by=seed")
	}
	close(stop)
	held := inUse() - before
	t.Logf("%d runs of %d rows at 8 thresholds: %.0f MB are held, %.0f MB at most on the way; the cache says %.1f MB", runs, rows, held,
		float64(most.Load())/1e6-before, float64(s.cache.Used())/1e6)
	if bound := float64(s.cache.Used())/1e6 + 10; held > bound {
		t.Errorf("%.0f MB are held, the cache says %.0f", held, bound-10)
	}
	runtime.KeepAlive(s)
}
