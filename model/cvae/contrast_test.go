package cvae

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

// byDefinition is InfoNCE in float64, a row at a time: minus the log of the normal density that a
// row gives its own key, over the sum of those that it gives all other keys and its own.
func byDefinition(mu, logvar, keys []float32, dim int, alive []bool) (sum float64, rows int) {
	density := func(i, j int) float64 {
		p := 1.
		for d := range dim {
			v := math.Exp(float64(logvar[i*dim+d]))
			e := float64(keys[j*dim+d]) - float64(mu[i*dim+d])
			p *= math.Exp(-e*e/(2*v)) / math.Sqrt(2*math.Pi*v)
		}
		return p
	}
	for i, is := range alive {
		if !is {
			continue
		}
		all := density(i, i)
		for j, there := range alive {
			same := true
			for d := range dim {
				same = same && keys[i*dim+d] == keys[j*dim+d]
			}
			if there && !same {
				all += density(i, j)
			}
		}
		sum += math.Log(all) - math.Log(density(i, i))
		rows++
	}
	return sum, rows
}

func TestContrastIsInfoNCE(t *testing.T) {
	const dim, n = 3, 9
	r := rng.New(4).Rand()
	mu, logvar, keys := make([]float32, n*dim), make([]float32, n*dim), make([]float32, n*dim)
	for i := range mu {
		mu[i], logvar[i], keys[i] = float32(r.Norm()), float32(r.Norm()), float32(r.Norm())
	}
	copy(keys[2*dim:3*dim], keys[5*dim:]) // a shared subgoal
	alive := []bool{true, true, true, false, true, true, true, false, true}
	want, rows := byDefinition(mu, logvar, keys, dim, alive)
	got := contrast(nil, nil, mu, logvar, keys, dim, nn.Rows{N: n, Alive: alive, Scale: 1, Total: 7})
	if got.Rows != rows || math.Abs(got.Sum-want) > 1e-5*want {
		t.Errorf("InfoNCE is %v over %d rows, want %v over %d", got.Sum, got.Rows, want, rows)
	}
}
