package dataset_test

import (
	"fmt"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/gametest"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/store/runlog"
)

// toy is a game with planes and features, seats that leave, rules that draw,
// goals that may be reached more than once, and a limit from outside.
type toy struct {
	features, lies bool // lies: an observation that does not follow the layout
	horizon        int
}

const toySeats, toyActions = 3, 4

func (g toy) Spec() game.Spec {
	s := game.Spec{
		Name: "toy", Seats: toySeats, Horizon: g.horizon,
		Actions: []string{"wait", "leave", "score", "odd"}, Goals: []string{"left", "scored"},
		Obs: game.Layout{Height: 2, Width: 3, Planes: []string{"a", "b"}, Features: 2, Legal: toyActions, Time: 1, Last: toySeats},
	}
	if g.features {
		s.Obs = game.Layout{Features: 2}
	}
	return s
}

func (g toy) New() game.State { return &toyState{g: g} }

func (g toy) Bots() []game.BotInfo { return []game.BotInfo{game.RandomBot(toyActions)} }

type toyState struct {
	g     toy
	t     int
	board uint64
	heat  float32
	gone  [toySeats]bool
	last  [toySeats]int8
	goal  [toySeats]int
}

func (st *toyState) Reset(r *rng.Rand) {
	*st = toyState{g: st.g, board: r.Uint64(), heat: r.Float32(), last: [toySeats]int8{-1, -1, -1}, goal: [toySeats]int{-1, -1, -1}}
}

func (st *toyState) Step(actions []int32, rewards []float32, r *rng.Rand) {
	st.t++
	st.board, st.heat = r.Uint64(), r.Float32()
	for s, a := range actions {
		rewards[s], st.goal[s], st.last[s] = 0, game.NoGoal, int8(a)
		switch a {
		case 1:
			st.gone[s], st.goal[s] = true, 0
			rewards[s] = 1 / (1 + st.heat)
		case 2:
			rewards[s] = -0.25
			if st.board&1 != 0 {
				st.goal[s] = 1
			}
		}
	}
}

func (st *toyState) left() bool { return st.gone == [toySeats]bool{true, true, true} }

func (st *toyState) Over() bool { return st.t >= st.g.horizon || st.left() }

func (st *toyState) Cut() bool { return st.t >= st.g.horizon && !st.left() }

func (st *toyState) Alive(s game.Seat) bool { return !st.gone[s] && !st.Over() }

func (st *toyState) Legal(s game.Seat, dst []bool) {
	ok := st.Alive(s)
	dst[0], dst[1], dst[2], dst[3] = ok, ok && st.t > 0, ok, ok && st.t%2 == 1
}

func (st *toyState) Observe(s game.Seat, dst []float32) {
	clear(dst)
	l := st.g.Spec().Obs
	for i := range l.PlanesLen() {
		dst[i] = float32(st.board >> (i + 7*int(s)) & 1)
	}
	dst[l.FeaturesAt()], dst[l.FeaturesAt()+1] = st.heat, -float32(s)
	if l.Legal > 0 {
		var legal [toyActions]bool
		st.Legal(s, legal[:])
		l.Tail(dst, s, legal[:], st.t, st.g.horizon, st.last[:])
	}
	if st.g.lies && st.t == 2 {
		dst[0] = 0.5
	}
}

func (st *toyState) Reached(s game.Seat) int { return st.goal[s] }

func (st *toyState) CopyFrom(src game.State) { *st = *src.(*toyState) }

func (st *toyState) AppendText(b []byte) ([]byte, error) { return fmt.Appendf(b, "%+v", *st), nil }

func stagHunt(t testing.TB, change func(*staghunt.Config)) (game.Game, map[string]any) {
	t.Helper()
	c := staghunt.Default()
	if change != nil {
		change(&c)
	}
	g := gametest.New(t, staghunt.New, c)
	return g, map[string]any{"name": "staghunt", "size": c.Size, "stags": c.Stags, "horizon": c.Horizon, "stag_pays": c.StagPays}
}

// hunts is a small dataset of stag hunt in several shards.
func hunts(t testing.TB) dataset.Config {
	g, spec := stagHunt(t, nil)
	return dataset.Config{
		Game: g, GameSpec: spec, Mix: []string{"ns", "nh"}, Rows: 900, Seed: 7, Dir: t.TempDir(), ShardRows: 250, Workers: 2,
		Build: runlog.Build{Version: "test", Commit: "abc"},
	}
}

// hunted is that dataset, collected.
func hunted(t testing.TB) *dataset.Data {
	cfg := hunts(t)
	collect(t, cfg)
	return open(t, cfg.Dir)
}

func toys(t testing.TB) dataset.Config {
	return dataset.Config{
		Game: toy{horizon: 5}, GameSpec: map[string]any{"name": "toy", "rules": map[string]any{"heat": 1.5}},
		Team: []string{"random", "random", "random"}, Rows: 400, Seed: 3, Dir: t.TempDir(), ShardRows: 100, Workers: 2,
	}
}
