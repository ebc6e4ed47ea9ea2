package safetensors_test

import (
	"bytes"
	"strings"
	"testing"

	"hop/safetensors"
)

func TestBytesComeBack(t *testing.T) {
	var f safetensors.File
	f.PutBytes("envs", []byte{1, 2, 255})
	f.PutInt64("n", []int64{3}, 1)
	b, err := f.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := safetensors.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := g.Bytes("envs"); err != nil || !bytes.Equal(got, []byte{1, 2, 255}) {
		t.Errorf("got %v, %v", got, err)
	}
	for name, want := range map[string]string{"n": `"n" is I64`, "gone": `"gone" is missing`} {
		if _, err := g.Bytes(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Bytes(%q): %v, want %s", name, err, want)
		}
	}
}
