package cvae

// Selector chooses which of the states an agent reached next was its subgoal.
type Selector string

// Optimistic takes the state of the highest value, the furthest of equals: the
// agent gets what it can. Conservative takes the lowest, the nearest of equals.
const (
	Optimistic   Selector = "optimistic"
	Conservative Selector = "conservative"
)

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
