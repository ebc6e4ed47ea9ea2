package play

import (
	"fmt"
	"hash/fnv"
	"image/color"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hop-marl/hop/game"
)

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

// digit is a seat's sign on the board: 0 to 9, then a to z.
func digit(s game.Seat) rune {
	const signs = "0123456789abcdefghijklmnopqrstuvwxyz"
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
