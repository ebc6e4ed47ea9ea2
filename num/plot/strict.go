package plot

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"regexp"
	"strings"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// SVG draws the whole figure as a file by itself, on white.
func (f *Figure) SVG() ([]byte, error) {
	width, height := f.size()
	c := vgsvg.NewWith(vgsvg.UseWH(width, height))
	all := draw.New(c)
	all.FillPolygon(color.White, Box(0, 0, width, height))
	f.paint(all)
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("page: drawing %s: %w", f.Name, err)
	}
	return []byte(svgFont.ReplaceAllLiteralString(b.String(), "font-family:Liberation Sans,Arial,sans-serif;")), nil
}

var (
	svgTag   = regexp.MustCompile(`(?s)<svg .*?</svg>`)
	styleAtt = regexp.MustCompile(`\sstyle="([^"]*)"`)
)

// Strict returns the figure as a part of a page whose Content-Security-Policy refuses
// style attributes: those of drawings become attributes of their own, all others
// data-style, which the page's script applies.
func (f *Figure) Strict() (template.HTML, error) { return strict("figure", f) }

// Strict does the same with a table of colours.
func (h *Heat) Strict() (template.HTML, error) { return strict("heat", h) }

func strict(part string, v any) (template.HTML, error) {
	t, err := kit(part)
	var b bytes.Buffer
	if err == nil {
		err = t.ExecuteTemplate(&b, part, v)
	}
	if err != nil {
		return "", fmt.Errorf("page: making a %s: %w", part, err)
	}
	text := svgTag.ReplaceAllStringFunc(b.String(), func(svg string) string {
		return styleAtt.ReplaceAllStringFunc(svg, func(att string) string {
			var out strings.Builder
			for _, pair := range strings.Split(styleAtt.FindStringSubmatch(att)[1], ";") {
				if name, value, ok := strings.Cut(pair, ":"); ok {
					fmt.Fprintf(&out, ` %s="%s"`, strings.TrimSpace(name), strings.TrimSpace(value))
				}
			}
			return out.String()
		})
	})
	return template.HTML(styleAtt.ReplaceAllString(text, ` data-style="$1"`)), nil
}
