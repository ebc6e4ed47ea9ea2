package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// part is one field of a block: a leaf or a block of its own.
type part struct {
	name string
	f    reflect.StructField
	v    reflect.Value
	when []string // the kinds of the block that have it; nil: all
}

// block holds the fields of one level, those of inlined structs among them, and
// what kind it is, if it has kinds.
type block struct {
	parts []part
	kind  string
	kinds []string // nil if it has none
}

func blockOf(v reflect.Value) block {
	var b block
	b.add(v, nil)
	for _, p := range b.parts {
		for _, k := range p.when {
			if !slices.Contains(b.kinds, k) {
				panic("field: " + p.name + " has a tag when with a kind that its block does not have")
			}
		}
	}
	return b
}

func (b *block) add(v reflect.Value, when []string) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		has := when
		if tag := f.Tag.Get("when"); tag != "" {
			has = strings.Split(tag, "|")
			if when != nil {
				has = slices.DeleteFunc(has, func(k string) bool { return !slices.Contains(when, k) })
			}
		}
		if strings.Contains(opts, "inline") {
			b.add(v.Field(i), has)
			continue
		}
		if one := f.Tag.Get("oneof"); name == "kind" && one != "" {
			b.kind, b.kinds = v.Field(i).String(), strings.Split(one, "|")
		}
		b.parts = append(b.parts, part{name, f, v.Field(i), has})
	}
}

// lacks says why a block of this kind does not have a field, or "" if it does.
// A kind that there is not has all fields: that kind is the fault, not they.
func (b *block) lacks(p part) string {
	if p.when == nil || slices.Contains(p.when, b.kind) || !slices.Contains(b.kinds, b.kind) {
		return ""
	}
	return fmt.Sprintf("it only for kind %s; the kind is %s", strings.Join(p.when, " or "), b.kind)
}

// leaf is a field that holds a value.
type leaf struct {
	part
	path  string
	when  string // which kinds of the blocks around it have it, in words
	lacks string // why it does not exist; "" if it does
}

// walk visits the leaves of a struct in order, those that do not exist too.
func walk(v reflect.Value, in leaf, visit func(leaf)) {
	b := blockOf(v)
	for _, p := range b.parts {
		l := leaf{part: p, path: join(in.path, p.name), when: in.when, lacks: in.lacks}
		if p.when != nil {
			if l.when != "" {
				l.when += ", "
			}
			l.when += join(in.path, "kind") + " " + strings.Join(p.when, " or ")
		}
		if l.lacks == "" {
			l.lacks = b.lacks(p)
		}
		if p.f.Type.Kind() == reflect.Struct {
			walk(p.v, l, visit)
			continue
		}
		visit(l)
	}
}

// Coder is a field that reads and writes itself, such as a list of entries of several types.
type Coder interface {
	// DecodeNode reads a YAML node, whose path is put before those of faults.
	DecodeNode(n *yaml.Node, path string) (Lines, []*Fault)
	EncodeNode() (*yaml.Node, error)
}

// coder returns the Coder that a field is, or nil.
func coder(v reflect.Value) Coder {
	if !reflect.PointerTo(v.Type()).Implements(reflect.TypeFor[Coder]()) {
		return nil
	}
	if !v.CanAddr() {
		at := reflect.New(v.Type()).Elem()
		at.Set(v)
		v = at
	}
	return v.Addr().Interface().(Coder)
}

// Changed returns the fields of v that are not as in plain, a value of the same type, as a YAML
// mapping on one line.
func Changed(v, plain any) (*yaml.Node, error) {
	return changed(reflect.Indirect(reflect.ValueOf(v)), reflect.Indirect(reflect.ValueOf(plain)))
}

func changed(v, plain reflect.Value) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle}
	b, was := blockOf(v), blockOf(plain)
	for i, p := range b.parts {
		if b.lacks(p) != "" {
			continue
		}
		var val *yaml.Node
		var err error
		if p.f.Type.Kind() == reflect.Struct {
			if val, err = changed(p.v, was.parts[i].v); err == nil && len(val.Content) == 0 {
				continue
			}
		} else {
			if show(p.v) == show(was.parts[i].v) {
				continue
			}
			val, err = encode(p.v)
		}
		if err != nil {
			return nil, fmt.Errorf("field: writing %s: %w", p.name, err)
		}
		val.Style |= yaml.FlowStyle
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: p.name}, val)
	}
	return n, nil
}

// Each calls visit with every field of v, a pointer to a struct, that exists, and its path.
func Each(v any, visit func(path string, field reflect.Value)) {
	walk(reflect.ValueOf(v).Elem(), leaf{}, func(l leaf) {
		if l.lacks == "" {
			visit(l.path, l.v)
		}
	})
}

// Encode returns v, a struct or a pointer to one, as a YAML mapping of the
// fields that exist: those of other kinds are left out.
func Encode(v any) (*yaml.Node, error) { return encode(reflect.Indirect(reflect.ValueOf(v))) }

func encode(v reflect.Value) (*yaml.Node, error) {
	switch {
	case coder(v) != nil:
		return coder(v).EncodeNode()
	case v.Kind() == reflect.Struct:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		b := blockOf(v)
		for _, p := range b.parts {
			if b.lacks(p) != "" {
				continue
			}
			key, err := encode(reflect.ValueOf(p.name))
			if err != nil {
				return nil, err
			}
			val, err := encode(p.v)
			if err != nil {
				return nil, fmt.Errorf("field: writing %s: %w", p.name, err)
			}
			n.Content = append(n.Content, key, val)
		}
		return n, nil
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for i := range v.Len() {
			e, err := encode(v.Index(i))
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, e)
		}
		return n, nil
	}
	n := &yaml.Node{}
	return n, n.Encode(v.Interface())
}
