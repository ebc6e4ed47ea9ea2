// Package cpu measures what a computation costs: processor time, memory and the clock,
// and says how much memory there is.
package cpu

import "time"

// Watch is a started stopwatch.
type Watch struct {
	cpu  time.Duration
	wall time.Time
}

// Start starts one.
func Start() Watch { return Watch{Time(), time.Now()} }

// Spent returns the seconds since the start: of processor time and of the clock.
func (w Watch) Spent() (cpu, wall float64) {
	return (Time() - w.cpu).Seconds(), time.Since(w.wall).Seconds()
}
