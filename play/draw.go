package play

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"strconv"
	"strings"

	"git.sr.ht/~sbinet/gg"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"

	"hop/game"
)

// Measures of the picture, in pixels.
const (
	margin    = 16
	headTall  = 48 // the title and the bar of time
	stripWide = 236
	seatTall  = 46
	wordsWide = 420 // the board's place in a game without one
	wordsTall = 230
)

// painter draws frames of one size onto one image.
type painter struct {
	w, h  int
	cell  float64 // a board's cell
	board float64 // width of the board's place
	img   *image.RGBA
	dc    *gg.Context
	fonts map[string]*opentype.Font
	faces map[string]font.Face
}

// newPainter returns a painter whose picture has room for all the frames.
func newPainter(frames []Frame) (*painter, error) {
	p := &painter{fonts: map[string]*opentype.Font{}, faces: map[string]font.Face{}}
	for name, ttf := range map[string][]byte{"regular": goregular.TTF, "bold": gobold.TTF, "mono": gomono.TTF} {
		f, err := opentype.Parse(ttf)
		if err != nil {
			return nil, fmt.Errorf("play: reading the %s font: %w", name, err)
		}
		p.fonts[name] = f
	}
	high, wide, strip, mind := 0, 0, 0, 0
	for i := range frames {
		f := &frames[i]
		high, wide = max(high, f.Height), max(wide, f.Width)
		strip = max(strip, seatTall*len(f.Players)+10)
		if f.Mind != nil {
			mind = max(mind, f.Mind.mindTall())
		}
	}
	p.board, p.cell = wordsWide, 0
	tall := float64(wordsTall)
	if high > 0 && wide > 0 {
		p.cell = math.Floor(min(max(448/float64(max(high, wide)), 14), 72))
		p.board, tall = p.cell*float64(wide), p.cell*float64(high)
	}
	p.w = int(p.board) + 3*margin + stripWide
	if mind > 0 {
		p.w += mindWide + 2*margin
	}
	p.h = headTall + max(int(tall), strip, mind) + 2*margin
	p.img = image.NewRGBA(image.Rect(0, 0, p.w, p.h))
	p.dc = gg.NewContextForRGBA(p.img)
	return p, nil
}

// face returns a font face of that kind and size.
func (p *painter) face(kind string, size float64) font.Face {
	key := fmt.Sprintf("%s %.1f", kind, size)
	if f, ok := p.faces[key]; ok {
		return f
	}
	f, err := opentype.NewFace(p.fonts[kind], &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		panic("play: a font face of an embedded font cannot be made")
	}
	p.faces[key] = f
	return f
}

// text writes s at (x, y); ax 0 is from there on, 1 up to there; y is the middle.
func (p *painter) text(s string, x, y, ax float64, kind string, size float64, c color.Color) {
	p.dc.SetFontFace(p.face(kind, size))
	p.dc.SetColor(c)
	w, _ := p.dc.MeasureString(s)
	p.dc.DrawString(s, math.Round(x-ax*w), math.Round(y+size*0.36))
}

// box fills a rectangle with corners of radius r.
func (p *painter) box(x, y, w, h, r float64, c color.Color) {
	p.dc.SetColor(c)
	if r > 0 {
		p.dc.DrawRoundedRectangle(x, y, w, h, r)
	} else {
		p.dc.DrawRectangle(x, y, w, h)
	}
	p.dc.Fill()
}

// oval fills an ellipse.
func (p *painter) oval(x, y, rx, ry float64, c color.Color) {
	p.dc.SetColor(c)
	p.dc.DrawEllipse(x, y, rx, ry)
	p.dc.Fill()
}

// pen chooses what lines are drawn with.
func (p *painter) pen(c color.Color, width float64) {
	p.dc.SetColor(c)
	p.dc.SetLineWidth(width)
	p.dc.SetLineCapRound()
}

// short cuts s to a width in pixels, with ? for letters that the font lacks.
func (p *painter) short(s string, wide float64, kind string, size float64) string {
	s = strings.Map(func(r rune) rune {
		if i, err := p.fonts[kind].GlyphIndex(nil, r); err != nil || i == 0 {
			return '?'
		}
		return r
	}, s)
	p.dc.SetFontFace(p.face(kind, size))
	if w, _ := p.dc.MeasureString(s); w <= wide {
		return s
	}
	r := []rune(s)
	for len(r) > 0 {
		r = r[:len(r)-1]
		if w, _ := p.dc.MeasureString(string(r) + "…"); w <= wide {
			break
		}
	}
	return string(r) + "…"
}

// draw draws a frame.
func (p *painter) draw(f *Frame) {
	d := p.dc
	d.SetColor(paper)
	d.Clear()
	p.head(f)
	x, y := float64(margin), float64(headTall+margin)
	if f.Height > 0 {
		p.drawBoard(f, x, y)
	} else {
		p.drawWords(f, x, y)
	}
	p.strip(f, x+p.board+margin, y)
	if f.Mind != nil {
		p.mind(f.Mind, x+p.board+margin+stripWide+2*margin, y)
	}
}

