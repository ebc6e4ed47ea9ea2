package rules

import (
	"math"

	"github.com/hop-marl/hop/game"
)

// Drawn is a step of a game that draws, as one agent sees it, ego-first.
type Drawn struct {
	Before, After []float32 // [H][W][Planes]
	Feat          []float32 // [Features] before it
	Joint         []int32   // [Agents]
}

// Draws adds to nats what came of a step costs by the rules, minus the logarithm of
// its probability, and to entropy what it costs on average, both by plane.
type Draws func(s Drawn, nats, entropy []float64)

// Drawing is how a game's rules draw, written down from its description, by what is
// observed and the parameters of the spec; nil Draws: that is not known. A registry's entry
// of a game names one.
type Drawing = func(g game.Spec, p *Params) Draws

// Chance is how a game with its parameters draws; it is known of games whose entry has a Drawing.
type Chance func() Draws

// ChanceOf returns how a game draws with the parameters of its block in a spec.
func ChanceOf(g game.Spec, block map[string]any, of Drawing) Chance {
	return func() Draws { return of(g, &Params{block: block, used: map[string]bool{}}) }
}

// binary is the entropy of a coin toss, in nats.
func binary(q float64) float64 {
	if q <= 0 || q >= 1 {
		return 0
	}
	return -q*math.Log(q) - (1-q)*math.Log(1-q)
}

// on reports whether a plane is set on a cell.
func on(planes []float32, width, cell, plane int) bool { return planes[cell*width+plane] != 0 }

// cellOf returns where a plane is set, -1 nowhere.
func cellOf(planes []float32, width, plane int) int {
	for i := plane; i < len(planes); i += width {
		if planes[i] != 0 {
			return i / width
		}
	}
	return -1
}

// CoinChance: a new coin has an owner drawn evenly, and a cell drawn evenly of those
// without agents, once there was none for a step, or at once if nothing is waited.
// How much longer is to be waited is not observed, so longer pauses have no law; nor have
// coins that grow and agents in each other's way.
func CoinChance(g game.Spec, p *Params) Draws {
	pause, byAction := p.Whole("pause"), p.Text("take") == "action"
	if pause > 1 || p.Number("grow") > 0 || p.Yes("solid") || p.Whole("from") > 0 {
		return nil
	}
	n, w := g.Seats, len(g.Obs.Planes)
	return func(s Drawn, nats, entropy []float64) {
		free := g.Obs.Height * g.Obs.Width
		coin, there, taken := -1, false, false
		for k := range n {
			if c := cellOf(s.Before, w, n+k); c >= 0 {
				coin, there = c, true
			}
		}
		under := map[int]bool{}
		for a := range n {
			c := cellOf(s.After, w, a)
			if !under[c] {
				under[c] = true
				free--
			}
			taken = taken || there && c == coin && (!byAction || s.Joint[a] == first)
		}
		if !(taken && pause == 0 || !there && pause == 1) {
			return
		}
		// One owner after the other, ego-first: has it the coin, if none before it has?
		place, found := math.Log(float64(free)), false
		for k := range n {
			q := 1 / float64(n-k)
			entropy[n+k] += float64(n-k) / float64(n) * (binary(q) + q*place)
			switch has := cellOf(s.After, w, n+k) >= 0; {
			case found:
			case has:
				nats[n+k] += place - math.Log(q)
				found = true
			default:
				nats[n+k] -= math.Log(1 - q)
			}
		}
	}
}

// CleanupChance: with some probability one of the clean river cells fills, each as
// likely; then each bare orchard cell grows an apple, the likelier the less waste
// there is.
func CleanupChance(g game.Spec, p *Params) Draws {
	n, w, size := g.Seats, len(g.Obs.Planes), g.Obs.Width
	river, waste, orchard, apple := n, n+1, n+2, n+3
	reach, pollution := p.Whole("reach"), p.Number("pollution")
	growth, low, high := p.Number("growth"), p.Number("restoration"), p.Number("depletion")
	return func(s Drawn, nats, entropy []float64) {
		cells := g.Obs.Height * g.Obs.Width
		cleaned, picked := make([]bool, cells), make([]bool, cells)
		for a, k := range s.Joint {
			at := cellOf(s.Before, w, a)
			switch {
			case at < 0:
			case k == first:
				for c := range cells {
					dy, dx := at/size-c/size, at%size-c%size
					cleaned[c] = cleaned[c] || max(dy, -dy)+max(dx, -dx) <= reach
				}
			case k == first+1:
				picked[at] = true
			}
		}
		all, clean, bare, grew := 0, 0, 0, 0
		filled := false
		for c := range cells {
			if on(s.Before, w, c, river) {
				all++
				if !on(s.Before, w, c, waste) || cleaned[c] {
					clean++
					filled = filled || on(s.After, w, c, waste)
				}
			}
			if on(s.Before, w, c, orchard) && (!on(s.Before, w, c, apple) || picked[c]) {
				bare++
				if on(s.After, w, c, apple) {
					grew++
				}
			}
		}
		rate := func(clean int) float64 {
			dirt := float64(all-clean) / float64(all)
			return max(0, growth*min((high-dirt)/(high-low), 1))
		}
		if clean == 0 {
			nats[apple] += tosses(rate(0), grew, bare)
			entropy[apple] += float64(bare) * binary(rate(0))
			return
		}
		entropy[waste] += binary(pollution) + pollution*math.Log(float64(clean))
		entropy[apple] += float64(bare) * ((1-pollution)*binary(rate(clean)) + pollution*binary(rate(clean-1)))
		if filled {
			nats[waste] += math.Log(float64(clean)) - math.Log(pollution)
			clean--
		} else {
			nats[waste] -= math.Log(1 - pollution)
		}
		nats[apple] += tosses(rate(clean), grew, bare)
	}
}

