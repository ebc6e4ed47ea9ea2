package play

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/search"
)

// Mind is what a planning agent thinks before it acts.
type Mind struct {
	search.Thought
	Seat    game.Seat
	Actions []string // names by number
	Does    int32    // the action that it takes
	// Searched says that the agent searches. Of others Visits, Q, Prior and Line are nil, and
	// Policy is nil of those that say nothing of how they decide.
	Searched bool
}

// title says whose thoughts these are and what the agent hopes for.
func (m *Mind) title() (who, worth string) {
	if m.Script != "" {
		return fmt.Sprintf("seat %d plays %s", m.Seat, m.Script), "what it expected was refuted"
	}
	if m.Made {
		return fmt.Sprintf("seat %d thinks", m.Seat), "plans against what it has learnt of them in this life"
	}
	return fmt.Sprintf("seat %d thinks", m.Seat), fmt.Sprintf("expects %s more", num(float64(m.Value)))
}

// believed is what is believed of a co-player: the likeliest first, then the rest
// in words.
func believed(g search.Posterior) (top string, p float64, rest string) {
	if g.Left {
		return "has left", 0, ""
	}
	order := make([]int, len(g.Names))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(g.Probs[b], g.Probs[a]) })
	var words []string
	for _, i := range order[min(1, len(order)):] {
		if g.Probs[i] >= 0.005 {
			words = append(words, fmt.Sprintf("%s %s", g.Names[i], percent(g.Probs[i])))
		}
	}
	if len(order) == 0 {
		return "-", 0, ""
	}
	return g.Names[order[0]], g.Probs[order[0]], strings.Join(words, ", ")
}

func percent(p float64) string { return fmt.Sprintf("%.0f %%", 100*p) }

// option is one legal action in the eyes of the search.
type option struct {
	name   string
	does   bool
	share  float64 // of the visits
	visits int32
	q      string // empty if never tried
}

// options lists the legal actions.
func (m *Mind) options() []option {
	total := int32(0)
	for _, v := range m.Visits {
		total += v
	}
	var all []option
	for k, name := range m.Actions {
		if m.Prior[k] == 0 && m.Visits[k] == 0 {
			continue
		}
		o := option{name: name, does: int32(k) == m.Does, visits: m.Visits[k]}
		if o.visits > 0 {
			o.share, o.q = float64(o.visits)/float64(total), fmt.Sprintf("%.2f", m.Q[k])
		}
		all = append(all, o)
	}
	return all
}

// signs are the moves of a line, one column each; other actions are shown by the
// first letters of their words.
var signs = map[string]string{"up": "^", "down": "v", "left": "<", "right": ">", "stay": "."}

func sign(actions []string, a int32) string {
	if a < 0 || int(a) >= len(actions) {
		return ""
	}
	name := strings.ToLower(actions[a])
	if s, ok := signs[name]; ok {
		return s
	}
	out := ""
	for _, w := range strings.Fields(name) {
		out += w[:1]
	}
	return out
}

// lineRow is one seat's part of the expected line.
type lineRow struct {
	seat  game.Seat
	moves []string
}

// line returns the expected line by seat: the agent first, then the others that
// are still there.
func (m *Mind) line(most int) []lineRow {
	steps := m.Line[:min(len(m.Line), max(most, 0))]
	own := lineRow{seat: m.Seat}
	for _, s := range steps {
		own.moves = append(own.moves, sign(m.Actions, s.Action))
	}
	rows := []lineRow{own}
	for j, g := range m.Posteriors {
		if g.Left {
			continue
		}
		r := lineRow{seat: game.Seat(g.Seat)}
		for _, s := range steps {
			move := ""
			if j < len(s.Others) {
				move = sign(m.Actions, s.Others[j])
			}
			r.moves = append(r.moves, move)
		}
		rows = append(rows, r)
	}
	return rows
}

