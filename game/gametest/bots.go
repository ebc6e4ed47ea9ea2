package gametest

import (
	"errors"
	"fmt"
	"math"

	"github.com/hop-marl/hop/game"
)

// A sound bot's frequencies are called wrong with probability actsError a place,
// over about 20 places a bot; the seed is fixed.
const (
	actsError = 1e-9
	acts      = 1000
)

// checkBots asks every bot in every state reached.
func checkBots(g game.Game) error {
	k := len(g.Spec().Actions)
	legal, probs := make([]bool, k), make([]float32, k)
	var bots []game.Bot
	for _, info := range g.Bots() {
		bots = append(bots, info.New())
	}
	return visit(g, func(tr *tour) error {
		if tr.ended() {
			for _, b := range bots {
				if w, ok := b.(game.Watcher); ok && tr.st.Over() {
					w.Watch(tr.st, 0)
				}
			}
			return nil
		}
		before := look(&tr.spec, tr.st)
		often := tr.pick.IntN(100) == 0
		for s := range tr.spec.Seats {
			if !tr.st.Alive(game.Seat(s)) {
				continue
			}
			tr.st.Legal(game.Seat(s), legal)
			for _, b := range bots {
				if err := act(tr, b, game.Seat(s), legal, probs, often); err != nil {
					return fmt.Errorf("bot %s in seat %d: %w", b.Name(), s, err)
				}
			}
		}
		return compare("after asking the bots", look(&tr.spec, tr.st), before)
	})
}

// act asks one bot once, and acts times more if often.
func act(tr *tour, b game.Bot, s game.Seat, legal []bool, probs []float32, often bool) error {
	a := b.Act(tr.st, s, &tr.act)
	if a < 0 || int(a) >= len(legal) || !legal[a] {
		return fmt.Errorf("acts %d, the mask is %v", a, legal)
	}
	p, ok := b.(game.Policy)
	if !ok {
		return nil
	}
	for k := range probs {
		probs[k] = float32(math.NaN())
	}
	p.Probs(tr.st, s, probs)
	sum := 0.
	for k, q := range probs {
		if !(q >= 0) || q > 0 && !legal[k] {
			return fmt.Errorf("probs %v, the mask is %v", probs, legal)
		}
		sum += float64(q)
	}
	if math.Abs(sum-1) > 1e-5 {
		return fmt.Errorf("probs %v sum to %v", probs, sum)
	}
	if probs[a] == 0 {
		return fmt.Errorf("acts %d with probs %v", a, probs)
	}
	if !often {
		return nil
	}
	var count [game.MaxActions]int
	for range acts {
		a := b.Act(tr.st, s, &tr.act)
		if a < 0 || int(a) >= len(legal) || !legal[a] {
			return errors.New("acts illegally when asked again")
		}
		count[a]++
	}
	if p := fit(count[:len(probs)], probs); p < actsError {
		return fmt.Errorf("acts %v times of %d with probs %v: p = %.2g", count[:len(probs)], acts, probs, p)
	}
	return nil
}

// fit returns the p-value of Pearson's chi-square test of counts against
// probabilities. What is expected fewer than 10 times is one cell together.
func fit(count []int, probs []float32) float64 {
	total := 0
	for _, c := range count {
		total += c
	}
	q, cells := 0., 0
	rest, restWant := 0, 0.
	add := func(c int, want float64) {
		q += (float64(c) - want) * (float64(c) - want) / want
		cells++
	}
	for k, c := range count {
		want := float64(probs[k]) * float64(total)
		if want < 10 {
			if want == 0 && c > 0 {
				return 0
			}
			rest, restWant = rest+c, restWant+want
			continue
		}
		add(c, want)
	}
	if restWant >= 10 {
		add(rest, restWant)
	}
	if cells < 2 {
		return 1
	}
	return chiSquareTail(q, cells-1)
}
