package score

import (
	"slices"
	"testing"
)

// Few kinds are scored in every team; many in those of one kind and a few mixed ones, so
// that every kind is met alone and among others.
func TestManyKindsAreNotScoredInEveryTeam(t *testing.T) {
	for _, c := range []struct{ seats, kinds, teams int }{
		{4, 3, 10}, {4, 4, 20}, {4, 8, 16}, {2, 8, 8}, {2, 30, 30}, {3, 9, 18}, {8, 9, 18},
	} {
		list := scoredTeams(c.seats, c.kinds)
		if len(list) != c.teams {
			t.Errorf("%d seats, %d kinds: %d teams, want %d", c.seats, c.kinds, len(list), c.teams)
		}
		for k := range int8(c.kinds) {
			one := append([]int8{0}, slices.Repeat([]int8{k}, c.seats-1)...)
			alone := slices.ContainsFunc(list, func(team []int8) bool { return slices.Equal(team, one) })
			mixed := slices.ContainsFunc(list, func(team []int8) bool { return slices.Contains(team[1:], k) && !slices.Equal(team, one) })
			if !alone || !mixed && c.seats > 2 {
				t.Errorf("%d seats, %d kinds: kind %d is scored alone: %v, and with others: %v", c.seats, c.kinds, k, alone, mixed)
			}
		}
	}
}
