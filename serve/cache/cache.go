// Package cache keeps what a server has read or made, within one budget for all of it.
//
// Everything that can be made again is kept here and nowhere else: indexes of metrics,
// comparisons, episodes, specs. When the budget is spent, what was asked for longest ago is
// first made smaller, if it can be, and then dropped. Whoever holds a value may go on using
// it; only the cache forgets it.
package cache

import (
	"container/list"
	"sync"
)

// Shrinker is a value that can do without a part of what it holds.
type Shrinker interface {
	// Shrink frees that part and returns how many bytes are left. It must not wait for anybody:
	// where it would have to, ok is false.
	Shrink() (left int, ok bool)
}

// Cache is for any number of goroutines.
type Cache struct {
	mu    sync.Mutex
	most  int // bytes
	used  int
	byKey map[string]*list.Element
	order *list.List // of *entry, what was asked for last in front
}

type entry struct {
	key    string
	value  any
	bytes  int
	shrunk bool
}

// New returns an empty cache of at most so many bytes.
func New(most int) *Cache {
	return &Cache{most: most, byKey: map[string]*list.Element{}, order: list.New()}
}

// Get returns what is kept under a key.
func (c *Cache) Get(key string) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.byKey[key]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(at)
	return at.Value.(*entry).value, true
}

// Put keeps a value of about so many bytes, or says anew how many it has.
func (c *Cache) Put(key string, value any, bytes int) {
	bytes += len(key) + 128 // of the entry itself
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.byKey[key]; ok {
		c.drop(at)
	}
	c.byKey[key] = c.order.PushFront(&entry{key: key, value: value, bytes: bytes})
	c.used += bytes
	for at := c.order.Back(); at != nil && c.used > c.most; at = at.Prev() {
		c.shrink(at.Value.(*entry))
	}
	for c.used > c.most {
		c.drop(c.order.Back())
	}
}

func (c *Cache) shrink(e *entry) {
	s, ok := e.value.(Shrinker)
	if !ok || e.shrunk {
		return
	}
	left, ok := s.Shrink()
	if !ok {
		return
	}
	c.used += left - e.bytes
	e.bytes, e.shrunk = left, true
}

func (c *Cache) drop(at *list.Element) {
	e := at.Value.(*entry)
	c.order.Remove(at)
	delete(c.byKey, e.key)
	c.used -= e.bytes
}

// Used returns how many bytes are kept.
func (c *Cache) Used() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}
