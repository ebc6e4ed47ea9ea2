package npz_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/npz"
)

// npy returns an .npy file with the given header text and data.
func npy(text, data string) []byte {
	b := []byte("\x93NUMPY\x01\x00")
	b = binary.LittleEndian.AppendUint16(b, uint16(len(text)))
	return append(append(b, text...), data...)
}

func readNpy(b []byte) (npz.Array, error) { return npz.ReadNpy(bytes.NewReader(b), int64(len(b))) }

func TestNumpysOtherArraysAreRefusedWithAdvice(t *testing.T) {
	for name, want := range map[string][]string{
		"fortran.npy": {"Fortran", "np.ascontiguousarray"},
		"big.npy":     {"big-endian", "astype('<f4')"},
		"half.npy":    {"half", "astype('<f4')"},
		"object.npy":  {"objects", "astype"},
		"struct.npy":  {"structured", "field"},
		"text.npy":    {`"<U2"`, "astype"},
	} {
		_, err := readNpy(testdata(t, name))
		wantError(t, name, err, want...)
		_, err = read(zipped(func(z *zip.Writer) {
			w, _ := z.Create("my 50%d array.npy")
			w.Write(testdata(t, name))
		}))
		wantError(t, name+" in an .npz", err, append(want, `"my 50%d array"`)...)
	}
}

func TestFaultyNpyHeadersAreRefused(t *testing.T) {
	const good = "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }\n"
	if _, err := readNpy(npy(good, "abc")); err != nil {
		t.Fatalf("the good header: %v", err)
	}
	if a, err := readNpy(npy(`{"shape":(1, 3 ) ,"fortran_order" :False,'descr':'|u1'}`, "abc")); err != nil ||
		!reflect.DeepEqual(a.Shape, []int{1, 3}) {
		t.Errorf("another spelling: got %v, %v; want shape [1 3]", a, err)
	}
	for _, c := range []struct{ name, from, to, want string }{
		{"no brace", "{", "", "header"},
		{"no end", "}", "", "header"},
		{"text after the end", "}", "} x", "header"},
		{"no shape", ", 'shape': (3,)", "", "header"},
		{"shape twice", "'shape'", "'shape': (3,), 'shape'", "header"},
		{"unknown entry", "'shape'", "'size': 3, 'shape'", `"size"`},
		{"number for a shape", "(3,)", "(3)", "header"},
		{"negative", "(3,)", "(-3,)", "header"},
		{"overflow", "(3,)", "(9223372036854775807, 9223372036854775807)", "impossible"},
		{"overflow of one number", "(3,)", "(92233720368547758070,)", "header"},
		{"zero hides nothing", "(3,)", "(0, 3)", "needs 0 bytes"},
		{"too large", "(3,)", "(1099511627776,)", "needs 1099511627776 bytes, the file has 3"},
		{"too small", "(3,)", "(2,)", "needs 2 bytes, the file has 3"},
		{"many dimensions", "(3,)", "(3," + strings.Repeat(" 1,", 40) + ")", "41 dimensions"},
		{"escape", "|u1", `\x7cu1`, "header"},
		{"bool above 1", "|u1", "|b1", "element 0 of a bool array is 97"},
		{"unsigned", "|u1", "<u4", "astype('<i8')"},
		{"empty type", "|u1", "", "astype"},
	} {
		_, err := readNpy(npy(strings.Replace(good, c.from, c.to, 1), "abc"))
		wantError(t, c.name, err, c.want)
	}
	for name, b := range map[string][]byte{
		"empty":         nil,
		"no npy":        []byte("PK\x03\x04 and more bytes"),
		"version 3":     []byte("\x93NUMPY\x03\x00\x00\x00\x00\x00"),
		"header length": []byte("\x93NUMPY\x02\x00\xff\xff\xff\xff{}"),
		"v2 cut":        []byte("\x93NUMPY\x02\x00\xff\xff"),
	} {
		_, err := readNpy(b)
		wantError(t, name, err, "reading an array")
	}
	b := npy(good, "abc")
	_, err := npz.ReadNpy(bytes.NewReader(b), int64(len(b))-1)
	wantError(t, "size too small", err, "needs 3 bytes")
	_, err = npz.ReadNpy(bytes.NewReader(append(b, 0)), int64(len(b)))
	wantError(t, "bytes after the end", err, "more than")
	_, err = npz.ReadNpy(bytes.NewReader(b), int64(len(b))+1)
	wantError(t, "size too large", err, "needs 3 bytes")
}

// archives are the golden arrays in each form.
func archives(t *testing.T) map[string][]byte {
	return map[string][]byte{
		"stored.npz":   testdata(t, "stored.npz"),
		"deflated.npz": testdata(t, "deflated.npz"),
		"ours":         encode(t, func(b *bytes.Buffer) error { return npz.Write(b, golden()) }),
	}
}

