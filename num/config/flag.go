package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

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
