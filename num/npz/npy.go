package npz

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// The .npy format, numpy's NEP 1: magic, version, header length (2 bytes in
// version 1, 4 in version 2), a Python dict padded with spaces, then the data.
const (
	magic     = "\x93NUMPY"
	maxHeader = 1<<16 - 1 // a plain array needs far less, whatever the version
	maxDims   = 32        // numpy 1's limit
	chunkLen  = 4096      // elements encoded at a time
)

// writeNpy writes a as an .npy file, byte for byte what np.save writes. The
// name is used in errors only.
func writeNpy(w io.Writer, a Array) error {
	h, err := a.header()
	if err != nil {
		return err
	}
	if _, err := w.Write(h); err != nil {
		return err
	}
	var buf []byte
	for xs := reflect.ValueOf(a.Data); xs.Len() > 0; {
		n := min(xs.Len(), chunkLen)
		if buf, err = binary.Append(buf[:0], binary.LittleEndian, xs.Slice(0, n).Interface()); err != nil {
			return err
		}
		if _, err := w.Write(buf); err != nil {
			return err
		}
		xs = xs.Slice(n, xs.Len())
	}
	return nil
}

// types are those that an Array may hold, by numpy's names.
var types = map[string]reflect.Type{
	"<f4": reflect.TypeFor[float32](), "<f8": reflect.TypeFor[float64](), "|b1": reflect.TypeFor[bool](),
	"|i1": reflect.TypeFor[int8](), "|u1": reflect.TypeFor[uint8](),
	"<i2": reflect.TypeFor[int16](), "<i4": reflect.TypeFor[int32](), "<i8": reflect.TypeFor[int64](),
}

// names is types the other way round.
var names = func() map[reflect.Type]string {
	m := map[reflect.Type]string{}
	for name, t := range types {
		m[t] = name
	}
	return m
}()

// descr returns numpy's name for the type of a flat slice, and its length.
// The name is empty if data is not one of the slices an Array may hold.
func descr(data any) (string, int) {
	t := reflect.TypeOf(data)
	if t == nil || t.Kind() != reflect.Slice {
		return "", 0
	}
	name, ok := names[t.Elem()]
	if !ok {
		return "", 0
	}
	return name, reflect.ValueOf(data).Len()
}

// header returns all bytes before the data, or what is wrong with a.
func (a Array) header() ([]byte, error) {
	d, n := descr(a.Data)
	if d == "" {
		return nil, fmt.Errorf("npz: writing %q: cannot store a %T; convert it to a flat slice of float32, float64, int8, "+
			"uint8, int16, int32, int64 or bool", a.Name, a.Data)
	}
	want, ok := volume(a.Shape)
	if !ok || len(a.Shape) > maxDims {
		return nil, fmt.Errorf("npz: writing %q: impossible shape %v; use at most %d dimensions, none negative", a.Name, a.Shape, maxDims)
	}
	if want != n {
		return nil, fmt.Errorf("npz: writing %q: %d elements for shape %v, want %d", a.Name, n, a.Shape, want)
	}
	var dict strings.Builder
	fmt.Fprintf(&dict, "{'descr': '%s', 'fortran_order': False, 'shape': (", d)
	for i, k := range a.Shape {
		if i > 0 {
			dict.WriteString(", ")
		}
		dict.WriteString(strconv.Itoa(k))
	}
	if len(a.Shape) == 1 {
		dict.WriteString(",")
	}
	dict.WriteString("), }")
	if len(a.Shape) > 0 { // numpy leaves room for the first dimension to grow to 21 digits
		dict.WriteString(strings.Repeat(" ", 21-len(strconv.Itoa(a.Shape[0]))))
	}
	const front = len(magic) + 4
	pad := 64 - (front+dict.Len()+1)%64 // numpy pads with 64 spaces where none are needed
	b := make([]byte, 0, front+dict.Len()+pad+1)
	b = append(b, magic...)
	b = append(b, 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(dict.Len()+pad+1))
	b = append(b, dict.String()...)
	b = append(b, strings.Repeat(" ", pad)...)
	return append(b, '\n'), nil
}

