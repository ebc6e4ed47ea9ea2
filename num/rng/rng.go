// Package rng is the only place in hop that makes random numbers.
//
// A run has one seed. From it, streams are named by path: Key.Child("rules", 3)
// is the same stream whatever else the program draws, in whatever order and on
// however many cores. A Key is a name and never changes; a Rand is a position in
// the stream of that name.
//
// Both are plain values. Copying a Rand forks it: the copy and the original go
// on to draw the same numbers. Neither is safe for use by two goroutines at once.
package rng

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
)

// Key names a stream. The zero Key is a valid name, the root of no seed.
type Key struct{ hi, lo uint64 }

// New returns the root key of a seed.
func New(seed uint64) Key { return Key{}.Child("seed", int(seed)) }

// Child returns the key called name, and optionally numbered, below k.
// Different names or numbers give unrelated streams.
func (k Key) Child(name string, index ...int) Key {
	var buf [128]byte
	b := binary.LittleEndian.AppendUint64(buf[:0], k.hi)
	b = binary.LittleEndian.AppendUint64(b, k.lo)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(name)))
	b = append(b, name...)
	for _, i := range index {
		b = binary.LittleEndian.AppendUint64(b, uint64(i))
	}
	sum := sha256.Sum256(b)
	return Key{binary.LittleEndian.Uint64(sum[0:]), binary.LittleEndian.Uint64(sum[8:])}
}

// Rand returns the stream named by k, at its start.
func (k Key) Rand() Rand { return Rand(k) }

// Rands returns n streams, the children of k called name and numbered from 0.
func (k Key) Rands(name string, n int) []Rand {
	rs := make([]Rand, n)
	for i := range rs {
		rs[i] = k.Child(name, i).Rand()
	}
	return rs
}

// Rand is a position in a stream: a PCG generator with 128 bits of state and
// the DXSM output function, as in math/rand/v2 but small enough to inline into
// a caller's loop. Its zero value is a valid stream.
type Rand struct{ hi, lo uint64 }

const (
	mulHi, mulLo = 2549297995355413924, 4865540595714422341 // PCG's 128-bit multiplier
	incHi, incLo = 6364136223846793005, 1442695040888963407
	dxsm         = 0xda942042e4dd58b5
)

// Uint64 returns 64 uniform bits.
func (r *Rand) Uint64() uint64 {
	hi, lo := bits.Mul64(r.lo, mulLo)
	hi += r.hi*mulLo + r.lo*mulHi
	lo, c := bits.Add64(lo, incLo, 0)
	hi, _ = bits.Add64(hi, incHi, c)
	r.lo, r.hi = lo, hi
	hi ^= hi >> 32
	hi *= dxsm
	hi ^= hi >> 48
	return hi * (lo | 1)
}

// IntN returns a uniform number in [0, n). The bias is below n/2^64.
// It panics if n is not positive.
func (r *Rand) IntN(n int) int {
	if n <= 0 {
		panic("rng: IntN needs a positive bound")
	}
	hi, _ := bits.Mul64(r.Uint64(), uint64(n))
	return int(hi)
}

// Float64 returns a uniform number in [0, 1), a multiple of 2^-53.
func (r *Rand) Float64() float64 { return float64(r.Uint64()>>11) * 0x1p-53 }

// Float32 returns a uniform number in [0, 1), a multiple of 2^-24.
func (r *Rand) Float32() float32 { return float32(r.Uint64()>>40) * 0x1p-24 }

// Norm returns a standard normal number. It always takes exactly two draws
// (Box-Muller), so that streams advance alike whatever the values.
func (r *Rand) Norm() float64 {
	u, v := 1-r.Float64(), r.Float64()
	return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v)
}

// Gumbel returns a standard Gumbel number: the index of the largest logit plus
// Gumbel noise is a draw from their softmax.
func (r *Rand) Gumbel() float64 {
	return -math.Log(-math.Log((float64(r.Uint64()>>12) + 0.5) * 0x1p-52))
}

// Perm fills dst with a uniform permutation of 0..len(dst)-1.
func (r *Rand) Perm(dst []int) {
	for i := range dst {
		dst[i] = i
	}
	Shuffle(dst, r)
}

// Shuffle puts x into a uniformly drawn order.
func Shuffle[E any](x []E, r *Rand) {
	for i := len(x) - 1; i > 0; i-- {
		j := r.IntN(i + 1)
		x[i], x[j] = x[j], x[i]
	}
}

// stateLen is the length of a Rand's binary form.
const stateLen = 16

// ErrState is returned by UnmarshalBinary for bytes that are no Rand.
var ErrState = errors.New("rng: a stream's binary form has 16 bytes")

// AppendBinary appends the stream's position to b.
func (r Rand) AppendBinary(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint64(b, r.hi)
	return binary.LittleEndian.AppendUint64(b, r.lo), nil
}

// MarshalBinary returns the stream's position, for checkpoints.
func (r Rand) MarshalBinary() ([]byte, error) { return r.AppendBinary(make([]byte, 0, stateLen)) }

// UnmarshalBinary puts the stream back at a saved position.
func (r *Rand) UnmarshalBinary(b []byte) error {
	if len(b) != stateLen {
		return ErrState
	}
	r.hi, r.lo = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	return nil
}

// Raw returns the stream whose state is the two numbers. It is for streams named
// by numbers that are themselves well mixed, such as a hash or draws of another
// stream; name all others by a Key.
func Raw(hi, lo uint64) Rand { return Rand{hi, lo} }

// Position returns the two numbers that Raw takes.
func (r *Rand) Position() (hi, lo uint64) { return r.hi, r.lo }

// Pick returns the index of p at which the sum of its entries exceeds u, a number
// drawn from 0 to 1: a draw from p, whose entries sum to 1. An entry of 0 is never
// drawn. Rounding can leave u beyond the sum: the last entry that is not 0 is drawn
// then. It returns -1 if all are 0.
func Pick[F float32 | float64](p []F, u F) int32 {
	last := int32(-1)
	for k, q := range p {
		if q <= 0 {
			continue
		}
		last = int32(k)
		if u -= q; u < 0 {
			break
		}
	}
	return last
}
