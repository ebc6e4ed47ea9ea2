package bridge

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"unsafe"
)

// Array is one array in shared memory, in C order.
type Array struct {
	Name  string `json:"name"`
	Type  string `json:"type"` // as numpy calls it: f4, f8, i1, i2, i4, i8, u1 or b1
	Shape []int  `json:"shape"`
	At    int    `json:"at"` // its first byte in the file; whoever shares it fills this in
}

// align keeps arrays on cache lines of their own.
const align = 64

// maxMemory bounds what is mapped, so that a wrong shape is refused and not asked of the system.
const maxMemory = 1 << 38

// widths are the types' sizes in bytes.
var widths = map[string]int{"f4": 4, "f8": 8, "i1": 1, "i2": 2, "i4": 4, "i8": 8, "u1": 1, "b1": 1}

// Len returns the number of elements.
func (a Array) Len() int {
	n := 1
	for _, d := range a.Shape {
		n *= d
	}
	return n
}

// check refuses arrays that cannot be.
func (a Array) check() error {
	width, ok := widths[a.Type]
	if !ok || a.Name == "" {
		return fmt.Errorf("bridge: array %q has type %q, want one of f4, f8, i1, i2, i4, i8, u1, b1", a.Name, a.Type)
	}
	n := 1
	for _, d := range a.Shape {
		if d < 0 || d > 0 && n > maxMemory/width/d {
			return fmt.Errorf("bridge: array %s has shape %v, which no memory can hold", a.Name, a.Shape)
		}
		n *= d
	}
	return nil
}

// place gives every array its place and returns how many bytes they take.
func place(arrays []Array) ([]Array, int, error) {
	list, at := slices.Clone(arrays), 0
	for i := range list {
		if err := list[i].check(); err != nil {
			return nil, 0, err
		}
		list[i].At = at
		at += (list[i].Len()*widths[list[i].Type] + align - 1) / align * align
	}
	return list, max(at, align), nil
}

// Memory is arrays that both ends see.
type Memory struct {
	data   []byte
	arrays []Array
	unmap  func() error
	path   string // of a file that could not be removed yet
}

// Arrays says what there is.
func (m *Memory) Arrays() []Array { return m.arrays }

// elem are the types that arrays have in Go.
type elem interface {
	~float32 | ~float64 | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~bool
}

// Slice returns an array of the memory. It panics if there is none of that name with
// elements of that size: who asked for the arrays knows them.
func Slice[T elem](m *Memory, name string) []T {
	for _, a := range m.arrays {
		if a.Name != name {
			continue
		}
		var zero T
		if int(unsafe.Sizeof(zero)) != widths[a.Type] {
			panic(fmt.Sprintf("bridge: array %s is %s, not %T", name, a.Type, zero))
		}
		if a.Len() == 0 {
			return nil
		}
		return unsafe.Slice((*T)(unsafe.Pointer(&m.data[a.At])), a.Len())
	}
	panic("bridge: there is no array " + name)
}

// Close gives the memory back. No slice of it may be used afterwards.
func (m *Memory) Close() error {
	if m.unmap == nil {
		return nil
	}
	err := m.unmap()
	m.unmap, m.data = nil, nil
	if m.path != "" {
		err = errors.Join(err, os.Remove(m.path))
	}
	return err
}

// create makes a file with room for the arrays and maps it.
func create(arrays []Array) (*Memory, *os.File, error) {
	list, size, err := place(arrays)
	if err != nil {
		return nil, nil, err
	}
	var errs []error
	for _, dir := range memoryDirs() {
		f, err := file(dir, size)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		m := &Memory{arrays: list}
		if m.data, m.unmap, err = mapFile(f, size); err != nil {
			f.Close()
			os.Remove(f.Name())
			return nil, nil, fmt.Errorf("bridge: mapping %s: %w", f.Name(), err)
		}
		return m, f, nil
	}
	return nil, nil, fmt.Errorf("bridge: there is no room for %.1f MB of shared memory: %w; "+
		"free some space, or let TMPDIR name a folder that has it",
		float64(size)/1e6, errors.Join(errs...))
}

// pattern is what files of shared memory are called.
const pattern = "hop-bridge-*.mem"

// file makes a file of that size whose bytes are really there: a file with holes would
// kill the process that finds the disk full.
func file(dir string, size int) (*os.File, error) {
	sweep(dir)
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	zeros := make([]byte, min(size, 1<<20))
	for at := 0; at < size && err == nil; at += len(zeros) {
		_, err = f.Write(zeros[:min(len(zeros), size-at)])
	}
	if err != nil {
		f.Close()
		os.Remove(f.Name())
		return nil, err
	}
	return f, nil
}

// open maps what a host has shared.
func open(s shared) (*Memory, error) {
	for _, a := range s.Arrays {
		if err := a.check(); err != nil {
			return nil, err
		}
		if a.At < 0 || a.At%align != 0 || a.At > s.Bytes-a.Len()*widths[a.Type] {
			return nil, fmt.Errorf("bridge: array %s does not lie within the %d bytes that are shared", a.Name, s.Bytes)
		}
	}
	f, err := os.OpenFile(filepath.Clean(s.Path), os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("bridge: opening shared memory: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() < int64(s.Bytes) || s.Bytes <= 0 {
		return nil, fmt.Errorf("bridge: %s is no shared memory of %d bytes", s.Path, s.Bytes)
	}
	m := &Memory{arrays: s.Arrays}
	if m.data, m.unmap, err = mapFile(f, s.Bytes); err != nil {
		return nil, fmt.Errorf("bridge: mapping %s: %w", s.Path, err)
	}
	return m, nil
}
