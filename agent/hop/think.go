package hop

import (
	"slices"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/unknown"
)

// Trace makes the player remember the lines of its searches, for Think.
func (p *player) Trace() { p.search.forest.Trace() }

// Forest returns the memory of its searches.
func (p *player) Forest() *search.Forest { return p.search.forest }

// lineLen is how far ahead a shown line goes at most.
const lineLen = 12

// Think returns the first of the last decisions, for people to look at.
func (p *player) Think() search.Thought {
	s := p.search
	t := s.forest.Think(0, lineLen)
	if len(s.env) == 0 {
		return t
	}
	n := s.env[0]
	t.Script = p.answers.of(n)
	if moved := p.answers.moved(n); moved != nil {
		t.Made, t.Policy = true, slices.Clone(moved)
	}
	for j := range p.sees.others {
		g := search.Posterior{
			Seat: int(s.seats[j+1]), Left: s.parts[0].rules.Legal(0, 0, j+1) == 0, Expected: make([]float64, len(p.sees.spec.Actions)),
		}
		g.Names, g.Probs = p.InWords(n, j)
		p.Read(g.Expected, n, j)
		t.Posteriors = append(t.Posteriors, g)
	}
	return t
}

// Others returns whom the player models.
func (p *watcher) Others() []agent.ID { return p.sees.others }

// Read writes what co-player j of env n is expected to do, by belief and model of
// others.
func (p *watcher) Read(dst []float64, n, j int) (posterior []float64) {
	posterior = p.beliefs.At(n, j)
	probs, k := p.predictions.of(p.sees.at(n, j)), len(p.sees.spec.Actions)
	clear(dst)
	for g, b := range posterior {
		for i := range k {
			dst[i] += b * float64(probs[g*k+i])
		}
	}
	return posterior
}

// InWords returns how likely co-player j of env n is held to be after each goal: the
// beliefs over hypotheses times the words of each.
func (p *watcher) InWords(n, j int) (names []string, probs []float64) {
	for g, b := range p.beliefs.At(n, j) {
		words := []Word{{"random", 1}}
		switch {
		case g != p.shape.doubt:
			words = p.goals.Explain(n, j, g)
		case b == 0: // who knows no types never says so
			continue
		}
		for _, w := range words { // hypotheses may lead to the same goals
			at := slices.Index(names, w.Name)
			if at < 0 {
				at, names, probs = len(names), append(names, w.Name), append(probs, 0)
			}
			probs[at] += b * w.Share
		}
	}
	return names, probs
}

// Plan returns the plan against somebody unknown, for audits; nil: there is none.
func (p *watcher) Plan() *unknown.Plan {
	if p.answers == nil {
		return nil
	}
	return p.answers.plan
}

// Believes returns what the player holds about co-player j of env n, for audits.
func (p *watcher) Believes(n, j int) learner.Belief {
	at := p.sees.at(n, j)
	b := learner.Belief{Posterior: p.beliefs.At(n, j), Expected: p.predictions.of(at)}
	if all := len(p.sees.others) * len(p.beliefs.held); p.inferred.Mean != nil {
		b.Mean, b.Spread = p.inferred.point(at, len(p.inferred.Mean)/all)
	}
	return b
}
