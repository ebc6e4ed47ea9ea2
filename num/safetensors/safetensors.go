// Package safetensors reads and writes the safetensors format, so that Python
// can open what hop saves and hop can open what Python saves.
//
// A file is an 8-byte little-endian header length, a JSON header that names each
// tensor with its dtype, shape and byte range, and the bytes. Put adds tensors,
// AppendBinary writes the file, Parse reads one.
//
// AppendBinary also stores the SHA-256 of every tensor's bytes in the header's
// "__metadata__" under "sha256/NAME"; Parse verifies them and names the tensor
// that is damaged. A file without any checksum (one from Python) is accepted.
// The same tensors in the same order give the same bytes.
package safetensors

import (
	"bytes"
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Tensor is one named array. Data holds its elements in row-major order, little
// endian.
type Tensor struct {
	Name  string
	DType string // F32, I64, U8, ...: a name of the format
	Shape []int
	Data  []byte
}

// File is an ordered set of tensors and free text about them. Its zero value is
// an empty file.
type File struct {
	Tensors []Tensor
	Meta    map[string]string // without the checksums
}

const (
	lenBytes  = 8
	maxHeader = 100_000_000 // the limit of the reference reader
	metaKey   = "__metadata__"
	sumPrefix = "sha256/"
)

// size returns the bytes of one element, 0 for an unknown dtype.
func size(dtype string) int {
	switch dtype {
	case "BOOL", "U8", "I8":
		return 1
	case "U16", "I16", "F16", "BF16":
		return 2
	case "U32", "I32", "F32":
		return 4
	case "U64", "I64", "F64":
		return 8
	}
	return 0
}

// entry is a tensor's line in the header.
type entry struct {
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

// bytesOf returns the bytes a tensor of this dtype and shape takes.
func bytesOf(dtype string, shape []int) (int, error) {
	n := size(dtype)
	if n == 0 {
		return 0, fmt.Errorf("unknown dtype %q", dtype)
	}
	for _, d := range shape {
		if d < 0 || d > 0 && n > math.MaxInt/d {
			return 0, fmt.Errorf("impossible shape %v", shape)
		}
		n *= d
	}
	return n, nil
}

// Get returns the tensor called name.
func (f *File) Get(name string) (Tensor, bool) {
	for _, t := range f.Tensors {
		if t.Name == name {
			return t, true
		}
	}
	return Tensor{}, false
}

// PutFloat32 adds a copy of x as an F32 tensor. It panics if the shape does not
// hold len(x) elements or the name is taken.
func (f *File) PutFloat32(name string, x []float32, shape ...int) {
	data := make([]byte, 4*len(x))
	for i, v := range x {
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(v))
	}
	f.put(Tensor{name, "F32", shape, data})
}

// PutInt64 adds a copy of x as an I64 tensor. It panics like PutFloat32.
func (f *File) PutInt64(name string, x []int64, shape ...int) {
	data := make([]byte, 8*len(x))
	for i, v := range x {
		binary.LittleEndian.PutUint64(data[8*i:], uint64(v))
	}
	f.put(Tensor{name, "I64", shape, data})
}

func (f *File) put(t Tensor) {
	if n, err := bytesOf(t.DType, t.Shape); err != nil || n != len(t.Data) {
		panic("safetensors: the shape does not hold the elements")
	}
	if _, taken := f.Get(t.Name); taken || t.Name == metaKey {
		panic("safetensors: two tensors have one name")
	}
	t.Shape = slices.Clone(t.Shape)
	f.Tensors = append(f.Tensors, t)
}

// Float32 copies the F32 tensor called name into dst. It is an error, naming the
// tensor, if there is none or its dtype or shape is another.
func (f *File) Float32(dst []float32, name string, shape ...int) error {
	t, err := f.want(name, "F32", shape)
	if err != nil {
		return err
	}
	if len(t.Data) != 4*len(dst) {
		return fmt.Errorf("safetensors: tensor %q: %d elements do not fit %d places", name, len(t.Data)/4, len(dst))
	}
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:]))
	}
	return nil
}

// Int64 copies the I64 tensor called name into dst, with Float32's errors.
func (f *File) Int64(dst []int64, name string, shape ...int) error {
	t, err := f.want(name, "I64", shape)
	if err != nil {
		return err
	}
	if len(t.Data) != 8*len(dst) {
		return fmt.Errorf("safetensors: tensor %q: %d elements do not fit %d places", name, len(t.Data)/8, len(dst))
	}
	for i := range dst {
		dst[i] = int64(binary.LittleEndian.Uint64(t.Data[8*i:]))
	}
	return nil
}

