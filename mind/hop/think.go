package hop

import (
	"hop/agent"
	"hop/mind"
	"hop/plan"
)

// Trace makes the player remember the lines of its searches, for Think.
func (p *player) Trace() { p.forest.Trace() }

// Forest returns the memory of its searches.
func (p *player) Forest() *plan.Forest { return p.forest }

// lineLen is how far ahead a shown line goes at most.
const lineLen = 12

// Think returns the first of the last decisions, for people to look at.
func (p *player) Think() plan.Thought {
	t := p.forest.Think(0, lineLen)
	if len(p.env) == 0 {
		return t
	}
	n := p.env[0]
	for j := range p.others {
		g := plan.Posterior{Seat: int(p.seats[j+1]), Left: p.rules.Legal(0, 0, j+1) == 0, Expected: make([]float64, len(p.spec.Actions))}
		g.Names, g.Probs = p.InWords(n, j)
		p.Read(g.Expected, n, j)
		t.Posteriors = append(t.Posteriors, g)
	}
	return t
}

// Others returns whom the player models.
func (p *watcher) Others() []agent.ID { return p.others }

// Read writes what co-player j of env n is expected to do, by belief and model of
// others.
func (p *watcher) Read(dst []float64, n, j int) (posterior []float64) {
	k := len(p.spec.Actions)
	posterior = p.beliefs[n].At(0, j)
	probs := p.likelihoods[p.at(n, j)*p.kinds*k:]
	clear(dst)
	for g, b := range posterior {
		for i := range k {
			dst[i] += b * float64(probs[g*k+i])
		}
	}
	return posterior
}

// Believes returns what the player holds about co-player j of env n, for audits.
func (p *watcher) Believes(n, j int) mind.Belief {
	size := p.kinds * len(p.spec.Actions)
	b := mind.Belief{Posterior: p.beliefs[n].At(0, j), Expected: p.likelihoods[p.at(n, j)*size:][:size]}
	switch f := p.inference.(type) {
	case *latentInference:
		b.Mean, b.Spread = f.at(n, j)
	case contextInference:
		b.Mean, b.Spread = f.At(n, j), f.Spread()
	}
	return b
}

var (
	_ mind.Thinking  = (*player)(nil)
	_ mind.Timed     = (*player)(nil)
	_ mind.Believing = (*player)(nil)
)
