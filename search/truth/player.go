package truth

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/belief"
)

// Config says how the untrained planner thinks.
type Config struct {
	Plan    search.Config `yaml:"plan" doc:"the search"`
	Belief  belief.Config `yaml:"belief" doc:"beliefs over the models of each co-player"`
	Models  []string      `yaml:"models" doc:"bots that a co-player may be"`
	Scripts []string      `yaml:"scripts" doc:"bots whose best rollout is a leaf's value; in stag hunt stag stands for one script a stag; none: 0"`
	Repeat  int           `yaml:"repeat" doc:"rollouts of each script that are averaged" range:"1..1000"`
	PerTree bool          `yaml:"per_tree" doc:"each tree of a decision has rollouts of its own"`
	Known   []string      `yaml:"known" doc:"the co-players' bots, one a member of the team, if they are known; empty: inferred"`
}

// Default returns the planner that measured best in stag hunt: every action is
// tried once in each of 20 futures, and what follows is scored by the script that
// does best on average over several others. A deeper tree knows the future that it
// has drawn, and so thinks that it will be at the stag just when somebody else is;
// against co-players that act at random it never waits there.
func Default() Config {
	srch := search.Default()
	srch.Trees, srch.Sims, srch.Depth, srch.Discount = 20, 8, 1, 0.999
	return Config{
		Plan: srch, Belief: belief.Default(), Models: []string{"ns", "nh", "random"},
		Scripts: []string{"nh", "stag"}, Repeat: 4, PerTree: true,
	}
}

// Validate returns everything that is wrong, joined.
func (c Config) Validate() error {
	errs := []error{c.Plan.Validate(), c.Belief.Validate()}
	if len(c.Models) == 0 {
		errs = append(errs, config.Bad("models", c.Models, "at least one bot"))
	}
	if c.Repeat < 1 {
		errs = append(errs, config.Bad("repeat", c.Repeat, "at least 1"))
	}
	return errors.Join(errs...)
}

// Player plans every move on the real rules. It is told nothing of its
// co-players but the models they may be, unless Config.Known says more, and
// infers within the episode which they are. For one goroutine.
type Player struct {
	Config
	Forest  *search.Forest
	Beliefs *belief.Beliefs // [envs][other agents][models]

	agent   agent.ID
	world   *World
	prior   []*Scripts     // of each part of a search, with a world and bots of their own
	asked   []search.Asked // the same
	policy  []game.Policy  // by model
	before  []game.State   // [envs] the position at the last decision
	started []bool
	seats   []game.Seat
	rs      []rng.Rand
	legal   []bool
	probs   []float32 // [models][A]
	obs     []float32
	env     []int
}

// NewPlayer returns the planner of one agent in so many envs.
func NewPlayer(g game.Game, c Config, id agent.ID, envs int) (*Player, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	spec := g.Spec()
	if spec.Seats < 2 {
		return nil, fmt.Errorf("search: %s has one seat, and this planner thinks about co-players", spec.Name)
	}
	p := &Player{Config: c, agent: id, seats: make([]game.Seat, spec.Seats), env: make([]int, 1)}
	if len(c.Known) != 0 {
		if len(c.Known) != spec.Seats {
			return nil, fmt.Errorf("search: %d known bots, the team has %d members", len(c.Known), spec.Seats)
		}
		p.Models = nil
		for a, name := range c.Known {
			if agent.ID(a) != id && !slices.Contains(p.Models, name) {
				p.Models = append(p.Models, name)
			}
		}
	}
	var err error
	if p.Forest, err = search.New(c.Plan, len(spec.Actions), spec.Seats-1, 1, c.Plan.Trees); err != nil {
		return nil, err
	}
	p.Beliefs = belief.New(c.Belief, envs, spec.Seats-1, len(p.Models))
	if err := p.addPart(g, p.Forest); err != nil {
		return nil, err
	}
	p.world = p.prior[0].World
	for _, name := range p.Models {
		bot, err := game.NewBot(g, name)
		if err != nil {
			return nil, err
		}
		pol, ok := bot.(game.Policy)
		if !ok {
			return nil, fmt.Errorf("search: %q cannot say how it acts, so nothing can be inferred from its actions", name)
		}
		p.policy = append(p.policy, pol)
	}
	p.started = make([]bool, envs)
	for range envs {
		p.before = append(p.before, g.New())
	}
	p.rs = make([]rng.Rand, c.Plan.Trees)
	p.legal, p.probs, p.obs = make([]bool, len(spec.Actions)), make([]float32, len(p.Models)*len(spec.Actions)), make([]float32,
		spec.Obs.Len())
	return p, nil
}

