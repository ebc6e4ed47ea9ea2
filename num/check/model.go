package check

import (
	"math"
	"slices"
)

// Question is one that several cards ask: its name, and what to do if the answer
// is no.
type Question struct{ Name, Fix string }

// What is asked of every model that learns from recorded steps (docs/faults.md).
var (
	HasLeft  = Question{"agents that have left", "record rows only while an agent is alive"}
	EgoFirst = Question{"joint actions are ego-first",
		"write the last joint action in the order of the planes: oneself, then the next seats, wrapping"}
	EveryPart = Question{"every part learns", "give the optimiser these parameters"}
	Keeps     = Question{"keeps what it has learnt", "load the saved model before going on"}
)

// Joint holds a last joint action as one on seat me observes it, shown [places],
// against what each seat did a step before, did [seats]; below 0: the seat did
// nothing, and what stands for it is the recorder's choice. It returns how many
// actions there are, how many of them do not stand where ego-first order (oneself,
// then the next seats, wrapping) puts them, and whether all stand where seat order
// does.
func Joint[T int8 | int32](me int, shown, did []T) (known, wrong int, global bool) {
	global = true
	for place, action := range shown {
		if was := did[(me+place)%len(did)]; was >= 0 {
			if known++; action != was {
				wrong++
			}
		}
		if was := did[place]; was >= 0 && action != was {
			global = false
		}
	}
	return known, wrong, global
}

// Orders counts rows that fit ego-first order and rows that fit seat order, among
// those that tell them apart.
type Orders struct{ Ego, Global, Rows int }

// Add counts a row.
func (o *Orders) Add(ego, global bool) {
	if ego && global {
		return
	}
	o.Rows++
	if ego {
		o.Ego++
	}
	if global {
		o.Global++
	}
}

// Share returns n as a share of the rows.
func (o *Orders) Share(n int) float64 { return float64(n) / float64(max(o.Rows, 1)) }

// Name names the order that all rows fit, "" if there is none.
func (o *Orders) Name() string {
	switch {
	case o.Rows > 0 && o.Share(o.Ego) > 0.99:
		return "ego-first"
	case o.Rows > 0 && o.Share(o.Global) > 0.99:
		return "global"
	}
	return ""
}

// SoftmaxFloor is what a cross-entropy over k classes cannot fall below if softmax
// is applied twice: ln(1 + (k-1)/e), 1.165 for 7. No class gets more than
// e/(e+k-1) then, however often the model is right. Over rows with masks, take the
// mean over the rows' legal actions.
func SoftmaxFloor(k int) float64 { return math.Log(1 + float64(k-1)/math.E) }

// Fano is the largest cross-entropy of a calibrated model with accuracy q over k
// classes (Fano's inequality).
func Fano(q float64, k int) float64 {
	h := 0.
	for _, p := range []float64{q, 1 - q} {
		if p > 0 {
			h -= p * math.Log(p)
		}
	}
	return h + (1-q)*math.Log(float64(max(k-1, 1)))
}

// Predictor is what is known of a model that predicts classes.
type Predictor struct {
	CE      float64 // the lowest cross-entropy that was seen
	Floor   float64 // mean SoftmaxFloor of the rows
	Classes int
	Right   float64 // share of rows whose likeliest class was right
	Sure    float64 // mean probability of the likeliest class; 0: not known
	Exact   float64 // cross-entropy of one who knows all that can be known; 0: not known
}

// DoubleSoftmax asks whether a softmax is applied to probabilities. Such a model
// never comes below the floor, and is less sure than right. Who acts at random is
// above the floor too, so the floor alone proves nothing; and where even the exact
// observer is above it, it cannot be asked.
func (p Predictor) DoubleSoftmax() Status {
	unsure := p.Right > p.Sure+0.05
	if p.Sure == 0 {
		unsure = p.CE > 1.05*Fano(p.Right, p.Classes)
	}
	switch at := 0.98 * p.Floor; {
	case p.CE >= at && p.Exact > at:
		return NotAsked
	case p.CE >= at && unsure:
		return Fault
	}
	return Pass // also where a number was not logged and is NaN
}

// Spikes returns where a loss that had fallen returns at least half of the way
// to its start within one point, as it does when a model is saved but a fresh
// one goes on.
func Spikes(curve []float64) []int {
	var at []int
	if len(curve) == 0 {
		return at
	}
	start, low := curve[0], curve[0]
	for i := 1; i < len(curve); i++ {
		if fallen := start - low; fallen > 0.1*start && curve[i]-curve[i-1] > 0.5*fallen {
			at = append(at, i)
		}
		low = min(low, curve[i])
	}
	return at
}

// Falling returns by which share of itself a loss fell in its last epoch if it is
// still falling clearly: by more than a hundredth of itself, and by more than a
// twentieth of all that it has fallen. Else 0.
func Falling(loss []float64) float64 {
	n := len(loss)
	if n < 2 {
		return 0
	}
	last := loss[n-2] - loss[n-1]
	if last < 0.05*(loss[0]-loss[n-1]) || last < 0.01*math.Abs(loss[n-2]) {
		return 0
	}
	return last / math.Abs(loss[n-2])
}

// Commonest returns the class that was counted most, and its share.
func Commonest(counts []int) (class int, share float64) {
	n := 0
	for _, c := range counts {
		n += c
	}
	class = slices.Index(counts, slices.Max(counts))
	return class, float64(counts[class]) / float64(max(n, 1))
}
