package gametest

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
)

// checkSpec reports everything that is wrong with a Spec at once.
func checkSpec(g game.Game) error {
	spec := g.Spec()
	l := spec.Obs
	var errs []error
	want := func(ok bool, format string, a ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, a...))
		}
	}
	want(spec.Name != "", "the game has no name")
	want(spec.Kind <= game.ZeroSum, "kind is %d, want one of the three", uint8(spec.Kind))
	want(spec.Seats >= 1, "%d seats, want at least 1", spec.Seats)
	want(spec.Horizon >= 1, "horizon is %d, want at least 1", spec.Horizon)
	want(len(spec.Actions) >= 1 && len(spec.Actions) <= game.MaxActions, "%d actions, want 1 to %d", len(spec.Actions), game.MaxActions)
	want(l.Height >= 0 && l.Width >= 0 && l.Features >= 0, "the layout has a negative size: %+v", l)
	want((l.Height*l.Width == 0) == (len(l.Planes) == 0), "a layout of %dx%d with %d planes", l.Height, l.Width, len(l.Planes))
	want(l.Legal == 0 || l.Legal == len(spec.Actions), "the layout has %d masks, want one for each of the %d actions, or none",
		l.Legal, len(spec.Actions))
	want(l.Time == 0 || l.Time == 1, "the layout has %d times, want 0 or 1", l.Time)
	want(l.Last == 0 || l.Last == spec.Seats, "the layout has %d last actions, want one for each of the %d seats, or none", l.Last, spec.Seats)
	want(!l.Pooled || l.Last == 0 && l.Owned == 0 && spec.View == 0 && len(l.Planes) > 1,
		"a layout of pooled co-players that shows more of them: %+v", l)
	want(l.Last == 0 || l.Legal > 0, "the layout has last actions of no width: it needs masks too")
	want(l.Len() > 0, "an observation is empty")
	bots := make([]string, 0, 8)
	for _, b := range g.Bots() {
		bots = append(bots, b.Name)
		want(b.Doc != "", "bot %q has no doc", b.Name)
		want(b.New().Name() == b.Name, "bot %q calls itself %q", b.Name, b.New().Name())
	}
	for what, names := range map[string][]string{"action": spec.Actions, "goal": spec.Goals, "plane": l.Planes, "bot": bots} {
		seen := map[string]bool{}
		for _, n := range names {
			want(n != "", "one of the %ss has no name", what)
			want(!seen[n], "two %ss are called %q", what, n)
			seen[n] = true
		}
	}
	want(spec.Goals == nil || len(spec.Goals) > 0, "goals are an empty list, want nil")
	_, goaler := g.New().(game.Goaler)
	want(goaler == (spec.Goals != nil), "the Spec has goals %v, and the state implements Goaler: %v", spec.Goals, goaler)
	want(fmt.Sprint(g.Spec()) == fmt.Sprint(spec), "Spec is not the same on every call")
	return errors.Join(errs...)
}

func checkHorizon(g game.Game) error {
	return visit(g, func(tr *tour) error {
		if tr.t >= tr.spec.Horizon && !tr.st.Over() {
			return fmt.Errorf("not over at the horizon, %d", tr.spec.Horizon)
		}
		if l, ok := tr.st.(game.Limited); ok && l.Cut() && !tr.st.Over() {
			return errors.New("cut, but not over")
		}
		return nil
	})
}

// trace plays the episodes from..to and returns what was seen and paid. It
// calls between at every slot.
func trace(tr *tour, from, to int, between func()) []view {
	var out []view
	for e := from; e < to; e++ {
		tr.begin(e)
		for {
			v := look(&tr.spec, tr.st)
			v.rest += string(appendFloats(nil, tr.rewards))
			out = append(out, v)
			if tr.ended() {
				break
			}
			between()
			tr.step()
		}
	}
	return out
}

