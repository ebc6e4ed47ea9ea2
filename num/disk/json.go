package disk

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
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

// Why a sealed file is not taken as it is. Both come with the file's name and what to do.
var (
	ErrChanged  = errors.New("it was changed after it was written")
	ErrUnsealed = errors.New("it has no seal: nothing vouches for it")
)

// check is the line of a sealed text that holds the sum of all the rest. Nothing deeper begins with two spaces,
// and no string of JSON holds the end of a line, so that there is one such line at most.
var check = regexp.MustCompile(`(?m)^  "check": "([^"]*)"`)

// blank is that line before the sum is known.
const blank = `  "check": ""`

// Seal writes a value as JSON in which the field check, one of the value's own, holds the sum of all the rest. It
// says whether the text was changed by accident or by hand; whoever wants to can make another seal.
func Seal(v any) ([]byte, error) {
	b, err := JSON(v)
	if err != nil {
		return nil, err
	}
	if n := len(check.FindAllIndex(b, -1)); n != 1 {
		return nil, fmt.Errorf("%T has %d fields called check, want one", v, n)
	}
	b = check.ReplaceAllLiteral(b, []byte(blank))
	return check.ReplaceAllLiteral(b, fmt.Appendf(nil, `  "check": "%s"`, textSum(b))), nil
}

// Sealed says whether a text is as Seal wrote it: nil, ErrUnsealed if it has no sum, or ErrChanged.
func Sealed(b []byte) error {
	var own struct {
		Check string `json:"check"`
	}
	if err := json.Unmarshal(b, &own); err != nil {
		return fmt.Errorf("it is damaged: %w", err)
	}
	if own.Check == "" {
		return ErrUnsealed
	}
	found := check.FindAllSubmatch(b, -1)
	if len(found) != 1 || string(found[0][1]) != textSum(check.ReplaceAllLiteral(b, []byte(blank))) {
		return ErrChanged
	}
	return nil
}

// WriteSealed writes a value with its seal into a file, whole or not at all. The value has a field whose JSON is
// check; what it holds plays no part.
func WriteSealed(name string, v any) error {
	b, err := Seal(v)
	return writeMade(name, b, err)
}

// ReadSealed reads what WriteSealed wrote, of at most so many bytes. Where the error is ErrChanged or ErrUnsealed
// (an earlier program wrote no seals), v holds what the file says now, for a caller to tell what differs or to go on
// with a word of warning.
func ReadSealed(name string, limit int64, v any) error {
	b, err := Read(name, limit)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s is damaged: %w; put it back from a copy", filepath.ToSlash(name), err)
	}
	switch err := Sealed(b); {
	case errors.Is(err, ErrChanged):
		return fmt.Errorf("%s cannot be trusted: %w; put it back from a copy", filepath.ToSlash(name), err)
	case err != nil:
		return fmt.Errorf("%s: %w", filepath.ToSlash(name), err)
	}
	return nil
}

func textSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