func (f *File) want(name, dtype string, shape []int) (Tensor, error) {
	t, ok := f.Get(name)
	switch {
	case !ok:
		return t, fmt.Errorf("safetensors: tensor %q is missing", name)
	case t.DType != dtype:
		return t, fmt.Errorf("safetensors: tensor %q is %s, want %s", name, t.DType, dtype)
	case !slices.Equal(t.Shape, shape):
		return t, fmt.Errorf("safetensors: tensor %q has shape %v, want %v", name, t.Shape, shape)
	}
	return t, nil
}

// AppendBinary appends the whole file, checksums included, to b.
func (f *File) AppendBinary(b []byte) ([]byte, error) {
	meta := maps.Clone(f.Meta)
	if meta == nil {
		meta = map[string]string{}
	}
	for _, t := range f.Tensors {
		sum := sha256.Sum256(t.Data)
		meta[sumPrefix+t.Name] = hex.EncodeToString(sum[:])
	}
	head := []byte{'{'}
	member := func(name string, v any) error {
		key, err := json.Marshal(name)
		if err != nil {
			return err
		}
		val, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if len(head) > 1 {
			head = append(head, ',')
		}
		head = append(append(append(head, key...), ':'), val...)
		return nil
	}
	if err := member(metaKey, meta); err != nil {
		return b, fmt.Errorf("safetensors: writing metadata: %w", err)
	}
	at := 0
	for _, t := range f.Tensors {
		n, err := bytesOf(t.DType, t.Shape)
		if err == nil && n != len(t.Data) {
			err = fmt.Errorf("%d bytes for shape %v", len(t.Data), t.Shape)
		}
		if err == nil {
			shape := append([]int{}, t.Shape...) // [] and not null for a scalar
			err = member(t.Name, entry{t.DType, shape, [2]int{at, at + n}})
		}
		if err != nil {
			return b, fmt.Errorf("safetensors: writing tensor %q: %w", t.Name, err)
		}
		at += n
	}
	head = append(head, '}')
	for len(head)%lenBytes != 0 {
		head = append(head, ' ')
	}
	b = slices.Grow(b, lenBytes+len(head)+at)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(head)))
	b = append(b, head...)
	for _, t := range f.Tensors {
		b = append(b, t.Data...)
	}
	return b, nil
}

// Parse reads a file. The tensors are views of b. Every fault found is in the
// error, each naming its tensor.
func Parse(b []byte) (*File, error) {
	if len(b) < lenBytes {
		return nil, fmt.Errorf("safetensors: %d bytes are too few for a file", len(b))
	}
	n := binary.LittleEndian.Uint64(b)
	if n > maxHeader || n > uint64(len(b)-lenBytes) {
		return nil, fmt.Errorf("safetensors: header of %d bytes in a file of %d: cut off or not safetensors", n, len(b))
	}
	head, data := b[lenBytes:lenBytes+int(n)], b[lenBytes+int(n):]
	names, raw, err := members(head)
	if err != nil {
		return nil, fmt.Errorf("safetensors: reading header: %w", err)
	}
	f := &File{}
	var sums map[string]string
	var faults []error
	bad := func(name string, format string, args ...any) {
		faults = append(faults, fmt.Errorf("safetensors: tensor %q: "+format, append([]any{name}, args...)...))
	}
	spans := make([]entry, 0, len(names))
	for i, name := range names {
		if name == metaKey {
			if f.Meta, sums, err = metadata(raw[i]); err != nil {
				faults = append(faults, err)
			}
			continue
		}
		var e entry
		dec := json.NewDecoder(bytes.NewReader(raw[i]))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&e); err != nil {
			bad(name, "reading its header: %w", err)
			continue
		}
		want, err := bytesOf(e.DType, e.Shape)
		switch lo, hi := e.Offsets[0], e.Offsets[1]; {
		case err != nil:
			bad(name, "%w", err)
		case lo < 0 || hi < lo || hi > len(data):
			bad(name, "bytes %d to %d lie outside the file's %d", lo, hi, len(data))
		case hi-lo != want:
			bad(name, "%d bytes for %s of shape %v, want %d", hi-lo, e.DType, e.Shape, want)
		default:
			f.Tensors = append(f.Tensors, Tensor{name, e.DType, e.Shape, data[lo:hi:hi]})
			spans = append(spans, e)
		}
	}
	if len(faults) == 0 {
		faults = append(check(f.Tensors, sums), tiled(f.Tensors, spans, len(data))...)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return f, nil
}

