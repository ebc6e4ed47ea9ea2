package train

import (
	"fmt"
	"strings"

	"hop/plan"
)

// Trace makes the player remember the lines of its searches, for Think.
func (p *hopPlayer) Trace() { p.forest.Trace() }

// lineLen is how far ahead a shown line goes at most.
const lineLen = 12

// Think returns the first of the last decisions, for people to look at.
func (p *hopPlayer) Think() plan.Thought {
	h := p.h
	t := p.forest.Think(0, lineLen)
	if len(p.env) == 0 {
		return t
	}
	n := p.env[0]
	for j := range h.others {
		g := plan.Posterior{Seat: int(p.seats[j+1]), Left: p.world.Legal(0, 0, j+1) == 0}
		for i, b := range h.belief[n].At(0, j) {
			g.Names, g.Probs = append(g.Names, p.name(n, j, i)), append(g.Probs, float64(b))
		}
		t.Posteriors = append(t.Posteriors, g)
	}
	return t
}

// name says in words what hypothesis i about co-player j of env n is.
func (p *hopPlayer) name(n, j, i int) string {
	switch goals := p.h.spec.Goals; {
	case i == p.h.random:
		return "random"
	case p.h.cfg.Goals == "hand" && i < len(goals):
		return goals[i]
	case p.h.cfg.Goals == "latent":
		var words []string
		for _, x := range p.guess.now(n, j, i) {
			words = append(words, fmt.Sprintf("%.1f", x))
		}
		return "z " + strings.Join(words[:min(len(words), 4)], " ")
	case p.h.cfg.Goals == "none":
		return "any"
	}
	return fmt.Sprint("class ", i)
}

var _ interface {
	Trace()
	Think() plan.Thought
} = (*hopPlayer)(nil)
