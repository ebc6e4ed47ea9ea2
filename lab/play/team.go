package play

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
)

// Team is players of any kind on all seats of one copy of a game: bots, learnt
// agents, planners, and perhaps a person. It plays one step ahead of what is shown,
// so that a frame can say what the agent that acts in it has in mind; with a person,
// up to where only the person has not chosen yet.
type Team struct {
	Cores   *cores.Pool // open; whose workers help planners; nil: none do
	game    game.Game
	names   []string
	players []rollout.Player // [Seats] with eyes
	focal   game.Seat        // whose thoughts are shown, or NoHuman
	human   game.Seat        // or NoHuman
	thinker learner.Thinking
	all     bool          // everybody's thoughts are kept
	asked   chan struct{} // all but the person have chosen
	answer  chan int32    // the person's action
	played  chan struct{} // closed when the step is played; nil: no step waits for the person

	envs    *rollout.Envs
	ro      *batch.Rollout
	state   game.State // the copy that plays
	now     game.State // what is shown
	seen    bool       // now is written
	actions []int32    // [Seats] of the step that has been played ahead
	rewards []float32
	mind    *Mind
	minds   []*Mind // [Seats] if everybody's are kept; nil for who has left, for bots and for the person
	err     error   // what ended the play; nothing is played after it
	fault   any     // what a player panicked with, until whoever waits for the step panics with it
}

// NewTeam seats players on the seats of their number, and on seat human a person,
// who needs no player; -1: nobody. The thoughts of the one on seat focal are shown;
// -1: nobody's.
func NewTeam(g game.Game, names []string, players []rollout.Player, focal, human game.Seat) (*Team, error) {
	spec := g.Spec()
	if spec.Opaque {
		return nil, fmt.Errorf("play: another program plays %s, and its states can be neither copied nor drawn; hop eval counts what a team gets",
			spec.Name)
	}
	if len(players) != spec.Seats || len(names) != spec.Seats {
		return nil, fmt.Errorf("play: %d players and %d names; %s has %d seats", len(players), len(names), spec.Name, spec.Seats)
	}
	c := &Team{
		game: g, names: slices.Clone(names), focal: focal, human: human, now: g.New(),
		actions: make([]int32, spec.Seats), rewards: make([]float32, spec.Seats),
		asked: make(chan struct{}), answer: make(chan int32),
	}
	if human < NoHuman || int(human) >= spec.Seats {
		return nil, fmt.Errorf("play: seat %d is not in the game; %s has seats 0 to %d", human, spec.Name, spec.Seats-1)
	}
	if human > NoHuman {
		c.names[human] = "you"
	}
	if focal > NoHuman && focal == human {
		return nil, fmt.Errorf("play: seat %d is yours, and your thoughts are your own; choose another agent's to be shown", focal)
	}
	if focal < -1 || int(focal) >= spec.Seats {
		return nil, fmt.Errorf("play: agent %d is not in the game; %s has agents 0 to %d", focal, spec.Name, spec.Seats-1)
	}
	if focal >= 0 {
		var ok bool
		if c.thinker, ok = players[focal].(learner.Thinking); !ok {
			return nil, fmt.Errorf("play: agent %d, %s, does not plan, so there are no thoughts to show; choose one that does, such as plan-infer",
				focal, names[focal])
		}
		c.thinker.Trace()
	}
	for s, p := range players {
		if game.Seat(s) == human {
			p = nil
		}
		c.players = append(c.players, &eye{p, c})
	}
	return c, nil
}

// KeepMinds keeps what every player has in mind that can be looked at, for Frame.Minds.
func (c *Team) KeepMinds() {
	c.all = true
	for _, p := range c.players {
		if t, ok := p.(*eye).Player.(learner.Thinking); ok {
			t.Trace()
		}
	}
}

// eye is a player through which a Team sees the state. Windows are cut after
// every step here, and nobody learns, so values are not asked for.
type eye struct {
	rollout.Player // nil: the person
	c              *Team
}

// Act copies the state and lets the player act.
func (e *eye) Act(v *rollout.View, envs []int32) {
	e.c.state = v.State(0)
	if !e.c.seen {
		e.c.now.CopyFrom(e.c.state)
		e.c.seen = true
	}
	if e.Player != nil {
		e.Player.Act(v, envs)
	}
	e.c.ask(v)
}

// ask waits for the person's choice once all others have made theirs.
func (c *Team) ask(v *rollout.View) {
	if c.human <= NoHuman || !c.state.Alive(c.human) {
		return
	}
	for a := int(v.Agent) + 1; a < len(c.players); a++ {
		if v.Alive[v.Slot(agent.ID(a), v.T, 0)] {
			return // it is asked after this one
		}
	}
	c.asked <- struct{}{}
	i := v.Step(agent.ID(c.human), v.T, 0)
	v.Action[i] = <-c.answer
	v.LogProb[i], v.Own[i] = 0, false
}