// key explains the letters of a line that are no moves.
func (m *Mind) key() string {
	var words []string
	for k, name := range m.Actions {
		if s := sign(m.Actions, int32(k)); len(s) > 1 {
			words = append(words, s+" "+name)
		}
	}
	return strings.Join(words, ", ")
}

// drawMind draws the thoughts for a terminal, w columns wide, without blank lines
// if it must be tight.
func (m *Mind) drawMind(w int, tight bool) *canvas {
	options := m.options()
	rows := m.line((w - 10) / 3)
	c := newCanvas(w, 7+len(m.Posteriors)+len(options)+len(rows))
	quiet, strong := style{FG: faint}, style{Bold: true}
	bar := func(x, y, room int, share float64) {
		full := int(float64(room)*min(max(share, 0), 1) + 0.5)
		c.Put(x, y, strings.Repeat("=", full), style{FG: accent, BG: accent})
		c.Put(x+full, y, strings.Repeat(".", room-full), style{FG: hair})
	}
	chip := func(x, y int, s game.Seat) int {
		k := lookOf(s)
		return c.Put(x, y, string(k.left)+string(digit(s))+string(k.right), style{FG: k.ink, BG: k.fill, Bold: true}) + 1
	}
	who, worth := m.title()
	c.Put(0, 0, who, strong)
	c.Put(max(w-lipgloss.Width(worth), lipgloss.Width(who)+1), 0, worth, quiet)
	y := 1
	wide := 6
	for _, o := range options {
		wide = max(wide, lipgloss.Width(o.name))
	}
	for _, g := range m.Posteriors {
		wide = max(wide, min(lipgloss.Width(firstOf(believed(g))), w/3))
	}
	room := min(max(w-4-wide-8-14, 6), 16)
	for _, g := range m.Posteriors {
		x := chip(0, y, game.Seat(g.Seat))
		top, p, rest := believed(g)
		if g.Left {
			c.Put(x, y, top, quiet)
			y++
			continue
		}
		x = c.Put(x, y, fit(top, wide)+" ", strong)
		bar(x, y, room, p)
		x = c.Put(x+room+1, y, fmt.Sprintf("%5s  ", percent(p)), style{})
		c.Put(x, y, fit(rest, max(w-x, 0)), quiet)
		y++
	}
	if !tight {
		y++
	}
	c.Put(4+wide+1, y, "visits", quiet)
	c.Put(4+wide+1+room+9, y, "value", quiet)
	y++
	for _, o := range options {
		st, mark := style{}, " "
		if o.does {
			st, mark = strong, ">"
		}
		c.Put(2, y, mark, strong)
		x := c.Put(4, y, fit(o.name, wide)+" ", st)
		bar(x, y, room, o.share)
		x = c.Put(x+room+1, y, fmt.Sprintf("%6d", o.visits), st)
		c.Put(x, y, fmt.Sprintf("%7s", o.q), st)
		y++
	}
	if !tight {
		y++
	}
	if len(rows[0].moves) > 0 {
		c.Put(0, y, "the line it expects", strong)
		if key := m.key(); lipgloss.Width(key)+22 <= w {
			c.Put(21, y, key, quiet)
		}
		y++
		for _, r := range rows {
			x := chip(4, y, r.seat)
			for i, move := range r.moves {
				c.Put(x+3*i, y, move, style{})
			}
			y++
		}
	}
	c.Cut(y)
	return c
}

func firstOf(top string, _ float64, _ string) string { return top }

// Measures of the thoughts in the picture, in pixels.
const (
	mindWide = 376
	mindLine = 20
)

// mindTall is how much room the thoughts need.
func (m *Mind) mindTall() int {
	return 30 + mindLine*(len(m.Posteriors)+len(m.options())+len(m.Posteriors)+1) + 92
}

