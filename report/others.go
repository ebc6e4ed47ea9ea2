package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"

	"hop/card"
	"hop/page"
	"hop/stats"
)

// othersView is what the agents' models of each other are worth.
type othersView struct {
	Card    *card.Card
	Actions []string
	Pairs   []othersPair
}

// othersPair is one agent's model of one other, over the last fifth of training,
// mean over seeds.
type othersPair struct {
	Of, About int
	Rows      int // judged in the last fifth, all seeds together
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
	g.checkOthers(v)
	return v
}

func (g *group) othersPair(a, j int, actions []string) othersPair {
	at := fmt.Sprintf("others/%d/", j)
	mean := func(name string) float64 {
		var acc stats.Acc
		for _, r := range g.Runs {
			if x := r.lastFifth(key{at + name, a}); !math.IsNaN(x) {
				acc.Add(x)
			}
		}
		if acc.N() == 0 {
			return math.NaN()
		}
		return acc.Mean()
	}
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

// lastRows counts the rows behind a number in the last fifth, over all seeds.
func (g *group) lastRows(k key) int {
	n := 0
	for _, r := range g.Runs {
		end := r.Steps
		if end == 0 {
			end = r.Step
		}
		for _, row := range r.series[k] {
			if float64(row.Step) > 0.8*float64(end) {
				n += row.N
			}
		}
	}
	return n
}

// checkOthers asks the questions of docs/opponents.md of every seed and agent.
func (g *group) checkOthers(v *othersView) {
	var idle, dead, wrong, still, floor, spiky, guess, lost, weak []string
	for _, r := range g.Runs {
		for a := range g.Agents {
			if !g.learns(a) {
				continue
			}
			who := fmt.Sprintf("seed %d agent %d", r.Seed, a)
			if len(r.series[key{"moa/ce", a}]) == 0 {
				idle = append(idle, who)
				continue
			}
			if n := r.sum(key{"moa/dead", a}); n > 0 {
				dead = append(dead, fmt.Sprintf("%s: %.0f rows", who, n))
			}
			if n := r.sum(key{"moa/wrong", a}); n > 0 {
				wrong = append(wrong, fmt.Sprintf("%s: %.0f rows", who, n))
			}
			if n := r.lastFifth(key{"moa/still", a}); n > 0 {
				still = append(still, fmt.Sprintf("%s: %.0f parts", who, n))
			}
			ce, f := r.lastFifth(key{"moa/ce", a}), r.lastFifth(key{"moa/floor", a})
			right, sure := r.lastFifth(key{"moa/top1", a}), r.lastFifth(key{"moa/sure", a})
			if ce > f-0.01 && right > sure+0.05 { // who acts at random is above the floor too, but nobody is less sure than right
				floor = append(floor, fmt.Sprintf("%s: cross-entropy %.3f, floor %.3f; right on %.0f %%, sure of %.0f %%", who, ce, f, 100*right, 100*sure))
			}
			if u := r.lastFifth(key{"moa/uniform", a}); right < u+0.1 {
				guess = append(guess, fmt.Sprintf("%s: %.3f, guessing %.3f", who, right, u))
			}
			var losses []float64
			for _, row := range r.series[key{"moa/ce", a}] {
				losses = append(losses, row.Value)
			}
			if n := len(card.Spikes(losses)); n > 2 {
				spiky = append(spiky, fmt.Sprintf("%s: %d times", who, n))
			}
			for j := range g.Agents {
				k := key{fmt.Sprintf("others/%d/rows", j), a}
				if j != a && len(r.series[k]) > 0 && r.sum(k) == 0 {
					idle = append(idle, fmt.Sprintf("%s of agent %d", who, j))
				}
			}
		}
	}
	for _, p := range v.Pairs {
		for i, recall := range p.Recall {
			text := fmt.Sprintf("agent %d of agent %d: %s %.2f", p.Of, p.About, v.Actions[i], recall)
			if p.Lost[i] {
				lost = append(lost, text)
			} else if recall < weakRecall {
				weak = append(weak, text)
			}
		}
	}
	c := v.Card
	none := func(list []string, good string) string {
		if len(list) == 0 {
			return good
		}
		return someOf(list)
	}
	c.Check("agents that have left", len(dead) == 0, false, none(dead, "no row of an agent that had left was learnt from"), "record rows only while an agent is alive")
	c.Check("joint actions are ego-first", len(wrong) == 0, false, none(wrong, "every row shows the modelled agent's own last action first"), "write the last joint action in the order of the planes: oneself, then the next seats, wrapping")
	c.Check("every agent's models learn", len(idle) == 0, false, none(idle, "every agent has learnt about every other one"), "push every agent's trajectories and train every agent's models, not only the first's")
	c.Check("every part learns", len(still) == 0, false, none(still, "all weights have moved"), "give the optimiser these parameters")
	c.Check("softmax once", len(floor) == 0, false, none(floor, "no model stays above what a softmax of a softmax can reach while it is right more often than sure"), "take the cross-entropy of logits, not of probabilities")
	c.Check("keeps what it has learnt", len(spiky) == 0, false, none(spiky, "no loss keeps jumping back to where it began"), "load the saved model before going on")
	c.Check("beats guessing", len(guess) == 0, false, none(guess, "every top-1 is above guessing among the legal actions by at least .1"), "look at moa/ce: it has learnt little")
	c.Check("no action is lost", len(lost)+len(weak) == 0, len(lost) == 0, none(append(lost, weak...), fmt.Sprintf("every action that is at least %.0f %% of what was played is foreseen", 100*seldom)), "more rows of it, or moa.balance: true")
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
func (g *group) othersFigure(d grid) *page.Figure {
	f := &page.Figure{
		Name: "others", Title: "What they know of each other",
		Caption: "Share of a co-player's steps whose action the agent's model of it names, given the goal in hindsight where it is given any, " +
			"on windows not learnt from yet. Lines: mean over seeds, coloured by the co-player.",
	}
	for j := range g.Agents {
		f.Legend = append(f.Legend, page.Key{Name: fmt.Sprintf("of agent %d", j), Color: page.Agent(j)})
	}
	for a := range g.Agents {
		var lines []plot.Plotter
		for j := range g.Agents {
			if b := g.bundle(d, key{fmt.Sprintf("others/%d/top1", j), a}); len(b.seeds) > 0 {
				lines = append(lines, b.line(d, j, 1.3))
			}
		}
		if lines != nil {
			p := timePlot(d, 0, 1, 4).Add(lines...)
			f.Panels = append(f.Panels, p.Panel(g.Member(a)+"'s models: top-1", page.HalfW, page.HalfH-20))
		}
	}
	return f
}
