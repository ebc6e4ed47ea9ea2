package gametest

import (
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
)

// partial is the toy with a view of one cell to either side.
type partial struct{ *toy }

func (g partial) Spec() game.Spec {
	s := g.toy.Spec()
	s.View = 1
	return s
}

func (g partial) New() game.State { return &partialState{toyState: g.toy.New().(*toyState)} }

func (g partial) Bots() []game.BotInfo { return []game.BotInfo{game.RandomBot(toyActions)} }

type partialState struct {
	*toyState
	saw [toySeats][toySeats]bool
}

func (st *partialState) inView(s, o int) bool {
	a, b := st.pos[s], st.pos[o]
	return a != nowhere && b != nowhere && max(a-b, b-a) <= 1
}

func (st *partialState) Step(actions []int32, rewards []float32, r *rng.Rand) {
	for s := range toySeats {
		for o := range toySeats {
			st.saw[s][o] = st.inView(s, o) || st.has("hears who acts far away")
		}
	}
	st.toyState.Step(actions, rewards, r)
}

func (st *partialState) CopyFrom(src game.State) {
	o := src.(*partialState)
	st.toyState.CopyFrom(o.toyState)
	st.saw = o.saw
}

func (st *partialState) ObserveWhole(s game.Seat, dst []float32) {
	st.toyState.Observe(s, dst)
	if !st.has("counts what is far away") || st.pos[s] == nowhere {
		dst[toyLayout.FeaturesAt()] = 0
	}
}

func (st *partialState) Observe(s game.Seat, dst []float32) {
	st.ObserveWhole(s, dst)
	for c := range int8(toyCells) {
		reach, me := int8(1), st.pos[s]
		switch {
		case st.has("sees beyond its view"):
			reach = 2
		case st.has("does not see what is in view"):
			reach = 0
		}
		if me == nowhere || max(me-c, c-me) > reach {
			clear(dst[int(c)*4 : int(c)*4+4])
		}
	}
	for k := 1; k < toySeats; k++ {
		if at := toyLayout.LastAt() + k*toyActions; !st.saw[s][(int(s)+k)%toySeats] {
			clear(dst[at : at+toyActions])
		}
	}
}

func TestHonestViewPasses(t *testing.T) {
	if err := checkView(partial{&toy{}}); err != nil {
		t.Error(err)
	}
	if err := checkView(misdeclared{&toy{}, func(s *game.Spec) { s.View = 1 }}); err == nil {
		t.Error("a game that says it has a view and shows no whole was accepted")
	}
}
