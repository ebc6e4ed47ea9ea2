package nn

import (
	"math"

	"github.com/hop-marl/hop/num/f32"
)

// Attention is causal multi-head self-attention (Vaswani et al. 2017) in a sliding
// window: row i of a sequence reads rows i-Window+1 to i. Instead of positions, a
// head takes a fixed slope for each row of distance off a score (ALiBi, Press et al.
// 2022), so that a sequence may be longer than any that was learnt from:
//
//	q, k, v = split(x w + b);  s[i][j] = q[i] k[j] / sqrt(D/Heads) - slope (i-j);  y = (softmax(s) v) wo + bo
//
// Slopes are 2^(-8h/Heads) for head h = 1, 2, ... The window makes a decision cost as
// much late in a life as early in it: what was read is kept in a ring (AttentionCache).
type Attention struct {
	D, Heads, Window int

	qkv, out Dense // D to 3D, D to D
}

// Attention adds a layer with parts name/qkv and name/out. It panics if the heads do
// not divide d or the window is empty.
func (p *Params) Attention(name string, d, heads, window int) Attention {
	if heads < 1 || d%heads != 0 || window < 1 {
		panic("nn: attention needs heads that divide its width, and a window")
	}
	return Attention{d, heads, window, p.Dense(name+"/qkv", d, 3*d, None, gates(3)), p.Dense(name+"/out", d, d, None)}
}

// queryRows is how many rows of a sequence ask together. It bounds the memory of
// scores and is not part of the numbers.
const queryRows = 64

// AttentionWork holds the activations of sequences and their gradients. Scores are
// computed again in Backward: they take more memory than time.
type AttentionWork struct {
	qkv, dqkv   []float32 // [rows][3D]
	o, do       []float32 // [rows][D] the heads' answers
	q, k, v     []float32 // [longest][D/Heads] one head's part of a sequence, gathered
	dq, dk, dv  []float32
	ob          []float32 // [queryRows][D/Heads]
	prob, dprob []float32 // [queryRows][keys]
}

// Work allocates for up to rows rows, of sequences of at most longest.
func (l Attention) Work(rows, longest int) *AttentionWork {
	n := func(k int) []float32 { return make([]float32, k) }
	head, keys := longest*l.D/l.Heads, max(l.Window, queryRows*min(longest, l.Window+queryRows))
	return &AttentionWork{
		qkv: n(3 * rows * l.D), dqkv: n(3 * rows * l.D), o: n(rows * l.D), do: n(rows * l.D),
		q: n(head), k: n(head), v: n(head), dq: n(head), dk: n(head), dv: n(head), ob: n(queryRows * l.D / l.Heads),
		prob: n(keys), dprob: n(keys),
	}
}

func (l Attention) slope(h int) float32 {
	return float32(math.Exp2(-8 * float64(h+1) / float64(l.Heads)))
}

// gather copies head h's part of the sequence's queries (part 0), keys (1) or values
// (2) together; scatter puts it back.
func (l Attention) gather(dst, src []float32, s Span, part, h int) {
	n := l.D / l.Heads
	for i := range s.Len {
		at := (s.Off+i)*3*l.D + part*l.D + h*n
		copy(dst[i*n:(i+1)*n], src[at:at+n])
	}
}

func (l Attention) scatter(dst, src []float32, s Span, part, h int) {
	n := l.D / l.Heads
	for i := range s.Len {
		at := (s.Off+i)*3*l.D + part*l.D + h*n
		copy(dst[at:at+n], src[i*n:(i+1)*n])
	}
}

// first returns the first row that row i reads.
func (l Attention) first(i int) int { return max(0, i-l.Window+1) }

// weights leaves in ws.prob[hi-lo][hi-from] what rows lo to hi-1 of a sequence make of
// rows from to hi-1.
func (l Attention) weights(ws *AttentionWork, lo, hi, from, h int) []float32 {
	n, keys := l.D/l.Heads, hi-from
	prob := ws.prob[:(hi-lo)*keys]
	f32.MulNT(prob, ws.q[lo*n:hi*n], ws.k[from*n:hi*n], hi-lo, n, keys, false)
	scale, slope := float32(1/math.Sqrt(float64(n))), l.slope(h)
	for i := lo; i < hi; i++ {
		row := prob[(i-lo)*keys : (i-lo+1)*keys]
		a, b := l.first(i)-from, i-from+1
		clear(row[:a])
		clear(row[b:])
		for j := a; j < b; j++ {
			row[j] = row[j]*scale - slope*float32(i-from-j)
		}
		f32.Softmax(row[a:b], row[a:b], 1, b-a)
	}
	return prob
}

