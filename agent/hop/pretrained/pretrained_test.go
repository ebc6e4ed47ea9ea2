package pretrained

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/model/cvae"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/model/sequence"
	"github.com/hop-marl/hop/model/vae"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/safetensors"
)

// shaped is what a checkpoint with one model of each kind says about them.
func shaped(t testing.TB) string {
	t.Helper()
	board := frame.Input{Height: 3, Width: 3, Planes: 4, Rest: 5}
	s := shapes{
		VAE:  &shape[vae.Config, vae.Input]{vae.Default(), vae.Input{Input: board, Agents: 2, Actions: 5}},
		CVAE: &shape[cvae.Config, cvae.Input]{cvae.Default(), cvae.Input{Input: board, Seats: 2, Actions: 5}},
		World: &shape[world.Config, world.Input]{world.Default(), world.Input{
			Height: 3, Width: 3, Planes: 4, Agents: 2, Actions: 5, Horizon: 9, Legal: 5, Rewards: []float32{0, 1},
		}},
		Sequence: &shape[sequence.Config, sequence.Input]{sequence.Default(), sequence.Input{
			Input: moa.Input{Input: board, Actions: 5, LegalAt: -1, LastAt: -1, Seats: 2}, Kinds: []string{"ns", "self"},
		}},
		Response: &response{actor.Default(), actor.Input{Input: board, Actions: 5}, 1, []string{"ns", "self"}, []float64{0.25, 0.75}},
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// held is a checkpoint that says so about its models, with a little else in it.
func held(shapes string) *safetensors.File {
	other := safetensors.Tensor{Name: "else", DType: "U8", Shape: []int{len(megabyte)}, Data: megabyte}
	return &safetensors.File{Meta: map[string]string{shapesKey: shapes}, Tensors: []safetensors.Tensor{other}}
}

var megabyte = make([]byte, 1<<20)

// A checkpoint whose sums are right may still lie about its models. It is refused, by
// name, before memory is made for them.
func TestForgedShapesAreRefused(t *testing.T) {
	good := shaped(t)
	only := func(kind string) string { // without the models that come before
		var all map[string]json.RawMessage
		if err := json.Unmarshal([]byte(good), &all); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(map[string]json.RawMessage{kind: all[kind]})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, c := range []struct{ kind, old, forged, want string }{
		{"VAE", `"Height":3`, `"Height":0`, "or none of the three"},
		{"VAE", `"Height":3`, `"Height":-3`, "sizes from 0"},
		{"VAE", `"Width":3`, `"Width":4000000000`, "sizes from 0"},
		{"VAE", `"Planes":4`, `"Planes":1000000`, "at most 1048576 numbers"},
		{"VAE", `"Hidden":[256,128]`, `"Hidden":[4096,4096,4096]`, "is not true"},
		{"VAE", `"Hidden":[256,128]`, `"Hidden":[1` + strings.Repeat(",1", 100_000) + `]`, "at most 64 layers"},
		{"CVAE", `"Actions":5`, `"Actions":2000000000`, "2000000000 actions"},
		{"CVAE", `"Seats":2`, `"Seats":2000000000`, "2000000000 seats"},
		{"CVAE", `"Feature":32`, `"Feature":4096`, "is not true"},
		{"CVAE", `"Height":3`, `"Height":0`, "or none of the three"},
		{"World", `"Horizon":9`, `"Horizon":2000000000`, "horizon"},
		{"World", `"Width":3`, `"Width":9000000000000000000`, "sizes from 0"},
		{"World", `"Legal":5`, `"Legal":-50`, "legal"},
		{"World", `"Hidden":[64,64]`, `"Hidden":[1024,1024,1024]`, "is not true"},
		{"World", `"Hidden":[64,64]`, `"Hidden":[64,64]`, `"models/world/`}, // no weights
		{"Sequence", `"Width":64`, `"Width":-64`, "width"},
		{"Sequence", `"Window":128`, `"Window":100000`, "window"},
		{"Sequence", `"Kinds":["ns","self"]`, `"Kinds":[]`, "0 kinds"},
		{"Sequence", `"Planes":4`, `"Planes":1000000`, "at most 1048576 numbers"},
		{"Sequence", `"Actions":5`, `"Actions":2000000000`, "2000000000 actions"},
		{"Sequence", `"Up":128`, `"Up":4096`, "is not true"},
		{"Sequence", `"Width":64`, `"Width":64`, `"models/sequence/`}, // no weights
		{"Response", `"Actions":5`, `"Actions":-1`, "-1 actions"},
		{"Response", `"Actions":5`, `"Actions":2000000000`, "2000000000 actions"},
		{"Response", `"Rest":5`, `"Rest":-40`, "sizes from 0"},
		{"Response", `"Extra":0`, `"Extra":1000000000`, "sizes from 0"},
		{"Response", `"Hidden":[64,64]`, `"Hidden":[4096,4096]`, "is not true"},
		{"Response", `"Met":[0.25,0.75]`, `"Met":[1]`, "met [1] of [ns self]"},
		{"Response", `"Met":[0.25,0.75]`, `"Met":[-1,2]`, "met [-1 2] of [ns self]"},
		{"Response", `"Met":[0.25,0.75]`, `"Met":[0,0]`, "met [0 0] of [ns self]"},
	} {
		text := only(c.kind)
		if !strings.Contains(text, c.old) {
			t.Errorf("%s: nothing to forge: %s is not in %s", c.kind, c.old, text)
			continue
		}
		f := held(strings.Replace(text, c.old, c.forged, 1))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Of(f)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %.40s: error %.200v, want one with %q", c.kind, c.forged, err, c.want)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
			t.Errorf("%s with %.40s took %d bytes before it was refused", c.kind, c.forged, took)
		}
	}
}

// A piece of what a checkpoint says is replaced. The whole text is not the input: making
// that smaller, byte by byte, whenever it finds something, would be all that is done.
func FuzzOf(f *testing.F) {
	good := shaped(f)
	for _, word := range []string{`"Height":`, `"Hidden":`, `"Actions":`, `"Horizon":`, `"Rewards":`} {
		f.Add(uint16(strings.Index(good, word)+len(word)), "-1")
	}
	f.Fuzz(func(t *testing.T, at uint16, text string) {
		from := int(at) % len(good)
		m, err := Of(held(good[:from] + text + good[min(from+len(text), len(good)):]))
		if err != nil {
			return
		}
		if m.VAE != nil {
			m.VAE.Work(1)
		}
		if m.CVAE != nil {
			m.CVAE.Work(1)
		}
	})
}
