package cpu

import (
	"math"
	"sync"
	"testing"
	"time"
)

// busy uses a core for a while.
func busy(d time.Duration) (x float64) {
	for start := time.Now(); time.Since(start) < d; {
		for range 1000 {
			x = math.Sin(x + 1)
		}
	}
	return x
}

// What computations side by side cost adds up to what the process has used meanwhile,
// and stands still once they have ended.
func TestCostsSideBySideAddUp(t *testing.T) {
	var m Meter
	from, sum := Time(), 0.
	costs := make([]*Cost, 3)
	var wg sync.WaitGroup
	for i := range costs {
		costs[i] = m.Begin()
		wg.Go(func() {
			busy(time.Duration(20*(i+1)) * time.Millisecond)
			costs[i].End()
		})
	}
	wg.Wait()
	used := (Time() - from).Seconds()
	for i, c := range costs {
		cpu, wall := c.Seconds()
		if again, later := c.Seconds(); cpu != again || wall != later || wall < 0.02*float64(i+1) {
			t.Errorf("cost %d is %v and %v s, then %v and %v", i, cpu, wall, again, later)
		}
		sum += cpu
	}
	if sum > used+1e-9 || sum < used-0.02 { // the sum of three is rounded
		t.Errorf("costs add up to %v s, the process has used %v", sum, used)
	}
}
