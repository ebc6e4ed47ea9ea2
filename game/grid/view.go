package grid

import "github.com/hop-marl/hop/game"

// A seat may see no more than the cells around it: those at most view rows and view columns
// away, its own among them (game.Spec.View); 0 is the whole board. What lies beyond is 0 in
// every plane. No plane says which cells are seen, because plane 0 does: it shows where one
// stands, and the radius is the same for all and for good.
//
// Of the others one sees who stands in view, and what those did who stood in view when they
// did it; so the last action of somebody who has just left is seen by those who saw it.

// inView reports whether a cell is in the view from another, on a board of so many columns.
func inView(view, width int, from, c int16) bool {
	w := int16(width)
	dy, dx := from/w-c/w, from%w-c%w
	return max(dy, -dy, dx, -dx) <= int16(view)
}

// Look notes who of n seats stands in whose view, before a step is played.
func (p *Players) Look(view, width, n int) {
	if view == 0 {
		return
	}
	for s, from := range p.Pos[:n] {
		p.Saw[s] = 0
		for o, c := range p.Pos[:n] {
			if from != None && c != None && inView(view, width, from, c) {
				p.Saw[s] |= 1 << o
			}
		}
	}
}

// Hide makes an observation of the whole board by seat s one of what is in its view: the
// rest is 0. It expects the layout of games on a board: features, if there are any, are one
// for each seat and then one for each plane of things, in their order.
func (p *Players) Hide(l *game.Layout, dst []float32, s game.Seat, view int) {
	if view == 0 {
		return
	}
	n, planes := l.Last, len(l.Planes)
	for c := range int16(l.Height * l.Width) {
		if p.Pos[s] == None || !inView(view, l.Width, p.Pos[s], c) {
			clear(dst[int(c)*planes : (int(c)+1)*planes])
		}
	}
	for k := range l.Features {
		if !shows(l, dst, k) {
			dst[l.FeaturesAt()+k] = 0
		}
	}
	for k := 1; k < n; k++ {
		if at := l.LastAt() + k*l.Legal; p.Saw[s]>>((int(s)+k)%n)&1 == 0 {
			clear(dst[at : at+l.Legal])
		}
	}
}

// shows reports whether an observation has anything on a plane.
func shows(l *game.Layout, dst []float32, plane int) bool {
	for i := plane; i < l.PlanesLen(); i += len(l.Planes) {
		if dst[i] != 0 {
			return true
		}
	}
	return false
}
