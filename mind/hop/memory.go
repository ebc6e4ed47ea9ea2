package hop

import (
	"hop/game"
	"hop/mind"
	"hop/mind/hop/pretrained"
	"hop/model/actor"
	"hop/model/moa"
	"hop/model/vae"
)

// width is how many numbers networks read about one co-player's goal, as far as that is
// known before models are.
func (c *Config) width(spec game.Spec) int {
	if c.Goals.Kind != "latent" && c.Goals.Kind != "classes" {
		return c.features(spec, pretrained.Models{})
	}
	return vae.Default().Dim + 1
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
	in := moaInput(spec)
	in.GoalLen = c.width(spec) + spec.Seats - 1
	_, others, err := moa.Layers(c.MOA.Config, in)
	if err != nil {
		return nil, err
	}
	_, own, err := actor.Layers(net, actor.Input{Input: in.Input, Actions: in.Actions})
	if err != nil {
		return nil, err
	}
	cells := in.Height * in.Width
	row, ownRow := mind.RowBytes(others, cells), mind.RowBytes(own, cells)
	minds, peers, k, obs := float64(spec.Seats), float64(spec.Seats-1), float64(in.Actions), float64(spec.Obs.Len())
	envs, players := float64(size.Envs), minds*float64(size.Workers)

	// Weights, gradients, Adam's two, the start, the shards' gradients; a batch of rows; and the
	// trajectories of a window, of whose numbers few are not zero.
	seen := float64(size.Window) * envs * peers
	models := minds * (4*float64(others.Len())*(5+float64(c.MOA.Shards)) + float64(4*c.MOA.Batch)*row + seen*(obs+4*float64(in.GoalLen)+k))

	// Trees with the states in them, a byte for each number observed, and two memories of answers.
	forest, slots := c.Search.Bytes(in.Actions, spec.Seats-1, size.Envs, groupTrees)
	group, cached := min(groupTrees, envs*float64(c.Search.Resolve(in.Actions).Trees)), float64(int(1)<<cacheLog)
	search := players * (forest + slots*(16+obs) + 2*cached*(8+4*(k+1)) + group*(peers*row+ownRow))

	kinds := float64(len(c.Hypotheses(spec.Goals)))
	if c.Goals.Kind == "latent" {
		kinds = 2
	}
	beliefs := players * envs * peers * kinds * (row + 4*obs + 4*float64(in.GoalLen) + 8*k)
	return []mind.Part{
		{Name: "models of others", Bytes: models, Fields: []string{"train.envs", "train.window", "moa.hidden"}},
		{Name: "search trees", Bytes: search, Fields: []string{"search.sims", "search.trees", "train.envs"}},
		{Name: "beliefs", Bytes: beliefs, Fields: []string{"train.envs", "moa.hidden"}},
	}, nil
}
