package rollout_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/rng"
)

// No action, reward or end is recorded for an agent that has left.
func TestDeadRowsAreMarked(t *testing.T) {
	for name, g := range map[string]game.Game{
		"toy": toy{seats: 3, horizon: 6}, "toy with a limit": toy{seats: 3, horizon: 3, limit: true}, "staghunt": stagHunt(t, nil),
	} {
		agents := g.Spec().Seats
		e := envs(t, rollout.Config{Game: g, Envs: 4, Key: rng.New(2), Workers: 1})
		ro := batch.New(e.Shape(25, 2))
		garble(ro)
		dead, alive := 0, 0
		for window := range 6 {
			e.Collect(ro, drawers(1, agents))
			for a := range agent.ID(agents) {
				for i := range ro.Steps * ro.Envs {
					tt, n := i/ro.Envs, i%ro.Envs
					slot, step := ro.Slot(a, tt, n), ro.Step(a, tt, n)
					where := fmt.Sprintf("%s: window %d, %v, step %d, env %d", name, window, a, tt, n)
					if ro.Alive[slot] {
						alive++
						if k := ro.Action[step]; k < 0 || !ro.LegalAt(slot)[k] {
							t.Fatalf("%s: alive and played %d, its mask is %v", where, k, ro.LegalAt(slot))
						}
						continue
					}
					dead++
					got := []any{ro.Action[step], ro.Reward[step], ro.End[step], ro.Reached[step], ro.LogProb[step], ro.Own[step]}
					want := []any{game.NoAction, float32(0), batch.Going, int8(game.NoGoal), float32(0), false}
					if !reflect.DeepEqual(got, want) {
						t.Fatalf("%s: dead row has action, reward, end, goal, log-probability, own %v, want %v", where, got, want)
					}
					if slices.Contains(ro.LegalAt(slot), true) {
						t.Fatalf("%s: dead row has legal actions %v", where, ro.LegalAt(slot))
					}
					if x := slices.Max(ro.TargetAt(step)); x != 0 {
						t.Fatalf("%s: dead row has a target of %v", where, x)
					}
					if afterCut := tt > 0 && ro.End[ro.Step(a, tt-1, n)] == batch.Cut; ro.Value[slot] != 0 && !afterCut {
						t.Fatalf("%s: dead row has value %v", where, ro.Value[slot])
					}
				}
			}
		}
		if dead < 50 || alive < 50 {
			t.Errorf("%s: %d dead and %d alive rows, want many of both", name, dead, alive)
		}
	}
}

// The last slot of an episode has its final observation and
// nobody alive, and the step from it only resets.
func TestStepFromTheLastSlotOnlyResets(t *testing.T) {
	e := envs(t, rollout.Config{Game: toy{seats: 2, horizon: 3}, Envs: 5, Key: rng.New(3), Workers: 1})
	ro := batch.New(e.Shape(60, 0))
	e.Collect(ro, drawers(1, 2))
	lasts := 0
	for n := range ro.Envs {
		for tt := 1; tt < ro.Steps; tt++ {
			if ro.Alive[ro.Slot(0, tt, n)] || ro.Alive[ro.Slot(1, tt, n)] {
				continue
			}
			lasts++
			if ro.Start[ro.Moment(tt, n)] || !ro.Start[ro.Moment(tt+1, n)] {
				t.Fatalf("env %d: nobody is alive at slot %d, but Start there is %v and after it %v, want false, true",
					n, tt, ro.Start[ro.Moment(tt, n)], ro.Start[ro.Moment(tt+1, n)])
			}
			for a := range agent.ID(2) {
				before, last, next := ro.Slot(a, tt-1, n), ro.Slot(a, tt, n), ro.Slot(a, tt+1, n)
				if !ro.Alive[next] || ro.ObsAt(next)[1] != 0 {
					t.Fatalf("env %d %v: slot %d after a reset is not a first slot: %v", n, a, tt+1, ro.ObsAt(next))
				}
				if !ro.Alive[before] {
					if slices.Max(ro.ObsAt(last)) != 0 {
						t.Fatalf("env %d %v: observed %v at slot %d, long after leaving", n, a, ro.ObsAt(last), tt)
					}
					continue
				}
				was, is := ro.ObsAt(before), ro.ObsAt(last)
				if is[0] != was[0] || is[1] != was[1]+1 {
					t.Fatalf("env %d %v: last slot %d sees episode %v time %v, want %v, %v", n, a, tt, is[0], is[1], was[0], was[1]+1)
				}
			}
		}
	}
	if lasts < 50 {
		t.Fatalf("%d last slots, want many", lasts)
	}
}

