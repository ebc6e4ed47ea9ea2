package target

import (
	"testing"

	"github.com/hop-marl/hop/store/dataset"
)

// On a board of 2 by 3 with two seats: oneself top left, a stag top right, hares below, at one step
// and at two.
func TestTargetsAreThoseOfTheBots(t *testing.T) {
	l := dataset.Layout{Seats: 2, Height: 2, Width: 3, Planes: []string{"self", "other1", "block", "stag", "hare"}}
	things := func(put map[int]int) []uint8 {
		obs := make([]uint8, 6*5)
		obs[0] = 1
		for c, plane := range put {
			obs[c*5+plane] = 1
		}
		return obs
	}
	for _, c := range []struct {
		bot        int8
		put        map[int]int
		kind, cell int
	}{
		{0, map[int]int{2: 3, 3: 4, 4: 4}, 0, 2},
		{1, map[int]int{2: 3, 3: 4, 4: 4}, 1, 3},
		{0, map[int]int{3: 4, 4: 4}, 1, 3},        // no stag is left
		{1, map[int]int{1: 4, 3: 4}, 1, -1},       // two are as near
		{1, map[int]int{2: 3}, -1, -1},            // nothing to go for
		{0, map[int]int{2: 3, 4: 3, 3: 4}, 0, -1}, // two stags as near
	} {
		d := &dataset.Data{Manifest: dataset.Manifest{Bots: []string{"ns", "nh"}, Layout: l}}
		d.Columns = dataset.Columns{Obs: things(c.put), Bot: []int8{c.bot}}
		if kind, cell := Target(d, 0); kind != c.kind || cell != c.cell {
			t.Errorf("bot %d among %v is after %d at %d, want %d at %d", c.bot, c.put, kind, cell, c.kind, c.cell)
		}
	}
}
