package main

import (
	"fmt"
	"strings"
	"time"

	"hop/agent"
	"hop/eval"
	"hop/field"
	"hop/game"
	"hop/oracle"
	"hop/plan"
	"hop/plan/truth"
	"hop/rng"
	"hop/rollout"
	"hop/stats"
)

type oracleCmd struct {
	gameFlags
	Vs       []string `help:"The co-players, one bot for each other seat." required:"" placeholder:"BOT,..."`
	Episodes int      `help:"Starts to average over." default:"100"`
	Seed     uint64   `help:"Names all random streams; the starts are those of a focal hop eval with this seed." default:"1"`
	Discount float64  `help:"Of rewards, per step." default:"1"`
	Check    bool     `help:"Also play the best response from the same starts: it must get its value."`
	JSON     bool     `help:"Print one JSON object."`
}

func (oracleCmd) Help() string {
	return `Examples:

  hop oracle --vs ns,nh,nh
  hop oracle --game staghunt --set game.size=8 --set game.blocks=5 --vs ns,ns,random --episodes 20 --check --json

The exact value of the best response to fixed scripted co-players, by expectimax. Against ns and nh a start takes about a millisecond, with one random co-player about a tenth of a second, with three on 4x4 about 20 seconds.`
}

type oracleJSON struct {
	Game     string   `json:"game"`
	Vs       []string `json:"vs"`
	Episodes int      `json:"episodes"`
	Seed     uint64   `json:"seed"`
	Discount float64  `json:"discount"`
	Value    float64  `json:"value"`
	SE       float64  `json:"se"`
	States   float64  `json:"states"` // met, a start
	MS       float64  `json:"ms"`     // of processor time, a start
	Played   *float64 `json:"played,omitempty"`
	DiffSE   *float64 `json:"played_minus_value_se,omitempty"`
}

func (c oracleCmd) Run(a *app) error {
	g, _, err := c.build()
	if err != nil {
		return err
	}
	if len(c.Vs) == 1 {
		for len(c.Vs) < g.Spec().Seats-1 {
			c.Vs = append(c.Vs, c.Vs[0])
		}
	}
	if n := g.Spec().Seats - 1; len(c.Vs) != n {
		return usage("--vs names %d co-players (%s), the game has %d other seats; name one for each, or one for all", len(c.Vs), strings.Join(c.Vs, ","), n)
	}
	if c.Episodes < 1 {
		return usage("--episodes %d, want at least 1", c.Episodes)
	}
	team := append([]string{"br"}, c.Vs...)
	if err := oracle.Solvable(g, c.Vs); err != nil {
		return usageError{err}
	}
	bar := a.progress("starts")
	values, states, spent, err := c.solve(a, g, team, bar)
	bar.end()
	if err != nil {
		return err
	}
	out := oracleJSON{
		Game: g.Spec().Name, Vs: c.Vs, Episodes: c.Episodes, Seed: c.Seed, Discount: c.Discount,
		Value: values.Mean(), SE: values.SE(), States: float64(states) / float64(c.Episodes),
		MS: 1000 * spent.Seconds() / float64(c.Episodes),
	}
	if c.Check {
		if c.Discount != 1 {
			return usage("--check plays undiscounted episodes, so it needs --discount 1")
		}
		played, se, err := c.play(a, g, team)
		if err != nil {
			return err
		}
		played += out.Value
		out.Played, out.DiffSE = &played, &se
	}
	if c.JSON {
		return a.emit(out)
	}
	fmt.Fprintf(a.out, "best response to %s: %.4f ± %.4f over %d starts, %.0f states and %.2f ms each\n", strings.Join(c.Vs, ","), out.Value, 1.96*out.SE, c.Episodes, out.States, out.MS)
	if out.Played != nil {
		fmt.Fprintf(a.out, "played from the same starts: %.4f, differs by %.4f ± %.4f\n", *out.Played, *out.Played-out.Value, 1.96**out.DiffSE)
	}
	return nil
}

func (c oracleCmd) solve(a *app, g game.Game, team []string, bar *progress) (values stats.Acc, states int, spent time.Duration, err error) {
	br, err := oracle.NewBR(g, c.Discount)
	if err != nil {
		return values, 0, 0, usageError{err}
	}
	from := cpuTime()
	err = oracle.Starts(g, rng.New(c.Seed), judgedLanes, c.Episodes, false, team, 0, func(_, _ int, st game.State, seat game.Seat, bots []string) error {
		if err := a.ctx.Err(); err != nil {
			return err
		}
		v, err := br.Value(st, seat, bots)
		if err != nil {
			return err
		}
		values.Add(v)
		states += br.States()
		bar.update(values.N(), c.Episodes)
		return nil
	})
	return values, states, cpuTime() - from, err
}

