package curve

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
)

// What the points of a line are.
const (
	Raw      = "rows"     // every row
	Extremes = "extremes" // the lowest and the highest row of every stretch
	Mean     = "mean"     // means over stretches
)

// Line is a curve for a screen. All its lists are of one length.
type Line struct {
	Kind   string         `json:"kind"`
	Step   []int64        `json:"step"`
	Value  []stats.Number `json:"value"`
	Low    []stats.Number `json:"low,omitempty"`  // of the band
	High   []stats.Number `json:"high,omitempty"` //
	N      []int64        `json:"n"`              // counts behind the value: alive rows, episodes
	Rows   []int          `json:"rows"`           // rows of metrics.csv behind it
	Runs   []int          `json:"runs,omitempty"` // seeds behind it, where it is a mean over seeds
	Smooth []stats.Number `json:"smooth,omitempty"`
	Of     int            `json:"of"`           // rows of the series in the range
	NaNs   int            `json:"nans"`         // of them, values that are no finite numbers, which are not drawn
	By     int            `json:"by,omitempty"` // rows that one step of the smoothing stands for; 0: it is not smoothed
}

// Range is a range of steps, both ends in it. To below From is all that there is.
type Range struct{ From, To int64 }

// All is the whole range.
var All = Range{0, -1}

func (r Range) has(step int64) bool { return r.To < r.From || step >= r.From && step <= r.To }

// Read returns a series over an axis, in a range of it, for a number of points. Smoothing is exponential: each
// row moves the smoothed value by 1 - weight of the difference (0: none), and it is over
// rows before the range too. A series that there is not, or not over that axis, has no points.
func (x *Index) Read(k Key, axis string, r Range, points int, weight float64) (Line, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.of(k, axis)
	if s == nil {
		return Line{Kind: Raw, Step: []int64{}, Value: []stats.Number{}, N: []int64{}, Rows: []int{}}, nil
	}
	if s.points != nil {
		return fromRows(s.points, ema{weight: weight}, r, points), nil
	}
	first, last, rows := s.within(r)
	if rows <= max(2*points, 4*blockRows) {
		list, err := x.reread(s, first, last)
		if err != nil {
			return Line{}, err
		}
		return fromRows(list, s.smoothedTo(first, weight), r, points), nil
	}
	return s.fromBlocks(r, points, weight), nil
}

// within returns the blocks that have rows in a range, and how many rows those have.
func (s *series) within(r Range) (first, last, rows int) {
	first, last = len(s.blocks), 0
	for i, b := range s.blocks {
		if r.To >= r.From && (b.last < r.From || b.first > r.To) {
			continue
		}
		first, last = min(first, i), i+1
		rows += int(b.rows)
	}
	return first, max(first, last), rows
}

// reread reads the rows of some blocks of a series from the file.
func (x *Index) reread(s *series, first, last int) ([]point, error) {
	if first >= last {
		return nil, nil
	}
	f, err := disk.Open(x.path)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrMetrics, disk.Reason(err))
	}
	defer f.Close()
	want := 0
	for _, b := range s.blocks[first:last] {
		want += int(b.rows)
	}
	list := make([]point, 0, want)
	buf := make([]byte, 1<<18)
	head := append(append([]byte(","), s.key.Name...), ',')
	for at := s.blocks[first].at; at < x.offset && len(list) < want; {
		n, err := f.ReadAt(buf[:min(int64(len(buf)), x.offset-at)], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%w: %s", ErrMetrics, disk.Reason(err))
		}
		end := bytes.LastIndexByte(buf[:n], '\n') + 1
		if end == 0 {
			break
		}
		for b := buf[:end]; len(b) > 0 && len(list) < want; {
			k := bytes.IndexByte(b, '\n') + 1
			if line := b[:k-1]; bytes.Contains(line, head) {
				name, agent, p, ok := parse(bytes.TrimSuffix(line, []byte("\r")))
				if ok && agent == s.key.Agent && string(name) == s.key.Name {
					list = append(list, p)
				}
			}
			b = b[k:]
		}
		at += int64(end)
	}
	if s.over != nil {
		s.over.move(list)
	}
	return list, nil
}

// ema is an exponential mean that begins without a bias: the weights of the rows so far
// add up to 1.
type ema struct{ weight, sum, total float64 }

func (e *ema) add(v float64, times int) float64 {
	keep := math.Pow(e.weight, float64(times))
	e.sum, e.total = keep*e.sum+(1-keep)*v, keep*e.total+(1-keep)
	return e.sum / e.total
}

// smoothedTo runs the smoothing over the blocks before one.
func (s *series) smoothedTo(first int, weight float64) (e ema) {
	e.weight = weight
	if weight > 0 {
		for _, b := range s.blocks[:min(first, len(s.blocks))] {
			if b.n > 0 {
				e.add(b.sum/float64(b.n), int(b.rows-b.nans))
			}
		}
	}
	return e
}

