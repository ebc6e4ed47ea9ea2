package allies

import (
	"testing"

	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/store/dataset"
)

// Seats 2 and 0 take a stag in episode 0, which seat 1 sees; in episode 1 seat 1 hunts alone, in vain.
func TestCrewsAreCountedOnceAndBySeat(t *testing.T) {
	const hunt = staghunt.HuntStag
	d := &dataset.Data{Manifest: dataset.Manifest{Layout: dataset.Layout{Seats: 3}}}
	d.Columns = dataset.Columns{
		Episode: []int32{0, 0, 0, 1}, Seat: []int8{2, 0, 1, 1}, Action: []int8{hunt, hunt, 4, hunt},
		Joint:   []int8{hunt, hunt, 4, hunt, 4, hunt, 4, hunt, hunt, hunt, 4, 4},
		Reward:  []float32{6, 4, 0, 0},
		Rewards: []float32{6, 4, 0, 4, 0, 6, 0, 6, 4, 0, 0, 0},
	}
	c := Count(d)
	if c.Episodes != 2 || c.Stags != 1 || c.Crews[2] != 1 || c.Together[0][2] != 1 || c.Together[2][0] != 1 || c.Together[0][1] != 0 ||
		c.Together[0][0] != 1 || c.Together[1][1] != 0 || c.Earned[2] != 3 || c.Earned[0] != 2 {
		t.Errorf("counted %+v", c)
	}
}
