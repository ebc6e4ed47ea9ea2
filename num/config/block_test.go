package config_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/hop-marl/hop/num/config"
)

type Codes struct {
	Mix float64 `yaml:"mix" doc:"share of the prior" range:"0..1"`
	Net struct {
		Width int `yaml:"width" doc:"units" range:"1.."`
	} `yaml:"net" when:"hand|latent"`
}

type goals struct {
	Doubt bool     `yaml:"doubt" doc:"perhaps none" when:"hand|latent|classes"`
	Kind  string   `yaml:"kind" doc:"what others pursue" oneof:"none|hand|latent|classes"`
	Names []string `yaml:"names" doc:"of the classes" when:"classes"`
	Codes `yaml:",inline" when:"latent|classes"`
}

type entry struct {
	At  int      `yaml:"at"`
	Set []string `yaml:"set"`
	Of  goals    `yaml:"of"`
}

type tagged struct {
	Seed  int     `yaml:"seed" doc:"a number"`
	Goals goals   `yaml:"goals"`
	List  []entry `yaml:"list" doc:"entries"`
	None  []entry `yaml:"none" doc:"no entries"`
	Text  string  `yaml:"text" doc:"any"`
}

func ofKind(kind string) tagged {
	v := tagged{Seed: 3, List: []entry{{At: 1, Set: []string{"a", "1e3"}}, {Of: goals{Kind: "latent"}}}}
	v.Goals.Kind, v.Goals.Mix, v.Goals.Net.Width = kind, 0.25, 8
	return v
}

func decode(t *testing.T, text string, v any) (faults []string) {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	_, fs := config.Decode(doc.Content[0], v, "")
	for _, f := range fs {
		faults = append(faults, f.Error())
	}
	return faults
}

func TestDecodeTakesFieldsOfTheBlocksKindOnly(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"its own", "goals: {kind: latent, mix: 0.5, net: {width: 4}, doubt: true}", nil},
		{"the kind stands last", "goals: {mix: 0.5, kind: classes, names: [a]}", nil},
		{"the kind that it has already", "goals: {doubt: true}", nil},
		{"of another kind", "seed: 1\ngoals:\n  kind: none\n  mix: 0.5",
			[]string{"line 4: goals.mix is 0.5, want it only for kind latent or classes; the kind is none"}},
		{"of another kind, and the kind stands last", "goals:\n  mix: 0.5\n  kind: none",
			[]string{"line 2: goals.mix is 0.5, want it only for kind latent or classes; the kind is none"}},
		{"of another kind than it has already", "goals:\n  mix: 0.5",
			[]string{"line 2: goals.mix is 0.5, want it only for kind latent or classes; the kind is hand"}},
		{"a block, inlined for fewer kinds", "goals:\n  kind: classes\n  net: {width: 4}",
			[]string{"line 3: goals.net is a block or list, want it only for kind latent; the kind is classes"}},
		{"a kind that there is not is for Check to refuse", "goals: {kind: latnt, mix: 0.5}", nil},
		{"a kind that cannot be read is the only fault", "goals: {mix: 0.5, kind: [latent]}",
			[]string{`line 1: goals.kind is "a block or list", want a value of type text`}},
		{"in an entry of a list", "list:\n- of: {kind: hand, doubt: true}\n- of:\n    kind: hand\n    mix: 1",
			[]string{"line 5: list[1].of.mix is 1, want it only for kind latent or classes; the kind is hand"}},
	} {
		v := ofKind("hand")
		if got := decode(t, c.text, &v); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		if len(c.want) > 0 && (v.Goals.Mix != 0.25 || v.Goals.Net.Width != 8) && !strings.Contains(c.text, "[latent]") {
			t.Errorf("%s: a refused value was set: %+v", c.name, v.Goals)
		}
	}
}

func TestSetTakesFieldsOfThePresentKindOnly(t *testing.T) {
	v := ofKind("hand")
	err := config.Set(&v, "goals.mix", "0.5")
	if want := "goals.mix is 0.5, want it only for kind latent or classes; the kind is hand"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := config.Set(&v, "goals.net.width", "5"); err == nil || v.Goals.Net.Width != 8 {
		t.Errorf("a field inside a block of another kind was set: %v, %+v", err, v.Goals)
	}
	for _, set := range [][2]string{{"goals.kind", "latent"}, {"goals.mix", "0.5"}, {"goals.net.width", "5"}} {
		if err := config.Set(&v, set[0], set[1]); err != nil {
			t.Error(err)
		}
	}
	if v.Goals.Mix != 0.5 || v.Goals.Net.Width != 5 {
		t.Errorf("got %+v", v.Goals)
	}
}

