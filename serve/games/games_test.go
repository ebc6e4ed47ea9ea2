package games

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/bridge"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/train/eval"
	"github.com/hop-marl/hop/train/registry"
)

// opened returns a server with an open game, its arrays in memory of its own.
func opened(t testing.TB, o Open) *Server {
	t.Helper()
	s := New(&lab.Lab{Reg: registry.New()})
	o.Threads = max(o.Threads, 1)
	if o.Illegal == "" {
		o.Illegal = "error"
	}
	if _, err := s.open(o); err != nil {
		t.Fatal(err)
	}
	agents := s.spec.Seats
	rows := o.Envs * agents
	s.obs, s.legal = make([]float32, rows*s.spec.Obs.Len()), make([]bool, rows*len(s.spec.Actions))
	s.alive, s.actions, s.rewards = make([]bool, rows), make([]int32, rows), make([]float32, rows)
	s.terminated, s.truncated, s.returns = make([]bool, rows), make([]bool, rows), make([]float64, rows)
	s.over, s.steps = make([]bool, o.Envs), make([]int32, o.Envs)
	s.seeds, s.restart, s.replaced = make([]int64, o.Envs), make([]uint8, o.Envs), make([]int64, 1)
	s.living, s.shown = make([]bool, rows), make([]bool, rows)
	s.shared = true
	return s
}

// seeded starts copy n with seed first+n.
func (s *Server) seeded(t testing.TB, first int64) {
	t.Helper()
	for n := range s.seeds {
		s.seeds[n], s.restart[n] = first+int64(n), restartSeed
	}
	do(t, s, tickStart)
}

func do(t testing.TB, s *Server, codes ...uint32) {
	t.Helper()
	for _, c := range codes {
		if err := s.Tick(c); err != nil {
			t.Fatal(err)
		}
	}
}

// text is everything that the arrays show of copy n.
func (s *Server) text(n int) string {
	a, k, l := s.spec.Seats, len(s.spec.Actions), s.spec.Obs.Len()
	lo, hi := n*a, (n+1)*a
	return fmt.Sprint(s.obs[lo*l:hi*l], s.legal[lo*k:hi*k], s.alive[lo:hi], s.rewards[lo:hi], s.terminated[lo:hi], s.truncated[lo:hi],
		s.returns[lo:hi], s.over[n], s.steps[n])
}

// A copy plays the same whatever its number and however many there are, on any number
// of threads: in every game of the registry.
func TestACopyIsTheSameAmongAnyNumber(t *testing.T) {
	for _, name := range registry.New().PlainGames() {
		var alone []*Server
		for n := range 5 {
			alone = append(alone, opened(t, Open{Game: name, Envs: 1}))
			alone[n].seeded(t, int64(10+n))
		}
		one, three := opened(t, Open{Game: name, Envs: 5}), opened(t, Open{Game: name, Envs: 5, Threads: 3})
		one.seeded(t, 10)
		three.seeded(t, 10)
		for step := range 60 {
			for n, s := range alone {
				want := s.text(0)
				if got := one.text(n); got != want {
					t.Fatalf("%s, copy %d of 5, step %d:\n%s\nalone:\n%s", name, n, step, got, want)
				}
				if got := three.text(n); got != want {
					t.Fatalf("%s, copy %d of 5 on 3 threads, step %d:\n%s\nalone:\n%s", name, n, step, got, want)
				}
				do(t, s, tickRandom, tickStep)
			}
			do(t, one, tickRandom, tickStep)
			do(t, three, tickRandom, tickStep)
		}
	}
}

// What the arrays show is what rollout records of the same seed and bots: observations,
// masks, rewards, exits and cuts. The bots are guests, so that it also shows
// that guests act here as they do there.
func TestTheArraysAreWhatRolloutRecords(t *testing.T) {
	const envs, steps = 1, 120
	for _, name := range registry.New().PlainGames() {
		s := opened(t, Open{Game: name, Envs: envs})
		e, err := rollout.New(rollout.Config{Game: s.game, Envs: envs, Key: rng.New(3), Workers: 1, FixSeat: true})
		if err != nil {
			t.Fatal(err)
		}
		var members []eval.Member
		for a := range s.spec.Seats {
			bots := s.game.Bots()
			members = append(members, eval.Bot(s.game, bots[a%len(bots)].Name))
		}
		ro := batch.New(e.Shape(steps, 0))
		e.Collect(ro, [][]rollout.Player{playersOf(t, members)})
		s.live.Views()
		s.guests = append(s.guests, s.newGuest("bots", members, 1))
		s.seeded(t, 3)
		for step := range steps {
			for a := range agent.ID(s.spec.Seats) {
				slot := ro.Slot(a, step, 0)
				l := s.spec.Obs.Len()
				if got, want := s.obs[int(a)*l:int(a+1)*l], ro.ObsAt(slot); !slices.Equal(got, want) {
					t.Fatalf("%s, step %d, agent %d sees\n%v\nin a rollout\n%v", name, step, a, got, want)
				}
				k := len(s.spec.Actions)
				if got, want := s.legal[int(a)*k:int(a+1)*k], ro.LegalAt(slot); ro.Alive[slot] && !slices.Equal(got, want) {
					t.Fatalf("%s, step %d, agent %d may play %v, in a rollout %v", name, step, a, got, want)
				}
				if s.alive[a] != ro.Alive[slot] {
					t.Fatalf("%s, step %d, agent %d: alive %v, in a rollout %v", name, step, a, s.alive[a], ro.Alive[slot])
				}
			}
			do(t, s, tickAct, tickStep)
			for a := range agent.ID(s.spec.Seats) {
				i := ro.Step(a, step, 0)
				want := ro.End[i]
				if step == steps-1 {
					want = batch.Going // the window's own cut
				}
				got := batch.Going
				if s.terminated[a] {
					got = batch.Exited
				}
				if s.truncated[a] {
					got = batch.Cut
				}
				if s.rewards[a] != ro.Reward[i] || step < steps-1 && got != want {
					t.Fatalf("%s, step %d, agent %d: reward %v, end %v; in a rollout %v, %v", name, step, a, s.rewards[a], got, ro.Reward[i], want)
				}
			}
		}
	}
}

