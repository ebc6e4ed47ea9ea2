// Package nnbench measures how fast package nn is, and lets Python check it.
//
// Run times four nets, forward and in whole training steps, against the measured
// peak of the core. Compare loads the weights and batches that
// python/bench/torch_compare.py has written, and writes what nn makes of them: outputs,
// gradients and times.
//
// The package reads no clock of its own: the caller gives one.
package nnbench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/safetensors"
)

// Result is what `hop bench nn` prints.
type Result struct {
	Kernels string  `json:"kernels"`
	Peak    float64 `json:"peak_gflops"`
	Rows    []Row   `json:"rows"`
}

// Row is one measurement: the fastest of several rounds.
type Row struct {
	Net    string  `json:"net"`
	Op     string  `json:"op"` // forward, or train: forward, backward, clip, Adam
	Batch  int     `json:"batch"`
	US     float64 `json:"us"`     // microseconds a call
	GFLOPS float64 `json:"gflops"` // operations done, not those that sparse rows save
	Share  float64 `json:"share"`  // of the peak
}

// Config says how to measure.
type Config struct {
	Clock   func() time.Duration // time since some fixed moment
	Round   time.Duration        // length of a round, at least one call; default 20 ms
	Rounds  int                  // the fastest counts; default 5
	Nets    []string             // some of Nets(); default all
	Forward []int                // batches; default 1, 16, 64, 256, 1024
	Train   []int                // batches; default 64, 256, 1024
}

// Nets returns the names of the nets.
func Nets() []string { return []string{"actor", "conv", "lstm", "transformer"} }

func build(name string, rows int) net {
	switch name {
	case "actor":
		return newActor(rows)
	case "conv":
		return newConv(rows)
	case "transformer":
		return newAttention(rows)
	}
	return newRecurrent(rows)
}

func (c *Config) fill() error {
	if c.Round == 0 {
		c.Round = 20 * time.Millisecond
	}
	if c.Rounds == 0 {
		c.Rounds = 5
	}
	if c.Nets == nil {
		c.Nets = Nets()
	}
	if c.Forward == nil {
		c.Forward = []int{1, 16, 64, 256, 1024}
	}
	if c.Train == nil {
		c.Train = []int{64, 256, 1024}
	}
	for _, n := range c.Nets {
		if !slices.Contains(Nets(), n) {
			return fmt.Errorf("nnbench: no net is called %q, there are %v", n, Nets())
		}
	}
	for _, b := range append(slices.Clone(c.Forward), c.Train...) {
		if b < 1 {
			return fmt.Errorf("nnbench: a batch of %d rows, want at least 1", b)
		}
	}
	return nil
}

// Run measures all nets.
func Run(c Config) (Result, error) {
	if err := c.fill(); err != nil {
		return Result{}, err
	}
	res := Result{Kernels: f32.Kernels(), Peak: c.peak()}
	for _, name := range c.Nets {
		n := build(name, slices.Max(append(append([]int{1}, c.Forward...), c.Train...)))
		rows, err := c.measure(name, n, res.Peak)
		if err != nil {
			return res, err
		}
		res.Rows = append(res.Rows, rows...)
	}
	return res, nil
}

// peak returns the most GFLOP/s that one core does.
func (c *Config) peak() float64 {
	const iters = 100_000
	flops := f32.PeakLoop(iters)
	us := c.time(func() { f32.PeakLoop(iters) })
	return flops / us / 1e3
}

func (c *Config) measure(name string, n net, peak float64) ([]Row, error) {
	var rows []Row
	add := func(op string, batch int, us, flops float64) {
		g := flops / us / 1e3
		rows = append(rows, Row{name, op, batch, us, g, g / peak})
	}
	for _, m := range c.Forward {
		us := c.time(func() { n.infer(m) })
		f, _ := n.flops(m)
		add("forward", m, us, f)
	}
	opt, err := nn.NewAdam(n.params(), nn.AdamConfig{}), error(nil)
	for _, m := range c.Train {
		us := c.time(func() {
			n.forward(m)
			n.backward(m)
			if _, e := opt.Step(1e-4, 0.5); e != nil {
				err = e
			}
		})
		_, f := n.flops(m)
		add("train", m, us, f)
	}
	return rows, err
}

