package train

import (
	"testing"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/num/rng"
)

// In a team's episode one learner plays among bots, and every number of the first
// bot is as likely; which learner it is goes round. 4,000 episodes: a share is off
// by .04 once in a million.
func TestTeamsAreOneLearnerAmongBots(t *testing.T) {
	d, err := newDealing(4, 1, nil, []string{"ns", "nh", "random"}, rng.New(1))
	if err != nil {
		t.Fatal(err)
	}
	d.teams = newTeams(0.5, 0, 1, rng.New(1))
	for a := range d.learns {
		d.learns[a] = true
	}
	const n = 4000
	teams, firsts, focal := 0, [4]int{}, [4]int{}
	for range n {
		learners, first := []agent.ID(nil), 0
		for a := range agent.ID(4) {
			switch d.choice[a][0] = d.draw(a, 0); d.choice[a][0] {
			case own:
				learners = append(learners, a)
			case 0:
				first++
			case 1:
			default:
				t.Fatalf("agent %d is played by %d", a, d.choice[a][0])
			}
		}
		if len(learners) == 4 {
			continue
		}
		if len(learners) != 1 {
			t.Fatalf("%d learners play, want all or one", len(learners))
		}
		teams++
		firsts[first]++
		focal[learners[0]]++
	}
	if share := float64(teams) / n; share < 0.46 || share > 0.54 {
		t.Errorf("%.3f of the episodes are teams', want 0.5", share)
	}
	for i := range 4 {
		if s := float64(firsts[i]) / float64(teams); s < 0.2 || s > 0.3 {
			t.Errorf("%d of the first bot in %.3f of the teams, want 0.25", i, s)
		}
		if s := float64(focal[i]) / float64(teams); s < 0.2 || s > 0.3 {
			t.Errorf("agent %d is the learner in %.3f of the teams, want 0.25", i, s)
		}
	}
}

// In a team of one kind one learner plays among co-players who are all the same one of the
// population, each of them as likely: 6,000 episodes, a share of a third is off by .04 once in a million.
func TestTeamsMayBeAllAlike(t *testing.T) {
	d, err := newDealing(4, 1, nil, []string{"ns", "nh", "random"}, rng.New(1))
	if err != nil {
		t.Fatal(err)
	}
	d.teams = newTeams(0, 0.5, 1, rng.New(1))
	for a := range d.learns {
		d.learns[a] = true
	}
	const n = 6000
	teams, kinds := 0, [3]int{}
	for range n {
		counts := map[int16]int{}
		for a := range agent.ID(4) {
			d.choice[a][0] = d.draw(a, 0)
			counts[d.choice[a][0]]++
		}
		if counts[own] == 4 {
			continue
		}
		if counts[own] != 1 || len(counts) != 2 {
			t.Fatalf("a team of %v", counts)
		}
		teams++
		for who, k := range counts {
			if k == 3 {
				kinds[who]++
			}
		}
	}
	if share := float64(teams) / n; share < 0.46 || share > 0.54 {
		t.Errorf("%.3f of the episodes are teams', want 0.5", share)
	}
	for who, k := range kinds {
		if s := float64(k) / float64(teams); s < 0.29 || s > 0.38 {
			t.Errorf("%.3f of the teams are of kind %d, want a third", s, who)
		}
	}
}