func compareTraces(what string, got, want []view) error {
	for i := range min(len(got), len(want)) {
		if err := compare(fmt.Sprintf("%s: slot %d of the trace", what, i), got[i], want[i]); err != nil {
			return err
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("%s: %d slots, want %d", what, len(got), len(want))
	}
	return nil
}

// checkDeterminism plays the same episodes twice: on a new state, and on a used
// one between the steps of a third.
func checkDeterminism(g game.Game) error {
	episodes := max(2, min(12, 10_000/g.Spec().Horizon))
	want := trace(newTour(g), 0, episodes, func() {})
	tr, other := newTour(g), newTour(g)
	tr.begin(episodes + 1)
	for !tr.ended() {
		tr.step()
	}
	e := 2 * episodes
	other.begin(e)
	return compareTraces("the same seed again", trace(tr, 0, episodes, func() {
		if other.ended() {
			e++
			other.begin(e)
			return
		}
		other.step()
	}), want)
}

func checkArguments(g game.Game) error {
	if g.Spec().Opaque {
		return noCopies
	}
	spec := g.Spec()
	actions, rewards := make([]int32, spec.Seats), make([]float32, spec.Seats)
	return visit(g, func(tr *tour) error {
		if tr.ended() {
			return nil
		}
		st := g.New()
		st.CopyFrom(tr.st)
		copy(actions, tr.actions)
		for s := range rewards {
			rewards[s] = float32(math.NaN())
		}
		r := tr.rules
		st.Step(actions, rewards, &r)
		if spec.Deterministic && r != tr.rules {
			return errors.New("the Spec says that Step draws no random numbers, but it did")
		}
		for s := range actions {
			if actions[s] != tr.actions[s] {
				return fmt.Errorf("the action of seat %d was changed by Step from %d to %d", s, tr.actions[s], actions[s])
			}
			if rewards[s] != rewards[s] {
				return fmt.Errorf("no reward was written by Step for seat %d", s)
			}
		}
		v := look(&spec, st)
		for s := range actions {
			actions[s], rewards[s] = 0, -77
		}
		return compare("after the caller reused the slices of actions and rewards", look(&spec, st), v)
	})
}

// refused steps a state and returns whether it panicked, and with what.
func refused(st game.State, actions []int32, rewards []float32, r rng.Rand) (no bool, with any) {
	defer func() {
		if with = recover(); with != nil {
			no = true
		}
	}()
	st.Step(actions, rewards, &r)
	return false, nil
}

// checkLegal tries every action, and some that do not exist, for every seat.
func checkLegal(g game.Game) error {
	if g.Spec().Opaque {
		return noCopies
	}
	spec := g.Spec()
	k := int32(len(spec.Actions))
	actions, rewards := make([]int32, spec.Seats), make([]float32, spec.Seats)
	probe := g.New()
	try := func(tr *tour, s int, a int32, ok bool) error {
		probe.CopyFrom(tr.st)
		copy(actions, tr.actions)
		actions[s] = a
		no, with := refused(probe, actions, rewards, tr.rules)
		if no == ok {
			return fmt.Errorf("seat %d, alive %v, plays %d, which is legal: %v; refused: %v (%v)", s, tr.st.Alive(game.Seat(s)), a, ok, no, with)
		}
		if msg, is := with.(string); no && (!is || !strings.Contains(msg, ": ")) {
			return fmt.Errorf(`seat %d plays %d: panic with %T %q, want a constant string "package: what"`, s, a, with, with)
		}
		return nil
	}
	return visit(g, func(tr *tour) error {
		masks, err := masks(tr)
		if err != nil || tr.ended() && !tr.st.Over() {
			return err
		}
		if !tr.st.Over() {
			probe.CopyFrom(tr.st)
			if no, with := refused(probe, tr.actions, rewards, tr.rules); no {
				return fmt.Errorf("the joint action %v is legal, but refused: %v", tr.actions, with)
			}
		}
		for s, legal := range masks {
			alive := tr.st.Alive(game.Seat(s))
			for _, a := range []int32{game.NoAction, -2, k, 1 << 7, 1 << 8, math.MinInt32, math.MaxInt32} {
				if err := try(tr, s, a, !tr.st.Over() && !alive && a == game.NoAction); err != nil {
					return err
				}
			}
			for a := range legal {
				if err := try(tr, s, int32(a), !tr.st.Over() && legal[a]); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// masks asks for every seat's mask, twice, to see whether all of it is written.
func masks(tr *tour) ([][]bool, error) {
	out := make([][]bool, tr.spec.Seats)
	again := make([]bool, len(tr.spec.Actions))
	for s := range out {
		legal := make([]bool, len(tr.spec.Actions))
		for i := range legal {
			legal[i], again[i] = true, false
		}
		tr.st.Legal(game.Seat(s), legal)
		tr.st.Legal(game.Seat(s), again)
		n := 0
		for i := range legal {
			if legal[i] != again[i] {
				return nil, fmt.Errorf("seat %d: Legal leaves action %d as it found it", s, i)
			}
			if legal[i] {
				n++
			}
		}
		if alive := tr.st.Alive(game.Seat(s)); alive != (n > 0) {
			return nil, fmt.Errorf("seat %d, alive %v, has %d legal actions", s, alive, n)
		}
		out[s] = legal
	}
	return out, nil
}

func checkLeaving(g game.Game) error {
	return visit(g, func(tr *tour) error {
		living := 0
		for s := range tr.spec.Seats {
			alive := tr.st.Alive(game.Seat(s))
			if alive {
				living++
			}
			if tr.t == 0 {
				continue
			}
			if alive && !tr.was[s] {
				return fmt.Errorf("seat %d had left and is alive again", s)
			}
			if !tr.was[s] && tr.rewards[s] != 0 {
				return fmt.Errorf("seat %d had left and is paid %v", s, tr.rewards[s])
			}
		}
		if over := tr.st.Over(); over && living > 0 || !over && living == 0 {
			return fmt.Errorf("over is %v with %d seats alive", over, living)
		}
		return nil
	})
}

func checkFinite(g game.Game) error {
	obs := make([]float32, g.Spec().Obs.Len())
	return visit(g, func(tr *tour) error {
		for s := range tr.spec.Seats {
			if r := float64(tr.rewards[s]); math.IsNaN(r) || math.IsInf(r, 0) {
				return fmt.Errorf("seat %d is paid %v", s, r)
			}
			clear(obs)
			tr.st.Observe(game.Seat(s), obs)
			for i, x := range obs {
				if x := float64(x); math.IsNaN(x) || math.IsInf(x, 0) {
					return fmt.Errorf("seat %d observes %v at %d", s, x, i)
				}
			}
		}
		return nil
	})
}

func checkKind(g game.Game) error {
	if g.Spec().Kind == game.GeneralSum {
		return DoesNotApply("a general-sum game may pay anything")
	}
	return visit(g, func(tr *tour) error {
		sum := 0.
		for s, r := range tr.rewards {
			sum += float64(r)
			if tr.spec.Kind == game.Cooperative && r != tr.rewards[0] {
				return fmt.Errorf("cooperative, but seat %d is paid %v and seat 0 is paid %v", s, r, tr.rewards[0])
			}
		}
		if tr.spec.Kind == game.ZeroSum && math.Abs(sum) > 1e-5 {
			return fmt.Errorf("zero-sum, but the rewards %v sum to %v", tr.rewards, sum)
		}
		return nil
	})
}

func checkGoals(g game.Game) error {
	if g.Spec().Goals == nil {
		return DoesNotApply("the game has no goals")
	}
	return visit(g, func(tr *tour) error {
		gs := tr.st.(game.Goaler)
		for s := range tr.spec.Seats {
			goal := gs.Reached(game.Seat(s))
			if goal != game.NoGoal && (goal < 0 || goal >= len(tr.spec.Goals)) {
				return fmt.Errorf("seat %d reached goal %d of %d", s, goal, len(tr.spec.Goals))
			}
			if goal != game.NoGoal && (tr.t == 0 || !tr.was[s]) {
				return fmt.Errorf("seat %d, which did not act in the last step, reached %q in it", s, tr.spec.Goals[goal])
			}
		}
		return nil
	})
}

// checkGoroutines plays different episodes at once and compares with playing
// them one after the other. The race detector sees what the comparison misses.
func checkGoroutines(g game.Game) error {
	const workers, episodes = 2, 6
	var got, want [workers][]view
	var failed [workers]any
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			defer func() { failed[w] = recover() }()
			got[w] = trace(newTour(g), w*episodes, (w+1)*episodes, func() {})
		})
	}
	wg.Wait()
	for w := range workers {
		if failed[w] != nil {
			return fmt.Errorf("goroutine %d panics: %v", w, failed[w])
		}
		want[w] = trace(newTour(g), w*episodes, (w+1)*episodes, func() {})
		if err := compareTraces(fmt.Sprintf("goroutine %d against playing alone", w), got[w], want[w]); err != nil {
			return err
		}
	}
	return nil
}
