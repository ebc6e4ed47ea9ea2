package config_test

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/hop-marl/hop/num/config"
)

type inner struct {
	Rate float64 `yaml:"rate" doc:"step size" unit:"1/s" range:"0<..1"`
	On   bool    `yaml:"on" doc:"use it"`
}

type settings struct {
	Size   int       `yaml:"size" doc:"cells along each side" range:"2..64"`
	Frame  string    `yaml:"frame" doc:"whose view" oneof:"board|ego"`
	Share  float64   `yaml:"share" doc:"a share" range:"0..<1"`
	Floor  float64   `yaml:"floor" doc:"not negative" range:"0.."`
	Free   float64   `yaml:"free" doc:"any number"`
	Weight []float64 `yaml:"weight" doc:"one a seat" range:"0<.."`
	Count  uint8     `yaml:"count" doc:"a count" range:"1.."`
	Steps  []int     `yaml:"steps" doc:"a list of counts"`
	Ppo    inner     `yaml:"ppo"`
	Hidden int       `yaml:"-" range:"5..6"`
	secret int
}

func sound() settings {
	return settings{Size: 4, Frame: "ego", Count: 1, Weight: []float64{1, 2}, Ppo: inner{Rate: 0.5}}
}

func TestRanges(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(c *settings)
		want   string // "" if it is sound
	}{
		{"sound", func(c *settings) {}, ""},
		{"lower bound", func(c *settings) { c.Size = 2 }, ""},
		{"below", func(c *settings) { c.Size = 1 }, "size is 1, want at least 2, at most 64"},
		{"upper bound", func(c *settings) { c.Size = 64 }, ""},
		{"above", func(c *settings) { c.Size = 65 }, "size is 65, want at least 2, at most 64"},
		{"open bound", func(c *settings) { c.Ppo.Rate = 0 }, "ppo.rate is 0, want above 0, at most 1"},
		{"just inside an open bound", func(c *settings) { c.Ppo.Rate = 1e-9 }, ""},
		{"open upper bound", func(c *settings) { c.Share = 1 }, "share is 1, want at least 0, below 1"},
		{"closed lower beside open upper", func(c *settings) { c.Share = 0 }, ""},
		{"no upper bound", func(c *settings) { c.Floor = 1e38 }, ""},
		{"infinite", func(c *settings) { c.Floor = math.Inf(1) }, "floor is .inf, want a finite number of 32 bits, at least 0"},
		{"infinite as a float32", func(c *settings) { c.Floor = 1e39 }, "floor is 1e+39, want a finite number of 32 bits, at least 0"},
		{"not a number", func(c *settings) { c.Free = math.NaN() }, "free is .nan, want a finite number of 32 bits"},
		{"not a number in a list", func(c *settings) { c.Weight = []float64{1, math.NaN()} },
			"weight is [1, .nan], want a finite number of 32 bits, above 0"},
		{"unsigned", func(c *settings) { c.Count = 0 }, "count is 0, want at least 1"},
		{"element", func(c *settings) { c.Weight = []float64{1, 0} }, "weight is [1, 0], want above 0"},
		{"empty list", func(c *settings) { c.Weight = nil }, ""},
		{"one of", func(c *settings) { c.Frame = "board" }, ""},
		{"none of", func(c *settings) { c.Frame = "bird" }, "frame is bird, want one of board, ego"},
		{"part of one", func(c *settings) { c.Frame = "boar" }, "frame is boar, want one of board, ego"},
		{"not a field", func(c *settings) { c.Hidden, c.secret = 9, 9 }, ""},
	} {
		v := sound()
		c.change(&v)
		got := ""
		if err := config.Check(v); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		if err := config.Check(&v); (err != nil) != (c.want != "") {
			t.Errorf("%s: a pointer gives %v", c.name, err)
		}
	}
}

