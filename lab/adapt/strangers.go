package adapt

import (
	"context"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/game/stranger"
	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/report/adapted"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/train/eval"
)

// strangers makes a team of each co-player of a split: as many of it as there are seats beside
// the one who adapts.
func (c *adapting) strangers(g game.Game) (*adapted.Strangers, error) {
	split, err := stranger.Parse(c.Strangers)
	if err != nil {
		return nil, lab.Misused("--strangers: %w", err)
	}
	name, list, err := stranger.List(g, split)
	if err != nil {
		return nil, lab.Misused("--strangers: %w", err)
	}
	out := &adapted.Strangers{Split: name, Sum: stranger.Sum(list), Of: len(list)}
	for _, text := range thin(list, c.Some) {
		c.Teams = append(c.Teams, slices.Repeat([]string{text}, g.Spec().Seats-1))
	}
	out.N = len(c.Teams)
	return out, nil
}

// thin returns so many of a list, evenly spread over it; 0: all.
func thin(list []string, some int) []string {
	if some <= 0 || some >= len(list) {
		return list
	}
	out := make([]string, some)
	for i := range out {
		out[i] = list[i*len(list)/some]
	}
	return out
}

// mostStates is how many states of a start the oracle may meet: beyond them, the best response
// is sought among candidates.
const mostStates = 40_000

// closed says how the best response to co-players can be solved: start by start, in the long
// run, or not.
func (c *adapting) closed(ctx context.Context, g game.Game, names []string) (exact bool, lasting *oracle.Lasting, err error) {
	remember := false
	for _, name := range names {
		if b, err := game.NewBot(g, name); err == nil {
			_, ok := b.(game.Recaller)
			remember = remember || ok
		}
	}
	if remember {
		lasting, err = oracle.NewLasting(ctx, g, names, lastingStarts, mostStates, rng.New(1).Child("lasting"))
		if ctx.Err() != nil {
			return false, nil, ctx.Err()
		}
		return false, lasting, nil // nil where it cannot
	}
	if oracle.Solvable(g, names) != nil {
		return false, nil, nil
	}
	if c.Strangers == "" {
		return lab.AtRandom(names) <= 1, nil, nil
	}
	br, err := oracle.NewBR(g, 1)
	if err != nil {
		return false, nil, err
	}
	br.Until(ctx, mostStates)
	st, r := g.New(), rng.New(1).Child("probe").Rand()
	bots := append([]string{""}, names...)
	for range 3 {
		st.Reset(&r)
		if _, err := br.Value(st, 0, bots); err != nil {
			return false, nil, ctx.Err()
		}
	}
	return true, nil, nil
}

// lastingStarts is over how many starts the long run is solved.
const lastingStarts = 32

// safe returns what one is sure of: the most that a script of the game earns among whichever
// three of a kind it earns least, over the game's own bots.
func (c *adapting) safe(ctx context.Context, g game.Game) (value float64, by string, err error) {
	for _, b := range g.Bots() {
		if b.Name == "random" {
			continue
		}
		least := 0.
		for i, o := range g.Bots() {
			team := []eval.Member{eval.Bot(g, b.Name)}
			for range g.Spec().Seats - 1 {
				team = append(team, eval.Bot(g, o.Name))
			}
			res, err := eval.Run(ctx, eval.Config{Game: g, Team: team, Episodes: 600, Key: rng.New(1).Child("safe"), Workers: c.workers})
			if err != nil {
				return 0, "", err
			}
			if x := res.Return[0].Mean(); i == 0 || x < least {
				least = x
			}
		}
		if by == "" || least > value {
			value, by = least, b.Name
		}
	}
	return value, by, nil
}

// sumStrangers scores every agent over the strangers.
func (c *adapting) sumStrangers(ctx context.Context, g game.Game, t *adapted.Table, about *adapted.Strangers) error {
	safe, by, err := c.safe(ctx, g)
	if err != nil {
		return err
	}
	top := 0.
	for _, r := range t.Table {
		top = max(top, r.BestResponse)
	}
	for _, r := range t.Table {
		i := slices.IndexFunc(t.Strangers, func(s *adapted.Strangers) bool { return s.Agent == r.Run })
		if i < 0 {
			one := *about
			one.Agent, one.Safe, one.SafeBy, one.Optimum = r.Run, safe, by, top
			t.Strangers = append(t.Strangers, &one)
			i = len(t.Strangers) - 1
		}
		t.Strangers[i].Add(r)
	}
	for _, s := range t.Strangers {
		s.Finish()
	}
	return nil
}
