package cli

import "time"

// stopwatch measures processor time and the clock.
type stopwatch struct {
	cpu  time.Duration
	wall time.Time
}

func startWatch() stopwatch { return stopwatch{cpuTime(), time.Now()} }

// spent returns the seconds since the start: of processor time and of the clock.
func (s stopwatch) spent() (cpu, wall float64) {
	return (cpuTime() - s.cpu).Seconds(), time.Since(s.wall).Seconds()
}
