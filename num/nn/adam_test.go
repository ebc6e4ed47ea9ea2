package nn_test

import (
	"math"
	"slices"
	"strings"
	"testing"

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

// The twin is the paper's algorithm in float64, with clipping before it.
func TestAdamFollowsThePaper(t *testing.T) {
	const lr, clip, b1, b2, eps, wd = 0.01, 2., 0.9, 0.999, 1e-8, 0.1
	p := adamParams("a", "b")
	opt := nn.NewAdam(p, nn.AdamConfig{WeightDecay: wd})
	w, m, v := wide(p.W), make([]float64, len(p.W)), make([]float64, len(p.W))
	for step := range 20 {
		sum := 0.
		for _, q := range p.Parts {
			_, g := p.At(q.Span)
			copy(g, random(len(g), q.Name+string(rune('a'+step))))
			for _, x := range g {
				sum += float64(x) * float64(x)
			}
		}
		wantNorm := math.Sqrt(sum)
		scale := math.Min(1, clip/wantNorm)
		for i, x := range p.G {
			g := scale * float64(x)
			m[i] = b1*m[i] + (1-b1)*g
			v[i] = b2*v[i] + (1-b2)*g*g
			hm, hv := m[i]/(1-math.Pow(b1, float64(step+1))), v[i]/(1-math.Pow(b2, float64(step+1)))
			w[i] -= lr * (hm/(math.Sqrt(hv)+eps) + wd*w[i])
		}
		norm, err := opt.Step(lr, clip)
		if err != nil || math.Abs(norm-wantNorm) > 1e-4 {
			t.Fatalf("norm %v, %v; want %v", norm, err, wantNorm)
		}
		if nn.GradNorm(p) != 0 {
			t.Fatal("Step left gradients")
		}
	}
	for i := range w {
		if math.Abs(w[i]-float64(p.W[i])) > 1e-5 {
			t.Errorf("weight %d: %v, want %v", i, p.W[i], w[i])
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
