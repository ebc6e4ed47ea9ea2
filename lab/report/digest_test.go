package report

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/registry"
)

// group of three seeds of 10 windows, as told.
func gathered(t *testing.T, runs ...tiny) *group {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "g")
	for i, r := range runs {
		r.seed, r.status, r.windows, r.mean = i+1, "done", 10, 2
		lay(t, filepath.Join(dir, fmt.Sprintf("seed-%d", i+1)), r)
	}
	g, err := read(registry.New(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestOrderByNumberIsFound(t *testing.T) {
	falls, rises := []float64{0.3, 0.2, 0.1, 0}, []float64{0, 0.1, 0.2, 0.3}
	second := []float64{0.1, 0.3, 0, 0.2}
	for _, c := range []struct {
		name    string
		bonus   [][]float64
		verdict string
		class   string
	}{
		{"falls in every seed", [][]float64{falls, falls, falls}, "the less an agent gets", "warn"},
		{"rises in every seed", [][]float64{rises, rises, rises}, "the more an agent gets", "warn"},
		{"agent 1 always first", [][]float64{second, second, second, second, second}, "though not in the order", "warn"},
		{"nearly falls in two seeds", [][]float64{falls, {0.2, 0.3, 0.1, 0}}, "run more seeds", "warn"},
		{"both ways", [][]float64{falls, rises, falls, rises}, "No order of the agents is shown", "good"},
		{"one seed", [][]float64{falls}, "Too few seeds", "open"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var runs []tiny
			for _, b := range c.bonus {
				runs = append(runs, tiny{bonus: b})
			}
			o := gathered(t, runs...).order()
			if !strings.Contains(o.Verdict(), c.verdict) || o.Class() != c.class {
				t.Errorf("got %q (%s), want %q (%s); %s", o.Verdict(), o.Class(), c.verdict, c.class, o.Detail())
			}
		})
	}
}

func TestUnequalUpdatesAreWarnedOf(t *testing.T) {
	g := gathered(t, tiny{}, tiny{updates: []int{10, 7, 7, 7}})
	list, warnings := g.counts()
	want := "Seed 2: agent 0 was updated 10 times, agent 1 only 7 times."
	if len(warnings) == 0 || warnings[0] != want {
		t.Errorf("got %q, want %q", warnings, want)
	}
	if len(list) != 2 || list[0].Of[1].Odd || list[1].Of[0].Odd || !list[1].Of[3].Odd {
		t.Errorf("marked wrongly: %+v", list)
	}
}

// Several shared brains write numbers under names of their own.
func TestSharedBrainsAreCounted(t *testing.T) {
	r := &run{series: map[key][]runlog.Row{}}
	for i, part := range []string{"/mind0", "/mind1"} {
		for _, name := range []string{"count/updates", "count/rows"} {
			r.names = append(r.names, name+part)
			r.series[key{name + part, -1}] = []runlog.Row{{Step: 1, Value: 1}, {Step: 2, Value: float64(2 + i)}}
		}
	}
	got := r.learners(4)
	if len(got) != 2 || got[0].Who != "shared brain 0" || got[1].Updates != 3 || got[1].Rows != 3 || !got[0].Odd {
		t.Errorf("got %+v", got)
	}
}

func TestRowsThatFollowTheAgentsNumberAreWarnedOf(t *testing.T) {
	g := gathered(t, tiny{skew: 1}, tiny{skew: 1}, tiny{skew: 1})
	_, warnings := g.counts()
	if len(warnings) != 1 || !strings.Contains(warnings[0], "the more rows an agent learns from") {
		t.Errorf("got %q, want a warning about rows", warnings)
	}
}

func TestPhasesFormATree(t *testing.T) {
	g := gathered(t, tiny{}, tiny{})
	var got []string
	for _, p := range g.Phases() {
		got = append(got, fmt.Sprintf("%d %s %.0f %.2f%s", p.Depth, p.Name, p.Seconds, p.Share, p.Idle))
	}
	want := []string{"0 learn 12 0.60", "1 back 7 0.35", "1 forward 4 0.20", "0 collect 6 0.3025 % of the cores idle",
		"0 the rest (scoring the final agents, starting, waiting) 2 0.10"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestCurvesWeighAndBridge(t *testing.T) {
	d := grid{4, 400}
	rows := []runlog.Row{{Step: 50, Value: 1, N: 1}, {Step: 60, Value: 4, N: 2}, {Step: 250, Value: 9, N: 5}, {Step: 260, Value: 100, N: 0}}
	got := d.curve(rows, 1)
	if want := []float64{3, 6, 9}; !slices.Equal(got[:3], want) || !math.IsNaN(got[3]) {
		t.Errorf("got %v, want %v and NaN", got, want)
	}
	if got := d.curve(rows, 5); !math.IsNaN(got[0]) || got[2] != 9 {
		t.Errorf("got %v from at least 5, want NaN and 9 at the third", got)
	}
}

func TestWindowsWithFewEpisodesAreLeftOut(t *testing.T) {
	rows := []runlog.Row{{N: 5}, {N: 100}, {N: 100}, {N: 100}}
	if got := few(true, rows); got != 20 {
		t.Errorf("returns are shown from %d episodes, want 20", got)
	}
	if got := few(false, rows); got != 1 {
		t.Errorf("statistics of learning are shown from %d rows, want 1", got)
	}
}

func TestReferencesHoldOnlyWhereTheyWereMeasured(t *testing.T) {
	for _, c := range []struct {
		name, game string
		set        []string
		want       []string
	}{
		{"4x4", "staghunt", []string{"size=4"}, []string{"optimum", "hares only", "selfish equilibrium", "random"}},
		{"8x8", "staghunt", []string{"size=8"}, []string{"optimum", "hares only", "random"}},
		{"with blocks", "staghunt", []string{"blocks=2"}, []string{"optimum", "hares only"}},
		{"8x8 with blocks", "staghunt", []string{"size=8", "blocks=5"}, []string{"optimum", "hares only"}},
		{"two stags", "staghunt", []string{"stags=2"}, []string{"optimum", "hares only"}},
		{"other pay", "staghunt", []string{"stag_pays=12"}, nil},
		{"another game", "tag", []string{"size=8"}, nil},
		{"drifts", "snowdrift", []string{"size=8"}, []string{"optimum", "random"}},
		{"fewer drifts", "snowdrift", []string{"drifts=5"}, nil},
		{"coins", "coin", []string{"size=5"}, []string{"own coins only"}},
	} {
		g, err := registry.New().NewGame(c.game)
		for _, set := range c.set {
			path, value, _ := strings.Cut(set, "=")
			err = cmp.Or(err, g.Set(path, value))
		}
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range references(g) {
			got = append(got, r.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestCommandsCanBeTypedAgain(t *testing.T) {
	if got, want := command([]string{"/tmp/x/hop.exe", "train", "it's"}), `hop train 'it'\''s'`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
