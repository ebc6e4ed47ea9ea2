// Package onnx writes our networks as ONNX files, so that they run wherever onnxruntime
// does, without us.
//
// A file takes observations exactly as a game writes them: the frame's encoding is part
// of its graph. So whoever holds a row of game.Layout and the file has the network, and
// need not know what a frame is. Graph builds a file of a few common operators; Actor and
// Others turn the two kinds of networks that play into one. It sees arrays, never games.
//
// The format is protobuf, written by hand as runlog writes TensorBoard's events. The same
// network gives the same bytes.
package onnx

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// opset is the version of the operators that the graphs use, and irVersion that of the
// file's format that came with it. Every onnxruntime since 1.12 reads both.
const (
	opset     = 17
	irVersion = 8
)

// elem is the type of a tensor's numbers.
type elem uint64

// The types in use, by their numbers in the format.
const (
	float32s elem = 1
	int64s   elem = 7
)

// Value names a tensor of a graph.
type Value string

// Graph is a graph that is being built. Actor and Others make them.
type Graph struct {
	Inputs []Port
	Output []Port

	name    string
	meta    []entry // what the file says about itself, in this order
	nodes   []node
	tensors []tensor
	made    int
	shared  map[string]Value // constants, by what they hold
}

// entry is one thing that a file says about itself.
type entry struct{ key, value string }

// Port is an input or output of a graph. Its first dimension is the batch.
type Port struct {
	Name string `json:"name"`
	Dims []int  `json:"dims"` // without the batch
	Doc  string `json:"doc"`
}

func newPort(name string, dims []int, doc string) Port {
	return Port{name, append([]int{}, dims...), doc}
}

type node struct {
	op    string
	in    []Value
	out   []Value
	attrs []attr
}

// attr is an attribute of a node: a number or a list of numbers.
type attr struct {
	name string
	one  bool
	ints []int64
}

type tensor struct {
	name Value
	elem elem
	dims []int
	raw  []byte
}

// newGraph returns an empty graph.
func newGraph(name string) *Graph { return &Graph{name: name, shared: map[string]Value{}} }

// Say adds to what the file says about itself.
func (g *Graph) Say(key, value string) { g.meta = append(g.meta, entry{key, value}) }

// takes declares an input of so many numbers a row.
func (g *Graph) takes(name, doc string, dims ...int) Value {
	g.Inputs = append(g.Inputs, newPort(name, dims, doc))
	return Value(name)
}

// gives declares that a value of so many numbers a row is an output.
func (g *Graph) gives(name string, v Value, doc string, dims ...int) {
	g.Output = append(g.Output, newPort(name, dims, doc))
	g.nodes = append(g.nodes, node{op: "Identity", in: []Value{v}, out: []Value{Value(name)}})
}

