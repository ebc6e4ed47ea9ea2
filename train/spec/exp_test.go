package spec_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
)

func TestAWrongSpecListsAllItsFaults(t *testing.T) {
	text := `
game:
  name: staghunt
  size: 1
  stagz: 2
actor: {frame: sideways, hidden: [0]}
ppo:
  lr: fast
  gamma: 1.5
  gamma: 0.9
train:
  brains: [0, 1]
  goal_weight: [{goal: rabbit, from: 0, to: 1, over: 10}]
  switch: [{at: 5, agent: 9, to: nh}]
  standins: {share: 0.5}
colour: red
`
	_, err := registry.New().Parse([]byte(text), "my.yaml", "my", []string{"ppo.lrr=1", "train.envs=0", "nonsense"})
	if err == nil {
		t.Fatal("the spec was accepted")
	}
	for _, want := range []string{
		"my.yaml has",
		"line 4: game.size is 1, want at least 2",
		"line 5: game.stagz is not a field", "did you mean game.stags?",
		"line 6: actor.frame is sideways, want one of board, ego, egof",
		"line 6: actor.hidden is [0]",
		`line 8: ppo.lr is "fast"`,
		"line 10: ppo.gamma is given twice",
		"train.brains is [0, 1]",
		"goal_weight[0].goal is rabbit",
		"switch[0].agent is 9",
		"train.standins.who is []",
		"line 16: colour is not a field",
		"--set ppo.lrr=1", "did you mean ppo.lr?",
		"train.envs is 0, want at least 1",
		"--set nonsense",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
}

// unfilled returns the stages that fields of folders name, such as {moa}.
func unfilled(s spec.Spec) []string {
	var list []string
	s.Fill(func(folder string) string {
		if strings.Contains(folder, "{") {
			list = append(list, folder)
		}
		return folder
	})
	return list
}

func TestPresetsAreWhole(t *testing.T) {
	reg := registry.New()
	for _, name := range reg.PresetNames() {
		s, err := reg.Load(name, nil)
		if err != nil {
			t.Errorf("preset %s: %v", name, err)
			continue
		}
		if s.Name != name {
			t.Errorf("preset %s calls itself %s", name, s.Name)
		}
		_, err = s.Build(1, spec.Machine{Workers: 1})
		if list := unfilled(s); len(list) > 0 { // its models come from stages
			if err == nil || !strings.Contains(err.Error(), list[0]) {
				t.Errorf("preset %s: built without its models: %v", name, err)
			}
			for _, st := range list {
				if s.Prepare.Find(prepare.Folder(st).Stage()) == nil {
					t.Errorf("preset %s: nothing prepares %s", name, st)
				}
			}
			continue
		}
		if err != nil {
			t.Errorf("preset %s: %v", name, err)
		}
	}
}

// A newcomer finds every preset among those of its purpose, with a line on what it is,
// and the main job first.
func TestEveryPresetIsInAGroup(t *testing.T) {
	reg := registry.New()
	list := reg.PresetList()
	if len(list) != len(reg.PresetNames()) || list[0].Name != "hop+main" {
		t.Fatalf("%d of %d presets are listed, %s first", len(list), len(reg.PresetNames()), list[0].Name)
	}
	for i, p := range list {
		if n := len(p.Doc); n == 0 || n > 116 {
			t.Errorf("preset %s says what it is for in %d letters, want a line of at most 116", p.Name, n)
		}
		at := slices.Index(reg.Groups, p.Group)
		if at < 0 {
			t.Errorf("preset %s is of group %q, want one of %q in its first line", p.Name, p.Group, reg.Groups)
		}
		if i > 0 && at < slices.Index(reg.Groups, list[i-1].Group) {
			t.Errorf("preset %s, of %s, comes after %s", p.Name, p.Group, list[i-1].Group)
		}
	}
}

// The resolved spec in a run's folder says everything: read back, it is the same.
func TestResolvedSpecReadsBack(t *testing.T) {
	for _, name := range registry.New().PresetNames() {
		s, err := registry.New().Load(name, []string{"ppo.lr=0.00123"})
		if err != nil {
			t.Fatal(err)
		}
		text, err := s.YAML()
		if err != nil {
			t.Fatal(err)
		}
		back, err := registry.New().Parse(text, "spec.yaml", "other", nil)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		again, err := back.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if string(text) != string(again) || back.Name != name {
			t.Errorf("%s read back differs:\n%s\n%s", name, text, again)
		}
		if d := s.Diff(&back); len(d) > 0 {
			t.Errorf("%s read back holds other values: %v", name, d)
		}
		if !reflect.DeepEqual(back.Prepare, s.Prepare) || !reflect.DeepEqual(back.Follow, s.Follow) {
			t.Errorf("%s read back holds other stages: %v and %v", name, back.Prepare, back.Follow)
		}
	}
}

func TestEveryFieldIsDocumented(t *testing.T) {
	reg := registry.New()
	var sets []string
	for _, name := range reg.PlainGames() {
		sets = append(sets, "game.name="+name)
	}
	for _, name := range reg.MindNames() {
		sets = append(sets, "mind="+name)
	}
	for _, name := range sets {
		s := reg.Default()
		if err := s.Set(name); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, f := range s.Fields() {
			if f.Doc == "" || f.Type == "" {
				t.Errorf("%s: field %s has no meaning or type", name, f.Path)
			}
			if seen[f.Path] {
				t.Errorf("%s: field %s is listed twice", name, f.Path)
			}
			seen[f.Path] = true
		}
		if len(seen) < 30 {
			t.Errorf("%s: only %d fields", name, len(seen))
		}
	}
}

func TestSetReachesEveryPart(t *testing.T) {
	s := registry.New().Default()
	for _, set := range []string{"game.size=6", "ppo.gamma=0.5", "actor.hidden=[8, 8]", "train.brains=[0,0,0,0]", "eval.episodes=7",
		"train.standins.share=0.25", "name=mine"} {
		if err := s.Set(set); err != nil {
			t.Errorf("%s: %v", set, err)
		}
	}
	g, err := s.Game.Build()
	if err != nil {
		t.Fatal(err)
	}
	if g.Spec().Obs.Height != 6 || s.PPO.Gamma != 0.5 || len(s.Actor.Hidden) != 2 || s.Train.Brains[3] != 0 || s.Eval.Episodes != 7 ||
		s.Train.Standins.Share != 0.25 || s.Name != "mine" {
		t.Errorf("not everything was set: %+v", s)
	}
}

func TestStagesChangeOnlyTheirGame(t *testing.T) {
	s, err := registry.New().Parse([]byte("train: {stages: [{at: 0, set: [game.blocks=0, game.hares=2]}]}"), "x.yaml", "x",
		[]string{"game.size=6", "game.blocks=2"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Build(1, spec.Machine{Workers: 1}); err != nil {
		t.Fatal(err)
	}
	text, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "blocks: 2") {
		t.Errorf("building a stage changed the true game:\n%s", text)
	}
	if _, err := registry.New().Parse([]byte("train: {stages: [{at: 0, set: [ppo.lr=1]}]}"), "x.yaml", "x", nil); err == nil {
		t.Error("a stage may only change the game")
	}
}

func TestEveryGameBuilds(t *testing.T) {
	for _, name := range registry.New().PlainGames() {
		g, err := registry.New().NewGame(name)
		if err != nil {
			t.Fatal(err)
		}
		built, err := g.Build()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if built.Spec().Name != name {
			t.Errorf("%s calls itself %s", name, built.Spec().Name)
		}
		if _, err := game.NewBot(built, "random"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := registry.New().NewGame("chess"); err == nil || !strings.Contains(err.Error(), "staghunt") {
		t.Errorf("an unknown game: %v, want the list of games", err)
	}
}
