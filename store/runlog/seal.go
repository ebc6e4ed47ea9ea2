package runlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/hop-marl/hop/num/disk"
)

// Part is the beginning of a file, or all of it. Of events, the sum is of all but the
// clock, so that equal runs have equal seals.
type Part struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Sums is what env.json says of a run's other files as they stood when it was
// written: as long as the run goes on their beginnings, and once it has ended all of
// them.
type Sums struct {
	Specs      []string        `json:"spec.yaml"`            // one, or two while it is being replaced
	Checkpoint *Body           `json:"checkpoint,omitempty"` // the newest; nil: none yet
	Files      map[string]Part `json:"files"`
}

// Body says which body a checkpoint has.
type Body struct {
	Step   int64  `json:"step"`
	SHA256 string `json:"sha256"`
}

// seal is the small file beside a checkpoint's body that makes it whole. It seals all
// of the record as it stood then: the body, whose run it is, its spec, and the
// beginnings of what grows.
type seal struct {
	Step        int64   `json:"step"`
	Number      int     `json:"number"` // counts checkpoints from 1
	Score       float64 `json:"score"`
	SHA256      string  `json:"sha256"`
	Bytes       int     `json:"bytes"`
	Metrics     int64   `json:"metrics_bytes"`
	MetricsSum  string  `json:"metrics_sha256"`
	Events      int64   `json:"events_bytes"`
	EventsSum   string  `json:"events_sha256"`
	Findings    int64   `json:"findings_bytes"`
	FindingsSum string  `json:"findings_sha256"`
	Preset      string  `json:"preset"`
	Seed        uint64  `json:"seed"`
	Build       Build   `json:"build"`
	Keep        Keep    `json:"keep"` // so that a run that died while removing others can finish that
	Spec        string  `json:"spec"` // all of spec.yaml, so that it can be said what was changed in it
	Check       string  `json:"check"`
}

// parts are the beginnings of what grows.
func (s *seal) parts() map[string]Part {
	return map[string]Part{
		metricsFile: {s.Metrics, s.MetricsSum}, eventsFile: {s.Events, s.EventsSum}, findingsFile: {s.Findings, s.FindingsSum},
	}
}

// loose reports whether the seal is of a program that sealed nothing but the body.
func (s *seal) loose() bool { return s.Check == "" && s.MetricsSum == "" && s.Spec == "" }

// parseSeal reads a seal that was found under the name of a step.
func parseSeal(b []byte, step int64) (seal, error) {
	var s seal
	if err := json.Unmarshal(b, &s); err != nil {
		return seal{}, err
	}
	switch {
	case s.Step != step:
		return seal{}, fmt.Errorf("it is of env step %d", s.Step)
	case s.Number < 1 || s.Bytes < 0 || s.Metrics < 0 || s.Events < 0 || s.Findings < 0 || len(s.SHA256) != 2*sha256.Size:
		return seal{}, errors.New("its numbers cannot be")
	case !s.loose() && !checked(b, s.Check):
		return seal{}, errors.New("it was changed after it was written")
	}
	return s, nil
}

// unchecked is the field that holds the sum of the JSON that it is in, before that is
// known.
const unchecked = `"check": ""`

// withCheck returns v's JSON, in which the field check, empty so far, holds the sum of
// the rest.
func withCheck(v any) ([]byte, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	return bytes.Replace(b, []byte(unchecked), fmt.Appendf(nil, `"check": %q`, sumOf(b)), 1), nil
}

