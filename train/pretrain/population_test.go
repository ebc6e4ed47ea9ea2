package pretrain_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/matrix"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/model/cvae"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/train/pretrain"
)

// recorded records the population of a response network, as hop collect --population does.
func recorded(t *testing.T, g game.Game, name, dir string, workers int) *dataset.Data {
	t.Helper()
	m, p, in, err := pretrain.LoadResponse(nil, dir)
	must(t, err)
	all := pretrain.NewPopulation(m, p, in)
	cfg := dataset.Config{
		Game: g, GameSpec: map[string]any{"name": name}, Rows: 3000, Seed: 7, Dir: t.TempDir(), Workers: workers,
		Population: all.Kinds, Given: all.Given, Kinds: all.Dealt,
		Players: func(workers, lanes int) ([][]rollout.Player, error) {
			return all.Players(g, workers, lanes, nil, rng.New(7).Child("population"))
		},
	}
	_, err = dataset.Collect(context.Background(), cfg)
	must(t, err)
	d, err := dataset.Open(cfg.Dir)
	must(t, err)
	return d
}

// A population is recorded as it was dealt: whoever is said to be rock plays rock. The
// first agent is always the network, whether it met copies of itself or not.
func TestAPopulationIsRecordedAsItWasDealt(t *testing.T) {
	g := gametest.New(t, matrix.New, matrix.Config{Matrix: "rps", Rounds: 3})
	for _, who := range [][]string{{"rock", pretrain.Self, "scissors"}, {"rock", "scissors"}} {
		c := pretrain.DefaultResponse().For(g)
		c.Who, c.Net.Frame, c.Net.Hidden, c.Envs, c.Window, c.Steps = who, "board", []int{8}, 8, 8, 200
		_, dir := learnResponse(t, c, g, 1, 0)
		d := recorded(t, g, "matrix", dir, 3)
		all := who
		if !slices.Contains(who, pretrain.Self) {
			all = append(slices.Clone(who), pretrain.Self)
		}
		if !slices.Equal(d.Bots, all) {
			t.Fatalf("rows are said to be of %v, want %v", d.Bots, all)
		}
		seen := [2]map[string]int{{}, {}}
		actions, other := map[string]bool{}, 0
		for i := range d.Len() {
			kind, action := d.Bots[d.Bot[i]], d.Layout.Actions[d.Action[i]]
			seen[d.Agent[i]][kind]++
			if kind == pretrain.Self {
				actions[action] = true
			} else if kind != action {
				other++
			}
		}
		if other > 0 || len(actions) < 2 {
			t.Errorf("%v: %d rows are of another action than their bot's; the network plays %v", who, other, actions)
		}
		if len(seen[0]) != 1 || seen[0][pretrain.Self] == 0 || len(seen[1]) != len(who) {
			t.Errorf("%v: agent 0 is %v, agent 1 %v", who, seen[0], seen[1])
		}
		one := recorded(t, g, "matrix", dir, 1)
		if !slices.Equal(one.Bot, d.Bot) || !slices.Equal(one.Action, d.Action) {
			t.Errorf("%v: one worker records something else than three", who)
		}
	}
}

// inferring returns an inference of goals that is sure of what it says.
func inferring(t *testing.T, d *dataset.Data) *pretrain.Inferring {
	t.Helper()
	in := cvae.Input{Input: frame.Layout(d.Layout.Obs()).Input(), Seats: d.Layout.Seats, Actions: len(d.Layout.Actions)}
	m, p, err := cvae.New(cvae.Config{Dim: 3, Frame: frame.Egof, Feature: 4, GRU: 5, Hidden: []int{6}}, in, rng.New(2))
	must(t, err)
	for name, x := range map[string]float32{"logvar/w": 0, "logvar/b": -60} {
		part, ok := p.Find(name)
		if !ok {
			t.Fatalf("there is no %s", name)
		}
		for i := range part.Len {
			p.W[part.Off+i] = x
		}
	}
	return &pretrain.Inferring{Model: m, Params: p}
}

// team records bots of which one, who is not the last, acts at random.
func team(t *testing.T) *dataset.Data {
	t.Helper()
	c := staghunt.Default()
	c.Size, c.Horizon = 3, 8
	g := gametest.New(t, staghunt.New, c)
	cfg := dataset.Config{Game: g, GameSpec: map[string]any{"name": "staghunt"}, Team: []string{"ns", "random", "nh", "ns"}, Rows: 1200,
		Seed: 7, Dir: t.TempDir()}
	_, err := dataset.Collect(context.Background(), cfg)
	must(t, err)
	d, err := dataset.Open(cfg.Dir)
	must(t, err)
	return d
}

