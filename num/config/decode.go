package config

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"text/tabwriter"

	"go.yaml.in/yaml/v3"
)

// Lines says on which line of a file each field stands.
type Lines map[string]int

// Decode writes a YAML mapping over v, a pointer to a struct, strictly: a field
// that does not exist, stands twice, or has the wrong type is a fault. It goes
// on after a fault and returns all of them. Fields that are not in the mapping
// keep their value. prefix, such as "ppo", is put before every path.
func Decode(n *yaml.Node, v any, prefix string) (Lines, []*Fault) {
	d := decoder{lines: Lines{}}
	d.mapping(n, reflect.ValueOf(v).Elem(), prefix)
	return d.lines, d.faults
}

type decoder struct {
	lines  Lines
	faults []*Fault
}

func (d *decoder) bad(n *yaml.Node, path, value, want string) {
	d.faults = append(d.faults, &Fault{Path: path, Value: value, Want: want, Line: n.Line})
}

func join(prefix, name string) string { return strings.TrimPrefix(prefix+"."+name, ".") }

func (d *decoder) mapping(n *yaml.Node, v reflect.Value, prefix string) {
	if n.Kind != yaml.MappingNode {
		d.bad(n, prefix, strconv.Quote(n.Value), "a block of fields")
		return
	}
	b := blockOf(v)
	var names []string
	fields := map[string]part{}
	known := d.kind(n, &b)
	for _, p := range b.parts {
		fields[p.name] = p
		if !known || b.lacks(p) == "" {
			names = append(names, p.name)
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		path := join(prefix, key.Value)
		p, ok := fields[key.Value]
		if !ok {
			d.bad(key, path, "not a field", "one of `hop list fields`"+Suggest(key.Value, names, prefix))
			continue
		}
		if _, twice := d.lines[path]; twice {
			d.bad(key, path, "given twice", "one value")
			continue
		}
		d.lines[path] = key.Line
		if why := b.lacks(p); known && why != "" {
			d.bad(key, path, text(val), why)
			continue
		}
		d.value(val, p.v, path)
	}
}

// kind finds out which kind a block will be, wherever it is written, and
// reports whether that is sure: a kind that cannot be read says nothing about
// the other fields.
func (d *decoder) kind(n *yaml.Node, b *block) bool {
	for i := 0; i+1 < len(n.Content) && b.kinds != nil; i += 2 {
		if n.Content[i].Value == "kind" {
			return read(n.Content[i+1], reflect.ValueOf(&b.kind).Elem())
		}
	}
	return true
}

func text(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode {
		return "a block or list"
	}
	return n.Value
}

func (d *decoder) value(n *yaml.Node, f reflect.Value, path string) {
	switch {
	case coder(f) != nil:
		lines, faults := coder(f).DecodeNode(n, path)
		maps.Copy(d.lines, lines)
		d.faults = append(d.faults, faults...)
	case f.Kind() == reflect.Struct:
		d.mapping(n, f, path)
	case f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Struct && n.Kind == yaml.SequenceNode:
		out := reflect.MakeSlice(f.Type(), len(n.Content), len(n.Content))
		for i, c := range n.Content {
			d.mapping(c, out.Index(i), path+"["+strconv.Itoa(i)+"]")
		}
		f.Set(out)
	default:
		if !read(n, f) {
			d.bad(n, path, strconv.Quote(text(n)), "a value of type "+typeName(f.Type()))
		}
	}
}

// At puts a prefix before the path of every Fault joined in err and gives each the line that
// lines knows, of it or of the block that it is in. Errors that are no Fault pass unchanged.
func At(err error, prefix string, lines Lines) error {
	if err == nil {
		return nil
	}
	var out []error
	for _, e := range Split(err) {
		var f *Fault
		if errors.As(e, &f) {
			moved := *f
			moved.Path = join(prefix, f.Path)
			for path := moved.Path; moved.Line == 0 && path != ""; path = path[:max(0, strings.LastIndexAny(path, ".["))] {
				moved.Line = lines[path]
			}
			e = &moved
		}
		out = append(out, e)
	}
	return errors.Join(out...)
}

// Split returns the errors that errors.Join put together, nested ones too.
func Split(err error) []error {
	if err == nil {
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, e := range many.Unwrap() {
			out = append(out, Split(e)...)
		}
		return out
	}
	return []error{err}
}

// Summary puts faults on one line each, below a heading.
func Summary(heading string, err error) error {
	all := Split(err)
	if len(all) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s has %d fault", heading, len(all))
	if len(all) > 1 {
		b.WriteByte('s')
	}
	b.WriteByte(':')
	for _, e := range all {
		fmt.Fprintf(&b, "\n  %v", e)
	}
	return errors.New(b.String())
}

// Closest returns the one of names that name is most likely a slip of the
// keyboard for, or "" if it resembles none of them.
func Closest(name string, names []string) string {
	best, least := "", min(3, max(1, len(name)/3))+1
	for _, n := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(n)); d < least || d == least && n < best {
			best, least = n, d
		}
	}
	return best
}

