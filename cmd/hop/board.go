package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"hop/train"
)

// board shows how training goes: plain lines, every few seconds.
type board struct {
	mu    sync.Mutex
	w     io.Writer
	many  bool
	start time.Time
	shown map[uint64]time.Time
	first map[uint64]int
}

func (a *app) board(group, name string, seeds int) *board {
	b := &board{w: a.err, many: seeds > 1, start: time.Now(), shown: map[uint64]time.Time{}, first: map[uint64]int{}}
	fmt.Fprintf(a.err, "training %s, %d seed%s, in %s\n", name, seeds, plural(seeds), group)
	return b
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// update shows one seed's progress, at most every few seconds.
func (b *board) update(seed uint64, p *train.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if _, ok := b.first[seed]; !ok {
		b.first[seed], b.shown[seed] = p.Step, b.start
	}
	if now.Sub(b.shown[seed]) < 3*time.Second && p.Step < p.Steps {
		return
	}
	b.shown[seed] = now
	rate := float64(p.Step-b.first[seed]) / now.Sub(b.start).Seconds()
	line := fmt.Sprintf("%3.0f %%  %s steps", 100*float64(p.Step)/float64(p.Steps), short(float64(p.Step)))
	if b.many {
		line = fmt.Sprintf("seed %d  %s", seed, line)
	}
	if p.Episodes > 0 {
		var agents []string
		mean := 0.
		for i := range p.Return {
			agents = append(agents, fmt.Sprintf("%.2f", p.Return[i].Mean()))
			mean += p.Return[i].Mean() / float64(len(p.Return))
		}
		line += fmt.Sprintf("  return %.3f [%s]", mean, strings.Join(agents, " "))
	}
	for _, name := range []string{"entropy", "value_loss", "kl"} {
		if v := stat(p, "ppo/"+name); !math.IsNaN(v) {
			line += fmt.Sprintf("  %s %.3g", name, v)
		}
	}
	line += fmt.Sprintf("  %s steps/s", short(rate))
	if rate > 0 {
		left := time.Duration(float64(p.Steps-p.Step) / rate * float64(time.Second))
		line += fmt.Sprintf("  %s left", max(left, 0).Round(time.Second))
	}
	fmt.Fprintln(b.w, line)
}

// stat returns a statistic averaged over brains.
func stat(p *train.Progress, name string) float64 {
	sum, n := 0., 0
	for _, list := range p.Stats {
		for _, s := range list {
			if s.Name == name {
				sum += s.Value
				n++
			}
		}
	}
	return sum / float64(n)
}

func (b *board) note(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Fprintln(b.w, "note:", text)
}

func (b *board) end() {}
