package disk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// JSON writes a value as a text for people and programs. JSON has no NaN and no
// infinity: what may have no value is a pointer or a stats.Number. Where one is
// forgotten, the error says which field it is.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	var value *json.UnsupportedValueError
	if errors.As(err, &value) {
		if at := unvalued(reflect.ValueOf(v), ""); at != "" {
			err = fmt.Errorf("%s has no value: %w", at, err)
		}
	}
	return b.Bytes(), err
}

// WriteJSON writes a value into a file, whole or not at all.
func WriteJSON(name string, v any) error {
	b, err := JSON(v)
	return writeMade(name, b, err)
}

// writeMade writes what was made of a value, unless that failed.
func writeMade(name string, b []byte, err error) error {
	if err == nil {
		err = Write(name, b)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", filepath.ToSlash(name), err)
	}
	return nil
}

// unvalued returns the first field that is NaN or infinite, such as seeds[0].mean.
func unvalued(v reflect.Value, at string) string {
	if !v.IsValid() {
		return ""
	}
	if v.CanInterface() && v.Kind() != reflect.Pointer && v.Kind() != reflect.Interface {
		if m, ok := v.Interface().(json.Marshaler); ok {
			if _, err := m.MarshalJSON(); err == nil {
				return ""
			}
		}
	}
	first := func(n int, field func(i int) (reflect.Value, string)) string {
		for i := range n {
			if name := unvalued(field(i)); name != "" {
				return name
			}
		}
		return ""
	}
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		if x := v.Float(); math.IsNaN(x) || math.IsInf(x, 0) {
			return at
		}
	case reflect.Pointer, reflect.Interface:
		return unvalued(v.Elem(), at)
	case reflect.Slice, reflect.Array:
		return first(v.Len(), func(i int) (reflect.Value, string) { return v.Index(i), at + "[" + strconv.Itoa(i) + "]" })
	case reflect.Map:
		keys := v.MapKeys()
		return first(len(keys), func(i int) (reflect.Value, string) { return v.MapIndex(keys[i]), dot(at, fmt.Sprint(keys[i])) })
	case reflect.Struct:
		return first(v.NumField(), func(i int) (reflect.Value, string) {
			f := v.Type().Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case name == "-":
				return reflect.Value{}, ""
			case name == "" && f.Anonymous:
				return v.Field(i), at
			case name == "":
				name = f.Name
			}
			return v.Field(i), dot(at, name)
		})
	}
	return ""
}

func dot(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}
