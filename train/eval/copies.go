package eval

import (
	"sync"

	"github.com/hop-marl/hop/game/rollout"
)

// Copies are the members of a team, as often as they play at a time: those who play side by side
// must not share what they remember.
type Copies struct {
	New  func() ([]Member, error)
	mu   sync.Mutex
	free [][]Member
}

// With hands over members with whom nobody else plays meanwhile.
func (c *Copies) With(do func([]Member) error) error {
	list, err := c.take()
	if err != nil {
		return err
	}
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.free = append(c.free, list)
	}()
	return do(list)
}

func (c *Copies) take() (list []Member, err error) {
	c.mu.Lock()
	if last := len(c.free) - 1; last >= 0 {
		list, c.free = c.free[last], c.free[:last]
	}
	c.mu.Unlock()
	if list == nil {
		return c.New()
	}
	return list, nil
}

// PerWorker makes a player for each worker.
func PerWorker(player func(lanes int) (rollout.Player, error)) func(workers, lanes int) ([]rollout.Player, error) {
	return func(workers, lanes int) (players []rollout.Player, err error) {
		for range workers {
			p, err := player(lanes)
			if err != nil {
				return nil, err
			}
			players = append(players, p)
		}
		return players, nil
	}
}
