package onnx

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// This is a slow, obvious reader of ONNX files: it takes a file's bytes apart again and computes
// its nodes in float64, whatever their type, as the standard says of each operator.

// array is a tensor's numbers.
type array struct {
	dims []int
	x    []float64
}

func size(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

func zeros(dims ...int) array { return array{slices.Clone(dims), make([]float64, size(dims))} }

// field is one field of a message.
type field struct {
	num protowire.Number
	int uint64
	raw []byte
}

// fields takes a message apart.
func fields(b []byte) (out []field) {
	for len(b) > 0 {
		num, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			panic("no tag")
		}
		b = b[n:]
		f := field{num: num}
		switch kind {
		case protowire.VarintType:
			f.int, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			f.raw, n = protowire.ConsumeBytes(b)
		default:
			panic("a type of field that is not in use")
		}
		if n < 0 {
			panic("a field is cut short")
		}
		b = b[n:]
		out = append(out, f)
	}
	return out
}

// text returns the first field of that number as text.
func text(list []field, num protowire.Number) string {
	for _, f := range list {
		if f.num == num {
			return string(f.raw)
		}
	}
	return ""
}

// texts returns all of them.
func texts(list []field, num protowire.Number) (out []string) {
	for _, f := range list {
		if f.num == num {
			out = append(out, string(f.raw))
		}
	}
	return out
}

// run computes a file's outputs from its inputs.
func run(file []byte, in map[string]array) map[string]array {
	var graph []field
	for _, f := range fields(file) {
		if f.num == 7 {
			graph = fields(f.raw)
		}
	}
	env := map[string]array{}
	maps.Copy(env, in)
	for _, f := range graph {
		if f.num == 5 {
			name, a := tensorOf(f.raw)
			env[name] = a
		}
	}
	for _, f := range graph {
		if f.num != 1 {
			continue
		}
		n := fields(f.raw)
		var args []array
		for _, name := range texts(n, 1) {
			a, ok := env[name]
			if !ok {
				panic("node " + text(n, 3) + " reads " + name + ", which nobody has made before it")
			}
			args = append(args, a)
		}
		attrs := map[string][]int{}
		for _, f := range n {
			if f.num == 5 {
				name, list := attrOf(f.raw)
				attrs[name] = list
			}
		}
		outs := texts(n, 2)
		for i, a := range op(text(n, 4), args, attrs, len(outs)) {
			env[outs[i]] = a
		}
	}
	out := map[string]array{}
	for _, f := range graph {
		if f.num == 12 {
			name := text(fields(f.raw), 1)
			out[name] = env[name]
		}
	}
	return out
}

func tensorOf(b []byte) (string, array) {
	var a array
	name, elem, raw := "", uint64(0), []byte(nil)
	for _, f := range fields(b) {
		switch f.num {
		case 1:
			a.dims = append(a.dims, int(f.int))
		case 2:
			elem = f.int
		case 8:
			name = string(f.raw)
		case 9:
			raw = f.raw
		}
	}
	for len(raw) > 0 {
		switch elem {
		case 1:
			a.x = append(a.x, float64(math.Float32frombits(binary.LittleEndian.Uint32(raw))))
			raw = raw[4:]
		case 7:
			a.x = append(a.x, float64(int64(binary.LittleEndian.Uint64(raw))))
			raw = raw[8:]
		}
	}
	if len(a.x) != size(a.dims) {
		panic(fmt.Sprintf("%s holds %d numbers, its shape is %v", name, len(a.x), a.dims))
	}
	return name, a
}

func attrOf(b []byte) (name string, list []int) {
	for _, f := range fields(b) {
		switch f.num {
		case 1:
			name = string(f.raw)
		case 3, 8:
			list = append(list, int(int64(f.int)))
		}
	}
	return name, list
}

// index walks over all places of a shape.
func index(dims []int, do func(i int, at []int)) {
	at := make([]int, len(dims))
	for i := range size(dims) {
		do(i, at)
		for d := len(dims) - 1; d >= 0; d-- {
			if at[d]++; at[d] < dims[d] {
				break
			}
			at[d] = 0
		}
	}
}

// at returns the number at a place, as broadcasting has it.
func (a array) at(place []int) float64 {
	i, skip := 0, len(place)-len(a.dims)
	for d, n := range a.dims {
		k := 0
		if n > 1 {
			k = place[skip+d]
		}
		i = i*n + k
	}
	return a.x[i]
}

