package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/cpu"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/train/eval"
)

// EvalConfig says who plays how often.
type EvalConfig struct {
	Team     []string              `yaml:"team" doc:"one bot a seat, or one for all (hop list bots); also py:MODULE:FUNCTION or FILE.onnx, a policy in Python; br, the best response; plan, the untrained planner, which knows the others' bots; plan-infer, which infers them; plan-paper, with HOP's settings" unit:"WHO" need:"yes"`
	Episodes int                   `yaml:"episodes" doc:"how many episodes to play" range:"1.."`
	Seed     uint64                `yaml:"seed" doc:"all random numbers follow from it"`
	Workers  int                   `yaml:"workers" doc:"cores to use; 0: all; the result is the same" range:"0.."`
	FixSeat  bool                  `yaml:"fix_seat" doc:"do not deal the team to seats anew each episode"`
	Focal    int                   `yaml:"focal" doc:"member, from 0, whose regret against the best response is reported; -1: the one that is no bot, unless two or more co-players act at random, which takes long to solve" unit:"N"`
	Planner  []string              `yaml:"planner" doc:"set a field of planners, such as plan.sims=200; repeatable" unit:"PATH=VALUE" flag:"each"`
	Progress func(done, total int) `yaml:"-"`
}

// DefaultEval returns what is usual; who plays is for its user to say.
func DefaultEval() EvalConfig { return EvalConfig{Episodes: 10_000, Seed: 1, Focal: -1} }

// Validate returns everything that is wrong, joined.
func (c EvalConfig) Validate() error { return config.Check(c) }

// Seat is what one member got.
type Seat struct {
	Name  string             `json:"name"`
	Mean  float64            `json:"mean"`
	SE    stats.Number       `json:"se"` // not known of a single episode
	CI    stats.Interval     `json:"ci"`
	Life  float64            `json:"lifetime"`
	Goals map[string]float64 `json:"goals,omitempty"`
}

// Evaluation is what a team got.
type Evaluation struct {
	Game     string         `json:"game"`
	Team     []string       `json:"team"`
	Episodes int            `json:"episodes"`
	Seed     uint64         `json:"seed"`
	Mean     float64        `json:"mean"`
	SE       stats.Number   `json:"se"`
	CI       stats.Interval `json:"ci"`
	Lifetime float64        `json:"lifetime"`
	Steps    float64        `json:"steps"`
	Seats    []Seat         `json:"seats"`
	*Lost                   // nil: not known
}

// Lost is what a focal member got less than the best response to the others.
type Lost struct {
	Focal    int          `json:"focal"`
	Regret   float64      `json:"regret"`
	RegretSE stats.Number `json:"regret_se"`
	Loss     float64      `json:"loss"` // the same without luck
	LossSE   stats.Number `json:"loss_se"`
}

// Eval plays a team and counts what it gets.
func Eval(ctx context.Context, g game.Game, c EvalConfig) (*Evaluation, error) {
	if err := c.Validate(); err != nil {
		return nil, Misuse{err}
	}
	members, err := Team(g, c.Team, c.Planner...)
	if err != nil {
		return nil, err
	}
	out := &Evaluation{Game: g.Spec().Name, Episodes: c.Episodes, Seed: c.Seed}
	for _, m := range members {
		out.Team = append(out.Team, m.Name)
	}
	cfg := eval.Config{
		Game: g, Team: members, Episodes: c.Episodes, Key: rng.New(c.Seed), Workers: c.Workers, FixSeat: c.FixSeat, Progress: c.Progress,
	}
	lost, err := c.focal(g, members, out.Team)
	if err != nil {
		return nil, err
	}
	if lost != nil {
		cfg.Lanes, cfg.Each = scoredLanes, lost.add
	}
	res, err := cores.Await(ctx, func() (*eval.Result, error) { return eval.Run(ctx, cfg) }) // the oracle may take hours for a decision
	if err != nil {
		return nil, err
	}
	out.Mean, out.SE, out.CI, out.Steps = res.Mean.Mean(), stats.Number(res.Mean.SE()), res.Mean.CI(0.95), res.Steps.Mean()
	for i, name := range out.Team {
		r := res.Return[i]
		if r.N() == 0 {
			return nil, fmt.Errorf("%s was in none of the %d episodes, so nothing is known of it: play more", name, c.Episodes)
		}
		s := Seat{Name: name, Mean: r.Mean(), SE: stats.Number(r.SE()), CI: r.CI(0.95), Life: res.Life[i].Mean(), Goals: map[string]float64{}}
		for k, goal := range g.Spec().Goals {
			s.Goals[goal] = res.Goals[i][k].Mean()
		}
		out.Lifetime += s.Life / float64(len(res.Return))
		out.Seats = append(out.Seats, s)
	}
	if lost != nil {
		out.Lost = &Lost{int(lost.focal), lost.acc.Mean(), stats.Number(lost.acc.SE()), lost.loss.Mean(), stats.Number(lost.loss.SE())}
	}
	return out, nil
}

