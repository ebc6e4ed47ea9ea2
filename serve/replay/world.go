package replay

import (
	"math"
	"slices"

	"github.com/hop-marl/hop/agent/hop/pretrained"
	"github.com/hop-marl/hop/game"
	model "github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/nn"
)

var nan = number(math.NaN())

// world asks the world model of an agent what it imagines.
type world struct {
	spec   game.Spec
	model  *model.Model
	params *nn.Params
	work   *model.Work
	obs    []float32 // what the seat sees before the step
	after  []float32 // and after it
	next   model.Next
}

// worlds returns the world models of those who have one, by seat; nil where there is none.
func (sc *scene) worlds() []*world {
	spec := sc.game.Spec()
	list := make([]*world, spec.Seats)
	for s, p := range sc.players {
		has, ok := p.(interface{ Models() pretrained.Models })
		if !ok {
			continue
		}
		m := has.Models()
		if m.World == nil || m.Steps == nil || m.World.Len() != spec.Obs.Len() || m.World.Agents != spec.Seats || spec.Obs.Height == 0 {
			continue
		}
		w := &world{spec: spec, model: m.World, params: m.Steps, work: m.World.Work()}
		w.obs, w.after = make([]float32, spec.Obs.Len()), make([]float32, spec.Obs.Len())
		w.next = model.Next{Planes: make([]float32, spec.Obs.PlanesLen()), Doubt: make([]float32, 1)}
		for range spec.Seats {
			w.next.Mean, w.next.Gone = append(w.next.Mean, make([]float32, 1)), append(w.next.Gone, make([]float32, 1))
		}
		list[s] = w
	}
	return list
}

// imagined is what a world model expected of a step, and where that was wrong.
type imagined struct {
	Cells   []expectedCell `json:"cells"`
	Rewards []number       `json:"rewards"` // [Seats] expected
	Paid    []number       `json:"paid"`    // [Seats] what was earned
	Gone    []number       `json:"gone"`    // [Seats] how likely each has left
	Doubt   number         `json:"doubt"`   // how unsure it was of all of it
	Wrong   []wrong        `json:"wrong,omitempty"`
}

// expectedCell is what may stand on a cell.
type expectedCell struct {
	At     int        `json:"at"`
	Seats  []likeSeat `json:"seats,omitempty"`
	Things []likely   `json:"things,omitempty"`
}

type likeSeat struct {
	Seat game.Seat `json:"seat"`
	P    number    `json:"p"`
}

type likely struct {
	Name string `json:"name"`
	P    number `json:"p"`
}

// wrong is a cell of which something was expected that is not so, or the other way round.
type wrong struct {
	At   int    `json:"at"`
	Seat int    `json:"seat"` // whom it is about, or -1
	Name string `json:"name,omitempty"`
	P    number `json:"p"`
	Was  bool   `json:"was"`
}

// Of what is likely enough to be shown, and of what is called wrong.
const (
	shown = 0.01
	half  = 0.5
)

// imagine asks what follows from what everybody did in a moment, with the eyes of a seat.
func (w *world) imagine(m moment, after game.State, s game.Seat, rewards []float32) (*imagined, error) {
	n, planes := w.spec.Seats, len(w.spec.Obs.Planes)
	m.state.Observe(s, w.obs)
	after.Observe(s, w.after)
	joint := make([]int32, n)
	for i := range joint {
		joint[i] = m.actions[(int(s)+i)%n]
	}
	w.work.Step(w.params, &w.next, w.obs, joint, 1)
	out := &imagined{Doubt: number(w.next.Doubt[0]), Rewards: make([]number, n), Paid: numbers(rewards), Gone: make([]number, n)}
	for i := range n {
		seat := (int(s) + i) % n
		out.Rewards[seat], out.Gone[seat] = number(w.next.Mean[i][0]), number(w.next.Gone[i][0])
	}
	for at := range w.spec.Obs.Height * w.spec.Obs.Width {
		d := expectedCell{At: at}
		for i := range planes {
			p, was := w.next.Planes[at*planes+i], w.after[at*planes+i] != 0
			seat, name := w.plane(i, int(s))
			if p >= shown && seat >= 0 {
				d.Seats = append(d.Seats, likeSeat{game.Seat(seat), number(p)})
			} else if p >= shown {
				d.Things = append(d.Things, likely{name, number(p)})
			}
			if was != (p > half) {
				out.Wrong = append(out.Wrong, wrong{at, seat, name, number(p), was})
			}
		}
		if len(d.Seats)+len(d.Things) > 0 {
			slices.SortStableFunc(d.Seats, func(a, b likeSeat) int { return int(a.Seat) - int(b.Seat) })
			out.Cells = append(out.Cells, d)
		}
	}
	return out, nil
}

// plane returns whom a plane of what a seat observes shows, or -1 and which thing.
func (w *world) plane(i, ego int) (seat int, name string) {
	n := w.spec.Seats
	if i < n {
		return (ego + i) % n, ""
	}
	if j := i - n; j < w.spec.Obs.Owned { // what belongs to seats is in their order too
		return -1, w.spec.Obs.Planes[n+(ego+j)%n]
	}
	return -1, w.spec.Obs.Planes[i]
}
