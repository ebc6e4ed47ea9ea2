// Package config reads configuration structs that document themselves.
//
// A field carries its meaning in its tags, and everything else is generated from
// them: the list of fields, the checks, and setting a field from text.
//
//	Size int `yaml:"size" doc:"cells along each side of the board" range:"2..64"`
//	Frame string `yaml:"frame" doc:"..." oneof:"board|ego"`
//
// range bounds are inclusive and either may be empty ("0.." is "not negative");
// "0<..1" and "0..<1" exclude a bound. unit is optional. Nested structs are
// walked; their path is joined with dots. Slices of numbers apply range to every
// element, and slices of structs are walked too: "switch[0].agent".
//
// No number may be NaN or infinite, nor so large that it is as a float32, in which
// games pay and networks learn.
//
// A block with kinds has a text field "kind", and fields that only some of the
// kinds have. Such a field cannot be written for another kind; it is not
// checked, listed or encoded for it either.
//
//	Kind string  `yaml:"kind" doc:"..." oneof:"none|latent|classes"`
//	Mix  float64 `yaml:"mix" doc:"..." range:"0..1" when:"latent|classes"`
//
// need:"yes" is a field that must not be empty. A command has a flag for every field (Flags);
// flag:"-" is one for which it has an argument, flag:"each" a list that is typed one by one,
// flag:"file" a path, flag:"each file" both.
package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Info describes one field.
type Info struct {
	Path    string `json:"path"`           // "ppo.lr"
	Type    string `json:"type"`           // "int", "number", "text", "yes or no", "list of ..."
	Default string `json:"default"`        // as one would write it in a spec
	Doc     string `json:"doc"`            // what it means
	Unit    string `json:"unit,omitempty"` //
	Want    string `json:"want,omitempty"` // the allowed values, in words
	When    string `json:"when,omitempty"` // "goals.kind latent or classes"; empty: always
}

// Fault is one wrong field.
type Fault struct {
	Path, Value, Want string
	Line              int // in the spec file, 0 if it did not come from one
}

func (f *Fault) Error() string {
	s := fmt.Sprintf("%s is %s, want %s", f.Path, f.Value, f.Want)
	if f.Line > 0 {
		s = fmt.Sprintf("line %d: %s", f.Line, s)
	}
	return s
}

// Bad returns a Fault, for checks that tags cannot express.
func Bad(path string, value any, want string) error {
	is := []rune(show(reflect.ValueOf(value)))
	if len(is) > 200 {
		is = append(is[:200], []rune(" and so on")...)
	}
	return &Fault{Path: path, Value: string(is), Want: want}
}

// Need returns a Fault unless ok.
func Need(ok bool, path string, value any, want string) error {
	if ok {
		return nil
	}
	return Bad(path, value, want)
}

// List describes every field that v, a struct or a pointer to one, has, in order.
func List(v any) []Info {
	return list(v, func(l leaf) bool { return l.lacks == "" })
}

// ListAll describes the fields of all kinds, also of those that v is not.
func ListAll(v any) []Info {
	return list(v, func(leaf) bool { return true })
}

func list(v any, keep func(leaf) bool) []Info {
	var out []Info
	walk(reflect.Indirect(reflect.ValueOf(v)), leaf{}, func(l leaf) {
		if keep(l) {
			tag := l.f.Tag
			out = append(out, Info{l.path, typeName(l.f.Type), show(l.v), tag.Get("doc"), tag.Get("unit"), wanted(tag), l.when})
		}
	})
	return out
}

// Under puts a prefix, such as "game", before every path of list, in place.
func Under(prefix string, list []Info) []Info {
	for i := range list {
		list[i].Path = join(prefix, list[i].Path)
		if w := list[i].When; w != "" {
			list[i].When = join(prefix, strings.ReplaceAll(w, ", ", ", "+prefix+"."))
		}
	}
	return list
}

// Check returns all fields of v whose value is outside its tags, joined.
func Check(v any) error { return errors.Join(check(reflect.Indirect(reflect.ValueOf(v)), "")...) }

func check(v reflect.Value, path string) (errs []error) {
	walk(v, leaf{path: path}, func(l leaf) {
		if l.lacks != "" || coder(l.v) != nil {
			return
		}
		if t := l.f.Type; t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct {
			for i := range l.v.Len() {
				errs = append(errs, check(l.v.Index(i), l.path+"["+strconv.Itoa(i)+"]")...)
			}
			return
		}
		switch want := wanted(l.f.Tag); {
		case l.f.Tag.Get("need") != "" && (l.v.IsZero() || l.v.Kind() == reflect.Slice && l.v.Len() == 0):
			errs = append(errs, &Fault{Path: l.path, Value: "empty", Want: l.f.Tag.Get("doc")})
		case !finite(l.v):
			errs = append(errs, &Fault{Path: l.path, Value: show(l.v), Want: strings.TrimSuffix("a finite number of 32 bits, "+want, ", ")})
		case !fits(l.f.Tag, l.v):
			errs = append(errs, &Fault{Path: l.path, Value: show(l.v), Want: want})
		}
	})
	return errs
}

