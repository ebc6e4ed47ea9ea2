package train

import (
	"fmt"

	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/rng"
)

// Recorded says what agents are shown again while they learn, so that their models of
// others do not forget whom they do not meet: rehearsal (Robins 1995).
type Recorded struct {
	Windows int      `yaml:"windows" doc:"recorded windows of bots, as long as played ones, of which one is shown beside each window that is learnt from, in turn; 0: none" range:"0.."`
	Who     []string `yaml:"who" doc:"who plays in them: bots, or RUN#AGENT for a frozen agent of an earlier run; everybody is any of them"`
}

// recorded is a record of known players, of fixed length, the same at every turn. It is not
// kept: a window is played again from its own stream, and takes no room in a checkpoint.
type recorded struct {
	windows int
	key     rng.Key
	envs    *rollout.Envs
	ro      *batch.Rollout
	players [][]rollout.Player // [worker][A]
	kind    [][]int            // [N][A] who plays
	kinds   int
}

// newRecorded returns nil if nothing is shown.
func newRecorded(c Config, parts Parts) (*recorded, error) {
	if c.Recorded.Windows == 0 {
		return nil, nil
	}
	key := parts.Key.Child("recorded")
	r := &recorded{windows: c.Recorded.Windows, key: key, kinds: len(c.Recorded.Who), kind: make([][]int, c.Envs)}
	seats := parts.Game.Spec().Seats
	for n := range r.kind {
		r.kind[n] = make([]int, seats)
	}
	var err error
	if r.envs, err = rollout.New(rollout.Config{Game: parts.Game, Envs: c.Envs, Key: key, Workers: 1}); err != nil {
		return nil, err
	}
	r.ro = batch.New(r.envs.Shape(c.Window, 0))
	r.players = [][]rollout.Player{make([]rollout.Player, seats)}
	for a := range seats {
		if r.players[0][a], err = r.player(c, parts, a); err != nil {
			return nil, fmt.Errorf("train: recorded: %w", err)
		}
	}
	return r, nil
}

// player returns who plays agent a: in each env whoever was dealt to it.
func (r *recorded) player(c Config, parts Parts, a int) (rollout.Player, error) {
	var all []rollout.Player // [who]
	for _, name := range c.Recorded.Who {
		hire, err := parts.Players(name)
		if err != nil {
			return nil, err
		}
		players, err := hire(1, c.Envs)
		if err != nil {
			return nil, err
		}
		all = append(all, players[0])
	}
	return &rollout.Split{
		Who: func(n int) int { return r.kind[n][a] }, Player: func(who int) rollout.Player { return all[who] },
	}, nil
}

// window returns the one that is shown beside an update, valid until the next call.
func (r *recorded) window(update int) (*batch.Rollout, error) {
	if r == nil {
		return nil, nil
	}
	key := r.key.Child("window", update%r.windows)
	deal := key.Child("kinds").Rand()
	for _, row := range r.kind {
		for a := range row {
			row[a] = deal.IntN(r.kinds)
		}
	}
	if err := r.envs.Restart(key); err != nil {
		return nil, err
	}
	return r.ro, r.envs.Collect(r.ro, r.players)
}
