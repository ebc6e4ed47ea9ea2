package cli

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/hop-marl/hop/game/script"
	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/bench"
	"github.com/hop-marl/hop/lab/compare"
	"github.com/hop-marl/hop/lab/export"
	"github.com/hop-marl/hop/lab/sweep"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/train/prepare"
)

// flags are those of a command that a config has: one for every field at its top, with its
// default and its doc. They are filled in by from before the command line is read.
type flags[C any] struct {
	Fields any `embed:""` // a struct made for kong
	plain  C
}

// from makes the flags of a config at its defaults.
func (f *flags[C]) from(plain C) {
	f.plain = plain
	var fields []reflect.StructField
	for i, flag := range config.Flags(&f.plain) {
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: flagType(flag), Tag: flagTag(flag)})
	}
	f.Fields = reflect.New(reflect.StructOf(fields)).Interface()
}

// flagType is the type that kong reads a flag as.
func flagType(f config.Flag) reflect.Type {
	switch {
	case f.Sets != "":
		return reflect.TypeFor[bool]()
	case f.Type == reflect.TypeFor[config.Seeds]():
		return f.Type
	case f.Type.Kind() == reflect.String:
		return reflect.TypeFor[string]()
	case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.String:
		return reflect.TypeFor[[]string]()
	}
	return f.Type
}

// flagTag says to kong what a field's own tags say.
func flagTag(f config.Flag) reflect.StructTag {
	tag := fmt.Sprintf("name:%q help:%q", f.Name, sentence(f.Doc))
	one, isEnum := strings.CutPrefix(f.Want, "one of ")
	switch {
	case f.Sets != "" || f.Type.Kind() == reflect.Bool:
	case isEnum:
		tag += fmt.Sprintf(" enum:%q default:%q", strings.ReplaceAll(one, ", ", ","), f.Default)
	case f.Type == reflect.TypeFor[config.Seeds]():
		var seeds config.Seeds
		if text := strings.NewReplacer("[", "", "]", "", " ", "").Replace(f.Default); seeds.UnmarshalText([]byte(text)) == nil {
			tag += fmt.Sprintf(" default:%q", seeds)
		}
	case f.Type.Kind() == reflect.Slice && !f.Each && f.Default != "[]":
		tag += fmt.Sprintf(" default:%q", strings.NewReplacer("[", "", "]", "", " ", "").Replace(f.Default))
	case f.Default != "[]" && f.Default != `""` && f.Default != ".nan":
		tag += fmt.Sprintf(" default:%q", strings.NewReplacer("[", "", "]", "").Replace(f.Default))
	}
	if f.Unit != "" {
		tag += fmt.Sprintf(" placeholder:%q", f.Unit)
	}
	folder := f.Type == reflect.TypeFor[prepare.Folder]() || f.Type == reflect.TypeFor[[]prepare.Folder]()
	if f.Each || folder {
		tag += ` sep:"none"`
	}
	if f.File || folder && (f.Default == `""` || f.Default == "[]") {
		tag += ` type:"path"`
	}
	if f.Need {
		tag += ` required:""`
	}
	return reflect.StructTag(tag)
}

// sentence writes what a field means as a sentence; a value or a field stays as it is written.
func sentence(doc string) string {
	first, rest := doc[:1], doc[1:]
	if word, _, _ := strings.Cut(doc, " "); !strings.HasSuffix(word, ":") {
		first = strings.ToUpper(first)
	}
	return first + rest + "."
}

// typedSet is a field that was set on the command line, and how.
type typedSet struct{ path, value, words string }

// read returns the config that the flags which were typed, and sets, make of the defaults.
func (f *flags[C]) read(k *kong.Context, sets []string) (C, error) {
	own := f.plain
	var all []typedSet
	for _, flag := range config.Flags(&own) {
		for _, p := range k.Path {
			if p.Flag != nil && p.Flag.Name == flag.Name {
				all = append(all, typedOf(flag, p.Flag.Target))
			}
		}
	}
	for _, set := range sets {
		path, value, ok := strings.Cut(set, "=")
		if !ok {
			return own, usage("--set %s: want FIELD=VALUE, such as seed=2", set)
		}
		all = append(all, typedSet{path, value, "--set " + set})
	}
	var err error
	if c, ok := any(&own).(prepare.Config); ok && prepare.Command(c) != "" {
		var list []string
		for _, t := range all {
			list = append(list, t.path+"="+t.value)
		}
		if c, err = prepare.With(c, list...); c != nil {
			own = *any(c).(*C)
		}
	} else {
		for _, t := range all {
			err = errors.Join(err, config.Set(&own, t.path, t.value))
		}
	}
	if v, ok := any(&own).(interface{ Validate() error }); ok && err == nil {
		err = v.Validate()
	}
	return own, blame(err, all)
}

