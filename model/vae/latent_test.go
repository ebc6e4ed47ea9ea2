package vae_test

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model/vae"
	"github.com/hop-marl/hop/num/rng"
)

// cloud draws codes whose label is the sign of a direction, flipped at a rate.
func cloud(n int, flip float64, seed uint64) vae.Codes {
	r := rng.New(seed).Rand()
	c := vae.Codes{Dim: 3}
	for i := range n {
		z := []float32{float32(r.Norm()), 5 + 3*float32(r.Norm()), 0.001}
		label := 0
		if (float64(z[0]) > 0.2) != (r.Float64() < flip) {
			label = 1
		}
		if i%10 == 9 {
			label = -1
		}
		c.Z, c.Label = append(c.Z, z...), append(c.Label, label)
	}
	return c
}

// The probe reaches the accuracy that the noise leaves, on fresh codes. Standard
// error 0.4 %; the bound is 5 of them.
func TestProbeFindsWhatIsPlain(t *testing.T) {
	s := vae.FitProbe(cloud(4000, 0.1, 1), 2).Score(cloud(8000, 0.1, 2))
	if math.Abs(s.Accuracy-0.9) > 0.02 || s.N != 7200 {
		t.Errorf("accuracy is %.3f of %d, want 0.9 of 7200", s.Accuracy, s.N)
	}
	if s.Info < 0.2 || s.Info > math.Ln2 {
		t.Errorf("the information is %.3f nats, want most of %.3f", s.Info, math.Ln2-0.325)
	}
}

// And finds nothing where there is nothing.
func TestProbeOfNoiseIsTheMajority(t *testing.T) {
	s := vae.FitProbe(cloud(4000, 0.5, 1), 2).Score(cloud(8000, 0.5, 2))
	if s.Accuracy > s.Majority+0.02 || s.Info > 0.002 {
		t.Errorf("accuracy %.3f, majority %.3f, information %.4f: noise was taken for a goal", s.Accuracy, s.Majority, s.Info)
	}
}

func TestActiveDimensions(t *testing.T) {
	if n := vae.Active(cloud(500, 0, 1)); n != 2 {
		t.Errorf("%d dimensions are active, want 2 of 3", n)
	}
}

// The axes of the sample turn a little from those of the cloud: by about 0.006 at
// 20,000 points, 0.1 at its rim.
func TestMapShowsTheWidestDirections(t *testing.T) {
	c := cloud(20000, 0, 1)
	x, y, share := vae.Map(c)
	for i := range x {
		if dx, dy := x[i]-float64(c.Z[3*i+1]), y[i]-float64(c.Z[3*i]); math.Abs(dx) > 0.3 || math.Abs(dy) > 0.3 {
			t.Fatalf("point %d is at %.2f %.2f, want near %.2f %.2f", i, x[i], y[i], c.Z[3*i+1], c.Z[3*i])
		}
	}
	if share < 0.999 {
		t.Errorf("two directions hold %.3f of the variance, want all", share)
	}
}

func TestGate(t *testing.T) {
	in := frame.Input{Height: 4, Width: 5, Planes: 3, Rest: 1}
	board := func(me, prey, plane int) []float32 {
		obs := make([]float32, in.Len())
		if me >= 0 {
			obs[me*3] = 1
		}
		if prey >= 0 {
			obs[prey*3+plane] = 1
		}
		return obs
	}
	for name, c := range map[string]struct {
		me, prey, plane, d int
		want               bool
	}{
		"on it":              {7, 7, 1, 0, true},
		"two away, d 2":      {0, 6, 1, 2, true},
		"two away, d 1":      {0, 6, 1, 1, false},
		"no wrap at an edge": {4, 5, 2, 1, false},
		"another plane":      {7, 7, 0, 3, false},
		"no prey":            {7, -1, 1, 9, false},
		"gone":               {-1, 7, 1, 9, false},
		"always open":        {-1, -1, 1, -1, true},
	} {
		prey := []int{1, 2}
		g := vae.Gate{Layout: in, Prey: prey, Distance: c.d}
		z := []float32{1, 2}
		obs := board(c.me, c.prey, c.plane)
		if got := g.Apply(z, obs); got != c.want || (z[0] == 1) != c.want {
			t.Errorf("%s: open is %v, goal %v; want %v", name, got, z, c.want)
		}
	}
}
