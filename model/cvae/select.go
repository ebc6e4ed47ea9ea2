package cvae

import "math"

// Selector chooses which of the states an agent reached next was its subgoal.
type Selector string

// Optimistic takes the state of the highest value, the furthest of equals: the
// agent gets what it can. Conservative takes the lowest, the nearest of equals.
const (
	Optimistic   Selector = "optimistic"
	Conservative Selector = "conservative"
)

// Set takes all states of the next steps alike, in no order. Trajectory takes all up to the
// agent's end, each fade times the one before: where the agent will be, soon more than late.
const (
	Set        Selector = "set"
	Trajectory Selector = "trajectory"
)

// fade is what a state of a Trajectory weighs beside the one before.
const fade = 0.8

// Horizon is how many states ahead OMG looks.
const Horizon = 5

// Pick returns the row of the subgoal for row t of a sequence that ends before row
// hi, among the next horizon rows. value is V(s_t, g) of a row as a goal. The last
// row has no next one and is its own subgoal: what comes after an agent's last
// state is not its doing.
func (s Selector) Pick(t, hi, horizon int, value func(row int) float32) int {
	best := t
	for row := t + 1; row < min(t+1+horizon, hi); row++ {
		switch v := value(row); {
		case best == t,
			s == Optimistic && v >= value(best),
			s == Conservative && v < value(best):
			best = row
		}
	}
	return best
}

// Goal writes the code of the goal of row t, of a sequence that ends before row hi, given the
// normal codes of all rows, [rows][len(dstMu)]: that of the state that Pick finds, or, of several
// states, the normal distribution with mean and variance of their mixture.
func (s Selector) Goal(dstMu, dstLogVar []float32, t, hi, horizon int, value func(row int) float32, mu, logvar []float32) {
	d := len(dstMu)
	lo, weights := s.parts(t, hi, horizon, value)
	if len(weights) == 1 {
		copy(dstMu, mu[lo*d:(lo+1)*d])
		copy(dstLogVar, logvar[lo*d:(lo+1)*d])
		return
	}
	for k := range d {
		mean, square := 0., 0.
		for i, w := range weights {
			m, v := float64(mu[(lo+i)*d+k]), math.Exp(float64(logvar[(lo+i)*d+k]))
			mean += w * m
			square += w * (v + m*m)
		}
		dstMu[k], dstLogVar[k] = float32(mean), float32(math.Log(square-mean*mean))
	}
}

// parts returns the first of the rows that make the goal of row t, and the shares of them.
func (s Selector) parts(t, hi, horizon int, value func(row int) float32) (lo int, shares []float64) {
	n, w, sum := min(horizon, hi-1-t), 1., 0.
	switch {
	case s != Set && s != Trajectory || n <= 0:
		return s.Pick(t, hi, horizon, value), []float64{1}
	case s == Trajectory:
		n = hi - 1 - t
	}
	for range n {
		shares = append(shares, w)
		if sum += w; s == Trajectory {
			w *= fade
		}
	}
	for i := range shares {
		shares[i] /= sum
	}
	return t + 1, shares
}

// Returns writes the discounted return from each row of a sequence on: the value
// that a recorded trajectory itself gives to its states. In it a prey comes closer
// as it is approached, so that the optimistic subgoal is where the agent was when
// it caught it.
func Returns(dst, rewards []float32, gamma float32) {
	sum := float32(0)
	for t := len(rewards) - 1; t >= 0; t-- {
		sum = rewards[t] + gamma*sum
		dst[t] = sum
	}
}

// Subgoals appends to out the row of the subgoal of each step of a trajectory with these
// rewards, by their returns; rows go on from those in out.
func (s Selector) Subgoals(out []int, rewards []float32, horizon int, gamma float32) []int {
	first, value := len(out), make([]float32, len(rewards))
	Returns(value, rewards, gamma)
	for t := range rewards {
		out = append(out, first+s.Pick(t, len(rewards), horizon, func(row int) float32 { return value[row] }))
	}
	return out
}
