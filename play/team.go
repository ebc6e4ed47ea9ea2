package play

import (
	"errors"
	"fmt"
	"slices"

	"hop/agent"
	"hop/batch"
	"hop/game"
	"hop/plan"
	"hop/rng"
	"hop/rollout"
)

// Thinker is a player whose last decision can be looked at.
type Thinker interface {
	rollout.Player
	// Trace makes it remember what Think needs.
	Trace()
	Think() plan.Thought
}

// Team is players of any kind on all seats of one copy of a game: bots, learnt
// agents, planners, and perhaps a person. It plays one step ahead of what is shown,
// so that a frame can say what the agent that acts in it has in mind; with a person,
// up to where only the person has not chosen yet.
type Team struct {
	game    game.Game
	names   []string
	players []rollout.Player // [Seats] with eyes
	focal   game.Seat        // whose thoughts are shown, or NoHuman
	human   game.Seat        // or NoHuman
	thinker Thinker
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
		if c.thinker, ok = players[focal].(Thinker); !ok {
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
	var err error
	if c.envs, err = rollout.New(rollout.Config{Game: c.game, Envs: 1, Key: rng.New(seed), Workers: 1, FixSeat: true}); err != nil {
		return err
	}
	c.ro, c.seen = batch.New(c.envs.Shape(1, 0)), false
	c.ahead()
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
	c.mind = nil
	if c.seen && c.now.Over() {
		return
	}
	played := make(chan struct{})
	go func() {
		c.envs.Collect(c.ro, [][]rollout.Player{c.players})
		close(played)
	}()
	select {
	case <-c.asked:
		c.played = played
	case <-played:
		c.take()
	}
	if c.thinker != nil && c.now.Alive(c.focal) {
		does := c.ro.Action[c.ro.Step(agent.ID(c.focal), 0, 0)]
		c.mind = &Mind{Thought: c.thinker.Think(), Seat: c.focal, Actions: c.game.Spec().Actions, Does: does}
	}
}

// take keeps what was done and earned in the step.
func (c *Team) take() {
	for s := range c.actions {
		i := c.ro.Step(agent.ID(s), 0, 0)
		c.actions[s], c.rewards[s] = c.ro.Action[i], c.ro.Reward[i]
	}
}