// broadcast returns the shape of an operation on arrays.
func broadcast(args ...array) []int {
	n := 0
	for _, a := range args {
		n = max(n, len(a.dims))
	}
	dims := slices.Repeat([]int{1}, n)
	for _, a := range args {
		for d, k := range a.dims {
			at := n - len(a.dims) + d
			if dims[at] != 1 && k != 1 && k != dims[at] {
				panic(fmt.Sprintf("shapes %v do not fit", args))
			}
			dims[at] = max(dims[at], k)
		}
	}
	return dims
}

func truth(ok bool) float64 {
	if ok {
		return 1
	}
	return 0
}

var simple = map[string]func(x []float64) float64{
	"Identity": func(x []float64) float64 { return x[0] }, "Add": func(x []float64) float64 { return x[0] + x[1] },
	"Sub": func(x []float64) float64 { return x[0] - x[1] }, "Mul": func(x []float64) float64 { return x[0] * x[1] },
	"Div": func(x []float64) float64 { return x[0] / x[1] }, "Not": func(x []float64) float64 { return 1 - x[0] },
	"Equal": func(x []float64) float64 { return truth(x[0] == x[1]) }, "Greater": func(x []float64) float64 { return truth(x[0] > x[1]) },
	"Max": func(x []float64) float64 { return max(x[0], x[1]) }, "Min": func(x []float64) float64 { return min(x[0], x[1]) },
	"Relu": func(x []float64) float64 { return max(x[0], 0) }, "Tanh": func(x []float64) float64 { return math.Tanh(x[0]) },
	"Sigmoid": func(x []float64) float64 { return 1 / (1 + math.Exp(-x[0])) }, "Floor": func(x []float64) float64 { return math.Floor(x[0]) },
	"Cast": func(x []float64) float64 { return math.Trunc(x[0]*8) / 8 }, // whole numbers and halves, whichever way
	"Where": func(x []float64) float64 {
		if x[0] != 0 {
			return x[1]
		}
		return x[2]
	},
}

