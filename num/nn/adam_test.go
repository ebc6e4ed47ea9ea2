package nn_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

func adamParams(names ...string) *nn.Params {
	p := &nn.Params{}
	for _, n := range names {
		p.Add(n, nn.Kaiming(1), 50, 70) // two of them make more than one chunk
	}
	p.Init(rng.New(1))
	return p
}

// The paper's algorithm in float64, with clipping before it and the decay of weights beside it.
func TestAdamFollowsThePaper(t *testing.T) {
	const lr, clip, decay = 0.01, 2., 0.1
	p := adamParams("a", "b")
	opt := nn.NewAdam(p, nn.AdamConfig{WeightDecay: decay})
	net, twin := reference.Net{}, reference.Adam{Mean: reference.Net{}, Square: reference.Net{}, Eps: 1e-8}
	for _, q := range p.Parts {
		w, _ := p.At(q.Span)
		for _, m := range []reference.Net{net, twin.Mean, twin.Square} {
			m[q.Name] = reference.NewMat(1, len(w))
		}
		copy(net[q.Name].V, reference.Wide(w))
	}
	for step := range 20 {
		was := net.Clone()
		for _, q := range p.Parts {
			_, g := p.At(q.Span)
			copy(g, random(len(g), q.Name+string(rune('a'+step))))
			copy(net[q.Name].G, reference.Wide(g))
		}
		wantNorm := twin.Step(net, lr, clip)
		for name, m := range net {
			for i, w := range was[name].V {
				m.V[i] -= lr * decay * w
			}
		}
		norm, err := opt.Step(lr, clip)
		if err != nil || math.Abs(norm-wantNorm) > 1e-4 {
			t.Fatalf("norm %v, %v; want %v", norm, err, wantNorm)
		}
		if nn.GradNorm(p) != 0 {
			t.Fatal("Step left gradients")
		}
	}
	for _, q := range p.Parts {
		w, _ := p.At(q.Span)
		for i, want := range net[q.Name].V {
			if math.Abs(want-float64(w[i])) > 1e-5 {
				t.Errorf("weight %d of %s: %v, want %v", i, q.Name, w[i], want)
			}
		}
	}
}

func TestGradientsThatAreNotFiniteAreRefused(t *testing.T) {
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
		p := adamParams("a", "b")
		opt := nn.NewAdam(p, nn.AdamConfig{})
		was := slices.Clone(p.W)
		_, g := p.At(p.Parts[1].Span)
		g[3] = bad
		if _, err := opt.Step(0.1, 1); err == nil || !strings.Contains(err.Error(), "gradient of b") {
			t.Errorf("got %v, want an error that names b", err)
		}
		if !slices.Equal(p.W, was) || opt.Steps() != 0 {
			t.Error("the weights moved")
		}
	}
}

func TestSchedules(t *testing.T) {
	for _, c := range []struct {
		name string
		s    nn.Schedule
		step int
		want float64
	}{
		{"linear start", nn.Linear(1, 0, 10), 0, 1}, {"linear", nn.Linear(1, 0, 10), 4, 0.6},
		{"linear end", nn.Linear(1, 0.5, 10), 11, 0.5}, {"linear before", nn.Linear(1, 0, 10), -1, 1},
		{"linear at once", nn.Linear(1, 0.5, 0), 0, 0.5},
		{"cosine start", nn.Cosine(1, 0.2, 10), 0, 1}, {"cosine middle", nn.Cosine(1, 0.2, 10), 5, 0.6},
		{"cosine end", nn.Cosine(1, 0.2, 10), 10, 0.2},
	} {
		if got := c.s(c.step); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s at %d: %v, want %v", c.name, c.step, got, c.want)
		}
	}
}
