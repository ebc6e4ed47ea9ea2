package field

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Lines says on which line of a file each field stood.
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
	fields := map[string]reflect.Value{}
	collect(v, fields)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		path := join(prefix, key.Value)
		f, ok := fields[key.Value]
		if !ok {
			d.bad(key, path, "not a field", "one of `hop list fields`"+suggest(key.Value, prefix, fields))
			continue
		}
		if _, twice := d.lines[path]; twice {
			d.bad(key, path, "given twice", "one value")
			continue
		}
		d.lines[path] = key.Line
		d.value(val, f, path)
	}
}

func (d *decoder) value(n *yaml.Node, f reflect.Value, path string) {
	switch {
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
			value := n.Value
			if n.Kind != yaml.ScalarNode {
				value = "a block or list"
			}
			d.bad(n, path, strconv.Quote(value), "a value of type "+typeName(f.Type()))
		}
	}
}

// collect gathers the fields of one level by name.
func collect(v reflect.Value, into map[string]reflect.Value) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case strings.Contains(opts, "inline"):
			collect(v.Field(i), into)
		default:
			into[name] = v.Field(i)
		}
	}
}

func suggest(name, prefix string, fields map[string]reflect.Value) string {
	best, bestD := "", 4
	for f := range fields {
		if d := distance(name, f); d < bestD || d == bestD && f < best {
			best, bestD = f, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + join(prefix, best) + "?"
}

// At puts a prefix before the path of every Fault joined in err and gives each
// the line that lines knows. Errors that are no Fault pass unchanged.
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
			if moved.Line == 0 {
				moved.Line = lines[moved.Path]
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
