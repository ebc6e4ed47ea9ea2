package nn

import "math"

// Schedule gives the learning rate, or another coefficient, of a step counted
// from 0. Before its beginning and after its end it stays constant.
type Schedule func(step int) float64

// Constant stays where it is.
func Constant(v float64) Schedule { return func(int) float64 { return v } }

// Linear goes from one value to another in steps steps.
func Linear(from, to float64, steps int) Schedule {
	return func(step int) float64 { return from + (to-from)*share(step, steps) }
}

// Cosine goes from one value to another along half a cosine in steps steps.
func Cosine(from, to float64, steps int) Schedule {
	return func(step int) float64 { return to + (from-to)*(1+math.Cos(math.Pi*share(step, steps)))/2 }
}

// share returns how much of steps lies behind step.
func share(step, steps int) float64 {
	if steps <= 0 {
		return 1
	}
	return min(max(float64(step)/float64(steps), 0), 1)
}
