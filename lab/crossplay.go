package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/lab/report/cross"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/train/eval"
	"github.com/hop-marl/hop/train/spec"
)

// CrossConfig says who plays with whom.
type CrossConfig struct {
	Entries  []string              `yaml:"entries" doc:"who plays: folders that hop train made, presets trained before, bots, plan-infer, plan or br" unit:"PRESET|RUN|WHO" need:"yes" flag:"-"`
	Game     string                `yaml:"game" doc:"name of the game; none: that of the first run, or staghunt" unit:"NAME"`
	Set      []string              `yaml:"set" doc:"set a parameter, such as game.stags=2; repeatable" unit:"PATH=VALUE" flag:"each"`
	Episodes int                   `yaml:"episodes" doc:"starts of each pair; each is played from every seat" range:"1.."`
	Seed     uint64                `yaml:"seed" doc:"all random numbers follow from it"`
	Greedy   bool                  `yaml:"greedy" doc:"trained agents take their likeliest action"`
	Split    bool                  `yaml:"split" doc:"every seed of a run is an entry of its own"`
	Runs     string                `yaml:"runs" doc:"where presets trained before are looked for" flag:"file"`
	Planner  []string              `yaml:"planner" doc:"set a field of planners, such as plan.sims=200; repeatable" unit:"PATH=VALUE" flag:"each"`
	Workers  int                   `yaml:"workers" doc:"cores to use; 0: all; numbers do not depend on it" range:"0.."`
	Progress func(done, total int) `yaml:"-"`
}

// DefaultCross returns what is usual; who plays is for its user to say.
func DefaultCross() CrossConfig { return CrossConfig{Episodes: 1000, Seed: 1, Runs: "runs"} }

// crossing is a cross-play under way.
type crossing struct {
	*Lab
	CrossConfig
}

// Crossplay lets each entry take one seat in a team of each entry, all from the same
// starts.
func (l *Lab) Crossplay(ctx context.Context, ask CrossConfig) (*cross.Table, game.Game, error) {
	c := &crossing{l, ask}
	if err := config.Check(ask); err != nil {
		return nil, nil, Misuse{err}
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
			cell := cross.Cell{Newcomer: entries[i].name, Team: entries[k].name}
			var got []*eval.Crossed
			for _, p := range all[i*len(entries)+k] {
				cell.Missing, got = p.missing, append(got, p.got)
			}
			if cell.Missing == "" && !cell.Sum(got) {
				return nil, nil, fmt.Errorf("%s among %s got no number", cell.Newcomer, cell.Team)
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
				for seat := 0; seat < len(p.played) && p.missing == ""; seat++ {
					err := c.seated(g, p, seat, func([]eval.Member) error { return nil })
					if no := (Misuse{}); errors.As(err, &no) {
						p.missing = no.Error()
					} else if err != nil {
						return nil, err
					}
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
	show := cores.Counting(len(list), c.Progress)
	x := eval.Cross{Game: g, Starts: c.Episodes, Key: rng.New(c.Seed), Workers: cores.Share(c.Workers, len(list))}
	return cores.Each(ctx, c.Workers, len(list), func(ctx context.Context, n int) error {
		p, one := list[n], x
		one.Progress = show(n)
		err := c.seated(g, p.pairing, p.seat, func(team []eval.Member) (err error) {
			p.played[p.seat], err = one.Play(ctx, team)
			return err
		})
		if err == nil && p.left.Add(-1) == 0 {
			p.got, p.played = x.Sum(p.played), nil
		}
		return err
	})
}

// seated hands over everyone who plays when the newcomer has a seat.
func (c *crossing) seated(g game.Game, p *pairing, seat int, play func(team []eval.Member) error) error {
	names := slices.Repeat([]string{p.team.name}, g.Spec().Seats)
	names[seat] = p.one.name
	return p.one.with(p.seed, func(r *run, own []eval.Member) error {
		sit := func(r2 *run, others []eval.Member) error {
			team := make([]eval.Member, len(names))
			for b := range team {
				e, who, list := p.team, r2, others
				if b == seat {
					e, who, list = p.one, r, own
				}
				var err error
				if team[b], err = c.member(g, e, who, list, names, b); err != nil {
					return err
				}
			}
			return play(team)
		}
		if p.one == p.team {
			return sit(r, own)
		}
		return p.team.with(p.seed, sit)
	})
}

// member returns the one of an entry that sits on a seat: agent a of a run on
// seat a, with which it trained.
func (c *crossing) member(g game.Game, e *entry, run *run, own []eval.Member, names []string, seat int) (eval.Member, error) {
	if run != nil {
		full, err := run.Spec.Team(&spec.Agents{Game: run.Game}, own)
		if err != nil {
			return eval.Member{}, err
		}
		if full[seat].Name == own[seat].Name {
			return own[seat], nil
		}
		if !run.Spec.Plain() {
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
	m, err := Typed(g, names, seat, c.Planner)
	if err != nil {
		return m, Misused("%s cannot play here: %w", e.name, err)
	}
	return m, nil
}
