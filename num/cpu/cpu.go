// Package cpu measures what a computation costs: processor time, memory and the clock,
// and says how much memory there is.
package cpu

import (
	"sync"
	"time"
)

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

// Meter tells what computations side by side cost each. They share a process, and the
// system tells only the processor time of the whole: it is split evenly among those at
// work, so that they add up to it. Its zero value is ready.
type Meter struct {
	mu   sync.Mutex
	last time.Duration // processor time that has been split
	at   map[*Cost]bool
}

// Cost is what one computation has cost since it began.
type Cost struct {
	meter *Meter
	began time.Time
	cpu   float64
	wall  float64 // once it has ended
}

// split hands out the processor time since the last call.
func (m *Meter) split() {
	spent := Time()
	for c := range m.at {
		c.cpu += (spent - m.last).Seconds() / float64(len(m.at))
	}
	m.last = spent
}

// Begin counts a computation from now on.
func (m *Meter) Begin() *Cost {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at == nil {
		m.at = map[*Cost]bool{}
	}
	m.split()
	c := &Cost{meter: m, began: time.Now()}
	m.at[c] = true
	return c
}

// End counts it no longer. A second call does nothing.
func (c *Cost) End() {
	c.meter.mu.Lock()
	defer c.meter.mu.Unlock()
	if c.meter.at[c] {
		c.meter.split()
		c.wall = time.Since(c.began).Seconds()
		delete(c.meter.at, c)
	}
}

// Seconds returns processor time and clock so far.
func (c *Cost) Seconds() (cpu, wall float64) {
	c.meter.mu.Lock()
	defer c.meter.mu.Unlock()
	if c.meter.at[c] {
		c.meter.split()
		return c.cpu, time.Since(c.began).Seconds()
	}
	return c.cpu, c.wall
}