func TestEntriesOfListsAreChecked(t *testing.T) {
	v := struct {
		List []inner `yaml:"list"`
	}{[]inner{{Rate: 0.5}, {Rate: math.NaN()}, {Rate: 2}}}
	want := "list[1].rate is .nan, want a finite number of 32 bits, above 0, at most 1\nlist[2].rate is 2, want above 0, at most 1"
	if err := config.Check(v); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestAllFaultsAreListed(t *testing.T) {
	v := sound()
	v.Size, v.Frame, v.Ppo.Rate = 1, "x", 2
	want := []string{"size is 1", "frame is x", "ppo.rate is 2"}
	got := config.Split(config.Check(v))
	if len(got) != len(want) {
		t.Fatalf("got %v, want %d faults", got, len(want))
	}
	for i := range want {
		if !strings.HasPrefix(got[i].Error(), want[i]) {
			t.Errorf("fault %d: got %q, want %q", i, got[i], want[i])
		}
	}
	text := config.Summary("the spec", config.Check(v)).Error()
	if !strings.HasPrefix(text, "the spec has 3 faults:\n  size is 1") || strings.Count(text, "\n") != 3 {
		t.Errorf("summary %q, want a heading and a line for each fault", text)
	}
	if config.Summary("the spec", nil) != nil {
		t.Error("no faults have a summary")
	}
}

func TestSet(t *testing.T) {
	v := sound()
	for _, c := range []struct{ path, value string }{
		{"size", "8"}, {"frame", "board"}, {"ppo.rate", "1e-3"}, {"ppo.on", "true"},
		{"weight", "[3, 4.5]"}, {"count", "7"}, {"steps", "[1, 1e3]"},
	} {
		if err := config.Set(&v, c.path, c.value); err != nil {
			t.Errorf("Set %s=%s: %v", c.path, c.value, err)
		}
	}
	want := sound()
	want.Steps = []int{1, 1000}
	want.Size, want.Frame, want.Count, want.Weight, want.Ppo = 8, "board", 7, []float64{3, 4.5}, inner{1e-3, true}
	if !reflect.DeepEqual(v, want) {
		t.Errorf("got %+v, want %+v", v, want)
	}
}

func TestSetTakesTextAsItIs(t *testing.T) {
	v := sound()
	if err := config.Set(&v, "frame", "yes: [no"); err != nil || v.Frame != "yes: [no" {
		t.Errorf("got %q, %v", v.Frame, err)
	}
}

func TestSetRefuses(t *testing.T) {
	for _, c := range []struct{ name, path, value, want string }{
		{"text for an int", "size", "big", `size is "big", want a value of type int`},
		{"a fraction for an int", "size", "4.5", `size is "4.5", want a value of type int`},
		{"too large", "count", "256", `count is "256", want a value of type int`},
		{"nothing", "size", "", `size is "", want a value of type int`},
		{"null", "ppo.rate", "null", `ppo.rate is "null", want a value of type number`},
		{"text for yes or no", "ppo.on", "perhaps", `ppo.on is "perhaps", want a value of type yes or no`},
		{"one for a list", "weight", "x", `weight is "x", want a value of type list of number`},
		{"broken yaml", "weight", "[1", `weight is "[1", want a value of type list of number`},
		{"near a field", "sise", "3", "did you mean size?"},
		{"near a nested field", "ppo.rat", "3", "did you mean ppo.rate?"},
		{"a block", "ppo", "3", "not a field"},
		{"like nothing", "temperature", "3", ""},
		{"a fraction in a list of ints", "steps", "[1, 2.5]", `steps is "[1, 2.5]", want a value of type list of int`},
		{"hidden", "-", "3", "not a field"},
	} {
		v := sound()
		err := config.Set(&v, c.path, c.value)
		if c.want == "" {
			if err == nil || strings.Contains(err.Error(), "did you mean") {
				t.Errorf("%s: %v, want an error without a suggestion", c.name, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
		if !reflect.DeepEqual(v, sound()) {
			t.Errorf("%s: a refused value was set: %+v", c.name, v)
		}
	}
}

func TestListDescribesEveryField(t *testing.T) {
	got := config.List(sound())
	want := []config.Info{
		{Path: "size", Type: "int", Default: "4", Doc: "cells along each side", Want: "at least 2, at most 64"},
		{Path: "frame", Type: "text", Default: "ego", Doc: "whose view", Want: "one of board, ego"},
		{Path: "share", Type: "number", Default: "0", Doc: "a share", Want: "at least 0, below 1"},
		{Path: "floor", Type: "number", Default: "0", Doc: "not negative", Want: "at least 0"},
		{Path: "free", Type: "number", Default: "0", Doc: "any number"},
		{Path: "weight", Type: "list of number", Default: "[1, 2]", Doc: "one a seat", Want: "above 0"},
		{Path: "count", Type: "int", Default: "1", Doc: "a count", Want: "at least 1"},
		{Path: "steps", Type: "list of int", Default: "[]", Doc: "a list of counts"},
		{Path: "ppo.rate", Type: "number", Default: "0.5", Doc: "step size", Unit: "1/s", Want: "above 0, at most 1"},
		{Path: "ppo.on", Type: "yes or no", Default: "false", Doc: "use it"},
	}
	if len(got) != len(want) {
		t.Fatalf("%d fields, want %d: %+v", len(got), len(want), got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got  %+v\nwant %+v", got[i], want[i])
		}
	}
}

func TestDecodeListsAllFaultsWithTheirLines(t *testing.T) {
	const text = `size: 8
frme: ego
ppo:
  rate: fast
  on: true
size: 9
weight: [1, 2, 3]
count:
steps: [1.5]
`
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	v := sound()
	lines, faults := config.Decode(doc.Content[0], &v, "game")
	want := []string{
		"line 2: game.frme is not a field, want one of `hop list fields`; did you mean game.frame?",
		`line 4: game.ppo.rate is "fast", want a value of type number`,
		"line 6: game.size is given twice, want one value",
		`line 8: game.count is "", want a value of type int`,
		`line 9: game.steps is "a block or list", want a value of type list of int`,
	}
	if len(faults) != len(want) {
		t.Fatalf("%d faults, want %d: %v", len(faults), len(want), faults)
	}
	for i, f := range faults {
		if f.Error() != want[i] {
			t.Errorf("fault %d:\ngot  %s\nwant %s", i, f, want[i])
		}
	}
	if v.Size != 8 || !v.Ppo.On || v.Ppo.Rate != 0.5 || len(v.Weight) != 3 || v.Frame != "ego" {
		t.Errorf("got %+v: sound fields must be set, others keep their value", v)
	}
	if lines["game.ppo.on"] != 5 || lines["game.weight"] != 7 {
		t.Errorf("lines %v, want game.ppo.on on 5 and game.weight on 7", lines)
	}
}

func TestFaultsFindTheirLine(t *testing.T) {
	v := sound()
	v.Size = 1
	err := config.At(config.Check(v), "game", config.Lines{"game.size": 12})
	if got, want := err.Error(), "line 12: game.size is 1, want at least 2, at most 64"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if config.At(nil, "game", nil) != nil {
		t.Error("no error was given a place")
	}
}

func TestBadShowsTheValue(t *testing.T) {
	if got := config.Bad("weight", []float64{1, 2}, "one a seat").Error(); got != "weight is [1, 2], want one a seat" {
		t.Errorf("got %q", got)
	}
}

// A field that is needed is a fault while it is empty, and only then.
func TestNeededFieldsAreNotEmpty(t *testing.T) {
	type needy struct {
		Data string   `yaml:"data" doc:"a folder" need:"yes"`
		Who  []string `yaml:"who" doc:"some bots" need:"yes"`
		Zoo  string   `yaml:"zoo" doc:"another folder"`
	}
	err := config.Check(needy{Who: []string{}})
	for _, want := range []string{"data is empty, want a folder", "who is empty, want some bots"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want it to say %q", err, want)
		}
	}
	if err := config.Check(needy{Data: "d", Who: []string{"ns"}}); err != nil {
		t.Error(err)
	}
}

// What a field holds is shown as YAML writes it.
func TestValuesAreShownAsYAML(t *testing.T) {
	type all struct {
		B bool
		I int
		L int64
		U uint64
		F float64
		S string
		E string
		N []string
		M []string
		D time.Duration
	}
	for _, f := range []float64{0, -0.5, 1e21, 1e-7, 123456789, 1. / 3, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64} {
		v := all{true, -3, math.MinInt64, math.MaxUint64, f, "yes", "", nil, []string{}, time.Second}
		fields := reflect.ValueOf(v)
		for i, info := range config.ListAll(&v) {
			b, err := yaml.Marshal(fields.Field(i).Interface())
			if want := strings.TrimSpace(string(b)); err != nil || info.Default != want {
				t.Errorf("%s %v is shown as %s, want %s, %v", info.Path, fields.Field(i), info.Default, want, err)
			}
		}
	}
}