// mind draws the thoughts, from (x, y).
func (p *painter) mind(m *Mind, x, y float64) {
	d := p.dc
	who, worth := m.title()
	p.text(who, x, y+9, 0, "bold", 15, ink)
	p.text(worth, x+mindWide, y+10, 1, "regular", 12, faint)
	y += 30
	const from, bar = 108, 80
	strip := func(y, share float64, c color.RGBA) {
		p.box(x+from, y+5, bar, 10, 3, hair)
		if share > 0 {
			p.box(x+from, y+5, max(bar*min(share, 1), 3), 10, min(3, bar*share/2), c)
		}
	}
	for _, g := range m.Posteriors {
		top, share, rest := believed(g)
		seat, mid := game.Seat(g.Seat), y+mindLine/2
		if g.Left {
			p.ring(seat, x+9, mid, 8, lookOf(seat).fill)
			p.text(top, x+26, mid, 0, "regular", 12, faint)
			y += mindLine
			continue
		}
		p.disc(seat, x+9, mid, 9)
		p.text(p.short(top, from-32, "bold", 12), x+26, mid, 0, "bold", 12, ink)
		strip(y, share, lookOf(seat).fill)
		p.text(percent(share), x+from+bar+38, mid, 1, "regular", 12, ink)
		p.text(p.short(rest, mindWide-from-bar-46, "regular", 11), x+from+bar+46, mid, 0, "regular", 11, faint)
		y += mindLine
	}
	y += 12
	p.text("visits", x+from, y+mindLine/2, 0, "regular", 11, faint)
	p.text("value", x+from+bar+108, y+mindLine/2, 1, "regular", 11, faint)
	y += mindLine - 2
	for _, o := range m.options() {
		kind, c, mid := "regular", faint, y+mindLine/2
		if o.does {
			kind, c = "bold", ink
			d.SetColor(accent)
			p.polygon(x+4, mid-5, x+13, mid, x+4, mid+5)
		}
		p.text(p.short(o.name, from-32, kind, 12), x+26, mid, 0, kind, 12, c)
		strip(y, o.share, accent)
		p.text(fmt.Sprint(o.visits), x+from+bar+52, mid, 1, kind, 12, c)
		p.text(o.q, x+from+bar+108, mid, 1, kind, 12, c)
		y += mindLine
	}
	y += 12
	rows := m.line(12)
	if len(rows[0].moves) == 0 {
		return
	}
	p.text("the line it expects", x, y+mindLine/2, 0, "bold", 12, ink)
	p.text(p.short(m.key(), mindWide-126, "regular", 11), x+mindWide, y+mindLine/2, 1, "regular", 11, faint)
	y += mindLine + 2
	for _, r := range rows {
		p.disc(r.seat, x+9, y+mindLine/2, 9)
		for i, move := range r.moves {
			p.move(move, x+38+24*float64(i), y+mindLine/2, ink)
		}
		y += mindLine
	}
}

// move draws one sign of a line: an arrow, a dot, or letters.
func (p *painter) move(s string, x, y float64, c color.RGBA) {
	dx, dy := 0., 0.
	switch s {
	case "^":
		dy = -1
	case "v":
		dy = 1
	case "<":
		dx = -1
	case ">":
		dx = 1
	case ".":
		p.oval(x, y, 2.2, 2.2, c)
		return
	default:
		p.text(s, x, y, 0.5, "bold", 12, c)
		return
	}
	const long, side = 6, 4
	d := p.dc
	d.SetColor(c)
	d.SetLineWidth(1.6)
	d.DrawLine(x-dx*long, y-dy*long, x+dx*(long-2), y+dy*(long-2))
	d.Stroke()
	bx, by := x+dx*(long-side), y+dy*(long-side)
	p.polygon(x+dx*long, y+dy*long, bx-dy*side, by-dx*side, bx+dy*side, by+dx*side)
}

// polygon fills what lies between points, given as x, y, x, y.
func (p *painter) polygon(at ...float64) {
	for i := 0; i < len(at); i += 2 {
		p.dc.LineTo(at[i], at[i+1]) // the first one moves
	}
	p.dc.ClosePath()
	p.dc.Fill()
}
