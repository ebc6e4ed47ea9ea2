// Package kernels is the program that networks learn and act by on a graphics card: kernels.cu, compiled to
// PTX, which the card's driver compiles for whichever card there is.
//
// go generate ./kernels compiles it again, with NVIDIA's compiler as a library (see generate).
package kernels

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"

	"github.com/hop-marl/hop/cuda/driver"
)

//go:generate go run ./generate

//go:embed kernels.ptx.gz
var packed []byte

// Source is kernels.cu, of which a test asks whether the PTX was made.
//
//go:embed kernels.cu
var Source []byte

// PTX returns the program. Its first line names the hash of the source that it was made of.
func PTX() ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// Sizes of what a block computes, as in kernels.cu.
const (
	Threads = 256
	Rows    = 8    // that a block of spread, asked and answer has
	Span    = 2048 // weights of a block of adam
	Terms   = 6    // of the loss
	Spans   = 24   // of weights, at most
)

// Names are those of the kernels.
var Names = []string{
	"spread", "forward64", "forward32", "backward64", "backward32", "gradient64", "gradient32", "loss", "fold", "adam",
	"asked", "few128", "few32", "answer",
}

// Call is the one argument of every kernel, as kernels.cu lays it out. Places are in numbers of 4
// bytes from the beginning of a network's arena.
type Call struct {
	Arena, Rows, Answers                         driver.Address
	X, Y, W, B, DY, DX, G, GB                    int64
	In, Out, Padded, LdX, LdY, H, Wide, Taps     int32
	Act, Before, Splits, Minibatch, Epochs, Step int32
	Order, Ptr, Idx, Val                         int64
	Flat, Channels                               int32
	Apart, Others, Broad, First, LdRest, Tail    int32
	Rest                                         int64
	Action, LogP, Value, Adv, Ret, Legal         int64
	Dials, Terms                                 int64
	Clip, Worth                                  float32
	ClipValue, Blocks                            int32
	P, M, V, Grad, Squares, Norms, Failed        int64
	Weights, Spans                               int32
	Eps, Most                                    float32
	Span                                         [Spans]Part
}

// Part is where gradients of some weights lie: Splits times Len numbers, from Part on.
type Part struct {
	At, Len, Splits, _ int32
	Part               int64
}
