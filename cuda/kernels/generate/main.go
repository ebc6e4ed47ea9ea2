// Command generate compiles kernels.cu to PTX with NVRTC, NVIDIA's compiler as a library. It comes
// from PyPI: pip download nvidia-cuda-nvrtc-cu12 and unpack it, or pip install it.
//
//	go run ./kernels/generate -nvrtc .../nvidia/cuda_nvrtc/lib/libnvrtc.so.12
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/hop-marl/hop/cuda/kernels"
)

// architecture is the oldest that is served: cards from 2018 on. Newer ones compile it for themselves.
const architecture = "compute_75"

func main() {
	library := flag.String("nvrtc", "libnvrtc.so.12", "the compiler's library")
	out := flag.String("out", "kernels/kernels.ptx.gz", "where the PTX goes")
	flag.Parse()
	ptx, err := compile(*library, kernels.Source)
	if err != nil {
		fail(err)
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = fmt.Fprintf(z, "// of kernels.cu, sha256 %x\n%s", sha256.Sum256(kernels.Source), bytes.TrimRight(ptx, "\x00"))
	}
	if err == nil {
		err = z.Close()
	}
	if err == nil {
		err = os.WriteFile(*out, b.Bytes(), 0o644)
	}
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "generate:", err)
	os.Exit(1)
}

// compile returns a source as PTX.
func compile(library string, source []byte) ([]byte, error) {
	lib, err := purego.Dlopen(library, purego.RTLD_NOW)
	if err != nil {
		return nil, err
	}
	var create func(program *uintptr, source, name string, headers int32, texts, names uintptr) int32
	var run func(program uintptr, n int32, options **byte) int32
	var logSize, size func(program uintptr, n *uint64) int32
	var logText, text func(program uintptr, b *byte) int32
	for name, f := range map[string]any{
		"nvrtcCreateProgram": &create, "nvrtcCompileProgram": &run, "nvrtcGetProgramLogSize": &logSize, "nvrtcGetProgramLog": &logText,
		"nvrtcGetPTXSize": &size, "nvrtcGetPTX": &text,
	} {
		purego.RegisterLibFunc(f, lib, name)
	}
	var program uintptr
	if code := create(&program, string(source), "kernels.cu", 0, 0, 0); code != 0 {
		return nil, fmt.Errorf("nvrtcCreateProgram: %d", code)
	}
	options := []*byte{unsafe.StringData("--gpu-architecture=" + architecture + "\x00"), unsafe.StringData("--std=c++17\x00")}
	if code := run(program, int32(len(options)), &options[0]); code != 0 {
		return nil, fmt.Errorf("kernels.cu:\n%s", read(program, logSize, logText))
	}
	return read(program, size, text), nil
}

// read reads what the compiler has written.
func read(program uintptr, size func(uintptr, *uint64) int32, text func(uintptr, *byte) int32) []byte {
	var n uint64
	size(program, &n)
	b := make([]byte, max(n, 1))
	text(program, &b[0])
	return b
}
