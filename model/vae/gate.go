package vae

import "github.com/hop-marl/hop/game/frame"

// Gate says when inferring a goal is worth it: when the modelled agent is within
// Distance steps, walls not counted, of something it could want. Elsewhere its
// goal is the neutral one, zeros.
type Gate struct {
	Layout   frame.Input
	Prey     []int // planes of the things it could want
	Distance int   // negative: the gate is always open
}

// NewGate returns a gate over the boards of a layout for so many seats: what an agent
// could want is all that is neither an agent nor a block.
func NewGate(l frame.Layout, seats, distance int) Gate {
	return Gate{Layout: l.Input(), Prey: l.Meaning(seats, 0, nil).Things(len(l.Planes)), Distance: distance}
}

// Open reports whether to infer the goal of the agent whose observation this is. An
// agent that is not on the board has no goal.
func (g Gate) Open(obs []float32) bool {
	if g.Distance < 0 {
		return true
	}
	h, w, c := g.Layout.Height, g.Layout.Width, g.Layout.Planes
	me := -1
	for at := range h * w {
		if obs[at*c] > 0.5 {
			me = at
			break
		}
	}
	if me < 0 {
		return false
	}
	y, x := me/w, me%w
	for row := max(0, y-g.Distance); row <= min(h-1, y+g.Distance); row++ {
		left := g.Distance - abs(row-y)
		for col := max(0, x-left); col <= min(w-1, x+left); col++ {
			for _, k := range g.Prey {
				if obs[(row*w+col)*c+k] > 0.5 {
					return true
				}
			}
		}
	}
	return false
}

// Apply writes the neutral goal over z unless the gate is open, and reports
// whether it is.
func (g Gate) Apply(z, obs []float32) bool {
	if g.Open(obs) {
		return true
	}
	clear(z)
	return false
}

func abs(x int) int {
	if x < 0 {
		return -x
	}
	return x
}