// head draws the title, the time in words and the time as a bar.
func (p *painter) head(f *Frame) {
	d := p.dc
	x, w := float64(margin), float64(p.w-2*margin)
	right := fmt.Sprintf("step %d / %d", f.Step, f.Horizon)
	if f.Over {
		right = "over at " + right
	}
	p.text(right, x+w, 24, 1, "bold", 15, ink)
	room := w - 180
	title := p.short(f.Title, room, "bold", 17)
	p.text(title, x, 24, 0, "bold", 17, ink)
	d.SetFontFace(p.face("bold", 17))
	used, _ := d.MeasureString(title)
	if f.Episode != "" && room-used > 60 {
		p.text(p.short(f.Episode, room-used-20, "regular", 13), x+used+12, 25, 0, "regular", 13, faint)
	}
	p.box(x, 44, w, 5, 2.5, hair)
	if f.Step > 0 {
		p.box(x, 44, max(w*min(float64(f.Step)/float64(max(f.Horizon, 1)), 1), 5), 5, 2.5, accent)
	}
}

// drawWords draws a game without a board: its own text.
func (p *painter) drawWords(f *Frame, x, y float64) {
	p.box(x, y, p.board, wordsTall, 8, tileA)
	const size, row = 15, 24
	at := y + 24
	for _, line := range strings.Split(f.Words, "\n") {
		for _, l := range p.lines(line) {
			if at > y+wordsTall-12 {
				return
			}
			p.text(l, x+16, at, 0, "mono", size, ink)
			at += row
		}
	}
}

// lines breaks a line of a game's text. One that is all key=value becomes a
// table, its numbers cut to what can be read in passing.
func (p *painter) lines(line string) []string {
	words := strings.Fields(line)
	var table []string
	for _, w := range words {
		key, val, ok := strings.Cut(w, "=")
		if !ok || len(words) < 2 {
			p.dc.SetFontFace(p.face("mono", 15))
			return p.dc.WordWrap(line, p.board-32)
		}
		if v, err := strconv.ParseFloat(val, 64); err == nil && len(val) > 8 {
			val = strconv.FormatFloat(v, 'f', 3, 64)
		}
		table = append(table, fmt.Sprintf("%-8s %10s", key, val))
	}
	return table
}

// strip draws what is said about the seats.
func (p *painter) strip(f *Frame, x, y float64) {
	for s := range f.Players {
		pl := &f.Players[s]
		k := lookOf(game.Seat(s))
		cy := y + seatTall/2 - 4
		if pl.Left > 0 {
			p.ring(game.Seat(s), x+13, cy, 12, k.fill)
		} else {
			p.disc(game.Seat(s), x+13, cy, 13)
		}
		name, c := pl.Name, ink
		if pl.Left > 0 {
			c = faint
		}
		p.text(p.short(name, 96, "bold", 15), x+36, y+11, 0, "bold", 15, c)
		p.text(num(pl.Return), x+stripWide, y+11, 1, "bold", 16, ink)
		if pl.Reward != 0 {
			p.text(signed(pl.Reward), x+stripWide-54, y+11, 1, "bold", 13, tone(pl.Reward))
		}
		p.text(p.short(pl.status(40), stripWide-36, "regular", 12), x+36, y+28, 0, "regular", 12, faint)
		y += seatTall
		if s < len(f.Players)-1 {
			p.box(x, y-5, stripWide, 1, 0, hair)
		}
	}
	p.legend(f, x, y+12)
}

// legend draws the things on the board with their names, from the bottom up, if
// there is room below y.
func (p *painter) legend(f *Frame, x, y float64) {
	const tall = 26
	all := f.legend()
	at := float64(p.h - margin - tall*((len(all)+1)/2))
	if at < y {
		return
	}
	for i, t := range all {
		cx, cy := x+13+float64(i%2)*stripWide/2, at+tall*(float64(i/2)+0.5)
		if t.flat {
			p.box(cx-11, cy-11, 22, 22, 0, t.ground)
		}
		t.shape(p, cx, cy, 11, t)
		p.text(p.short(t.word, stripWide/2-36, "regular", 12), cx+20, cy, 0, "regular", 12, faint)
	}
}

// disc draws a seat that plays.
func (p *painter) disc(s game.Seat, x, y, r float64) {
	k := lookOf(s)
	p.oval(x, y, r, r, k.fill)
	if r >= 5 {
		p.text(string(digit(s)), x, y, 0.5, "bold", math.Round(r*1.25), k.ink)
	}
}

// ring draws a seat that has left.
func (p *painter) ring(s game.Seat, x, y, r float64, c color.RGBA) {
	d := p.dc
	d.SetColor(c)
	d.SetLineWidth(max(r*0.16, 1.5))
	d.DrawCircle(x, y, r)
	d.Stroke()
	if r >= 5 {
		p.text(string(digit(s)), x, y, 0.5, "bold", math.Round(r*1.15), c)
	}
}
