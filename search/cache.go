package search

// Cache keeps rows of numbers by key. It has a fixed size and forgets what is
// in the way, so it must only be asked for what can be computed again.
type Cache struct {
	Asked, Found int64
	width        int
	key          []uint64
	rows         []float32 // [len(key)][width]
}

// NewCache returns an empty cache of 2^log rows.
func NewCache(log, width int) *Cache {
	return &Cache{width: width, key: make([]uint64, 1<<log), rows: make([]float32, width<<log)}
}

// Clear forgets everything, as it must when weights have changed.
func (c *Cache) Clear() { clear(c.key) }

// Find returns the row of a key, a view, or nil. Key 0 is never found.
func (c *Cache) Find(key uint64) []float32 {
	c.Asked++
	at := int(mix(key)>>20) & (len(c.key) - 1)
	if key == 0 || c.key[at] != key {
		return nil
	}
	c.Found++
	return c.rows[at*c.width : (at+1)*c.width]
}

// Put returns the row in which to keep what belongs to a key.
func (c *Cache) Put(key uint64) []float32 {
	at := int(mix(key)>>20) & (len(c.key) - 1)
	c.key[at] = key
	return c.rows[at*c.width : (at+1)*c.width]
}
