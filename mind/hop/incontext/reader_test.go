package incontext_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"testing"

	"hop/agent"
	"hop/dataset"
	"hop/frame"
	"hop/game"
	"hop/game/gametest"
	"hop/game/staghunt"
	"hop/mind/hop/incontext"
	"hop/mind/hop/sight"
	"hop/model/moa"
	"hop/model/sequence"
	"hop/nn"
	"hop/pretrain"
	"hop/rng"
	"hop/rollout"
	"hop/safetensors"
)

// life is how many episodes the test's lives have.
const life = 4

var who = []string{"ns", "nh", "random"}

// hunt is a stag hunt for 4 and a sequence model of its bots whose kind head speaks up.
func hunt(t *testing.T, history string) (game.Game, *sequence.Model, *nn.Params) {
	t.Helper()
	c := staghunt.Default()
	c.Size, c.Stags, c.Horizon = 4, 2, 12
	g := gametest.New(t, staghunt.New, c)
	spec := g.Spec()
	in := sequence.Input{Input: moa.NewInput(frame.Layout(spec.Obs), spec.Seats, spec.Actions, 0), Goals: spec.Goals, Kinds: who}
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
	return g, m, p
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// observer is a bot that reads its co-players, and notes what it believes at every step of
// the first life of a lane: by co-player and a hash of all that the latter saw in the life.
type observer struct {
	rollout.Player
	*incontext.Worker
	others []agent.ID
	noted  map[string][]float64
	open   map[[2]int]*lived
}

type lived struct {
	seen   []byte
	belief []float64
}

func (p *observer) Act(v *rollout.View, envs []int32) {
	p.Observe(v, envs)
	for _, e := range envs {
		n := int(e)
		for j, a := range p.others {
			slot := v.Slot(a, v.T, n)
			if !v.Alive[slot] || v.EpisodeOf(n) >= life {
				continue
			}
			l := p.open[[2]int{n, j}]
			if l == nil {
				l = &lived{}
				p.open[[2]int{n, j}] = l
			}
			l.seen = fmt.Append(l.seen, v.ObsAt(slot))
			b := make([]float64, len(who))
			p.Posterior(b, n, j)
			l.belief = append(l.belief, b...)
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
// reads of the same lives when they are recorded and it learns from them: what it says of
// every co-player at every step is the same, number by number.
func TestPlayReadsWhatIsLearntFrom(t *testing.T) {
	for _, history := range []string{"attention", "gru"} {
		g, m, params := hunt(t, history)
		r, err := incontext.New(m, params, sight.Sight{Spec: g.Spec(), Me: 0}, []agent.ID{1, 2, 3}, who, -1)
		must(t, err)
		r.Within, r.Across = true, true
		team := []string{"random", "ns", "nh", "random"}
		var p *observer
		players := func(workers, lanes int) ([][]rollout.Player, error) {
			r.Remember(lanes)
			var list []rollout.Player
			for _, name := range team {
				bot, err := rollout.NewBots(g, name, lanes)
				if err != nil {
					return nil, err
				}
				list = append(list, bot)
			}
			p = &observer{list[0], r.Worker(lanes, 1), []agent.ID{1, 2, 3}, map[string][]float64{}, map[[2]int]*lived{}}
			list[0] = p
			return [][]rollout.Player{list}, nil
		}
		cfg := dataset.Config{Game: g, GameSpec: map[string]any{"name": "staghunt"}, Team: team, Players: players, Life: life,
			Rows: 4000, Seed: 7, Dir: t.TempDir(), Workers: 1}
		_, err = dataset.Collect(context.Background(), cfg)
		must(t, err)
		f, b, c := &safetensors.File{}, make([]float64, len(who)), make([]float64, len(who))
		r.Save(f, "x/")
		again, err := incontext.New(m, params, sight.Sight{Spec: g.Spec(), Me: 0}, []agent.ID{1, 2, 3}, who, -1)
		must(t, err)
		again.Remember(32)
		must(t, again.Load(f, "x/"))
		for n := range 32 {
			r.Posterior(b, n, n%3)
			if again.Posterior(c, n, n%3); !slices.Equal(b, c) || !slices.Equal(r.At(n, n%3), again.At(n, n%3)) {
				t.Fatalf("%s: %v is believed in env %d, once it is saved and loaded %v", history, b, n, c)
			}
		}
		for at, l := range p.open {
			p.noted[key(p.others[at[1]], l.seen)] = l.belief
		}
		d, err := dataset.Open(cfg.Dir)
		must(t, err)
		h := pretrain.NewHistories(d, m, func(int) bool { return true })
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
				continue // a later life of its lane
			}
			held++
			m.Work().Each(params, h.Lives, h.All[i:i+1], func(row int, by sequence.Predicted) {
				at := (row - int(rows.Lo)) * len(who)
				for k, x := range by.Kind {
					if math.Abs(float64(x)-want[at+k]) > 1e-4 {
						t.Fatalf("%s: at step %d of a life the kinds are %v, in play they were %v", history, row-int(rows.Lo), by.Kind, want[at:at+3])
					}
				}
			})
		}
		if held < 60 {
			t.Errorf("%s: %d histories were compared: too few", history, held)
		}
	}
}
