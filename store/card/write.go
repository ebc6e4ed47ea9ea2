package card

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/plot"
)

//go:embed card.html
var pageText string

//go:embed card.md
var markdownText string

func (c *Card) document() *plot.Document {
	return &plot.Document{Name: "card", HTML: pageText, Text: markdownText, Data: c, Figures: c.Figures}
}

// Write puts the card into a folder, which it makes: card.json, card.md,
// card.html and one PNG per figure.
func (c *Card) Write(dir string) error {
	d := c.document()
	d.JSON = c
	return d.Write(dir)
}

// Markdown returns the card as text; figures are linked by file name.
func (c *Card) Markdown() string {
	b, err := c.document().Markdown()
	if err != nil {
		panic("card: the template does not fit its data")
	}
	return string(b)
}

// Shown writes the value.
func (n Number) Shown() string { return show(n.Value, n.Unit) }

// Beside writes what is reached without learning.
func (n Number) Beside() string {
	var list []string
	for _, r := range n.Baselines {
		list = append(list, r.Shown())
	}
	return strings.Join(list, ", ")
}

// Grade writes where the value lies, "" if there is nothing to compare it with.
func (n Number) Grade() string {
	if s := n.Finding().Status; s != check.NotAsked {
		return s.Grade()
	}
	return ""
}

// Shown writes the name and the value.
func (r Ref) Shown() string { return r.Name + " " + show(r.Value, "") }

// Loose reports whether a limit of the card may be passed.
func (c *Card) Loose() bool {
	return slices.ContainsFunc(c.Numbers, func(n Number) bool { return n.Limit != nil && n.Limit.Loose })
}

// Label returns the number's name with the direction that is better.
func (n Number) Label() string {
	if n.Lower {
		return n.Name + " ↓"
	}
	return n.Name
}