// ProvideAsk hands a command its config: kong asks for it by the type that Run takes.
func (f *flags[C]) ProvideAsk(k *kong.Context) (C, error) {
	ask, err := f.read(k, nil)
	return ask, provided(err)
}

// provided is the error of what kong is to hand over: kong asks whether it is nil, as a struct cannot be.
func provided(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w", err)
}

// typedOf is a flag that was typed.
func typedOf(f config.Flag, target reflect.Value) typedSet {
	t := typedSet{path: f.Path, value: f.Sets, words: "--" + f.Name}
	switch is := target.Interface().(type) {
	case bool:
		if f.Sets == "" {
			t.value = fmt.Sprint(is)
		}
		return t
	case []string:
		if !f.Each {
			is = script.Split(strings.Join(is, ",")) // commas in brackets do not separate
		}
		t.words += " " + strings.Join(is, ",")
		var quoted []string
		for _, s := range is {
			quoted = append(quoted, fmt.Sprintf("%q", s))
		}
		t.value = "[" + strings.Join(quoted, ",") + "]"
		return t
	case []int:
		t.value = strings.ReplaceAll(fmt.Sprint(is), " ", ",")
	case config.Seeds:
		t.value = is.String()
	case string:
		t.value = is
		if strings.ContainsAny(is, `"'`) {
			t.value = fmt.Sprintf("%q", is)
		}
	default:
		t.value = fmt.Sprint(is)
	}
	t.words += " " + t.value
	return t
}

// blame says of every fault which of the words that were typed it is in.
func blame(err error, all []typedSet) error {
	var errs []error
	for _, e := range config.Split(err) {
		var f *config.Fault
		if errors.As(e, &f) {
			e = fmt.Errorf("--%s: want %s", strings.ReplaceAll(f.Path, "_", "-"), f.Want) // it was not typed
			for _, t := range all {
				switch {
				case t.path != f.Path:
				case strings.HasPrefix(t.words, "--set "):
					e = fmt.Errorf("%s: %w", t.words, f)
				default:
					e = fmt.Errorf("%s: want %s", t.words, f.Want)
				}
			}
		}
		errs = append(errs, e)
	}
	if len(errs) == 0 {
		return nil
	}
	return usageError{errors.Join(errs...)}
}

// madeFlags are those of commands that make a folder.
type madeFlags struct {
	Out         string `help:"Folder of what is made; one that was interrupted goes on, with the same settings." required:"" type:"path" placeholder:"DIR"`
	AcceptBuild bool   `help:"Go on with what another build of hop began."`
	jsonFlag
}

// newGrammar returns the command line, with the flags that configs have. Of a line that begins with a command's name
// it has that command alone: to make the others takes longer than all else that a short command does.
func newGrammar(word string) *grammar {
	c := &verbs{}
	all := reflect.ValueOf(c).Elem()
	for i := range all.NumField() {
		if f := all.Type().Field(i); strings.ToLower(f.Name) == word {
			if fill, ok := configured[word]; ok {
				fill(c)
			}
			one := reflect.New(reflect.StructOf([]reflect.StructField{f}))
			one.Elem().Field(0).Set(all.Field(i))
			return &grammar{Commands: one.Interface()}
		}
	}
	for _, fill := range configured {
		fill(c)
	}
	return &grammar{Commands: c}
}

// scoring are the settings of agents that are scored among strangers.
func scoring() prepare.Adapt {
	c := prepare.DefaultAdapt()
	c.Strangers, c.Lives = "test", 4
	return c
}

