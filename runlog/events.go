package runlog

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// TensorBoard's file is a sequence of records: length, masked checksum of the
// length, an Event message, masked checksum of the message. Field numbers are
// those of tensorflow/core/util/event.proto and framework/summary.proto.
const (
	eventWallTime    = 1
	eventStep        = 2
	eventFileVersion = 3
	eventSummary     = 5
	summaryValue     = 1
	valueTag         = 1
	valueSimple      = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func masked(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// event returns one record; without rows, the one that begins a file. wall is
// not the time of day, which would differ from run to run.
func event(wall float64, step int64, rows []Row) []byte {
	var msg []byte
	msg = protowire.AppendTag(msg, eventWallTime, protowire.Fixed64Type)
	msg = protowire.AppendFixed64(msg, math.Float64bits(wall))
	if rows == nil {
		msg = protowire.AppendTag(msg, eventFileVersion, protowire.BytesType)
		msg = protowire.AppendString(msg, "brain.Event:2")
	} else {
		msg = protowire.AppendTag(msg, eventStep, protowire.VarintType)
		msg = protowire.AppendVarint(msg, uint64(step))
		var sum []byte
		for _, r := range rows {
			var v []byte
			v = protowire.AppendTag(v, valueTag, protowire.BytesType)
			v = protowire.AppendString(v, r.tag())
			v = protowire.AppendTag(v, valueSimple, protowire.Fixed32Type)
			v = protowire.AppendFixed32(v, math.Float32bits(float32(r.Value)))
			sum = protowire.AppendTag(sum, summaryValue, protowire.BytesType)
			sum = protowire.AppendBytes(sum, v)
		}
		msg = protowire.AppendTag(msg, eventSummary, protowire.BytesType)
		msg = protowire.AppendBytes(msg, sum)
	}
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(msg)))
	out = binary.LittleEndian.AppendUint32(out, masked(out[:8]))
	out = append(out, msg...)
	return binary.LittleEndian.AppendUint32(out, masked(msg))
}

// tag is the row's name in TensorBoard.
func (r Row) tag() string {
	if r.Agent < 0 {
		return r.Name
	}
	return r.Name + "/agent" + strconv.Itoa(r.Agent)
}