// fromRows makes a line of rows; e is the smoothing as it stands before them.
func fromRows(list []point, e ema, r Range, points int) Line {
	weight := e.weight
	var in []point
	var smooth []float64
	l := Line{Kind: Raw}
	for _, p := range list {
		finite := !math.IsNaN(p.value) && !math.IsInf(p.value, 0)
		v := math.NaN()
		if finite && weight > 0 {
			v = e.add(p.value, 1)
		}
		if !r.has(p.step) {
			continue
		}
		l.Of++
		if !finite {
			l.NaNs++
		}
		in = append(in, p)
		if weight > 0 {
			smooth = append(smooth, v)
		}
	}
	if weight > 0 {
		l.By = 1
	}
	if len(in) <= max(points, 2) {
		for i, p := range in {
			l.put(p.step, p.value, int64(p.n), 1)
			if weight > 0 {
				l.Smooth = append(l.Smooth, stats.Number(smooth[i]))
			}
		}
		return l.whole()
	}
	l.Kind = Extremes
	g := gridOf(in[0].step, in[len(in)-1].step, points/2)
	bins := make([]bin, g.n)
	for i, p := range in {
		b := &bins[g.at(p.step)]
		b.row(p)
		if weight > 0 && !math.IsNaN(smooth[i]) {
			b.smooth, b.smoothed = smooth[i], true
		}
	}
	l.extremes(bins, weight > 0)
	return l.whole()
}

// fromBlocks makes a line of blocks. Their extremes are rows; their means are put where
// they begin.
func (s *series) fromBlocks(r Range, points int, weight float64) Line {
	l := Line{Kind: Extremes}
	first, last, rows := s.within(r)
	l.Of = rows
	lo, hi := s.blocks[first].first, s.blocks[last-1].last
	if r.To >= r.From {
		lo, hi = max(lo, r.From), min(hi, r.To)
	}
	g := gridOf(lo, hi, points/2)
	bins := make([]bin, g.n)
	e := s.smoothedTo(first, weight)
	if weight > 0 {
		l.By = blockRows
	}
	for _, b := range s.blocks[first:last] {
		l.NaNs += int(b.nans)
		c := &bins[g.at(max(b.first, lo))]
		c.rows += int(b.rows)
		c.n += b.n
		if b.n == 0 {
			continue
		}
		if r.has(b.lowAt) {
			bins[g.at(b.lowAt)].extreme(point{b.lowAt, b.low, b.lowN})
		}
		if r.has(b.highAt) {
			bins[g.at(b.highAt)].extreme(point{b.highAt, b.high, b.highN})
		}
		if weight > 0 {
			c.smooth, c.smoothed = e.add(b.sum/float64(b.n), int(b.rows-b.nans)), true
		}
	}
	l.extremes(bins, weight > 0)
	return l.whole()
}

// bin is what there is in a stretch of steps.
type bin struct {
	low, high point
	some      bool
	sum       float64
	n         int64
	rows      int
	smooth    float64
	smoothed  bool
}

func (b *bin) row(p point) {
	b.rows++
	if math.IsNaN(p.value) || math.IsInf(p.value, 0) {
		return
	}
	w := int64(max(p.n, 1))
	b.sum, b.n = b.sum+p.value*float64(w), b.n+w
	b.extreme(p)
}

func (b *bin) extreme(p point) {
	if !b.some || p.value < b.low.value {
		b.low = p
	}
	if !b.some || p.value > b.high.value {
		b.high = p
	}
	b.some = true
}

// extremes puts the lowest and the highest row of each stretch, in the order of steps.
func (l *Line) extremes(bins []bin, smooth bool) {
	for _, b := range bins {
		if !b.some {
			continue
		}
		pair := []point{b.low, b.high}
		if b.high.step < b.low.step {
			pair[0], pair[1] = b.high, b.low
		}
		if pair[0].step == pair[1].step && pair[0].value == pair[1].value {
			pair = pair[:1]
		}
		for i, p := range pair {
			l.put(p.step, p.value, int64(p.n), b.rows)
			if smooth {
				v := math.NaN()
				if b.smoothed && i == len(pair)-1 {
					v = b.smooth
				}
				l.Smooth = append(l.Smooth, stats.Number(v))
			}
		}
	}
}

func (l *Line) put(step int64, value float64, n int64, rows int) {
	l.Step, l.Value = append(l.Step, step), append(l.Value, stats.Number(value))
	l.N, l.Rows = append(l.N, n), append(l.Rows, rows)
}

// whole gives lists without entries to a line that has none, for JSON.
func (l Line) whole() Line {
	if l.Step == nil {
		l.Step, l.Value, l.N, l.Rows = []int64{}, []stats.Number{}, []int64{}, []int{}
	}
	return l
}

// grid is equal stretches of steps.
type grid struct {
	lo   int64
	wide float64
	n    int
}

func gridOf(lo, hi int64, n int) grid {
	n = max(1, n)
	return grid{lo, max(1, float64(hi-lo+1)/float64(n)), n}
}