func TestCheckLooksAtFieldsThatExist(t *testing.T) {
	v := ofKind("classes")
	v.Goals.Mix, v.Goals.Net.Width, v.List = 2, -1, nil
	if got, want := fmt.Sprint(config.Check(v)), "goals.mix is 2, want at least 0, at most 1"; got != want {
		t.Errorf("got %q, want %q: net is for latent only", got, want)
	}
	v.Goals.Kind = "hand"
	if err := config.Check(v); err != nil {
		t.Errorf("fields of other kinds were checked: %v", err)
	}
	v.Goals.Kind = "latnt"
	if err := config.Check(v); err == nil || !strings.Contains(err.Error(), "goals.kind is latnt, want one of none, hand") {
		t.Errorf("got %v", err)
	}
}

func TestListsNameTheKinds(t *testing.T) {
	say := func(list []config.Info) (out []string) {
		for _, f := range list {
			out = append(out, strings.TrimSuffix(f.Path+": "+f.When, ": "))
		}
		return out
	}
	v := ofKind("classes")
	want := []string{"seed", "goals.doubt: goals.kind hand or latent or classes", "goals.kind", "goals.names: goals.kind classes",
		"goals.mix: goals.kind latent or classes", "list", "none", "text"}
	if got := say(config.List(v)); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	want = slices.Insert(want, 5, "goals.net.width: goals.kind latent")
	v.Goals.Kind = "none"
	if got := say(config.ListAll(v)); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	got := config.Under("mind", config.ListAll(v))[5]
	if got.Path != "mind.goals.net.width" || got.When != "mind.goals.kind latent" {
		t.Errorf("got %+v under mind", got)
	}
}

// A block of one kind inside a block of another exists if both kinds fit.
func TestKindsInsideKinds(t *testing.T) {
	type inner struct {
		Kind  string `yaml:"kind" oneof:"a|b"`
		Depth int    `yaml:"depth" when:"b"`
	}
	var v struct {
		Kind string `yaml:"kind" oneof:"x|y"`
		In   inner  `yaml:"in" when:"y"`
	}
	v.Kind, v.In.Kind = "x", "b"
	if got := config.ListAll(v)[2].When; got != "kind y, in.kind b" {
		t.Errorf("got %q", got)
	}
	if got := config.Under("at", config.ListAll(v))[2].When; got != "at.kind y, at.in.kind b" {
		t.Errorf("got %q", got)
	}
	if err := config.Set(&v, "in.depth", "3"); err == nil || !strings.Contains(err.Error(), "only for kind y; the kind is x") {
		t.Errorf("got %v", err)
	}
}

func TestATagForNoKindPanics(t *testing.T) {
	for _, v := range []any{
		struct {
			X int `yaml:"x" when:"a"`
		}{},
		struct {
			Kind string `yaml:"kind" oneof:"a|b"`
			X    int    `yaml:"x" when:"c"`
		}{},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%T is taken", v)
				}
			}()
			config.List(v)
		}()
	}
}

