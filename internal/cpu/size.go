package cpu

import "reflect"

// Size returns how many bytes a value holds, with all that it points to, each once. What
// functions and channels hold is not counted.
func Size(v any) uint64 {
	if v == nil {
		return 0
	}
	s := sizer{}
	r := reflect.ValueOf(v)
	return uint64(r.Type().Size()) + s.below(r)
}

// sizer knows what has been counted.
type sizer map[uintptr]bool

// below returns what lies behind a value's pointers.
func (s sizer) below(v reflect.Value) (n uint64) {
	switch v.Kind() {
	case reflect.String:
		return uint64(v.Len())
	case reflect.Pointer:
		if v.IsNil() || s[v.Pointer()] {
			return 0
		}
		s[v.Pointer()] = true
		return uint64(v.Type().Elem().Size()) + s.below(v.Elem())
	case reflect.Interface:
		if v.IsNil() {
			return 0
		}
		n = s.below(v.Elem())
		if k := v.Elem().Kind(); k != reflect.Pointer && k != reflect.Map && k != reflect.Func {
			n += uint64(v.Elem().Type().Size())
		}
	case reflect.Slice:
		if v.Cap() == 0 || s[v.Pointer()] {
			return 0
		}
		s[v.Pointer()] = true
		n = uint64(v.Cap()) * uint64(v.Type().Elem().Size())
		if pointers(v.Type().Elem()) {
			for i := range v.Len() {
				n += s.below(v.Index(i))
			}
		}
	case reflect.Array:
		if pointers(v.Type().Elem()) {
			for i := range v.Len() {
				n += s.below(v.Index(i))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += s.below(v.Field(i))
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			n += uint64(it.Key().Type().Size()+it.Value().Type().Size()) + s.below(it.Key()) + s.below(it.Value())
		}
	}
	return n
}

// pointers reports whether values of a type may point to something.
func pointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		return true
	case reflect.Array:
		return pointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if pointers(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}
