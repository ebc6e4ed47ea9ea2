package tag

import (
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/game/script"
)

// Speak returns the co-player that a text describes.
func (g *Game) Speak(text string) (game.Policy, error) { return g.Language().Parse(text) }

// The things that one can go for: others, by their role.
const (
	thingPrey = iota
	thingPredator
)

// Language returns the words in which co-players of this game are described. An episode went
// well for prey that was never caught, and for predators if anybody caught prey, as all of them
// are paid. Others were kind to prey if they did not catch it, and to a predator if another one
// caught something. Where something was caught who chases did best, elsewhere who flees.
func (g *Game) Language() *script.Language {
	return script.Board(&script.Language{
		Game: g.spec.Name, Seats: g.seats, Actions: actions, Taking: actions, Shown: true, Seated: true,
		Things: []string{"prey", "predator"}, Bots: g.Bots(), Pair: [2]string{"chase", "flee"},
		Assess: func(_ *script.Tally, st game.State, s game.Seat) script.Outcome {
			p, o := st.(*State), script.Outcome{Best: 1}
			for i, n := range p.caught {
				if n > 0 {
					o.Best, o.Good = 0, true
					o.Kind = o.Kind || !p.prey(i) && game.Seat(i) != s
				}
			}
			if p.prey(int(s)) {
				o.Good = p.caught[s] == 0
				o.Kind = o.Good
			}
			return o
		},
	})
}

// Spots writes where the others of a role are, as one reads the board.
func (st *State) Spots(thing int, s game.Seat, dst []int16) int {
	n := 0
	for o := range st.g.seats {
		if game.Seat(o) != s && st.prey(o) == (thing == thingPrey) && n < len(dst) {
			dst[n] = st.Pos[o]
			n++
		}
	}
	slices.Sort(dst[:n])
	return n
}

// Steps returns how many moves one cell is from another.
func (st *State) Steps(from, to int16) int16 {
	if len(st.board.Blocks) == 0 {
		return st.board.Manhattan(from, to)
	}
	return st.board.Steps(from, to)
}

// Next returns where an action leads.
func (st *State) Next(cell int16, action int) int16 { return st.board.After(cell, action) }

// Extent returns the rows and columns.
func (st *State) Extent() (rows, columns int) { return st.g.c.Size, st.g.c.Size }

// Approach marks the moves to the cell of another, from beside it the one onto it, which is how
// prey is taken.
func (st *State) Approach(_ int, s game.Seat, spot int16, mask *game.Mask) bool {
	here := st.Pos[s]
	d := st.Steps(here, spot)
	if d == 0 {
		mask[grid.Stay] = true
	}
	for k, to := range st.board.Next[here] {
		if to != grid.None && d > 0 && st.Steps(to, spot) == d-1 {
			mask[k] = true
		}
	}
	return d <= 1
}

var _ script.Field = (*State)(nil)