// Set writes value, as it would stand in a spec, to the field at path of v, a
// pointer to a struct. It does not check ranges: Check does, for all at once.
func Set(v any, path, value string) error {
	var at *leaf
	walk(reflect.ValueOf(v).Elem(), leaf{}, func(l leaf) {
		if l.path == path {
			at = &l
		}
	})
	switch {
	case at == nil:
		return &Fault{Path: path, Value: "not a field", Want: "one of `hop list fields`" + nearest(path, v)}
	case at.lacks != "":
		return &Fault{Path: path, Value: value, Want: at.lacks}
	case at.f.Type.Kind() == reflect.String:
		at.v.SetString(unquote(value))
		return nil
	}
	var doc yaml.Node
	err := yaml.Unmarshal([]byte(value), &doc)
	if c := coder(at.v); c != nil && err == nil && len(doc.Content) > 0 {
		return unlined(c.DecodeNode(doc.Content[0], path))
	}
	if err != nil || len(doc.Content) == 0 || !read(doc.Content[0], at.v) {
		return &Fault{Path: path, Value: strconv.Quote(value), Want: "a value of type " + typeName(at.f.Type)}
	}
	return nil
}

// unlined returns faults of a value that stands on no line.
func unlined(_ Lines, faults []*Fault) error {
	var errs []error
	for _, f := range faults {
		f.Line = 0
		errs = append(errs, f)
	}
	return errors.Join(errs...)
}

// nearest suggests the fields that path may have been meant for.
func nearest(path string, v any) string {
	var all []string
	for _, f := range List(v) {
		all = append(all, f.Path)
	}
	return Meant(path, all)
}

// unquote returns text that is quoted as in a spec without its quotes.
func unquote(text string) string {
	var plain string
	if n := len(text); n > 1 && text[0] == text[n-1] && (text[0] == '"' || text[0] == '\'') && yaml.Unmarshal([]byte(text), &plain) == nil {
		return plain
	}
	return text
}

// read writes a node to v if it is a value of that type. The yaml library alone
// would take 4.5 for an int and nothing for a zero.
func read(n *yaml.Node, v reflect.Value) bool {
	fresh := reflect.New(v.Type())
	if !exact(n, v.Type()) || n.Decode(fresh.Interface()) != nil {
		return false
	}
	v.Set(fresh.Elem())
	return true
}

func exact(n *yaml.Node, t reflect.Type) bool {
	switch {
	case n.Tag == "!!null":
		return false
	case t.Kind() == reflect.Slice:
		for _, c := range n.Content {
			if !exact(c, t.Elem()) {
				return false
			}
		}
	case n.Tag == "!!float" && typeName(t) == "int":
		x, err := strconv.ParseFloat(n.Value, 64)
		return err == nil && x == math.Trunc(x)
	}
	return true
}

// finite reports whether a number, or every number of a list, is one as a float32.
func finite(v reflect.Value) bool {
	if v.Kind() == reflect.Slice {
		for i := range v.Len() {
			if !finite(v.Index(i)) {
				return false
			}
		}
	}
	return !v.CanFloat() || math.Abs(v.Float()) <= math.MaxFloat32 // which NaN is not
}

// fits reports whether a value is inside its tags. Elements of lists are each checked.
func fits(tag reflect.StructTag, v reflect.Value) bool {
	if v.Kind() == reflect.Slice {
		for i := range v.Len() {
			if !fits(tag, v.Index(i)) {
				return false
			}
		}
		return true
	}
	if one := tag.Get("oneof"); one != "" {
		for _, w := range strings.Split(one, "|") {
			if fmt.Sprint(v.Interface()) == w {
				return true
			}
		}
		return false
	}
	rng := tag.Get("range")
	var x float64
	switch {
	case v.CanInt():
		x = float64(v.Int())
	case v.CanUint():
		x = float64(v.Uint())
	case v.CanFloat():
		x = v.Float()
	default:
		return true
	}
	lo, hi, ok := strings.Cut(rng, "..")
	if !ok {
		return true
	}
	lo, openLo := strings.CutSuffix(lo, "<")
	hi, openHi := strings.CutPrefix(hi, "<")
	if l, err := strconv.ParseFloat(lo, 64); err == nil && (x < l || openLo && x == l) {
		return false
	}
	if h, err := strconv.ParseFloat(hi, 64); err == nil && (x > h || openHi && x == h) {
		return false
	}
	return true
}

