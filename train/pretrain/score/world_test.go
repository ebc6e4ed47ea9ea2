package score

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/coin"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/train/pretrain"
)

// A board of 1x5 with two agents and one kind of prey: agent 0 on cell 0, agent 1
// on cell 2 with the prey, which it catches. What is said of it differs from case
// to case.
func TestEveryKindOfFaultIsNamed(t *testing.T) {
	in := world.Input{Height: 1, Width: 5, Planes: 3, Agents: 2, Actions: 7, Horizon: 9, Legal: 7, Time: 1, Last: 2, Rewards: []float32{0, 1},
		Features: 3, Values: []float32{0, 1}, Zeroes: []int{2}}
	m, p, err := world.New(world.Default(), in, rng.New(1))
	must(t, err)
	at := func(cell, plane int) int { return cell*3 + plane }
	set := func(ones ...int) []float32 {
		x := make([]float32, 15)
		for _, i := range ones {
			x[i] = 1
		}
		return x
	}
	before := set(at(0, 0), at(2, 1), at(2, 2), at(4, 2))
	after := set(at(1, 0), at(4, 2))
	type says struct {
		planes []float32
		raw    []float32
		reward [2]float32
		end    [2]bool
		over   bool
		mask   bool
		gone   bool // the last feature is 0, which is still 1
	}
	right := says{after, after, [2]float32{0, 1}, [2]bool{false, true}, false, true, false}
	for _, c := range []struct {
		name   string
		left   bool // agent 1 had left before
		change func(*says)
		kinds  []string
	}{
		{"right", false, func(*says) {}, nil},
		{"two cells at once", false, func(x *says) { x.planes = set(at(2, 0), at(4, 2)) }, []string{kindTeleport}},
		{"agent gone", false, func(x *says) { x.planes = set(at(4, 2)); x.end[0] = true }, []string{kindVanish, "wrong_end"}},
		{"prey gone", false, func(x *says) { x.planes = set(at(1, 0)) }, []string{kindVanish}},
		{"prey out of nothing", false, func(x *says) { x.planes = set(at(1, 0), at(4, 2), at(3, 2)) }, []string{kindDuplicate}},
		{"in two places", false, func(x *says) {
			x.raw = slices.Clone(after)
			x.raw[at(1, 0)], x.raw[at(0, 0)] = .6, .4
		}, []string{kindDuplicate}},
		{"back", true, func(x *says) { x.planes = set(at(1, 0), at(4, 2), at(3, 1)) }, []string{kindRevive}},
		{"paid for nothing", false, func(x *says) { x.reward[0] = 0.042 }, []string{kindPaid}},
		{"not paid", false, func(x *says) { x.reward[1] = 0 }, []string{"wrong_reward"}},
		{"hunter stays", false, func(x *says) { x.planes = set(at(1, 0), at(4, 2), at(2, 1)) }, []string{"lingers"}},
		{"prey stays", false, func(x *says) { x.planes = set(at(1, 0), at(4, 2), at(2, 2)) }, []string{"lingers"}},
		{"did not move", false, func(x *says) { x.planes = set(at(0, 0), at(4, 2)) }, []string{"wrong_cell"}},
		{"over", false, func(x *says) { x.over = true }, []string{"wrong_over"}},
		{"mask", false, func(x *says) { x.mask = false }, []string{"wrong_mask"}},
		{"feature", false, func(x *says) { x.gone = true }, []string{"wrong_feature"}},
	} {
		x := right
		c.change(&x)
		j := newWorldScorer(m, p, []string{"self", "other1", "hare"}, []string{"up", "down", "left", "right", "stay", "hunt stag", "hunt hare"})
		truth := newWorldTruth(in, 1)
		copy(truth.batch.Reward, []float32{0, 1})
		copy(truth.joint, []int32{3, 6})
		was := before
		if c.left {
			was = slices.Clone(before)
			was[at(2, 1)], was[at(2, 2)] = 0, 0
			truth.joint[1], truth.batch.Reward[1], x.reward[1] = -1, 0, 0
		}
		j.next.Over[0] = x.over
		j.next.Legal[0][0] = !x.mask
		truth.batch.NextFeat[2] = 1
		if !x.gone {
			j.next.Obs[0][len(after)+2] = 1
		}
		for a := range 2 {
			j.next.Reward[a][0], j.next.Mean[a][0], j.next.End[a][0] = x.reward[a], x.reward[a], x.end[a]
		}
		j.row(0, truth, was, after, x.planes, x.raw)
		s := j.finish()
		var got []string
		for _, m := range []map[string]int{s.Kinds, s.Wrong} {
			for k, n := range m {
				if n > 0 {
					got = append(got, k)
				}
			}
		}
		slices.Sort(got)
		slices.Sort(c.kinds)
		if !slices.Equal(got, c.kinds) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.kinds)
		}
		if exact := 1.; len(c.kinds) > 0 && s.Exact != 0 || len(c.kinds) == 0 && s.Exact != exact {
			t.Errorf("%s: exact is %v", c.name, s.Exact)
		}
		e := s.Events["hare_by_1"]
		if catch := slices.Contains([]string{"not paid", "hunter stays", "prey stays"}, c.name); !c.left && (e.N != 1 || e.Right == 1 == catch) {
			t.Errorf("%s: the catch was seen %d times and foreseen %d times", c.name, e.N, e.Right)
		}
	}
}

