package cores

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// TestEveryPartOnce: whole parts that ask for help themselves, over and over on the same
// memory, each part exactly once, for pools smaller and larger than the machine.
func TestEveryPartOnce(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 7, 16} {
		p := New(workers, nil)
		p.Open()
		const learners, times, shards = 5, 60, 9
		var whole Job
		whole.Whole = true
		var inner [learners]Job
		var done [learners][shards]atomic.Int32
		for round := range 10 {
			p.Do(&whole, learners, func(l int) {
				for range times {
					before := done[l][0].Load()
					p.Do(&inner[l], shards, func(i int) { done[l][i].Add(1) })
					for i := range done[l] {
						if got := done[l][i].Load(); got != before+1 {
							t.Errorf("%d workers: after a job part %d was done %d times, want %d", workers, i, got, before+1)
						}
					}
				}
			})
			for l := range done {
				for i := range done[l] {
					if got, want := done[l][i].Load(), int32((round+1)*times); got != want {
						t.Fatalf("%d workers: part %d of learner %d was done %d times, want %d", workers, i, l, got, want)
					}
				}
			}
		}
		p.Close()
	}
}

// TestManyShortParts: parts so short that workers meet where they take them, and more of them
// than there are groups.
func TestManyShortParts(t *testing.T) {
	const parts, times = 300, 2000
	p := New(2, nil)
	p.Open()
	defer p.Close()
	var j Job
	var done [parts]atomic.Int32
	for n := range int32(times) {
		p.DoOn(&j, parts, func(i, worker int) {
			if done[i].Add(1) != n+1 || worker < 0 || worker > 1 {
				t.Errorf("time %d: part %d was done %d times, now by worker %d", n, i, done[i].Load(), worker)
			}
		})
		if t.Failed() {
			return
		}
	}
	for i := range done {
		if got := done[i].Load(); got != times {
			t.Fatalf("part %d was done %d times, want %d", i, got, times)
		}
	}
}

// TestHelpersEnd: no goroutine outlives Close, and a closed or nil pool works alone.
func TestHelpersEnd(t *testing.T) {
	before := runtime.NumGoroutine()
	p := New(4, nil)
	for range 20 {
		p.Open()
		n := 0
		p.Do(&Job{}, 1, func(int) { n++ })
		p.Close()
		p.Do(&Job{}, 3, func(int) { n++ })
		if n != 4 {
			t.Fatalf("%d parts were done, want 4", n)
		}
	}
	(*Pool)(nil).Do(&Job{}, 2, func(int) {})
	for range 100 {
		if runtime.NumGoroutine() == before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

// TestIdle: who has no work waits, who works does not.
func TestIdle(t *testing.T) {
	began := time.Now()
	p := New(3, func() time.Duration { return time.Since(began) })
	p.Open()
	defer p.Close()
	time.Sleep(20 * time.Millisecond)
	if got := p.Idle(); got < 20*time.Millisecond || got > 400*time.Millisecond {
		t.Errorf("two helpers waited %v in 20 ms", got)
	}
	from, start := p.Idle(), time.Now()
	p.Do(&Job{}, 3, func(int) { time.Sleep(50 * time.Millisecond) })
	if got, most := p.Idle()-from, 2*time.Since(start); got < 0 || got > most {
		t.Errorf("workers waited %v while all of them worked for most of %v", got, most)
	}
}

// TestNothingAllocates: asking for help does not.
func TestNothingAllocates(t *testing.T) {
	p := New(2, nil)
	p.Open()
	defer p.Close()
	var j Job
	var n atomic.Int64
	do := func(int) { n.Add(1) }
	if got := testing.AllocsPerRun(200, func() { p.Do(&j, 8, do) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

func BenchmarkDo(b *testing.B) {
	p := New(runtime.GOMAXPROCS(0), nil)
	p.Open()
	defer p.Close()
	var j Job
	do := func(int) {}
	for b.Loop() {
		p.Do(&j, 8, do)
	}
}
