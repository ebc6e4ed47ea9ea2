package score

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/card"
	"github.com/hop-marl/hop/train/pretrain"
)

// ResponseScore says how a response network answers teams, each met in fresh episodes.
type ResponseScore struct {
	Teams    []ResponseTeam `json:"teams"`
	Episodes int            `json:"episodes"` // a team
}

// ResponseTeam is how a response network answers one team.
type ResponseTeam struct {
	Team   string       `json:"team"`
	Return float64      `json:"return"` // of its own policy
	SE     stats.Number `json:"se"`     // not known of a single episode
	Says   float64      `json:"says"`   // its value of the starts, discounted
	Was    stats.Number `json:"was"`    // the discounted return from those that another followed
	WasSE  stats.Number `json:"was_se"`
	Best   *float64     `json:"best,omitempty"` // of the exact best response on the same starts
}

// Regret returns what the team's best response would have got more, NaN if that
// is not known.
func (t ResponseTeam) Regret() float64 {
	if t.Best == nil {
		return math.NaN()
	}
	return *t.Best - t.Return
}

// Bias returns how far the value of the starts is from what followed, beyond the
// two standard errors that chance explains. NaN: one start does not say.
func (t ResponseTeam) Bias() float64 {
	return max(0, math.Abs(t.Says-float64(t.Was))-2*float64(t.WasSE))
}

// responseLanes is how many copies of the game are played side by side to score it.
const responseLanes = 64

