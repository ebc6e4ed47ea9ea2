package cli

import (
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/bench"
	"github.com/hop-marl/hop/lab/compare"
	"github.com/hop-marl/hop/lab/export"
	"github.com/hop-marl/hop/lab/sweep"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/registry"
)

// asked returns the config that a command line makes.
func asked(k *kong.Context) (prepare.Config, error) {
	switch c := k.Selected().Target.Interface().(type) {
	case collectCmd:
		got, err := c.read(k, nil)
		return &got, err
	case learnCmd[prepare.MOA]:
		got, err := c.read(k, c.Set)
		return &got, err
	case learnCmd[prepare.Sequence]:
		got, err := c.read(k, c.Set)
		return &got, err
	case learnCmd[prepare.VAE]:
		got, err := c.read(k, c.Set)
		return &got, err
	case learnCmd[prepare.CVAE]:
		got, err := c.read(k, c.Set)
		return &got, err
	case learnCmd[prepare.World]:
		got, err := c.read(k, c.Set)
		return &got, err
	case responseCmd:
		got, err := c.read(k, c.Set)
		return &got, err
	case zooTrainCmd:
		got, err := c.read(k, nil)
		return &got, err
	case adaptCmd:
		got, err := c.read(k, nil)
		return &got, err
	}
	panic("a command that is no stage")
}

// needed are the fields that a command cannot do without.
var needed = map[string][]string{
	"collect": {"team=[ns]"}, "adapt": {"trios=six"}, "pretrain vae": {"data=/d"}, "pretrain cvae": {"data=/d", "vae=/v"},
	"pretrain moa": {"data=/d"}, "pretrain sequence": {"data=/d"}, "pretrain world": {"data=[/d]"},
}

// The command line, a spec and Go have the same defaults, and what a stage prints as its command is
// the stage, for every field of every command.
func TestFlagsAreTheFieldsOfAStage(t *testing.T) {
	a := &app{t.Context(), registry.New(), strings.NewReader(""), io.Discard, io.Discard, &ending{}}
	parser := newParser(a, "")
	same := func(c prepare.Config) {
		t.Helper()
		words := append(prepare.Line(c, nil, "runs/x"), "--out", "/tmp/out")
		k, err := parser.Parse(words)
		if err != nil {
			t.Errorf("hop %s: %v", strings.Join(words, " "), err)
			return
		}
		if got, err := asked(k); err != nil || !reflect.DeepEqual(got, c) {
			t.Errorf("hop %s: %v\n%+v, want\n%+v", strings.Join(words, " "), err, got, c)
		}
	}
	for _, command := range prepare.Commands() {
		plain, err := prepare.With(prepare.New(command), needed[command]...)
		if err != nil {
			t.Fatal(err)
		}
		same(plain)
		for _, f := range config.ListAll(plain) {
			values := []string{"/data", "[/data, /more]", "true", "false", "3", "5", "0.25", "[2, 1]", "[16, 16]", "1-3"}
			if one, ok := strings.CutPrefix(f.Want, "one of "); ok {
				values = strings.Split(one, ", ")
			}
			i := slices.IndexFunc(values, func(value string) bool {
				c, err := prepare.With(plain, f.Path+"="+value)
				return err == nil && !reflect.DeepEqual(c, plain) && c.Validate() == nil
			})
			if i < 0 {
				continue // another field must change with it
			}
			c, err := prepare.With(plain, f.Path+"="+values[i])
			if err != nil {
				t.Fatal(err)
			}
			same(c)
		}
	}
}

// A command without flags does what Go does by default.
func TestFlagsHaveTheDefaultsOfGo(t *testing.T) {
	a := &app{t.Context(), registry.New(), strings.NewReader(""), io.Discard, io.Discard, &ending{}}
	for line, want := range map[string]func() any{
		"eval --team ns":   func() any { c := lab.DefaultEval(); c.Team = []string{"ns"}; return &c },
		"oracle --vs ns":   func() any { c := lab.DefaultSolve(); c.VS = []string{"ns"}; return &c },
		"crossplay ns nh":  func() any { c := lab.DefaultCross(); return &c },
		"ladder":           func() any { c := lab.DefaultLadder(); return &c },
		"compare a b":      func() any { c := compare.Default(); return &c },
		"export runs/x":    func() any { return &export.ONNX{} },
		"sweep run x":      func() any { c := sweep.DefaultOptions(); return &c },
		"sweep score ns":   func() any { c := sweep.DefaultOptions(); return &c },
		"sweep resume x":   func() any { c := sweep.DefaultOptions(); return &c },
		"bench plan":       func() any { c := bench.DefaultPlans(); return &c },
		"bench growth":     func() any { c := bench.DefaultGrowth(); return &c },
		"worker --connect": func() any { return &sweep.Server{Connect: "nats://x:1"} },
	} {
		words := strings.Fields(line)
		if words[0] == "worker" {
			words = append(words, "nats://x:1")
		}
		k, err := newParser(a, words[0]).Parse(words)
		if err != nil {
			t.Errorf("hop %s: %v", line, err)
			continue
		}
		var got any
		switch c := k.Selected().Target.Interface().(type) {
		case evalCmd:
			got = readAll(t, &c.flags, k)
		case oracleCmd:
			got = readAll(t, &c.flags, k)
		case crossplayCmd:
			got = readAll(t, &c.flags, k)
		case ladderCmd:
			got = readAll(t, &c.flags, k)
		case compareCmd:
			got = readAll(t, &c.flags, k)
		case exportCmd:
			got = readAll(t, &c.flags, k)
		case sweepRun:
			got = readAll(t, &c.flags, k)
		case sweepScore:
			got = readAll(t, &c.flags, k)
			if whom, score := readAll(t, &c.Whom, k), scoring(); !slices.Equal(config.List(whom), config.List(&score)) {
				t.Errorf("hop %s: it meets %+v, want %+v", line, whom, score)
			}
		case sweepResume:
			got = readAll(t, &c.flags, k)
		case benchPlanCmd:
			got = readAll(t, &c.flags, k)
		case benchGrowthCmd:
			got = readAll(t, &c.flags, k)
		case workerCmd:
			got = readAll(t, &c.flags, k)
		}
		if got == nil || !slices.Equal(config.List(got), config.List(want())) {
			t.Errorf("hop %s: %+v, want %+v", line, got, want())
		}
		for _, f := range config.Flags(want()) { // and says so
			for _, flag := range k.Selected().Flags {
				text := strings.NewReplacer("[", "", "]", "", " ", "", `""`, "").Replace(f.Default)
				shown := strings.ReplaceAll(flag.Default, " ", "")
				if flag.Name == f.Name && f.Default != ".nan" && f.Name != "seeds" && f.Type.Kind() != reflect.Bool && shown != "" && shown != text {
					t.Errorf("hop %s --help: the default of --%s is %s, want %s", line, f.Name, flag.Default, f.Default)
				}
			}
		}
	}
}

func readAll[C any](t *testing.T, f *flags[C], k *kong.Context) *C {
	t.Helper()
	got, err := f.read(k, nil)
	if err != nil {
		t.Error(err)
	}
	return &got
}
