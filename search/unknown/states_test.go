package unknown

import (
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/coin"
	"github.com/hop-marl/hop/game/foraging"
	"github.com/hop-marl/hop/game/snowdrift"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
)

// Futures that go where others have been are those of the rules, to the last draw, also where more is met than is kept.
func TestFuturesThatMeetAreThoseOfTheRules(t *testing.T) {
	walled := staghunt.Default()
	walled.Size, walled.Blocks, walled.EndAfter = 6, 3, 6
	for name, c := range map[string]struct {
		g     game.Game
		among string
	}{"hunt": {hunt(), "noisy(ns,.3)"}, "at random": {hunt(), "random"}, "lazy": {hunt(), "lazy(nh,.5)"},
		"walls": {made(staghunt.New(walled)), "noisy(nh,.5)"}, "drifts": {made(snowdrift.New(snowdrift.Default())), "random"}} {
		p, _ := play(t, c.g, c.among, 300, rng.New(3), nil)
		l := p.lives[0]
		r := rng.New(4).Rand()
		for decision := range uint64(6) {
			if decision == 4 {
				l.rows.clear()
				l.rows.sure = l.rows.sure[:1:8] // from here on rows are forgotten under way
			}
			for l.before.Reset(&r); decision%2 == 1 && l.before.(interface{ Time() int }).Time() < 3; { // also where there is a last action
				for s := range l.joint {
					l.before.Legal(game.Seat(s), l.legal)
					l.joint[s] = game.Uniform(l.legal, &r)
				}
				l.before.Step(l.joint, l.rewards, &r)
			}
			if !l.before.Alive(l.seat[0]) {
				continue
			}
			p.begin(l, decision)
			if l.states == nil {
				t.Fatalf("%s: nothing is kept", name)
			}
			l.before.Legal(l.seat[0], l.legal)
			for f := range First + Second {
				for s := range l.script {
					for a := range l.legal {
						act := int32(a)
						if !l.legal[a] {
							act = game.NoAction
						}
						got := l.play(0, act, s, f, decision)
						ends, states := l.r, l.states
						l.states = nil
						if want := l.play(0, act, s, f, decision); got != want || ends != l.r {
							t.Fatalf("%s: decision %d, future %d, script %d after %d: %g, %g by the rules", name, decision, f, s, act, got, want)
						}
						l.states = states
					}
				}
			}
			p.end(l)
		}
	}
}

// Nothing is kept where what somebody does does not follow from a state's key.
func TestOnlyStatesWithKeysAreKept(t *testing.T) {
	for name, c := range map[string]struct {
		g    game.Game
		kept bool
	}{"hunt": {hunt(), true}, "snowdrift": {made(snowdrift.New(snowdrift.Default())), true},
		"foraging": {made(foraging.New(foraging.Default())), false}, "coin": {made(coin.New(coin.Default())), false}} {
		plan, err := New(c.g, 1)
		if err != nil || (plan.lives[0].kept != nil) != c.kept {
			t.Errorf("%s: kept %v, %v", name, plan.lives[0].kept != nil, err)
		}
	}
}

// A plan that has been made a few times takes no more memory.
func TestAPlanAllocatesNothing(t *testing.T) {
	p, _ := play(t, hunt(), "noisy(ns,.3)", 300, rng.New(3), nil)
	l, salt := p.lives[0], uint64(0)
	r := rng.New(4).Rand()
	l.before.Reset(&r)
	plan := func() {
		salt++
		p.begin(l, salt)
		l.follow(0, salt)
		p.end(l)
	}
	plan()
	if n := testing.AllocsPerRun(20, plan); n > 0 {
		t.Errorf("%g allocations a decision", n)
	}
}
