package report

import (
	"slices"

	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/train/spec"
)

// References returns what is known about the mean return of a spec's game: optimum,
// equilibrium, random play. Nothing where bots or frozen agents play too, since they hold
// for a team that learns.
func References(s *spec.Spec) []plot.Ref {
	others := func(who string) bool { return who != "learn" }
	if slices.ContainsFunc(s.Train.Team, others) {
		return nil
	}
	for _, sw := range s.Train.Switch {
		if others(sw.To) {
			return nil
		}
	}
	return references(s.Game)
}

// references returns what the game's registry entry knows of mean returns.
func references(g spec.Game) (list []plot.Ref) {
	for _, r := range g.Returns() {
		list = append(list, plot.Ref{Name: r.Name, Value: r.Value})
	}
	return list
}
