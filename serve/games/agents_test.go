package games

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/train/eval"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec/spectest"
)

// playersOf returns a player of each member, for one copy.
func playersOf(t testing.TB, members []eval.Member) (row []rollout.Player) {
	t.Helper()
	for _, m := range members {
		list, err := m.Players(1, 1)
		if err != nil {
			t.Fatal(err)
		}
		row = append(row, list[0])
	}
	return row
}

const (
	quick   = "actor: {hidden: [16]}\ntrain: {envs: 8, window: 8, steps: 128, save: 64}\n"
	recalls = "actor: {hidden: [16], lstm: 8}\nppo: {seq_len: 8}\ntrain: {envs: 8, window: 8, steps: 128, save: 64}\n"
	plans   = "mind: hop\nactor: {hidden: [16]}\nppo: {lambda: 1, epochs: 1}\nleaf: {kind: both}\nsearch: {trees: 2, sims: 4, act: visits}\n" +
		"moa: {hidden: [16, 16]}\ntrain: {envs: 4, window: 8, steps: 32, save: 32}\n"
)

// seat takes one of our agents in, and returns its number.
func (s *Server) seat(t testing.TB, w Who) uint32 {
	t.Helper()
	b, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Call("seat", b)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(got.(map[string]any)["number"].(int))
}

// ask returns the tick that asks a guest for a seat; -1: for all.
func ask(number uint32, seat int) uint32 { return tickAct + number*seatsOf + uint32(seat+1) }

func (s *Server) lookOf(t testing.TB, number uint32, a, n int) *Look {
	t.Helper()
	got, err := s.Call("look", fmt.Appendf(nil, `{"number": %d, "agent": %d, "env": %d}`, number, a, n))
	if err != nil {
		t.Fatal(err)
	}
	return got.(*Look)
}

// A run's agents do here what they do in a rollout of the same seed, episode after episode: with
// an LSTM's memory, and with beliefs within and across episodes.
func TestARunsAgentsPlayAsInARollout(t *testing.T) {
	const steps = 100
	for name, text := range map[string]string{"ppo": quick, "lstm": recalls, "hop": plans} {
		dir := spectest.Play(t, text, 1, 1).Dir
		s := opened(t, Open{Game: "staghunt", Envs: 2, Threads: 2})
		number := s.seat(t, Who{Run: dir, Agent: -1})
		s.seeded(t, 5)
		x, err := registry.New().Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 2 {
			e, err := rollout.New(rollout.Config{Game: s.game, Envs: 1, Key: rng.New(uint64(5 + n)), Workers: 1, FixSeat: true})
			if err != nil {
				t.Fatal(err)
			}
			members, err := x.Seated(-1, false)
			if err != nil {
				t.Fatal(err)
			}
			ro := batch.New(e.Shape(steps, 0))
			e.Collect(ro, [][]rollout.Player{playersOf(t, members)})
			s.seeded(t, 5)
			for step := range steps {
				do(t, s, ask(number, -1))
				for a := range agent.ID(4) {
					if got, want := s.actions[n*4+int(a)], ro.Action[ro.Step(a, step, 0)]; s.alive[n*4+int(a)] && got != want {
						t.Fatalf("%s: copy %d, step %d: agent %d plays %d, in a rollout %d", name, n, step, a, got, want)
					}
				}
				do(t, s, tickStep)
			}
		}
	}
}

// Asked seat by seat, or twice at the same slot, it does the same; and so it does, and believes,
// if somebody else plays its seat for a while.
func TestHowOftenItIsAskedChangesNothing(t *testing.T) {
	dir := spectest.Play(t, plans, 1, 1).Dir
	open := func() (*Server, uint32) {
		s := opened(t, Open{Game: "staghunt", Envs: 1})
		number := s.seat(t, Who{Run: dir, Agent: -1})
		s.seeded(t, 2)
		return s, number
	}
	a, first := open()
	b, second := open()
	for step := range 60 {
		do(t, a, ask(first, -1))
		switch want := slices.Clone(a.actions); {
		case step%3 < 2: // seat by seat, and again
			do(t, b, ask(second, 0), ask(second, 1), ask(second, 2), ask(second, 3), ask(second, 1), ask(second, -1))
			if !slices.Equal(b.actions, want) {
				t.Fatalf("step %d: asked seat by seat %v, at once %v", step, b.actions, want)
			}
		default: // the host plays the same; b's agents are not asked
			copy(b.actions, want)
		}
		do(t, a, tickStep)
		do(t, b, tickStep)
	}
}

// The same seed plays the same: its life begins anew. The next episode goes on with what is known.
func TestASeedBeginsANewLife(t *testing.T) {
	dir := spectest.Play(t, plans+"belief: {count: evidence, decay: 0.5}\n", 1, 1).Dir
	s := opened(t, Open{Game: "staghunt", Envs: 1})
	number := s.seat(t, Who{Run: dir, Agent: 0})
	hares := s.seat(t, Who{Bot: "nh", Agent: -1})
	// life plays an episode among those who take hares and returns what agent 0 believed at first.
	life := func() (believed string) {
		for !s.over[0] {
			do(t, s, ask(hares, -1), ask(number, 0))
			if believed == "" {
				believed = fmt.Sprint(s.lookOf(t, number, 0, 0).Others[0].Posterior)
			}
			do(t, s, tickStep)
		}
		return believed
	}
	s.seeded(t, 4)
	first := life()
	do(t, s, tickStep) // only starts the next
	if next := life(); next == first {
		t.Errorf("after an episode among hares it believes what it did before, %s", first)
	}
	s.seeded(t, 4)
	if again := life(); again != first {
		t.Errorf("the same seed begins with %s, before with %s", again, first)
	}
}

