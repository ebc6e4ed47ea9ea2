package curve

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"hop/internal/disk"
	"hop/stats"
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
		return nil, offset, false, fmt.Errorf("%w: %s", ErrMetrics, reason(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, offset, false, fmt.Errorf("%w: %s", ErrMetrics, reason(err))
	}
	if offset < 0 || info.Size() < offset || offset > 0 && !lineEndsAt(f, offset) {
		offset, cut = 0, offset > 0
	}
	buf := make([]byte, min(1<<20, info.Size()-offset))
	n, err := f.ReadAt(buf, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, offset, cut, fmt.Errorf("%w: %s", ErrMetrics, reason(err))
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

// Cache keeps the indexes of some runs, those first that were asked for last.
type Cache struct {
	mu    sync.Mutex
	most  int // bytes
	byDir map[string]*Index
}

// NewCache returns a cache of at most about so many bytes.
func NewCache(most int) *Cache { return &Cache{most: most, byDir: map[string]*Index{}} }

// Of returns the index of a run's folder.
func (c *Cache) Of(dir string) *Index {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.byDir[dir]
	if x == nil {
		c.trim()
		x = New(dir)
		x.used = time.Now()
		c.byDir[dir] = x
	}
	return x
}

// trim drops what was not asked for longest, until there is room.
func (c *Cache) trim() {
	total := 0
	for _, x := range c.byDir {
		total += x.weight()
	}
	for total > c.most || len(c.byDir) > 2000 {
		var old string
		var at time.Time
		for dir, x := range c.byDir {
			x.mu.Lock()
			used := x.used
			x.mu.Unlock()
			if old == "" || used.Before(at) {
				old, at = dir, used
			}
		}
		if old == "" || time.Since(at) < 10*time.Second {
			return // all are in use
		}
		total -= c.byDir[old].weight()
		delete(c.byDir, old)
	}
}
