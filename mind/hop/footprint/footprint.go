// Package footprint estimates how much memory planners take, before there are any.
package footprint

import (
	"hop/frame"
	"hop/game"
	"hop/mind"
	"hop/model"
	"hop/model/actor"
	"hop/model/moa"
	"hop/model/sequence"
	"hop/plan"
)

// Planner is what the memory of planners depends on.
type Planner struct {
	MOA      moa.Config
	Learning moa.Learning
	Search   plan.Config
	GoalLen  int  // numbers that the model of others reads about goals and whom it models
	Kinds    int  // hypotheses about a co-player
	Trees    int  // that are searched at a time
	Cached   int  // answers of networks that are kept
	Context  bool // co-players are read by a sequence model
}

// Parts says about what planners take beside their own networks: see exp.Spec.Memory.
func (p Planner) Parts(spec game.Spec, net actor.Config, size mind.Sizes) ([]mind.Part, error) {
	in := moa.NewInput(frame.Layout(spec.Obs), spec.Seats, spec.Actions, p.GoalLen)
	_, others, err := moa.Layers(p.MOA, in)
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
	shards := model.Shards(p.Learning.Shards, p.Learning.Batch)
	models := minds * (4*float64(others.Len())*(5+float64(shards)) + float64(4*p.Learning.Batch)*row +
		seen*(obs+4*float64(in.GoalLen)+k))

	// Trees with the states in them, a byte for each number observed, and two memories of answers.
	forest, slots := p.Search.Bytes(in.Actions, spec.Seats-1, size.Envs, p.Trees)
	group := min(float64(p.Trees), envs*float64(p.Search.Resolve(in.Actions).Trees))
	search := players * (forest + slots*(16+obs) + 2*float64(p.Cached)*(8+4*(k+1)) + group*(peers*row+ownRow))

	beliefs := players * envs * peers * float64(p.Kinds) * (row + 4*obs + 4*float64(in.GoalLen) + 8*k)
	list := []mind.Part{
		{Name: "models of others", Bytes: models, Fields: []string{"train.envs", "train.window", "moa.hidden"}},
		{Name: "search trees", Bytes: search, Fields: []string{"search.sims", "search.trees", "train.envs"}},
		{Name: "beliefs", Bytes: beliefs, Fields: []string{"train.envs", "moa.hidden"}},
	}
	if p.Context { // keys and values of a model of the usual size, and what was seen last
		c := sequence.Default()
		each := float64(2*c.Layers*c.Window*c.Width) + obs
		list = append(list, mind.Part{Name: "contexts", Bytes: 4 * minds * envs * peers * each, Fields: []string{"train.envs"}})
	}
	return list, nil
}
