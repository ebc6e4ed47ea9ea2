package curve

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/serve/cache"
)

// Row is a row of metrics.csv for whoever follows it.
type Row struct {
	Step  int64        `json:"step"`
	Name  string       `json:"name"`
	Agent int          `json:"agent"` // -1: of nobody in particular
	Value stats.Number `json:"value"`
	N     int          `json:"n"`
}

// Follow returns the whole rows of a run's metrics.csv from an offset on, at most about a
// megabyte of them, and the offset to go on from. Whoever goes on from there misses no row
// and sees none twice. If the file is shorter than that, it was cut back, because the run
// goes on from a checkpoint: cut is true, and the rows are from the beginning.
func Follow(dir string, offset int64) (rows []Row, next int64, cut bool, err error) {
	f, err := disk.Open(filepath.Join(dir, metricsFile))
	if err != nil {
		return nil, offset, false, fmt.Errorf("%w: %s", ErrMetrics, disk.Reason(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, offset, false, fmt.Errorf("%w: %s", ErrMetrics, disk.Reason(err))
	}
	if offset < 0 || info.Size() < offset || offset > 0 && !lineEndsAt(f, offset) {
		offset, cut = 0, offset > 0
	}
	buf := make([]byte, min(1<<20, info.Size()-offset))
	n, err := f.ReadAt(buf, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, offset, cut, fmt.Errorf("%w: %s", ErrMetrics, disk.Reason(err))
	}
	b := buf[:bytes.LastIndexByte(buf[:n], '\n')+1]
	next = offset + int64(len(b))
	if offset == 0 && len(b) > 0 {
		if !bytes.HasPrefix(b, []byte(header)) {
			return nil, 0, cut, fmt.Errorf("%w: its first line is not %s", ErrMetrics, header[:len(header)-1])
		}
		b = b[len(header):]
	}
	for len(b) > 0 {
		k := bytes.IndexByte(b, '\n') + 1
		name, agent, p, ok := parse(b[:k-1])
		if !ok {
			return rows, next, cut, fmt.Errorf("%w: a line is no row of %s", ErrMetrics, header[:len(header)-1])
		}
		rows = append(rows, Row{p.step, string(name), agent, stats.Number(p.value), int(p.n)})
		b = b[k:]
	}
	return rows, next, cut, nil
}

// lineEndsAt reports whether a line ends before an offset.
func lineEndsAt(f io.ReaderAt, offset int64) bool {
	var b [1]byte
	_, err := f.ReadAt(b[:], offset-1)
	return err == nil && b[0] == '\n'
}

// Cache finds the indexes of runs among all that the server keeps.
type Cache struct{ all *cache.Cache }

// NewCache returns a cache within a budget.
func NewCache(all *cache.Cache) Cache { return Cache{all} }

func keyOf(path string) string { return "curve " + path }

// Of returns the index of a run's folder.
func (c Cache) Of(dir string) *Index {
	x := New(dir)
	if known, ok := c.all.Get(keyOf(x.path)); ok {
		return known.(*Index)
	}
	return x
}

// Keep keeps an index that has been extended.
func (c Cache) Keep(x *Index) {
	x.mu.Lock()
	same := x.weighed == x.rows+1
	x.weighed = x.rows + 1
	x.mu.Unlock()
	if known, ok := c.all.Get(keyOf(x.path)); !same || !ok || known != x {
		c.all.Put(keyOf(x.path), x, x.weight())
	}
}

// Shrink forgets the rows of an index and keeps its blocks.
func (x *Index) Shrink() (left int, ok bool) {
	if !x.mu.TryLock() {
		return 0, false
	}
	x.coarsen()
	x.mu.Unlock()
	return x.weight(), true
}
