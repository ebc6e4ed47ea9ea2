package oracle

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
)

// Lasting is the best response to co-players of whom some remember episodes: what is best in an
// episode depends on what they will remember of it. It maximises what a long life earns an
// episode, over starts that were drawn once.
//
// What they remember is a node, and an episode leads from node to node. The worth of a node with
// k episodes to go is the mean over starts of the best response's value, in which the end of an
// episode is worth what the node it leads to is worth with k-1 to go. The gain is what a further
// episode adds, once that has settled.
type Lasting struct {
	Gain   float64 // what an episode earns in the long run, from the co-players' first memories
	SE     float64 // of that, over starts
	Nodes  int     // what they can come to remember
	States int     // the most states of one start at one node
	Rounds int     // episodes to go until the gain had settled

	g     game.Game
	br    *BR
	texts []string // [seats] as the co-players are called
	nodes map[string]*node
	order []*node
}

// node is what the co-players remember, all of them.
type node struct {
	memory [][]uint16 // [seats] nil: it remembers nothing
	worth  []float64  // by episodes to go
	names  []string   // [seats] of the co-players who remember that
}

// lastingRounds is how far ahead it looks at most, and lastingPeriod over how many episodes a
// gain is taken, so that those who take turns over a few episodes are met at every turn.
const (
	lastingRounds = 60
	lastingPeriod = 12
)

// NewLasting solves for the long run against co-players, who sit behind the focal seat 0, from
// so many starts, with at most so many steps of the rules each.
func NewLasting(ctx context.Context, g game.Game, others []string, starts, steps int, key rng.Key) (*Lasting, error) {
	br, err := NewBR(g, 1)
	if err != nil {
		return nil, err
	}
	if len(others) != g.Spec().Seats-1 {
		return nil, fmt.Errorf("oracle: best responses in the long run: %d co-players for %d seats", len(others), g.Spec().Seats-1)
	}
	br.Until(ctx, 0)
	br.Within(steps)
	l := &Lasting{g: g, br: br, texts: append([]string{""}, others...), nodes: map[string]*node{}}
	first := make([][]uint16, len(l.texts))
	for s, name := range l.texts[1:] {
		bot, err := game.NewBot(g, name)
		if err != nil {
			return nil, err
		}
		if r, ok := bot.(game.Recaller); ok {
			if first[s+1] = slices.Clone(r.Memory()); !r.After(slices.Clone(r.Memory()), g.New(), 1) {
				return nil, fmt.Errorf("oracle: best responses in the long run: the end of an episode does not tell what %q remembers of it", name)
			}
		}
	}
	begin, err := l.node(first)
	if err != nil {
		return nil, err
	}
	boards := make([]game.State, starts)
	rules := key.Child("rules").Rand()
	for i := range boards {
		boards[i] = g.New()
		boards[i].Reset(&rules)
	}
	var gains []float64
	for far := 1; far <= lastingRounds; far++ {
		for at := 0; at < len(l.order); at++ { // all that can come to be remembered is found in the first round
			spread, err := l.solve(l.order[at], far, boards)
			if err != nil {
				return nil, err
			}
			if at == 0 {
				l.SE, l.Rounds = spread, far
			}
		}
		if far > lastingPeriod {
			gains = append(gains, (begin.worth[far]-begin.worth[far-lastingPeriod])/lastingPeriod)
		}
		if n := len(gains); n > 3 && math.Abs(gains[n-1]-gains[n-4]) < 1e-3 {
			break
		}
	}
	l.Gain, l.Nodes = gains[len(gains)-1], len(l.order)
	return l, nil
}

// node returns the node of memories, which may be new. Co-players of one text are
// interchangeable where seats are.
func (l *Lasting) node(memory [][]uint16) (*node, error) {
	if l.g.Spec().Symmetric {
		for s := range memory {
			for at := s; at > 1 && l.texts[at] == l.texts[at-1] && slices.Compare(memory[at], memory[at-1]) < 0; at-- {
				memory[at], memory[at-1] = memory[at-1], memory[at]
			}
		}
	}
	name := fmt.Sprint(memory)
	if n := l.nodes[name]; n != nil {
		return n, nil
	}
	n := &node{worth: []float64{0}, names: slices.Clone(l.texts)}
	for s, m := range memory {
		n.memory = append(n.memory, slices.Clone(m))
		if m == nil {
			continue
		}
		n.names[s] = fmt.Sprintf("%s %v", l.texts[s], m)
		if l.br.known[n.names[s]] == nil {
			bot, err := game.NewBot(l.g, l.texts[s])
			if err != nil {
				return nil, err
			}
			r := bot.(game.Recaller)
			r.Remember(m)
			l.br.known[n.names[s]] = r
		}
	}
	l.nodes[name] = n
	l.order = append(l.order, n)
	return n, nil
}

// solve adds a node's worth with so many episodes to go, and returns how sure that is.
func (l *Lasting) solve(n *node, far int, boards []game.State) (se float64, err error) {
	after := make([][]uint16, len(n.memory))
	var failed error
	l.br.end = func(st game.State) float64 {
		for s, m := range n.memory {
			if after[s] = nil; m != nil {
				after[s] = slices.Clone(m)
				l.br.known[n.names[s]].(game.Recaller).After(after[s], st, game.Seat(s))
			}
		}
		next, err := l.node(after)
		if failed = cmp.Or(failed, err); err != nil {
			return 0
		}
		return next.worth[far-1]
	}
	var sum stats.Acc
	for _, b := range boards {
		l.br.episode = 0 // the ends are worth something else than at the last call
		v, err := l.br.Value(b, 0, n.names)
		if err = cmp.Or(failed, err); err != nil {
			return 0, err
		}
		l.States = max(l.States, l.br.States())
		sum.Add(v)
	}
	n.worth = append(n.worth, sum.Mean())
	return sum.SE(), nil
}
