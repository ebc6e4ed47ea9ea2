package export

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/store/runlog"
)

// A file of W&B is a log of LevelDB's form whose checksums are plain IEEE's, of Record messages. Field numbers are those of
// wandb/proto/wandb_internal.proto (0.31).
const (
	recordNum     = 1
	recordHistory = 2
	recordSummary = 3
	recordRun     = 17
	recordExit    = 18
	recordHeader  = 21

	headerVersion, versionProducer, versionLeast = 1, 1, 2

	runID, runProject, runConfig, runGroup, runName, runHost, runStart = 1, 3, 4, 6, 8, 13, 17

	itemUpdate, itemKey, itemNested, itemJSON = 1, 1, 2, 16 // of config and summary
	historyItem, historyStep                  = 1, 2
	exitCode, exitRuntime                     = 1, 2

	block = 32768 // of the log
)

// writeWandB writes a run as W&B's own client does offline.
func writeWandB(t *tracked, out string) (string, error) {
	log := &wandbLog{b: []byte(":W&B\xe1\xbe\x00")}
	log.add(recordHeader, field(nil, headerVersion, field(text(nil, versionProducer, "hop "+t.env.Version), versionLeast, []byte("0.70.0"))))
	var config []byte
	for _, s := range t.settings {
		config = field(config, itemUpdate, text(text(nil, itemKey, s.Path), itemJSON, s.JSON))
	}
	began := integer(integer(nil, 1, uint64(t.started.Unix())), 2, uint64(t.started.Nanosecond()))
	run := text(text(nil, runID, t.id(8)), runProject, t.env.Preset)
	run = text(text(field(run, runConfig, config), runGroup, t.group), runName, t.group+"/"+t.name)
	log.add(recordRun, field(text(run, runHost, "hop"), runStart, began))
	t.steps(func(step int64, rows []runlog.Row) {
		var items []byte
		for _, row := range rows {
			items = field(items, historyItem, text(text(nil, itemNested, row.Tag()), itemJSON, jsonNumber(row.Value)))
		}
		items = field(items, historyItem, text(text(nil, itemNested, "_step"), itemJSON, fmt.Sprint(step)))
		log.add(recordHistory, field(items, historyStep, integer(nil, 1, uint64(step))))
	})
	var last []byte
	for _, name := range slices.Sorted(maps.Keys(t.last)) {
		last = field(last, itemUpdate, text(text(nil, itemKey, name), itemJSON, jsonNumber(t.last[name])))
	}
	log.add(recordSummary, last)
	code := map[string]uint64{"failed": 1, "stopped": 255}[t.env.Status]
	log.add(recordExit, integer(integer(nil, exitCode, code), exitRuntime, uint64(t.env.Wall)))
	dir := filepath.Join(out, "offline-run-"+t.started.UTC().Format("20060102_150405")+"-"+t.id(8))
	path := filepath.Join(dir, "run-"+t.id(8)+".wandb")
	return dir, cmp.Or(disk.Make(filepath.Join(dir, "files")),
		disk.Write(filepath.Join(dir, "files", "spec.yaml"), t.spec), disk.Write(path, log.b))
}

// wandbLog is a file of records.
type wandbLog struct {
	b   []byte
	num uint64
}

// add appends a record, in parts where a block ends.
func (l *wandbLog) add(kind protowire.Number, message []byte) {
	l.num++
	rest := field(integer(nil, recordNum, l.num), kind, message)
	const head = 7
	for first := true; first || len(rest) > 0; first = false {
		room := block - len(l.b)%block
		if room < head {
			l.b = append(l.b, make([]byte, room)...)
			room = block
		}
		part := rest[:min(len(rest), room-head)]
		rest = rest[len(part):]
		which := byte(3) // a middle part
		switch {
		case first && len(rest) == 0:
			which = 1
		case first:
			which = 2
		case len(rest) == 0:
			which = 4
		}
		sum := crc32.ChecksumIEEE(append([]byte{which}, part...))
		l.b = binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint32(l.b, sum), uint16(len(part)))
		l.b = append(append(l.b, which), part...)
	}
}

func field(b []byte, n protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), v)
}

func text(b []byte, n protowire.Number, v string) []byte { return field(b, n, []byte(v)) }

func integer(b []byte, n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v)
}
