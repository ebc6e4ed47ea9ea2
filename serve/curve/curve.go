// Package curve reads the metrics of runs for a screen, also while they grow.
//
// An Index is made of a run's metrics.csv once and follows its growth: names, agents, and
// for each series blocks of rows with their extremes, means and place in the file. Up to
// some millions of rows it keeps the rows themselves; of a larger file only the blocks,
// about a byte a row, and reads rows again from the file where few are asked for. A run
// that goes on from a checkpoint cuts its file back; then the index is made anew.
//
// Lines are for a number of points that a screen can show. Where there are more rows than
// that, a line goes through the lowest and the highest row of every stretch, so that no
// extreme is lost; means over agents and seeds are over stretches, weighted by the counts
// behind the rows. Every point says how many rows and which count are behind it.
package curve

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/store/runlog"
)

// metricsFile is what a run's numbers are in.
const metricsFile = "metrics.csv"

const header = "step,name,agent,value,n\n"

// Bounds of what an index takes.
const (
	blockRows = 64
	maxSeries = 1 << 14
	maxLine   = 1 << 16
	guard     = 256 // bytes before the place that was read up to, by which a rewritten file is known
)

// Key names a series. Agent is -1 for numbers of nobody in particular.
type Key struct {
	Name  string
	Agent int
}

// point is a row of a series.
type point struct {
	step  int64
	value float64
	n     int32
}

// block is some rows of a series that follow each other.
type block struct {
	at            int64 // offset of the first row in the file
	first, last   int64 // steps
	lowAt, highAt int64 // steps of the extremes
	low, high     float64
	sum           float64 // of value times count
	n             int64   // counts behind them, of values that are finite
	rows          int32
	lowN, highN   int32
	nans          int32 // values that are no finite numbers
}

type series struct {
	key    Key
	blocks []block
	points []point // nil once the index keeps blocks only
	rows   int
	after  *series // whose row came after one of this last: windows write their rows in one order
	over   scale   // where its steps lie on another axis; nil: they are steps
}

// Index is what is known of one run's metrics. It may be used by several goroutines.
type Index struct {
	path string

	mu     sync.Mutex
	byKey  map[Key]*series
	order  []*series // in order of appearance
	prev   *series   // of the last row
	offset int64     // up to which the file was read: whole lines
	size   int64     // of the file when it was last looked at
	short  bool      // there was no time to read all of it
	tail   []byte    // the bytes before offset
	file   os.FileInfo
	lines  int
	rows   int
	coarse bool // rows are not kept
	gen    int64
	last   int64   // step
	steps  []int64 // the first steps at which there are rows: windows
	err    error   // the file cannot be read
	keep   int     // rows that are kept; of more, only blocks are
	clock  clock

	weighed int // 1 + rows when the cache was last told its weight
}

// maxKept is how many rows an index keeps.
const maxKept = 1 << 21

// maxWindows is how many of the first windows an index remembers the steps of.
const maxWindows = 1 << 16

// New returns the index of a run's folder. Nothing is read yet.
func New(dir string) *Index {
	return &Index{path: filepath.Join(dir, metricsFile), byKey: map[Key]*series{}, keep: maxKept}
}

func (x *Index) reset() {
	gen := x.gen + 1
	x.byKey, x.order, x.offset, x.tail, x.lines, x.rows, x.coarse, x.last, x.steps = map[Key]*series{}, nil, 0, nil, 0, 0, false, 0, nil
	x.gen, x.err, x.prev, x.clock = gen, nil, nil, clock{}
}

// State is how far an index is.
type State struct {
	Rows int     `json:"rows"`
	Read float64 `json:"read"` // share of the file that was read
	Last int64   `json:"last"` // step
	Gen  int64   `json:"gen"`  // another one: the file was cut back or replaced, and all was read anew
}

// Extend reads what the file has grown by, for at most so long, and says how far it is.
func (x *Index) Extend(most time.Duration) (State, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	err := x.extend(time.Now().Add(most))
	return x.state(), err
}

// Begun reports whether anything was read yet.
func (x *Index) Begun() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.file != nil || x.err != nil
}

func (x *Index) state() State {
	s := State{Rows: x.rows, Read: 1, Last: x.last, Gen: x.gen}
	if x.short && x.size > 0 {
		s.Read = float64(x.offset) / float64(x.size)
	}
	return s
}

