package hop

import (
	"hop/game"
	"hop/mind"
	"hop/mind/hop/footprint"
	"hop/mind/hop/pretrained"
	"hop/model/actor"
	"hop/model/sequence"
	"hop/model/vae"
)

// width is how many numbers networks read about one co-player's goal, as far as that is
// known before models are.
func (c *Config) width(spec game.Spec) int {
	switch c.Goals.Kind {
	case "latent", "classes":
		return vae.Default().Dim + 1
	case "context":
		return sequence.Default().Width + 5
	}
	return c.features(spec, pretrained.Models{})
}

// GoalNumbers returns how many numbers about goals the own network reads, as far as that
// is known before models are.
func (c *Config) GoalNumbers(spec game.Spec) int {
	if !c.Goals.Read || c.Goals.Kind == "none" {
		return 0
	}
	return (spec.Seats - 1) * c.width(spec)
}

// Memory says about what planners take beside their own networks: see exp.Spec.Memory.
func (c *Config) Memory(g game.Game, net actor.Config, size mind.Sizes) ([]mind.Part, error) {
	spec := g.Spec()
	kinds := len(c.Hypotheses(spec.Goals))
	if c.Goals.OfKinds() {
		kinds = 2
	}
	return footprint.Planner{MOA: c.MOA.Config, Learning: c.MOA.Learning, Search: c.Search.Config, GoalLen: c.width(spec) + spec.Seats - 1,
		Kinds: kinds, Trees: groupTrees, Cached: 1 << cacheLog, Context: c.Goals.Kind == "context"}.Parts(spec, net, size)
}
