package plot

import (
	"html/template"
	"image/color"
	"math"
	"regexp"
	"strconv"
)

// The colours of all figures. In a page each is a variable of the style sheet,
// so that the same figure is light or dark.
var (
	Ink   = rgb(0x1f2328)
	Faint = rgb(0x66707b)
	hair  = rgb(0xdde1e6)
	ref   = rgb(0x8a6d3b)
	bad   = rgb(0xa3231c)
	none  = rgb(0xc3c8ce)
	white = rgb(0xffffff)
)

// agents are the colours of package play's seats (Okabe and Ito, darkened), which
// colour-blind people can tell apart.
var agents = []color.NRGBA{
	rgb(0x0067a5), rgb(0xd55e00), rgb(0x00845f), rgb(0xb5548b), rgb(0xe8b000), rgb(0x56b4e9), rgb(0x6f5a9e), rgb(0x555a60),
}

// goals differ from the agents' colours, and in lightness from each other.
var goals = []color.NRGBA{
	rgb(0x8c510a), rgb(0x7fc8bd), rgb(0x4a5fa5), rgb(0xe7a0c4), rgb(0x3f7d20), rgb(0xf2d16b), rgb(0x9a4d9e), rgb(0x8fb8de),
}

func rgb(v uint32) color.NRGBA { return color.NRGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255} }

// Fade returns a colour that lets so much of it through.
func Fade(c color.NRGBA, alpha float64) color.NRGBA {
	c.A = uint8(255*alpha + 0.5)
	return c
}

// Agent returns an agent's colour, that of text for nobody in particular (-1).
func Agent(a int) color.NRGBA {
	if a < 0 {
		return Ink
	}
	return agents[a%len(agents)]
}

// Goal returns the key of a goal. The goal "none" means that nothing was reached.
func Goal(i int, name string) Key {
	if name == "none" {
		return Key{Name: "nothing", Color: none, Area: true}
	}
	return Key{Name: name, Color: goals[i%len(goals)], Area: true}
}

var hex = regexp.MustCompile(`#[0-9A-F]{6}`)

// variables replaces colours by the variables of the style sheet. Faded colours
// come out of the drawing a little off, so the nearest is taken.
func variables(s string) string {
	return hex.ReplaceAllStringFunc(s, func(h string) string {
		v, err := strconv.ParseUint(h[1:], 16, 32)
		if err != nil {
			return h
		}
		return variable(rgb(uint32(v)))
	})
}

func variable(c color.NRGBA) (name string) {
	least := math.MaxInt
	try := func(prefix string, list ...color.NRGBA) {
		for i, n := range list {
			r, g, b := int(c.R)-int(n.R), int(c.G)-int(n.G), int(c.B)-int(n.B)
			if far := r*r + g*g + b*b; far < least {
				least, name = far, "var(--"+prefix+strconv.Itoa(i)+")"
			}
		}
	}
	try("c", Ink, Faint, hair, ref, none, white)
	try("a", agents...)
	try("g", goals...)
	return name
}

func swatch(k Key) template.CSS {
	c := variable(k.Color)
	if k.Dash {
		const line = ";width:1.35em;height:.2em;border-radius:0;vertical-align:.25em"
		return template.CSS("background:repeating-linear-gradient(90deg," + c + " 0 .35em,transparent .35em .5em)" + line)
	}
	return template.CSS("background:" + c)
}
