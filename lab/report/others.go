package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	gonumplot "gonum.org/v1/plot"

	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/store/card"
)

// othersView is what the agents' models of each other are worth.
type othersView struct {
	Card    *card.Card // nil: no run has come to the last fifth, over which they are scored
	Actions []string
	Pairs   []othersPair
}

// othersPair is one agent's model of one other, over the last fifth of training,
// mean over seeds.
type othersPair struct {
	Of, About int
	Rows      int // counted in the last fifth, all seeds together
	Top1      float64
	CE        float64
	ECE       float64
	Over      float64   // how much surer than right
	Recall    []float64 // [action] NaN: hardly ever played
	Lost      []bool    // [action] collapsed
}

// Recalls below these, of an action that is at least seldom of what was played,
// are called weak and lost.
const (
	seldom     = 0.03
	weakRecall = 0.25
	lostRecall = 0.1
)

// others gathers what runs with models of others logged; nil if none did.
func (g *group) others() *othersView {
	about, actions := map[int]bool{}, []string{}
	for _, r := range g.Runs {
		for _, n := range r.names {
			parts := strings.SplitN(n, "/", 4)
			if len(parts) < 3 || parts[0] != "others" {
				continue
			}
			if j, err := strconv.Atoi(parts[1]); err == nil {
				about[j] = true
			}
			if len(parts) == 4 && parts[2] == "recall" && !slices.Contains(actions, parts[3]) {
				actions = append(actions, parts[3])
			}
		}
	}
	if len(about) == 0 {
		return nil
	}
	if g.Game != nil {
		slices.SortStableFunc(actions, func(a, b string) int { return slices.Index(g.Game.Actions, a) - slices.Index(g.Game.Actions, b) })
	}
	v := &othersView{Actions: actions, Card: &card.Card{Title: "Models of others"}}
	for a := range g.Agents {
		for j := range g.Agents {
			if a != j && about[j] && g.learns(a) {
				v.Pairs = append(v.Pairs, g.othersPair(a, j, actions))
			}
		}
	}
	if !slices.ContainsFunc(v.Pairs, func(p othersPair) bool { return p.Rows > 0 }) {
		v.Card = nil
		return v
	}
	g.checkOthers(v)
	return v
}

func (g *group) othersPair(a, j int, actions []string) othersPair {
	at := fmt.Sprintf("others/%d/", j)
	mean := func(name string) float64 { return g.lastFifth(key{at + name, a}) }
	p := othersPair{Of: a, About: j, Top1: mean("top1"), CE: mean("ce"), ECE: mean("ece"), Rows: g.lastRows(key{at + "top1", a})}
	p.Over = mean("sure") - p.Top1
	for _, act := range actions {
		recall, n := mean("recall/"+act), g.lastRows(key{at + "recall/" + act, a})
		if float64(n) < seldom*float64(p.Rows) {
			recall = math.NaN()
		}
		p.Recall, p.Lost = append(p.Recall, recall), append(p.Lost, recall < lostRecall)
	}
	return p
}