// addPart adds whom a forest, or a part of it, asks.
func (p *Player) addPart(g game.Game, f *search.Forest) error {
	w, err := newWorld(g, For{Models: p.Models, Scripts: p.Scripts, Envs: 1, Alike: true}, p.Plan.Trees)
	if err != nil {
		return err
	}
	w.Fit(f)
	bots := NewBots(w, p.Beliefs, 1)
	bots.Env = p.env
	s := NewScripts(bots, p.Plan.Discount, 14)
	s.Repeat, s.PerTree, s.Zero = p.Repeat, p.PerTree, len(p.Scripts) == 0
	p.prior, p.asked = append(p.prior, s), append(p.asked, search.Asked{Dynamics: w, Prior: s, Others: bots})
	return nil
}

// Act plans in one env after the other.
func (p *Player) Act(v *rollout.View, envs []int32) {
	for _, n := range envs {
		n := int(n)
		p.place(v, n)
		if v.Start[v.Moment(v.T, n)] || !p.started[n] {
			p.begin(n)
		} else {
			p.learn(v, n)
		}
		st := v.State(n)
		p.before[n].CopyFrom(st)
		p.env[0] = n
		search.Fork(p.rs, v.Rand(n))
		p.search(v, st, v.Rand(n).Uint64())
		i := v.StepOf(n)
		v.Action[i] = game.Sample(p.Forest.Policy, v.Rand(n))
		v.LogProb[i], v.Own[i] = 0, false
	}
}

// search plans from a state, together with workers who have nothing else to do.
func (p *Player) search(v *rollout.View, st game.State, salt uint64) {
	pool, workers := v.Helpers()
	parts := p.Forest.Parts(workers, 1)
	for len(p.asked) < parts {
		if err := p.addPart(p.world.Game, p.Forest.Part()); err != nil {
			panic(err) // what could be made once can be made again
		}
	}
	for _, s := range p.prior[:parts] {
		s.Set(0, st, p.seats)
		s.Salt = salt
	}
	p.Forest.SearchOn(pool, p.asked[:parts], p.rs)
}

// place notes where everyone sits: this agent, then the others by number.
func (p *Player) place(v *rollout.View, n int) {
	for s := range game.Seat(len(p.seats)) {
		a := v.AgentAt(n, s)
		switch {
		case a == p.agent:
			p.seats[0] = s
		case a < p.agent:
			p.seats[a+1] = s
		default:
			p.seats[a] = s
		}
	}
}

// begin starts an episode's beliefs.
func (p *Player) begin(n int) {
	p.started[n] = true
	p.Beliefs.Start(n)
	if len(p.Known) == 0 {
		return
	}
	for j := range p.Beliefs.Others {
		a := j
		if j >= int(p.agent) {
			a++
		}
		b := p.Beliefs.At(n, j)
		clear(b)
		b[slices.Index(p.Models, p.Known[a])] = 1
	}
}

// learn takes in what the others did since the last decision. What they did is
// read off the observation, where it stands even if they have left since.
func (p *Player) learn(v *rollout.View, n int) {
	if len(p.Known) != 0 {
		return
	}
	layout := p.world.Game.Spec().Obs
	v.State(n).Observe(p.seats[0], p.obs)
	last := p.obs[layout.LastAt():]
	actions := len(p.legal)
	for j, seat := range p.seats[1:] {
		if !p.before[n].Alive(seat) {
			continue
		}
		ego := (int(seat) - int(p.seats[0]) + len(p.seats)) % len(p.seats)
		action := game.NoAction
		for k := range actions {
			if last[ego*actions+k] != 0 {
				action = int32(k)
			}
		}
		p.before[n].Legal(seat, p.legal)
		for m, pol := range p.policy {
			pol.Probs(p.before[n], seat, p.probs[m*actions:(m+1)*actions])
		}
		p.Beliefs.Update(n, j, p.probs, p.legal, action)
	}
}

// Trace makes the player remember the lines of its searches, for Think.
func (p *Player) Trace() { p.Forest.Trace() }

// lineLen is how far ahead a shown line goes at most.
const lineLen = 12

// Think returns the last decision, for people to look at.
func (p *Player) Think() search.Thought {
	t := p.Forest.Think(0, lineLen)
	n := p.env[0]
	for j, seat := range p.seats[1:] {
		t.Posteriors = append(t.Posteriors, search.Posterior{
			Seat: int(seat), Left: !p.before[n].Alive(seat), Names: p.Models, Probs: slices.Clone(p.Beliefs.At(n, j)),
			Expected: p.expected(n, j, seat),
		})
	}
	return t
}

// expected returns what co-player j does at the last decision of env n, by what it may be.
func (p *Player) expected(n, j int, seat game.Seat) []float64 {
	probs, sum := make([]float32, len(p.legal)), make([]float64, len(p.legal))
	if !p.before[n].Alive(seat) {
		return sum
	}
	for m, b := range p.Beliefs.At(n, j) {
		if b == 0 {
			continue
		}
		p.policy[m].Probs(p.before[n], seat, probs)
		for k, x := range probs {
			sum[k] += b * float64(x)
		}
	}
	return sum
}

// Evaluate writes nothing.
func (p *Player) Evaluate(*rollout.View, []int32) {}

var _ rollout.Player = (*Player)(nil)
