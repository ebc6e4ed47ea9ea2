package batch_test

import (
	"reflect"
	"testing"

	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/rng"
)

// A window comes back as it was saved; what is damaged is refused, and never believed.
func TestWindowsComeBack(t *testing.T) {
	for _, shape := range []batch.Shape{
		{Agents: 2, Steps: 3, Envs: 4, ObsLen: 5, Actions: 3, GoalLen: 2},
		{Agents: 1, Steps: 2, Envs: 1, ObsLen: 3, Actions: 2, Continuous: true},
	} {
		r := rng.New(4).Rand()
		made := batch.New(shape)
		v := reflect.ValueOf(made).Elem()
		for i := range v.NumField() {
			f := v.Field(i)
			if v.Type().Field(i).Name == "Row" {
				continue // what is encoded is not saved
			}
			for k := 0; f.Kind() == reflect.Slice && k < f.Len(); k++ {
				switch e := f.Index(k); e.Kind() {
				case reflect.Float32:
					if r.IntN(3) > 0 {
						e.SetFloat(float64(r.Float32()))
					}
				case reflect.Bool:
					e.SetBool(r.IntN(2) == 0)
				case reflect.Uint8:
					e.SetUint(uint64(r.IntN(3)))
				default:
					e.SetInt(int64(r.IntN(5)))
				}
			}
		}
		saved, err := made.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		got := batch.New(shape)
		for i := range got.Obs {
			got.Obs[i] = 7 // of the window before
		}
		got.Row[0] = 1
		if err := got.UnmarshalBinary(saved); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, made) {
			t.Errorf("%v: another window came back", shape)
		}
		for i := range saved {
			if batch.New(shape).UnmarshalBinary(saved[:i]) == nil {
				t.Fatalf("the first %d of %d bytes were taken for a window", i, len(saved))
			}
		}
		if batch.New(shape).UnmarshalBinary(append(saved, 0)) == nil {
			t.Error("a byte too many was taken")
		}
		for i := range min(len(saved), 200) { // lengths, rows and columns: refused, or a window, and no panic
			b := append([]byte(nil), saved...)
			b[i] ^= 0xff
			_ = batch.New(shape).UnmarshalBinary(b)
		}
		other := shape
		other.Envs++
		if batch.New(other).UnmarshalBinary(saved) == nil {
			t.Error("a window of another shape was taken")
		}
	}
}
