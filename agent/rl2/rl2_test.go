package rl2_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/eval"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
	"github.com/hop-marl/hop/train/spec/spectest"
)

// promises is a spec of a short run over trials of three episodes, with stand-ins
// that remember episodes themselves.
const promises = `
mind: rl2
rl2: {episodes: 3}
actor: {hidden: [16], lstm: 8}
ppo: {seq_len: 7}
train:
  brains: [0, 0, 1, 1]
  envs: 16
  window: 16
  steps: 3000
  save: 2000
  standins: {share: 0.3, teams: 0.3, who: [ns, switcher]}
`

func TestRunsKeepTheirPromises(t *testing.T) { spectest.Promises(t, promises, 3) }

func TestWhatCannotWorkIsRefused(t *testing.T) {
	spectest.Refused(t, "above 0, such as 64, because mind is rl2", promises, "actor.lstm=0")
	spectest.Refused(t, "rl2.episodes", promises, "rl2.episodes=0")
	spectest.Refused(t, "ppo.align", promises, "ppo.align=1")
	spectest.Refused(t, "imagine.on", promises, "imagine.on=true")
	spectest.Refused(t, "no past selves", promises, "train.standins.who=[ns,past]")
}

// hunt is one round between two. The stag pays 4 if both hunt it and else nothing; the
// hare pays 2.5 whatever the other does, and so says nothing about the other.
type hunt struct{}

func (hunt) Spec() game.Spec {
	return game.Spec{Name: "hunt", Seats: 2, Horizon: 1, Actions: []string{"stag", "hare"}, Obs: game.Layout{Features: 1},
		Symmetric: true, Deterministic: true}
}

func (hunt) New() game.State { return &round{} }

func (hunt) Bots() []game.BotInfo {
	return []game.BotInfo{
		{Name: "stag", New: func() game.Bot { return always(0) }}, {Name: "hare", New: func() game.Bot { return always(1) }},
	}
}

type always int32

func (b always) Name() string                               { return fmt.Sprint("always ", int32(b)) }
func (b always) Act(game.State, game.Seat, *rng.Rand) int32 { return int32(b) }

type round struct{ over bool }

func (st *round) Reset(*rng.Rand) { st.over = false }

func (st *round) Step(actions []int32, rewards []float32, _ *rng.Rand) {
	st.over = true
	for s, a := range actions {
		switch {
		case a == 1:
			rewards[s] = 2.5
		case actions[1-s] == 0:
			rewards[s] = 4
		default:
			rewards[s] = 0
		}
	}
}

func (st *round) Alive(game.Seat) bool { return !st.over }
func (st *round) Over() bool           { return st.over }

func (st *round) Legal(_ game.Seat, dst []bool) { dst[0], dst[1] = !st.over, !st.over }

func (st *round) Observe(_ game.Seat, dst []float32) { dst[0] = 1 }

func (st *round) CopyFrom(src game.State) { st.over = src.(*round).over }

func (st *round) AppendText(b []byte) ([]byte, error) { return fmt.Appendf(b, "over %v", st.over), nil }

// train runs a spec and returns what its first agent gets in five episodes with one
// who hunts stags and with one who hunts hares, on average, taking its likeliest actions.
func train(t *testing.T, text string) float64 {
	t.Helper()
	reg := registry.New()
	reg.Games = maps.Clone(reg.Games)
	reg.Games["hunt"] = spec.AddGame("a stag or a safe hare", func() struct{} { return struct{}{} },
		func(struct{}) (hunt, error) { return hunt{}, nil })
	s, err := reg.Parse([]byte(text), "test.yaml", "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	yaml, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	run, err := runlog.Create(dir, yaml, runlog.Info{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	loop, err := s.Build(1, spec.Machine{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := loop.Run(context.Background(), run, nil); err != nil {
		t.Fatal(err)
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	agents, err := reg.LoadAgents(dir)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.
	for _, bot := range []string{"stag", "hare"} {
		lived, err := eval.Adaptation{
			Game: agents.Game, Team: []eval.Member{agents.Greedy[0], eval.Bot(agents.Game, bot)}, Lives: 4,
			Episodes: slices.Repeat([]int{5}, 4), Key: rng.New(1),
		}.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, episode := range lived.Curve {
			sum += episode.Mean() / 2
		}
	}
	return sum
}

// Half of the co-players hunt stags and half hares. A hunter who lives one episode takes
// the hare, 2.5 against 2, and five times that is all that one without a memory can
// get: 12.5. Over a trial of five it pays to try the stag once, for half a unit, and to
// know then: 2 + 4 (4 + 2.5) / 2 = 15, and no policy gets more. To find that out, what
// the next episodes are worth must reach past the end of the first.
func TestTrialsTeachToExploreOnceThenExploit(t *testing.T) {
	const plain = `
game: {name: hunt}
actor: {hidden: [16]}
ppo: {gamma: 1, lambda: 1, lr: 0.005, minibatch: 640, reward_scale: 0.4, entropy: 0.02, entropy_end: 0, seq_len: 20}
train: {brains: [0, 0], envs: 64, window: 20, steps: 40000, standins: {teams: 1, who: [stag, hare]}}
`
	if got := train(t, plain); got > 12.5 {
		t.Errorf("PPO without a memory gets %.2f in five episodes, and 12.5 is the most that there is for it", got)
	}
	if got := train(t, strings.Replace(plain, "hidden: [16]}", "hidden: [16], lstm: 16}\nmind: rl2\nrl2: {episodes: 5}", 1)); got != 15 {
		t.Errorf("RL^2 gets %.2f in five episodes, want 15: explore once, then exploit", got)
	}
}