// Suggest puts what Closest finds in words: "", or a sentence that begins with a semicolon. A prefix is put before it.
func Suggest(name string, names []string, prefix string) string {
	if best := Closest(name, names); best != "" {
		return "; did you mean " + join(prefix, best) + "?"
	}
	return ""
}

// elsewhere is what other libraries call fields whose last word is another here.
var elsewhere = map[string]string{
	"learning_rate": "lr", "gae_lambda": "lambda", "clip_coef": "clip", "clip_range": "clip", "ent_coef": "entropy",
	"entropy_coef": "entropy", "vf_coef": "value_coef", "max_grad_norm": "max_grad", "n_epochs": "epochs", "update_epochs": "epochs",
	"minibatch_size": "minibatch", "batch_size": "minibatch", "discount": "gamma", "num_envs": "envs", "n_envs": "envs",
	"num_steps": "window", "n_steps": "window", "total_timesteps": "steps", "norm_advantage": "norm_adv",
}

// Meant suggests which fields an unknown path was meant for: those that end like it, also in the
// words of other libraries, or else one that is spelt nearly so. It is "" or begins with a semicolon.
func Meant(path string, fields []string) string {
	front, last := path[:strings.LastIndex(path, ".")+1], path[strings.LastIndex(path, ".")+1:]
	for _, want := range []string{path, front + elsewhere[last], elsewhere[last]} {
		var ends []string
		for _, f := range fields {
			if want != "" && (f == want || strings.HasSuffix(f, "."+want)) {
				ends = append(ends, f)
			}
		}
		if 0 < len(ends) && len(ends) < 6 {
			return "; did you mean " + strings.Join(ends, " or ") + "?"
		}
	}
	return Suggest(path, fields, "")
}

// distance is Levenshtein's, with two letters in the wrong order as one slip.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1) // rows[i][j]: of the first i letters of a from the first j of b
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			if i == 0 || j == 0 {
				rows[i][j] = i + j
				continue
			}
			cost := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				cost++
			}
			rows[i][j] = min(cost, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// Change is a field whose value differs between two lists. A side that does not
// have the field has an empty value; an empty text is written "".
type Change struct {
	Path string `json:"path"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// Diff returns the fields that differ, or exist in one list only, in the order
// of the lists.
func Diff(a, b []Info) []Change {
	inA, inB := values(a), values(b)
	var out []Change
	add := func(path string) {
		if x, y := inA[path], inB[path]; x != y {
			out = append(out, Change{path, x, y})
		}
	}
	j := 0
	extra := func() { // fields that only b has, up to the next one that both have
		for ; j < len(b); j++ {
			if _, both := inA[b[j].Path]; both {
				return
			}
			add(b[j].Path)
		}
	}
	for _, f := range a {
		extra()
		add(f.Path)
		if j < len(b) && b[j].Path == f.Path {
			j++
		}
	}
	for ; j < len(b); j++ {
		if _, both := inA[b[j].Path]; !both {
			add(b[j].Path)
		}
	}
	return out
}

func values(list []Info) map[string]string {
	m := make(map[string]string, len(list))
	for _, f := range list {
		m[f.Path] = f.Default
	}
	return m
}

// Text is a list of fields as a table for a terminal; value is what the column of their values is
// called, and when whether it says which kinds have them.
func Text(fields []Info, value string, when bool) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "field\t%s\tmeaning\n", value)
	for _, f := range fields {
		doc := f.Doc
		if f.Unit != "" {
			doc += " [" + f.Unit + "]"
		}
		if f.Want != "" {
			doc += " (" + f.Want + ")"
		}
		if f.When != "" && when {
			doc += "; only for " + f.When
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.Path, f.Default, doc)
	}
	w.Flush()
	return b.String()
}
