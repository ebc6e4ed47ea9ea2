package main

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"hop/eval"
	"hop/game"
	"hop/play"
	"hop/rollout"
)

type playCmd struct {
	gameFlags
	Team     []string      `help:"One member a seat, or one for all: a bot, plan-infer, plan, plan-paper, br, or run for the run's agent of that number. Default: random, or the run's agents." placeholder:"WHO,..."`
	Run_     string        `name:"run" help:"Play the game of this run's folder, with its agents: all of them, or where --team says run." type:"path" placeholder:"RUN"`
	Think    int           `help:"Show what this member, from 0, thinks: its beliefs about the others, visits and values of its actions, and the line it expects. It must plan; -1: nobody." default:"-1" placeholder:"N"`
	Planner  []string      `help:"Set a field of planners, such as plan.sims=200; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	Seat     int           `help:"Join bots on this seat with the keyboard; -1: watch." default:"-1"`
	Seed     uint64        `help:"Seed of the first episode." default:"1"`
	Episodes int           `help:"Stop after so many; 0: one, or on a terminal as many as you like." default:"0"`
	GIF      string        `name:"gif" help:"Write the episodes to this GIF." type:"path" placeholder:"FILE"`
	Plain    bool          `help:"Print frames as plain text."`
	Delay    time.Duration `help:"Time between steps; when thoughts are shown, five times as long unless given." default:"400ms"`
}

func (playCmd) Help() string {
	return `Examples:

  hop play --team ns,ns,nh,random
  hop play --set game.size=8 --set game.blocks=5 --team ns --gif hunt.gif
  hop play --team plan-infer,ns,nh,nh --think 0
  hop play --run runs/hop-4x4-001 --team run,ns,nh,nh --think 0 --gif thoughts.gif
  hop play --team ns --seat 0

Keys while watching: space pauses, right steps, + and - change the speed, r starts the next episode, q quits. Thoughts are those before the step that comes next; the line shows moves as arrows, other actions by their first letters.`
}

// Run plays bots as they are, and teams in which anyone is none through their
// players.
func (c playCmd) Run(a *app) error {
	g, members, err := c.team()
	if err != nil {
		return err
	}
	o := play.Options{
		Game: g, Seed: c.Seed, Human: game.Seat(c.Seat), GIF: c.GIF, Plain: c.Plain, Delay: c.Delay,
		In: a.in, Out: a.out, MaxEpisodes: c.Episodes,
	}
	if l, ok := g.(interface{ Label() string }); ok {
		o.Label = g.Spec().Name + " " + l.Label()
	}
	bots := true
	for _, m := range members {
		o.Team = append(o.Team, m.Name)
		bots = bots && slices.ContainsFunc(g.Bots(), func(b game.BotInfo) bool { return b.Name == m.Name })
	}
	if !bots || c.Think >= 0 {
		var players []rollout.Player
		for _, m := range members {
			p, err := m.Players(1, 1)
			if err != nil {
				return err
			}
			players = append(players, p[0])
		}
		if o.Agents, err = play.NewTeam(g, o.Team, players, game.Seat(c.Think)); err != nil {
			return usageError{err}
		}
	}
	if c.Think >= 0 && c.Delay == defaultDelay {
		o.Delay *= 5
	}
	if err := o.Validate(); err != nil {
		return usageError{err}
	}
	return play.Run(a.ctx, o)
}

// defaultDelay is that of --delay.
const defaultDelay = 400 * time.Millisecond

// team returns the game and who plays it.
func (c playCmd) team() (game.Game, []eval.Member, error) {
	if c.Run_ == "" {
		g, _, err := c.build()
		if err != nil {
			return nil, nil, err
		}
		if len(c.Team) == 0 {
			c.Team = []string{"random"}
		}
		members, err := team(g, c.Team, c.Planner...)
		return g, members, err
	}
	dir := c.Run_
	if _, err := os.Stat(filepath.Join(dir, "spec.yaml")); err != nil {
		seeds, err := filepath.Glob(filepath.Join(dir, "seed-*"))
		if err != nil || len(seeds) == 0 {
			return nil, nil, usage("--run %s: no run is there: neither spec.yaml nor folders seed-*", c.Run_)
		}
		dir = seeds[0]
	}
	agents, err := reg.LoadAgentsFor(dir, c.Set)
	if err != nil {
		return nil, nil, err
	}
	members, err := agents.Spec.Team(agents, agents.Members)
	if err != nil || len(c.Team) == 0 {
		return agents.Game, members, err
	}
	names := slices.Clone(c.Team)
	for len(c.Team) == 1 && len(names) < len(members) {
		names = append(names, names[0])
	}
	for i, name := range names {
		if name == "run" {
			names[i] = agents.Game.Bots()[0].Name // in its place for now
		}
	}
	others, err := team(agents.Game, names, c.Planner...)
	if err != nil {
		return nil, nil, err
	}
	for i := range others {
		if c.Team[min(i, len(c.Team)-1)] != "run" {
			members[i] = others[i]
		}
	}
	return agents.Game, members, nil
}