func TestEvaluateIsCalledExactlyAfterCuts(t *testing.T) {
	for name, g := range map[string]toy{"rule": {seats: 2, horizon: 4}, "limit": {seats: 2, horizon: 3, limit: true}} {
		e := envs(t, rollout.Config{Game: g, Envs: 3, Key: rng.New(4), Workers: 1})
		ro := batch.New(e.Shape(10, 0))
		inside, all := 0, 0
		for window := range 8 {
			var got, want []string
			e.Collect(ro, [][]rollout.Player{{drawer{&got}, drawer{&got}}})
			for slot := 1; slot <= ro.Steps; slot++ {
				for a := range agent.ID(2) {
					for n := range ro.Envs {
						if ro.End[ro.Step(a, slot-1, n)] == batch.Cut {
							want = append(want, fmt.Sprint(a, " slot ", slot, " env ", n))
							if slot < ro.Steps {
								inside++
							}
						}
					}
				}
			}
			all += len(want)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s, window %d: evaluated\n%q\nwant\n%q", name, window, got, want)
			}
		}
		if all < 10 || (inside > 0) != g.limit {
			t.Errorf("%s: %d cuts, %d of them inside windows", name, all, inside)
		}
	}
}

// record is an Episode that outlives the next Collect.
func record(e rollout.Episode) string { return fmt.Sprintf("%+v", e) }

func TestWorkersDoNotChangeBytes(t *testing.T) {
	for name, g := range map[string]game.Game{"toy": toy{seats: 3, horizon: 5, limit: true}, "staghunt": stagHunt(t, nil)} {
		agents := g.Spec().Seats
		var want []*batch.Rollout
		var episodes [][]string
		for _, workers := range []int{1, 2, 3, 8} {
			e := envs(t, rollout.Config{Game: g, Envs: 11, Key: rng.New(6), Workers: workers})
			ro := batch.New(e.Shape(13, 1))
			for window := range 5 {
				e.Collect(ro, drawers(workers, agents))
				var eps []string
				for _, ep := range e.Episodes() {
					eps = append(eps, record(ep))
				}
				if workers == 1 {
					want, episodes = append(want, copyOf(ro)), append(episodes, eps)
					continue
				}
				if field := differs(ro, want[window]); field != "" {
					t.Fatalf("%s, window %d: %s differs between 1 and %d workers", name, window, field, workers)
				}
				if !reflect.DeepEqual(eps, episodes[window]) {
					t.Fatalf("%s, window %d: episodes differ between 1 and %d workers:\n%v\n%v", name, window, workers, episodes[window], eps)
				}
			}
		}
	}
}

func copyOf(ro *batch.Rollout) *batch.Rollout {
	c := batch.New(ro.Shape)
	from, to := reflect.ValueOf(ro).Elem(), reflect.ValueOf(c).Elem()
	for i := range from.NumField() {
		if from.Field(i).Kind() == reflect.Slice {
			reflect.Copy(to.Field(i), from.Field(i))
		}
	}
	return c
}

// differs names the first array in which two rollouts differ.
func differs(a, b *batch.Rollout) string {
	x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range x.NumField() {
		name := x.Type().Field(i).Name // what is encoded is each worker's own
		if name != "Encoded" && name != "Row" && !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			return name
		}
	}
	return ""
}

func TestWindowLengthDoesNotChangeEpisodes(t *testing.T) {
	for name, g := range map[string]game.Game{"toy": toy{seats: 3, horizon: 5, limit: true}, "staghunt": stagHunt(t, nil)} {
		var want map[int][]string
		for _, steps := range []int{64, 5, 1, 320} {
			e := envs(t, rollout.Config{Game: g, Envs: 3, Key: rng.New(7), Workers: 1})
			ro := batch.New(e.Shape(steps, 0))
			got := map[int][]string{}
			for range 320 / steps {
				e.Collect(ro, drawers(1, g.Spec().Seats))
				for _, ep := range e.Episodes() {
					got[ep.Env] = append(got[ep.Env], record(ep))
				}
			}
			if steps == 64 {
				want = got
			}
			if len(got[0]) < 5 || !reflect.DeepEqual(got, want) {
				t.Fatalf("%s, windows of %d steps: episodes\n%v\nwant those of windows of 64:\n%v", name, steps, got, want)
			}
		}
	}
}