// zipped returns an archive that fill wrote.
func zipped(fill func(z *zip.Writer)) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	fill(z)
	z.Close()
	return b.Bytes()
}

func TestTruncatedFilesAreRefused(t *testing.T) {
	for name, b := range archives(t) {
		for n := range b {
			if _, err := read(b[:n]); err == nil {
				t.Errorf("%s: the first %d of %d bytes were read without error", name, n, len(b))
			}
		}
	}
	b := testdata(t, "f4.npy")
	for n := range b {
		if _, err := readNpy(b[:n]); err == nil {
			t.Errorf("f4.npy: the first %d of %d bytes were read without error", n, len(b))
		}
	}
}

// A changed bit is refused, or it lies where it changes no array (dates, zip's
// own fields, names, which zip does not protect).
func TestAlteredArraysAreRefused(t *testing.T) {
	for name, b := range archives(t) {
		refused := 0
		for i := range b {
			for _, bit := range []int{i % 8, (i + 5) % 8} {
				b[i] ^= 1 << bit
				f, err := read(b)
				if err != nil {
					refused++
				} else if got, want := nameless(f), nameless(golden()); !reflect.DeepEqual(got, want) {
					t.Errorf("%s, byte %d, bit %d: got %v, want %v or an error", name, i, bit, got, want)
				}
				b[i] ^= 1 << bit
			}
		}
		if refused < len(b)*3/4 {
			t.Errorf("%s: %d of %d altered files were refused, want most", name, refused, 2*len(b))
		}
	}
}

func nameless(f npz.File) npz.File {
	for i := range f {
		f[i].Name = ""
	}
	return f
}

// member adds raw bytes to an archive with sizes of the caller's choice.
func member(z *zip.Writer, name string, method uint16, raw []byte, size uint64) {
	w, err := z.CreateRaw(&zip.FileHeader{Name: name, Method: method, CRC32: 1, CompressedSize64: uint64(len(raw)), UncompressedSize64: size})
	if err == nil {
		_, err = w.Write(raw)
	}
	if err != nil {
		panic(err)
	}
}

func TestFaultyArchivesAreRefused(t *testing.T) {
	good := testdata(t, "f4.npy")
	for _, c := range []struct {
		name string
		fill func(z *zip.Writer)
		want string
	}{
		{"no npy", func(z *zip.Writer) { member(z, "readme.txt", zip.Store, []byte("hi"), 2) }, `"readme.txt" is not an .npy`},
		{"twice", func(z *zip.Writer) {
			member(z, "a.npy", zip.Store, good, uint64(len(good)))
			member(z, "a.npy", zip.Store, good, uint64(len(good)))
		}, "two arrays"},
		{"bzip2", func(z *zip.Writer) { member(z, "a.npy", 12, good, 99) }, "method 12"},
		{"stored sizes", func(z *zip.Writer) { member(z, "a.npy", zip.Store, good, uint64(len(good))+1) }, "cannot hold"},
		{"bomb", func(z *zip.Writer) { member(z, "a.npy", zip.Deflate, good, 1<<40) }, "cannot hold"},
		{"checksum", func(z *zip.Writer) { member(z, "a.npy", zip.Store, good, uint64(len(good))) }, "checksum"},
		{"bad deflate", func(z *zip.Writer) { member(z, "a.npy", zip.Deflate, good, 99) }, `"a"`},
	} {
		_, err := read(zipped(c.fill))
		wantError(t, c.name, err, c.want)
	}
}

// Many members that share the same packed bytes would multiply deflate's ratio.
func TestOverlappingMembersAreRefused(t *testing.T) {
	b := encode(t, func(b *bytes.Buffer) error {
		return npz.Write(b, []npz.Array{array("a", []int{5000}, make([]uint8, 5000)), array("b", []int{1}, make([]uint8, 1))})
	})
	at := bytes.LastIndex(b, []byte("PK\x01\x02"))
	first := bytes.Index(b, []byte("PK\x01\x02"))
	copy(b[at+16:at+28], b[first+16:first+28]) // checksum and sizes
	copy(b[at+42:at+46], b[first+42:first+46]) // offset
	_, err := read(b)
	wantError(t, "two members in the same bytes", err, `"b"`, "larger than the file")
}