// Without kinds Encode writes what yaml writes; with them, what exists; and
// Decode takes all of it back.
func TestEncode(t *testing.T) {
	marshal := func(v any) string {
		t.Helper()
		text, err := yaml.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	encode := func(v any) string {
		t.Helper()
		n, err := config.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		return marshal(n)
	}
	plain := sound()
	if got, want := encode(&plain), marshal(plain); got != want {
		t.Errorf("got\n%s\nyaml writes\n%s", got, want)
	}
	for kind, left := range map[string][]string{
		"none": {"doubt", "mix", "net", "width", "names"}, "hand": {"mix", "net", "names"}, "latent": {"names"}, "classes": {"net"},
	} {
		v := ofKind(kind)
		v.List = nil
		v.Text = "1e3"
		text := encode(v)
		for _, name := range left {
			if strings.Contains(text, name+":") {
				t.Errorf("kind %s: %s is written:\n%s", kind, name, text)
			}
		}
		back := ofKind("none")
		back.List = nil
		if faults := decode(t, text, &back); len(faults) > 0 {
			t.Errorf("kind %s: %q is not taken back: %v", kind, text, faults)
		}
		if encode(back) != text || back.Text != "1e3" {
			t.Errorf("kind %s: came back as %+v", kind, back)
		}
	}
	all := ofKind("latent")
	all.Goals.Names, all.List[0].Of.Kind = []string{}, "hand"
	want := `seed: 3
goals:
    doubt: false
    kind: latent
    mix: 0.25
    net:
        width: 8
list:
    - at: 1
      set:
        - a
        - "1e3"
      of:
        doubt: false
        kind: hand
    - at: 0
      set: []
      of:
        doubt: false
        kind: latent
        mix: 0
        net:
            width: 0
none: []
text: ""
`
	if got := encode(all); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestClosest(t *testing.T) {
	names := []string{"ppo-4x4", "ppo-8x8", "hop-4x4", "staghunt", "snowdrift", "ns", "nh", "random"}
	for name, want := range map[string]string{
		"ppo4x4": "ppo-4x4", "pop-4x4": "hop-4x4", "stag-hunt": "staghunt", "Snowdrift": "snowdrift", "snowdirft": "snowdrift",
		"radnom": "random", "mh": "nh", "tag": "", "coin": "", "": "", "x": "", "lola-4x4": "",
	} {
		if got := config.Closest(name, names); got != want {
			t.Errorf("Closest(%q) is %q, want %q", name, got, want)
		}
	}
	if got := config.Closest("nx", []string{"ns", "nh"}); got != "nh" {
		t.Errorf("a tie gives %q: the answer must not hang on the order", got)
	}
	if got := config.Closest("stga", []string{"hare", "stag"}); got != "stag" {
		t.Errorf("two letters in the wrong order give %q", got)
	}
}

func TestUnknownNamesSuggestWhatExists(t *testing.T) {
	v := ofKind("classes")
	for path, want := range map[string]string{
		"goals.nmaes": "did you mean goals.names?", "seeds": "did you mean seed?", "mix": "did you mean goals.mix?",
		"goals.net.wdith": "`hop list fields`", "temperature": "`hop list fields`",
	} {
		if err := config.Set(&v, path, "1"); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
	got := decode(t, "goals: {mixx: 1, kind: hand, dout: true}", &v)
	if len(got) != 2 || strings.Contains(got[0], "mean") || !strings.HasSuffix(got[1], "did you mean goals.doubt?") {
		t.Errorf("got %q: mix does not exist for hand, doubt does", got)
	}
}

func TestDiff(t *testing.T) {
	a, b := ofKind("latent"), ofKind("classes")
	b.Seed, b.Goals.Names, a.Goals.Mix = 4, []string{"x"}, 0.75
	want := []config.Change{
		{Path: "seed", A: "3", B: "4"},
		{Path: "goals.kind", A: "latent", B: "classes"},
		{Path: "goals.names", B: "[x]"},
		{Path: "goals.mix", A: "0.75", B: "0.25"},
		{Path: "goals.net.width", A: "8"},
	}
	if got := config.Diff(config.List(a), config.List(b)); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got := config.Diff(config.List(a), config.List(a)); got != nil {
		t.Errorf("no difference gives %+v", got)
	}
	turned := config.List(a)
	slices.Reverse(turned)
	if got := config.Diff(config.List(a), turned); got != nil {
		t.Errorf("another order gives %+v", got)
	}
	few := func(value string, paths ...string) (list []config.Info) {
		for _, p := range paths {
			list = append(list, config.Info{Path: p, Default: value})
		}
		return list
	}
	got := fmt.Sprint(config.Diff(few("1", "x", "p", "y", "q"), few("2", "m", "p", "n", "q", "o")))
	if want := "[{m  2} {x 1 } {p 1 2} {n  2} {y 1 } {q 1 2} {o  2}]"; got != want {
		t.Errorf("got %s, want %s: each where its list has it", got, want)
	}
	b.Text = "now"
	if got := config.Diff(config.List(b)[7:], nil); len(got) != 1 || got[0] != (config.Change{Path: "text", A: "now"}) {
		t.Errorf("got %+v", got)
	}
	if got := config.Diff(nil, config.List(a)[7:]); len(got) != 1 || got[0] != (config.Change{Path: "text", B: `""`}) {
		t.Errorf("an empty text that only b has gives %+v", got)
	}
}