func (g grid) at(step int64) int { return min(max(int(float64(step-g.lo)/g.wide), 0), g.n-1) }

// step returns the middle of a stretch.
func (g grid) step(i int) int64 { return g.lo + int64((float64(i)+0.5)*g.wide) }

// Part is one series of a mean: of which run, and whose.
type Part struct {
	Index *Index
	Key   Key
	Run   int // parts of one run are averaged first: a run counts once
}

// Average returns several series as one over stretches of an axis: first over the parts of a run,
// weighted by the counts behind the rows, then over runs, each counting once, with a band where
// there are two or more. A run has a value at a stretch between its first row and its last:
// stretches without a row are bridged.
func Average(parts []Part, axis string, r Range, points int, how How) (Line, error) {
	l := Line{Kind: Mean}
	lo, hi, most := int64(math.MaxInt64), int64(math.MinInt64), 1
	for _, p := range parts {
		first, last, n := p.Index.span(p.Key, axis, r)
		if n > 0 {
			lo, hi, most = min(lo, first), max(hi, last), max(most, n)
		}
		l.Of += n
	}
	if lo > hi {
		return l.whole(), nil
	}
	g := gridOf(lo, hi, min(points, most))
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b Part) int { return a.Run - b.Run })
	at := make([]stretch, g.n)
	bins := make([]bin, g.n) // of one run
	for i, p := range parts {
		nans, err := p.Index.fill(p.Key, axis, r, g, bins)
		if err != nil {
			return Line{}, err
		}
		l.NaNs += nans
		if i+1 < len(parts) && parts[i+1].Run == p.Run {
			continue
		}
		for j, v := range bridged(bins) {
			if !math.IsNaN(v) {
				at[j].values = append(at[j].values, v)
				at[j].n, at[j].rows = at[j].n+bins[j].n, at[j].rows+bins[j].rows
			}
		}
		clear(bins)
	}
	l.through(at, g, len(parts), how)
	return l.whole(), nil
}

// stretch is what runs come to at one.
type stretch struct {
	values []float64 // one for each run
	n      int64
	rows   int
}

// through puts a line through stretches.
func (l *Line) through(at []stretch, g grid, parts int, how How) {
	e := ema{weight: how.Weight}
	random := rng.New(1).Child("band").Rand()
	for i, s := range at {
		if len(s.values) == 0 {
			continue
		}
		v := how.centre(s.values)
		l.put(g.step(i), v, s.n, s.rows)
		l.Runs = append(l.Runs, len(s.values))
		if how.Kind() != NoBand {
			ci := how.band(s.values, g.n, &random)
			l.Low, l.High = append(l.Low, stats.Number(ci[0])), append(l.High, stats.Number(ci[1]))
		}
		if how.Weight > 0 {
			l.By = max(1, l.Of/max(1, parts)/g.n)
			l.Smooth = append(l.Smooth, stats.Number(e.add(v, l.By)))
		}
	}
}

// span returns the first and last step of a series in a range, and how many rows there are.
func (x *Index) span(k Key, axis string, r Range) (lo, hi int64, rows int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.of(k, axis)
	if s == nil {
		return 0, 0, 0
	}
	first, last, rows := s.within(r)
	if rows == 0 {
		return 0, 0, 0
	}
	lo, hi = s.blocks[first].first, s.blocks[last-1].last
	if r.To >= r.From {
		lo, hi = max(lo, r.From), min(hi, r.To)
	}
	return lo, hi, rows
}

// fill adds a series' rows to stretches.
func (x *Index) fill(k Key, axis string, r Range, g grid, bins []bin) (nans int, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.of(k, axis)
	if s == nil {
		return 0, nil
	}
	list := s.points
	if list == nil {
		first, last, rows := s.within(r)
		if rows > max(2*g.n, 4*blockRows) {
			for _, b := range s.blocks[first:last] {
				c := &bins[g.at(b.first)]
				c.sum, c.n, c.rows = c.sum+b.sum, c.n+b.n, c.rows+int(b.rows)
				c.some = c.some || b.n > 0
				nans += int(b.nans)
			}
			return nans, nil
		}
		if list, err = x.reread(s, first, last); err != nil {
			return 0, err
		}
	}
	for _, p := range list {
		if r.has(p.step) {
			if math.IsNaN(p.value) || math.IsInf(p.value, 0) {
				nans++
			}
			bins[g.at(p.step)].row(p)
		}
	}
	return nans, nil
}

// bridged returns the mean of each stretch; those between rows are bridged, and before the
// first and after the last there is NaN.
func bridged(bins []bin) []float64 {
	out := make([]float64, len(bins))
	known := -1
	for i, b := range bins {
		if !b.some {
			out[i] = math.NaN()
			continue
		}
		out[i] = b.sum / float64(b.n)
		for j := known + 1; known >= 0 && j < i; j++ {
			t := float64(j-known) / float64(i-known)
			out[j] = out[known] + t*(out[i]-out[known])
		}
		known = i
	}
	return out
}
