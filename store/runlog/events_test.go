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
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// scalar is one number of an events file.
type scalar struct {
	Tag   string
	Step  int64
	Wall  float64
	Value float32
	Data  string // metadata for a plugin
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

// timeless returns what an events file says but for the clock, in which equal runs may
// differ: every scalar, and every value's other fields as they are.
func timeless(t *testing.T, b string) string {
	t.Helper()
	version, list, err := readEvents([]byte(b))
	if err != nil {
		return fmt.Sprintf("%v, after %d values", err, len(list))
	}
	for i := range list {
		list[i].Wall = 0
	}
	return fmt.Sprintf("%s %v", version, list)
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
			s.Tag, s.Value, s.Data = "", 0, ""
			errs = append(errs, fields(value, func(n protowire.Number, v uint64, sub []byte) {
				switch n {
				case 1:
					s.Tag = string(sub)
				case 2:
					s.Value = math.Float32frombits(uint32(v))
				case 9:
					s.Data = string(sub)
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
			want = append(want, scalar{Tag: tag, Step: row.Step, Value: float32(row.Value)})
		}
	}
	must(t, r.Log(nil))
	must(t, r.Close())
	return r.Dir(), want
}

// Events say when they were written, by the clock; nothing else depends on it.
func TestEventsDecode(t *testing.T) {
	t.Parallel()
	before := float64(time.Now().UnixNano()) / 1e9
	dir, want := written(t)
	after := float64(time.Now().UnixNano()) / 1e9
	b, err := os.ReadFile(filepath.Join(dir, eventsFile))
	must(t, err)
	version, got, err := readEvents(b)
	must(t, err)
	for i := range got {
		if at := got[i].Wall; at < before || at > after {
			t.Errorf("value %d was written at %.3f, want the time from %.3f to %.3f", i, at, before, after)
		}
		got[i].Wall = 0
	}
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

// tensorBoard returns a Python that has it; HOP_PYTHON names another than python3.
func tensorBoard(t *testing.T) string {
	t.Helper()
	python := os.Getenv("HOP_PYTHON")
	if python == "" {
		python = "python3"
	}
	if err := exec.Command(python, "-c", "from tensorboard.backend.event_processing import event_accumulator").Run(); err != nil {
		t.Skipf("%s cannot import tensorboard: %v", python, err)
	}
	return python
}

func TestTensorBoardReadsEvents(t *testing.T) {
	t.Parallel()
	python := tensorBoard(t)
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
		if since := float64(time.Now().Unix()) - g.Wall; since < -1 || since > 600 {
			t.Errorf("TensorBoard says that %s was written %.0f s ago", g.Tag, since)
		}
		have[scalar{Tag: g.Tag, Step: g.Step, Value: float32(v)}] = true
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

// summarised returns a run that has ended, with settings and results.
func summarised(t *testing.T) string {
	t.Helper()
	r := started(t)
	must(t, r.SetSpec([]byte("name: toy\nppo: {lr: 1e-3, norm_adv: true, hidden: [64, 32]}\ntrain: {steps: 500}\n")))
	must(t, r.Log([]Row{{500, "return/mean", -1, 2.5, 4}}))
	must(t, r.Checkpoint(500, nil, 1, Keep{}))
	must(t, r.Summarise("done", []Row{{500, "result/mean", -1, 2.75, 0}, {500, "result", 1, 3.25, 0}}))
	must(t, errors.Join(r.Finish("done"), r.Close()))
	return r.Dir()
}

// What a run came to stands in TensorBoard's file after its last step, with the
// settings; a run that goes on has not come to anything yet.
func TestEventsEndWithSettingsAndResults(t *testing.T) {
	t.Parallel()
	dir := summarised(t)
	read := func() []scalar {
		b, err := os.ReadFile(filepath.Join(dir, eventsFile))
		must(t, err)
		_, list, err := readEvents(b)
		must(t, err)
		return list
	}
	got := map[string]scalar{}
	for _, s := range read() {
		got[s.Tag] = s
	}
	if a, b := got["result/mean"], got["result/agent1"]; a.Value != 2.75 || a.Step != 500 || b.Value != 3.25 {
		t.Errorf("results are %+v and %+v", a, b)
	}
	for tag, words := range map[string][]string{
		"_hparams_/experiment":         {"hparams", "ppo.lr", "result/mean", "result/agent1"},
		"_hparams_/session_start_info": {"seed", "ppo.lr", "\xfc\xa9\xf1\xd2Mb\x50?", "ppo.norm_adv", "[64, 32]", "train.steps"}, // 1e-3
		"_hparams_/session_end_info":   {"hparams", "\x22\x02\x08\x01"},
	} {
		for _, word := range words {
			if !strings.Contains(got[tag].Data, word) {
				t.Errorf("%s does not hold %q: %q", tag, word, got[tag].Data)
			}
		}
	}
	r := opened(t, dir)
	_, _, _, err := r.Resume()
	must(t, errors.Join(err, r.Close()))
	if list := read(); len(list) != 1 || list[0].Tag != "return/mean" {
		t.Errorf("after going on, the events are %+v, want what was logged", list)
	}
}

// hparamsLoader prints what TensorBoard's plugin makes of a run.
const hparamsLoader = `
import json, sys
from tensorboard.backend.event_processing import event_accumulator
from tensorboard.plugins.hparams import metadata
acc = event_accumulator.EventAccumulator(sys.argv[1])
acc.Reload()
tags = acc.PluginTagToContent("hparams")
exp = metadata.parse_experiment_plugin_data(tags["_hparams_/experiment"])
start = metadata.parse_session_start_info_plugin_data(tags["_hparams_/session_start_info"])
end = metadata.parse_session_end_info_plugin_data(tags["_hparams_/session_end_info"])
value = lambda v: getattr(v, v.WhichOneof("kind"))
spec = acc.Tensors("spec")[0].tensor_proto.string_val[0].decode()
assert acc.summary_metadata["spec"].plugin_data.plugin_name == "text" and "name: toy" in spec, spec
print(json.dumps({"params": {k: value(v) for k, v in start.hparams.items()}, "names": [h.name for h in exp.hparam_infos],
  "metrics": [m.name.tag for m in exp.metric_infos], "status": end.status}, sort_keys=True))
`

func TestTensorBoardReadsSettings(t *testing.T) {
	t.Parallel()
	python := tensorBoard(t)
	cmd := exec.Command(python, "-c", hparamsLoader, summarised(t))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	must(t, err)
	want := `{"metrics": ["result/mean", "result/agent1"], ` +
		`"names": ["seed", "name", "ppo.lr", "ppo.norm_adv", "ppo.hidden", "train.steps"], ` +
		`"params": {"name": "toy", "ppo.hidden": "[64, 32]", "ppo.lr": 0.001, "ppo.norm_adv": true, "seed": 3.0, "train.steps": 500.0}, ` +
		`"status": 1}`
	if got := strings.TrimSpace(string(out)); got != want {
		t.Errorf("TensorBoard reads\n%s, want\n%s", got, want)
	}
}

// TensorBoard's file, and metrics.csv not, says how the clock went, once a step; a run whose clock
// went otherwise is sealed by the same sum, and one that goes on counts on from its checkpoint.
func TestEventsSayHowTheClockWent(t *testing.T) {
	var sums []string
	for _, pace := range []float64{0.5, 7} {
		r := started(t)
		clock := 0.
		r.Measure(func() (float64, float64) { clock += pace; return clock, clock })
		log := func(step int64) {
			must(t, r.Log([]Row{{step, "a", -1, 1, 1}}))
			must(t, r.Log([]Row{{step, "b", -1, 1, 1}}))
		}
		log(100)
		log(300)
		must(t, r.Checkpoint(300, []byte("body"), 1, Keep{}))
		sums = append(sums, r.newest.SHA256, newestSeal(r.Dir()).EventsSum)
		must(t, r.Close())
		b, err := os.ReadFile(filepath.Join(r.Dir(), eventsFile))
		must(t, err)
		_, list, err := readEvents(b)
		must(t, err)
		var got []scalar
		for _, s := range list {
			if s.Tag == WallMetric || s.Tag == RateMetric {
				got = append(got, scalar{Tag: s.Tag, Step: s.Step, Value: s.Value})
			}
		}
		wall := float32(pace)
		want := []scalar{{Tag: WallMetric, Step: 100, Value: wall}, {Tag: RateMetric, Step: 100, Value: 100 / wall},
			{Tag: WallMetric, Step: 300, Value: 2 * wall}, {Tag: RateMetric, Step: 300, Value: 200 / wall}}
		if !slices.Equal(got, want) {
			t.Errorf("the clock: %v, want %v", got, want)
		}
		rows, err := readMetrics(r.Dir())
		must(t, err)
		if len(rows) != 4 {
			t.Errorf("metrics.csv has %v", rows)
		}
	}
	if sums[0] != sums[2] || sums[1] != sums[3] {
		t.Errorf("the clock reaches a seal: %v", sums)
	}
}
