package eval

import (
	"context"
	"errors"

	"hop/batch"
	"hop/game"
	"hop/rng"
	"hop/rollout"
	"hop/stats"
)

// Adaptation is the few-shot protocol: one focal member meets co-players that it
// never trained with, for a number of env steps in a row, and is judged on the
// last of them. It is lived several times over, each life with streams of its
// own, because one life is a small sample.
type Adaptation struct {
	Game    game.Game
	Team    []Member // the focal member first
	Lives   int
	Steps   int // env steps of a life
	Last    int // the steps that count
	Key     rng.Key
	Workers int // 0: one a core
}

// Adapted is what came of it.
type Adapted struct {
	Score  stats.Acc   // over lives: mean return of the episodes that ended in the last steps
	First  stats.Acc   // over lives: return of the first episode
	Curve  []stats.Acc // by episode, over the lives that got so far
	Played int         // episodes in all
}

// Run lives all lives.
func (c Adaptation) Run(ctx context.Context) (*Adapted, error) {
	if c.Lives <= 0 || c.Steps <= 0 || c.Last <= 0 || c.Last > c.Steps {
		return nil, errors.New("eval: at least one life, and some steps of which the last count, are needed")
	}
	envs, err := rollout.New(rollout.Config{Game: c.Game, Envs: c.Lives, Key: c.Key, Workers: c.Workers})
	if err != nil {
		return nil, err
	}
	players, err := assemble(c.Team, envs.Workers, c.Lives)
	if err != nil {
		return nil, err
	}
	ro := batch.New(envs.Shape(window, 0))
	steps, tail := make([]int, c.Lives), make([]stats.Acc, c.Lives)
	out := &Adapted{}
	for left := c.Lives; left > 0; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		envs.Collect(ro, players)
		for _, ep := range envs.Episodes() {
			if steps[ep.Env] >= c.Steps {
				continue
			}
			steps[ep.Env] += ep.Steps
			if steps[ep.Env] >= c.Steps {
				left--
			}
			for len(out.Curve) <= ep.Index {
				out.Curve = append(out.Curve, stats.Acc{})
			}
			out.Played++
			out.Curve[ep.Index].Add(ep.Return[0])
			if ep.Index == 0 {
				out.First.Add(ep.Return[0])
			}
			if steps[ep.Env] > c.Steps-c.Last {
				tail[ep.Env].Add(ep.Return[0])
			}
		}
	}
	for n := range tail {
		if tail[n].N() > 0 {
			out.Score.Add(tail[n].Mean())
		}
	}
	return out, nil
}
