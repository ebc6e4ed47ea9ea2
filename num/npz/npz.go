// Package npz reads and writes numpy's array files: .npy, one array, and .npz,
// a zip archive of them.
//
// Write makes what np.savez makes; the same arrays give the same bytes, whenever
// and wherever. Read takes what np.savez and np.savez_compressed make of plain
// arrays: little endian, C order, numbers or booleans. Anything else is an error
// that names the array and says what to do in numpy.
//
// Files are not trusted. A reader never panics, checks every size against the
// length of the file before it allocates, and refuses a truncated file and an
// altered array (an .npy carries no checksum, an .npz does). Memory stays within
// 1032 times the length of the file, the most that deflate can pack, and about
// its length where nothing is deflated. No argument is kept; results are copies.
package npz

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"
)

// Array is a named array in C order (last index fastest).
type Array struct {
	Name  string
	Shape []int // empty for a single number
	Data  any   // flat: []float32, []float64, []int8, []uint8, []int16, []int32, []int64 or []bool
}

// File is the arrays of an .npz, in the order of the archive.
type File []Array

// Elem is the element types that an Array may hold.
type Elem interface {
	float32 | float64 | int8 | uint8 | int16 | int32 | int64 | bool
}

const (
	suffix  = ".npy"
	maxPack = 1032 // deflate's largest ratio: 258 bytes from 2 bits
	likely  = 64   // a ratio that recordings stay below
	slack   = 64 << 20
)

// Write writes arrays as an .npz archive, uncompressed, like np.savez. Nothing
// is written if an array is faulty; the error then tells all faults.
func Write(w io.Writer, arrays []Array) error { return write(w, arrays, zip.Store) }

func write(w io.Writer, arrays []Array, method uint16) error {
	var faults []error
	seen := make(map[string]bool, len(arrays))
	for _, a := range arrays {
		if err := checkName(a.Name); err != nil {
			faults = append(faults, err)
		} else if seen[a.Name] {
			faults = append(faults, fmt.Errorf("npz: writing: two arrays are called %q; rename one", a.Name))
		}
		seen[a.Name] = true
		if _, err := a.header(); err != nil {
			faults = append(faults, err)
		}
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	z := zip.NewWriter(w)
	for _, a := range arrays {
		m, err := z.CreateHeader(&zip.FileHeader{
			Name:     a.Name + suffix,
			Method:   method,
			Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC), // the same bytes on every day
		})
		if err == nil {
			err = writeNpy(m, a)
		}
		if err != nil {
			return fmt.Errorf("npz: writing %q: %w", a.Name, err)
		}
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("npz: writing the directory: %w", err)
	}
	return nil
}

// checkName refuses names that zip tools would alter or numpy would mistake.
func checkName(name string) error {
	if !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\\:\x00") {
		return fmt.Errorf(`npz: writing: %.80q cannot name an array; use valid UTF-8 like "obs" or "a/obs", without \, :, .. or NUL`, name)
	}
	if strings.HasSuffix(name, suffix) {
		return fmt.Errorf("npz: writing: array name %.80q ends in .npy, which numpy strips; leave it off", name)
	}
	if len(name) > 1000 {
		return fmt.Errorf("npz: writing: array name %.40q... has %d bytes; use at most 1000", name, len(name))
	}
	return nil
}

// Read reads all arrays of an .npz archive that is size bytes long.
func Read(r io.ReaderAt, size int64) (File, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("npz: opening: %w; is it an .npz, and whole? (%d bytes)", err, size)
	}
	var packed, unpacked uint64
	seen := make(map[string]bool, len(z.File))
	for _, m := range z.File {
		name, ok := strings.CutSuffix(m.Name, suffix)
		switch {
		case !ok:
			return nil, fmt.Errorf("npz: reading: member %q is not an .npy array; write the file with np.savez", m.Name)
		case seen[name]:
			return nil, fmt.Errorf("npz: reading: two arrays are called %q; write the file anew with np.savez", name)
		case m.Method != zip.Store && m.Method != zip.Deflate:
			return nil, fmt.Errorf("npz: reading %q: zip method %d; write the file with np.savez or np.savez_compressed", name, m.Method)
		case m.CompressedSize64 > uint64(size)-packed:
			return nil, fmt.Errorf("npz: reading %q: members are larger than the file (%d bytes); the file is damaged", name, size)
		case m.Method == zip.Store && m.UncompressedSize64 != m.CompressedSize64,
			m.UncompressedSize64/maxPack > m.CompressedSize64:
			return nil, fmt.Errorf("npz: reading %q: %d bytes cannot hold %d; the file is damaged", name, m.CompressedSize64, m.UncompressedSize64)
		}
		seen[name] = true
		packed += m.CompressedSize64
		unpacked += m.UncompressedSize64
		if unpacked > slack+likely*uint64(size) {
			return nil, fmt.Errorf("npz: reading %q: %d bytes unpack to more than %d, which no recording does; "+
				"if yours does, write it with np.savez, not np.savez_compressed", name, size, slack+likely*uint64(size))
		}
	}
	f := make(File, 0, len(z.File))
	for _, m := range z.File {
		a, err := readMember(m)
		if err != nil {
			return nil, err
		}
		f = append(f, a)
	}
	return f, nil
}

func readMember(m *zip.File) (Array, error) {
	name := strings.TrimSuffix(m.Name, suffix)
	rc, err := m.Open()
	if err != nil {
		return Array{}, fmt.Errorf("npz: reading %q: %w; the file is damaged", name, err)
	}
	defer rc.Close()
	a, err := readNpy(rc, int64(m.UncompressedSize64), name)
	if err != nil {
		return Array{}, err
	}
	// The checksum is compared when the member ends.
	if _, err := io.ReadFull(rc, make([]byte, 1)); err != io.EOF {
		return Array{}, fmt.Errorf("npz: reading %q: %v at its end; the file is damaged", name, err)
	}
	return a, nil
}

// Get returns the data and shape of the array called name, which must hold T
// and have dims dimensions. The slices are views of the file's arrays.
func Get[T Elem](f File, name string, dims int) ([]T, []int, error) {
	for _, a := range f {
		if a.Name != name {
			continue
		}
		data, ok := a.Data.([]T)
		if !ok {
			want, _ := descr([]T(nil))
			return nil, nil, fmt.Errorf("npz: array %q holds %s, want %s; save it with .astype('%s')", name, kind(a.Data), kind([]T(nil)), want)
		}
		if len(a.Shape) != dims {
			return nil, nil, fmt.Errorf("npz: array %q has shape %v, want %d dimensions; save it with .reshape(...)", name, a.Shape, dims)
		}
		return data, a.Shape, nil
	}
	names := make([]string, len(f))
	for i, a := range f {
		names[i] = a.Name
	}
	return nil, nil, fmt.Errorf("npz: no array %q in the file; it holds %.500q", name, names)
}

// kind names the element type of a flat slice.
func kind(data any) string { return strings.TrimPrefix(fmt.Sprintf("%T", data), "[]") }
