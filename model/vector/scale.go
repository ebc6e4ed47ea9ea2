package vector

import (
	"cmp"
	"math"
	"slices"

	"github.com/hop-marl/hop/num/safetensors"
)

// Scale is where the numbers of a game were seen to lie, and how much they change: the unit in which the network reads
// and learns them.
type Scale struct {
	in Input
	// [Agents][Width][count, sum, squares, squared changes, lowest, highest], then [Agents][count, sum, squares] of rewards
	sum []float64
	// [Agents][Width][1+classes]: how many values a number was seen to have, then these in order; above classes: it has more
	values []float32

	mean, spread, step, low, high []float32 // [Agents][Width]
	pay, paid                     []float32 // [Agents] mean and spread of rewards
}

// What is kept of a number, and of a reward.
const (
	ofNumber = 6
	ofReward = 3
)

// classes is how many values a number may have to be taken for one that has no others, such as a cell or a count.
const classes = 32

// NewScale returns the scale of numbers that nobody has seen.
func NewScale(in Input) *Scale {
	n := in.Agents * in.Width
	s := &Scale{
		in: in, sum: make([]float64, n*ofNumber+in.Agents*ofReward), values: make([]float32, n*(1+classes)),
		mean: make([]float32, n), spread: make([]float32, n), step: make([]float32, n),
		low: make([]float32, n), high: make([]float32, n), pay: make([]float32, in.Agents), paid: make([]float32, in.Agents),
	}
	s.settle()
	return s
}

// Add takes in the steps of a batch.
func (s *Scale) Add(b *Batch) {
	n, w := s.in.Agents, s.in.Width
	for at, action := range b.Joint {
		if action < 0 {
			continue
		}
		a := at % n
		for k, v := range b.Obs[at*w : (at+1)*w] {
			x, next := s.sum[(a*w+k)*ofNumber:][:ofNumber], b.Next[at*w+k]
			if d := float64(next - v); x[0] == 0 {
				x[4], x[5] = float64(min(v, next)), float64(max(v, next))
				x[3] = d * d
			} else {
				x[3] += d * d
			}
			s.see(a*w+k, v)
			s.see(a*w+k, next)
			x[0], x[1], x[2] = x[0]+1, x[1]+float64(v), x[2]+float64(v)*float64(v)
			x[4], x[5] = min(x[4], float64(v), float64(next)), max(x[5], float64(v), float64(next))
		}
		x, r := s.sum[n*w*ofNumber+a*ofReward:], float64(b.Reward[at])
		x[0], x[1], x[2] = x[0]+1, x[1]+r, x[2]+r*r
	}
	s.settle()
}

// see takes in a value of a number.
func (s *Scale) see(i int, v float32) {
	seen := s.values[i*(1+classes) : (i+1)*(1+classes)]
	n := int(seen[0])
	if n > classes {
		return
	}
	at, found := slices.BinarySearch(seen[1:1+n], v)
	if found {
		return
	}
	if seen[0]++; n < classes {
		copy(seen[2+at:], seen[1+at:1+n])
		seen[1+at] = v
	}
}

// nearest returns the value of a number that lies nearest to a prediction: of few, one that was seen; else one between
// the lowest and the highest.
func (s *Scale) nearest(i int, v float32) float32 {
	seen := s.values[i*(1+classes) : (i+1)*(1+classes)]
	n := int(seen[0])
	if n == 0 || n > classes {
		return min(max(v, s.low[i]), s.high[i])
	}
	seen = seen[1 : 1+n]
	at, _ := slices.BinarySearch(seen, v)
	if at == n || at > 0 && v-seen[at-1] < seen[at]-v {
		at--
	}
	return seen[at]
}

// settle works out means and spreads. What never changes has a spread of 1, so that it is learnt to stay.
func (s *Scale) settle() {
	for i := range s.mean {
		x := s.sum[i*ofNumber:]
		s.mean[i], s.spread[i] = moments(x)
		if s.step[i] = float32(math.Sqrt(x[3] / max(x[0], 1))); s.step[i] < least {
			s.step[i] = 1
		}
		s.low[i], s.high[i] = float32(x[4]), float32(x[5])
	}
	for a := range s.pay {
		s.pay[a], s.paid[a] = moments(s.sum[len(s.mean)*ofNumber+a*ofReward:])
	}
}

// least is the least spread.
const least = 1e-6

// moments returns the mean and the spread of what was counted.
func moments(x []float64) (mean, spread float32) {
	n := max(x[0], 1)
	m := x[1] / n
	d := math.Sqrt(max(x[2]/n-m*m, 0))
	if d < least {
		d = 1
	}
	return float32(m), float32(d)
}

// Step returns the spread of the changes of a number of a seat, in which errors are measured.
func (s *Scale) Step(seat, number int) float32 { return s.step[seat*s.in.Width+number] }

// Save adds what was seen to f. It is kept as bits, since sums of many steps do not fit into less.
func (s *Scale) Save(f *safetensors.File, name string) {
	bits := make([]int64, len(s.sum))
	for i, x := range s.sum {
		bits[i] = int64(math.Float64bits(x))
	}
	f.PutInt64(name, bits, len(bits))
	f.PutFloat32(name+"/values", s.values, len(s.values))
}

// Load restores what Save stored.
func (s *Scale) Load(f *safetensors.File, name string) error {
	bits := make([]int64, len(s.sum))
	if err := cmp.Or(f.Int64(bits, name, len(bits)), f.Float32(s.values, name+"/values", len(s.values))); err != nil {
		return err
	}
	for i, x := range bits {
		s.sum[i] = math.Float64frombits(uint64(x))
	}
	s.settle()
	return nil
}