// What is shown of a decision fits it: a planner's search, beliefs and predictions in any copy, a
// network's policy and value.
func TestWhatIsShownOfADecision(t *testing.T) {
	dir := spectest.Play(t, plans, 1, 1).Dir
	s := opened(t, Open{Game: "staghunt", Envs: 3, Threads: 2})
	number, plain := s.seat(t, Who{Run: dir, Agent: -1}), s.seat(t, Who{Run: spectest.Play(t, quick, 1, 1).Dir, Agent: 0, Greedy: true})
	s.seeded(t, 1)
	do(t, s, ask(number, -1))
	acted := slices.Clone(s.actions)
	do(t, s, tickStep)
	one := func(what string, xs []float64) {
		t.Helper()
		sum := 0.
		for _, x := range xs {
			sum += x
		}
		if math.Abs(sum-1) > 1e-5 {
			t.Errorf("%s sums to %v", what, sum)
		}
	}
	wide := func(xs []float32) (out []float64) {
		for _, x := range xs {
			out = append(out, float64(x))
		}
		return out
	}
	for n := range 3 {
		for a := range 4 {
			l := s.lookOf(t, number, a, n)
			if l.Action != acted[n*4+a] || l.Search == nil || len(l.Others) != 3 || l.Value == nil || l.Policy[l.Action] <= 0 {
				t.Fatalf("copy %d, agent %d shows %+v, and played %d", n, a, l, acted[n*4+a])
			}
			one("policy", wide(l.Policy))
			one("prior", wide(l.Search.Prior))
			for _, o := range l.Others {
				if o.Agent == a || o.Left {
					t.Errorf("agent %d models agent %d, left %v", a, o.Agent, o.Left)
				}
				one("posterior", o.Posterior)
				one("goals "+strings.Join(o.Goals, " "), o.Probs)
				one("predicted", o.Predicted)
			}
		}
	}
	do(t, s, ask(plain, 2))
	l := s.lookOf(t, plain, 2, 2)
	one("policy", wide(l.Policy))
	if best := slices.Max(l.Policy); l.Search != nil || len(l.Others) != 0 || l.Value == nil || l.Policy[l.Action] != best {
		t.Errorf("a greedy network shows %+v", l)
	}
	if _, err := s.Call("look", []byte(`{"number": 1, "agent": 0, "env": 0}`)); err == nil || !strings.Contains(err.Error(), "act first") {
		t.Errorf("a decision that was not made: %v", err)
	}
}

// Who cannot play here is refused in a sentence.
func TestWhoCannotPlayIsRefused(t *testing.T) {
	dir := spectest.Play(t, quick, 1, 1).Dir
	small, coins := opened(t, Open{Game: "staghunt", Envs: 1}), opened(t, Open{Game: "coin", Envs: 1})
	large := opened(t, Open{Game: "staghunt", Params: map[string]json.RawMessage{"size": []byte("6")}, Envs: 1})
	for _, c := range []struct {
		s    *Server
		who  Who
		want string
	}{
		{small, Who{Bot: "nobody"}, `no bot "nobody"`},
		{small, Who{Bot: "br"}, "needs to know the others' bots"},
		{small, Who{Run: t.TempDir(), Agent: -1}, "no run"},
		{small, Who{Run: dir, Agent: 7}, "agents 0 to 3, not 7"},
		{small, Who{Run: dir, Agent: -1, Step: 12345}, "12345"},
		{coins, Who{Run: dir, Agent: -1}, "was trained on staghunt, this env is coin"},
		{large, Who{Run: dir, Agent: -1}, "cannot play staghunt"},
	} {
		b, err := json.Marshal(c.who)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.s.Call("seat", b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want a word about %q", c.who, err, c.want)
		}
	}
	if err := small.Tick(ask(9, 0)); err == nil {
		t.Error("somebody who is not there acts")
	}
}

// A decision that is large enough is shared by threads that have no copy, and comes out the same.
func TestThreadsWithoutACopyHelp(t *testing.T) {
	dir := spectest.Play(t, "mind: hop\nactor: {hidden: [16]}\nppo: {lambda: 1, epochs: 1}\nsearch: {trees: 7, sims: 300, act: visits}\n"+
		"moa: {hidden: [16, 16]}\ntrain: {envs: 1, window: 2, steps: 2, save: 2}\n", 1, 1).Dir
	var want string
	for _, threads := range []int{1, 3} {
		s := opened(t, Open{Game: "staghunt", Envs: 1, Threads: threads})
		number := s.seat(t, Who{Run: dir, Agent: -1})
		s.seeded(t, 5)
		if _, helpers := s.live.Views()[0].Helpers(); helpers != threads {
			t.Errorf("%d share a decision on %d threads", helpers, threads)
		}
		got := ""
		for range 3 {
			do(t, s, ask(number, -1))
			b, err := json.Marshal(s.lookOf(t, number, 0, 0))
			if err != nil {
				t.Fatal(err)
			}
			got += fmt.Sprint(s.actions, string(b))
			do(t, s, tickStep)
		}
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("on %d threads\n%s\nwant\n%s", threads, got, want)
		}
	}
}
