package plot

import (
	"math"
	"slices"
)

// Axes names and bounds the axes of a figure.
type Axes struct {
	X, Y       string
	YMin, YMax float64 // both 0: as the data need
}

// y returns the axis between the bounds, or else the values.
func (ax Axes) y(lo, hi float64) Axis {
	if ax.YMin != 0 || ax.YMax != 0 {
		lo, hi = ax.YMin, ax.YMax
	}
	a := Round(lo, hi, 5)
	a.Name = ax.Y
	return a
}

func one(name, title, caption string, p Panel, legend []Key) *Figure {
	if len(legend) < 2 {
		legend = nil
	}
	return &Figure{Name: name, Title: title, Caption: caption, Legend: legend, Panels: []Panel{p}}
}

// padded widens what the values span a little.
func padded(values ...[]float64) (lo, hi float64) {
	lo, hi = Span(values...)
	return lo - 0.05*(hi-lo), hi + 0.05*(hi-lo)
}

// Lines draws curves, each under its own name. Those without a colour get one.
func Lines(name, title, caption string, ax Axes, lines ...Line) *Figure {
	var xs, ys [][]float64
	var legend []Key
	for i := range lines {
		l := &lines[i]
		if l.X == nil {
			for k := range l.Y {
				l.X = append(l.X, float64(k))
			}
		}
		if l.Color.A == 0 {
			l.Color = Agent(i)
		}
		l.Width = 1.6
		xs, ys = append(xs, l.X), append(ys, l.Y)
		if len(l.Y) > 0 {
			legend = append(legend, Key{Name: l.Name, Color: l.Color, Dash: l.Dash})
		}
	}
	lo, hi := padded(ys...)
	x := Round(0, 1, 5)
	if first, last := Span(xs...); last > first {
		x = Round(first, last, 5)
	}
	x.Name = ax.X
	broken := func(v float64) bool { return v != math.Trunc(v) }
	if !slices.ContainsFunc(slices.Concat(xs...), broken) {
		x.At = slices.DeleteFunc(x.At, broken)
	}
	p := New(x, ax.y(lo, hi))
	for _, l := range lines {
		p.Add(l)
	}
	return one(name, title, caption, p.Panel(title, HalfW, HalfH+20), legend)
}

// Group is a set of bars of one colour, one for each label.
type Group struct {
	Name   string
	Values []float64
}

// Bars draws groups of bars side by side over the labels.
func Bars(name, title, caption string, ax Axes, labels []string, groups ...Group) *Figure {
	var all [][]float64
	var legend []Key
	for i, g := range groups {
		all = append(all, g.Values)
		legend = append(legend, Key{Name: g.Name, Color: Agent(i), Area: true})
	}
	_, top := Span(all...)
	x := Names(labels)
	x.Name = ax.X
	p := New(x, ax.y(0, max(top*1.12, 1e-9))).Add(columns{groups, len(labels)})
	return one(name, title, caption, p.Panel(title, HalfW, HalfH+20), legend)
}

// Cloud is a named set of points of one colour, with an interval each if Low and High are given.
type Cloud struct {
	Name            string
	X, Y, Low, High []float64
}

// Scatter draws clouds of points.
func Scatter(name, title, caption string, ax Axes, clouds ...Cloud) *Figure {
	var xs, ys [][]float64
	for _, cl := range clouds {
		xs, ys = append(xs, cl.X), append(ys, cl.Y, cl.Low, cl.High)
	}
	x0, x1 := padded(xs...)
	y0, y1 := padded(ys...)
	x := Round(x0, x1, 5)
	x.Name = ax.X
	p := New(x, ax.y(y0, y1))
	var legend []Key
	for i, cl := range clouds {
		for k := range cl.Low {
			p.Add(Line{X: []float64{cl.X[k], cl.X[k]}, Y: []float64{cl.Low[k], cl.High[k]}, Color: Fade(Agent(i), 0.35), Width: 1})
		}
		p.Add(cloud{cl.X, cl.Y, Fade(Agent(i), 0.6)})
		legend = append(legend, Key{Name: cl.Name, Color: Agent(i), Area: true})
	}
	panel := p.Panel(title, slimW, 260)
	return one(name, title, caption, panel, legend)
}