func TestEpisodesAddUpTheRows(t *testing.T) {
	for name, g := range map[string]game.Game{"toy": toy{seats: 3, horizon: 6}, "staghunt": stagHunt(t, nil)} {
		agents := g.Spec().Seats
		e := envs(t, rollout.Config{Game: g, Envs: 4, Key: rng.New(8), Workers: 2})
		ro := batch.New(e.Shape(21, 0))
		type sum struct {
			steps int
			ret   []float64
			life  []int
			goal  []int
			mixed bool
		}
		fresh := func() sum {
			s := sum{0, make([]float64, agents), make([]int, agents), make([]int, agents), false}
			for a := range s.goal {
				s.goal[a] = game.NoGoal
			}
			return s
		}
		running, index := make([]sum, 4), make([]int, 4)
		for n := range running {
			running[n] = fresh()
		}
		total, mixed := 0, 0
		for range 25 {
			e.Collect(ro, drawers(2, agents))
			var want []string
			for n := range ro.Envs {
				for tt := range ro.Steps {
					played := false
					over := true
					for a := range agent.ID(agents) {
						slot, i := ro.Slot(a, tt, n), ro.Step(a, tt, n)
						over = over && !ro.Alive[ro.Slot(a, tt+1, n)]
						if !ro.Alive[slot] {
							continue
						}
						played = true
						r := &running[n]
						r.ret[a] += float64(ro.Reward[i])
						r.life[a]++
						if a == 0 && ro.Start[ro.Moment(tt, n)] && ro.Action[i] == 0 {
							r.mixed = true
							mixed++
						}
						if g := ro.Reached[i]; g != game.NoGoal {
							r.goal[a] = int(g)
						}
					}
					if !played {
						continue
					}
					running[n].steps++
					if over {
						r := running[n]
						want = append(want, record(rollout.Episode{Env: n, Index: index[n], Steps: r.steps, Return: r.ret, Life: r.life, Goal: r.goal,
							Mixed: r.mixed}))
						running[n] = fresh()
						index[n]++
					}
				}
			}
			var got []string
			for _, ep := range e.Episodes() {
				got = append(got, record(ep))
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: episodes\n%v\nwant\n%v", name, got, want)
			}
			total += len(got)
		}
		if total < 20 || mixed < 3 || mixed > total-3 {
			t.Errorf("%s: %d episodes, %d mixed, want many of both kinds", name, total, mixed)
		}
	}
}

// Another rollout than the last window's starts with the same slot.
func TestAnotherRolloutGoesOn(t *testing.T) {
	cfg := rollout.Config{Game: toy{seats: 3, horizon: 5}, Envs: 3, Key: rng.New(9), Workers: 1}
	one, two := envs(t, cfg), envs(t, cfg)
	ro := batch.New(one.Shape(4, 0))
	for window := range 10 {
		fresh := batch.New(two.Shape(4, 0))
		one.Collect(ro, drawers(1, 3))
		two.Collect(fresh, drawers(1, 3))
		for i, x := range ro.Target { // drawer adds its target to old ones
			if x != 0 && fresh.Target[i] == 0 {
				ro.Target[i] = 0
			}
		}
		if field := differs(fresh, ro); field != "" {
			t.Fatalf("window %d: %s differs between one rollout and a fresh one a window", window, field)
		}
	}
}

func TestBotsKeepOneMemoryAnEnv(t *testing.T) {
	g := toy{seats: 1, horizon: 9}
	e := envs(t, rollout.Config{Game: g, Envs: 2, Key: rng.New(10), Workers: 2})
	players := make([][]rollout.Player, 2)
	for w := range players {
		players[w] = []rollout.Player{bots(t, g, "counter", 2)}
	}
	ro := batch.New(e.Shape(4, 0))
	var lives [2][]int
	for range 6 {
		e.Collect(ro, players)
		for _, ep := range e.Episodes() {
			lives[ep.Env] = append(lives[ep.Env], ep.Life[0])
		}
	}
	for n, got := range lives {
		if want := []int{1, 2, 3, 1, 2, 3, 1, 2}; len(got) < len(want) || !reflect.DeepEqual(got[:len(want)], want) {
			t.Errorf("env %d: lives %v, want %v", n, got, want)
		}
	}
	if _, err := rollout.NewBots(g, "nobody", 1); err == nil {
		t.Error("a bot that does not exist was made")
	}
}

// seen is a Bots that checks what its view says about seats.
type seen struct {
	*rollout.Bots
	t *testing.T
}

