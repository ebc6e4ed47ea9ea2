package spec_test

import (
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
)

// Presets that a program adds are listed beside ours, each name once; theirs stand before ours, and build on them.
func TestPresetsCanBeAdded(t *testing.T) {
	reg := registry.New()
	before := reg.PresetNames()
	reg.AddPresets(fstest.MapFS{
		"mine.yaml":    {Data: []byte("# group: Start here\n# Mine.\nbase: ppo-8x8\nppo: {lr: 0.5}\n")},
		"ppo-4x4.yaml": {Data: []byte("ppo: {lr: 0.25}\n")},
	})
	want := append(slices.Clone(before), "mine")
	slices.Sort(want)
	if got := reg.PresetNames(); !slices.Equal(got, want) {
		t.Errorf("the presets are %v, want %v", got, want)
	}
	for name, lr := range map[string]float64{"mine": 0.5, "ppo-4x4": 0.25} {
		if s, err := reg.Load(name, nil); err != nil || s.PPO.LR != lr {
			t.Errorf("%s has a learning rate of %v (%v), want %v", name, s.PPO.LR, err, lr)
		}
	}
	if _, err := reg.Load("ppo-8x8", nil); err != nil {
		t.Error(err)
	}
	if _, err := fs.Stat(reg.Presets, "nobody.yaml"); err == nil {
		t.Error("there is a preset that nobody wrote")
	}
	var empty spec.Registry
	empty.AddPresets(fstest.MapFS{"mine.yaml": {}})
	if got := empty.PresetNames(); !slices.Equal(got, []string{"mine"}) {
		t.Errorf("a registry without presets has %v, want mine", got)
	}
}
