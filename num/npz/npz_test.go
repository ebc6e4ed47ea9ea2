package npz_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/npz"

	"pgregory.net/rapid"
)

func array(name string, shape []int, data any) npz.Array {
	return npz.Array{Name: name, Shape: shape, Data: data}
}

// golden is what testdata/make.py saved.
func golden() npz.File {
	return npz.File{
		array("f4", []int{2, 3}, []float32{1.5, -2, float32(math.Inf(1)), 0, math.SmallestNonzeroFloat32, 3}),
		array("f8", []int{2}, []float64{math.Pi, math.Copysign(0, -1)}),
		array("i1", []int{2}, []int8{-128, 127}),
		array("u1", []int{1, 2, 1}, []uint8{0, 255}),
		array("i2", []int{2}, []int16{-32768, 32767}),
		array("i4", []int{}, []int32{-7}),
		array("i8", []int{2}, []int64{math.MinInt64, math.MaxInt64}),
		array("b1", []int{3}, []bool{true, false, true}),
		array("empty", []int{0, 3}, []float32{}),
	}
}

func read(b []byte) (npz.File, error) { return npz.Read(bytes.NewReader(b), int64(len(b))) }

func testdata(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func encode(t testing.TB, write func(*bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReadsWhatNumpyWrote(t *testing.T) {
	for _, name := range []string{"stored.npz", "deflated.npz"} {
		got, err := read(testdata(t, name))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if want := golden(); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: got %v, want %v", name, got, want)
		}
		if f8, _, _ := npz.Get[float64](got, "f8", 1); !math.Signbit(f8[1]) {
			t.Errorf("%s: f8[1] lost the sign of -0", name)
		}
	}
	got, err := readNpy(testdata(t, "v2.npy"))
	if err != nil {
		t.Fatal(err)
	}
	if want := array("", []int{3}, []int32{0, 1, 2}); !reflect.DeepEqual(got, want) {
		t.Errorf("v2.npy: got %v, want %v", got, want)
	}
}

func TestNpyBytesAreNumpys(t *testing.T) {
	got := encode(t, func(b *bytes.Buffer) error { return npz.WriteNpy(b, golden()[0]) })
	if want := testdata(t, "f4.npy"); !bytes.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// The bytes depend on nothing but the arrays: not on the day, not on the machine.
func TestBytesNeverChange(t *testing.T) {
	b := encode(t, func(b *bytes.Buffer) error { return npz.Write(b, golden()) })
	const want = "53cea3f60535a2977d2ee8dc2c8b426acb9ec56f169a9f16f4e71f79dd6bc520"
	if got := fmt.Sprintf("%x", sha256.Sum256(b)); got != want {
		t.Errorf("sha256 of the golden arrays: got %s, want %s", got, want)
	}
	write := func(b *bytes.Buffer) error { return npz.WriteDeflated(b, golden()) }
	if !bytes.Equal(encode(t, write), encode(t, write)) {
		t.Error("WriteDeflated: two writes differ")
	}
}

func anyArray(t *rapid.T, name string) npz.Array {
	shape := rapid.SliceOfN(rapid.IntRange(0, 5), 0, 4).Draw(t, name+" shape")
	n := 1
	for _, k := range shape {
		n *= k
	}
	scale := 1
	if n > 0 && len(shape) > 0 && rapid.IntRange(0, 9).Draw(t, name+" long") == 0 {
		scale = 3000 // longer than one chunk
		shape[0] *= scale
	}
	draw := rapid.SampledFrom([]func() any{
		drawn(t, name, rapid.Float32(), n, scale), drawn(t, name, rapid.Float64(), n, scale), drawn(t, name, rapid.Bool(), n, scale),
		drawn(t, name, rapid.Int8(), n, scale), drawn(t, name, rapid.Uint8(), n, scale), drawn(t, name, rapid.Int16(), n, scale),
		drawn(t, name, rapid.Int32(), n, scale), drawn(t, name, rapid.Int64(), n, scale),
	}).Draw(t, name+" type")
	return array(name, shape, draw())
}

// drawn returns what draws n elements of a type, scale times over.
func drawn[T any](t *rapid.T, name string, of *rapid.Generator[T], n, scale int) func() any {
	return func() any { return slices.Repeat(rapid.SliceOfN(of, n, n).Draw(t, name), scale) }
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zé_][a-z0-9_ %é]{0,9}(/[a-z]{1,3})?`), 0, 4, rapid.ID).Draw(t, "names")
		want := npz.File{}
		for _, name := range names {
			want = append(want, anyArray(t, name))
		}
		var b bytes.Buffer
		write := npz.Write
		if rapid.Bool().Draw(t, "deflate") {
			write = npz.WriteDeflated
		}
		if err := write(&b, want); err != nil {
			t.Fatal(err)
		}
		got, err := read(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func TestGetChecksNameTypeAndDimensions(t *testing.T) {
	f := golden()
	data, shape, err := npz.Get[float32](f, "f4", 2)
	if err != nil || len(data) != 6 || !reflect.DeepEqual(shape, []int{2, 3}) {
		t.Errorf("f4: got %v, %v, %v; want 6 elements, [2 3], no error", data, shape, err)
	}
	_, _, err = npz.Get[float32](f, "obs", 2)
	wantError(t, "missing", err, `"obs"`, `"f4" "f8"`)
	_, _, err = npz.Get[float32](f, "f8", 1)
	wantError(t, "type", err, `"f8"`, "float64", "want float32", "astype('<f4')")
	_, _, err = npz.Get[float32](f, "f4", 1)
	wantError(t, "dimensions", err, `"f4"`, "[2 3]", "want 1 dim", "reshape")
}

func wantError(t *testing.T, where string, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error, want one with %q", where, words)
		return
	}
	for _, w := range append(words, "npz: ") {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: got %q, want it to say %q", where, err, w)
		}
	}
}

func TestFaultyArraysAreNotWritten(t *testing.T) {
	one := []float32{1}
	for _, c := range []struct {
		name   string
		arrays []npz.Array
		want   []string
	}{
		{"too few elements", []npz.Array{array("x", []int{2, 2}, one)}, []string{`"x"`, "1 elements", "[2 2]", "want 4"}},
		{"negative", []npz.Array{array("x", []int{-1}, one)}, []string{`"x"`, "[-1]"}},
		{"overflow", []npz.Array{array("x", []int{1 << 30, 1 << 30, 1 << 30}, one)}, []string{`"x"`, "impossible"}},
		{"33 dimensions", []npz.Array{array("x", slices.Repeat([]int{1}, 33), one)}, []string{`"x"`, "32"}},
		{"type", []npz.Array{array("x", []int{1}, []string{"a"})}, []string{`"x"`, "[]string"}},
		{"nil", []npz.Array{array("x", []int{0}, nil)}, []string{`"x"`, "<nil>"}},
		{"twice", []npz.Array{array("x", []int{1}, one), array("x", []int{1}, one)}, []string{"two arrays", `"x"`}},
		{"no name", []npz.Array{array("", []int{1}, one)}, []string{`""`}},
		{"path", []npz.Array{array("../x", []int{1}, one)}, []string{`"../x"`}},
		{"backslash", []npz.Array{array(`a\x`, []int{1}, one)}, []string{`"a\\x"`}},
		{"suffix", []npz.Array{array("x.npy", []int{1}, one)}, []string{`"x.npy"`}},
		{"long name", []npz.Array{array(strings.Repeat("x", 70000), []int{1}, one)}, []string{"70000"}},
		{"all told", []npz.Array{array("x", []int{2}, one), array("y", []int{3}, one)}, []string{`"x"`, `"y"`}},
	} {
		var b bytes.Buffer
		wantError(t, c.name, npz.Write(&b, c.arrays), c.want...)
		if b.Len() != 0 {
			t.Errorf("%s: %d bytes were written, want 0", c.name, b.Len())
		}
	}
}

// fullDisk takes n bytes, then fails.
type fullDisk struct{ n int }

var errFull = errors.New("disk full")

func (d *fullDisk) Write(b []byte) (int, error) {
	if d.n -= len(b); d.n < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestWriteErrorsAreReturned(t *testing.T) {
	arrays := []npz.Array{array("x", []int{100_000}, make([]float32, 100_000))}
	for _, n := range []int{0, 200, 300_000, 400_200} {
		if err := npz.Write(&fullDisk{n}, arrays); !errors.Is(err, errFull) {
			t.Errorf("disk full after %d bytes: got error %v, want it to wrap %q", n, err, errFull)
		}
	}
	for _, n := range []int{0, 200} {
		if err := npz.WriteNpy(&fullDisk{n}, arrays[0]); !errors.Is(err, errFull) {
			t.Errorf("WriteNpy, disk full after %d bytes: got error %v, want it to wrap %q", n, err, errFull)
		}
	}
}
