// Package f32 holds the float32 kernels everything numeric in hop stands on:
// matrix products, convolutions, sparse input rows, activations, LSTM cells, softmax,
// sums and Adam.
//
// Slices are flat and dense, matrices row-major, dst comes first, the caller
// owns all memory, nothing allocates but a Sparse or Packed that grows. A slice of the wrong length panics. dst may
// be one of the inputs in the element-wise functions and the softmaxes, and in no
// other.
//
// There are four sets of kernels: AVX-512, AVX2 with FMA, NEON, and plain Go, which
// is the reference. The best one the machine can run is chosen once at start;
// HOP_KERNELS=generic, avx2, avx512 or neon forces one. Within a set results are exact:
// the same bytes for the same numbers, and a row of a product does not depend on
// the batch it sits in, because each of its elements is one chain of additions in
// index order. Two sets may differ in the last bits. Kernels use one goroutine
// and may be called from many.
package f32
