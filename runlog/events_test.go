package runlog

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// scalar is one number of an events file.
type scalar struct {
	Tag   string
	Step  int64
	Wall  float64
	Value float32
}

// fields splits a message.
func fields(b []byte, each func(n protowire.Number, varint uint64, bytes []byte)) error {
	for len(b) > 0 {
		num, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		var v uint64
		var sub []byte
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(b)
		case protowire.Fixed32Type:
			var v32 uint32
			v32, n = protowire.ConsumeFixed32(b)
			v = uint64(v32)
		case protowire.BytesType:
			sub, n = protowire.ConsumeBytes(b)
		default:
			return fmt.Errorf("field %d is of kind %d", num, kind)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		each(num, v, sub)
	}
	return nil
}

// readEvents decodes a file as TensorFlow's record reader and event.proto say.
func readEvents(b []byte) (version string, out []scalar, err error) {
	unmask := func(b []byte) uint32 {
		m := binary.LittleEndian.Uint32(b) - 0xa282ead8
		return m>>17 | m<<15
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	for at := 0; at < len(b); {
		if len(b)-at < 12 || unmask(b[at+8:]) != crc32.Checksum(b[at:at+8], table) {
			return "", nil, fmt.Errorf("record at byte %d: the length is damaged", at)
		}
		size := int(binary.LittleEndian.Uint64(b[at:]))
		if len(b)-at < size+16 || unmask(b[at+12+size:]) != crc32.Checksum(b[at+12:at+12+size], table) {
			return "", nil, fmt.Errorf("record at byte %d: the message is damaged", at)
		}
		var s scalar
		var errs []error
		var values [][]byte
		errs = append(errs, fields(b[at+12:at+12+size], func(n protowire.Number, v uint64, sub []byte) {
			switch n {
			case 1:
				s.Wall = math.Float64frombits(v)
			case 2:
				s.Step = int64(v)
			case 3:
				version += string(sub)
			case 5:
				errs = append(errs, fields(sub, func(_ protowire.Number, _ uint64, value []byte) { values = append(values, value) }))
			}
		}))
		for _, value := range values {
			errs = append(errs, fields(value, func(n protowire.Number, v uint64, sub []byte) {
				switch n {
				case 1:
					s.Tag = string(sub)
				case 2:
					s.Value = math.Float32frombits(uint32(v))
				}
			}))
			out = append(out, s)
		}
		if err := errors.Join(errs...); err != nil {
			return "", nil, fmt.Errorf("record at byte %d: %w", at, err)
		}
		at += size + 16
	}
	return version, out, nil
}

// written returns a run with events, and what they hold.
func written(t *testing.T) (dir string, want []scalar) {
	t.Helper()
	r := started(t)
	for step := range int64(3) {
		rows := []Row{{step * 100, "return/mean", -1, 0.5 + float64(step), 4}, {step * 100, "return", 1, -1.25 * float64(step), 4}}
		if step == 2 {
			rows = append(rows, Row{300, "late", -1, math.Inf(1), 1}) // a second step in one call
		}
		must(t, r.Log(rows))
		for _, row := range rows {
			tag := row.Name
			if row.Agent >= 0 {
				tag += fmt.Sprintf("/agent%d", row.Agent)
			}
			want = append(want, scalar{tag, row.Step, float64(row.Step), float32(row.Value)})
		}
	}
	must(t, r.Log(nil))
	must(t, r.Close())
	return r.Dir(), want
}

func TestEventsDecode(t *testing.T) {
	t.Parallel()
	dir, want := written(t)
	b, err := os.ReadFile(filepath.Join(dir, eventsFile))
	must(t, err)
	version, got, err := readEvents(b)
	must(t, err)
	if version != "brain.Event:2" || !reflect.DeepEqual(got, want) {
		t.Errorf("version %q, scalars\n%v, want brain.Event:2 and\n%v", version, got, want)
	}
	for at := range b {
		b[at] ^= 4
		if _, _, err := readEvents(b); err == nil {
			t.Fatalf("byte %d of the events is under no checksum", at)
		}
		b[at] ^= 4
	}
}

// TestMaskedChecksum uses the check value of RFC 3720 for crc32c, masked as in
// TensorFlow's crc32c.h.
func TestMaskedChecksum(t *testing.T) {
	t.Parallel()
	crc := uint32(0x8a9136aa) // of 32 zero bytes
	if got, want := masked(make([]byte, 32)), (crc>>15|crc<<17)+0xa282ead8; got != want {
		t.Errorf("got %#x, want %#x", got, want)
	}
}

// loader prints what TensorBoard itself reads, as JSON.
const loader = `
import json, sys
from tensorboard.backend.event_processing import event_accumulator
acc = event_accumulator.EventAccumulator(sys.argv[1], size_guidance={event_accumulator.SCALARS: 0})
acc.Reload()
print(json.dumps([{"Tag": tag, "Step": e.step, "Wall": e.wall_time, "Value": repr(e.value)}
  for tag in acc.Tags()["scalars"] for e in acc.Scalars(tag)]))
`

// TestTensorBoardReadsEvents needs a Python with tensorboard; HOP_PYTHON names
// another than python3.
func TestTensorBoardReadsEvents(t *testing.T) {
	t.Parallel()
	python := os.Getenv("HOP_PYTHON")
	if python == "" {
		python = "python3"
	}
	if err := exec.Command(python, "-c", "from tensorboard.backend.event_processing import event_accumulator").Run(); err != nil {
		t.Skipf("%s cannot import tensorboard: %v", python, err)
	}
	dir, want := written(t)
	cmd := exec.Command(python, "-c", loader, dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	must(t, err)
	type loaded struct {
		Tag, Value string
		Step       int64
		Wall       float64
	}
	var got []loaded
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	have := map[scalar]bool{}
	for _, g := range got {
		var v float64
		if _, err := fmt.Sscan(g.Value, &v); err != nil {
			t.Fatal(err)
		}
		have[scalar{g.Tag, g.Step, g.Wall, float32(v)}] = true
	}
	for _, w := range want {
		if !have[w] {
			t.Errorf("TensorBoard does not show %+v", w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("TensorBoard shows %d numbers, want %d", len(got), len(want))
	}
}
