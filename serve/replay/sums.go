package replay

import (
	"cmp"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/lab/play"
)

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
