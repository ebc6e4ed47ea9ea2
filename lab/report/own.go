package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	gonumplot "gonum.org/v1/plot"

	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/spec"
)

// played says whether a number is about what was played, and not about learning:
// returns, goals reached, lengths.
func (g *group) played(name string) bool {
	head, _, _ := strings.Cut(name, "/")
	return slices.Contains([]string{"return", "life", "episode"}, head) || g.isGoal(name)
}

// isGoal says whether a number is the share of episodes in which a goal was
// reached. A mind may report other things about goals under such a name.
func (g *group) isGoal(name string) bool {
	goal, ok := strings.CutPrefix(name, "goal/")
	return ok && (goal == "none" || slices.Contains(g.goals, goal))
}

// goalsOf returns the names of a game's goals. Without the game they are what the
// loop wrote before "none", which is its last.
func (g *group) goalsOf(names []string) []string {
	if g.Game != nil {
		return g.Game.Goals
	}
	var out []string
	for _, name := range names {
		goal, ok := strings.CutPrefix(name, "goal/")
		if goal == "none" {
			return out
		}
		if ok {
			out = append(out, goal)
		}
	}
	return nil
}

// meanReturn is the mean return over agents.
var meanReturn = key{"return/mean", -1}

// keepOwn leaves in a run's series of what was played only what whoever the page
// names has played. In the warm-up bots did; an agent whose place is switched is the
// one at the end; and the mean over agents is over those that learnt then, not over
// the bots and frozen agents that may play too.
func (r *run) keepOwn(g *group, s *spec.Spec, rows []runlog.Row) {
	r.warm = s.Train.Warm.Until(rows)
	begin, last := map[int64]int{}, int64(0) // where the window began that ended at a step
	for _, row := range rows {
		if row.Step != last {
			begin[row.Step], last = int(last), row.Step
		}
	}
	if len(s.Train.Team)+len(s.Train.Switch) > 0 {
		r.series[meanReturn] = r.learnersMean(s, begin)
	}
	for _, row := range r.series[meanReturn] {
		if row.Step <= r.warm {
			r.bots.Add(row.Value)
		}
	}
	for k, list := range r.series {
		if g.played(k.name) {
			r.series[k] = slices.DeleteFunc(list, func(row runlog.Row) bool {
				return row.Step <= r.warm ||
					k.agent >= 0 && s.Train.Role(k.agent, begin[row.Step]) != s.Train.Role(k.agent, math.MaxInt)
			})
		}
	}
}

// learnersMean returns the mean return over the agents that learnt in each window.
func (r *run) learnersMean(s *spec.Spec, begin map[int64]int) []runlog.Row {
	sum := map[int64]*stats.Acc{}
	for a := 0; len(r.series[key{"return", a}]) > 0; a++ {
		for _, row := range r.series[key{"return", a}] {
			if sum[row.Step] == nil {
				sum[row.Step] = new(stats.Acc)
			}
			if s.Train.Role(a, begin[row.Step]) == "learn" {
				sum[row.Step].Add(row.Value)
			}
		}
	}
	var out []runlog.Row
	for _, row := range r.series[meanReturn] {
		if acc := sum[row.Step]; acc != nil && acc.N() > 0 {
			row.Value = acc.Mean()
			out = append(out, row)
		}
	}
	return out
}

// warm returns the last env step of the longest warm-up, and what bots got in it.
func (g *group) warm() (step int64, bots float64) {
	var all stats.Acc
	for _, r := range g.Runs {
		step = max(step, r.warm)
		all.Merge(r.bots)
	}
	return step, all.Mean()
}

// shade is the mark of the warm-up on a time axis; named, it says what it is.
func (g *group) shade(named bool) []gonumplot.Plotter {
	step, _ := g.warm()
	if step == 0 {
		return nil
	}
	s := plot.Stretch{To: float64(step)}
	if named {
		s.Name = train.WarmUp
	}
	return []gonumplot.Plotter{s}
}

// shadeKey explains it in a legend.
func (g *group) shadeKey() []plot.Key {
	if step, _ := g.warm(); step > 0 {
		return []plot.Key{plot.Shade(train.WarmUp)}
	}
	return nil
}

// Watched says in a sentence how the agents watched bots at first; "" if they did
// not.
func (g *group) Watched() string {
	step, bots := g.warm()
	if step == 0 {
		return ""
	}
	text := fmt.Sprintf(" For the first %s env steps, shaded, bots (%s) play all places and the agents learn by watching",
		plot.Short(float64(step)), strings.Join(g.Spec.Train.Warm.Who, " and "))
	if !math.IsNaN(bots) {
		text += fmt.Sprintf("; what the bots get there, %s on average, is not theirs and is left out", plot.Number(bots))
	}
	return text + "."
}
