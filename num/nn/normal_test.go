package nn_test

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

// A normal policy's log-density is the definition's, in float64, and its gradients by means
// and deviations are the differences of the loss; a number that a row has not counts nowhere.
func TestNormalIsTheDefinition(t *testing.T) {
	const d, m = 3, 4
	r := rng.New(3).Rand()
	mean, x, logStd := make([]float32, m*d), make([]float32, m*d), []float32{-0.5, 0.1, 0.7}
	legal := make([]bool, m*d)
	for i := range mean {
		mean[i], x[i], legal[i] = float32(r.Norm()), float32(r.Norm()), i%d != 1 || i < d
	}
	dlogp, dentropy := []float64{0.3, -1.2, 0.8, 2}, -0.05
	loss := func(mean, logStd []float32) (sum float64) {
		for i := range m {
			for j := range d {
				if at := i*d + j; legal[at] {
					s := math.Exp(float64(logStd[j]))
					z := (float64(x[at]) - float64(mean[at])) / s
					sum += dlogp[i] * (-z*z/2 - math.Log(s*math.Sqrt(2*math.Pi)))
					sum += dentropy * math.Log(s*math.Sqrt(2*math.Pi*math.E))
				}
			}
		}
		return sum
	}
	g := nn.NewNormal(d)
	g.Set(mean, legal, logStd, m)
	got, grad := 0., make([]float32, m*d)
	for i := range m {
		row := x[i*d : (i+1)*d]
		got += dlogp[i] * float64(g.LogProb(i, row))
		got += dentropy * float64(g.GradTo(grad[i*d:(i+1)*d], i, row, float32(dlogp[i]), float32(dentropy)))
	}
	if want := loss(mean, logStd); math.Abs(got-want) > 1e-4 {
		t.Errorf("the loss is %v, want %v", got, want)
	}
	differ := func(what string, at []float32, grad []float32) {
		for i := range at {
			old := at[i]
			at[i] = old + 1e-2
			up := loss(mean, logStd)
			at[i] = old - 1e-2
			down := loss(mean, logStd)
			at[i] = old
			if want := (up - down) / 2e-2; math.Abs(float64(grad[i])-want) > 3e-3*math.Max(1, math.Abs(want)) {
				t.Errorf("gradient of %s %d is %v, want %v", what, i, grad[i], want)
			}
		}
	}
	differ("mean", mean, grad)
	differ("log deviation", logStd, g.DLogStd)

	draws, sum, square, y := 20000, 0., 0., make([]float32, d)
	for range draws {
		g.Sample(y, 3, &r)
		z := (float64(y[2]) - float64(mean[3*d+2])) / math.Exp(float64(logStd[2]))
		sum, square = sum+z, square+z*z
		if y[1] != 0 {
			t.Fatal("a number that the row has not is drawn")
		}
	}
	if mean, v := sum/float64(draws), square/float64(draws); math.Abs(mean) > 0.03 || math.Abs(v-1) > 0.05 {
		t.Errorf("draws have mean %.3f and variance %.3f in units of the deviation, want 0 and 1 (error rate below 1e-4)", mean, v)
	}
	g.Mode(y, 3)
	if y[2] != mean[3*d+2] || y[1] != 0 {
		t.Errorf("the mode is %v, want the mean", y)
	}
	if n := testing.AllocsPerRun(10, func() { g.Set(mean, legal, logStd, m); g.Sample(y, 0, &r); g.LogProb(0, y) }); n != 0 {
		t.Errorf("a decision allocates %v times, want 0", n)
	}
}
