package lab

import (
	"context"
	"errors"
	"fmt"
	"math"

	"hop/eval"
	"hop/game"
	"hop/report/cross"
	"hop/rng"
	"hop/stats"
)

// CrossConfig says who plays with whom. Its tags are those of the command's flags.
type CrossConfig struct {
	Entries  []string              `arg:"" help:"@crossplay_entries" placeholder:"PRESET|RUN|WHO"`
	Game     string                `help:"Name of the game; default: that of the first run, or staghunt." default:""`
	Set      []string              `help:"Set a parameter, such as game.stags=2; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	Episodes int                   `help:"Starts of each pair; each is played from every seat." default:"1000"`
	Seed     uint64                `help:"All random numbers follow from it." default:"1"`
	Greedy   bool                  `help:"Trained agents take their likeliest action."`
	Split    bool                  `help:"Every seed of a run is an entry of its own."`
	Runs     string                `help:"Where presets trained before are looked for." default:"runs" type:"path"`
	Planner  []string              `help:"Set a field of planners, such as plan.sims=200; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	Workers  int                   `help:"Cores to use; 0: all. Numbers do not depend on it." default:"0"`
	Progress func(done, total int) `kong:"-"`
}

// crossing is a cross-play under way.
type crossing struct {
	*Lab
	CrossConfig
}

// Crossplay lets each entry take one seat in a team of each entry, all from the same
// starts.
func (l *Lab) Crossplay(ctx context.Context, config CrossConfig) (*cross.Table, game.Game, error) {
	c := &crossing{l, config}
	if c.Episodes < 1 {
		return nil, nil, Misused("--episodes %d, want at least 1", c.Episodes)
	}
	g, entries, err := c.enter()
	if err != nil {
		return nil, nil, err
	}
	out := &cross.Table{Game: game.Label(g), Starts: c.Episodes, Seats: g.Spec().Seats, Greedy: c.Greedy}
	for _, e := range entries {
		out.Entries = append(out.Entries, cross.Entry{Name: e.name, Kind: e.kind, Seeds: len(e.runs)})
	}
	done, each := 0, g.Spec().Seats*c.Episodes
	for i := range entries {
		out.Cells = append(out.Cells, nil)
		for k := range entries {
			cell, err := c.cell(ctx, g, &entries[i], &entries[k], func(n, all int) {
				if c.Progress != nil {
					c.Progress(done+n*each/all, len(entries)*len(entries)*each)
				}
			})
			if err != nil {
				return nil, nil, err
			}
			done += each
			out.Cells[i] = append(out.Cells[i], cell)
		}
	}
	out.Used = l.Reg.Runs.Used()
	return out, g, nil
}

// cell plays a newcomer among a team.
func (c *crossing) cell(ctx context.Context, g game.Game, one, team *entry, progress func(done, total int),
) (cross.Cell, error) {
	pairs := max(1, len(one.runs), len(team.runs))
	var own, others stats.Acc
	cell := cross.Cell{Newcomer: one.name, Team: team.name}
	for k := range pairs {
		teams, err := c.teams(g, one, team, k)
		var no Misuse
		if errors.As(err, &no) {
			cell.Missing = no.Error()
			return cell, nil
		}
		if err != nil {
			return cell, err
		}
		if one == team {
			teams = teams[:1]
		}
		res, err := eval.Cross{
			Game: g, Starts: c.Episodes, Key: rng.New(c.Seed), Workers: c.Workers,
			Progress: func(done, total int) { progress(k*total+done, pairs*total) },
		}.Run(ctx, teams)
		if err != nil {
			return cell, err
		}
		if pairs == 1 {
			own, others = res.Own, res.Others
			break
		}
		own.Add(res.Own.Mean())
		others.Add(res.Others.Mean())
	}
	cell.Own, cell.Others = cross.MeanOf(own), cross.MeanOf(others)
	if math.IsNaN(cell.Own.Mean) {
		return cell, fmt.Errorf("%s among %s got no number", one.name, team.name)
	}
	return cell, nil
}

// teams returns, for each seat of the newcomer, everyone who plays.
func (c *crossing) teams(g game.Game, one, team *entry, k int) ([][]eval.Member, error) {
	seats := g.Spec().Seats
	teams := make([][]eval.Member, seats)
	for s := range teams {
		names := make([]string, seats)
		for b := range names {
			names[b] = team.name
		}
		names[s] = one.name
		for b := range seats {
			who := team
			if b == s {
				who = one
			}
			m, err := c.member(g, who, names, b, k)
			if err != nil {
				return nil, err
			}
			teams[s] = append(teams[s], m)
		}
	}
	return teams, nil
}

// Member returns the one of an entry that sits on a seat: agent a of a run on
// seat a, with which it trained.
func (c *crossing) member(g game.Game, e *entry, names []string, seat, k int) (eval.Member, error) {
	if e.bot == "" {
		run := e.runs[k%len(e.runs)]
		own := run.Members
		if c.Greedy {
			own = run.Greedy
		}
		full, err := run.Spec.Team(run, own)
		if err != nil {
			return eval.Member{}, err
		}
		if full[seat].Name == own[seat].Name {
			return own[seat], nil
		}
		if run.Spec.Mind.Name != "ppo" || len(run.Spec.Kinds) > 0 {
			return eval.Member{}, Misused("%s has no agent of its own on seat %d", e.name, seat)
		}
		for b := range own { // a network plays any seat
			if full[b].Name == own[b].Name {
				return own[b], nil
			}
		}
		return eval.Member{}, Misused("%s has no agent that learnt", e.name)
	}
	if IsPlanner(e.bot) && e.bot != "plan-infer" {
		for b, name := range names {
			if _, err := game.NewBot(g, name); err != nil && b != seat {
				return eval.Member{}, Misused("%s needs to know the others' bots", e.bot)
			}
		}
		if e.bot == "br" && AtRandom(names) > 1 {
			return eval.Member{}, Misused("br takes minutes a start among several random bots (hop oracle does it)")
		}
	}
	m, err := Member(g, names, seat, c.Planner)
	if err != nil {
		return m, Misused("%s cannot play here: %w", e.name, err)
	}
	return m, nil
}
