package check

import (
	"cmp"
	"slices"

	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

// guarded is what an agent's guards are to choose in play, by the record of what was expected and
// earned.
type guarded struct {
	codes [][]float64        // [answers but the first] whom the others are then taken for
	lives []*reference.Guard // [N]
	now   []reference.Played // [N] the running episode
	scale float64            // of rewards in values
}

// Guarded makes the study one of play whose answers are guarded: f is the agent as it is loaded,
// own its network, of which net is the weights.
func (s *Study) Guarded(f *safetensors.File, own reference.Actor, net reference.Net, g game.Game, scale float64, envs int) error {
	goals, _, _, err := s.loaded(f)
	if err != nil {
		return err
	}
	codes, err := s.answers(f, goals, own, net, g)
	if err != nil {
		return err
	}
	s.guard = &guarded{codes: codes, now: make([]reference.Played, envs), scale: scale}
	for range envs {
		s.guard.lives = append(s.guard.lives, &reference.Guard{Answers: 1 + len(codes)})
	}
	return nil
}

// answers returns whom the others may be taken for: of those met while it learnt the one among
// whom the agent expects least at the start of an episode, the one in the middle, and the one
// among whom it expects most, if all its co-players were that one.
func (s *Study) answers(
	f *safetensors.File, goals *reference.Goals, own reference.Actor, net reference.Net, g game.Game,
) ([][]float64, error) {
	const starts = 16
	t, ok := f.Get("goals/met")
	if !ok {
		return nil, nil
	}
	d, width := len(goals.NewReader().Says()), goals.Width()
	met := make([]float32, len(t.Data)/4)
	if err := f.Float32(met, "goals/met", len(met)); err != nil {
		return nil, err
	}
	st, r := g.New(), rng.New(1).Child("starts").Rand()
	var obs [][]float32
	for range starts {
		st.Reset(&r)
		seen := make([]float32, s.spec.Obs.Len())
		st.Observe(0, seen)
		obs = append(obs, seen)
	}
	type one struct {
		code  []float32
		worth float64
	}
	var list []one
	for code := range slices.Chunk(met, d) {
		if !slices.ContainsFunc(code, func(x float32) bool { return x != 0 }) {
			continue // nobody yet
		}
		read := make([]float32, len(s.others)*width)
		for j := range s.others {
			copy(read[j*width:], code)
			read[(j+1)*width-1] = 1
		}
		x := one{code: code}
		for _, seen := range obs {
			_, v := own.At(net, seen, read)
			x.worth += v
		}
		list = append(list, x)
	}
	if len(list) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(list, func(a, b one) int { return cmp.Compare(a.worth, b.worth) })
	var codes [][]float64
	for _, at := range []int{0, len(list) / 2, len(list) - 1} {
		codes = append(codes, wide(list[at].code))
	}
	return codes, nil
}

// due notes which answer is to be given, and what is expected of an episode that has just begun.
func (s *Study) due(v *rollout.View, n int) {
	if s.guard == nil || len(s.guard.codes) == 0 {
		return
	}
	e := &s.guard.now[n]
	s.path.due[[2]int{v.T, n}] = e.Answer
	if v.Start[v.Moment(v.T, n)] {
		e.Expected, e.Foreseen = float64(v.Value[v.SlotOf(n)])/s.guard.scale, true
	}
}

// Earned takes in what an episode earned.
func (s *Study) Earned(n int, earned float64) {
	if s.guard == nil || len(s.guard.codes) == 0 {
		return
	}
	e := &s.guard.now[n]
	e.Earned = earned
	*e = reference.Played{Answer: s.guard.lives[n].Add(*e)}
}
