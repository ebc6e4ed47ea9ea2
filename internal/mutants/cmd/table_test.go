package main

import (
	"strings"
	"testing"
)

// Quiet slips are shown and not counted; what was held back, missed or named elsewhere is told apart.
func TestTablesCountWhatThereIsToFind(t *testing.T) {
	got := tables([]result{
		{Name: "a", Wanted: []string{"game"}, Preset: "ppo-4x4", Verdict: "fault", Module: "game", Says: "One. Two.", Seconds: 6},
		{Name: "b", Wanted: []string{"game", "spec"}, Preset: "ppo-4x4", Verdict: "pass", held: true},
		{Name: "c", Wanted: []string{"ppo"}, Preset: "ppo-4x4", Verdict: "suspect", Module: "goals", Says: "x|y"},
		{Name: "d", Wanted: []string{"ppo"}, Preset: "ppo-4x4", Verdict: "pass", Quiet: true, why: "nothing reads it"},
	})
	for _, want := range []string{
		"| game | 2 | 1 (50 %) | 1 (50 %) |\n", "| ppo | 1 | 1 (100 %) | 0 (0 %) |\n", "| all | 3 | 2 (67 %) | 1 (33 %) |\n",
		"| a | game | ppo-4x4 | fault, game | One. | 6 |\n", "| b (held back) | game, spec | ppo-4x4 | not found |  | 0 |\n",
		"| c | ppo | ppo-4x4 | suspect, goals | x/y | 0 |\n", "| d | ppo | ppo-4x4 | quiet | Changes nothing: nothing reads it | 0 |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no row %q in\n%s", want, got)
		}
	}
}
