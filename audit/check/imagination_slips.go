package check

import (
	"hop/audit/reference"
	"slices"
	"strings"
)

// slip is a way to get an update of a world model wrong, and where that would be.
type imaginationSlip struct {
	reference.WorldSlip
	look string
	head string // the head that it is about; "": all
}

// fits says whether a slip is worth trying: one about a head only if that head
// learns something else and not all do.
func (s imaginationSlip) fits(odd []string, all int) bool {
	if s.head == "" {
		return true
	}
	return slices.Contains(odd, strings.Replace(s.head, "planes", "dense", 1)) && len(odd) < all
}

// slips are what is tried. An audit does not need them to find a fault, only to
// give it a name.
func imaginationSlips(m *reference.Imagining) []imaginationSlip {
	const loss, step, rows = "model/world.Work.losses", "mind/imagine: rulesLearner.learn, and nn.Adam", "mind/imagine: " +
		"rulesLearner.learn"
	full := m.GradientSteps
	list := []imaginationSlip{
		{reference.WorldSlip{Name: "a tenth of the learning rate", LR: 0.1}, step, ""},
		{reference.WorldSlip{Name: "ten times the learning rate", LR: 10}, step, ""},
		{reference.WorldSlip{Name: "a learning rate that does not fall", Flat: true}, step, ""},
		{reference.WorldSlip{Name: "the opposite direction", LR: -1}, step, ""},
		{reference.WorldSlip{Name: "gradients that are not clipped", Loose: true}, step, ""},
		{reference.WorldSlip{Name: "an optimiser that starts anew with every window", Anew: true}, step, ""},
		{reference.WorldSlip{Name: "as many gradient steps as before it was trusted", Steps: full}, rows, ""},
		{reference.WorldSlip{Name: "a quarter of the gradient steps although it is not trusted", Steps: max(full/4, 1)}, rows, ""},
		{reference.WorldSlip{Name: "a single gradient step", Steps: 1}, rows, ""},
		{reference.WorldSlip{Name: "rows that are all drawn alike, rare rewards no more often", Even: true}, rows, ""},
		{reference.WorldSlip{Name: "the rows drawn for the first window", Stay: true}, rows, ""},
	}
	names := map[string]string{"things": "what becomes of things", "move": "moves and " +
		"exits", "reward": "rewards", "over": "the episode's end",
		"legal": "masks", "planes": "planes"}
	for _, t := range []string{"things", "move", "reward", "over", "legal", "planes"} {
		list = append(list,
			imaginationSlip{reference.WorldSlip{Name: "no loss of " + names[t], Terms: map[string]float64{t: 0}}, loss, t},
			imaginationSlip{reference.WorldSlip{Name: "the loss of " + names[t] + " with the opposite " +
				"sign", Terms: map[string]float64{t: -1}}, loss, t})
	}
	deed := func(head, name string, f func(w reference.World, d reference.Transition) reference.Transition) {
		list = append(list, imaginationSlip{reference.WorldSlip{Name: name, Deed: f}, loss, head})
	}
	deed("over", "an end that is turned round, going on taken for over,", func(_ reference.World,
		d reference.Transition) reference.Transition {
		d.Over = !d.Over
		return d
	})
	deed("over", "an end that never comes", func(_ reference.World, d reference.Transition) reference.Transition {
		d.Over = false
		return d
	})
	deed("", "the board before the step in place of the board after it", func(_ reference.World, d reference.Transition) reference.Transition {
		d.Next = d.Obs[:len(d.Next)]
		return d
	})
	deed("reward", "rewards that are all 0", func(_ reference.World, d reference.Transition) reference.Transition {
		d.Reward = make([]float32, len(d.Reward))
		return d
	})
	deed("reward", "the own reward in everyone's place", func(_ reference.World, d reference.Transition) reference.Transition {
		d.Reward = slices.Repeat(d.Reward[:1], len(d.Reward))
		return d
	})
	deed("", "joint actions in the opposite order", func(_ reference.World, d reference.Transition) reference.Transition {
		d.Joint = slices.Clone(d.Joint)
		slices.Reverse(d.Joint)
		return d
	})
	deed("", "joint actions turned by one place", func(_ reference.World, d reference.Transition) reference.Transition {
		d.Joint = append(slices.Clone(d.Joint[1:]), d.Joint[0])
		return d
	})
	deed("reward", "rewards turned by one place", func(_ reference.World, d reference.Transition) reference.Transition {
		d.Reward = append(slices.Clone(d.Reward[1:]), d.Reward[0])
		return d
	})
	list = append(list,
		imaginationSlip{reference.WorldSlip{Name: "agents that learn given what is predicted of the things, not what came of " +
			"them", Foreseen: true},
			loss, "move"})
	if len(m.Weights) > 0 {
		list = append(list, imaginationSlip{reference.WorldSlip{Name: "factors of planes that are forgotten", Unweighed: true}, loss, ""})
	}
	return list
}
