package report

import "fmt"

// reference is a number that a return can be held against.
type reference struct {
	Value float64
	Name  string
}

// setting is where references hold: the game and those of its parameters that
// matter.
type setting struct {
	game string
	is   map[string]any
	refs []reference
}

// settings lists what is known. Optima follow from the rules; random play was
// simulated with 200,000 episodes; the selfish equilibrium was measured.
var settings = []setting{
	{"staghunt", map[string]any{"agents": 4, "stags": 1, "hares": 4, "stag_pays": 10, "hare_pays": 1, "player_strength": "[]"}, []reference{
		{3, "optimum"},
		{1, "hares only"},
	}},
	{"staghunt", map[string]any{"agents": 4, "stags": 1, "hares": 4, "stag_pays": 10, "hare_pays": 1, "player_strength": "[]", "size": 4, "blocks": 0, "horizon": 35, "end_after_first_catch": 0}, []reference{
		{2.89, "selfish equilibrium"},
		{0.66, "random"},
	}},
	{"staghunt", map[string]any{"agents": 4, "stags": 1, "hares": 4, "stag_pays": 10, "hare_pays": 1, "player_strength": "[]", "size": 8, "blocks": 0, "horizon": 35, "end_after_first_catch": 0}, []reference{
		{0.26, "random"},
	}},
	{"staghunt", map[string]any{"agents": 4, "stags": 2, "hares": 4, "stag_pays": 10, "hare_pays": 1, "player_strength": "[]"}, []reference{
		{5, "optimum"},
		{1, "hares only"},
	}},
	{"snowdrift", map[string]any{"agents": 4, "drifts": 6, "pays": 6, "cost": 4, "blocks": 0}, []reference{
		{30, "optimum"},
	}},
	{"snowdrift", map[string]any{"agents": 4, "drifts": 6, "pays": 6, "cost": 4, "blocks": 0, "size": 8, "horizon": 50}, []reference{
		{11.04, "random"},
	}},
	{"coin", map[string]any{"agents": 2, "size": 5, "horizon": 100, "pays": 1, "harm": 2}, []reference{
		{9, "own coins only"},
	}},
}

// references returns what is known about a game, given as its name and
// parameters.
func references(params map[string]any) []reference {
	var out []reference
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
