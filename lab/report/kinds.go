package report

import (
	"slices"
	"strings"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/train/spec"
)

// kindRow is what the agents of one kind got, where a run has several.
type kindRow struct {
	Name   string
	Agents []int
	What   string // how they learn
	Mean   float64
	CI     stats.Interval
	Seeds  []float64 // [scored seed]
}

// Kinds returns what each kind of agent got in the end, in the agents' order; nil if all
// who learn are alike.
func (g *group) Kinds() []kindRow {
	if g.Spec == nil || len(g.Spec.Kinds) == 0 {
		return nil
	}
	var list []kindRow
	for a, name := range g.Spec.FinalKinds(g.Agents) {
		i := slices.IndexFunc(list, func(k kindRow) bool { return k.Name == name })
		if i < 0 {
			i = len(list)
			list = append(list, kindRow{Name: name, What: "does not learn"})
			if g.learns(a) {
				list[i].What = learning(g.Spec.LearnsAs(agent.ID(a)))
			}
		}
		list[i].Agents = append(list[i].Agents, a)
	}
	for i := range list {
		var acc stats.Acc
		for _, r := range g.Scored() {
			list[i].Seeds = append(list[i].Seeds, g.Spec.ByKind(r.Result.Agents)[list[i].Name])
			acc.Add(list[i].Seeds[len(list[i].Seeds)-1])
		}
		list[i].Mean, list[i].CI = acc.Mean(), acc.CI(0.95)
	}
	return list
}

// Listed writes the seeds' means.
func (k kindRow) Listed() string {
	var list []string
	for _, x := range k.Seeds {
		list = append(list, plot.Number(x))
	}
	return strings.Join(list, ", ")
}

// learning says how agents of a spec learn, in a few words.
func learning(s *spec.Spec) string {
	text := s.Title() + ", learning rate " + trim3(s.PPO.LR)
	if s.PPO.Prosocial != 0 {
		text += ", prosocial share " + trim3(s.PPO.Prosocial)
	}
	return text
}
