package cli

import (
	"strings"

	"time"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/script"
	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/play"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/train/eval"
)

type playCmd struct {
	gameFlags
	Team     []string      `help:"@play_team" placeholder:"WHO"`
	Run_     string        `name:"run" help:"@play_run" type:"path" placeholder:"RUN"`
	Think    int           `help:"@play_think" default:"-1" placeholder:"N"`
	Planner  []string      `help:"Set a field of planners, such as plan.sims=200; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	Seat     int           `help:"Join on this seat with the keyboard: bots, planners or a run's agents; -1: watch." default:"-1"`
	Seed     uint64        `help:"Seed of the first episode." default:"1"`
	Episodes int           `help:"Stop after so many; 0: one, or on a terminal as many as you like." default:"0"`
	GIF      string        `name:"gif" help:"Write the episodes to this GIF, or to an MP4 if its name ends so." type:"path" placeholder:"FILE"`
	Plain    bool          `help:"Print frames as plain text."`
	Delay    time.Duration `help:"Time between steps; when thoughts are shown, five times as long unless given." default:"400ms"`
}

// Run plays bots as they are, and teams in which anyone is none through their
// players.
func (c playCmd) Run(a *app) error {
	g, members, err := c.team(a)
	if err != nil {
		return err
	}
	o := play.Options{
		Game: g, Seed: c.Seed, Human: game.Seat(c.Seat), GIF: c.GIF, Plain: c.Plain, Delay: c.Delay,
		In: a.in, Out: a.out, MaxEpisodes: c.Episodes,
	}
	if l, ok := game.As[interface{ Label() string }](g); ok {
		o.Label = g.Spec().Name + " " + l.Label()
	}
	names := make([]string, len(members))
	for s, m := range members {
		names[s] = m.Name
	}
	var made error
	player := func(s game.Seat) (rollout.Player, error) {
		p, err := members[s].Players(1, 1)
		if made = err; err != nil {
			return nil, err
		}
		return p[0], nil
	}
	if err := o.Seat(names, player, game.Seat(c.Think)); err != nil && made == nil {
		return usageError{err}
	} else if err != nil {
		return err
	}
	if c.Think >= 0 && c.Delay == defaultDelay {
		o.Delay *= 5
	}
	if err := o.Validate(); err != nil {
		return usageError{err}
	}
	if o.Agents != nil {
		o.Agents.Cores = cores.New(0, nil)
		o.Agents.Cores.Open()
		defer o.Agents.Cores.Close()
	}
	return play.Run(a.ctx, o)
}

// defaultDelay is that of --delay.
const defaultDelay = 400 * time.Millisecond

// team returns the game and who plays it.
func (c playCmd) team(a *app) (game.Game, []eval.Member, error) {
	if len(c.Team) > 0 {
		c.Team = script.Split(strings.Join(c.Team, ",")) // commas in brackets do not separate
	}
	if c.Run_ != "" {
		return a.lab().RunTeam(c.Run_, c.Set, c.Team, c.Planner)
	}
	g, _, err := c.build(a)
	if err != nil {
		return nil, nil, err
	}
	if len(c.Team) == 0 {
		c.Team = []string{"random"}
	}
	members, err := lab.Team(g, c.Team, c.Planner...)
	return g, members, err
}
