package play

import (
	"errors"
	"fmt"

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
// agents, planners. It plays one step ahead of what is shown, so that a frame
// can say what the agent that acts in it has in mind.
type Team struct {
	game    game.Game
	names   []string
	players []rollout.Player // [Seats] with eyes
	focal   game.Seat        // whose thoughts are shown, or NoHuman
	thinker Thinker

	envs    *rollout.Envs
	ro      *batch.Rollout
	state   game.State // the copy that plays
	now     game.State // what is shown
	seen    bool       // now is written
	actions []int32    // [Seats] of the step that has been played ahead
	rewards []float32
	mind    *Mind
}

// NewTeam seats players on the seats of their number. The thoughts of the one on
// seat focal are shown; -1: nobody's.
func NewTeam(g game.Game, names []string, players []rollout.Player, focal game.Seat) (*Team, error) {
	spec := g.Spec()
	if len(players) != spec.Seats || len(names) != spec.Seats {
		return nil, fmt.Errorf("play: %d players and %d names; %s has %d seats", len(players), len(names), spec.Name, spec.Seats)
	}
	c := &Team{game: g, names: names, focal: focal, now: g.New(), actions: make([]int32, spec.Seats), rewards: make([]float32, spec.Seats)}
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
	for _, p := range players {
		c.players = append(c.players, &eye{p, c})
	}
	return c, nil
}

// eye is a player through which a Team sees the state. Windows are cut after
// every step here, and nobody learns, so values are not asked for.
type eye struct {
	rollout.Player
	c *Team
}

// Act copies the state and lets the player act.
func (e *eye) Act(v *rollout.View, envs []int32) {
	e.c.state = v.State(0)
	if !e.c.seen {
		e.c.now.CopyFrom(e.c.state)
		e.c.seen = true
	}
	e.Player.Act(v, envs)
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

// step shows the state after the step that was played ahead, and plays another.
func (c *Team) step(actions []int32, rewards []float32) {
	copy(actions, c.actions)
	copy(rewards, c.rewards)
	c.now.CopyFrom(c.state)
	c.ahead()
}

// ahead plays a step beyond what is shown and keeps what the agent thought.
func (c *Team) ahead() {
	c.mind = nil
	if c.seen && c.now.Over() {
		return
	}
	c.envs.Collect(c.ro, [][]rollout.Player{c.players})
	for s := range c.actions {
		i := c.ro.Step(agent.ID(s), 0, 0)
		c.actions[s], c.rewards[s] = c.ro.Action[i], c.ro.Reward[i]
	}
	if c.thinker != nil && c.now.Alive(c.focal) {
		c.mind = &Mind{Thought: c.thinker.Think(), Seat: c.focal, Actions: c.game.Spec().Actions, Does: c.actions[c.focal]}
	}
}