// play returns what the best response gets beyond its value, and the standard
// error of that.
func (c oracleCmd) play(a *app, g game.Game, names []string) (diff, se float64, err error) {
	members, err := team(g, names)
	if err != nil {
		return 0, 0, err
	}
	r := newRegret(g, members, names, 0)
	_, err = eval.Run(a.ctx, eval.Config{Game: g, Team: members, Episodes: c.Episodes, Key: rng.New(c.Seed), Lanes: judgedLanes, Each: r.add})
	return -r.acc.Mean(), r.acc.SE(), err
}

// judgedLanes is how many envs a judged evaluation has: each keeps a table of
// the best response's values, which may take megabytes.
const judgedLanes = 16

// regret compares a focal member with the best response to the others.
type regret struct {
	focal     agent.ID
	verdicts  [][]oracle.Verdict
	acc, loss stats.Acc
}

// newRegret puts a judge before one of the members.
func newRegret(g game.Game, members []eval.Member, names []string, focal agent.ID) *regret {
	r := &regret{focal: focal, verdicts: make([][]oracle.Verdict, judgedLanes)}
	inner := members[focal].Players
	members[focal].Players = func(workers, lanes int) ([]rollout.Player, error) {
		players, err := inner(workers, lanes)
		for w := range players {
			players[w] = oracle.NewScorer(players[w], g, names, r.verdicts)
		}
		return players, err
	}
	return r
}

// focal returns the regret to report: of the member asked for, or else of the
// only one that is no bot, or nil.
func (c evalCmd) focal(g game.Game, members []eval.Member) (*regret, error) {
	focal, thinkers := c.Focal, 0
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.Name
		if _, err := game.NewBot(g, m.Name); err != nil {
			thinkers++
			if c.Focal < 0 {
				focal = i
			}
		}
	}
	switch {
	case focal >= len(members):
		return nil, usage("--focal %d: the team has members 0 to %d", focal, len(members)-1)
	case c.Focal < 0 && thinkers != 1:
		return nil, nil
	}
	others := append(append([]string{}, names[:focal]...), names[focal+1:]...)
	if err := oracle.Solvable(g, others); err != nil {
		if c.Focal >= 0 {
			return nil, usageError{err}
		}
		return nil, nil
	}
	if c.Focal < 0 && atRandom(others) > 1 {
		return nil, nil // hours on a large board; --focal asks for it all the same
	}
	return newRegret(g, members, names, agent.ID(focal)), nil
}

func (r *regret) add(ep rollout.Episode) {
	v := r.verdicts[ep.Env][ep.Index]
	r.acc.Add(v.Value - ep.Return[r.focal])
	r.loss.Add(v.Loss)
}

func (r *regret) write(out *evalJSON) {
	focal, mean, se, loss, lossSE := int(r.focal), r.acc.Mean(), r.acc.SE(), r.loss.Mean(), r.loss.SE()
	out.Focal, out.Regret, out.RegretSE, out.Loss, out.LossSE = &focal, &mean, &se, &loss, &lossSE
}

// thinker returns the member that a name other than a bot's stands for: br, the
// best response; plan, the untrained planner that knows its co-players' bots;
// or plan-infer, which infers them. It returns nil for other names.
func thinker(g game.Game, names []string, at int, set []string) (*eval.Member, error) {
	name := names[at]
	switch name {
	case "br":
		if err := oracle.Solvable(g, append(append([]string{}, names[:at]...), names[at+1:]...)); err != nil {
			return nil, usageError{err}
		}
		return &eval.Member{Name: name, Blind: true, Players: func(workers, lanes int) ([]rollout.Player, error) {
			return each(workers, func() (rollout.Player, error) { return oracle.NewPlayer(g, names, 1, lanes) })
		}}, nil
	case "plan", "plan-infer", "plan-paper":
		c := truth.Default()
		if name == "plan-paper" {
			c.Plan = plan.Paper()
		}
		if name != "plan-infer" {
			c.Known = names
		}
		for _, s := range set {
			path, value, ok := strings.Cut(s, "=")
			if !ok {
				return nil, usage("--planner %s: want FIELD=VALUE, such as plan.sims=200", s)
			}
			if err := field.Set(&c, path, value); err != nil {
				return nil, usage("--planner %s: %w", s, err)
			}
		}
		if _, err := truth.NewPlayer(g, c, agent.ID(at), 1); err != nil {
			return nil, usageError{err}
		}
		return &eval.Member{Name: name, Blind: true, Players: func(workers, lanes int) ([]rollout.Player, error) {
			return each(workers, func() (rollout.Player, error) { return truth.NewPlayer(g, c, agent.ID(at), lanes) })
		}}, nil
	}
	return nil, nil
}

// each makes a player for each worker.
func each(workers int, make1 func() (rollout.Player, error)) ([]rollout.Player, error) {
	players := make([]rollout.Player, workers)
	for w := range players {
		p, err := make1()
		if err != nil {
			return nil, err
		}
		players[w] = p
	}
	return players, nil
}
