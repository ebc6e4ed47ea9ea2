package model_test

import (
	"encoding/json"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/model/vae"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/store/runlog"
)

// saved writes the folder of a model, with something else in place of a piece of what its
// checkpoint says about it. Its sums are right.
func saved(t *testing.T, kind string, config, input any, p *nn.Params, old, forged string) string {
	t.Helper()
	meta, err := json.Marshal(map[string]any{"Config": config, "Input": input})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(meta), old) {
		t.Fatalf("%s: nothing to forge: %s is not in %s", kind, old, meta)
	}
	f := &safetensors.File{Meta: map[string]string{kind: strings.Replace(string(meta), old, forged, 1)}}
	p.Save(f, "best/")
	body, err := f.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	run, err := runlog.Create(filepath.Join(t.TempDir(), kind), []byte("{}\n"), runlog.Info{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if err := run.Checkpoint(1, body, 0, runlog.Keep{Last: 1}); err != nil {
		t.Fatal(err)
	}
	return run.Dir()
}

// A pretrained model's file may lie about it under a right hash. It is refused, by name,
// before memory is made for it.
func TestForgedFoldersAreRefused(t *testing.T) {
	board := frame.Input{Height: 3, Width: 3, Planes: 4, Rest: 5}
	vc, vin := vae.Default(), vae.Input{Input: board, Agents: 2, Actions: 5}
	mc, seen := moa.Default(), moa.Input{Input: board, Actions: 5, GoalLen: 2}
	_, vp, err := vae.New(vc, vin, rng.New(1))
	if err != nil {
		t.Fatal(err)
	}
	_, mp, err := moa.New(mc, seen, rng.New(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ kind, old, forged, want string }{
		{"vae", `"Height":3`, `"Height":3`, ""},
		{"vae", `"Planes":4`, `"Planes":-4`, "sizes from 0"},
		{"vae", `"Width":3`, `"Width":9000000000000000000`, "sizes from 0"},
		{"vae", `"Hidden":[256,128]`, `"Hidden":[4096,4096,4096]`, "is not true"},
		{"vae", `"Hidden":[256,128]`, `"Hidden":[128,128]`, "best/"},
		{"moa", `"GoalLen":2`, `"GoalLen":2`, ""},
		{"moa", `"GoalLen":2`, `"GoalLen":-2`, "goal"},
		{"moa", `"GoalLen":2`, `"GoalLen":2000000000`, "goal"},
		{"moa", `"Actions":5`, `"Actions":0`, "0 actions"},
		{"moa", `"Height":3`, `"Height":0`, "or none of the three"},
		{"moa", `"Rest":5`, `"Rest":2000000000`, "sizes from 0"},
	} {
		load := func() error {
			_, _, err := model.Load(nil, saved(t, "moa", mc, seen, mp, c.old, c.forged), "moa", moa.Layers)
			return err
		}
		if c.kind == "vae" {
			load = func() error {
				_, _, err := vae.Load(nil, saved(t, "vae", vc, vin, vp, c.old, c.forged))
				return err
			}
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := load()
		runtime.ReadMemStats(&after)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s as it is: %v", c.kind, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.kind+" model of ")):
			t.Errorf("%s with %s: error %v, want one that names the folder and %q", c.kind, c.forged, err, c.want)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
			t.Errorf("%s with %s took %d bytes before it was refused", c.kind, c.forged, took)
		}
	}
}
