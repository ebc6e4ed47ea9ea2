package sweeps

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
)

// planted is a grid of two fields, of which the first does much, with noise of seeds.
func planted(seeds int, noise float64) *Table {
	t := &Table{Base: "planted", Score: "mean return", Seeds: seeds, Fields: []Field{{Path: "a.x"}, {Path: "b"}}}
	r := rng.New(3).Rand()
	for i, a := range []string{"1", "10", "100"} {
		for _, b := range []string{"no", "yes"} {
			v := Variant{Name: "x=" + a + ",b=" + b, Values: []string{a, b}, CPU: float64(i + 1)}
			for range seeds {
				x := float64(i) + noise*(r.Float64()-0.5)
				if b == "yes" {
					x += 0.5
				}
				v.Scores = append(v.Scores, x)
			}
			t.Variants = append(t.Variants, v)
		}
	}
	return t
}

// Without noise the shares are those of the definition: the variance between levels over that of all.
func TestSharesAreThoseOfTheDefinition(t *testing.T) {
	p := planted(3, 0)
	p.Complete()
	a, b := 2./3, 0.25*0.25 // variances of 0, 1, 2 and of 0, 0.5
	for i, want := range []float64{a / (a + b), b / (a + b)} {
		if got := float64(p.Fields[i].Share); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s explains %v, want %v", p.Fields[i].Path, got, want)
		}
	}
	if best := p.Ranked()[0].Name; best != "x=100,b=yes" {
		t.Errorf("the best is %s", best)
	}
}

// Noise alone explains next to nothing of a grid, on average: 2/11 of it would be a field's of three levels by chance.
func TestNoiseExplainsNothing(t *testing.T) {
	r := rng.New(5).Rand()
	sum := 0.
	const tries = 300
	for range tries {
		p := planted(2, 0)
		p.levels(0)
		var scores stats.Scores
		for range p.Variants {
			scores = append(scores, []float64{r.Float64(), r.Float64()})
		}
		sum += share(p.Fields[0].level, scores, 3, false)
	}
	if sum/tries > 0.14 { // below 0 counts as 0, so it is a little above 0
		t.Errorf("a field explains %.3f of noise", sum/tries)
	}
}

// A field that does nothing explains nothing of draws either, on average, though another one does much.
func TestAFieldThatDoesNothingExplainsNothingOfDraws(t *testing.T) {
	r := rng.New(9).Rand()
	sum, much := 0., 0.
	const tries = 100
	for range tries {
		p := &Table{Score: "s", Seeds: 1, Drawn: true, Fields: []Field{{Path: "much"}, {Path: "nothing"}}}
		for range 20 {
			x := r.Float64()
			p.Variants = append(p.Variants, Variant{Values: []string{plot.Number(x), plot.Number(r.Float64())}, Scores: []float64{x}})
		}
		for k := range p.Fields {
			p.levels(k)
		}
		level := func(k int) float64 {
			var scores stats.Scores
			for _, v := range p.Variants {
				scores = append(scores, v.Scores)
			}
			return share(p.Fields[k].level, scores, len(p.Fields[k].Levels), true)
		}
		sum, much = sum+level(1), much+level(0)
	}
	if sum/tries > 0.12 || much/tries < 0.8 { // below 0 counts as 0, so it is a little above 0
		t.Errorf("it explains %.2f on average, and the other one %.2f", sum/tries, much/tries)
	}
}

func TestTheFrontIsWhatNoneBeatsForLess(t *testing.T) {
	p := planted(2, 0)
	p.Complete()
	for _, v := range p.Variants {
		if want := strings.HasSuffix(v.Name, "yes"); v.Front != want {
			t.Errorf("%s: %v", v.Name, v.Front)
		}
	}
	p.Least = true
	p.Complete()
	for _, v := range p.Variants {
		if want := v.Name == "x=1,b=no"; v.Front != want {
			t.Errorf("if the least is best, %s: %v", v.Name, v.Front)
		}
	}
}

// Drawn values are put into five levels of as many values each, in order.
func TestDrawnValuesAreLevels(t *testing.T) {
	p := &Table{Score: "s", Seeds: 1, Drawn: true, Fields: []Field{{Path: "lr"}}}
	for _, x := range strings.Fields("0.9 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 1e1 11 12") {
		p.Variants = append(p.Variants, Variant{Name: x, Values: []string{x}, Scores: []float64{number(x)}})
	}
	p.Complete()
	f := p.Fields[0]
	if len(f.Levels) != 3 || f.Levels[0] != "0.1 to 0.4" || f.level[0] != 2 || f.level[9] != 2 || f.level[5] != 1 {
		t.Errorf("levels %v, of the variants %v", f.Levels, f.level)
	}
}

func TestThePageIsWritten(t *testing.T) {
	dir := t.TempDir()
	p := planted(3, 0.3)
	p.Rungs, p.Variants[0].Stopped, p.Variants[0].At = []int{100, 200}, 100, []float64{0.5}
	p.Failed = []Failure{{"x=1,b=no/seed-3", "panic: <planted>", 3}}
	if err := Write(dir, p); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"report.html", "report.md", "report.json",
		"figures/field-1.png", "figures/two-fields.png", "figures/pareto.png"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a.x explains most", "stopped at env step", "panic: &lt;planted&gt;", "none is better for less"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if err := Write(t.TempDir(), &Table{Base: "nothing", Score: "s"}); err != nil {
		t.Error(err)
	}
}
