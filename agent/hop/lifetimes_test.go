package hop

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/model/sequence"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/train/pretrain"
)

// lifetime is how many episodes the test's lifetimes have.
const lifetime = 4

var bots = []string{"ns", "nh", "random"}

// reads returns what agent 0 of a stag hunt for 4 has read of its co-players by a sequence
// model whose head of types speaks up.
func reads(t *testing.T, history string) (game.Game, *contexts) {
	t.Helper()
	c := staghunt.Default()
	c.Size, c.Stags, c.Horizon = 4, 2, 12
	g := gametest.New(t, staghunt.New, c)
	spec := g.Spec()
	in := sequence.Input{Input: moaInput(spec), Goals: spec.Goals, Kinds: bots}
	cfg := sequence.Default()
	cfg.History, cfg.Width, cfg.Heads, cfg.Up, cfg.Layers, cfg.Window, cfg.Head.Hidden = history, 8, 2, 8, 2, 9, []int{8, 8}
	m, p, err := sequence.New(cfg, in, rng.New(3))
	must(t, err)
	part, ok := p.Find("kind/w")
	if !ok {
		t.Fatal("there is no kind head")
	}
	w, _ := p.At(part.Span)
	for i := range w {
		w[i] *= 200
	}
	return g, &contexts{
		model: m, params: p, sees: newVisible(spec, 0), within: true, across: true, odds: 1, types: m.Given(), random: m.KindOf(sequence.Random),
		life: new(int),
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// lifelong is a bot that reads its co-players, and notes what it believes at every step of
// the first lifetime of a lane: by co-player and a hash of all that the latter saw in it.
type lifelong struct {
	rollout.Player
	f     *contextInference
	noted map[string][]float64
	open  map[[2]int]*lived
}

type lived struct {
	seen   []byte
	belief []float64
}

func (p *lifelong) Act(v *rollout.View, envs []int32) {
	p.f.Infer(v, envs)
	w := p.f.w
	for _, e := range envs {
		n := int(e)
		for j, a := range w.sees.others {
			slot := v.Slot(a, v.T, n)
			if !v.Alive[slot] || v.EpisodeOf(n) >= lifetime {
				continue
			}
			l := p.open[[2]int{n, j}]
			if l == nil {
				l = &lived{}
				p.open[[2]int{n, j}] = l
			}
			l.seen = fmt.Append(l.seen, v.ObsAt(slot))
			l.belief = append(l.belief, w.x.Belief[w.sees.at(n, j)*len(bots):][:len(bots)]...)
		}
	}
	p.Player.Act(v, envs)
}

func key(a agent.ID, seen []byte) string {
	h := fnv.New64a()
	h.Write(seen)
	return fmt.Sprint(a, " ", h.Sum64())
}

// What is read while playing, one token a decision, from window to window, is what the model
// reads of the same lifetimes when they are recorded and it learns from them: what it says of
// every co-player at every step is the same, number by number.
func TestPlayReadsWhatIsLearntFrom(t *testing.T) {
	for _, history := range []string{"attention", "gru"} {
		g, r := reads(t, history)
		team := []string{"random", "ns", "nh", "random"}
		var p *lifelong
		players := func(workers, lanes int) ([][]rollout.Player, error) {
			r.Remember(&Inferred{}, lanes)
			var list []rollout.Player
			for _, name := range team {
				bot, err := rollout.NewBots(g, name, lanes)
				if err != nil {
					return nil, err
				}
				list = append(list, bot)
			}
			p = &lifelong{list[0], r.Inference(lanes).(*contextInference), map[string][]float64{}, map[[2]int]*lived{}}
			list[0] = p
			return [][]rollout.Player{list}, nil
		}
		cfg := dataset.Config{Game: g, GameSpec: map[string]any{"name": "staghunt"}, Team: team, Players: players, Life: lifetime,
			Rows: 4000, Seed: 7, Dir: t.TempDir(), Workers: 1}
		_, err := dataset.Collect(context.Background(), cfg)
		must(t, err)
		f, again := &safetensors.File{}, r.Apart().(*contexts)
		r.Save(f, "x/")
		again.Remember(&Inferred{}, 32)
		must(t, again.Load(f, "x/", false))
		if !slices.Equal(r.x.Belief, again.x.Belief) || !slices.Equal(r.x.Mean, again.x.Mean) {
			t.Fatalf("%s: what is believed and what was read differ once it is saved and loaded", history)
		}
		for at, l := range p.open {
			p.noted[key(r.sees.others[at[1]], l.seen)] = l.belief
		}
		d, err := dataset.Open(cfg.Dir)
		must(t, err)
		h := pretrain.NewHistories(d, r.model, func(int) bool { return true })
		obs, held := make([]float32, d.ObsLen()), 0
		for i := range h.All {
			rows := h.Rows.Seqs[i]
			if h.By[rows.Lo] != 0 {
				continue
			}
			var seen []byte
			for row := rows.Lo; row < rows.Hi; row++ {
				d.Observation(int(h.Source[row]), obs)
				seen = fmt.Append(seen, obs)
			}
			want := p.noted[key(agent.ID(d.Agent[h.Source[rows.Lo]]), seen)]
			if want == nil {
				continue // a later lifetime of its lane
			}
			held++
			r.model.Work().Each(r.params, h.Lives, h.All[i:i+1], func(row int, by sequence.Predicted) {
				at := (row - int(rows.Lo)) * len(bots)
				for k, x := range by.Kind {
					if math.Abs(float64(x)-want[at+k]) > 1e-4 {
						t.Fatalf("%s: at step %d of a lifetime the types are %v, in play they were %v", history, row-int(rows.Lo), by.Kind, want[at:at+3])
					}
				}
			})
		}
		if held < 60 {
			t.Errorf("%s: %d histories were compared: too few", history, held)
		}
	}
}