// ErrMetrics is what errors are that say that a run's metrics cannot be read.
var ErrMetrics = errors.New("curve: metrics.csv cannot be read")

func (x *Index) extend(until time.Time) error {
	if at, err := os.Lstat(x.path); err == nil && x.file != nil && x.err == nil && !x.short && x.offset == at.Size() &&
		at.ModTime().Equal(x.file.ModTime()) && os.SameFile(at, x.file) {
		return nil // of two thousand runs few have grown
	}
	f, err := disk.Open(x.path)
	if errors.Is(err, fs.ErrNotExist) {
		if x.rows > 0 {
			x.reset()
		}
		return fmt.Errorf("%w: it is not there", ErrMetrics)
	}
	if err != nil {
		return fmt.Errorf("%w: %s", ErrMetrics, disk.Reason(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("%w: %s", ErrMetrics, disk.Reason(err))
	}
	if x.file != nil && (!os.SameFile(info, x.file) || info.Size() < x.offset || !x.same(f)) {
		x.reset()
	}
	x.file, x.size, x.short = info, info.Size(), false
	if x.err != nil {
		return x.err
	}
	buf := make([]byte, min(1<<20, x.size-x.offset))
	for x.offset < x.size {
		n, err := f.ReadAt(buf[:min(int64(len(buf)), x.size-x.offset)], x.offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: %s", ErrMetrics, disk.Reason(err))
		}
		end := bytes.LastIndexByte(buf[:n], '\n') + 1
		if end == 0 {
			if n >= maxLine {
				x.err = fmt.Errorf("%w: line %d goes on after %d bytes, which no row does", ErrMetrics, x.lines+1, maxLine)
				return x.err
			}
			return nil // the last line is still being written
		}
		if x.err = x.take(buf[:end]); x.err != nil {
			return x.err
		}
		x.offset += int64(end)
		x.tail = append(x.tail[:0], buf[max(0, end-guard):end]...)
		if x.short = x.offset < x.size && time.Now().After(until); x.short {
			return nil
		}
	}
	return nil
}

// same reports whether the bytes before the place that was read up to are still there.
func (x *Index) same(f io.ReaderAt) bool {
	b := make([]byte, len(x.tail))
	n, _ := f.ReadAt(b, x.offset-int64(len(b)))
	return bytes.Equal(b[:n], x.tail)
}

// take reads whole lines, which begin at the offset.
func (x *Index) take(b []byte) error {
	at := x.offset
	if x.offset == 0 {
		if !bytes.HasPrefix(b, []byte(header)) && !bytes.HasPrefix(b, []byte("step,name,agent,value,n\r\n")) {
			return fmt.Errorf("%w: its first line is not %s", ErrMetrics, header[:len(header)-1])
		}
		end := bytes.IndexByte(b, '\n') + 1
		b, at = b[end:], at+int64(end)
		x.lines = 1
	}
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n') + 1
		x.lines++
		if end > maxLine {
			return fmt.Errorf("%w: line %d goes on after %d bytes, which no row does", ErrMetrics, x.lines, maxLine)
		}
		name, agent, p, ok := parse(bytes.TrimSuffix(b[:end-1], []byte("\r")))
		if !ok {
			return fmt.Errorf("%w: line %d is no row of %s", ErrMetrics, x.lines, header[:len(header)-1])
		}
		if err := x.add(name, agent, p, at); err != nil {
			return err
		}
		b, at = b[end:], at+int64(end)
	}
	return nil
}

// parse reads a row. The name is a view of the line.
func parse(line []byte) (name []byte, agent int, p point, ok bool) {
	var f [5][]byte
	for i := range 4 {
		k := bytes.IndexByte(line, ',')
		if k < 0 {
			return nil, 0, p, false
		}
		f[i], line = line[:k], line[k+1:]
	}
	f[4] = line
	var err [4]error
	if len(f[0]) == 0 || len(f[3]) == 0 || len(f[4]) == 0 || len(f[1]) == 0 {
		return nil, 0, p, false
	}
	p.step, err[0] = strconv.ParseInt(string(f[0]), 10, 64)
	agent = -1
	if len(f[2]) > 0 {
		agent, err[1] = strconv.Atoi(string(f[2]))
		if agent < 0 || agent >= 1024 {
			return nil, 0, p, false
		}
	}
	p.value, err[2] = strconv.ParseFloat(string(f[3]), 64)
	n, e := strconv.Atoi(string(f[4]))
	err[3] = e
	p.n = int32(min(max(n, 0), math.MaxInt32))
	return f[1], agent, p, cmp.Or(err[0], err[1], err[2], err[3]) == nil
}

func (x *Index) add(name []byte, agent int, p point, at int64) error {
	var s *series
	if x.prev != nil {
		s = x.prev.after
	}
	if s == nil || s.key.Agent != agent || s.key.Name != string(name) {
		s = x.byKey[Key{string(name), agent}]
	}
	if s == nil {
		if len(x.order) >= maxSeries {
			return fmt.Errorf("%w: it has more than %d series", ErrMetrics, maxSeries)
		}
		s = &series{key: Key{string(name), agent}}
		x.byKey[s.key] = s
		x.order = append(x.order, s)
	}
	if x.prev != nil {
		x.prev.after = s
	}
	x.prev = s
	s.add(p, at)
	x.rows++
	if p.step != x.last || x.rows == 1 {
		if len(x.steps) < maxWindows {
			x.steps = append(x.steps, p.step)
		}
		x.last = p.step
	}
	if x.coarse {
		return nil
	}
	s.points = append(s.points, p)
	if x.rows > x.keep {
		x.coarsen()
	}
	return nil
}

// coarsen forgets the rows. A block can be read again from the file.
func (x *Index) coarsen() {
	x.coarse = true
	for _, s := range x.order {
		s.points = nil
	}
}

func (s *series) add(p point, at int64) {
	s.rows++
	if n := len(s.blocks); n == 0 || s.blocks[n-1].rows == blockRows {
		s.blocks = append(s.blocks, block{at: at, first: p.step, low: math.NaN(), high: math.NaN()})
	}
	b := &s.blocks[len(s.blocks)-1]
	b.rows++
	b.last = p.step
	if math.IsNaN(p.value) || math.IsInf(p.value, 0) {
		b.nans++
		return
	}
	if !(p.value >= b.low) {
		b.low, b.lowAt, b.lowN = p.value, p.step, p.n
	}
	if !(p.value <= b.high) {
		b.high, b.highAt, b.highN = p.value, p.step, p.n
	}
	w := int64(max(p.n, 1))
	b.sum += p.value * float64(w)
	b.n += w
}

// Name is a metric and who has it.
type Name struct {
	Name   string `json:"name"`
	Agents []int  `json:"agents"` // -1: of nobody in particular
	Rows   int    `json:"rows"`
}

// Names returns the metrics in order of appearance.
func (x *Index) Names() []Name {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []Name
	at := map[string]int{}
	for _, s := range x.order {
		i, ok := at[s.key.Name]
		if !ok {
			i = len(out)
			at[s.key.Name] = i
			out = append(out, Name{Name: s.key.Name})
		}
		out[i].Agents = append(out[i].Agents, s.key.Agent)
		out[i].Rows += s.rows
	}
	for _, n := range out {
		slices.Sort(n.Agents)
	}
	if n := len(x.clock.rates); n > 0 {
		out = append(out, Name{runlog.RateMetric, []int{-1}, n})
	}
	return out
}

// Agents returns who has a metric.
func (x *Index) Agents(name string) []int {
	x.mu.Lock()
	defer x.mu.Unlock()
	if name == runlog.RateMetric && len(x.clock.rates) > 0 {
		return []int{-1}
	}
	var out []int
	for _, s := range x.order {
		if s.key.Name == name {
			out = append(out, s.key.Agent)
		}
	}
	slices.Sort(out)
	return out
}

// Window returns the step at which the n-th window ended, counted from 1; the last step so
// far if there were not so many, 0 for n = 0.
func (x *Index) Window(n int) int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	if n = min(n, len(x.steps)); n <= 0 {
		return 0
	}
	return x.steps[n-1]
}

// weight is about how many bytes the index takes.
func (x *Index) weight() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := 4096 + 8*len(x.steps) + 24*cap(x.clock.rates) + 24*cap(x.clock.wall)
	for _, s := range x.order {
		n += 160 + 24*cap(s.points) + 112*cap(s.blocks)
	}
	return n
}
