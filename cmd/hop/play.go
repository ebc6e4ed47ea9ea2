package main

import (
	"time"

	"hop/game"
	"hop/play"
)

type playCmd struct {
	gameFlags
	Team     []string      `help:"One bot a seat, or one for all." default:"random" placeholder:"BOT,..."`
	Seat     int           `help:"Join on this seat with the keyboard; -1: watch." default:"-1"`
	Seed     uint64        `help:"Seed of the first episode." default:"1"`
	Episodes int           `help:"Stop after so many; 0: one, or on a terminal as many as you like." default:"0"`
	GIF      string        `name:"gif" help:"Write the episodes to this GIF." type:"path" placeholder:"FILE"`
	Plain    bool          `help:"Print frames as plain text."`
	Delay    time.Duration `help:"Time between steps." default:"400ms"`
}

func (playCmd) Help() string {
	return `Examples:

  hop play --team ns,ns,nh,random
  hop play --set game.size=8 --set game.blocks=5 --team ns --gif hunt.gif
  hop play --team ns --seat 0

Keys while watching: space pauses, right steps, + and - change the speed, r starts the next episode, q quits.`
}

func (c playCmd) Run(a *app) error {
	g, _, err := c.build()
	if err != nil {
		return err
	}
	members, err := team(g, c.Team)
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
	for _, m := range members {
		o.Team = append(o.Team, m.Name)
	}
	if err := o.Validate(); err != nil {
		return usageError{err}
	}
	return play.Run(a.ctx, o)
}