// wanted puts a field's tags in words.
func wanted(tag reflect.StructTag) string {
	if one := tag.Get("oneof"); one != "" {
		return "one of " + strings.ReplaceAll(one, "|", ", ")
	}
	lo, hi, ok := strings.Cut(tag.Get("range"), "..")
	if !ok {
		return ""
	}
	var words []string
	if l, open := strings.CutSuffix(lo, "<"); open {
		words = append(words, "above "+l)
	} else if l != "" {
		words = append(words, "at least "+l)
	}
	if h, open := strings.CutPrefix(hi, "<"); open {
		words = append(words, "below "+h)
	} else if h != "" {
		words = append(words, "at most "+h)
	}
	return strings.Join(words, ", ")
}

// show writes a value as one would in a spec.
func show(v reflect.Value) string {
	var is any = v.Interface()
	switch x := is.(type) { // most fields: as YAML writes them, without an encoder for each
	case bool:
		return strconv.FormatBool(x)
	case int:
		return strconv.Itoa(x)
	case int64:
		return strconv.FormatInt(x, 10)
	case uint64:
		return strconv.FormatUint(x, 10)
	case float64:
		if !math.IsInf(x, 0) && !math.IsNaN(x) {
			return strconv.FormatFloat(x, 'g', -1, 64)
		}
	case string:
		if x == "" {
			return `""`
		}
	case []string:
		if len(x) == 0 {
			return "[]"
		}
	}
	if c := coder(v); c != nil {
		n, err := c.EncodeNode()
		if err != nil {
			return err.Error()
		}
		is = n
	}
	b, err := yaml.Marshal(is)
	if err != nil {
		return fmt.Sprint(v.Interface())
	}
	if v.Kind() == reflect.Slice || v.Kind() == reflect.Map {
		var n yaml.Node
		if yaml.Unmarshal(b, &n) == nil && len(n.Content) > 0 {
			n.Content[0].Style = yaml.FlowStyle
			if flow, err := yaml.Marshal(&n); err == nil {
				b = flow
			}
		}
	}
	return strings.TrimSpace(string(b))
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "yes or no"
	case reflect.String:
		return "text"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Slice:
		return "list of " + typeName(t.Elem())
	case reflect.Struct:
		return "entry"
	}
	return "int"
}

// Flag is a field as a flag of a command.
type Flag struct {
	Info
	Name string       // without its dashes
	Sets string       // what the field becomes, of a flag that takes no value
	Type reflect.Type // of the field
	Need bool         // it must be given
	Each bool         // a list that is typed one by one
	File bool         // a path
}

// Short is a flag for a field that is not at the top, or for one of its values.
type Short struct{ Name, Path, Sets string }

// Flags returns the flags of v, a pointer to a struct: one for every field at its top, called as it
// is, and those that its method Short adds.
func Flags(v any) []Flag {
	all := map[string]Flag{}
	var list []Flag
	i, infos := 0, ListAll(v)
	walk(reflect.ValueOf(v).Elem(), leaf{}, func(l leaf) {
		how := l.f.Tag.Get("flag")
		f := Flag{Info: infos[i], Name: strings.ReplaceAll(l.path, "_", "-"), Type: l.f.Type, Need: l.f.Tag.Get("need") != "",
			Each: strings.HasPrefix(how, "each"), File: strings.HasSuffix(how, "file")}
		i++
		all[l.path] = f
		if how != "-" && !strings.Contains(l.path, ".") {
			list = append(list, f)
		}
	})
	if s, ok := v.(interface{ Short() []Short }); ok {
		for _, short := range s.Short() {
			f, ok := all[short.Path]
			if !ok {
				panic("config: a short flag is of no field")
			}
			if f.Name, f.Sets = short.Name, short.Sets; f.Sets != "" {
				f.Doc = f.Path + "=" + f.Sets + ": " + f.Doc
			}
			list = append(list, f)
		}
	}
	return list
}

// Seeds are a list of seeds, as text such as 1-5 or 1,4,9.
type Seeds []uint64

// UnmarshalText reads them.
func (s *Seeds) UnmarshalText(b []byte) error {
	*s = nil
	for _, part := range strings.Split(string(b), ",") {
		lo, hi, isRange := strings.Cut(strings.TrimSpace(part), "-")
		first, err := strconv.ParseUint(lo, 10, 63)
		last := first
		if err == nil && isRange {
			last, err = strconv.ParseUint(hi, 10, 63)
		}
		if err != nil || last < first || last-first >= 10_000 {
			return fmt.Errorf("%s: want numbers such as 1-5 or 1,4,9", b)
		}
		for seed := first; seed <= last; seed++ {
			if slices.Contains(*s, seed) {
				return fmt.Errorf("%s: seed %d stands there twice", b, seed)
			}
			*s = append(*s, seed)
		}
	}
	return nil
}

// String writes them as they are read.
func (s Seeds) String() string {
	var parts []string
	for i := 0; i < len(s); {
		j := i
		for j+1 < len(s) && s[j+1] == s[j]+1 {
			j++
		}
		if parts = append(parts, strconv.FormatUint(s[i], 10)); j > i {
			parts[len(parts)-1] += "-" + strconv.FormatUint(s[j], 10)
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}