// configured gives commands the flags of their configs.
var configured = map[string]func(c *verbs){
	"collect": func(c *verbs) { c.Collect.from(prepare.DefaultCollect()) },
	"pretrain": func(c *verbs) {
		c.Pretrain.MOA.from(prepare.DefaultMOA())
		c.Pretrain.Sequence.from(prepare.DefaultSequence())
		c.Pretrain.VAE.from(prepare.DefaultVAE("a"))
		c.Pretrain.CVAE.from(prepare.DefaultCVAE())
		c.Pretrain.World.from(prepare.DefaultWorld())
		c.Pretrain.Response.from(prepare.DefaultResponse())
	},
	"zoo":       func(c *verbs) { c.Zoo.Train.from(prepare.DefaultZoo()) },
	"adapt":     func(c *verbs) { c.Adapt.from(prepare.DefaultAdapt()) },
	"strangers": func(c *verbs) { c.Strangers.Score.from(scoring()) },
	"bench": func(c *verbs) {
		c.Bench.Plan.from(bench.DefaultPlans())
		c.Bench.Growth.from(bench.DefaultGrowth())
	},
	"eval":      func(c *verbs) { c.Eval.from(lab.DefaultEval()) },
	"oracle":    func(c *verbs) { c.Oracle.from(lab.DefaultSolve()) },
	"crossplay": func(c *verbs) { c.Crossplay.from(lab.DefaultCross()) },
	"ladder":    func(c *verbs) { c.Ladder.from(lab.DefaultLadder()) },
	"compare":   func(c *verbs) { c.Compare.from(compare.Default()) },
	"export":    func(c *verbs) { c.Export.from(export.ONNX{}) },
	"sweep": func(c *verbs) {
		c.Sweep.Run_.from(sweep.DefaultOptions())
		c.Sweep.Score.from(sweep.DefaultOptions())
		c.Sweep.Score.Whom.from(scoring())
		c.Sweep.Resume.from(sweep.DefaultOptions())
	},
	"worker": func(c *verbs) { c.Worker.from(sweep.Server{}) },
}

// help holds what --help says at length: COMMAND.txt below a command's flags, with
// examples, and flags.txt, a line for each flag whose help is long.
//
//go:embed help/*.txt
var help embed.FS

// text returns one of its files; "" if there is none.
func text(name string) string {
	b, err := help.ReadFile("help/" + name + ".txt")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// flagHelp is what @NAME stands for as a flag's help. Kong's own variables would be looked
// for in every text of every flag, which took longer than all else that a short command does.
func flagHelp() map[string]string {
	words := map[string]string{}
	for _, line := range strings.Split(text("flags"), "\n") {
		name, help, _ := strings.Cut(line, " ")
		words["@"+name] = help
	}
	return words
}

// describe adds the texts to the commands and flags.
func describe(k *kong.Kong) {
	long := flagHelp()
	for _, n := range k.Model.Leaves(false) {
		if t := text(strings.ReplaceAll(n.Path(), " ", "-")); t != "" {
			n.Detail = t
		}
		for _, f := range n.Flags {
			f.Help = cmp.Or(long[f.Help], f.Help)
		}
		for _, v := range n.Positional {
			v.Help = cmp.Or(long[v.Help], v.Help)
		}
	}
}

// brieflyHelp is the help for somebody who has typed a command wrongly: how it is used, and an example.
func brieflyHelp(err error) string {
	var at *kong.ParseError
	if !errors.As(err, &at) || at.Context == nil || at.Context.Selected() == nil {
		return "Try: hop --help"
	}
	n := at.Context.Selected()
	return "Usage: hop " + n.Summary() + "\n" + example(n) + "Try: hop " + n.Path() + " --help"
}

// example is the first example of a command in its help, or in that of others of its group.
func example(n *kong.Node) string {
	group := n
	if n.Parent != nil && n.Parent.Parent != nil {
		group = n.Parent
	}
	for _, name := range []string{n.Path(), group.Path()} { // a group's own is of its first command
		for _, m := range append([]*kong.Node{n, group}, group.Leaves(true)...) {
			for line := range strings.Lines(cmp.Or(m.Detail, text(m.Path()))) {
				if line = strings.TrimSpace(line); strings.HasPrefix(line, "hop "+name+" ") {
					return "Example: " + line + "\n"
				}
			}
		}
	}
	return ""
}

// whole reads a whole number, which may be written as 2e4 or 20_000.
func whole(k *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := k.Scan.PopValueInto("number", &text); err != nil {
		return err
	}
	plain := strings.ReplaceAll(text, "_", "")
	if strings.ContainsAny(plain, "eE.") {
		if x, err := strconv.ParseFloat(plain, 64); err == nil && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			plain = strconv.FormatFloat(x, 'f', 0, 64)
		}
	}
	wrong := fmt.Errorf("want a whole number, such as 20000 or 2e4, not %q", text)
	if target.CanUint() {
		n, err := strconv.ParseUint(plain, 10, target.Type().Bits())
		if err != nil {
			return wrong
		}
		target.SetUint(n)
		return nil
	}
	n, err := strconv.ParseInt(plain, 10, target.Type().Bits())
	if err != nil {
		return wrong
	}
	target.SetInt(n)
	return nil
}
