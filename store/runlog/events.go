package runlog

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"image/gif"
	"math"
	"path/filepath"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hop-marl/hop/num/disk"
)

// TensorBoard's file is a sequence of records: length, masked checksum of the
// length, an Event message, masked checksum of the message. Field numbers are
// those of tensorflow/core/util/event.proto and framework/summary.proto, and of
// tensorboard/plugins/hparams/plugin_data.proto and api.proto.
const (
	eventWallTime    = 1
	eventStep        = 2
	eventFileVersion = 3
	eventSummary     = 5
	summaryValue     = 1
	valueTag         = 1
	valueSimple      = 2
	valueMetadata    = 9
	valueImage       = 4
	valueTensor      = 8
	metadataPlugin   = 1
	pluginName       = 1
	pluginContent    = 2

	dataExperiment  = 2 // of HParamsPluginData
	dataStart       = 3
	dataEnd         = 4
	experimentParam = 4
	experimentGoal  = 5 // metric_infos
	paramName       = 1
	paramType       = 4
	goalName        = 1
	goalTag         = 2
	startParam      = 1
	paramKey        = 1
	paramValue      = 2
	endStatus       = 1

	imageHeight  = 1 // of Summary.Image
	imageWidth   = 2
	imageColours = 3
	imageEncoded = 4
	tensorType   = 1 // of TensorProto
	tensorShape  = 2
	tensorString = 8
	shapeDim     = 2
	dimSize      = 1

	endSuccess, endFailure = 1, 2 // of Status
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func masked(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// now is the clock of events. It is the only thing in a run's metrics, events and
// checkpoints in which equal runs differ.
func now() float64 { return float64(time.Now().UnixNano()) / 1e9 }

// version returns the record that begins a file.
func version(wall float64) []byte {
	return record(wall, putText(eventFileVersion, "brain.Event:2"))
}

// event returns the record of a summary's values at a step.
func event(wall float64, step int64, values []byte) []byte {
	return record(wall, putBytes(putInt(nil, eventStep, uint64(step)), eventSummary, values))
}

// record returns an Event message, whose first field is the clock, with its length
// and checksums.
func record(wall float64, rest []byte) []byte {
	msg := append(putDouble(nil, eventWallTime, wall), rest...)
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(msg)))
	out = binary.LittleEndian.AppendUint32(out, masked(out[:8]))
	out = append(out, msg...)
	return binary.LittleEndian.AppendUint32(out, masked(msg))
}

// scalars returns rows as values of a summary.
func scalars(rows []Row) (values []byte) {
	for _, r := range rows {
		v := putText(valueTag, r.Tag())
		v = protowire.AppendTag(v, valueSimple, protowire.Fixed32Type)
		v = protowire.AppendFixed32(v, math.Float32bits(float32(r.Value)))
		values = putBytes(values, summaryValue, v)
	}
	return values
}

// Tag is the row's name in TensorBoard, and for other trackers.
func (r Row) Tag() string {
	if r.Agent < 0 {
		return r.Name
	}
	return r.Name + "/agent" + strconv.Itoa(r.Agent)
}

// Summarise ends TensorBoard's file with what the run has come to: its results, if
// there are some, and the settings of its spec with its seed, by which TensorBoard
// compares runs under HParams. A run that goes on cuts that off again.
func (r *Run) Summarise(status string, results []Row) error {
	params, err := r.params()
	if err != nil {
		return fmt.Errorf("runlog: the settings of %s: %w", r.dir, err)
	}
	var values, experiment, start []byte
	for _, p := range params {
		kind, value := p.encode()
		experiment = putBytes(experiment, experimentParam, putInt(putText(paramName, p.name), paramType, kind))
		start = putBytes(start, startParam, putBytes(putText(paramKey, p.name), paramValue, value))
	}
	for _, row := range results {
		experiment = putBytes(experiment, experimentGoal, putBytes(nil, goalName, putText(goalTag, row.Tag())))
	}
	values = append(scalars(results), hparams("experiment", dataExperiment, experiment)...)
	values = append(values, r.specText()...)
	values = append(values, hparams("session_start_info", dataStart, start)...)
	switch status {
	case "done":
		values = append(values, hparams("session_end_info", dataEnd, putInt(nil, endStatus, endSuccess))...)
	case "failed":
		values = append(values, hparams("session_end_info", dataEnd, putInt(nil, endStatus, endFailure))...)
	}
	step := int64(0)
	if len(results) > 0 {
		step = results[0].Step
	}
	return r.events.write(event(now(), step, values))
}

// hparams returns a value of a summary that TensorBoard's plugin of that name reads:
// nothing but metadata.
func hparams(name string, field protowire.Number, data []byte) []byte {
	plugin := putBytes(putText(pluginName, "hparams"), pluginContent, putBytes(nil, field, data))
	v := putBytes(putText(valueTag, "_hparams_/"+name), valueMetadata, putBytes(nil, metadataPlugin, plugin))
	return putBytes(nil, summaryValue, v)
}