// time returns the microseconds of one call in the fastest round.
func (c *Config) time(f func()) float64 {
	start := c.Clock()
	f()
	once := max(c.Clock()-start, 1)
	n := max(1, int(c.Round/once))
	best := time.Duration(1<<63 - 1)
	for range c.Rounds {
		start := c.Clock()
		for range n {
			f()
		}
		best = min(best, max(c.Clock()-start, 1)) // a coarse clock may stand still
	}
	return float64(best.Nanoseconds()) / 1e3 / float64(n)
}

// Compare does for each net what dir/NAME.safetensors asks: it holds the weights by
// part, "x", "target" and "return" of a batch, and "extra" for the conv net. It
// writes dir/NAME.hop.safetensors with "logits", "value", "loss" and each part's
// gradient under "grad/", and the times of Run to dir/hop.json.
func Compare(dir string, c Config) error {
	if err := c.fill(); err != nil {
		return err
	}
	for _, name := range c.Nets {
		err := compare(dir, name)
		if name == "transformer" && errors.Is(err, fs.ErrNotExist) {
			continue // torch_compare.py has none
		}
		if err != nil {
			return fmt.Errorf("nnbench: comparing %s: %w", name, err)
		}
	}
	res, err := Run(c)
	if err != nil {
		return err
	}
	b, err := json.Marshal(res)
	if err != nil {
		return fmt.Errorf("nnbench: writing times: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "hop.json"), b, 0o644); err != nil {
		return fmt.Errorf("nnbench: writing times: %w", err)
	}
	return nil
}

func compare(dir, name string) error {
	b, err := os.ReadFile(filepath.Join(dir, name+".safetensors"))
	if err != nil {
		return err
	}
	f, err := safetensors.Parse(b)
	if err != nil {
		return err
	}
	x, ok := f.Get("x")
	if !ok || len(x.Shape) < 2 {
		return fmt.Errorf("tensor %q is missing or has no rows", "x")
	}
	m := x.Shape[0]
	if name == "lstm" {
		m = x.Shape[1]
	}
	if m < 1 || m > 1<<16 {
		return fmt.Errorf("tensor %q has %d rows, want 1 to 65536", "x", m)
	}
	n := build(name, m)
	h, rows := n.heads(), n.rows(m)
	if err := n.params().Load(f, "part/"); err != nil {
		return err
	}
	if err := f.Float32(n.input(), "x", x.Shape...); err != nil {
		return err
	}
	if c, ok := n.(*conv); ok {
		if err := f.Float32(c.extra, "extra", m, convExtras); err != nil {
			return err
		}
	}
	target := make([]int64, rows)
	if err := f.Int64(target, "target", rows); err != nil {
		return err
	}
	for i, k := range target {
		if k < 0 || k >= actions {
			return fmt.Errorf("tensor %q holds the class %d, want 0 to %d", "target", k, actions-1)
		}
		h.target[i] = int32(k)
	}
	if err := f.Float32(h.ret, "return", rows); err != nil {
		return err
	}
	n.forward(m)
	n.backward(m)
	var out safetensors.File
	out.PutFloat32("logits", h.logits, rows, actions)
	out.PutFloat32("value", h.value, rows)
	out.PutFloat32("loss", []float32{float32(h.loss)}, 1)
	for _, q := range n.params().Parts {
		_, g := n.params().At(q.Span)
		out.PutFloat32("grad/"+q.Name, g, q.Shape...)
	}
	if b, err = out.AppendBinary(nil); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".hop.safetensors"), b, 0o644)
}

// Text is a table for a terminal.
func (r *Result) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "kernels %s, measured peak %.0f GFLOP/s on one core\n\n", r.Kernels, r.Peak)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "net\top\tbatch\tus\tGFLOP/s\tof peak\t")
	for _, row := range r.Rows {
		fmt.Fprintf(w, "%s\t%s\t%d\t%.1f\t%.1f\t%.0f %%\t\n", row.Net, row.Op, row.Batch, row.US, row.GFLOPS, 100*row.Share)
	}
	w.Flush()
	return b.String()
}