// Evaluate writes nothing.
func (*eye) Evaluate(*rollout.View, []int32) {}

// EpisodeOver tells players that remember episodes.
func (e *eye) EpisodeOver(v *rollout.View, n int) {
	if w, ok := e.Player.(rollout.Watcher); ok {
		w.EpisodeOver(v, n)
	}
}

// reset starts the episode of that seed.
func (c *Team) reset(seed uint64) error {
	c.settle()
	c.err = nil
	envs, err := rollout.New(rollout.Config{Game: c.game, Envs: 1, Key: rng.New(seed), Workers: 1, Cores: c.Cores, FixSeat: true})
	if c.envs = envs; err != nil {
		return err
	}
	c.ro, c.seen = batch.New(c.envs.Shape(1, 0)), false
	c.ahead()
	if c.err != nil {
		return c.err
	}
	if !c.seen {
		return errors.New("play: nobody is alive at the start of the episode")
	}
	return nil
}

// settle ends a step that waits for a person who will not choose any more, with
// any legal action.
func (c *Team) settle() {
	if c.played == nil {
		return
	}
	legal := make([]bool, len(c.game.Spec().Actions))
	c.now.Legal(c.human, legal)
	c.choose(int32(slices.Index(legal, true)))
}

// choose makes the person's choice and plays the step.
func (c *Team) choose(act int32) {
	c.answer <- act
	<-c.played
	c.played = nil
	c.again()
	c.take()
}

// step shows the state after the step that was played ahead, and plays another. act
// is the person's, and not looked at unless the step waits for it.
func (c *Team) step(act int32, actions []int32, rewards []float32) {
	if c.played != nil {
		c.choose(act)
	}
	copy(actions, c.actions)
	copy(rewards, c.rewards)
	c.now.CopyFrom(c.state)
	c.ahead()
}

// ahead plays a step beyond what is shown, or up to the person's choice, and keeps
// what the agent thought.
func (c *Team) ahead() {
	c.mind, c.minds = nil, nil
	if c.seen && c.now.Over() || c.err != nil {
		return
	}
	played := make(chan struct{})
	go func() {
		defer close(played)
		defer func() { c.fault = recover() }()
		c.err = c.envs.Collect(c.ro, [][]rollout.Player{c.players})
	}()
	select {
	case <-c.asked:
		c.played = played
	case <-played:
		c.again()
		if c.err != nil {
			return
		}
		c.take()
	}
	if c.thinker != nil && c.now.Alive(c.focal) {
		c.mind = &Mind{Thought: c.thinker.Think(), Seat: c.focal, Actions: c.game.Spec().Actions, Does: c.chosen(c.focal)}
	}
	if c.all {
		c.minds = make([]*Mind, len(c.players))
		for s := range c.minds {
			c.minds[s] = c.look(game.Seat(s))
		}
	}
}

// again panics with what a player panicked with in the step, where it can be caught.
func (c *Team) again() {
	if c.fault != nil {
		panic(c.fault)
	}
}

// chosen returns what a living seat does in the step that is played ahead.
func (c *Team) chosen(s game.Seat) int32 { return c.ro.Action[c.ro.Step(agent.ID(s), 0, 0)] }

// look returns what a seat has in mind before it acts; nil if there is nothing to look at.
func (c *Team) look(s game.Seat) *Mind {
	p := c.players[s].(*eye).Player
	if p == nil || !c.now.Alive(s) {
		return nil
	}
	spec := c.game.Spec()
	m := &Mind{Seat: s, Actions: spec.Actions, Does: c.chosen(s)}
	if t, ok := p.(learner.Thinking); ok {
		m.Thought, m.Searched = t.Think(), true
		return m
	}
	d, decides := p.(learner.Deciding)
	if decides {
		probs, value := d.Decision(0)
		m.Policy, m.Value = slices.Clone(probs), value
	}
	r, reads := p.(learner.Explainer)
	if reads {
		for j, a := range r.Others() { // agents sit on the seats of their number
			g := search.Posterior{Seat: int(a), Left: !c.now.Alive(game.Seat(a)), Expected: make([]float64, len(spec.Actions))}
			r.Read(g.Expected, 0, j)
			g.Names, g.Probs = r.InWords(0, j)
			m.Posteriors = append(m.Posteriors, g)
		}
	}
	if !decides && !reads {
		return nil
	}
	return m
}

// take keeps what was done and earned in the step.
func (c *Team) take() {
	for s := range c.actions {
		i := c.ro.Step(agent.ID(s), 0, 0)
		c.actions[s], c.rewards[s] = c.ro.Action[i], c.ro.Reward[i]
	}
}
