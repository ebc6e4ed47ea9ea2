package replay

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/lab/play"
)

// solvable says why the best response of a seat is not known; nil: it is.
func (sc *scene) solvable(s game.Seat) error {
	var others []string
	for o, name := range sc.names {
		if game.Seat(o) == s {
			continue
		}
		if !sc.bots[o] {
			return fmt.Errorf("seat %d, %s, follows no script that the oracle could answer", o, name)
		}
		others = append(others, name)
	}
	return oracle.Solvable(sc.game, others)
}

// regret is by how much an action was worse than the best response's.
type regret struct {
	Seat int      `json:"seat"`
	Step int      `json:"step"`
	Loss number   `json:"loss"`
	Best int32    `json:"best"` // the first of the best actions
	Q    []number `json:"q"`    // by action, null where it is not legal
	Why  string   `json:"why,omitempty"`
}

// tooMany is why the oracle gave up.
const tooMany = "more states can follow than the oracle looks at here; fewer co-players at random, or a smaller board, can be solved"

// regrets sends the regret of every decision of the seats whose co-players are scripted. Where
// too many states can follow, it sends why it is not known. The limit is of states, so that the
// same episode always says the same.
func (t *Theatre) regrets(ctx context.Context, sc *scene, moments []moment, send emitter) error {
	q := make([]float64, game.MaxActions)
	most := len(sc.names) // co-players at random that were too many
	for s := range sc.names {
		if sc.solvable(game.Seat(s)) != nil {
			continue
		}
		chance := lab.AtRandom(slices.Delete(slices.Clone(sc.names), s, s+1))
		if chance >= most {
			if err := send.send("regret", regret{Seat: s, Why: tooMany}); err != nil {
				return err
			}
			continue
		}
		br, err := oracle.NewBR(sc.game, 1)
		if err != nil {
			return err
		}
		br.Until(ctx, t.c.States)
		for at, m := range moments {
			if m.actions == nil || m.actions[s] == game.NoAction {
				break // it has left, or the episode is over
			}
			legal, err := br.Q(q, m.state, game.Seat(s), sc.names)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				most = chance
				if err := send.send("regret", regret{Seat: s, Step: at, Why: tooMany}); err != nil {
					return err
				}
				break
			}
			if err := send.send("regret", regretOf(s, at, m.actions[s], q[:len(sc.game.Spec().Actions)], legal)); err != nil {
				return err
			}
		}
	}
	return nil
}

// regretOf compares what was played with the best.
func regretOf(s, at int, played int32, q []float64, legal uint) regret {
	r := regret{Seat: s, Step: at, Best: -1, Q: make([]number, len(q))}
	for k, x := range q {
		if legal>>k&1 == 0 {
			r.Q[k] = nan
			continue
		}
		r.Q[k] = number(x)
		if r.Best < 0 || x > q[r.Best]+1e-12 {
			r.Best = int32(k)
		}
	}
	if r.Best >= 0 {
		r.Loss = number(max(q[r.Best]-q[played], 0))
	}
	return r
}

// sum is what one agent held of another over an episode.
type sum struct {
	By      int    `json:"by"`
	Of      int    `json:"of"`
	Steps   int    `json:"steps"`             // at which it held something
	Tops    []top  `json:"tops"`              // what it held likeliest, the most often held first
	Last    string `json:"last"`              // what it held likeliest at the end
	P       number `json:"p"`                 // and how likely
	Reached string `json:"reached,omitempty"` // the goal that the other left with
	Right   int    `json:"right"`             // how often the likeliest action was what it did
	Asked   int    `json:"asked"`             // of so many
}

// top is something that was held likeliest for so many steps.
type top struct {
	Name  string `json:"name"`
	Steps int    `json:"steps"`
}

// sums adds up, for each agent and each other.
type sums struct {
	all  map[[2]int]*sum
	last *play.Frame
}

func newSums() *sums { return &sums{all: map[[2]int]*sum{}} }

// add takes in what was held before a step, and what was done in it.
func (x *sums) add(before *play.Frame, actions []int32, after *play.Frame) {
	last := *after
	x.last = &last
	for by, m := range before.Minds {
		if m == nil {
			continue
		}
		for _, p := range m.Posteriors {
			if p.Left || len(p.Probs) == 0 {
				continue
			}
			s := x.all[[2]int{by, p.Seat}]
			if s == nil {
				s = &sum{By: by, Of: p.Seat}
				x.all[[2]int{by, p.Seat}] = s
			}
			s.hold(p.Names, p.Probs)
			if k := actions[p.Seat]; k != game.NoAction && len(p.Expected) > 0 && slices.Max(p.Expected) > 0 {
				s.Asked++
				if p.Expected[k] >= slices.Max(p.Expected)-1e-9 {
					s.Right++
				}
			}
		}
	}
}

// hold counts what is held likeliest.
func (s *sum) hold(names []string, probs []float64) {
	best := 0
	for i, p := range probs {
		if p > probs[best] {
			best = i
		}
	}
	s.Steps++
	s.Last, s.P = names[best], number(probs[best])
	i := slices.IndexFunc(s.Tops, func(t top) bool { return t.Name == s.Last })
	if i < 0 {
		i, s.Tops = len(s.Tops), append(s.Tops, top{Name: s.Last})
	}
	s.Tops[i].Steps++
}

// list returns them by agent and other.
func (x *sums) list() []sum {
	list := []sum{}
	for _, s := range x.all {
		slices.SortStableFunc(s.Tops, func(a, b top) int { return b.Steps - a.Steps })
		s.Reached = x.last.Players[s.Of].With
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b sum) int { return cmp.Or(a.By-b.By, a.Of-b.Of) })
	return list
}
