package hop

import (
	"github.com/hop-marl/hop/agent/hop/pretrained"
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/model/sequence"
	"github.com/hop-marl/hop/model/vae"
)

// width is how many numbers networks read about one co-player's goal, as far as that is
// known before models are.
func (c *Config) width(spec game.Spec) int {
	switch c.Goals.Kind {
	case "latent", "classes":
		return vae.Default().Dim + 1
	case "context":
		if c.Goals.Life > 0 { // who learns in lives reads a code of a few numbers, by a recurrent model
			return 16
		}
		return sequence.Default().Width + 5
	}
	return c.shape(spec, pretrained.Models{}).width
}

// GoalNumbers returns how many numbers about goals the own network reads, as far as that
// is known before models are.
func (c *Config) GoalNumbers(spec game.Spec) int {
	if !c.Goals.Read || c.Goals.Kind == "none" {
		return 0
	}
	return (spec.Seats - 1) * c.width(spec)
}

// Memory says about what planners take beside their own networks, before there are any: see
// spec.Spec.Memory.
func (c *Config) Memory(g game.Game, net actor.Config, size learner.Sizes) ([]learner.Part, error) {
	spec := g.Spec()
	hypotheses := len(c.Hypotheses(spec.Goals))
	if c.Goals.OfKinds() {
		hypotheses = 2
	}
	in := moa.NewInput(frame.Layout(spec.Obs), spec.Seats, spec.Actions, c.width(spec)+spec.Seats-1)
	_, others, err := moa.Layers(c.For(spec).MOA.Config, in)
	if err != nil {
		return nil, err
	}
	_, own, err := actor.Layers(net, actor.Input{Input: in.Input, Actions: in.Actions})
	if err != nil {
		return nil, err
	}
	cells := in.Height * in.Width
	row, ownRow := learner.RowBytes(others, cells), learner.RowBytes(own, cells)
	minds, peers, k, obs := float64(spec.Seats), float64(spec.Seats-1), float64(in.Actions), float64(spec.Obs.Len())
	envs, players := float64(size.Envs), minds*float64(size.Workers)

	// Weights, gradients, Adam's two, the start, the shards' gradients; a batch of rows; and the
	// trajectories of a window, of whose numbers few are not zero, of the minds that learn now.
	seen := float64(size.Window) * envs * peers * min(1, float64(2*size.Workers)/minds)
	shards := model.Shards(c.MOA.Shards, c.MOA.Batch)
	models := minds * (4*float64(others.Len())*(5+float64(shards)) + float64(4*c.MOA.Batch)*row +
		seen*(obs+4*float64(in.GoalLen)+k))

	// Trees with the states in them, a byte for each number observed, and two memories of answers.
	forest, slots := c.Search.Bytes(in.Actions, spec.Seats-1, size.Envs, groupTrees)
	group := min(groupTrees, size.Envs*c.Search.Resolve(in.Actions).Trees)
	asked := float64(together(group*(spec.Seats-1), &spec))
	search := players * (forest + slots*(16+obs) + 2*float64(int(1)<<keptLog(spec.Seats))*(8+4*(k+1)) + asked*row + float64(group)*ownRow)

	asked = float64(together(size.Envs*(spec.Seats-1)*hypotheses, &spec))
	beliefs := players * (asked*(row+4*k) + 4*obs + 4*envs*peers*float64(hypotheses)*k)
	list := []learner.Part{
		{Name: "models of others", Bytes: models, Fields: []string{"train.envs", "train.window", "moa.hidden"}},
		{Name: "search trees", Bytes: search, Fields: []string{"search.sims", "search.trees", "train.envs"}},
		{Name: "beliefs", Bytes: beliefs, Fields: []string{"train.envs", "moa.hidden"}},
	}
	if c.Goals.Kind == "context" { // keys and values of a model of the usual size, or a state; and what was seen last
		m := sequence.Default()
		each := float64(2*m.Layers*m.Window*m.Width) + obs
		if c.Goals.Life > 0 {
			each = float64(2*m.Width) + obs
		}
		list = append(list, learner.Part{Name: "contexts", Bytes: 4 * minds * envs * peers * each, Fields: []string{"train.envs"}})
	}
	return list, nil
}
