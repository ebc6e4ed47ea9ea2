package batch_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
)

var shape = batch.Shape{Agents: 3, Steps: 4, Envs: 5, ObsLen: 2, Actions: 3, GoalLen: 2}

// Agent-major, then time, then env; every element has exactly one index.
func TestIndicesCoverTheArraysInOrder(t *testing.T) {
	r := batch.New(shape)
	slot, step := 0, 0
	for a := range agent.ID(shape.Agents) {
		for tt := range shape.Steps + 1 {
			for n := range shape.Envs {
				if got := r.Slot(a, tt, n); got != slot {
					t.Fatalf("Slot(%d, %d, %d) is %d, want %d", a, tt, n, got, slot)
				}
				slot++
				if a == 0 {
					if got, want := r.Moment(tt, n), tt*shape.Envs+n; got != want {
						t.Fatalf("Moment(%d, %d) is %d, want %d", tt, n, got, want)
					}
				}
				if tt == shape.Steps {
					continue
				}
				if got := r.Step(a, tt, n); got != step {
					t.Fatalf("Step(%d, %d, %d) is %d, want %d", a, tt, n, got, step)
				}
				step++
			}
		}
	}
	for name, c := range map[string][2]int{
		"Obs": {len(r.Obs), slot * 2}, "Legal": {len(r.Legal), slot * 3}, "Alive": {len(r.Alive), slot}, "Seat": {len(r.Seat), slot},
		"Value": {len(r.Value), slot}, "Goal": {len(r.Goal), slot * 2}, "Start": {len(r.Start), 25},
		"Reward": {len(r.Reward), step}, "End": {len(r.End), step}, "Reached": {len(r.Reached), step},
		"Action": {len(r.Action), step}, "LogProb": {len(r.LogProb), step}, "Target": {len(r.Target), step * 3},
	} {
		if c[0] != c[1] {
			t.Errorf("%s has %d elements, want %d", name, c[0], c[1])
		}
	}
}

func TestViewsAreDisjointAndWritable(t *testing.T) {
	r := batch.New(shape)
	for i := range r.Alive {
		for k := range r.ObsAt(i) {
			r.ObsAt(i)[k]++
		}
		for k := range r.LegalAt(i) {
			r.LegalAt(i)[k] = !r.LegalAt(i)[k]
		}
		for k := range r.GoalAt(i) {
			r.GoalAt(i)[k]++
		}
	}
	for i := range r.Action {
		for k := range r.TargetAt(i) {
			r.TargetAt(i)[k]++
		}
	}
	for name, xs := range map[string][]float32{"Obs": r.Obs, "Goal": r.Goal, "Target": r.Target} {
		if slices.Min(xs) != 1 || slices.Max(xs) != 1 {
			t.Errorf("%s: elements were written %v to %v times, want once", name, slices.Min(xs), slices.Max(xs))
		}
	}
	if slices.Contains(r.Legal, false) {
		t.Error("Legal: some elements were not written once")
	}
}

func TestRollMovesTheLastSlotToTheFirst(t *testing.T) {
	r := batch.New(shape)
	for i := range r.Alive {
		r.Alive[i], r.Seat[i], r.Value[i] = i%3 == 0, int8(i), float32(i+1)
		r.ObsAt(i)[0], r.ObsAt(i)[1] = float32(i), float32(-i)
		r.LegalAt(i)[i%3] = true
		r.GoalAt(i)[1] = float32(i + 1)
	}
	for i := range r.Start {
		r.Start[i] = i%2 == 0
	}
	type seen struct {
		Alive, Start bool
		Seat         int8
		Obs          []float32
		Legal        []bool
	}
	at := func(a agent.ID, tt, n int) seen {
		i := r.Slot(a, tt, n)
		return seen{r.Alive[i], r.Start[r.Moment(tt, n)], r.Seat[i], slices.Clone(r.ObsAt(i)), slices.Clone(r.LegalAt(i))}
	}
	var want []seen
	for a := range agent.ID(shape.Agents) {
		for n := range shape.Envs {
			want = append(want, at(a, shape.Steps, n))
		}
	}
	r.Roll()
	for i, w := range want {
		a, n := agent.ID(i/shape.Envs), i%shape.Envs
		if got := at(a, 0, n); !reflect.DeepEqual(got, w) {
			t.Errorf("%v env %d: first slot %+v, want the last, %+v", a, n, got, w)
		}
		slot := r.Slot(a, 0, n)
		if r.Value[slot] != 0 || r.GoalAt(slot)[1] != 0 {
			t.Errorf("%v env %d: value %v and goal %v are left over, want 0", a, n, r.Value[slot], r.GoalAt(slot))
		}
		if next := r.Slot(a, 1, n); int(r.Seat[next]) != next {
			t.Errorf("%v env %d: the second slot changed", a, n)
		}
	}
	if n := testing.AllocsPerRun(10, r.Roll); n != 0 {
		t.Errorf("Roll allocates %v times, want 0", n)
	}
}

func TestOwnRowsAreTheOwnRowsOfOnesOwnPolicy(t *testing.T) {
	r := batch.New(shape)
	for i := range r.Alive {
		r.Alive[i] = i*i%7 < 3
	}
	for i := range r.Own {
		r.Own[i] = i%5 != 2
	}
	for a := range agent.ID(shape.Agents) {
		steps, slots := r.OwnRows(a, []int32{-7}, nil)
		if steps[0] != -7 {
			t.Fatal("OwnRows does not append")
		}
		steps = steps[1:]
		i := 0
		for tt := range shape.Steps {
			for n := range shape.Envs {
				if !r.Alive[r.Slot(a, tt, n)] || !r.Own[r.Step(a, tt, n)] {
					continue
				}
				if i >= len(steps) || int(steps[i]) != r.Step(a, tt, n) || int(slots[i]) != r.Slot(a, tt, n) {
					t.Fatalf("%v row %d: steps %v slots %v, want %d and %d there", a, i, steps, slots, r.Step(a, tt, n), r.Slot(a, tt, n))
				}
				i++
			}
		}
		if i == 0 || len(steps) != i || len(slots) != i {
			t.Errorf("%v: %d steps and %d slots, want %d of both", a, len(steps), len(slots), i)
		}
	}
}

// A field that is added to Rollout and forgotten in CopyFrom is missed here.
func TestACopyIsEqualInEveryArray(t *testing.T) {
	r, c := batch.New(shape), batch.New(shape)
	v := reflect.ValueOf(r).Elem()
	for i := range v.NumField() {
		for k := 0; v.Field(i).Kind() == reflect.Slice && k < v.Field(i).Len(); k++ {
			e := v.Field(i).Index(k)
			e.Set(reflect.ValueOf(map[bool]any{true: true, false: 1}[e.Kind() == reflect.Bool]).Convert(e.Type()))
		}
	}
	clear(r.Row) // what is encoded is not copied
	c.Row[0] = 1
	if c.CopyFrom(r); !reflect.DeepEqual(c, r) {
		t.Errorf("got %+v, want %+v", c, r)
	}
}
