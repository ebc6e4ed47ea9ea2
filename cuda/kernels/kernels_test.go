package kernels_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"testing"
	"unsafe"

	"github.com/hop-marl/hop/cuda/kernels"
)

func TestThePTXIsOfTheSource(t *testing.T) {
	ptx, err := kernels.PTX()
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("sha256 %x\n", sha256.Sum256(kernels.Source)); !bytes.Contains(ptx[:min(len(ptx), 200)], []byte(want)) {
		t.Error("kernels.ptx.gz was made of another kernels.cu: go generate ./kernels")
	}
	for _, name := range kernels.Names {
		if !bytes.Contains(ptx, []byte(".entry "+name+"(")) {
			t.Errorf("there is no kernel %s", name)
		}
	}
}

func TestACallIsLaidOutAlike(t *testing.T) {
	if want := fmt.Sprintf("sizeof(Call) == %d,", unsafe.Sizeof(kernels.Call{})); !bytes.Contains(kernels.Source, []byte(want)) {
		t.Errorf("kernels.cu has no static_assert(%s ...)", want)
	}
}
