package adapted

import (
	"math"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/stats"
)

// A stranger's row says how it was read beside the observer, and how to watch it, and so does
// the table; of one who remembers, the observer says nothing.
func TestStrangersRowsSayHowTheyWereRead(t *testing.T) {
	nan := stats.Number(math.NaN())
	row := func(name string, limit, ce stats.Number) *Row {
		return &Row{Run: "reader", VS: []string{name, name}, Watch: "hop play " + name,
			Measured: Measured{BestResponse: 1, Score: .5, Regret: .5},
			Reading:  []Reading{{Name: name, Action: &Accuracy{Steps: 9, Accuracy: .25, Limit: limit, CE: 1.5, LimitCE: ce}}}}
	}
	s := &Strangers{Agent: "reader", Optimum: 1}
	s.Add(row("flee", .75, .5))
	s.Add(row("wsls", nan, nan))
	s.Finish()
	r := s.Rows[0].Read
	if r == nil || r.Steps != 9 || r.Accuracy != .25 || r.LogP != -1.5 || r.Limit != .75 || r.LimitLog != -.5 {
		t.Errorf("read as %+v", r)
	}
	heads, cells := (&Table{Strangers: []*Strangers{s}}).met()
	for i, want := range []string{
		"flee | 1.000,  | 0.000 | 0.50 (no interval) | 0.25, 0.75 | -1.50, -0.50 | hop play flee",
		"wsls | 1.000,  | 0.000 | 0.50 (no interval) | 0.25 | -1.50 | hop play wsls",
	} {
		if got := strings.Join(cells[i], " | "); got != want || len(cells[i]) != len(heads) {
			t.Errorf("%s under %d heads, want %s", got, len(heads), want)
		}
	}
}

// The interval of a median, and of the worst tenth, is about what it is said of: where seeds move every stranger
// alike it is Student's of that movement.
func TestIntervalsAreAboutTheirFigure(t *testing.T) {
	s := &Strangers{}
	var moved stats.Acc
	moves := []float64{.02, -.01, .05, 0, -.03}
	for i, x := range moves {
		moved.Add(x)
		s.Seeds = append(s.Seeds, SeedOver{Seed: uint64(i)})
	}
	for i := range 11 {
		m := Met{Normalised: float64(i)/10 + moved.Mean()}
		for _, x := range moves {
			m.Seeds = append(m.Seeds, float64(i)/10+x)
		}
		s.Rows = append(s.Rows, m)
	}
	s.Finish()
	ci := moved.CI(0.95)
	for i, got := range []float64{s.MedianCI[0], s.MedianCI[1], s.WorstCI[0], s.WorstCI[1]} {
		if want := []float64{.5, .5, .1, .1}[i] + ci[i%2]; math.Abs(got-want) > 1e-9 {
			t.Errorf("%g, want %g", got, want)
		}
	}
}

// More than what the best of some players earned is all of it, in words, with whose that was; of an
// exact best response the number alone is said.
func TestMoreThanTheBestFoundIsAllOfIt(t *testing.T) {
	for _, c := range []struct {
		by    string
		score float64
		want  string
	}{
		{"ns", 3.2, "all (1.10"}, {"ns", 2.8, "0.90"}, {"exact", 3.2, "1.10"},
	} {
		m := Measured{Score: c.score, BestResponse: 3, Random: 1, BestName: c.by}
		m.Normalised = stats.Number((c.score - 1) / 2)
		if got := m.gets(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%v by %s: %s, want %s", c.score, c.by, got, c.want)
		}
		if found := strings.HasSuffix(m.best(), "that of ns"); found != (c.by == "ns") {
			t.Errorf("the reference is called %s", m.best())
		}
	}
}
