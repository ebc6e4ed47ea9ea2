package lab

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/lab/report/adapted"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/registry"
)

// An evaluation that is cut into meetings, each done by itself and in another order, is put together to what one machine
// says, to the last byte, in JSON and on the page.
func TestMeetingsApartAreAnEvaluation(t *testing.T) {
	l := &Lab{Reg: registry.New()}
	game, err := l.GameWith("staghunt", []string{"game.horizon=12", "game.stags=2"})
	if err != nil {
		t.Fatal(err)
	}
	ask := prepare.DefaultAdapt()
	ask.Strangers, ask.Some, ask.Lives, ask.Steps, ask.Last, ask.Starts, ask.Seeds = "validation@1", 3, 2, 200, 100, 1, []uint64{4, 2}
	at := Site{Game: game, Runs: []string{"bandit", "random"}}
	one, many := t.TempDir(), t.TempDir()
	at.Dir = one
	if _, err := l.Adapt(t.Context(), ask, at); err != nil {
		t.Fatal(err)
	}
	at.Dir = ""
	e, played, err := l.Cut(t.Context(), ask, at)
	if err != nil || len(e.Meetings) != 6 {
		t.Fatalf("%d meetings, want 6: %v", len(e.Meetings), err)
	}
	rows := make([]*adapted.Row, len(e.Meetings))
	for i, m := range slices.Backward(e.Meetings) {
		own := ask
		own.Some, own.Seeds, own.Workers = 0, e.Agents[m.Agent].Seeds, 1
		row, err := l.Meet(t.Context(), own, Site{Game: played, Runs: []string{e.Agents[m.Agent].Name}}, m.Stranger, nil)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(many, "meeting.json")
		if err := adapted.NewMeeting("it", row).Write(file); err != nil {
			t.Fatal(err)
		}
		if rows[i], err = adapted.ReadMeeting(file, "it"); err != nil {
			t.Fatal(err)
		}
	}
	b, err := json.Marshal(e) // as a sweep keeps it
	if err != nil {
		t.Fatal(err)
	}
	kept := &Encounters{}
	if err := json.Unmarshal(b, kept); err != nil {
		t.Fatal(err)
	}
	table, err := l.Together(t.Context(), kept, ask, played, rows)
	if err == nil {
		err = adapted.Write(many, table)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"adapt.json", "adapt.md", "adapt.html"} {
		want, err := os.ReadFile(filepath.Join(one, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(many, name))
		if err != nil || string(got) != string(want) {
			t.Errorf("%s is another one: %v", name, err)
		}
	}
}

// What belongs to one machine is refused with a sentence that says where to go.
func TestWhatIsOfOneMachineIsNotCut(t *testing.T) {
	l := &Lab{Reg: registry.New()}
	game, err := l.GameWith("staghunt", nil)
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*prepare.Adapt, *Site){
		"--zoo":          func(c *prepare.Adapt, _ *Site) { c.Zoo = "zoo" },
		"--learn-best":   func(c *prepare.Adapt, _ *Site) { c.LearnBest = true },
		"--then":         func(c *prepare.Adapt, _ *Site) { c.Then = []string{"ns"} },
		"--strangers":    func(c *prepare.Adapt, _ *Site) { c.Strangers, c.VS = "", []string{"ns"} },
		"py:a:b is a":    func(_ *prepare.Adapt, at *Site) { at.Runs = []string{"py:a:b"} },
		"no folder of a": func(_ *prepare.Adapt, at *Site) { at.Runs = []string{"nobody"} },
	} {
		ask, at := prepare.DefaultAdapt(), Site{Game: game, Runs: []string{"ns"}}
		ask.Strangers, ask.Seeds = "validation", []uint64{1}
		change(&ask, &at)
		_, _, err := l.Cut(t.Context(), ask, at)
		if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, new(Misuse)) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

// A meeting keeps what a row's JSON leaves out, and numbers without a value have none afterwards.
func TestAMeetingKeepsTheWholeRow(t *testing.T) {
	row := &adapted.Row{VS: []string{"ns"}, Lives: 2, Watch: "hop play", Seeds: []adapted.Seed{
		{Seed: 3, Normalised: stats.Number(math.Inf(-1))}},
		Reading: []adapted.Reading{{Name: "ns", Action: &adapted.Accuracy{Accuracy: 1 / 3., CE: .1, LimitCE: stats.Number(math.NaN())}}}}
	row.CI = stats.Interval{math.Inf(-1), math.Inf(1)}
	got, err := adapted.HandIn(row)
	if err != nil {
		t.Fatal(err)
	}
	if a := got.Reading[0].Action; a.CE != .1 || a.Accuracy != 1/3. || !math.IsNaN(float64(a.LimitCE)) || got.CI != row.CI ||
		got.Watch != row.Watch || !math.IsNaN(float64(got.Seeds[0].Normalised)) {
		t.Errorf("it comes back as %+v, %+v", got, a)
	}
	if err := got.Fits("ns", 2, 10, []uint64{1, 3}); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		vs           string
		lives, steps int
		seeds        []uint64
	}{{"nh", 2, 10, []uint64{3}}, {"ns", 3, 10, []uint64{3}}, {"ns", 2, 10, []uint64{4}}, {"ns", 2, 10, nil}} {
		if err := got.Fits(c.vs, c.lives, c.steps, c.seeds); err == nil {
			t.Errorf("it fits %+v", c)
		}
	}
}
