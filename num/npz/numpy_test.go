package npz_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hop-marl/hop/num/npz"
)

// The script repeats the values of golden and compares bytes with np.save.
const script = `
import io, sys, zipfile
import numpy as np
want = dict(
    f4=np.array([[1.5, -2, np.inf], [0, 1e-45, 3]], "<f4"),
    f8=np.array([np.pi, -0.0]),
    i1=np.array([-128, 127], "i1"),
    u1=np.array([[[0], [255]]], "u1"),
    i2=np.array([-32768, 32767], "<i2"),
    i4=np.array(-7, "<i4"),
    i8=np.array([-(2**63), 2**63 - 1], "<i8"),
    b1=np.array([True, False, True]),
    empty=np.zeros((0, 3), "<f4"),
)
want["é/long"] = np.arange(3 * 4000, dtype="<f4").reshape(3, 1, 4000)
for k in range(63):  # headers of consecutive lengths, across two multiples of 64
    want["d%d" % k] = np.zeros((0,) + (1,) * (k // 3) + (10 ** (k % 3),), "u1")
for path in sys.argv[1:]:
    got = np.load(path, allow_pickle=False)
    assert list(got) == list(want), list(got)
    for k, v in want.items():
        g = got[k]
        assert g.dtype == v.dtype and g.shape == v.shape and g.tobytes() == v.tobytes(), (k, g, v)
    z = zipfile.ZipFile(path)
    assert z.testzip() is None
    for k, v in want.items():
        b = io.BytesIO()
        np.save(b, v)
        if np.lib.NumpyVersion(np.__version__) >= "1.25.0":
            assert z.read(k + ".npy") == b.getvalue(), k
`

func TestNumpyReadsWhatWeWrite(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here: that numpy reads our files is not tested")
	}
	if exec.Command(python, "-c", "import numpy").Run() != nil {
		t.Skip("no numpy here: that numpy reads our files is not tested")
	}
	long := make([]float32, 3*4000)
	for i := range long {
		long[i] = float32(i)
	}
	f := append(golden(), array("é/long", []int{3, 1, 4000}, long))
	for k := range 63 {
		shape := append(append([]int{0}, slices.Repeat([]int{1}, k/3)...), []int{1, 10, 100}[k%3])
		f = append(f, array(fmt.Sprint("d", k), shape, []uint8{}))
	}
	dir := t.TempDir()
	stored, deflated := filepath.Join(dir, "stored.npz"), filepath.Join(dir, "deflated.npz")
	for path, b := range map[string][]byte{
		stored:   encode(t, func(b *bytes.Buffer) error { return npz.Write(b, f) }),
		deflated: encode(t, func(b *bytes.Buffer) error { return npz.WriteDeflated(b, f) }),
	} {
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(python, "-X", "utf8", "-c", script, stored, deflated).CombinedOutput(); err != nil {
		t.Errorf("numpy: %v\n%s", err, out)
	}
}

func BenchmarkRead(b *testing.B) {
	xs := make([]float32, 1<<20)
	for i := range xs {
		xs[i] = float32(math.Sin(float64(i)))
	}
	file := encode(b, func(w *bytes.Buffer) error { return npz.Write(w, []npz.Array{array("x", []int{len(xs)}, xs)}) })
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		if _, err := read(file); err != nil {
			b.Fatal(err)
		}
	}
}