// numbers adds a named array of numbers.
func (g *Graph) numbers(name string, w []float32, dims ...int) Value {
	raw := make([]byte, 0, 4*len(w))
	for _, x := range w {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	g.tensors = append(g.tensors, tensor{Value(name), float32s, dims, raw})
	return Value(name)
}

// floats is numbers for a constant, which need not be named and is kept once.
func (g *Graph) floats(w []float32, dims ...int) Value {
	key := fmt.Sprintf("f%v%v", dims, w)
	if _, ok := g.shared[key]; !ok {
		g.shared[key] = g.numbers(g.fresh("const"), w, dims...)
	}
	return g.shared[key]
}

// ints is a constant of whole numbers: a list.
func (g *Graph) ints(list ...int64) Value {
	return g.table(list, len(list))
}

// table is a constant of whole numbers of a shape.
func (g *Graph) table(list []int64, dims ...int) Value {
	key := fmt.Sprintf("i%v%v", dims, list)
	if _, ok := g.shared[key]; !ok {
		raw := make([]byte, 0, 8*len(list))
		for _, x := range list {
			raw = binary.LittleEndian.AppendUint64(raw, uint64(x))
		}
		name := Value(g.fresh("const"))
		g.tensors = append(g.tensors, tensor{name, int64s, dims, raw})
		g.shared[key] = name
	}
	return g.shared[key]
}

// number is a constant.
func (g *Graph) number(x float32) Value { return g.floats([]float32{x}, 1) }

func (g *Graph) fresh(word string) string {
	g.made++
	return fmt.Sprintf("%s_%d", word, g.made)
}

// do adds a node with one output.
func (g *Graph) do(op string, in []Value, attrs ...attr) Value {
	out := Value(g.fresh(op))
	g.nodes = append(g.nodes, node{op, in, []Value{out}, attrs})
	return out
}

// split cuts the last axis into equal parts.
func (g *Graph) split(v Value, parts int) []Value {
	var out []Value
	for range parts {
		out = append(out, Value(g.fresh("Split")))
	}
	g.nodes = append(g.nodes, node{"Split", []Value{v}, out, []attr{one("axis", -1)}})
	return out
}

func one(name string, x int64) attr      { return attr{name, true, []int64{x}} }
func many(name string, xs ...int64) attr { return attr{name, false, xs} }

// The operators, as far as they are used.

func (g *Graph) add(a, b Value) Value    { return g.do("Add", []Value{a, b}) }
func (g *Graph) sub(a, b Value) Value    { return g.do("Sub", []Value{a, b}) }
func (g *Graph) mul(a, b Value) Value    { return g.do("Mul", []Value{a, b}) }
func (g *Graph) matMul(a, b Value) Value { return g.do("MatMul", []Value{a, b}) }

// reshape gives rows another shape; -1 is whatever is left, and the first is the batch.
func (g *Graph) reshape(v Value, dims ...int64) Value {
	return g.do("Reshape", []Value{v, g.ints(append([]int64{-1}, dims...)...)})
}

// columns returns columns lo to before hi of rows.
func (g *Graph) columns(v Value, lo, hi int) Value {
	return g.do("Slice", []Value{v, g.ints(int64(lo)), g.ints(int64(hi)), g.ints(1)})
}

// sum adds up an axis, which is then gone.
func (g *Graph) sum(v Value, axis int64) Value {
	return g.do("ReduceSum", []Value{v, g.ints(axis)}, one("keepdims", 0))
}

// largest returns the largest entry of an axis, which then has one.
func (g *Graph) largest(v Value, axis int64) Value {
	return g.do("ReduceMax", []Value{v}, many("axes", axis), one("keepdims", 1))
}

// concat puts values side by side. One value is itself.
func (g *Graph) concat(vs ...Value) Value {
	if len(vs) == 1 {
		return vs[0]
	}
	return g.do("Concat", vs, one("axis", -1))
}

func (g *Graph) asInt(v Value) Value { return g.do("Cast", []Value{v}, one("to", int64(int64s))) }
func (g *Graph) asFloat(v Value) Value {
	return g.do("Cast", []Value{v}, one("to", int64(float32s)))
}

// nonzero is 1 where v is not 0, and else 0.
func (g *Graph) nonzero(v Value) Value {
	return g.asFloat(g.do("Not", []Value{g.do("Equal", []Value{v, g.number(0)})}))
}

// above is 1 where a is larger than b, and else 0.
func (g *Graph) above(a, b Value) Value {
	return g.asFloat(g.do("Greater", []Value{a, b}))
}

// Bytes returns the file.
func (g *Graph) Bytes() []byte {
	var graph []byte
	for _, n := range g.nodes {
		graph = putBytes(graph, graphNode, n.encode())
	}
	graph = putText(graph, graphName, g.name)
	for _, t := range g.tensors {
		graph = putBytes(graph, graphTensor, t.encode())
	}
	for _, p := range g.Inputs {
		graph = putBytes(graph, graphInput, p.encode())
	}
	for _, p := range g.Output {
		graph = putBytes(graph, graphOutput, p.encode())
	}
	b := putInt(nil, modelIR, irVersion)
	b = putText(b, modelProducer, "hop")
	b = putBytes(b, modelGraph, graph)
	b = putBytes(b, modelOpset, putInt(putText(nil, opsetDomain, ""), opsetVersion, opset))
	for _, e := range g.meta {
		b = putBytes(b, modelMeta, putText(putText(nil, entryKey, e.key), entryValue, e.value))
	}
	return b
}

func (n *node) encode() (b []byte) {
	for _, v := range n.in {
		b = putText(b, nodeInput, string(v))
	}
	for _, v := range n.out {
		b = putText(b, nodeOutput, string(v))
	}
	b = putText(b, nodeName, string(n.out[0]))
	b = putText(b, nodeOp, n.op)
	for _, a := range n.attrs {
		v := putText(nil, attrName, a.name)
		kind := uint64(attrTypeInts)
		if a.one {
			kind = attrTypeInt
			v = putInt(v, attrInt, uint64(a.ints[0]))
		} else {
			for _, x := range a.ints {
				v = putInt(v, attrInts, uint64(x))
			}
		}
		b = putBytes(b, nodeAttr, putInt(v, attrType, kind))
	}
	return b
}

func (t *tensor) encode() (b []byte) {
	for _, d := range t.dims {
		b = putInt(b, tensorDim, uint64(d))
	}
	b = putInt(b, tensorElem, uint64(t.elem))
	b = putText(b, tensorName, string(t.name))
	return putBytes(b, tensorRaw, t.raw)
}

// encode returns a port's name, type and shape, whose first dimension is called batch.
func (p *Port) encode() []byte {
	shape := putBytes(nil, shapeDim, putText(nil, dimName, "batch"))
	for _, d := range p.Dims {
		shape = putBytes(shape, shapeDim, putInt(nil, dimValue, uint64(d)))
	}
	kind := putBytes(nil, typeTensor, putBytes(putInt(nil, tensorTypeElem, uint64(float32s)), tensorTypeShape, shape))
	b := putBytes(putText(nil, portName, p.Name), portType, kind)
	if p.Doc != "" {
		b = putText(b, portDoc, p.Doc)
	}
	return b
}

// The numbers of fields, from onnx.proto.
const (
	modelIR, modelProducer, modelGraph, modelOpset, modelMeta protowire.Number = 1, 2, 7, 8, 14
	opsetDomain, opsetVersion                                 protowire.Number = 1, 2
	entryKey, entryValue                                      protowire.Number = 1, 2
	graphNode, graphName, graphTensor                         protowire.Number = 1, 2, 5
	graphInput, graphOutput                                   protowire.Number = 11, 12
	nodeInput, nodeOutput, nodeName, nodeOp, nodeAttr         protowire.Number = 1, 2, 3, 4, 5
	attrName, attrInt, attrInts, attrType                     protowire.Number = 1, 3, 8, 20
	tensorDim, tensorElem, tensorName, tensorRaw              protowire.Number = 1, 2, 8, 9
	portName, portType, portDoc                               protowire.Number = 1, 2, 3
	typeTensor, tensorTypeElem, tensorTypeShape               protowire.Number = 1, 1, 2
	shapeDim, dimValue, dimName                               protowire.Number = 1, 1, 2

	attrTypeInt, attrTypeInts = 2, 7 // of AttributeType
)

func putBytes(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

func putText(b []byte, field protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), v)
}

func putInt(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}
