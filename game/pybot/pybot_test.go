package pybot

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/bridge"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
)

// The tests play with a guest in Go, which is this program: they need no Python.
func TestMain(m *testing.M) {
	if os.Getenv("PYBOT_TEST_PLAYER") != "" {
		if err := bridge.Serve(os.Stdin, os.Stdout, "test", &fake{}); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Setenv("PYBOT_TEST_PLAYER", "1")
	os.Setenv("HOP_PYTHON", os.Args[0])
	code := m.Run()
	Close()
	os.Exit(code)
}

// fake decides by the seed, and has the fault that its name says.
type fake struct {
	bad     string
	blocks  []*block
	decided [][]int32 // [block][copies] decisions of this life
}

func (f *fake) Call(op string, args json.RawMessage) (any, error) {
	var a struct {
		Policy string
		Block  int
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return nil, err
	}
	if op == "fresh" {
		clear(f.decided[a.Block])
		return nil, nil
	}
	if f.bad = strings.TrimPrefix(a.Policy, "fake:"); f.bad == "missing" {
		return nil, errors.New("there is no Python module fake")
	}
	if f.bad == "endless" {
		time.Sleep(time.Minute)
	}
	return map[string]any{"limit": .2, "remembers": f.bad == "remembers"}, nil
}

func (f *fake) Share(m *bridge.Memory) error {
	b := &block{
		op: bridge.Slice[uint8](m, "op"), mask: bridge.Slice[uint8](m, "mask"), obs: bridge.Slice[float32](m, "obs"),
		reward: bridge.Slice[float32](m, "reward"), earned: bridge.Slice[float64](m, "earned"), seed: bridge.Slice[int64](m, "seed"),
		seat: bridge.Slice[int32](m, "seat"), episode: bridge.Slice[int32](m, "episode"), step: bridge.Slice[int32](m, "step"),
		action: bridge.Slice[int32](m, "action"), at: bridge.Slice[int32](m, "at"), calls: bridge.Slice[int64](m, "calls"),
	}
	f.blocks, f.decided = append(f.blocks, b), append(f.decided, make([]int32, len(b.op)))
	return nil
}

func (f *fake) Tick(code uint32) error {
	b := f.blocks[code]
	actions := len(b.mask) / len(b.op)
	for n, op := range b.op {
		if op == 0 {
			continue
		}
		b.op[n] = 0
		b.at[0] = int32(n)
		b.calls[0]++
		f.decided[code][n]++
		mask := b.mask[n*actions : (n+1)*actions]
		if b.episode[n] == 1 && b.step[n] == 1 {
			switch f.bad {
			case "raises":
				return errors.New("it raised ValueError: boom")
			case "hangs":
				time.Sleep(time.Minute)
			case "dies":
				os.Exit(3)
			case "illegal":
				b.action[n] = int32(actions)
				continue
			}
		}
		if f.bad == "slow" {
			time.Sleep(20 * time.Millisecond)
		}
		if begins := op == opBegin; begins != (b.step[n] == 0) || (b.episode[n] > 0) == math.IsNaN(b.earned[n]) {
			return fmt.Errorf("episode %d, step %d is asked with %d and earned %v", b.episode[n], b.step[n], op, b.earned[n])
		}
		if first := f.decided[code][n] == 1; f.bad == "remembers" && first != (b.episode[n] == 0 && b.step[n] == 0) {
			return fmt.Errorf("episode %d, step %d is decision %d of its life", b.episode[n], b.step[n], f.decided[code][n])
		}
		k := int(b.seed[n] % int64(actions))
		for mask[k] == 0 {
			k = (k + 1) % actions
		}
		b.action[n] = int32(k)
	}
	return nil
}

// hunt plays a window of a team of such policies and returns it.
func hunt(t *testing.T, fault string, envs, steps, workers int) (*batch.Rollout, error) {
	t.Helper()
	g := gametest.New(t, staghunt.New, staghunt.Default())
	p, err := Open(g, "py:fake:"+fault)
	if err != nil {
		return nil, err
	}
	e, err := rollout.New(rollout.Config{Game: g, Envs: envs, Key: rng.New(5), Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	players := make([][]rollout.Player, e.Workers)
	for range g.Spec().Seats {
		list, err := p.Players(e.Workers, envs)
		if err != nil {
			return nil, err
		}
		for w := range players {
			players[w] = append(players[w], list[w])
		}
	}
	ro := batch.New(e.Shape(steps, 0))
	return ro, e.Collect(ro, players)
}

// How many workers there are, and what was played before, reaches no number.
func TestThePolicyPlaysTheSameForAnyWorkers(t *testing.T) {
	one, err := hunt(t, "", 6, 150, 1)
	if err != nil {
		t.Fatal(err)
	}
	many, err := hunt(t, "", 6, 150, 3)
	if err != nil {
		t.Fatal(err)
	}
	acted := 0
	for i, a := range one.Action {
		if a != many.Action[i] {
			t.Fatalf("step %d: %d with one worker, %d with three", i, a, many.Action[i])
		}
		if a != game.NoAction {
			acted++
		}
	}
	if acted < 1000 {
		t.Errorf("only %d decisions", acted)
	}
}

// Whoever plays after another has its memory anew.
func TestEachMemberHasLivesOfItsOwn(t *testing.T) {
	for range 3 {
		if _, err := hunt(t, "remembers", 2, 80, 1); err != nil {
			t.Fatal(err)
		}
		runtime.GC() // memory of members that are gone is used again
		time.Sleep(10 * time.Millisecond)
	}
	g := gametest.New(t, staghunt.New, staghunt.Default())
	p, err := Open(g, "py:fake:remembers")
	if err != nil {
		t.Fatal(err)
	}
	if p.blocks == 3*g.Spec().Seats {
		t.Error("memory of members that are gone is never used again")
	}
}

// Each fault is an error that names the policy, the life, the episode and the step, and ends the
// process.
func TestFaultsNameThePlaceAndEndTheProcess(t *testing.T) {
	for fault, want := range map[string]string{
		"raises":  "it raised ValueError: boom",
		"hangs":   "it has not answered for 200ms",
		"dies":    "is gone: exit status 3",
		"illegal": "it answered 7, which is not legal here; want one of 0 (up)",
	} {
		_, err := hunt(t, fault, 2, 200, 1)
		place := "py:fake:" + fault + ", life 0, episode 1, step 1: "
		if err == nil || !strings.Contains(err.Error(), place) && !strings.Contains(err.Error(), strings.Replace(place, "life 0", "life 1", 1)) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s...%s", fault, err, place, want)
		}
		p, open := Open(gametest.New(t, staghunt.New, staghunt.Default()), "py:fake:"+fault)
		if open != nil {
			t.Fatal(open)
		}
		if again := p.peer.Tick(0); again == nil {
			t.Errorf("%s: the process still answers", fault)
		}
		if _, again := hunt(t, fault, 2, 200, 1); again == nil || again.Error() != err.Error() {
			t.Errorf("%s: asked again it says %v, want the same", fault, again)
		}
	}
	if _, err := hunt(t, "missing", 1, 1, 1); err == nil || !strings.Contains(err.Error(), "py:fake:missing: there is no Python module fake") {
		t.Errorf("a policy that is not there: %v", err)
	}
	if _, err := Open(gametest.New(t, staghunt.New, staghunt.Default()), "nowhere.onnx"); err == nil ||
		!strings.Contains(err.Error(), "nowhere.onnx: there is no such file") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// A policy whose import does not end is ended.
func TestAnImportThatHangsIsEnded(t *testing.T) {
	defer func(was time.Duration) { openPatience = was }(openPatience)
	openPatience = 100 * time.Millisecond
	_, err := hunt(t, "endless", 1, 1, 1)
	if err == nil || !strings.Contains(err.Error(), "py:fake:endless: it was not imported within 100ms") {
		t.Errorf("got %v", err)
	}
}

// The time limit is one of a decision: many that take long together are not late.
func TestManyDecisionsMayTakeLongTogether(t *testing.T) {
	if _, err := hunt(t, "slow", 40, 1, 1); err != nil { // 40 decisions of 20 ms, the limit is 200 ms
		t.Error(err)
	}
}

// What a run that goes on needs is saved: what the last episodes earned, of those without a memory of
// their own.
func TestWhatTheLastEpisodesEarnedIsSaved(t *testing.T) {
	g := gametest.New(t, staghunt.New, staghunt.Default())
	made := func(name string) *player {
		t.Helper()
		p, err := Open(g, "py:fake:"+name)
		if err != nil {
			t.Fatal(err)
		}
		list, err := p.Players(1, 2)
		if err != nil {
			t.Fatal(err)
		}
		return list[0].(*player)
	}
	a, b := made(""), made("")
	a.earned[1] = 5
	saved, err := a.AppendBinary(nil)
	if err == nil {
		err = b.UnmarshalBinary(saved)
	}
	if err != nil || b.earned[1] != 5 || !math.IsNaN(b.earned[0]) {
		t.Errorf("after loading it has %v, %v", b.earned, err)
	}
	if b.UnmarshalBinary(saved[1:]) == nil {
		t.Error("damaged memory is loaded")
	}
	if _, err := made("remembers").AppendBinary(nil); err == nil || !strings.Contains(err.Error(), "a memory that a checkpoint cannot hold") {
		t.Errorf("a memory of its own is saved: %v", err)
	}
}

// Only these names stand for programs.
func TestNames(t *testing.T) {
	for name, want := range map[string]bool{
		"py:a:b": true, "nets/agent-0.onnx": true, "ns": false, "noisy(nh,.3)": false, "runs/x#0": false, "py": false,
	} {
		if Is(name) != want {
			t.Errorf("%s: %v, want %v", name, Is(name), want)
		}
	}
}
