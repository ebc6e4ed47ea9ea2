package pyenv

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/bridge"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/rng"
)

// The tests play with a worker in Go, which is this program: they need no Python.
func TestMain(m *testing.M) {
	if os.Getenv("PYENV_TEST_WORKER") != "" {
		if err := bridge.Serve(os.Stdin, os.Stdout, "test", &fake{}); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Setenv("PYENV_TEST_WORKER", "1")
	code := m.Run()
	Close()
	os.Exit(code)
}

// fake is a worker that plays a race: two runners see how far both have come and may
// take 1 to 3 steps, but not the number they took last. Who has come to 9 is paid 1
// and leaves; after 4 steps the rest is truncated.
type fake struct {
	bad    string
	copies int
	blocks []*track
}

type track struct {
	block
	runs []run
}

type run struct {
	at, last [2]int32
	t        int
}

func (f *fake) Call(op string, args json.RawMessage) (any, error) {
	var a struct {
		Env     string
		Copies  int
		Horizon int
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return nil, err
	}
	if op == "copies" {
		f.copies = a.Copies
		return nil, nil
	}
	f.bad = strings.TrimPrefix(a.Env, "race:")
	out := map[string]any{
		"agents": []string{"runner_0", "runner_1"}, "actions": []string{"1", "2", "3"}, "width": 2, "masks": true, "horizon": 20,
		"packages": map[string]string{"race": "1.0"},
	}
	if a.Horizon > 0 {
		out["horizon"] = a.Horizon
	}
	if f.bad == "chance" {
		out["differs"] = "observations differ at step 3"
	}
	if f.bad == "refused" {
		return nil, errors.New("agent runner_0 has continuous actions")
	}
	return out, nil
}

func (f *fake) Share(m *bridge.Memory) error {
	b := block{
		op: bridge.Slice[uint8](m, "op"), mask: bridge.Slice[uint8](m, "mask"), alive: bridge.Slice[uint8](m, "alive"),
		cut: bridge.Slice[uint8](m, "cut"), action: bridge.Slice[int32](m, "action"), seed: bridge.Slice[int64](m, "seed"),
		obs: bridge.Slice[float32](m, "obs"), reward: bridge.Slice[float32](m, "reward"),
	}
	f.blocks = append(f.blocks, &track{b, make([]run, f.copies)})
	return nil
}

func (f *fake) Tick(uint32) error {
	for _, b := range f.blocks {
		for i, op := range b.op {
			b.op[i] = 0
			r := &b.runs[i]
			switch op {
			case opReset:
				*r = run{at: [2]int32{int32(b.seed[i] % 3), int32(b.seed[i] / 3 % 3)}, last: [2]int32{-1, -1}}
				b.alive[2*i], b.alive[2*i+1] = 1, 1
			case opStep:
				r.t++
				if f.bad == "dies" && r.t == 3 {
					os.Exit(3)
				}
				if f.bad == "raises" && r.t == 3 {
					return errors.New("race:raises, step 3: raised KeyError")
				}
			default:
				continue
			}
			f.show(b, i, op == opStep)
		}
	}
	return nil
}

func (f *fake) show(b *track, i int, step bool) {
	r := &b.runs[i]
	for s := range int32(2) {
		at := 2*i + int(s)
		b.reward[at], b.cut[at] = 0, 0
		if b.alive[at] == 0 {
			continue
		}
		if step {
			r.last[s] = b.action[at]
			if r.at[s] += r.last[s] + 1; r.at[s] >= 9 {
				b.alive[at], b.reward[at] = 0, 1
			} else if r.t == 4 {
				b.alive[at], b.cut[at] = 0, 1
			}
		}
	}
	for s := range 2 {
		at := 2*i + s
		b.obs[2*at], b.obs[2*at+1] = float32(r.at[s]), float32(r.at[1-s])
		for k := range int32(3) {
			b.mask[3*at+int(k)] = 1
			if k == r.last[s] || f.bad == "mask" && r.t == 3 {
				b.mask[3*at+int(k)] = 0
			}
		}
	}
	if f.bad == "other" {
		b.obs[4*i]++
	}
	if f.bad == "nan" && r.t == 3 {
		b.obs[4*i] /= 0
		b.obs[4*i] -= b.obs[4*i]
	}
}

// race opens the fake environment with some fault.
func race(t *testing.T, fault string, workers int) *Game {
	t.Helper()
	c := Config{Env: "race:" + fault, Workers: workers, Python: os.Args[0], Replay: true}
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return g.(*Game)
}

func TestAPythonEnvironmentIsAGame(t *testing.T) {
	gametest.Run(t, race(t, "", 2))
}

// random plays windows of random agents and returns everything that was recorded.
func random(t *testing.T, g game.Game, workers, windows int) []*batch.Rollout {
	t.Helper()
	e, err := rollout.New(rollout.Config{Game: g, Envs: 7, Key: rng.New(5), Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	var out []*batch.Rollout
	players := bots(t, g, workers)
	for range windows {
		ro := batch.New(e.Shape(9, 0))
		if err := e.Collect(ro, players); err != nil {
			t.Fatal(err)
		}
		out = append(out, ro)
	}
	return out
}

func bots(t *testing.T, g game.Game, workers int) [][]rollout.Player {
	t.Helper()
	players := make([][]rollout.Player, workers)
	for w := range players {
		for range g.Spec().Seats {
			b, err := rollout.NewBots(g, "random", 7)
			if err != nil {
				t.Fatal(err)
			}
			players[w] = append(players[w], b)
		}
	}
	return players
}

func TestNoNumberDependsOnTheWorkers(t *testing.T) {
	want := random(t, race(t, "", 1), 1, 4)
	for _, n := range [][2]int{{3, 1}, {2, 3}} {
		for i, ro := range random(t, race(t, "", n[0]), n[1], 4) {
			ro.Encoded, want[i].Encoded = nil, nil // each worker's own
			a, _ := json.Marshal(ro)
			b, _ := json.Marshal(want[i])
			if !bytes.Equal(a, b) {
				t.Errorf("window %d of %d processes and %d workers differs", i, n[0], n[1])
			}
		}
	}
}

// A truncation is a cut, so that values bootstrap; leaving is an exit; and agents keep
// their seats.
func TestTruncationsAreCutsAndAgentsKeepTheirSeats(t *testing.T) {
	cuts, exits := 0, 0
	for _, ro := range random(t, race(t, "", 2), 2, 4) {
		for a := range agent.ID(2) {
			for s := range ro.Steps - 1 {
				for n := range ro.Envs {
					next := ro.Slot(a, s+1, n)
					switch ro.End[ro.Step(a, s, n)] {
					case batch.Cut:
						cuts++
						if ro.ObsAt(next)[0] >= 9 {
							t.Errorf("a runner at %v was cut", ro.ObsAt(next)[0])
						}
					case batch.Exited:
						exits++
						if ro.ObsAt(next)[0] < 9 {
							t.Errorf("a runner at %v left", ro.ObsAt(next)[0])
						}
					}
					if int(ro.Seat[next]) != int(a) {
						t.Fatalf("agent %d sits on %d", a, ro.Seat[next])
					}
				}
			}
		}
	}
	if cuts == 0 || exits == 0 {
		t.Errorf("%d cuts and %d exits: the test saw too little", cuts, exits)
	}
}

func TestARunGoesOnWhereItWas(t *testing.T) {
	g := race(t, "", 2)
	play := func(e *rollout.Envs, ro *batch.Rollout) []byte {
		if err := e.Collect(ro, bots(t, g, 2)); err != nil {
			t.Fatal(err)
		}
		b, _ := json.Marshal(ro)
		return b
	}
	fresh := func() (*rollout.Envs, *batch.Rollout) {
		e, err := rollout.New(rollout.Config{Game: g, Envs: 7, Key: rng.New(5), Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		return e, batch.New(e.Shape(5, 0))
	}
	e, ro := fresh()
	for range 3 {
		play(e, ro)
	}
	saved, err := e.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := play(e, batch.New(e.Shape(5, 0)))
	again, ro := fresh()
	if err := again.UnmarshalBinary(saved); err != nil {
		t.Fatal(err)
	}
	if got := play(again, ro); !bytes.Equal(got, want) {
		t.Error("a run that was loaded plays otherwise")
	}
	other, err := rollout.New(rollout.Config{Game: race(t, "other", 2), Envs: 7, Key: rng.New(5)})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.UnmarshalBinary(saved); err == nil || !strings.Contains(err.Error(), "comes to another position") {
		t.Errorf("an environment that shows something else: got %v, want it refused", err)
	}
}

func TestWhatGoesWrongInAWorkerIsAnError(t *testing.T) {
	for fault, want := range map[string]string{
		"dies": "is gone: exit status 3", "raises": "raised KeyError", "nan": "runner_0 sees NaN", "mask": "action_mask is all 0",
	} {
		g := race(t, fault, 2)
		e, err := rollout.New(rollout.Config{Game: g, Envs: 7, Key: rng.New(5), Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		err = e.Collect(batch.New(e.Shape(9, 0)), bots(t, g, 2))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", fault, err, want)
		}
	}
	for fault, want := range map[string]string{
		"refused": "continuous actions", "chance": "observations differ at step 3. Let reset(seed=...)",
	} {
		_, err := New(Config{Env: "race:" + fault, Workers: 1, Python: os.Args[0], Replay: true})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "env is race:"+fault) {
			t.Errorf("%s: got %v, want %q", fault, err, want)
		}
	}
}

// States cannot be copied, which is a Failure and not a crash.
func TestCopiesAreRefused(t *testing.T) {
	g := race(t, "", 2)
	err := game.Attempt(func() error { g.New().CopyFrom(g.New()); return nil })
	if err == nil || !strings.Contains(err.Error(), "cannot be copied") {
		t.Errorf("got %v", err)
	}
}

// A long episode is cut at the horizon.
func TestEpisodesAreCutAtTheHorizon(t *testing.T) {
	g, err := New(Config{Env: "race:", Workers: 1, Python: os.Args[0], Replay: true, Horizon: 2})
	if err != nil {
		t.Fatal(err)
	}
	st, r := g.New(), rng.New(1).Rand()
	st.Reset(&r)
	rewards := make([]float32, 2)
	st.Step([]int32{0, 0}, rewards, &r)
	if st.Over() {
		t.Fatal("over after a step")
	}
	st.Step([]int32{1, 1}, rewards, &r)
	if !st.Over() || !g.(*Game).Lost(st, 0) || !st.(game.Limited).Cut() {
		t.Errorf("over %v, lost %v, want both", st.Over(), g.(*Game).Lost(st, 0))
	}
}

// Places of states that nobody holds are used again.
func TestPlacesAreUsedAgain(t *testing.T) {
	g := race(t, "", 3)
	use := func() {
		for range 12 {
			st, r := g.New(), rng.New(1).Rand()
			st.Reset(&r)
		}
	}
	free := func() (n int) {
		g.pool.mu.Lock()
		defer g.pool.mu.Unlock()
		for _, w := range g.pool.workers {
			n += len(w.free)
		}
		return n
	}
	for range 50 {
		use()
		runtime.GC()
	}
	if n := free(); n < 1 || n > 200 {
		t.Errorf("%d places are free after 600 states that were dropped; want them used again", n)
	}
}

func TestStepsAllocateNothing(t *testing.T) {
	g := race(t, "", 2)
	e, err := rollout.New(rollout.Config{Game: g, Envs: 7, Key: rng.New(5), Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	ro, players := batch.New(e.Shape(9, 0)), bots(t, g, 1)
	play := func() {
		if err := e.Collect(ro, players); err != nil {
			t.Fatal(err)
		}
	}
	play()
	if n := testing.AllocsPerRun(10, play); n != 0 {
		t.Errorf("a window allocates %v times, want 0", n)
	}
}

func TestConfigsAreChecked(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Default(), "env is"},
		{Config{Env: "a:b", Kwargs: "[1]"}, "kwargs is '[1]'"},
		{Config{Env: "a:b", Horizon: -1}, "horizon is -1"},
	} {
		if _, err := New(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.cfg, err, c.want)
		}
	}
}