// Response scores a response network in fresh episodes of every team of the kinds, or of
// some if there are many, on so many workers, and fills a card.
func Response(ctx context.Context, r *pretrain.Response, episodes, workers int) (*ResponseScore, *card.Card, error) {
	key := r.Key.Child("judge") // the name is part of the numbers
	teams := scoredTeams(r.Game.Spec().Seats, len(r.Config.Who))
	s := &ResponseScore{Episodes: episodes, Teams: make([]ResponseTeam, len(teams))}
	err := cores.Each(ctx, workers, 1+len(teams), func(ctx context.Context, i int) (err error) {
		if i > 0 {
			s.Teams[i-1].Best, err = bestResponse(r, named(r, teams[i-1]), min(responseLanes, episodes), episodes, key)
			return err
		}
		for i := 0; i < len(teams) && err == nil; i++ { // one after the other: members of a zoo remember
			if err = ctx.Err(); err == nil {
				err = s.Teams[i].meet(r, teams[i], episodes, key)
			}
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return s, responseCard(r, s), nil
}

// named returns what those of a team are called.
func named(r *pretrain.Response, team []int8) []string {
	names := make([]string, len(team))
	for a, k := range team {
		if names[a] = r.Config.Who[k]; a == 0 {
			names[a] = "learner"
		}
	}
	return names
}

// mostTeams is how many teams are scored, if all are.
const mostTeams = 20

// scoredTeams returns every team or, if there are more than mostTeams, those of one kind
// and, from each kind on, one of neighbours in the list.
func scoredTeams(seats, kinds int) [][]int8 {
	all := pretrain.Teams(seats, kinds)
	if len(all) <= mostTeams {
		return all
	}
	var alike, mixed [][]int8
	for k := range kinds {
		one, next := []int8{0}, []int8{0}
		for a := range seats - 1 {
			one, next = append(one, int8(k)), append(next, int8((k+a)%kinds))
		}
		alike, mixed = append(alike, one), append(mixed, next)
	}
	if seats == 2 {
		return alike
	}
	return append(alike, mixed...)
}

// meet plays one team; its best response is found meanwhile.
func (out *ResponseTeam) meet(r *pretrain.Response, team []int8, episodes int, key rng.Key) error {
	out.Team = strings.Join(named(r, team)[1:], ",")
	lanes := min(responseLanes, episodes)
	envs, players, err := r.Against(team, lanes, key)
	if err != nil {
		return err
	}
	quota := func(lane int) int { return (episodes + lanes - 1 - lane) / lanes }
	ro := batch.New(envs.Shape(r.Config.Window, r.Brain.Model.Extra))
	var got, says, was stats.Acc
	began, factor, sum := make([]int, lanes), make([]float64, lanes), make([]float64, lanes)
	for done := 0; done < episodes; {
		if err := envs.Collect(ro, players); err != nil {
			return err
		}
		for n := range lanes {
			for t := range ro.Steps {
				if ro.Start[ro.Moment(t, n)] {
					if began[n] > 0 && began[n] <= quota(n) {
						was.Add(sum[n])
					}
					if began[n]++; began[n] <= quota(n) {
						says.Add(float64(ro.Value[ro.Slot(0, t, n)]) / r.Config.PPO.RewardScale)
					}
					factor[n], sum[n] = 1, 0
				}
				if ro.Alive[ro.Slot(0, t, n)] {
					sum[n] += factor[n] * float64(ro.Reward[ro.Step(0, t, n)])
					factor[n] *= r.Config.PPO.Gamma
				}
			}
		}
		for _, ep := range envs.Episodes() {
			if ep.Index < quota(ep.Env) {
				got.Add(ep.Return[0])
				done++
			}
		}
	}
	out.Return, out.SE, out.Says = got.Mean(), stats.Number(got.SE()), says.Mean()
	out.Was, out.WasSE = stats.Number(was.Mean()), stats.Number(was.SE())
	return nil
}

// bestResponse returns the mean of the exact best response on the same starts, nil where
// it is not known or slow to find.
func bestResponse(r *pretrain.Response, names []string, lanes, episodes int, key rng.Key) (*float64, error) {
	for _, name := range names[1:] {
		if name == "random" || name == pretrain.Self {
			return nil, nil
		}
	}
	if oracle.Solvable(r.Game, names[1:]) != nil {
		return nil, nil
	}
	br, err := oracle.NewBR(r.Game, 1)
	if err != nil {
		return nil, err
	}
	var acc stats.Acc
	err = oracle.Starts(r.Game, key, lanes, episodes, false, names, 0, func(_, _ int, st game.State, seat game.Seat, bots []string) error {
		v, err := br.Value(st, seat, bots)
		acc.Add(v)
		return err
	})
	best := acc.Mean()
	return &best, err
}

// What a response network must do to be called good.
const (
	responseGoodRegret = 0.05
	responseWeakRegret = 0.3
	responseGoodBias   = 0.1
	responseWeakBias   = 0.3
)

// shortResponse says why a training was too short to judge the network by, "" if
// it was not.
func shortResponse(r *pretrain.Response) string {
	if usual := pretrain.DefaultResponse().Steps; 2*r.Config.Steps < usual {
		return fmt.Sprintf("%d of the usual %d env steps", r.Config.Steps, usual)
	}
	return ""
}

// responseCard fills the card.
func responseCard(r *pretrain.Response, s *ResponseScore) *card.Card {
	c := &card.Card{
		Title: "Response network", Short: shortResponse(r),
		About: fmt.Sprintf("%s. It was told who its co-players are and learnt to answer them. Scored in %d fresh episodes of each team; its "+
			"policy draws its actions.", r.Brain.Model.Describe(r.Brain.Params), s.Episodes),
	}
	worst, bias := ResponseTeam{}, ResponseTeam{}
	for _, t := range s.Teams {
		n := card.Number{Name: "return among " + t.Team, Value: t.Return, SE: float64(t.SE), N: s.Episodes}
		if t.Best != nil {
			n.Limit = &card.Ref{Name: "best response", Value: *t.Best}
			if worst.Team == "" || t.Regret() > worst.Regret() {
				worst = t
			}
		}
		if off := t.Bias(); !math.IsNaN(off) && (bias.Team == "" || off > bias.Bias()) {
			bias = t
		}
		c.Add(n)
	}
	if worst.Team != "" {
		lost := worst.Regret()
		c.Check("answers", lost <= responseGoodRegret, lost <= responseWeakRegret,
			fmt.Sprintf("among %s it loses most to the exact best response: %.3f", worst.Team,
				lost), "learn longer (steps), or with a larger net (net.hidden)")
	}
	if off := bias.Bias(); bias.Team == "" {
		c.Answer(check.Finding{Check: "values", Status: check.NotAsked, Says: "one start of a team does not say how far its value is off"})
	} else {
		c.Check("values", off <= responseGoodBias, off <= responseWeakBias,
			fmt.Sprintf("among %s its value of the starts is furthest from what followed: %.3f, discounted, in place of %.3f ± %.3f",
				bias.Team, bias.Says, bias.Was, bias.WasSE),
			"learn longer (steps), or raise ppo.value_coef")
	}
	returns := plot.Line{Name: "return"}
	losses := plot.Line{Name: "value loss"}
	for _, at := range r.Past {
		returns.X, returns.Y = append(returns.X, float64(at.Step)), append(returns.Y, at.Return)
		losses.X, losses.Y = append(losses.X, float64(at.Step)), append(losses.Y, at.Value)
	}
	for _, l := range []plot.Line{returns, losses} {
		name := strings.ReplaceAll(l.Name, " ", "_")
		c.Figures = append(c.Figures, plot.Lines(name, "The response network's "+l.Name, "Mean of a window, over all teams.",
			plot.Axes{X: "env steps", Y: l.Name}, l))
	}
	return c
}