// volume returns the number of elements of a shape; false if a dimension is
// negative or the bytes of 8-byte elements would overflow an int.
func volume(shape []int) (int, bool) {
	n, empty := 1, false
	for _, k := range shape {
		if k < 0 {
			return 0, false
		}
		if k == 0 {
			empty = true
			continue
		}
		if n > math.MaxInt/8/k {
			return 0, false
		}
		n *= k
	}
	if empty {
		return 0, true
	}
	return n, true
}

// readNpy reads exactly size bytes from r, or fails.
func readNpy(r io.Reader, size int64, name string) (Array, error) {
	bad := func(format string, args ...any) (Array, error) {
		return Array{}, fmt.Errorf("npz: reading "+label(name)+": "+format, args...)
	}
	var front [12]byte
	n := int64(10)
	if size < n {
		return bad("%d bytes are no .npy array; the file is damaged", size)
	}
	if _, err := io.ReadFull(r, front[:n]); err != nil {
		return bad("%w; the file is damaged", err)
	}
	if string(front[:6]) != magic {
		return bad("it starts with %q, not as .npy; save it with np.save or np.savez", front[:6])
	}
	length := int64(binary.LittleEndian.Uint16(front[8:]))
	switch {
	case front[6] == 1 && front[7] == 0:
	case front[6] == 2 && front[7] == 0:
		if _, err := io.ReadFull(r, front[n:]); err != nil {
			return bad("%w; the file is damaged", err)
		}
		n = 12
		length = int64(binary.LittleEndian.Uint32(front[8:]))
	default:
		return bad(".npy version %d.%d, want 1.0 or 2.0; save it as a plain array, not a structured one", front[6], front[7])
	}
	if length > maxHeader || length > size-n {
		return bad("a header of %d bytes in a file of %d; the file is damaged", length, size)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return bad("%w; the file is damaged", err)
	}
	d, err := parseDict(string(text))
	if err != nil {
		return bad("%w", err)
	}
	if d.fortran {
		return bad("it is in Fortran order; save np.ascontiguousarray(x)")
	}
	rest := size - n - length
	a := Array{Name: name, Shape: d.shape}
	if len(d.shape) > maxDims {
		return bad("it has %d dimensions, want at most %d; save x.reshape(...)", len(d.shape), maxDims)
	}
	elems, ok := volume(d.shape)
	if !ok {
		return bad("impossible shape %v; the file is damaged", d.shape)
	}
	elem, ok := types[d.descr]
	if !ok {
		return bad("%s", advice(d.descr))
	}
	if need := int64(elems) * int64(elem.Size()); need != rest {
		return bad("shape %v of '%s' needs %d bytes, the file has %d; the file is damaged", d.shape, d.descr, need, rest)
	}
	if elem.Kind() == reflect.Bool {
		a.Data, err = readBools(r, elems)
	} else {
		a.Data, err = readData(r, elem, elems)
	}
	if err != nil {
		return bad("%w; the file is damaged", err)
	}
	return a, nil
}

func label(name string) string {
	if name == "" {
		return "an array"
	}
	return strings.ReplaceAll(strconv.Quote(name), "%", "%%")
}

// advice says what a numpy type that is not read is, and what to save instead.
func advice(descr string) string {
	switch {
	case strings.HasSuffix(descr, "O"):
		return "it holds Python objects; save numbers, as with x.astype('<f4')"
	case strings.HasPrefix(descr, ">") && types["<"+descr[1:]] != nil:
		return fmt.Sprintf("it is big-endian ('%s'); save x.astype('<%s')", descr, descr[1:])
	case descr == "<f2":
		return "half precision ('<f2') is not read; save x.astype('<f4')"
	case descr == "<u2":
		return "type '<u2' is not read; save x.astype('<i4')"
	case descr == "<u4", descr == "<u8":
		return fmt.Sprintf("type '%s' is not read; save x.astype('<i8')", descr)
	}
	return fmt.Sprintf("type %.40q is not read; save x.astype('<f4'), or f8, i1, u1, i2, i4, i8, bool", descr)
}

