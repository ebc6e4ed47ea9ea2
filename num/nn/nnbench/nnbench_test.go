package nnbench

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/nn/nntest"
	"github.com/hop-marl/hop/num/safetensors"
)

var compareDir = flag.String("compare", "", "a folder of bench/torch_compare.py: do what it asks and nothing else")

func TestCompare(t *testing.T) {
	if *compareDir != "" {
		must(t, Compare(*compareDir, Config{Clock: clock}))
		return
	}
	dir := t.TempDir()
	const m = 3
	for _, name := range Nets() {
		n := build(name, m)
		rows := n.rows(m)
		var f safetensors.File
		n.params().Save(&f, "part/")
		shape := []int{m, len(n.input()) / m}
		if name == "lstm" {
			shape = []int{steps, m, obs}
		}
		f.PutFloat32("x", n.input(), shape...)
		if c, ok := n.(*conv); ok {
			f.PutFloat32("extra", c.extra, m, convExtras)
		}
		f.PutInt64("target", make([]int64, rows), rows)
		f.PutFloat32("return", make([]float32, rows), rows)
		b, err := f.AppendBinary(nil)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, name+".safetensors"), b, 0o600))
	}
	must(t, Compare(dir, Config{Clock: clock, Rounds: 1, Round: 1, Forward: []int{1}, Train: []int{2}}))
	for _, name := range Nets() {
		n := build(name, m)
		clear(n.heads().target)
		clear(n.heads().ret)
		n.forward(m)
		n.backward(m)
		b, err := os.ReadFile(filepath.Join(dir, name+".hop.safetensors"))
		must(t, err)
		f, err := safetensors.Parse(b)
		must(t, err)
		for _, q := range n.params().Parts {
			got := make([]float32, q.Len)
			if err := f.Float32(got, "grad/"+q.Name, q.Shape...); err != nil {
				t.Error(err)
			}
			if _, want := n.params().At(q.Span); !slices.Equal(got, want) {
				t.Errorf("%s: %s has another gradient in the file", name, q.Name)
			}
		}
	}
	var res Result
	if b, err := os.ReadFile(filepath.Join(dir, "hop.json")); err != nil || json.Unmarshal(b, &res) != nil {
		t.Fatal(err)
	}
	if len(res.Rows) != 8 || res.Peak <= 0 || res.Rows[0].US <= 0 || res.Rows[0].GFLOPS <= 0 {
		t.Errorf("got %+v, want eight rows with times and a peak", res)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestBadRequestsAreErrors(t *testing.T) {
	dir := t.TempDir()
	for want, c := range map[string]Config{
		`no net is called "mlp"`: {Nets: []string{"mlp"}},
		"a batch of 0 rows":      {Train: []int{0}},
		"comparing actor":        {},
	} {
		if err := Compare(dir, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// The three nets go through the gradient check whole.
func TestGradients(t *testing.T) {
	for _, name := range Nets() {
		const m = 1
		n := build(name, m)
		nntest.Check(t, nntest.Model{
			Params: []*nn.Params{n.params()},
			Loss:   func() float64 { n.forward(m); return n.heads().lossOf(n.rows(m)) },
			Grad:   func() { n.forward(m); n.backward(m) },
		})
	}
}

// lossOf is the heads' loss without a gradient.
func (h *heads) lossOf(m int) float64 {
	h.cat.Set(h.logits, nil, m)
	l := h.cat.CrossEntropy(nil, h.target, nil, nn.Rows{N: m}).Mean()
	return l + 0.5*nn.MSE(nil, h.value, h.ret, 1, nn.Rows{N: m}).Mean()
}

func TestNothingAllocates(t *testing.T) {
	for _, name := range Nets() {
		const m = 5
		n := build(name, m)
		opt := nn.NewAdam(n.params(), nn.AdamConfig{})
		if k := testing.AllocsPerRun(10, func() {
			n.forward(m)
			n.backward(m)
			opt.Step(1e-3, 0.5)
		}); k != 0 {
			t.Errorf("%s: a training step allocates %v times, want 0", name, k)
		}
	}
}

func BenchmarkTrain256(b *testing.B) {
	for _, name := range Nets() {
		b.Run(name, func(b *testing.B) {
			n := build(name, 256)
			opt := nn.NewAdam(n.params(), nn.AdamConfig{})
			for b.Loop() {
				n.forward(256)
				n.backward(256)
				if _, err := opt.Step(1e-4, 0.5); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
