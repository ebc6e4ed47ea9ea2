package report

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/train/spec"
)

// setting is where references hold: the game and those of its parameters that
// matter.
type setting struct {
	game string
	is   map[string]any
	refs []plot.Ref
}

// settings lists what is known. Optima follow from the rules; random play was
// simulated with 200,000 episodes; the selfish equilibrium was measured.
var settings = []setting{
	{"staghunt", hunt(map[string]any{"stags": 1}), []plot.Ref{{Name: "optimum", Value: 3}, {Name: "hares only", Value: 1}}},
	{"staghunt", hunt(map[string]any{"stags": 1, "size": 4, "blocks": 0, "horizon": 35, "end_after_first_catch": 0}), []plot.Ref{
		{Name: "selfish equilibrium", Value: 2.89}, {Name: "random", Value: 0.66},
	}},
	{"staghunt", hunt(map[string]any{"stags": 1, "size": 8, "blocks": 0, "horizon": 35, "end_after_first_catch": 0}), []plot.Ref{
		{Name: "random", Value: 0.26},
	}},
	{"staghunt", hunt(map[string]any{"stags": 2}), []plot.Ref{{Name: "optimum", Value: 5}, {Name: "hares only", Value: 1}}},
	{"snowdrift", map[string]any{"agents": 4, "drifts": 6, "pays": 6, "cost": 4, "blocks": 0}, []plot.Ref{{Name: "optimum", Value: 30}}},
	{"snowdrift", map[string]any{"agents": 4, "drifts": 6, "pays": 6, "cost": 4, "blocks": 0, "size": 8, "horizon": 50}, []plot.Ref{
		{Name: "random", Value: 11.04},
	}},
	{"coin", map[string]any{"agents": 2, "size": 5, "horizon": 100, "pays": 1, "harm": 2}, []plot.Ref{{Name: "own coins only", Value: 9}}},
}

// hunt adds what the settings of the stag hunt share.
func hunt(is map[string]any) map[string]any {
	maps.Copy(is, map[string]any{"agents": 4, "hares": 4, "stag_pays": 10, "hare_pays": 1, "player_strength": "[]"})
	return is
}

// References returns what is known about the mean return of a spec's game: optimum,
// equilibrium, random play. Nothing where bots or frozen agents play too, since they hold
// for a team that learns.
func References(s *spec.Spec) []plot.Ref {
	m, err := s.Game.Map()
	others := func(who string) bool { return who != "learn" }
	if err != nil || slices.ContainsFunc(s.Train.Team, others) {
		return nil
	}
	for _, sw := range s.Train.Switch {
		if others(sw.To) {
			return nil
		}
	}
	return references(m)
}

// references returns what is known about a game, given as its name and
// parameters.
func references(params map[string]any) []plot.Ref {
	var out []plot.Ref
	for _, s := range settings {
		if s.holds(params) {
			out = append(out, s.refs...)
		}
	}
	return out
}

func (s setting) holds(params map[string]any) bool {
	if params["name"] != s.game {
		return false
	}
	for name, want := range s.is {
		if fmt.Sprint(params[name]) != fmt.Sprint(want) {
			return false
		}
	}
	return true
}
