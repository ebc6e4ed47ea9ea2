package play

import (
	"fmt"
	"hash/fnv"
	"image"
	"image/color"
	"image/draw"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"git.sr.ht/~sbinet/gg"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"

	"github.com/hop-marl/hop/game"
)

// Measures of the picture, in pixels.
const (
	margin    = 16
	headTall  = 48 // the title and the bar of time
	stripWide = 236
	seatTall  = 46
	mostRows  = 11  // of seats
	wordsWide = 420 // the board's place in a game without one
	wordsTall = 230
)

// painter draws the parts of frames of one size, each from (0, 0) on a sheet of
// its size.
type painter struct {
	w, h    int
	cell    float64 // a board's cell
	board   float64 // width of the board's place
	time    int     // width of the time in words
	minds   bool    // there is room for thoughts
	sheets  map[image.Point]*sheet
	*sheet      // the one that is drawn on
	painted int // pixels of all sheets that were begun
	fonts   map[string]*opentype.Font
	faces   map[face]font.Face
}

// sheet is what one size of parts is drawn on.
type sheet struct {
	img *image.RGBA
	dc  *gg.Context
}

// face is a kind of font and a size.
type face struct {
	kind string
	size float64
}

// newPainter returns a painter whose picture has room for all the frames.
func newPainter(frames []Frame) (*painter, error) {
	p := &painter{fonts: map[string]*opentype.Font{}, faces: map[face]font.Face{}, sheets: map[image.Point]*sheet{}}
	for name, ttf := range map[string][]byte{"regular": goregular.TTF, "bold": gobold.TTF, "mono": gomono.TTF} {
		f, err := opentype.Parse(ttf)
		if err != nil {
			return nil, fmt.Errorf("play: reading the %s font: %w", name, err)
		}
		p.fonts[name] = f
	}
	high, wide, strip, mind := 0, 0, 0, 0
	longest := ""
	for i := range frames {
		f := &frames[i]
		if t := f.time(); len(t) > len(longest) {
			longest = t
		}
		high, wide = max(high, f.Height), max(wide, f.Width)
		strip = max(strip, seatTall*min(len(f.Players), mostRows)+10)
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
	if p.minds = mind > 0; p.minds {
		p.w += mindWide + 2*margin
	}
	p.h = headTall + max(int(tall), strip, mind) + 2*margin
	p.time = max(180, int(p.wide(longest, "bold", 15))+margin)
	return p, nil
}

// begin takes a clean sheet of that size.
func (p *painter) begin(size image.Point) {
	s, ok := p.sheets[size]
	if !ok {
		img := image.NewRGBA(image.Rectangle{Max: size})
		s = &sheet{img, gg.NewContextForRGBA(img)}
		p.sheets[size] = s
	}
	p.sheet = s
	p.painted += size.X * size.Y
	draw.Draw(s.img, s.img.Rect, image.NewUniform(paper), image.Point{}, draw.Src)
}

// face returns a font face of that kind and size.
func (p *painter) face(kind string, size float64) font.Face {
	key := face{kind, size}
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
	if ax != 0 {
		x -= ax * p.wide(s, kind, size)
	}
	at := fixed.P(int(math.Round(x)), int(math.Round(y+size*0.36)))
	(&font.Drawer{Dst: p.img, Src: image.NewUniform(c), Face: p.face(kind, size), Dot: at}).DrawString(s)
}

// wide is how wide a text is, in whole pixels.
func (p *painter) wide(s, kind string, size float64) float64 {
	return float64(font.MeasureString(p.face(kind, size), s).Floor())
}

// box fills a rectangle with corners of radius r; without, it covers whole pixels.
func (p *painter) box(x, y, w, h, r float64, c color.Color) {
	if r == 0 {
		draw.Draw(p.img, image.Rect(int(x), int(y), int(x+w), int(y+h)), image.NewUniform(c), image.Point{}, draw.Src)
		return
	}
	p.dc.SetColor(c)
	p.dc.DrawRoundedRectangle(x, y, w, h, r)
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
	if p.wide(s, kind, size) <= wide {
		return s
	}
	r := []rune(s)
	for len(r) > 0 {
		r = r[:len(r)-1]
		if p.wide(string(r)+"…", kind, size) <= wide {
			break
		}
	}
	return string(r) + "…"
}

// time is the time in words.
func (f *Frame) time() string {
	if f.Over {
		return fmt.Sprintf("over at step %d / %d", f.Step, f.Horizon)
	}
	return fmt.Sprintf("step %d / %d", f.Step, f.Horizon)
}

// title draws what is played, and which episode.
func (p *painter) title(f *Frame) {
	room := float64(p.w - 2*margin - p.time)
	title := p.short(f.Title, room, "bold", 17)
	p.text(title, margin, 24, 0, "bold", 17, ink)
	used := p.wide(title, "bold", 17)
	if f.Episode != "" && room-used > 60 {
		p.text(p.short(f.Episode, room-used-20, "regular", 13), margin+used+12, 25, 0, "regular", 13, faint)
	}
}

// bar draws the time that has passed.
func (p *painter) bar(f *Frame, y float64) {
	w := float64(p.w - 2*margin)
	p.box(margin, y, w, 5, 2.5, hair)
	if f.Step > 0 {
		p.box(margin, y, max(w*min(float64(f.Step)/float64(max(f.Horizon, 1)), 1), 5), 5, 2.5, accent)
	}
}

// drawWords draws a game without a board: its own text.
func (p *painter) drawWords(f *Frame) {
	p.box(0, 0, p.board, wordsTall, 8, tileA)
	const size, row = 15, 24
	at := 24.
	for _, line := range strings.Split(f.Words, "\n") {
		for _, l := range p.lines(line) {
			if at > wordsTall-12 {
				return
			}
			p.text(l, 16, at, 0, "mono", size, ink)
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

// row draws what is said about a seat, with a line below it unless it is the last.
func (p *painter) row(s game.Seat, pl *Player, last bool) {
	k := lookOf(s)
	const mid = seatTall/2 - 4
	c := ink
	if pl.Left > 0 {
		p.ring(s, 13, mid, 12, k.fill)
		c = faint
	} else {
		p.disc(s, 13, mid, 13)
	}
	p.text(p.short(pl.Name, 96, "bold", 15), 36, 11, 0, "bold", 15, c)
	p.text(num(pl.Return), stripWide, 11, 1, "bold", 16, ink)
	if pl.Reward != 0 {
		p.text(signed(pl.Reward), stripWide-54, 11, 1, "bold", 13, tone(pl.Reward))
	}
	p.text(p.short(pl.status(40), stripWide-36, "regular", 12), 36, 28, 0, "regular", 12, faint)
	if !last {
		p.box(0, seatTall-5, stripWide, 1, 0, hair)
	}
}

// legend draws things with their names, from the bottom of a place that is tall
// up, if there is room.
func (p *painter) legend(all []thing, tall float64) {
	const line = 26
	at := tall - margin - float64(line*((len(all)+1)/2))
	if at < 0 {
		return
	}
	for i, t := range all {
		cx, cy := 13+float64(i%2)*stripWide/2, at+line*(float64(i/2)+0.5)
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
		p.number(s, x, y, r*1.25, k.ink)
	}
}

// number writes a seat's on its disc, smaller where it has two digits.
func (p *painter) number(s game.Seat, x, y, size float64, c color.RGBA) {
	text := strconv.Itoa(int(s))
	if len(text) > 1 {
		size *= 0.8
	}
	p.text(text, x, y, 0.5, "bold", math.Round(size), c)
}

// listed returns how many of n seats have a row of their own: all, unless the last row must stand for
// the rest.
func listed(n int) int {
	if n > mostRows {
		return mostRows - 1
	}
	return n
}

// rest writes the row that stands for all seats from one on.
func (p *painter) rest(f *Frame, from int) {
	sum := 0.
	for _, pl := range f.Players[from:] {
		sum += pl.Return
	}
	n := len(f.Players) - from
	p.text(fmt.Sprintf("%d more, mean", n), 36, 11, 0, "bold", 15, ink)
	p.text(num(sum/float64(n)), stripWide, 11, 1, "bold", 16, ink)
}

// ring draws a seat that has left.
func (p *painter) ring(s game.Seat, x, y, r float64, c color.RGBA) {
	d := p.dc
	d.SetColor(c)
	d.SetLineWidth(max(r*0.16, 1.5))
	d.DrawCircle(x, y, r)
	d.Stroke()
	if r >= 5 {
		p.number(s, x, y, r*1.15, c)
	}
}

// Colours shared by the terminal and the GIF.
var (
	paper  = rgb(0xfbfaf7) // behind everything
	tileA  = rgb(0xf1ede2) // the board's two shades
	tileB  = rgb(0xe9e4d6)
	ink    = rgb(0x2b2d33)
	faint  = rgb(0x8d8f94)
	hair   = rgb(0xdad5c8) // thin lines
	good   = rgb(0x1b7f4b) // a reward
	bad    = rgb(0xb3261e) // a loss
	white  = rgb(0xffffff)
	accent = rgb(0x3b6ea8)
)

func hex(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

func rgb(v uint32) color.RGBA { return color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255} }

// mix returns a with a share t of b.
func mix(a, b color.RGBA, t float64) color.RGBA {
	m := func(x, y uint8) uint8 { return uint8(float64(x) + t*(float64(y)-float64(x)) + 0.5) }
	return color.RGBA{m(a.R, b.R), m(a.G, b.G), m(a.B, b.B), 255}
}

// seatLook is how a seat differs from the others: the colours are those of Okabe
// and Ito, which colour-blind people can tell apart, and the brackets do it
// where there is no colour at all.
type seatLook struct {
	fill, ink   color.RGBA
	left, right rune
}

var seatLooks = [...]seatLook{
	{rgb(0x0067a5), white, '(', ')'},
	{rgb(0xd55e00), white, '[', ']'},
	{rgb(0x00845f), white, '<', '>'},
	{rgb(0xb5548b), white, '{', '}'},
	{rgb(0xe8b000), rgb(0x2b2d33), '|', '|'},
	{rgb(0x56b4e9), rgb(0x2b2d33), '/', '/'},
	{rgb(0x6f5a9e), white, '\\', '\\'},
	{rgb(0x555a60), white, '!', '!'},
}

func lookOf(s game.Seat) seatLook { return seatLooks[int(s)%len(seatLooks)] }

// digit is a seat's sign where it has one column: 0 to 9, then a to z, A to Z, @ and &.
func digit(s game.Seat) rune {
	const signs = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ@&"
	return rune(signs[int(s)%len(signs)])
}

// thing is how a thing is shown. Its art is two lines of 5 columns, of which
// small cells show the first.
type thing struct {
	known  string     // the entry of things that it is; "": none
	word   string     // the name without numbers
	sign   rune       // on small boards and in plain text
	art    [2]string  // on larger cells of the terminal
	fill   color.RGBA // what the thing is drawn in
	ground color.RGBA // the tile below it; transparent: the board's own
	shape  shape      // in the GIF
	flat   bool       // it covers its tile, and seats stand on it
	level  string     // a number that belongs to the name, such as "2" of "food2"
}

// The known things, by their last word without digits.
var things = map[string]thing{
	"block":    {sign: '#', fill: rgb(0x3c4048), ground: rgb(0x3c4048), shape: drawBlock},
	"wall":     {sign: '#', fill: rgb(0x3c4048), ground: rgb(0x3c4048), shape: drawBlock},
	"stag":     {sign: 'S', art: [2]string{`\Y Y/`, ` (") `}, fill: rgb(0x7a4a21), ground: rgb(0xffd7af), shape: drawStag},
	"hare":     {sign: 'h', art: [2]string{`(\_/)`, `(o.o)`}, fill: rgb(0x83736b), ground: rgb(0xf7dcd6), shape: drawHare},
	"drift":    {sign: '*', art: [2]string{` .*. `, `.*^*.`}, fill: rgb(0x6d9fc4), ground: rgb(0xd6e8f5), shape: drawDrift},
	"snow":     {sign: '*', art: [2]string{` .*. `, `.*^*.`}, fill: rgb(0x6d9fc4), ground: rgb(0xd6e8f5), shape: drawDrift},
	"coin":     {sign: '$', art: [2]string{` ($) `}, fill: rgb(0xd9a400), ground: rgb(0xfbeebf), shape: drawCoin},
	"apple":    {sign: 'o', art: [2]string{` (') `}, fill: rgb(0xc0392b), ground: rgb(0xdcecc8), shape: drawApple},
	"food":     {sign: 'f', art: [2]string{` (') `}, fill: rgb(0xc0392b), ground: rgb(0xf6ddd3), shape: drawApple},
	"berry":    {sign: 'o', art: [2]string{` (') `}, fill: rgb(0x7b3fa0), ground: rgb(0xe9dcf2), shape: drawApple},
	"river":    {sign: '~', art: [2]string{`~ ~ ~`, ` ~ ~ `}, fill: rgb(0x5b9bc8), ground: rgb(0xc2dff0), shape: drawWaves, flat: true},
	"water":    {sign: '~', art: [2]string{`~ ~ ~`, ` ~ ~ `}, fill: rgb(0x5b9bc8), ground: rgb(0xc2dff0), shape: drawWaves, flat: true},
	"waste":    {sign: '%', art: [2]string{`%:%:%`, `:%:%:`}, fill: rgb(0x7a6a2f), ground: rgb(0xc9bd8b), shape: drawWaste, flat: true},
	"dirt":     {sign: '%', art: [2]string{`%:%:%`, `:%:%:`}, fill: rgb(0x7a6a2f), ground: rgb(0xc9bd8b), shape: drawWaste, flat: true},
	"polluted": {sign: '%', art: [2]string{`%:%:%`, `:%:%:`}, fill: rgb(0x7a6a2f), ground: rgb(0xc9bd8b), shape: drawWaste, flat: true},
	"orchard":  {sign: ',', art: [2]string{` ' , `}, fill: rgb(0x8fae6b), ground: rgb(0xe0ecd0), shape: drawGrass, flat: true},
	"grass":    {sign: ',', art: [2]string{` ' , `}, fill: rgb(0x8fae6b), ground: rgb(0xe0ecd0), shape: drawGrass, flat: true},
	"prey":     {sign: 'p', art: [2]string{` prey`}, fill: rgb(0xb3261e), ground: rgb(0xf8d9d4), shape: drawMark},
	"predator": {sign: '!', fill: rgb(0x2b2d33), shape: drawMark},
}

// thingOf returns how a thing of that name is shown. A number at the end of a
// coin's name is the seat it belongs to, and gives it that seat's colour.
func thingOf(name string) thing {
	base := strings.TrimRightFunc(name, unicode.IsDigit)
	level := name[len(base):]
	base = strings.TrimRight(base, " _-")
	word := base
	if i := strings.LastIndexAny(base, " _-"); i >= 0 {
		word = base[i+1:]
	}
	known := word
	t, ok := things[known]
	if !ok {
		known = strings.TrimSuffix(word, "s")
		t, ok = things[known]
	}
	t.known = known
	if !ok {
		h := fnv.New32a()
		h.Write([]byte(base))
		hue := seatLooks[h.Sum32()%uint32(len(seatLooks))].fill
		sign, _ := utf8.DecodeRuneInString(base)
		if sign == utf8.RuneError || sign > unicode.MaxASCII || unicode.IsDigit(sign) {
			sign = '?'
		}
		t = thing{sign: unicode.ToUpper(sign), fill: mix(hue, ink, 0.25), ground: mix(hue, white, 0.75), shape: drawMark}
		t.art[0] = fit(base, 5)
	}
	t.word = base
	t.level = level
	if word == "coin" && level != "" && len(level) < 3 {
		s := 0
		for _, d := range level {
			s = 10*s + int(d-'0')
		}
		t.fill = lookOf(game.Seat(s)).fill
		t.ground = mix(t.fill, white, 0.75)
	}
	return t
}