// CommonsChance: each bare orchard cell grows an apple, the likelier the more apples are within
// reach of it once all have harvested.
func CommonsChance(g game.Spec, p *Params) Draws {
	n, w, size := g.Seats, len(g.Obs.Planes), g.Obs.Width
	orchard, apple := n, n+1
	reach, growth := p.Whole("reach"), p.Number("growth")
	return func(s Drawn, nats, entropy []float64) {
		left := make([]bool, g.Obs.Height*size)
		for c := range left {
			left[c] = on(s.Before, w, c, apple)
		}
		for a, k := range s.Joint {
			if at := cellOf(s.Before, w, a); k == first && at >= 0 {
				left[at] = false
			}
		}
		for c, there := range left {
			if there || !on(s.Before, w, c, orchard) {
				continue
			}
			near := 0
			for to, there := range left {
				dy, dx := to/size-c/size, to%size-c%size
				if there && max(dy, -dy)+max(dx, -dx) <= reach {
					near++
				}
			}
			q, grown := min(1, growth*float64(near)), 0
			if on(s.After, w, c, apple) {
				grown = 1
			}
			nats[apple] += tosses(q, grown, 1)
			entropy[apple] += binary(q)
		}
	}
}

// tosses returns what hits of n tosses cost, in one order.
func tosses(q float64, hits, n int) float64 {
	cost := 0.
	if hits > 0 {
		cost -= float64(hits) * math.Log(q)
	}
	if hits < n {
		cost -= float64(n-hits) * math.Log(1-q)
	}
	return cost
}

// TagChance: a caught prey appears on any free cell far enough from every predator, or
// as far as there is one.
func TagChance(g game.Spec, p *Params) Draws {
	n, w, size := g.Seats, len(g.Obs.Planes), g.Obs.Width
	start := p.Whole("start")
	step := [...]int{-size, size, -1, 1}
	return func(s Drawn, nats, entropy []float64) {
		was, meant := make([]int, n), make([]int, n)
		for a := range n {
			was[a] = cellOf(s.Before, w, a)
			meant[a] = was[a]
			if k := s.Joint[a]; k >= 0 && k < first-1 {
				meant[a] += step[k]
			}
		}
		free := 0 // counted once something is caught
		for a := range n {
			if s.Feat[a] == 0 {
				continue
			}
			caught := false
			for b := range n {
				caught = caught || s.Feat[b] == 0 && (meant[b] == meant[a] || meant[b] == was[a] && was[b] == meant[a])
			}
			if !caught {
				continue
			}
			if free == 0 {
				free = hideouts(s, g, meant, start)
			}
			nats[a] += math.Log(float64(free))
			entropy[a] += math.Log(float64(free))
		}
	}
}

// hideouts counts where prey may appear when the predators are where they meant to go.
func hideouts(s Drawn, g game.Spec, at []int, start int) int {
	height, width := g.Obs.Height, g.Obs.Width
	dist := make([]int, height*width)
	var queue []int
	for c := range dist {
		dist[c] = -1
	}
	for a, c := range at {
		if s.Feat[a] == 0 && dist[c] < 0 {
			dist[c] = 0
			queue = append(queue, c)
		}
	}
	farthest := 0
	for len(queue) > 0 {
		c := queue[0]
		queue = queue[1:]
		farthest = max(farthest, dist[c])
		y, x := c/width, c%width
		for _, d := range [...][2]int{{-1, 0}, {1, 0}, {0, -1}, {0, 1}} {
			yy, xx := y+d[0], x+d[1]
			if yy < 0 || yy >= height || xx < 0 || xx >= width {
				continue
			}
			if to := yy*width + xx; dist[to] < 0 && !on(s.Before, len(g.Obs.Planes), to, g.Seats) {
				dist[to] = dist[c] + 1
				queue = append(queue, to)
			}
		}
	}
	n := 0
	for _, d := range dist {
		if d >= min(farthest, start) {
			n++
		}
	}
	return n
}