func (p seen) Act(v *rollout.View, envs []int32) {
	for _, n := range envs {
		n := int(n)
		if s := v.SeatOf(n); v.AgentAt(n, s) != v.Agent || int(v.Seat[v.SlotOf(n)]) != int(s) {
			p.t.Errorf("%v in env %d: SeatOf %d, AgentAt %v, Seat %d", v.Agent, n, s, v.AgentAt(n, s), v.Seat[v.SlotOf(n)])
		}
		if !v.State(n).Alive(v.SeatOf(n)) {
			p.t.Errorf("%v in env %d acts but is not alive", v.Agent, n)
		}
	}
	p.Bots.Act(v, envs)
}

func TestBlindPlaysTheSameWithoutObservations(t *testing.T) {
	g := stagHunt(t, nil)
	play := func(blind bool) *batch.Rollout {
		e := envs(t, rollout.Config{Game: g, Envs: 3, Key: rng.New(12), Workers: 1, Blind: blind})
		var players []rollout.Player
		for _, name := range []string{"ns", "ns", "nh", "random"} {
			players = append(players, seen{bots(t, g, name, 3), t})
		}
		ro := batch.New(e.Shape(50, 0))
		e.Collect(ro, [][]rollout.Player{players})
		return ro
	}
	blind, sighted := play(true), play(false)
	if slices.Max(blind.Obs) != 0 || slices.Max(sighted.Obs) != 1 {
		t.Errorf("largest number seen: blind %v, sighted %v; want 0, 1", slices.Max(blind.Obs), slices.Max(sighted.Obs))
	}
	clear(sighted.Obs)
	if field := differs(blind, sighted); field != "" {
		t.Errorf("%s differs between blind and sighted play", field)
	}
}

func TestCollectDoesNotAllocate(t *testing.T) {
	for name, g := range map[string]game.Game{"toy": toy{seats: 3, horizon: 5, limit: true}, "staghunt": stagHunt(t, nil)} {
		e := envs(t, rollout.Config{Game: g, Envs: 8, Key: rng.New(13), Workers: 1})
		ro := batch.New(e.Shape(64, 0))
		players := drawers(1, g.Spec().Seats)
		e.Collect(ro, players)
		if n := testing.AllocsPerRun(20, func() { e.Collect(ro, players) }); n != 0 {
			t.Errorf("%s: Collect allocates %v times, want 0", name, n)
		}
	}
}

func TestWrongUseIsRefused(t *testing.T) {
	g := toy{seats: 2, horizon: 3}
	for name, cfg := range map[string]rollout.Config{"no game": {Envs: 1}, "no envs": {Game: g}, "negative": {Game: g, Envs: -1}} {
		if _, err := rollout.New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	e := envs(t, rollout.Config{Game: g, Envs: 2, Workers: 2})
	fits := e.Shape(3, 0)
	for name, c := range map[string]struct {
		change  func(*batch.Shape)
		players [][]rollout.Player
	}{
		"agents":          {func(s *batch.Shape) { s.Agents++ }, drawers(2, 2)},
		"envs":            {func(s *batch.Shape) { s.Envs++ }, drawers(2, 2)},
		"observation":     {func(s *batch.Shape) { s.ObsLen++ }, drawers(2, 2)},
		"actions":         {func(s *batch.Shape) { s.Actions++ }, drawers(2, 2)},
		"too few rows":    {func(*batch.Shape) {}, drawers(1, 2)},
		"too few players": {func(*batch.Shape) {}, drawers(2, 1)},
	} {
		s := fits
		c.change(&s)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: Collect did not panic", name)
				}
			}()
			e.Collect(batch.New(s), c.players)
		}()
	}
}

func BenchmarkCollect(b *testing.B) {
	g := stagHunt(b, nil)
	e := envs(b, rollout.Config{Game: g, Envs: 64, Key: rng.New(14), Workers: 1})
	ro := batch.New(e.Shape(128, 0))
	var players []rollout.Player
	for range 4 {
		players = append(players, bots(b, g, "random", 64))
	}
	alive := 0
	for b.Loop() {
		e.Collect(ro, [][]rollout.Player{players})
		for a := range agent.ID(4) {
			for _, ok := range ro.Alive[ro.Slot(a, 0, 0):ro.Slot(a, ro.Steps, 0)] {
				if ok {
					alive++
				}
			}
		}
	}
	b.ReportMetric(float64(alive)/b.Elapsed().Seconds(), "rows/s")
}