// Forward writes y[rows][D] from x[rows][D], whose sequences are the spans of seqs,
// one after the other.
func (l Attention) Forward(p *Params, ws *AttentionWork, y, x []float32, seqs []Span) {
	n, rows := l.D/l.Heads, 0
	for _, s := range seqs {
		rows += s.Len
	}
	l.qkv.Forward(p, ws.qkv, x, rows)
	for _, s := range seqs {
		for h := range l.Heads {
			l.gather(ws.q, ws.qkv, s, 0, h)
			l.gather(ws.k, ws.qkv, s, 1, h)
			l.gather(ws.v, ws.qkv, s, 2, h)
			for lo := 0; lo < s.Len; lo += queryRows {
				hi, from := min(lo+queryRows, s.Len), l.first(lo)
				prob := l.weights(ws, lo, hi, from, h)
				f32.MulNN(ws.ob[:(hi-lo)*n], prob, ws.v[from*n:hi*n], hi-lo, hi-from, n, false)
				for i := lo; i < hi; i++ {
					copy(ws.o[(s.Off+i)*l.D+h*n:], ws.ob[(i-lo)*n:(i-lo+1)*n])
				}
			}
		}
	}
	l.out.Forward(p, y, ws.o, rows)
}

// Backward takes dy, the gradient of the last Forward's y, adds the gradients of the
// weights to p.G and writes that of x to dx. dy is overwritten.
func (l Attention) Backward(p *Params, ws *AttentionWork, dx, dy, x, y []float32, seqs []Span) {
	n, rows := l.D/l.Heads, 0
	for _, s := range seqs {
		rows += s.Len
	}
	l.out.Backward(p, ws.do, dy, ws.o, y, rows)
	scale := float32(1 / math.Sqrt(float64(n)))
	for _, s := range seqs {
		for h := range l.Heads {
			l.gather(ws.q, ws.qkv, s, 0, h)
			l.gather(ws.k, ws.qkv, s, 1, h)
			l.gather(ws.v, ws.qkv, s, 2, h)
			clear(ws.dk[:s.Len*n])
			clear(ws.dv[:s.Len*n])
			for lo := 0; lo < s.Len; lo += queryRows {
				hi, from := min(lo+queryRows, s.Len), l.first(lo)
				m, keys := hi-lo, hi-from
				prob := l.weights(ws, lo, hi, from, h)
				for i := lo; i < hi; i++ {
					copy(ws.ob[(i-lo)*n:(i-lo+1)*n], ws.do[(s.Off+i)*l.D+h*n:])
				}
				ob, dprob := ws.ob[:m*n], ws.dprob[:m*keys]
				f32.MulTN(ws.dv[from*n:hi*n], prob, ob, keys, m, n, true)
				f32.MulNT(dprob, ob, ws.v[from*n:hi*n], m, n, keys, false)
				for i := range m { // through the softmax
					row, d := prob[i*keys:(i+1)*keys], dprob[i*keys:(i+1)*keys]
					mean := f32.Dot(row, d)
					for j, w := range row {
						d[j] = w * (d[j] - mean) * scale
					}
				}
				f32.MulNN(ws.dq[lo*n:hi*n], dprob, ws.k[from*n:hi*n], m, keys, n, false)
				f32.MulTN(ws.dk[from*n:hi*n], dprob, ws.q[lo*n:hi*n], keys, m, n, true)
			}
			l.scatter(ws.dqkv, ws.dq, s, 0, h)
			l.scatter(ws.dqkv, ws.dk, s, 1, h)
			l.scatter(ws.dqkv, ws.dv, s, 2, h)
		}
	}
	l.qkv.Backward(p, dx, ws.dqkv, x, ws.qkv, rows)
}

// AttentionCache keeps the keys and values of what was read last, for a number of
// sequences that go on side by side, a place each: a ring of Window rows.
type AttentionCache struct {
	k, v []float32 // [places][Heads][Window][D/Heads]
	n    []int32   // [places] rows read since Forget
}

// Cache returns empty caches.
func (l Attention) Cache(places int) *AttentionCache {
	return &AttentionCache{make([]float32, places*l.Window*l.D), make([]float32, places*l.Window*l.D), make([]int32, places)}
}

// Step is Forward for the next row of each sequence in places, in play: the same
// numbers, but for rounding, at the cost of one row. ws needs as many rows.
func (l Attention) Step(p *Params, ws *AttentionWork, c *AttentionCache, y, x []float32, places []int) {
	n, w, m := l.D/l.Heads, l.Window, len(places)
	l.qkv.Forward(p, ws.qkv, x, m)
	scale := float32(1 / math.Sqrt(float64(n)))
	for i, place := range places {
		at := int(c.n[place]) % w // where this row goes
		keys := min(int(c.n[place])+1, w)
		for h := range l.Heads {
			ring := (place*l.Heads + h) * w * n
			k, v := c.k[ring:ring+w*n], c.v[ring:ring+w*n]
			from := i*3*l.D + h*n
			copy(k[at*n:(at+1)*n], ws.qkv[from+l.D:])
			copy(v[at*n:(at+1)*n], ws.qkv[from+2*l.D:])
			prob, slope := ws.prob[:keys], l.slope(h)
			f32.MulNT(prob, ws.qkv[from:from+n], k[:keys*n], 1, n, keys, false)
			for j := range prob {
				prob[j] = prob[j]*scale - slope*float32((at-j+w)%w)
			}
			f32.Softmax(prob, prob, 1, keys)
			f32.MulNN(ws.o[i*l.D+h*n:i*l.D+(h+1)*n], prob, v[:keys*n], 1, keys, n, false)
		}
		if c.n[place]++; int(c.n[place]) == 2*w { // only whether the ring is full, and where it begins, matters
			c.n[place] = int32(w)
		}
	}
	l.out.Forward(p, y, ws.o, m)
}