func TestNumbersFollowTheirFormulas(t *testing.T) {
	in := world.Input{Height: 1, Width: 2, Planes: 2, Agents: 1, Actions: 7, Horizon: 9, Legal: 7, Rewards: []float32{0, 1}}
	m, p, err := world.New(world.Default(), in, rng.New(1))
	must(t, err)
	j := newWorldScorer(m, p, []string{"self", "hare"}, make([]string, 7))
	truth := newWorldTruth(in, 1)
	truth.joint[0], truth.batch.Reward[0] = 4, 1
	j.next.Mean[0][0], j.next.Reward[0][0] = 0.9, 1
	state := []float32{1, 0, 0, 1}
	for range 2 {
		j.row(0, truth, state, state, state, []float32{0.9, 0, 0.1, 0.7})
	}
	s := j.finish()
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"obs mse", s.MSE, (.01 + .01 + .09) / 4}, {"psnr", s.PSNR, -10 * math.Log10(.11/4)}, {"channel self", s.Channels["self"], .01},
		{"channel hare", s.Channels["hare"], .045}, {"reward mse", s.RewardMSE, .01}, {"reward gap", s.RewardECE, .1},
	} {
		if math.Abs(c.got-c.want) > 1e-6 {
			t.Errorf("%s: got %v, want %v", c.name, c.got, c.want)
		}
	}
}

// Each planted fault breaks the events it must and the card says which; without
// a fault none breaks. Thresholds are far from what was seen: 3x3, 8,000 rows.
func TestPlantedFaultsAreNamedByTheirEvents(t *testing.T) {
	hunted, g := hunts(t, 3, 12, 4000, 0)
	random, _ := hunts(t, 3, 12, 4000, 1, "random", "random", "random", "random")
	for _, c := range []struct {
		fault         string
		broken, whole []string
	}{
		{world.NoFault, nil, []string{"hare_by_1", "stag_by_2", "failed_hunt_stag", "moves", "all_gone", "time_up"}},
		{world.SeatOrder, []string{"moves", "hare_by_1"}, nil},
		{world.NoEnd, []string{"hare_by_1", "stag_by_2", "all_gone", "time_up"}, []string{"moves", "stays"}},
		{world.MeanPool, []string{"moves", "stag_by_2"}, nil},
	} {
		t.Run(c.fault, func(t *testing.T) {
			cfg := pretrain.DefaultWorld()
			cfg.Epochs, cfg.Batch, cfg.LR, cfg.Model.Hidden, cfg.Model.Dense, cfg.Model.Fault = 3, 128, 5e-3, []int{32}, []int{64}, c.fault
			w, err := pretrain.NewWorld(cfg, []*dataset.Data{hunted, random}, 1)
			if err == nil {
				err = w.Run(context.Background(), folder(t), nil)
			}
			must(t, err)
			probe := ProbeWorld(w.Model, w.Net, g, 4000, rng.New(5))
			card, err := WorldCard(w.Model, "test", WorldScores{
				Held: World(w), Probe: probe, OpenLoop: OpenLoop(w.Model, w.Net, g, 50, 10, rng.New(6)), Planes: g.Spec().Obs.Planes,
			})
			must(t, err)
			text := card.Markdown()
			for _, e := range c.broken {
				if a := probe.Events[e].Accuracy; a > 0.95 {
					t.Errorf("%s is foreseen in %.1f %% of cases, want it broken", e, 100*a)
				}
				if !strings.Contains(text, e+" (") {
					t.Errorf("the card does not name %s:\n%s", e, text)
				}
			}
			for _, e := range c.whole {
				if a := probe.Events[e].Accuracy; a < 0.97 {
					t.Errorf("%s is foreseen in %.1f %% of %d cases, want it whole", e, 100*a, probe.Events[e].N)
				}
			}
		})
	}
}

// New coins appear where chance puts them: the card must not claim that the rules
// are deterministic, and steps that nobody can foresee are not held against the
// model. The stag hunt's rules draw nothing.
func TestOnlyDeterministicRulesAreCalledSo(t *testing.T) {
	_, hunt := hunts(t, 3, 12, 100, 0)
	for _, g := range []game.Game{hunt, gametest.New(t, coin.New, coin.Default())} {
		spec := g.Spec()
		l := spec.Obs
		in := world.Input{Height: l.Height, Width: l.Width, Planes: len(l.Planes), Agents: spec.Seats, Actions: len(spec.Actions),
			Horizon: spec.Horizon, Legal: l.Legal, Time: l.Time, Last: l.Last, Rewards: []float32{0, 1}}
		cfg := world.Default()
		cfg.Hidden = []int{8}
		m, p, err := world.New(cfg, in, rng.New(1))
		must(t, err)
		probe := ProbeWorld(m, p, g, 1000, rng.New(2))
		k, err := WorldCard(m, spec.Name, WorldScores{Held: probe, Probe: probe, OpenLoop: make([]float64, 10), Planes: l.Planes})
		must(t, err)
		if says := strings.Contains(k.Markdown(), "The rules are deterministic"); says != spec.Deterministic {
			t.Errorf("%s: deterministic %v, the card says so: %v", spec.Name, spec.Deterministic, says)
		}
		if chance := 1000 - probe.Rows; spec.Deterministic != (chance == 0) || chance > 500 {
			t.Errorf("%s: chance decides %d of 1000 rows", spec.Name, chance)
		}
	}
}