// members splits a JSON object into its names, in order, and their values. Twice
// the same name is an error.
func members(head []byte) (names []string, raw []json.RawMessage, err error) {
	dec := json.NewDecoder(bytes.NewReader(head))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, errors.New("it is not a JSON object")
	}
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, nil, err
		}
		name := t.(string) // the decoder allows nothing else as a key
		if seen[name] {
			return nil, nil, fmt.Errorf("the name %q appears twice", name)
		}
		seen[name] = true
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, nil, err
		}
		names, raw = append(names, name), append(raw, v)
	}
	if _, err := dec.Token(); err != nil {
		return nil, nil, err
	}
	if rest := bytes.TrimRight(head[dec.InputOffset():], " "); len(rest) > 0 {
		return nil, nil, errors.New("something follows the JSON object")
	}
	return names, raw, nil
}

// metadata splits the header's free text from the checksums.
func metadata(raw json.RawMessage) (meta, sums map[string]string, err error) {
	all := map[string]string{}
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, nil, fmt.Errorf("safetensors: reading %s: %w", metaKey, err)
	}
	meta, sums = map[string]string{}, map[string]string{}
	for k, v := range all {
		if name, ok := strings.CutPrefix(k, sumPrefix); ok {
			sums[name] = v
		} else {
			meta[k] = v
		}
	}
	return meta, sums, nil
}

// check compares the tensors with their checksums. A file with none passes.
func check(ts []Tensor, sums map[string]string) (faults []error) {
	if len(sums) == 0 {
		return nil
	}
	for _, t := range ts {
		sum := sha256.Sum256(t.Data)
		switch want, ok := sums[t.Name]; {
		case !ok:
			faults = append(faults, fmt.Errorf("safetensors: tensor %q has no checksum though others have", t.Name))
		case want != hex.EncodeToString(sum[:]):
			faults = append(faults, fmt.Errorf("safetensors: tensor %q is damaged: its bytes do not match their checksum", t.Name))
		}
		delete(sums, t.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		faults = append(faults, fmt.Errorf("safetensors: tensor %q has a checksum but is not in the file", name))
	}
	return faults
}

// tiled reports tensors that overlap or leave bytes unused, which the format
// forbids.
func tiled(ts []Tensor, spans []entry, n int) []error {
	order := make([]int, len(ts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := spans[a].Offsets, spans[b].Offsets
		return slices.Compare(x[:], y[:])
	})
	at := 0
	for _, i := range order {
		if lo := spans[i].Offsets[0]; lo != at {
			return []error{fmt.Errorf("safetensors: tensor %q starts at byte %d, want %d", ts[i].Name, lo, at)}
		}
		at = spans[i].Offsets[1]
	}
	if at != n {
		return []error{fmt.Errorf("safetensors: %d bytes of data follow the last tensor", n-at)}
	}
	return nil
}

// PutBytes adds a copy of x as a U8 tensor of one dimension: streams, envs and
// other binary forms in a checkpoint. It panics like PutFloat32.
func (f *File) PutBytes(name string, x []byte) {
	f.put(Tensor{name, "U8", []int{len(x)}, append([]byte(nil), x...)})
}

// Bytes returns the U8 tensor called name, a view. It is an error, naming the
// tensor, if there is none or its dtype is another.
func (f *File) Bytes(name string) ([]byte, error) {
	t, ok := f.Get(name)
	if !ok {
		return nil, fmt.Errorf("safetensors: tensor %q is missing", name)
	}
	if t.DType != "U8" || len(t.Shape) != 1 {
		return nil, fmt.Errorf("safetensors: tensor %q is %s%v, want a row of U8", name, t.DType, t.Shape)
	}
	return t.Data, nil
}

// PutBinary adds the binary form of x, such as a stream, as PutBytes does.
func (f *File) PutBinary(name string, x encoding.BinaryMarshaler) error {
	b, err := x.MarshalBinary()
	if err != nil {
		return fmt.Errorf("safetensors: saving %q: %w", name, err)
	}
	f.PutBytes(name, b)
	return nil
}

// Binary restores x from what PutBinary added.
func (f *File) Binary(x encoding.BinaryUnmarshaler, name string) error {
	b, err := f.Bytes(name)
	if err != nil {
		return err
	}
	if err := x.UnmarshalBinary(b); err != nil {
		return fmt.Errorf("safetensors: loading %q: %w", name, err)
	}
	return nil
}