func TestClaimsAloneAllocateNothing(t *testing.T) {
	big := npy("{'descr': '<f8', 'fortran_order': False, 'shape': (134217728,), }\n", "")
	bomb := zipped(func(z *zip.Writer) { member(z, "a.npy", zip.Deflate, big, 1<<30) })
	for name, f := range map[string]func() error{
		"npy":            func() error { _, err := readNpy(big); return err },
		"npz":            func() error { _, err := read(bomb); return err },
		"header length":  func() error { _, err := readNpy([]byte("\x93NUMPY\x02\x00\x00\xff\xff\x7f{}")); return err },
		"reader is dead": func() error { _, err := npz.ReadNpy(strings.NewReader(""), 1<<40); return err },
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := f()
		runtime.ReadMemStats(&after)
		wantError(t, name, err)
		if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
			t.Errorf("%s: %d bytes were allocated, want less than 1 MiB", name, got)
		}
	}
}

// FuzzRead packs what it is given as an array's file, so that checksums fit and the
// reader gets beyond them, then alters a byte of the archive. It is not given whole
// archives: each that finds something is made smaller, byte by byte, before it is tried
// further, and hardly a byte of one can go, so that a minute passes for each.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"f4.npy", "v2.npy", "text.npy"} {
		f.Add(testdata(f, name), uint16(0), uint8(0))
	}
	for i, a := range golden() {
		f.Add(encode(f, func(b *bytes.Buffer) error { return npz.WriteNpy(b, a) }), uint16(40*i), uint8(i))
	}
	for i, b := range hostileArrays() {
		f.Add(b, uint16(37), uint8(i))
	}
	f.Fuzz(func(t *testing.T, array []byte, at uint16, flip uint8) {
		b := zipped(func(z *zip.Writer) {
			w, _ := z.CreateHeader(&zip.FileHeader{Name: "a.npy", Method: zip.Store})
			w.Write(array)
		})
		b[int(at)%len(b)] ^= flip
		file, err := read(b)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "npz: ") {
				t.Errorf("error %q does not name its package", err)
			}
			return
		}
		total := 0
		for _, a := range file {
			total += reflect.ValueOf(a.Data).Len()
			checkRoundTrip(t, a)
		}
		if total > 1032*len(b) {
			t.Errorf("%d elements from %d bytes", total, len(b))
		}
	})
}

// hostileArrays claim absurd sizes, Python objects and depth, and hold little.
func hostileArrays() (list [][]byte) {
	for _, header := range []string{
		"{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4), }",
		"{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, 0), }",
		"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
		"{'descr': '<U2147483647', 'fortran_order': False, 'shape': (1,), }",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
		"{'descr': '<f4', 'fortran_order': False, 'shape': " + strings.Repeat("(", 20_000) + ", }",
		"{'descr': __import__('os').system('true'), 'fortran_order': False, 'shape': (), }",
	} {
		b := append([]byte("\x93NUMPY\x02\x00"), binary.LittleEndian.AppendUint32(nil, uint32(len(header)+1))...)
		list = append(list, append(b, header+"\n\x00\x00\xc0\x7f\x00\x00\x80\x7f"...)) // NaN, infinity
	}
	return list
}

func FuzzReadNpy(f *testing.F) {
	for _, name := range []string{"f4.npy", "v2.npy", "fortran.npy", "big.npy", "half.npy", "object.npy", "struct.npy", "text.npy"} {
		f.Add(testdata(f, name))
	}
	for _, a := range golden() {
		f.Add(encode(f, func(b *bytes.Buffer) error { return npz.WriteNpy(b, a) }))
	}
	for _, b := range hostileArrays() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := readNpy(b)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "npz: ") {
				t.Errorf("error %q does not name its package", err)
			}
			return
		}
		if n := reflect.ValueOf(a.Data).Len(); n > len(b) {
			t.Errorf("%d elements from %d bytes", n, len(b))
		}
		checkRoundTrip(t, a)
	})
}

// checkRoundTrip compares as text, in which NaN equals NaN.
func checkRoundTrip(t *testing.T, a npz.Array) {
	var b bytes.Buffer
	if err := npz.WriteNpy(&b, a); err != nil {
		t.Fatalf("what was read cannot be written: %v", err)
	}
	again, err := npz.ReadNpy(&b, int64(b.Len()))
	if err != nil {
		t.Fatalf("what was written cannot be read: %v", err)
	}
	again.Name = a.Name
	if got, want := fmt.Sprint(again), fmt.Sprint(a); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestABombIsRefusedBeforeItIsUnpacked(t *testing.T) {
	const n = 100 << 20
	bomb := zipped(func(z *zip.Writer) {
		w, _ := z.Create("obs.npy")
		w.Write(npy(fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }\n", n), ""))
		zeros := make([]byte, 1<<20)
		for range n / len(zeros) {
			w.Write(zeros)
		}
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := read(bomb)
	runtime.ReadMemStats(&after)
	wantError(t, "a bomb", err, "unpack to more than", "np.savez")
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
		t.Errorf("%d bytes made it take %d", len(bomb), took)
	}
}