// param is a setting.
type param struct {
	name string
	node *yaml.Node
}

// params lists the settings of the spec, such as ppo.lr, and the seed.
func (r *Run) params() ([]param, error) {
	seed := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatUint(r.env.Seed, 10)}
	list, err := settings(r.spec)
	return append([]param{{"seed", seed}}, list...), err
}

// settings lists the settings of a spec.
func settings(text []byte) (list []param, err error) {
	var spec yaml.Node
	if err := yaml.Unmarshal(text, &spec); err != nil {
		return nil, err
	}
	var walk func(n *yaml.Node, path string)
	walk = func(n *yaml.Node, path string) {
		if n.Kind != yaml.MappingNode {
			list = append(list, param{path, n})
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			if path != "" {
				name = path + "." + name
			}
			walk(n.Content[i+1], name)
		}
	}
	for _, n := range spec.Content {
		walk(n, "")
	}
	return list, nil
}

// encode returns a setting's DataType, and it as a google.protobuf.Value.
func (p param) encode() (kind uint64, value []byte) {
	const (
		asText, asBool, asNumber = 1, 2, 3 // of DataType

		number, text, boolean = 2, 3, 4 // fields of Value
	)
	switch tag := p.node.ShortTag(); tag {
	case "!!int", "!!float":
		if x, err := strconv.ParseFloat(p.node.Value, 64); err == nil {
			return asNumber, putDouble(nil, number, x)
		}
	case "!!bool":
		return asBool, putInt(nil, boolean, protowire.EncodeBool(p.node.Value == "true"))
	}
	return asText, putText(text, p.text())
}

// text is a setting as it is written, on one line.
func (p param) text() string {
	if p.node.Kind == yaml.ScalarNode {
		return p.node.Value
	}
	flow := *p.node
	flow.Style = yaml.FlowStyle
	line, err := yaml.Marshal(&flow)
	if err != nil {
		panic("runlog: a spec that was read cannot be written")
	}
	return string(bytes.TrimSpace(line))
}

// Setting is a field of a spec.
type Setting struct {
	Path string // such as ppo.lr
	Text string // as a spec has it, on one line
	JSON string
}

// Settings lists the fields of a spec, for other trackers.
func Settings(spec []byte) (list []Setting, err error) {
	params, err := settings(spec)
	for _, p := range params {
		var v any
		b, fault := json.Marshal(p.text()) // what JSON has no word for is a text
		if p.node.Decode(&v) == nil {
			if plain, err := json.Marshal(v); err == nil {
				b, fault = plain, nil
			}
		}
		if fault != nil {
			return nil, fault
		}
		list = append(list, Setting{p.name, p.text(), string(b)})
	}
	return list, err
}

// specText returns a value of a summary that TensorBoard shows under Text: the spec.
func (r *Run) specText() []byte {
	const stringType = 7 // of DataType
	tensor := putInt(nil, tensorType, stringType)
	tensor = putBytes(tensor, tensorShape, putBytes(nil, shapeDim, putInt(nil, dimSize, 1)))
	tensor = putBytes(tensor, tensorString, fmt.Appendf(nil, "```yaml\n%s```\n", r.spec))
	plugin := putBytes(nil, metadataPlugin, putText(pluginName, "text"))
	return putBytes(nil, summaryValue, putBytes(putBytes(putText(valueTag, "spec"), valueMetadata, plugin), valueTensor, tensor))
}

// Film is an episode to look at.
type Film struct {
	Name string
	GIF  []byte
}

// WriteFilms writes episodes of a run's agents into a folder, where TensorBoard shows them under Images: into a file of
// their own, for the run's is written in step with its checkpoints.
func WriteFilms(dir string, films []Film) error {
	var values []byte
	for _, f := range films {
		size, err := gif.DecodeConfig(bytes.NewReader(f.GIF))
		if err != nil {
			return fmt.Errorf("runlog: the film %s: %w", f.Name, err)
		}
		picture := putInt(putInt(nil, imageHeight, uint64(size.Height)), imageWidth, uint64(size.Width))
		picture = putBytes(putInt(picture, imageColours, 3), imageEncoded, f.GIF)
		values = putBytes(values, summaryValue, putBytes(putText(valueTag, "episode/"+f.Name), valueImage, picture))
	}
	wall := now()
	b := append(version(wall), event(wall, 0, values)...)
	return cmp.Or(disk.Make(dir), disk.Write(filepath.Join(dir, eventsFile), b))
}

func putBytes(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

func putText(field protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, field, protowire.BytesType), v)
}

func putInt(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func putDouble(b []byte, field protowire.Number, v float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), math.Float64bits(v))
}
