package hop

import (
	"hop/game"
	"hop/internal/cpu"
	"hop/mind"
	"hop/model/actor"
	"hop/model/cvae"
	"hop/model/moa"
	"hop/model/vae"
	"hop/rng"
)

// width is how many numbers networks read about one co-player's goal, as far as that is
// known before models are.
func (c *Config) width(spec game.Spec) int {
	if c.Goals.Kind != "latent" && c.Goals.Kind != "classes" {
		return c.Goals.features(spec, Models{})
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

// Memory says what planners take beside their own networks: see exp.Spec.Memory.
func (c *Config) Memory(g game.Game, net actor.Config, size mind.Sizes) ([]mind.Part, error) {
	spec := g.Spec()
	others, k := float64(spec.Seats-1), float64(len(spec.Actions))
	kinds := float64(len(c.Hypotheses(spec.Goals)))
	if c.Goals.Kind == "latent" {
		kinds = 2
	}
	in := moaInput(spec)
	in.GoalLen = c.width(spec) + spec.Seats - 1
	m, p, err := moa.Layers(c.MOA.Config, in)
	if err != nil {
		return nil, err
	}
	seen := actor.Input{Input: in.Input, Actions: in.Actions}
	seen.Extra = c.GoalNumbers(spec)
	own, _, err := actor.Layers(net, seen)
	if err != nil {
		return nil, err
	}
	nonzeros := 8 * c.nonzeros(g, m)
	row := mind.Each(func(n int) any { return m.Work(n) }) + nonzeros
	minds, envs, trees := float64(spec.Seats), float64(size.Envs), float64(c.Search.Resolve(int(k)).Trees)
	players := minds * float64(size.Workers)
	group := min(groupTrees, envs*trees)

	rows := float64(size.Window) * envs * others // of co-players that an agent saw
	asked := min(rows, 64*float64(min(size.Window, spec.Horizon))) / 2 // sequences are scored by 64; many end early
	models := minds * (4*float64(p.Len())*(5+float64(c.MOA.Shards)) + (asked+float64(c.MOA.Batch))*(row+9*k))
	learning := minds * (rows*(nonzeros+4*float64(in.GoalLen)+k+12+4*float64(c.width(spec))) +
		4*float64(size.Window+1)*envs*float64(seen.Extra))

	forest, slots := c.Search.Bytes(int(k), spec.Seats-1, size.Envs, groupTrees)
	cached := float64(int(1) << cacheLog)
	search := forest + slots*c.slot(g) + 2*cached*8 + cached*4*(2*k+1)
	search += group*others*row + group*mind.Each(func(n int) any { return own.Work(n) }) + 4*envs*trees*others*float64(in.GoalLen)
	if c.Leaf.scripted() {
		search += cached * 32
	}
	if c.Leaf.Kind == "response" {
		search += cached*(8+4*(k+1)) + group*mind.Each(func(n int) any { return own.Work(n) })
	}
	beliefs := envs * others * kinds * (row + 4*float64(spec.Obs.Len()) + 4*float64(in.GoalLen) + 8*k + 4)
	if c.Goals.learnt() {
		more, err := c.inference(spec, in)
		if err != nil {
			return nil, err
		}
		beliefs += envs * others * more
	}
	return []mind.Part{
		{Name: "the models of others", Bytes: models + learning, Fields: []string{"train.envs", "train.window", "moa.hidden"}},
		{Name: "the search trees", Bytes: players * search, Fields: []string{"search.sims", "search.trees", "train.envs"}},
		{Name: "the beliefs", Bytes: players * beliefs, Fields: []string{"train.envs", "moa.hidden"}},
	}, nil
}

// inference is what inferring the goal of a co-player from its history takes.
func (c *Config) inference(spec game.Spec, in moa.Input) (float64, error) {
	plain := in.Input
	plain.Extra = 0
	m, _, err := cvae.Layers(cvae.Default(), cvae.Input{Input: plain, Seats: spec.Seats, Actions: len(spec.Actions)})
	if err != nil {
		return 0, err
	}
	return mind.Each(func(n int) any { return m.Work(n) }), nil
}

// slot is what a state in a tree takes.
func (c *Config) slot(g game.Game) float64 {
	spec := g.Spec()
	if c.Search.Dynamics == "world" {
		return 8 * float64((spec.Obs.Len()+63)/64+spec.Seats+4)
	}
	if spec.Name == "staghunt" { // compact states
		return 64
	}
	return float64(cpu.Size(g.New()))
}

// nonzeros returns how many numbers of a row are not zero, at an episode's start.
func (c *Config) nonzeros(g game.Game, m *moa.Model) float64 {
	st, r := g.New(), rng.New(1).Rand()
	st.Reset(&r)
	obs := make([]float32, g.Spec().Obs.Len())
	st.Observe(0, obs)
	rows := m.NewRows()
	rows.Begin()
	for k := range int32(m.Actions) {
		if rows.Add(obs, make([]float32, m.GoalLen), k) {
			return float64(len(rows.X.Idx))
		}
	}
	return 0
}
