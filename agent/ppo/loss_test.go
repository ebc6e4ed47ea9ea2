package ppo

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/num/rng"
)

// The value's gradient is the slope of its loss, clipped or not: within clip of the old value clipping changes nothing, however
// the two sums are rounded.
func TestTheValuesGradientIsItsSlope(t *testing.T) {
	b := &Brain{cfg: Default()}
	r := rng.New(1).Child("values").Rand()
	for _, b.cfg.ClipValue = range []bool{false, true} {
		for range 2000 {
			v, ret, old, clip := float32(0.1*r.Norm()), float32(0.1*r.Norm()), float32(0.1*r.Norm()), float32(0.2)
			loss := func(v float64) float64 {
				e := v - float64(ret)
				c := float64(old) + min(max(v-float64(old), -float64(clip)), float64(clip)) - float64(ret)
				if b.cfg.ClipValue && c*c > e*e {
					e = c
				}
				return e * e / 2
			}
			got, slope := b.valueLoss(v, ret, old, clip)
			const h = 1e-6
			want := (loss(float64(v)+h) - loss(float64(v)-h)) / (2 * h)
			if math.Abs(float64(got)-loss(float64(v))) > 1e-5 || math.Abs(float64(slope)-want) > 1e-4 {
				t.Fatalf("v %v, return %v, old %v, clipped %v: loss %v and slope %v, want %v and %v",
					v, ret, old, b.cfg.ClipValue, got, slope, loss(float64(v)), want)
			}
		}
	}
}