// checked reports whether a JSON text is as withCheck wrote it.
func checked(b []byte, check string) bool {
	return check != "" && sumOf(bytes.Replace(b, fmt.Appendf(nil, `"check": %q`, check), []byte(unchecked), 1)) == check
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func sumText(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// addTo adds what was written to a file to its sum. Events are written record by
// record; of each, everything counts but the clock and the checksum that it changes.
func addTo(h hash.Hash, file string, b []byte) {
	if file == eventsFile {
		h.Write(b[:recordHead+1])
		b = withoutClock(b[recordHead+1+8 : len(b)-4])
	}
	h.Write(b)
}

// withoutClock returns a message in which the numbers that Run.clock wrote are 0: four bytes each,
// after the name and their field's tag.
func withoutClock(b []byte) []byte {
	for _, name := range []string{WallMetric, RateMetric} {
		if at := bytes.Index(b, []byte(name)); at >= 0 && at+len(name)+5 <= len(b) {
			b = slices.Clone(b)
			clear(b[at+len(name)+1 : at+len(name)+5])
		}
	}
	return b
}

// recordHead is the length of what stands before an event's message, which begins with
// the clock's tag and 8 bytes of clock.
const recordHead = 12

// hashFile sums the first n bytes of a file of that name.
func hashFile(file string, r io.Reader, n int64) (hash.Hash, error) {
	h := sha256.New()
	if file != eventsFile {
		_, err := io.CopyN(h, r, n)
		return h, err
	}
	var b []byte
	for at := int64(0); at < n; at += int64(len(b)) {
		b = slices.Grow(b[:0], recordHead)[:recordHead]
		if _, err := io.ReadFull(r, b); err != nil {
			return h, err
		}
		size := binary.LittleEndian.Uint64(b)
		if binary.LittleEndian.Uint32(b[8:]) != masked(b[:8]) || size < 9 || size > uint64(max(0, n-at-recordHead-4)) {
			return h, fmt.Errorf("the record at byte %d was changed", at)
		}
		b = slices.Grow(b, int(size)+4)[:recordHead+int(size)+4]
		if _, err := io.ReadFull(r, b[recordHead:]); err != nil {
			return h, err
		}
		if end := len(b) - 4; binary.LittleEndian.Uint32(b[end:]) != masked(b[recordHead:end]) {
			return h, fmt.Errorf("the record at byte %d was changed", at)
		}
		addTo(h, file, b)
	}
	return h, nil
}

// ErrDamaged is what errors are that say that a file is not as it was written.
var ErrDamaged = errors.New("runlog: a file is not as it was written")

// damaged is why a file cannot be used, as opposed to one that cannot be read just now.
type damaged struct {
	why  string
	gone bool // it is missing
}

func (d damaged) Error() string        { return d.why }
func (d damaged) Is(target error) bool { return target == ErrDamaged }

// verify holds a file against its seal; whole: there is no more to it.
func (p Part) verify(dir, file string, whole bool) error {
	path := filepath.Join(dir, filepath.FromSlash(file))
	bad := func(gone bool, format string, args ...any) error {
		return damaged{fmt.Sprintf("%s %s; put it back from a copy, or move %s away", path, fmt.Sprintf(format, args...), dir), gone}
	}
	f, err := disk.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if p.Bytes == 0 {
			return nil
		}
		return bad(true, "is missing")
	}
	if err != nil {
		return fmt.Errorf("runlog: reading a run: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("runlog: reading a run: %w", err)
	}
	end := int64(0)
	if file == findingsFile && p.Bytes > 0 {
		end = int64(len(closing))
	}
	if n := info.Size(); n < p.Bytes || whole && n != p.Bytes+end {
		return bad(false, "is damaged: it has %d bytes, %d were sealed: it was cut short, added to or replaced", n, p.Bytes)
	}
	h, err := hashFile(file, f, p.Bytes)
	var failed *fs.PathError
	switch {
	case errors.As(err, &failed):
		return fmt.Errorf("runlog: reading a run: %w", err)
	case err != nil:
		return bad(false, "is damaged: %v", err)
	case sumText(h) != p.SHA256:
		return bad(false, "is damaged: it was changed after it was written")
	}
	return nil
}

// Differences lists what differs between two specs, as "ppo.lr is 0.01, was 0.001".
func Differences(is, was []byte) string {
	now, err := settings(is)
	before, err2 := settings(was)
	if err != nil || err2 != nil {
		return "it can no longer be read"
	}
	text := func(n *yaml.Node) string {
		b, _ := yaml.Marshal(n)
		return strings.Join(strings.Fields(string(b)), " ")
	}
	old := map[string]string{}
	for _, p := range before {
		old[p.name] = text(p.node)
	}
	var list []string
	for _, p := range now {
		was, known := old[p.name]
		delete(old, p.name)
		if is := text(p.node); !known {
			list = append(list, p.name+" was added")
		} else if is != was {
			list = append(list, fmt.Sprintf("%s is %s, was %s", p.name, is, was))
		}
	}
	for _, p := range before {
		if _, left := old[p.name]; left {
			list = append(list, p.name+" is gone")
		}
	}
	const most = 5
	if len(list) > most {
		list = append(list[:most], fmt.Sprintf("and %d more", len(list)-most))
	}
	if len(list) == 0 {
		return "no setting differs, but its text does"
	}
	return strings.Join(list, ", ")
}

// exists reports whether a run has a file.
func exists(dir, file string) bool {
	_, err := os.Lstat(filepath.Join(dir, file))
	return err == nil
}

// groupFile lies in the folder of a training's seeds.
const groupFile = "group.json"

// Group is what a training of several seeds is to become. It is written before the
// first seed's folder, so that a training that dies at once can be begun by whoever
// goes on with it.
type Group struct {
	Preset string   `json:"preset"`
	Seeds  []uint64 `json:"seeds"`
	Spec   string   `json:"spec"`   // the resolved one
	SHA256 string   `json:"sha256"` // of this object as JSON without spaces, sha256 empty
}

func (g Group) sum() (string, error) {
	g.SHA256 = ""
	b, err := json.Marshal(g)
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:]), err
}

// Write puts it into the folder.
func (g Group) Write(dir string) error {
	var err error
	path := filepath.Join(dir, groupFile)
	if g.SHA256, err = g.sum(); err == nil {
		err = disk.WriteJSON(path, g)
	}
	if err != nil {
		return explain("writing", path, err)
	}
	return nil
}

// ReadGroup returns what a folder of seeds is to become, nil if it does not say.
func ReadGroup(dir string) (*Group, error) {
	path := filepath.Join(dir, groupFile)
	b, err := disk.Read(path, 1<<24)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var g Group
	if err == nil {
		err = json.Unmarshal(b, &g)
	}
	if err == nil {
		if sum, _ := g.sum(); sum != g.SHA256 {
			err = errors.New("its sha256 is another one")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("runlog: %s, which says which seeds there are to be, was changed or cut short: %w; put it back, or remove it to "+
			"go on with the seeds that have begun", path, err)
	}
	return &g, nil
}