func newKindMOA(t *testing.T, d *dataset.Data, infer *pretrain.Inferring) *pretrain.MOA {
	t.Helper()
	c := pretrain.DefaultMOA().For(d.Layout)
	c.Model.Hidden, c.Epochs, c.Learning.Batch, c.Condition = []int{16, 16}, 3, 32, "kind"
	m, err := pretrain.NewMOA(c, d, infer, 1)
	must(t, err)
	return m
}

// A model of others with kinds is given, at every step, the goal that is inferred from
// the agent's steps up to it, then the agent's kind; whoever acts at random is left out.
func TestModelsOfOthersAreGivenInferredGoalsAndKinds(t *testing.T) {
	d := team(t)
	infer := inferring(t, d)
	m := newKindMOA(t, d, infer)
	if want := []string{"ns", "nh"}; !slices.Equal(m.Kinds, want) {
		t.Fatalf("kinds are %v, want %v", m.Kinds, want)
	}
	model, width, row, random := infer.Model, 3+2, 0, 0
	ws, mem, obs, last := model.Work(1), model.Memory(1), make([]float32, d.ObsLen()), make([]int32, model.Seats)
	for _, s := range d.Sequences {
		bot := d.Bots[d.Bot[s.Lo]]
		if bot == "random" {
			random++
			continue
		}
		mem.Forget(model, 0)
		for i := s.Lo; i < s.Hi; i, row = i+1, row+1 {
			d.Observation(i, obs)
			for k := range last {
				last[k] = int32(d.Last[i*model.Seats+k])
			}
			ws.Reset()
			ws.Add(obs, last)
			ws.Infer(infer.Params, mem, []int{0})
			want := append(slices.Clone(ws.Mu[:3]), 0, 0)
			want[3+slices.Index(m.Kinds, bot)] = 1
			for k, x := range m.Rows.Goals[row*width : (row+1)*width] {
				if math.Abs(float64(x-want[k])) > 1e-5 {
					t.Fatalf("step %d of a %s: the model is given %v, want %v", i-s.Lo, bot, m.Rows.Goals[row*width:(row+1)*width], want)
				}
			}
		}
	}
	if row != m.Rows.Len() || random != m.Aimless || row < 300 || random < 20 {
		t.Errorf("%d of %d rows are right, %d agents acted at random and %d were left out", row, m.Rows.Len(), random, m.Aimless)
	}
	noisy := &pretrain.Inferring{Model: model, Params: infer.Params.Clone()}
	part, _ := noisy.Params.Find("logvar/b")
	for i := range part.Len {
		noisy.Params.W[part.Off+i] = 2 * float32(math.Log(0.5))
	}
	sum, square, other := 0., 0., newKindMOA(t, d, noisy)
	for i, x := range other.Rows.Goals {
		if i%width < 3 {
			off := float64(x - m.Rows.Goals[i])
			sum, square = sum+off, square+off*off
		}
	}
	n := float64(3 * row) // five standard errors, wrong once in a million
	if math.Abs(sum/n) > 5*0.5/math.Sqrt(n) || math.Abs(square/n-0.25) > 5*0.25*math.Sqrt(2/n) {
		t.Errorf("draws are off by %.4f on the mean and %.4f in square, want 0 and 0.25", sum/n, square/n)
	}
}

// What does not go together is refused.
func TestModelsOfOthersWithKindsNeedAnInference(t *testing.T) {
	d := team(t)
	c := pretrain.DefaultMOA().For(d.Layout)
	c.Model.Hidden, c.Condition = []int{16, 16}, "kind"
	_, none := pretrain.NewMOA(c, d, nil, 1)
	small := inferring(t, d)
	other := *small.Model
	other.Actions++
	_, wide := pretrain.NewMOA(c, d, &pretrain.Inferring{Model: &other, Params: small.Params}, 1)
	c.Condition = "goal"
	_, useless := pretrain.NewMOA(c, d, small, 1)
	for want, err := range map[string]error{"--cvae": none, "train one on this data": wide, "--condition kind": useless} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
