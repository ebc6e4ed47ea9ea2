package lab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"hop/eval"
	"hop/exp"
	"hop/game"
	"hop/internal/cores"
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
	all, err := c.pairings(g, entries)
	if err != nil {
		return nil, nil, err
	}
	if err := c.play(ctx, g, all); err != nil {
		return nil, nil, err
	}
	for i := range entries {
		out.Cells = append(out.Cells, nil)
		for k := range entries {
			cell, err := sumCell(&entries[i], &entries[k], all[i*len(entries)+k])
			if err != nil {
				return nil, nil, err
			}
			out.Cells[i] = append(out.Cells[i], cell)
		}
	}
	out.Used = l.Reg.Runs.Used()
	return out, g, nil
}

// pairing is one seed of a newcomer among one of a team.
type pairing struct {
	one, team *entry
	seed      int
	missing   string      // why they cannot play
	played    [][]float64 // by the newcomer's seat: everyone's returns; a team among itself plays once
	left      atomic.Int32
	got       *eval.Crossed
}

// pairings returns who meets, by cell, and sees whether they can.
func (c *crossing) pairings(g game.Game, entries []entry) (all [][]*pairing, err error) {
	for i := range entries {
		for k := range entries {
			var cell []*pairing
			for seed := range max(1, len(entries[i].runs), len(entries[k].runs)) {
				p := &pairing{one: &entries[i], team: &entries[k], seed: seed, played: make([][]float64, g.Spec().Seats)}
				if i == k {
					p.played = p.played[:1]
				}
				p.left.Store(int32(len(p.played)))
				for seat := range p.played {
					_, leave, err := c.seated(g, p, seat)
					if no := (Misuse{}); errors.As(err, &no) {
						p.missing = no.Error()
						break
					}
					if err != nil {
						return nil, err
					}
					leave()
				}
				if cell = append(cell, p); p.missing != "" {
					cell = cell[len(cell)-1:]
					break
				}
			}
			all = append(all, cell)
		}
	}
	return all, nil
}

// play plays every pairing from every seat, side by side.
func (c *crossing) play(ctx context.Context, g game.Game, all [][]*pairing) error {
	type place struct {
		*pairing
		seat int
	}
	var list []place
	for _, p := range slices.Concat(all...) {
		for seat := range p.played {
			if p.missing == "" {
				list = append(list, place{p, seat})
			}
		}
	}
	show := counting(len(list), c.Progress)
	x := eval.Cross{Game: g, Starts: c.Episodes, Key: rng.New(c.Seed), Workers: cores.Share(c.Workers, len(list))}
	return cores.Each(ctx, c.Workers, len(list), func(ctx context.Context, n int) error {
		p := list[n]
		team, leave, err := c.seated(g, p.pairing, p.seat)
		if err != nil {
			return err
		}
		defer leave()
		one := x
		one.Progress = show(n)
		if p.played[p.seat], err = one.Play(ctx, team); err != nil {
			return err
		}
		if p.left.Add(-1) == 0 {
			p.got, p.played = x.Sum(p.played), nil
		}
		return nil
	})
}

// counting returns how parts that are done side by side say how far they are: as shares of one
// count, which does not fall.
func counting(parts int, show func(done, total int)) func(part int) func(done, total int) {
	var mu sync.Mutex
	at, sum := make([]int, parts), 0
	return func(part int) func(done, total int) {
		return func(done, total int) {
			if show == nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			sum += done - at[part]
			at[part] = done
			show(sum, parts*total)
		}
	}
}

// sumCell sums up the pairings of a cell: over starts, or over seeds where there are several.
func sumCell(one, team *entry, list []*pairing) (cross.Cell, error) {
	cell := cross.Cell{Newcomer: one.name, Team: team.name, Missing: list[0].missing}
	if cell.Missing != "" {
		return cell, nil
	}
	own, others := list[0].got.Own, list[0].got.Others
	if len(list) > 1 {
		own, others = stats.Acc{}, stats.Acc{}
		for _, p := range list {
			own.Add(p.got.Own.Mean())
			others.Add(p.got.Others.Mean())
		}
	}
	cell.Own, cell.Others = cross.MeanOf(own), cross.MeanOf(others)
	if math.IsNaN(cell.Own.Mean) {
		return cell, fmt.Errorf("%s among %s got no number", one.name, team.name)
	}
	return cell, nil
}

// seated returns everyone who plays when the newcomer has a seat, and what is to be called when
// they have played.
func (c *crossing) seated(g game.Game, p *pairing, seat int) (team []eval.Member, leave func(), err error) {
	runs := [2]*copies{p.one.run(p.seed), p.team.run(p.seed)}
	var own [2][]eval.Member
	var back []func()
	leave = func() {
		for _, f := range back {
			f()
		}
	}
	for i, run := range runs {
		switch {
		case run == nil:
		case i == 1 && run == runs[0]:
			own[1] = own[0]
		default:
			var f func()
			if own[i], f, err = run.take(); err != nil {
				leave()
				return nil, nil, err
			}
			back = append(back, f)
		}
	}
	names := slices.Repeat([]string{p.team.name}, g.Spec().Seats)
	names[seat] = p.one.name
	for b := range names {
		e, i := p.team, 1
		if b == seat {
			e, i = p.one, 0
		}
		m, err := c.member(g, e, runs[i], own[i], names, b)
		if err != nil {
			leave()
			return nil, nil, err
		}
		team = append(team, m)
	}
	return team, leave, nil
}

// member returns the one of an entry that sits on a seat: agent a of a run on
// seat a, with which it trained.
func (c *crossing) member(g game.Game, e *entry, run *copies, own []eval.Member, names []string, seat int) (eval.Member, error) {
	if run != nil {
		full, err := run.Spec.Team(&exp.Agents{Game: run.Game}, own)
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
