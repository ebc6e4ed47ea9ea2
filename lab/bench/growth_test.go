package bench

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hop-marl/hop/train/registry"
)

// Slopes are those of powers, whatever the lower half of the points does.
func TestSlopesOfKnownPowers(t *testing.T) {
	for _, power := range []float64{0, 1, 2, 2.5, -1} {
		var x, y []float64
		for i := range 7 {
			x = append(x, math.Pow(2, float64(i+1)))
			y = append(y, 3e-6*math.Pow(x[i], power))
			if i < 3 {
				y[i] = 1 // an overhead, of small sizes only
			}
		}
		if got := float64(slope(x, y)); math.Abs(got-power) > 1e-9 {
			t.Errorf("x to the power %v has slope %v", power, got)
		}
	}
	if got := float64(slope([]float64{2, 4}, []float64{5, 20})); math.Abs(got-2) > 1e-9 {
		t.Errorf("two points: slope %v, want 2", got)
	}
	if got := float64(slope([]float64{2}, []float64{5})); !math.IsNaN(got) {
		t.Errorf("one point: slope %v, want none", got)
	}
}

// The worst slope is the one that is farthest beyond what it is to be, not the largest.
func TestTheWorstSlopeIsTheFarthestBeyond(t *testing.T) {
	lines := []*GrowthLine{
		{Name: "a", X: "cells", Time: Slope{2, 2}, Memory: Slope{1.9, 2}, Start: Slope{3, 3}},
		{Name: "b", X: "agents", Time: Slope{0.2, 0}, Memory: Slope{1.6, 1}, Start: Slope{1, 1}},
	}
	if got, want := Steepest(lines), "the memory of b grows as the agents to the power 1.60"; !strings.Contains(got, want) {
		t.Errorf("%s, want that %s", got, want)
	}
}

// The smallest points of all axes, once each: it takes a second. The page names them all, and what was refused.
func TestGrowthPageNamesAllAxes(t *testing.T) {
	seen, dir := 0, t.TempDir()
	g := DefaultGrowth()
	g.Turns, g.Points, g.least = 1, 2, 0.01
	lines, err := g.Measure(t.Context(), registry.New(), func(done, of int) { seen = of - done })
	if err != nil || seen != 0 {
		t.Fatalf("%v; %d trainings are missing", err, seen)
	}
	for _, l := range lines {
		for _, p := range l.Points {
			if !(p.Time > 0 && p.Bytes > 0 && p.Estimate > p.Bytes && p.Start > 0) || p.Refused != "" {
				t.Errorf("%s, %s: %+v", l.Axis, l.Name, p)
			}
		}
	}
	lines[0].Points[1].Refused = "it is too large"
	if err := WriteGrowth(dir, "hop bench growth", 1, lines); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "growth.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range GrowthAxes() {
		if !strings.Contains(string(page), "<h2>"+a.Name+"</h2>\n<p>"+a.Says) || !strings.Contains(string(page), `aria-label="`+a.Name+": ") ||
			!strings.Contains(GrowthText(lines), "\n"+a.Name+", ") && !strings.HasPrefix(GrowthText(lines), a.Name+", ") {
			t.Errorf("the page or the text does not name the axis %s", a.Name)
		}
	}
	if !strings.Contains(string(page), "it is too large") {
		t.Error("the page does not say what was refused")
	}
}