// op computes one node.
func op(name string, a []array, attr map[string][]int, outs int) []array {
	if f, ok := simple[name]; ok {
		out := zeros(broadcast(a...)...)
		index(out.dims, func(i int, at []int) {
			var x []float64
			for _, v := range a {
				x = append(x, v.at(at))
			}
			out.x[i] = f(x)
		})
		return []array{out}
	}
	x := a[0]
	axis := func(k int) int { return (k + len(x.dims)) % len(x.dims) }
	switch name {
	case "Reshape":
		dims, known, open := []int{}, 1, -1
		for i, d := range a[1].x {
			dims = append(dims, int(d))
			if d < 0 {
				open = i
			} else {
				known *= int(d)
			}
		}
		if open >= 0 {
			dims[open] = len(x.x) / known
		}
		if size(dims) != len(x.x) {
			panic(fmt.Sprintf("%v cannot become %v", x.dims, a[1].x))
		}
		return []array{{dims, x.x}}
	case "MatMul":
		return []array{matMul(x, a[1])}
	case "Slice":
		d, lo := axis(int(a[3].x[0])), int(a[1].x[0])
		out := zeros(x.dims...)
		out.dims[d] = min(int(a[2].x[0]), x.dims[d]) - lo
		out.x = make([]float64, size(out.dims))
		index(out.dims, func(i int, at []int) {
			from := slices.Clone(at)
			from[d] += lo
			out.x[i] = x.at(from)
		})
		return []array{out}
	case "Split":
		d := axis(attr["axis"][0])
		var list []array
		for k := range outs {
			n := x.dims[d] / outs
			list = append(list, op("Slice", []array{x, {nil, []float64{float64(k * n)}}, {nil, []float64{float64((k + 1) * n)}},
				{nil, []float64{float64(d)}}}, nil, 1)...)
		}
		return list
	case "Concat":
		d, out := axis(attr["axis"][0]), zeros(x.dims...)
		out.dims[d] = 0
		for _, v := range a {
			out.dims[d] += v.dims[d]
		}
		out.x = make([]float64, size(out.dims))
		index(out.dims, func(i int, at []int) {
			from, k := slices.Clone(at), 0
			for from[d] >= a[k].dims[d] {
				from[d] -= a[k].dims[d]
				k++
			}
			out.x[i] = a[k].at(from)
		})
		return []array{out}
	case "ReduceSum", "ReduceMax", "ArgMax", "ArgMin":
		d := 0
		switch name {
		case "ReduceSum":
			d = axis(int(a[1].x[0]))
		case "ReduceMax":
			d = axis(attr["axes"][0])
		default:
			d = axis(attr["axis"][0])
		}
		out := zeros(x.dims...)
		out.dims[d] = 1
		out.x = make([]float64, size(out.dims))
		index(out.dims, func(i int, at []int) {
			from := slices.Clone(at)
			best := math.Inf(-1)
			for k := range x.dims[d] {
				from[d] = k
				v := x.at(from)
				switch {
				case name == "ReduceSum":
					out.x[i] += v
				case name == "ArgMin" && -v > best:
					best, out.x[i] = -v, float64(k)
				case name == "ArgMax" && v > best:
					best, out.x[i] = v, float64(k)
				case name == "ReduceMax" && v > best:
					best, out.x[i] = v, v
				}
			}
		})
		if attr["keepdims"][0] == 0 {
			out.dims = slices.Delete(out.dims, d, d+1)
		}
		return []array{out}
	case "Softmax":
		out, n := zeros(x.dims...), x.dims[len(x.dims)-1]
		for i := 0; i < len(x.x); i += n {
			sum, top := 0., slices.Max(x.x[i:i+n])
			for k := range n {
				out.x[i+k] = math.Exp(x.x[i+k] - top)
				sum += out.x[i+k]
			}
			for k := range n {
				out.x[i+k] /= sum
			}
		}
		return []array{out}
	case "Transpose":
		out := zeros(x.dims...)
		for i, p := range attr["perm"] {
			out.dims[i] = x.dims[p]
		}
		index(out.dims, func(i int, at []int) {
			from := make([]int, len(at))
			for k, p := range attr["perm"] {
				from[p] = at[k]
			}
			out.x[i] = x.at(from)
		})
		return []array{out}
	case "Pad":
		n := len(x.dims)
		out := zeros(x.dims...)
		for d := range n {
			out.dims[d] += int(a[1].x[d] + a[1].x[n+d])
		}
		out.x = make([]float64, size(out.dims))
		index(out.dims, func(i int, at []int) {
			from := slices.Clone(at)
			for d := range n {
				if from[d] -= int(a[1].x[d]); from[d] < 0 || from[d] >= x.dims[d] {
					return
				}
			}
			out.x[i] = x.at(from)
		})
		return []array{out}
	case "Gather": // axis 0 of a table, or axis 1 of rows
		d, idx := attr["axis"][0], a[1]
		out := zeros(append(append(slices.Clone(x.dims[:d]), idx.dims...), x.dims[d+1:]...)...)
		index(out.dims, func(i int, at []int) {
			k := int(idx.at(at[d : d+len(idx.dims)]))
			out.x[i] = x.at(append(append(slices.Clone(at[:d]), k), at[d+len(idx.dims):]...))
		})
		return []array{out}
	case "GatherElements":
		d, idx := axis(attr["axis"][0]), a[1]
		out := zeros(idx.dims...)
		index(out.dims, func(i int, at []int) {
			from := slices.Clone(at)
			from[d] = int(idx.at(at))
			out.x[i] = x.at(from)
		})
		return []array{out}
	case "GatherND": // batch_dims 1, an index of one number
		idx := a[1]
		out := zeros(append([]int{x.dims[0], idx.dims[1]}, x.dims[2:]...)...)
		index(out.dims, func(i int, at []int) {
			from := append([]int{at[0], int(idx.at([]int{at[0], at[1], 0}))}, at[2:]...)
			out.x[i] = x.at(from)
		})
		return []array{out}
	case "Conv": // 3 by 3 within zeros
		w := a[1]
		out := zeros(x.dims[0], w.dims[0], x.dims[2], x.dims[3])
		index(out.dims, func(i int, at []int) {
			sum := a[2].x[at[1]]
			index(w.dims[1:], func(_ int, k []int) {
				y, z := at[2]+k[1]-1, at[3]+k[2]-1
				if y >= 0 && z >= 0 && y < x.dims[2] && z < x.dims[3] {
					sum += x.at([]int{at[0], k[0], y, z}) * w.at([]int{at[1], k[0], k[1], k[2]})
				}
			})
			out.x[i] = sum
		})
		return []array{out}
	}
	panic("operator " + name + " is not in use")
}

// matMul multiplies the last two axes, and broadcasts those before.
func matMul(a, b array) array {
	na, nb := len(a.dims), len(b.dims)
	m, k, n := a.dims[na-2], a.dims[na-1], b.dims[nb-1]
	if b.dims[nb-2] != k {
		panic(fmt.Sprintf("%v times %v", a.dims, b.dims))
	}
	head := broadcast(array{dims: a.dims[:na-2]}, array{dims: b.dims[:nb-2]})
	out := zeros(append(slices.Clone(head), m, n)...)
	index(head, func(i int, at []int) {
		for r := range m {
			for c := range n {
				sum := 0.
				for j := range k {
					sum += a.at(append(slices.Clone(at), r, j)) * b.at(append(slices.Clone(at), j, c))
				}
				out.x[(i*m+r)*n+c] = sum
			}
		}
	})
	return out
}
