package diffuse

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/cpu"
	"github.com/hop-marl/hop/num/rng"
)

// Record plays episodes of teams whose members are drawn from bots, and returns every step of
// everybody as a row.
func Record(g game.Game, bots []string, episodes int, key rng.Key) ([]Row, error) {
	spec, st := g.Spec(), g.New()
	var rows []Row
	for e := range episodes {
		r := key.Child("episode", e).Rand()
		team := make([]game.Bot, spec.Seats)
		for s := range team {
			b, err := game.NewBot(g, bots[r.IntN(len(bots))])
			if err != nil {
				return nil, err
			}
			team[s] = b
		}
		st.Reset(&r)
		rows = append(rows, episode(st, spec, team, &r)...)
	}
	return rows, nil
}

// episode plays one episode.
func episode(st game.State, spec game.Spec, team []game.Bot, r *rng.Rand) []Row {
	var seen [][][]float32 // [steps][seats], nil of who has left
	var done [][]int32
	var paid [][]float32
	for !st.Over() {
		obs, acts, rewards := make([][]float32, spec.Seats), make([]int32, spec.Seats), make([]float32, spec.Seats)
		for s := range acts {
			if acts[s] = game.NoAction; st.Alive(game.Seat(s)) {
				obs[s] = make([]float32, spec.Obs.Len())
				st.Observe(game.Seat(s), obs[s])
				acts[s] = team[s].Act(st, game.Seat(s), r)
			}
		}
		st.Step(acts, rewards, r)
		seen, done, paid = append(seen, obs), append(done, acts), append(paid, rewards)
	}
	var rows []Row
	for s := range spec.Seats {
		earned := 0.
		for t := len(seen) - 1; t >= 0; t-- {
			if earned += float64(paid[t][s]); seen[t][s] != nil {
				rows = append(rows, Row{Obs: seen[t][s], Level: levelOf(earned), Plan: planOf(done, s, t, len(spec.Actions))})
			}
		}
	}
	return rows
}

// levelOf says how much a return is.
func levelOf(earned float64) int {
	switch {
	case earned <= 0:
		return Nothing
	case earned < Much:
		return Little
	}
	return Plenty
}

// planOf returns what all did from step t on, from seat s's view.
func planOf(done [][]int32, s, t, actions int) []int32 {
	n := len(done[0])
	plan := make([]int32, 0, n*Steps)
	for i := range n {
		for k := range Steps {
			token := int32(actions) // gone
			if t+k < len(done) && done[t+k][(s+i)%n] != game.NoAction {
				token = done[t+k][(s+i)%n]
			}
			plan = append(plan, token)
		}
	}
	return plan
}

// Bot decides by drawn plans: it does first what most of them do first.
type Bot struct {
	*Model
	Called    string
	Rounds    int
	Decisions int     // so far
	Took      float64 // processor seconds, of all of them

	obs   []float32
	legal []bool
	plans [][]int32
	first []int
}

// NewBot returns who draws so many plans in so many rounds.
func NewBot(m *Model, g game.Game, name string, plans, rounds int) *Bot {
	s := g.Spec()
	b := &Bot{Model: m, Called: name, Rounds: rounds, obs: make([]float32, s.Obs.Len()), legal: make([]bool, len(s.Actions))}
	b.first = make([]int, len(s.Actions))
	for range plans {
		b.plans = append(b.plans, make([]int32, m.Tokens))
	}
	return b
}

// Name returns what it is called by.
func (b *Bot) Name() string { return b.Called }

// Act draws plans of those who are to earn plenty.
func (b *Bot) Act(st game.State, s game.Seat, r *rng.Rand) int32 {
	watch := cpu.Start()
	st.Observe(s, b.obs)
	st.Legal(s, b.legal)
	b.Draw(b.plans, b.obs, Plenty, b.Rounds, b.legal, r)
	clear(b.first)
	for _, plan := range b.plans {
		b.first[plan[0]]++
	}
	best := 0
	for k, n := range b.first {
		if n > b.first[best] {
			best = k
		}
	}
	b.Decisions++
	spent, _ := watch.Spent()
	b.Took += spent
	return int32(best)
}

var _ game.Bot = (*Bot)(nil)
