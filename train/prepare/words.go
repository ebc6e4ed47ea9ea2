package prepare

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/hop-marl/hop/num/config"
)

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

// Words is a stage as specs of before had it, that cannot be read as one of today.
type Words struct {
	Text string
	why  error
}

// Validate says why not.
func (w *Words) Validate() error {
	return config.Bad("run", w.Text, "a stage of today, "+form+": "+w.why.Error())
}

// Parse reads a stage as specs of before had it: the words of a command, with {game} for the flags
// of the game and {run} for the folder of the trained agents.
func Parse(text string) Config {
	c, err := parse(strings.Fields(text))
	if err != nil {
		return &Words{text, err}
	}
	return c
}

func parse(words []string) (Config, error) {
	var c Config
	for n := min(2, len(words)); n > 0 && c == nil; n-- {
		if c = New(strings.Join(words[:n], " ")); c != nil {
			words = words[n:]
		}
	}
	if c == nil {
		return nil, fmt.Errorf("hop %s cannot be a stage; %s can", strings.Join(words, " "), strings.Join(Commands(), ", "))
	}
	var sets []string
	lists := map[string][]string{} // of folders, which are repeated
	flags := config.Flags(c)
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		if word == "{game}" || word == "{run}" {
			continue
		}
		name, value, has := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		i := slices.IndexFunc(flags, func(f config.Flag) bool { return f.Name == name })
		switch {
		case !strings.HasPrefix(word, "--") || i < 0 && name != "set":
			return nil, fmt.Errorf("%s is no field of %s", word, Command(c))
		case i >= 0 && flags[i].Sets != "":
			sets = append(sets, flags[i].Path+"="+flags[i].Sets)
			continue
		case i >= 0 && flags[i].Type.Kind() == reflect.Bool:
			sets = append(sets, flags[i].Path+"=true")
			continue
		case !has && len(words) == 0:
			return nil, fmt.Errorf("%s has no value", word)
		case !has:
			value, words = words[0], words[1:]
		}
		switch {
		case name == "set":
			sets = append(sets, value)
		case flags[i].Type == reflect.TypeFor[[]Folder]():
			lists[flags[i].Path] = append(lists[flags[i].Path], strconv.Quote(value))
		default:
			sets = append(sets, flags[i].Path+"="+flagText(flags[i], value))
		}
	}
	for path, list := range lists {
		sets = append(sets, path+"=["+strings.Join(list, ",")+"]")
	}
	return With(c, sets...)
}

// flagText writes a flag's value as it would stand in a spec.
func flagText(f config.Flag, value string) string {
	if f.Type.Kind() != reflect.Slice || f.Type == reflect.TypeFor[config.Seeds]() {
		return value
	}
	list := strings.Split(value, ",")
	for i := range list {
		list[i] = strconv.Quote(list[i])
	}
	return "[" + strings.Join(list, ",") + "]"
}
