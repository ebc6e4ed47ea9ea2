package safetensors_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

func sample() *safetensors.File {
	f := &safetensors.File{Meta: map[string]string{"format": "hop"}}
	f.PutFloat32("pi/0/w", []float32{1, 2, 3, 4, 5, float32(math.Inf(1))}, 2, 3)
	f.PutFloat32("pi/0/b", []float32{-1, 0.5, 1e-40}, 3)
	f.PutInt64("step", []int64{-7})
	f.PutFloat32("empty", nil, 0, 4)
	return f
}

func encode(t testing.TB, f *safetensors.File) []byte {
	t.Helper()
	b, err := f.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func parse(t testing.TB, b []byte) *safetensors.File {
	t.Helper()
	f, err := safetensors.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	b := encode(t, sample())
	f := parse(t, b)
	w, step := make([]float32, 6), make([]int64, 1)
	if err := f.Float32(w, "pi/0/w", 2, 3); err != nil {
		t.Error(err)
	}
	if err := f.Int64(step, "step"); err != nil {
		t.Error(err)
	}
	if w[4] != 5 || !math.IsInf(float64(w[5]), 1) || step[0] != -7 || f.Meta["format"] != "hop" || len(f.Meta) != 1 {
		t.Errorf("got w %v, step %v, meta %v", w, step, f.Meta)
	}
	if again := encode(t, f); !bytes.Equal(again, b) {
		t.Error("writing what was read gives other bytes")
	}
}

func TestWrongRequestsNameTheTensor(t *testing.T) {
	f := sample()
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"missing", f.Float32(nil, "pi/1/w", 1), `"pi/1/w" is missing`},
		{"dtype", f.Float32(make([]float32, 1), "step"), `"step" is I64, want F32`},
		{"shape", f.Float32(make([]float32, 6), "pi/0/w", 3, 2), `"pi/0/w" has shape [2 3], want [3 2]`},
		{"length", f.Float32(make([]float32, 5), "pi/0/w", 2, 3), `"pi/0/w": 6 elements do not fit 5`},
		{"int length", f.Int64(make([]int64, 2), "step"), `"step": 1 elements do not fit 2`},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, c.err, c.want)
		}
	}
}

// Every single flipped bit of the data is found and blamed on its tensor; a
// flipped bit of the header never passes as another tensor of the same name.
func TestDamageIsFound(t *testing.T) {
	b := encode(t, sample())
	data := len(b) - (6*4 + 3*4 + 8)
	for i := data; i < len(b); i++ {
		for bit := range 8 {
			b[i] ^= 1 << bit
			_, err := safetensors.Parse(b)
			b[i] ^= 1 << bit
			want := `"pi/0/w" is damaged`
			if i >= data+24 {
				want = `"pi/0/b" is damaged`
			}
			if i >= data+36 {
				want = `"step" is damaged`
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("byte %d bit %d: got %v, want %s", i, bit, err, want)
			}
		}
	}
	for n := range b {
		if _, err := safetensors.Parse(b[:n]); err == nil {
			t.Fatalf("a file cut to %d of %d bytes was accepted", n, len(b))
		}
	}
	if _, err := safetensors.Parse(append(bytes.Clone(b), 0)); err == nil {
		t.Error("a byte too many was accepted")
	}
}