// The pole that stands until the limit is cut, not ended.
func TestALimitTruncates(t *testing.T) {
	s := opened(t, Open{Game: "cartpole", Envs: 64, Params: map[string]json.RawMessage{"limit": json.RawMessage("12")}})
	s.seeded(t, 1)
	cut, exits := 0, 0
	for range 30 {
		do(t, s, tickRandom, tickStep)
		for n := range s.over {
			if s.truncated[n] && s.terminated[n] {
				t.Fatal("an agent's episode was both ended and cut")
			}
			if s.truncated[n] {
				cut++
			}
			if s.terminated[n] {
				exits++
			}
			if s.over[n] != (s.truncated[n] || s.terminated[n]) {
				t.Fatalf("over %v, terminated %v, truncated %v", s.over[n], s.terminated[n], s.truncated[n])
			}
		}
	}
	if cut == 0 || exits == 0 {
		t.Errorf("%d cuts and %d falls, want some of both", cut, exits)
	}
}

// The step after an episode's last one only starts the next: its actions are not looked
// at, and it earns nothing.
func TestTheStepAfterTheLastStartsTheNextEpisode(t *testing.T) {
	s := opened(t, Open{Game: "staghunt", Envs: 1})
	s.seeded(t, 5)
	for !s.over[0] {
		do(t, s, tickRandom, tickStep)
	}
	total := 0.
	for _, r := range s.returns {
		total += r
	}
	if total == 0 || s.steps[0] == 0 {
		t.Fatalf("the episode's end says %v and %d steps", s.returns, s.steps[0])
	}
	for a := range s.actions {
		s.actions[a], s.rewards[a] = -7, 1
	}
	do(t, s, tickStep)
	earned := slices.ContainsFunc(s.rewards, func(r float32) bool { return r != 0 }) || s.returns[0] != 0
	if s.over[0] || s.steps[0] != 0 || slices.Contains(s.alive, false) || slices.Contains(s.terminated, true) || earned {
		t.Errorf("after the reset: %s", s.text(0))
	}
}