// checkOthers asks the questions of docs/opponents.md of every seed and agent.
func (g *group) checkOthers(v *othersView) {
	bad := map[string][]string{} // by check
	note := func(check, format string, a ...any) { bad[check] = append(bad[check], fmt.Sprintf(format, a...)) }
	for _, r := range g.Runs {
		for a := range g.Agents {
			if !g.learns(a) {
				continue
			}
			who := fmt.Sprintf("seed %d agent %d", r.Seed, a)
			if len(r.series[key{"moa/ce", a}]) == 0 {
				note("idle", "%s", who)
				continue
			}
			for _, of := range []string{"dead", "wrong"} {
				if n := r.sum(key{"moa/" + of, a}); n > 0 {
					note(of, "%s: %.0f rows", who, n)
				}
			}
			last := func(name string) float64 { return r.lastFifth(key{"moa/" + name, a}) }
			if n := last("still"); n > 0 {
				note("still", "%s: %.0f parts", who, n)
			}
			ce, floor, right, sure, uniform := last("ce"), last("floor"), last("top1"), last("sure"), last("uniform")
			if (check.Predictor{CE: ce, Floor: floor, Right: right, Sure: sure}).DoubleSoftmax() == check.Fault {
				note("floor", "%s: cross-entropy %.3f, floor %.3f; right on %.0f %%, sure of %.0f %%", who, ce, floor, 100*right, 100*sure)
			}
			if right < uniform+0.1 {
				note("uniform", "%s: %.3f, guessing %.3f", who, right, uniform)
			}
			var losses []float64
			for _, row := range r.series[key{"moa/ce", a}] {
				losses = append(losses, row.Value)
			}
			if n := len(check.Spikes(losses)); n > 2 {
				note("spikes", "%s: %d times", who, n)
			}
			for j := range g.Agents {
				k := key{fmt.Sprintf("others/%d/rows", j), a}
				if j != a && len(r.series[k]) > 0 && r.sum(k) == 0 {
					note("idle", "%s of agent %d", who, j)
				}
			}
		}
	}
	for _, want := range []bool{true, false} { // the lost ones first
		for _, p := range v.Pairs {
			for i, recall := range p.Recall {
				if recall < weakRecall && p.Lost[i] == want {
					note("recall", "agent %d of agent %d: %s %.2f", p.Of, p.About, v.Actions[i], recall)
				}
			}
		}
	}
	ask := func(of, name, good, fix string) {
		list, why := bad[of], good
		if len(list) > 0 {
			why = someOf(list)
		}
		lost := slices.ContainsFunc(v.Pairs, func(p othersPair) bool { return slices.Contains(p.Lost, true) })
		v.Card.Check(name, len(list) == 0, of == "recall" && !lost, why, fix)
	}
	ask("dead", check.HasLeft.Name, "no row of an agent that had left was learnt from", check.HasLeft.Fix)
	ask("wrong", check.EgoFirst.Name, "every row shows the modelled agent's own last action first", check.EgoFirst.Fix)
	ask("idle", "every agent's models learn", "every agent has learnt about every other one",
		"push every agent's trajectories and train every agent's models, not only the first's")
	ask("still", check.EveryPart.Name, "all weights have moved", check.EveryPart.Fix)
	ask("floor", "softmax once", "no model stays above what a softmax of a softmax can reach while it is right more often than sure",
		"take the cross-entropy of logits, not of probabilities")
	ask("spikes", check.Keeps.Name, "no loss keeps jumping back to where it began", check.Keeps.Fix)
	ask("uniform", "beats guessing", "every top-1 is above guessing among the legal actions by at least .1",
		"look at moa/ce: it has learnt little")
	ask("recall", "no action is lost", fmt.Sprintf("every action that is at least %.0f %% of what was played is foreseen", 100*seldom),
		"more rows of it, or moa.balance: true")
}

// sum adds up a series.
func (r *run) sum(k key) float64 {
	s := 0.
	for _, row := range r.series[k] {
		s += row.Value
	}
	return s
}

// someOf lists a few and says how many more there are.
func someOf(list []string) string {
	const most = 4
	if len(list) <= most {
		return strings.Join(list, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(list[:most], "; "), len(list)-most)
}

// othersFigure draws how top-1 went, one panel an agent, coloured by co-player.
func (g *group) othersFigure(d grid) *plot.Figure {
	f := &plot.Figure{
		Name: "others", Title: "What they know of each other",
		Caption: "Share of a co-player's steps whose action the agent's model of it names, given the goal in hindsight where it is given any, " +
			"on windows not learnt from yet. Lines: coloured by the co-player." + overSeeds(len(g.Runs)),
	}
	for j := range g.Agents {
		f.Legend = append(f.Legend, plot.Key{Name: fmt.Sprintf("of agent %d", j), Color: plot.Agent(j)})
	}
	f.Legend = append(f.Legend, g.shadeKey()...)
	for a := range g.Agents {
		var lines []gonumplot.Plotter
		for j := range g.Agents {
			if b := g.bundle(d, key{fmt.Sprintf("others/%d/top1", j), a}); len(b.seeds) > 0 {
				lines = append(lines, b.line(d, j, 1.3))
			}
		}
		if lines != nil {
			p := timePlot(d, 0, 1).Add(g.shade(false)...).Add(lines...)
			f.Panels = append(f.Panels, p.Panel(g.Member(a)+"'s models: top-1", plot.HalfW, plot.HalfH-10))
		}
	}
	return f
}