func TestBadHeadersAreErrors(t *testing.T) {
	for _, c := range []struct{ name, head, data, want string }{
		{"no object", `[]`, "", "not a JSON object"},
		{"twice", `{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, "x", "twice"},
		{"overlap", `{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, "xxx",
			`"b" starts at byte 1`},
		{"hole", `{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, "xx", `"a" starts at byte 1`},
		{"tail", `{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, "xx", "1 bytes of data follow"},
		{"outside", `{"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}}`, "xx", `"a": bytes 0 to 9`},
		{"huge shape", `{"a":{"dtype":"F64","shape":[4611686018427387904,4],"data_offsets":[0,0]}}`, "", `"a": impossible shape`},
		{"negative", `{"a":{"dtype":"F64","shape":[-1],"data_offsets":[0,0]}}`, "", `"a": impossible shape`},
		{"dtype", `{"a":{"dtype":"F8","shape":[1],"data_offsets":[0,1]}}`, "x", `"a": unknown dtype`},
		{"size", `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,1]}}`, "x", `"a": 1 bytes`},
		{"field", `{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}}`, "x", `"a": reading its header`},
		{"meta", `{"__metadata__":{"a":1}}`, "", "__metadata__"},
		{"no sum", `{"__metadata__":{"sha256/b":"00"},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, "x", `"a" has no checksum`},
		{"only sum", `{"__metadata__":{"sha256/b":"00"}}`, "", `"b" has a checksum but`},
		{"garbage", `{} x`, "", "something follows"},
	} {
		b := append([]byte{byte(len(c.head)), byte(len(c.head) >> 8), 0, 0, 0, 0, 0, 0}, c.head+c.data...)
		if _, err := safetensors.Parse(b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

// Python's own reader opens our files and we open its files. Skipped where
// Python has no safetensors.
func TestPythonReadsAndWrites(t *testing.T) {
	if testing.Short() || exec.Command("python3", "-c", "import safetensors.numpy").Run() != nil {
		t.Skip("no python3 with safetensors")
	}
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.safetensors"), filepath.Join(dir, "out.safetensors")
	if err := os.WriteFile(in, encode(t, sample()), 0o600); err != nil {
		t.Fatal(err)
	}
	script := `
import sys
from safetensors.numpy import load_file, save_file
x = load_file(sys.argv[1])
assert x["pi/0/w"].shape == (2, 3) and x["pi/0/w"][1, 1] == 5 and x["step"].item() == -7, x
x["pi/0/w"] = x["pi/0/w"] * 2
save_file(x, sys.argv[2])`
	if msg, err := exec.Command("python3", "-c", script, in, out).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, msg)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	f := parse(t, b)
	w := make([]float32, 6)
	if err := f.Float32(w, "pi/0/w", 2, 3); err != nil || w[4] != 10 {
		t.Errorf("got %v, %v; want w[4] = 10", w, err)
	}
}

// Parse never panics, and whatever it accepts is written back and read again. Inputs are
// small, and the length of the header fits: an input that finds something is made smaller
// byte by byte before another is tried, and no byte of a whole file can go.
func FuzzParse(f *testing.F) {
	f.Add(`{}`, uint8(0), uint8(0))
	f.Add(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, uint8(1), uint8(0))
	f.Add(`{"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}`, uint8(8), uint8(3))
	for _, hostile := range []string{ // sizes that overflow, parts that overlap or lie outside, names that lead out, depth, no numbers
		`{"a":{"dtype":"F64","shape":[4611686018427387904,4],"data_offsets":[0,8]}}`,
		`{"a":{"dtype":"U8","shape":[9223372036854775807],"data_offsets":[0,9223372036854775807]}}`,
		`{"a":{"dtype":"U8","shape":[-1],"data_offsets":[8,7]}}`, `{"a":{"dtype":"U8","shape":[1],"data_offsets":[-1,0]}}`,
		`{"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[8],"data_offsets":[4,12]}}`,
		`{"../../../etc/passwd":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, `{"a":{"dtype":"F32","shape":[NaN],"data_offsets":[0,4]}}`,
		`{"a":{"dtype":"U8","shape":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `,"data_offsets":[0,1]}}`,
		`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}`,
	} {
		f.Add(hostile, uint8(8), uint8(0))
		f.Add(hostile, uint8(12), uint8(255))
	}
	f.Fuzz(func(t *testing.T, header string, data, more uint8) {
		b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)+int(more)))
		b = append(append(b, header...), make([]byte, data)...)
		got, err := safetensors.Parse(b)
		if err != nil {
			return
		}
		again, err := got.AppendBinary(nil)
		if err != nil {
			t.Fatalf("accepted but not written back: %v", err)
		}
		if _, err := safetensors.Parse(again); err != nil {
			t.Fatalf("written back but refused: %v", err)
		}
	})
}

func TestBytesComeBack(t *testing.T) {
	var f safetensors.File
	f.PutBytes("envs", []byte{1, 2, 255})
	f.PutInt64("n", []int64{3}, 1)
	g := parse(t, encode(t, &f))
	if got, err := g.Bytes("envs"); err != nil || !bytes.Equal(got, []byte{1, 2, 255}) {
		t.Errorf("got %v, %v", got, err)
	}
	for name, want := range map[string]string{"n": `"n" is I64`, "gone": `"gone" is missing`} {
		if _, err := g.Bytes(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Bytes(%q): %v, want %s", name, err, want)
		}
	}
}

// A stream that was saved goes on where it was; what is none is refused by name.
func TestBinaryFormsComeBack(t *testing.T) {
	r := rng.New(3).Rand()
	r.Float64()
	var f safetensors.File
	if err := f.PutBinary("stream", &r); err != nil {
		t.Fatal(err)
	}
	f.PutBytes("short", []byte{1})
	var again rng.Rand
	if err := f.Binary(&again, "stream"); err != nil {
		t.Fatal(err)
	}
	if got, want := again.Float64(), r.Float64(); got != want {
		t.Errorf("the stream goes on with %v, want %v", got, want)
	}
	for _, name := range []string{"short", "missing"} {
		if err := f.Binary(&again, name); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: the error is %v, want one that names it", name, err)
		}
	}
}
