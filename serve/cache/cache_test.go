package cache

import (
	"fmt"
	"testing"
)

// soft is a value that can be made smaller.
type soft struct{ bytes int }

func (s *soft) Shrink() (int, bool) { s.bytes /= 10; return s.bytes, true }

// What was asked for longest ago goes first, and the budget holds whatever is put.
func TestTheBudgetHoldsAndTheLeastRecentGoesFirst(t *testing.T) {
	c := New(10_000)
	for i := range 100 {
		c.Put(fmt.Sprint(i), i, 1000)
		c.Get("0")
		if c.Used() > 10_000 {
			t.Fatalf("%d bytes are kept", c.Used())
		}
	}
	for key, want := range map[string]bool{"0": true, "99": true, "1": false, "50": false} {
		if v, ok := c.Get(key); ok != want || ok && fmt.Sprint(v) != key {
			t.Errorf("%s: %v %v", key, v, ok)
		}
	}
	c.Put("0", 0, 1_000_000)
	if _, ok := c.Get("0"); ok || c.Used() != 0 {
		t.Errorf("more than the budget is kept: %d bytes", c.Used())
	}
	c.Put("a", 1, 100)
	c.Put("a", 2, 200)
	if v, _ := c.Get("a"); v != 2 || c.Used() != 200+1+128 {
		t.Errorf("put twice: %v, %d bytes", v, c.Used())
	}
}

func TestWhatCanBeSmallerIsMadeSmallerBeforeItIsDropped(t *testing.T) {
	c := New(10_000)
	for i := range 20 {
		c.Put(fmt.Sprint(i), &soft{3000}, 3000)
	}
	kept := 0
	for i := range 20 {
		if _, ok := c.Get(fmt.Sprint(i)); ok {
			kept++
		}
	}
	if kept < 18 || c.Used() > 10_000 {
		t.Errorf("%d of 20 are kept, in %d bytes", kept, c.Used())
	}
}