// focal returns the regret to report: of the member asked for, or else of the
// only one that is no bot, or nil.
func (c EvalConfig) focal(g game.Game, members []eval.Member, names []string) (*regret, error) {
	focal, others := c.Focal, 0
	for i, name := range names {
		if _, err := game.NewBot(g, name); err != nil {
			others++
			if c.Focal < 0 {
				focal = i
			}
		}
	}
	switch {
	case focal >= len(members):
		return nil, Misused("--focal %d: the team has members 0 to %d", focal, len(members)-1)
	case c.Focal < 0 && others != 1:
		return nil, nil
	}
	if err := oracle.Solvable(g, without(names, focal)); err != nil {
		if c.Focal >= 0 {
			return nil, Misuse{err}
		}
		return nil, nil
	}
	if c.Focal < 0 && AtRandom(without(names, focal)) > 1 {
		return nil, nil // hours on a large board; --focal asks for it all the same
	}
	return newRegret(g, members, names, agent.ID(focal)), nil
}

// scoredLanes is how many envs an evaluation with regret has: each keeps a table
// of the best response's values, which may take megabytes.
const scoredLanes = 16

// regret compares a focal member with the best response to the others.
type regret struct {
	focal     agent.ID
	verdicts  [][]oracle.Verdict
	acc, loss stats.Acc
}

// newRegret puts the oracle before one of the members.
func newRegret(g game.Game, members []eval.Member, names []string, focal agent.ID) *regret {
	r := &regret{focal: focal, verdicts: make([][]oracle.Verdict, scoredLanes)}
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

func (r *regret) add(ep rollout.Episode) {
	v := r.verdicts[ep.Env][ep.Index]
	r.acc.Add(v.Value - ep.Return[r.focal])
	r.loss.Add(v.Loss)
}

// SolveConfig says whom to respond to.
type SolveConfig struct {
	VS       []string              `yaml:"vs" doc:"the co-players, one bot for each other seat" unit:"BOT" need:"yes"`
	Episodes int                   `yaml:"episodes" doc:"starts to average over" range:"1.."`
	Seed     uint64                `yaml:"seed" doc:"all random numbers follow from it; the starts are those of a focal hop eval with this seed"`
	Discount float64               `yaml:"discount" doc:"of rewards, per step"`
	Check    bool                  `yaml:"check" doc:"also play the best response from the same starts: it must get its value"`
	Progress func(done, total int) `yaml:"-"`
}

// DefaultSolve returns what is usual; whom to respond to is for its user to say.
func DefaultSolve() SolveConfig { return SolveConfig{Episodes: 100, Seed: 1, Discount: 1} }

// Validate returns everything that is wrong, joined.
func (c SolveConfig) Validate() error {
	err := config.Check(c)
	if c.Check && c.Discount != 1 {
		err = errors.Join(err, config.Bad("discount", c.Discount, "1, because check plays undiscounted episodes"))
	}
	return err
}

// Solved is the exact best response's value.
type Solved struct {
	Game     string        `json:"game"`
	VS       []string      `json:"vs"`
	Episodes int           `json:"episodes"`
	Seed     uint64        `json:"seed"`
	Discount float64       `json:"discount"`
	Value    float64       `json:"value"`
	SE       stats.Number  `json:"se"`     // not known of a single start
	States   float64       `json:"states"` // met, a start
	MS       float64       `json:"ms"`     // of processor time, a start
	Played   *float64      `json:"played,omitempty"`
	DiffSE   *stats.Number `json:"played_minus_value_se,omitempty"`
}

// Solve computes the exact value of the best response to fixed bots.
func Solve(ctx context.Context, g game.Game, c SolveConfig) (*Solved, error) {
	if err := c.Validate(); err != nil {
		return nil, Misuse{err}
	}
	n := g.Spec().Seats - 1
	if len(c.VS) == 1 && n > 1 {
		c.VS = slices.Repeat(c.VS, n)
	}
	if len(c.VS) != n {
		return nil, Misused("--vs names %d co-players (%s), the game has %d other seats; name one for each, or one for all",
			len(c.VS), strings.Join(c.VS, ","), n)
	}
	if err := oracle.Solvable(g, c.VS); err != nil {
		return nil, Wrong(err, "--vs", c.VS...)
	}
	br, err := oracle.NewBR(g, c.Discount)
	if err != nil {
		return nil, Misuse{err}
	}
	br.Until(ctx, 0)
	team := append([]string{"br"}, c.VS...)
	var values stats.Acc
	states, from := 0, cpu.Time()
	err = oracle.Starts(g, rng.New(c.Seed), scoredLanes, c.Episodes, false, team, 0,
		func(_, _ int, st game.State, seat game.Seat, bots []string) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			v, err := br.Value(st, seat, bots)
			if err != nil {
				return err
			}
			values.Add(v)
			states += br.States()
			if c.Progress != nil {
				c.Progress(values.N(), c.Episodes)
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	starts := float64(c.Episodes)
	out := &Solved{
		Game: g.Spec().Name, VS: c.VS, Episodes: c.Episodes, Seed: c.Seed, Discount: c.Discount,
		Value: values.Mean(), SE: stats.Number(values.SE()), States: float64(states) / starts, MS: 1000 * (cpu.Time() - from).Seconds() / starts,
	}
	if !c.Check {
		return out, nil
	}
	members, err := Team(g, team)
	if err != nil {
		return nil, err
	}
	r := newRegret(g, members, team, 0)
	key := rng.New(c.Seed)
	again := eval.Config{Game: g, Team: members, Episodes: c.Episodes, Key: key, Lanes: scoredLanes, Each: r.add}
	if _, err = cores.Await(ctx, func() (*eval.Result, error) { return eval.Run(ctx, again) }); err != nil {
		return nil, err
	}
	played, se := out.Value-r.acc.Mean(), stats.Number(r.acc.SE())
	out.Played, out.DiffSE = &played, &se
	return out, nil
}