func readData(r io.Reader, elem reflect.Type, n int) (any, error) {
	xs := reflect.MakeSlice(reflect.SliceOf(elem), n, n)
	buf := make([]byte, min(n, chunkLen)*int(elem.Size()))
	for at := 0; at < n; {
		chunk := xs.Slice(at, min(at+chunkLen, n))
		at += chunk.Len()
		b := buf[:chunk.Len()*int(elem.Size())]
		if _, err := io.ReadFull(r, b); err != nil {
			return nil, err
		}
		if _, err := binary.Decode(b, binary.LittleEndian, chunk.Interface()); err != nil {
			return nil, err
		}
	}
	return xs.Interface(), nil
}

// readBools refuses bytes that are neither 0 nor 1.
func readBools(r io.Reader, n int) ([]bool, error) {
	raw, err := readData(r, types["|u1"], n)
	if err != nil {
		return nil, err
	}
	xs := make([]bool, n)
	for i, b := range raw.([]uint8) {
		if b > 1 {
			return nil, fmt.Errorf("element %d of a bool array is %d", i, b)
		}
		xs[i] = b == 1
	}
	return xs, nil
}

// dict is the three entries of an .npy header.
type dict struct {
	descr   string
	fortran bool
	shape   []int
}

var errDict = errors.New("its header is not numpy's; the file is damaged")

// parseDict reads the Python literal of an .npy header: exactly the keys descr,
// fortran_order and shape, in any order. Structured types are an error.
func parseDict(text string) (dict, error) {
	var d dict
	p := scanner(text)
	seen := map[string]bool{}
	if !p.take("{") {
		return d, errDict
	}
	for !p.take("}") {
		key, ok := p.quoted()
		if !ok || seen[key] || !p.take(":") {
			return d, errDict
		}
		seen[key] = true
		switch key {
		case "descr":
			if p.take("[") {
				return d, errors.New("it is a structured array; save each field as an array of its own")
			}
			d.descr, ok = p.quoted()
		case "fortran_order":
			d.fortran = p.take("True")
			ok = d.fortran || p.take("False")
		case "shape":
			d.shape, ok = p.ints()
		default:
			return d, fmt.Errorf("unknown header entry %.40q; the file is damaged", key)
		}
		if !ok {
			return d, errDict
		}
		if !p.take(",") {
			if !p.take("}") {
				return d, errDict
			}
			break
		}
	}
	if p.space(); p != "" || len(seen) != 3 {
		return d, errDict
	}
	return d, nil
}

// scanner is the part of a header that is not read yet.
type scanner string

func (p *scanner) space() { *p = scanner(strings.TrimLeft(string(*p), " \t\r\n")) }

// take skips space and reports whether token follows, and skips that too.
func (p *scanner) take(token string) bool {
	p.space()
	rest, ok := strings.CutPrefix(string(*p), token)
	*p = scanner(rest)
	return ok
}

// quoted reads a string in single or double quotes, without escapes.
func (p *scanner) quoted() (string, bool) {
	quote := "'"
	if !p.take(quote) {
		if quote = `"`; !p.take(quote) {
			return "", false
		}
	}
	s, rest, ok := strings.Cut(string(*p), quote)
	*p = scanner(rest)
	return s, ok && !strings.Contains(s, `\`)
}

// ints reads a tuple of non-negative numbers.
func (p *scanner) ints() ([]int, bool) {
	xs := []int{}
	if !p.take("(") {
		return nil, false
	}
	for !p.take(")") {
		p.space()
		rest := strings.TrimLeft(string(*p), "0123456789")
		k, err := strconv.Atoi(string(*p)[:len(*p)-len(rest)])
		if err != nil {
			return nil, false
		}
		xs = append(xs, k)
		*p = scanner(rest)
		if !p.take(",") {
			return xs, len(xs) != 1 && p.take(")") // (3) is a number in Python, (3,) a tuple
		}
	}
	return xs, true
}
