package films

import (
	"bytes"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/lab/play"
	"github.com/hop-marl/hop/lab/report"
	"github.com/hop-marl/hop/train/eval"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec/spectest"
)

func TestTapesHoldWholeEpisodes(t *testing.T) {
	spec, err := registry.New().NewGame("staghunt")
	if err != nil {
		t.Fatal(err)
	}
	g, err := spec.Build()
	if err != nil {
		t.Fatal(err)
	}
	var team []eval.Member
	for range g.Spec().Seats {
		team = append(team, eval.Bot(g, "nh")) // hunters that leave at different times
	}
	tapes, err := record(t.Context(), g, team, 3, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	if len(tapes) != sample {
		t.Errorf("%d episodes, want %d", len(tapes), sample)
	}
	for i, tape := range tapes {
		if len(tape.states) != len(tape.actions)+1 || !tape.states[len(tape.states)-1].Over() {
			t.Fatalf("episode %d: %d states for %d steps, the last over: %v", i, len(tape.states), len(tape.actions),
				tape.states[len(tape.states)-1].Over())
		}
		for s := range team {
			sum := 0.
			for k, rewards := range tape.rewards {
				sum += float64(rewards[s])
				if alive := tape.states[k].Alive(game.Seat(s)); alive == (tape.actions[k][s] == game.NoAction) {
					t.Fatalf("episode %d step %d: seat %d alive %v plays %d", i, k, s, alive, tape.actions[k][s])
				}
			}
			if math.Abs(sum-tape.returns[s]) > 1e-6 {
				t.Errorf("episode %d: rewards of seat %d sum to %v, want %v", i, s, sum, tape.returns[s])
			}
		}
	}
	var b bytes.Buffer
	if err := play.GIF(&b, tapes[0].frames(g, "first", team)); err != nil || b.Len() < 1000 {
		t.Errorf("GIF of %d bytes, %v", b.Len(), err)
	}
}

// A film is drawn of each outcome that differs, and no more.
func TestFilmsAreOfOutcomesThatDiffer(t *testing.T) {
	for _, c := range []struct {
		means []float64
		want  string
	}{
		{[]float64{1, 2, 3}, "median best worst"}, {[]float64{2.5, 3, 3}, "median worst"}, {[]float64{3, 3, 3 + 1e-12}, "median"},
		{[]float64{1, 1, 1, 2}, "median best"},
	} {
		var tapes []*tape
		for _, m := range c.means {
			tapes = append(tapes, &tape{mean: m})
		}
		var got []string
		for _, p := range picks(tapes) {
			got = append(got, p.name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("of %v films are drawn of %q, want %q", c.means, got, c.want)
		}
	}
}

// TestFilmsOnAnyCores: the same episodes, drawn the same, on one core and on three.
func TestFilmsOnAnyCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	dir := spectest.Play(t, spectest.With(t, spectest.Planner, "train.steps=300", "train.warm.windows=1"), 1, 1).Dir
	var first report.Options
	for _, cores := range []int{1, 3} {
		runtime.GOMAXPROCS(cores)
		var said []int
		o, err := Play(t.Context(), registry.New(), dir, func(done, _ int) { said = append(said, done) })
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSorted(said) {
			t.Errorf("%d cores: the count says %v", cores, said)
		}
		if cores == 1 {
			first = o
		}
		if len(o.Episodes) < 2 || !reflect.DeepEqual(o, first) {
			t.Errorf("%d cores: %d films are not those of one core", cores, len(o.Episodes))
		}
	}
}
