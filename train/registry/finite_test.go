package registry_test

import (
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
)

// unfit are numbers that nothing can be paid or learnt with.
var unfit = []string{".nan", ".inf", "-.inf", "1e39"}

// Every number of every game, mind and block is refused where it is set if it is no
// number, or infinite, also as a float32.
func TestNoNumberOfASpecIsInfinite(t *testing.T) {
	reg := registry.New()
	tried := map[string]bool{}
	try := func(s spec.Spec, sets []string) {
		for _, f := range s.Fields() {
			if tried[f.Path] || f.Type != "number" && f.Type != "list of number" {
				continue
			}
			tried[f.Path] = true
			for _, value := range unfit {
				if strings.HasPrefix(f.Type, "list") {
					value = "[" + value + "]"
				}
				text := []byte("name: x\n")
				_, err := reg.Parse(text, "x.yaml", "x", append(sets, f.Path+"="+value))
				if err == nil || !strings.Contains(err.Error(), f.Path+" is ") || !strings.Contains(err.Error(), "a finite number") {
					t.Errorf("%s=%s: got %v, want it refused", f.Path, value, err)
				}
			}
		}
	}
	for _, sets := range everyKind(t, reg) {
		s := reg.Default()
		for _, set := range sets {
			if err := s.Set(set); err != nil {
				t.Fatal(err)
			}
		}
		try(s, sets)
	}
	for _, command := range prepare.Commands() {
		text := []byte("prepare: [{name: x, " + command + ": {}}]\n")
		for _, f := range config.List(prepare.New(command)) {
			if f.Type != "number" {
				continue
			}
			tried["prepare."+command+"."+f.Path] = true
			for _, value := range unfit {
				_, err := reg.Parse(text, "x.yaml", "x", []string{"prepare.x." + f.Path + "=" + value})
				if err == nil || !strings.Contains(err.Error(), "prepare.x."+f.Path+" is ") || !strings.Contains(err.Error(), "a finite number") {
					t.Errorf("%s: %s=%s: got %v, want it refused", command, f.Path, value, err)
				}
			}
		}
	}
	all := reg.Default()
	for _, f := range all.AllFields() {
		if f.Type == "number" && !tried[f.Path] {
			t.Errorf("%s was not tried: no spec of this test has it", f.Path)
		}
	}
	if len(tried) < 50 {
		t.Errorf("only %d fields were tried", len(tried))
	}
}

// everyKind returns sets that make specs of every game, of every mind, and of every kind
// that a block of it can be.
func everyKind(t *testing.T, reg *spec.Registry) (list [][]string) {
	t.Helper()
	for _, name := range reg.PlainGames() {
		list = append(list, []string{"game.name=" + name})
	}
	for _, name := range reg.MindNames() {
		s, own := reg.Default(), []string{"mind=" + name}
		if err := s.Set(own[0]); err != nil {
			t.Fatal(err)
		}
		list = append(list, own)
		for _, f := range s.Fields() {
			if kinds, ok := strings.CutPrefix(f.Want, "one of "); ok && strings.HasSuffix(f.Path, ".kind") {
				for _, kind := range strings.Split(kinds, ", ") {
					list = append(list, append(own[:1:1], f.Path+"="+kind))
				}
			}
		}
	}
	return list
}

// Entries of lists are numbers too, and those of a file.
func TestNoNumberOfAFileIsInfinite(t *testing.T) {
	for _, value := range unfit {
		for path, text := range map[string]string{
			"train.goal_weight[0].from": "train: {goal_weight: [{goal: hare, from: VALUE, to: 1, over: 10}]}",
			"game.hare_pays":            "game: {hare_pays: VALUE}",
			"game.player_strength":      "game: {player_strength: [1, 1, VALUE, 1]}",
			"ppo.lr":                    "ppo: {lr: VALUE}",
		} {
			_, err := registry.New().Parse([]byte(strings.ReplaceAll(text, "VALUE", value)), "x.yaml", "x", nil)
			if err == nil || !strings.Contains(err.Error(), path+" is ") || !strings.Contains(err.Error(), "a finite number") {
				t.Errorf("%s is %s: got %v, want it refused", path, value, err)
			}
		}
	}
}