// An action that is not legal is refused before anything is played, with what was and
// what may be played; or replaced.
func TestIllegalActions(t *testing.T) {
	s := opened(t, Open{Game: "staghunt", Envs: 2})
	s.seeded(t, 5)
	do(t, s, tickRandom)
	width := len(s.spec.Actions)
	bad := slices.Index(s.legal[7*width:8*width], false)
	s.actions[7] = int32(bad)
	before := s.text(0)
	err := s.Tick(tickStep)
	if err == nil || s.text(0) != before {
		t.Fatalf("error %v; copy 0 has gone on: %v", err, s.text(0) != before)
	}
	for _, want := range []string{"agent_3 of env 1", s.spec.Actions[bad], "it may play"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	s.replace, s.actions[7] = true, 99
	if err := s.Tick(tickStep); err == nil || !strings.Contains(err.Error(), "not in its action space") {
		t.Errorf("99 is no action: %v", err)
	}
	s.lenient = true
	for _, k := range []int32{int32(bad), -1, 99, -1 << 31} {
		s.actions[7] = k
		if err := s.check(); err != nil || s.spec.Actions[s.actions[7]] != "stay" {
			t.Errorf("%d was replaced by %d, %v", k, s.actions[7], err)
		}
	}
	if s.replaced[0] != 4 || s.first != err.Error() {
		t.Errorf("%d were replaced, the first: %s", s.replaced[0], s.first)
	}
}

// What is saved in one process goes on in another as it would have here.
func TestSavedGoesOn(t *testing.T) {
	for _, name := range registry.New().PlainGames() {
		s, c := opened(t, Open{Game: name, Envs: 3}), opened(t, Open{Game: name, Envs: 3})
		s.seeded(t, 8)
		for range 7 {
			do(t, s, tickRandom, tickStep)
		}
		got, err := s.Call("save", nil)
		if err != nil {
			t.Fatal(err)
		}
		saved, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Call("load", saved); err != nil {
			t.Fatal(err)
		}
		for step := range 40 {
			do(t, s, tickRandom, tickStep)
			do(t, c, tickRandom, tickStep)
			for n := range s.over {
				if s.text(n) != c.text(n) {
					t.Fatalf("%s, copy %d, step %d after loading:\n%s\nwant\n%s", name, n, step, c.text(n), s.text(n))
				}
			}
		}
	}
}

func TestNothingAllocatesPerStep(t *testing.T) {
	for _, o := range []Open{{Game: "staghunt", Envs: 32}, {Game: "staghunt", Envs: 32, Threads: 2}} {
		s := opened(t, o)
		s.seeded(t, 1)
		step := func() {
			if s.Tick(tickRandom) != nil || s.Tick(tickStep) != nil {
				t.Fatal("a tick failed")
			}
		}
		if n := testing.AllocsPerRun(200, step); n != 0 {
			t.Errorf("%d threads: a step allocates %v times, want 0", o.Threads, n)
		}
	}
}

func TestWhatCannotBeOpened(t *testing.T) {
	param := func(name, text string) map[string]json.RawMessage {
		return map[string]json.RawMessage{name: json.RawMessage(text)}
	}
	for _, c := range []struct {
		o    Open
		want []string
	}{
		{Open{Game: "staghnt", Envs: 1}, []string{"staghnt", "did you mean staghunt"}},
		{Open{Game: "staghunt", Envs: 1, Params: param("blokcs", "5")}, []string{"blokcs", "did you mean blocks?", "hares, horizon"}},
		{Open{Game: "staghunt", Envs: 1, Params: param("size", `"large"`)}, []string{"size", "large"}},
		{Open{Game: "staghunt", Envs: 1, Params: param("size", "-3")}, []string{"size", "-3"}},
		{Open{Game: "staghunt", Envs: 0}, []string{"0 copies"}},
		{Open{Game: "staghunt", Envs: 1 << 40}, []string{"1099511627776 copies of staghunt take about", "fewer"}},
		{Open{Game: "staghunt", Envs: 1, Illegal: "ignore"}, []string{"ignore", "replace"}},
	} {
		c.o.Threads = 1
		if c.o.Illegal == "" {
			c.o.Illegal = "error"
		}
		_, err := New(&lab.Lab{Reg: registry.New()}).open(c.o)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want it to say %q", c.o, err, want)
			}
		}
	}
}

// A host that shares other arrays than it was asked for is refused.
func TestOtherArraysAreRefused(t *testing.T) {
	s := New(&lab.Lab{Reg: registry.New()})
	if err := s.Tick(tickStep); err == nil {
		t.Error("a step without a game was answered")
	}
	if err := s.Share(&bridge.Memory{}); err == nil {
		t.Error("memory was taken before anything was open")
	}
	if _, err := s.open(Open{Game: "staghunt", Envs: 1, Threads: 1, Illegal: "error"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Share(&bridge.Memory{}); err == nil || !strings.Contains(err.Error(), "obs") {
		t.Errorf("memory without arrays: %v", err)
	}
}

func TestPictures(t *testing.T) {
	for _, name := range registry.New().PlainGames() {
		s := opened(t, Open{Game: name, Envs: 1, Render: true})
		if _, err := s.render("ansi"); err == nil {
			t.Errorf("%s: a picture before the first episode", name)
		}
		s.seeded(t, 2)
		size := 0
		for range 3 {
			do(t, s, tickRandom, tickStep)
			got, err := s.render("rgb_array")
			if err != nil {
				t.Fatal(err)
			}
			m := got.(map[string]any)
			n := len(m["pixels"].([]byte))
			if n != 3*m["width"].(int)*m["height"].(int) || size != 0 && n != size {
				t.Errorf("%s: %d bytes for %dx%d pixels", name, n, m["width"], m["height"])
			}
			size = n
			if got, err = s.render("ansi"); err != nil || !strings.Contains(got.(map[string]any)["text"].(string), "agent_0") {
				t.Errorf("%s: %v, %v", name, got, err)
			}
		}
	}
}

func BenchmarkStep(b *testing.B) {
	s := opened(b, Open{Game: "staghunt", Envs: 1024})
	s.seeded(b, 1)
	alive := 0
	for b.Loop() {
		for _, ok := range s.alive {
			if ok {
				alive++
			}
		}
		do(b, s, tickRandom, tickStep)
	}
	b.ReportMetric(float64(alive)/b.Elapsed().Seconds(), "agent-steps/s")
}

var _ bridge.Handler = (*Server)(nil)
