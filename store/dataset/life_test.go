package dataset_test

import (
	"slices"
	"testing"

	"github.com/hop-marl/hop/store/dataset"
)

// A team of bots stays together for the episodes of a life, and the next one is drawn
// from all of them.
func TestTeamsStayTogetherForALife(t *testing.T) {
	cfg := hunts(t)
	cfg.Mix, cfg.Among, cfg.Life, cfg.Rows = nil, []string{"ns", "nh", "random"}, 5, 4000
	collect(t, cfg)
	data, teams, seen := open(t, cfg.Dir), map[int][]int8{}, map[int8]int{}
	for _, q := range data.Sequences {
		team := teams[q.Episode/5]
		if len(team) <= int(q.Agent) {
			teams[q.Episode/5] = append(team, data.Bot[q.Lo])
			seen[data.Bot[q.Lo]]++
			continue
		}
		if team[q.Agent] != data.Bot[q.Lo] {
			t.Fatalf("agent %d is %v at first and %v in episode %d of its life", q.Agent, team[q.Agent], data.Bot[q.Lo], q.Episode%5)
		}
	}
	n := len(teams) * 4
	for kind := range int8(3) {
		if seen[kind] < n/5 {
			t.Errorf("%d of %d agents are %s, want a third or so", seen[kind], n, data.Bots[kind])
		}
	}
	again := cfg
	again.Dir, again.Workers = t.TempDir(), 1
	collect(t, again)
	sameFiles(t, "1 worker", files(t, again.Dir), files(t, cfg.Dir))
}

// Episodes of one lane's life have numbers in a row, although others end in between.
func TestLivesOfPlayersAreKeptTogether(t *testing.T) {
	cfg := toys(t)
	var d dealt
	cfg.Team, cfg.Population, cfg.Players, cfg.Rows, cfg.Workers, cfg.Life = nil, []string{"waits", "scores"}, d.players, 3000, 3, 4
	cfg.Kinds = func(lane, episode int) []int8 {
		life := lane + episode/4
		return []int8{int8(life % 2), int8(life / 2 % 2), int8(life / 4 % 2)}
	}
	collect(t, cfg)
	data := open(t, cfg.Dir)
	for i, q := range data.Sequences {
		first := slices.IndexFunc(data.Sequences[:i+1], func(o dataset.Sequence) bool { return o.Episode/4 == q.Episode/4 && o.Agent == q.Agent })
		if data.Bot[data.Sequences[first].Lo] != data.Bot[q.Lo] {
			t.Fatalf("agent %d of episode %d is another than in the first of its life", q.Agent, q.Episode)
		}
	}
}
