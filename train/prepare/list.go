package prepare

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/hop-marl/hop/num/config"
)

// Stage is something done around a training, in a folder of its own.
type Stage struct {
	Name   string
	Config Config
}

// List is a list of stages. In a spec each is {name: NAME, COMMAND: FIELDS}.
type List []Stage

var _ config.Coder = (*List)(nil)

// DecodeNode reads a list from a spec.
func (l *List) DecodeNode(n *yaml.Node, path string) (config.Lines, []*config.Fault) {
	*l = nil
	lines := config.Lines{}
	if n.Kind != yaml.SequenceNode {
		return lines, []*config.Fault{{Path: path, Value: n.Value, Want: "a list of stages, each " + form, Line: n.Line}}
	}
	var faults []*config.Fault
	for i, c := range n.Content {
		s, more, wrong := decodeStage(c, path, i)
		maps.Copy(lines, more)
		if faults = append(faults, wrong...); s.Config != nil {
			*l = append(*l, s)
		}
	}
	return lines, faults
}

const form = "{name: NAME, COMMAND: {FIELD: VALUE}}, such as {name: data, collect: {mix: [ns, nh], rows: 20000}}"

// decodeStage reads stage i of a list.
func decodeStage(n *yaml.Node, part string, i int) (s Stage, lines config.Lines, faults []*config.Fault) {
	at, lines := fmt.Sprintf("%s[%d]", part, i), config.Lines{}
	bad := func(n *yaml.Node, path, value, want string) {
		faults = append(faults, &config.Fault{Path: path, Value: value, Want: want, Line: n.Line})
	}
	if n.Kind != yaml.MappingNode {
		bad(n, at, n.Value, form)
		return s, lines, faults
	}
	var key, val *yaml.Node
	for k := 0; k+1 < len(n.Content); k += 2 {
		switch word := n.Content[k]; {
		case word.Value == "name" && s.Name != "" || word.Value != "name" && key != nil:
			bad(word, at+"."+word.Value, "one too many", form)
		case word.Value == "name":
			s.Name = n.Content[k+1].Value
		default:
			key, val = word, n.Content[k+1]
		}
	}
	lines[at+".name"] = n.Line
	if s.Name != "" {
		at = part + "." + s.Name
	}
	lines[at] = n.Line
	if key == nil {
		bad(n, at, "a name only", form)
		return s, lines, faults
	}
	if key.Value == "run" {
		s.Config = &Words{val.Value}
		return s, lines, faults
	}
	if New(key.Value) == nil {
		want := "one of " + strings.Join(Commands(), ", ")
		if like := config.Closest(key.Value, Commands()); like != "" {
			want += "; did you mean " + like + "?"
		}
		bad(key, at+"."+key.Value, "no stage", want)
		return s, lines, faults
	}
	var wrong []*config.Fault
	s.Config, _ = follow(New(key.Value), func(c Config) error {
		if lines, wrong = config.Decode(val, c, at); val.Kind == yaml.ScalarNode && val.Tag == "!!null" {
			wrong = nil // nothing but defaults
		}
		return nil
	})
	lines[at], lines[fmt.Sprintf("%s[%d].name", part, i)] = n.Line, n.Line
	return s, lines, append(faults, wrong...)
}

// EncodeNode writes a list as it stands in a spec, without what is at its defaults.
func (l *List) EncodeNode() (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	if len(*l) == 0 {
		n.Style = yaml.FlowStyle
	}
	for _, s := range *l {
		val, err := encodeStage(s.Config)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{
			textNode("name"), textNode(s.Name), textNode(Command(s.Config)), val,
		}})
	}
	return n, nil
}

func textNode(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

func encodeStage(c Config) (*yaml.Node, error) {
	if old, ok := c.(*Words); ok {
		return textNode(old.Text), nil
	}
	return config.Changed(c, Plain(c))
}

// String is a stage's command and fields on one line, as in a spec.
func (s Stage) String() string {
	n, err := encodeStage(s.Config)
	if err != nil {
		return err.Error()
	}
	b, err := yaml.Marshal(n)
	if err != nil {
		return err.Error()
	}
	return Command(s.Config) + ": " + strings.Join(strings.Fields(string(b)), " ")
}

// Find returns the stage of a name, nil if there is none.
func (l List) Find(name string) *Stage {
	if i := slices.IndexFunc(l, func(s Stage) bool { return s.Name == name }); i >= 0 {
		return &l[i]
	}
	return nil
}

// Fields describes the fields that a stage of each command has, below prepare or follow.
func Fields() (list []config.Info) {
	for _, k := range kinds {
		c, part := k.fresh(), "prepare."
		if _, meets := c.(*Adapt); meets {
			part = "follow."
		}
		list = append(list, config.Under(part+k.words, config.ListAll(c))...)
	}
	return list
}

// Line returns the words of a command that does what a config says, without its program and
// without --out. game are the flags that name the game, run the folder of trained agents.
func Line(c Config, game []string, run string) []string {
	words := strings.Fields(Command(c))
	switch c := c.(type) {
	case *Adapt:
		words = append(words, run)
	case *Collect:
		if c.Agents == "" {
			words = append(words, game...)
		}
	case *Response, *Zoo:
		words = append(words, game...)
	}
	values := map[string]reflect.Value{}
	config.Each(c, func(path string, v reflect.Value) { values[path] = v })
	flags := config.Flags(c)
	for _, d := range changes(c) {
		i := slices.IndexFunc(flags, func(f config.Flag) bool { return f.Path == d.Path && f.Sets == "" })
		if i < 0 || values[d.Path].Kind() == reflect.Bool && !values[d.Path].Bool() {
			words = append(words, "--set", d.Path+"="+d.A)
			continue
		}
		words = append(words, flagWords("--"+flags[i].Name, values[d.Path])...)
	}
	return words
}

// flagWords writes a flag with its value.
func flagWords(flag string, v reflect.Value) (words []string) {
	switch is := v.Interface().(type) {
	case bool:
		return []string{flag}
	case config.Seeds:
		return []string{flag, is.String()}
	case []Folder:
		for _, f := range is {
			words = append(words, flag, string(f))
		}
		return words
	}
	if v.Kind() != reflect.Slice {
		return []string{flag, fmt.Sprint(v.Interface())}
	}
	var list []string
	for i := range v.Len() {
		list = append(list, fmt.Sprint(v.Index(i).Interface()))
	}
	return []string{flag, strings.Join(list, ",")}
}

// Words is a stage as specs of before had it: the words of a command.
type Words struct{ Text string }

// Validate refuses it. What was done by it can still be read.
func (w *Words) Validate() error { return config.Bad("run", w.Text, "a stage of today, "+form) }
