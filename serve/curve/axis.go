package curve

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/store/runlog"
)

// What lines go over.
const (
	Steps  = ""       // env steps, or the epochs of a model
	Wall   = "wall"   // milliseconds of the clock that the run has cost, without what lies between its parts
	Agents = "agents" // rows that agents have learnt from, of all of them: agent-steps
)

// learntRows begins the name of the metric that counts the rows that a mind has learnt from.
const learntRows = "count/rows"

// clock is what TensorBoard's file says of a run's clock. It is read when it is asked for.
type clock struct {
	offset      int64 // up to which it was read: whole records
	wall, rates []point
}

// mostRecord is the longest record that is read.
const mostRecord = 1 << 20

// Clock reads the run's clock as far as it is written: then its env steps a second are a metric
// like others, and lines can go over its time.
func (x *Index) Clock() {
	x.mu.Lock()
	defer x.mu.Unlock()
	f, err := disk.Open(filepath.Join(filepath.Dir(x.path), "events.out.tfevents.0.hop"))
	if errors.Is(err, fs.ErrNotExist) || err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == x.clock.offset {
		return
	}
	if info.Size() < x.clock.offset {
		x.clock = clock{}
	}
	b, err := io.ReadAll(io.NewSectionReader(f, x.clock.offset, min(info.Size()-x.clock.offset, 256<<20)))
	if err != nil {
		return
	}
	x.clock.take(b)
}

// take reads whole records: length, its checksum, the message, its checksum.
func (c *clock) take(b []byte) {
	const head, tail = 12, 4
	for len(b) >= head {
		n := binary.LittleEndian.Uint64(b)
		if n > mostRecord && n > uint64(len(b)) || uint64(len(b)) < head+n+tail {
			return
		}
		c.record(b[head : head+n])
		c.offset += int64(head + n + tail)
		b = b[head+n+tail:]
	}
}

// record keeps what a message says of the clock (event.proto: the step is field 2, the summary 5;
// summary.proto: values are field 1, of which 1 is the name and 2 the number).
func (c *clock) record(b []byte) {
	step := int64(0)
	each(b, func(field protowire.Number, v uint64, sub []byte) {
		switch field {
		case 2:
			step = int64(v)
		case 5:
			each(sub, func(_ protowire.Number, _ uint64, value []byte) { c.value(step, value) })
		}
	})
}

func (c *clock) value(step int64, b []byte) {
	name, number := "", 0.
	each(b, func(field protowire.Number, v uint64, text []byte) {
		switch field {
		case 1:
			name = string(text)
		case 2:
			number = float64(math.Float32frombits(uint32(v)))
		}
	})
	for _, list := range []struct {
		of  string
		dst *[]point
	}{{runlog.WallMetric, &c.wall}, {runlog.RateMetric, &c.rates}} {
		if name != list.of {
			continue
		}
		for n := len(*list.dst); n > 0 && (*list.dst)[n-1].step >= step; n-- { // it went on from a checkpoint
			*list.dst = (*list.dst)[:n-1]
		}
		*list.dst = append(*list.dst, point{step, number, 1})
	}
}

// each goes over the fields of a message, as far as it can be read.
func each(b []byte, f func(field protowire.Number, v uint64, bytes []byte)) {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return
		}
		b = b[n:]
		var v uint64
		var sub []byte
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			var x uint32
			x, n = protowire.ConsumeFixed32(b)
			v = uint64(x)
		case protowire.BytesType:
			sub, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(field, kind, b)
		}
		if n < 0 {
			return
		}
		f(field, v, sub)
		b = b[n:]
	}
}

// of returns a series, over an axis; nil if there is none, or the run says nothing of the axis.
func (x *Index) of(k Key, axis string) *series {
	s := x.byKey[k]
	if k.Name == runlog.RateMetric && k.Agent < 0 && s == nil && len(x.clock.rates) > 0 {
		s = &series{key: k}
		for _, p := range x.clock.rates {
			s.add(p, 0)
		}
		s.points = x.clock.rates
	}
	if s == nil || axis == Steps {
		return s
	}
	over := x.over(axis)
	if len(over) == 0 {
		return nil
	}
	out := &series{key: s.key, rows: s.rows, over: over, blocks: slices.Clone(s.blocks)}
	for i := range out.blocks {
		b := &out.blocks[i]
		b.first, b.last, b.lowAt, b.highAt = over.at(b.first), over.at(b.last), over.at(b.lowAt), over.at(b.highAt)
	}
	if s.points != nil {
		out.points = over.move(slices.Clone(s.points))
	}
	return out
}

// scale says where steps lie on another axis: values by step, both rising.
type scale []point

// over returns where the run's steps lie on an axis.
func (x *Index) over(axis string) (out scale) {
	if axis == Wall {
		for _, p := range x.clock.wall {
			out = append(out, point{p.step, 1000 * p.value, 1})
		}
		return out
	}
	return x.learnt()
}

// learnt adds up the rows that all minds have learnt from, by step.
func (x *Index) learnt() (out scale) {
	at := map[int64]float64{}
	for _, s := range x.order {
		if strings.HasPrefix(s.key.Name, learntRows) {
			for _, p := range s.points {
				at[p.step] += p.value
			}
		}
	}
	for step, sum := range at {
		out = append(out, point{step, sum, 1})
	}
	slices.SortFunc(out, func(a, b point) int { return int(a.step - b.step) })
	return out
}

// at returns where a step lies: between two that are known in proportion, before the first in
// proportion to it, after the last with it.
func (s scale) at(step int64) int64 {
	i, _ := slices.BinarySearchFunc(s, step, func(p point, step int64) int { return int(p.step - step) })
	if i == len(s) {
		return int64(s[i-1].value)
	}
	before := point{}
	if i > 0 {
		before = s[i-1]
	}
	if s[i].step <= before.step {
		return int64(s[i].value)
	}
	t := float64(step-before.step) / float64(s[i].step-before.step)
	return int64(before.value + t*(s[i].value-before.value))
}

// move puts points where they lie.
func (s scale) move(list []point) []point {
	for i := range list {
		list[i].step = s.at(list[i].step)
	}
	return list
}
