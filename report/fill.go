package report

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"strings"
	texttemplate "text/template"

	"gonum.org/v1/plot/vg"
)

// heatStyle is what tables of colours need beyond the report's style sheet.
const heatStyle = `
table.heat td, table.heat th { border: 2px solid var(--card); text-align: center; padding: .42rem .7rem; }
table.heat th { color: var(--ink); font-weight: 500; }
table.heat th:first-child { text-align: right; }
table.heat small { display: block; font-size: .74em; font-weight: 400; line-height: 1.2; }
table.heat td.best { font-weight: 700; outline: 2px solid var(--ink); outline-offset: -4px; border-radius: 5px; }
`

// sheetText is the style sheet that all pages share.
func sheetText() string {
	_, rest, _ := strings.Cut(pageText, "<style>")
	css, _, _ := strings.Cut(rest, "</style>")
	return css + heatStyle
}

// fillPage makes a page of its own in the report's style: one file, figures
// inside.
func fillPage(text string, data any) ([]byte, error) {
	var drawErr error
	svg := func(p panel, class string, w vg.Length) string {
		s, err := p.svg(class, w)
		drawErr = errors.Join(drawErr, err)
		return s
	}
	t, err := template.New("page").Funcs(words).Funcs(template.FuncMap{
		"style": func() template.CSS { return template.CSS(sheetText()) },
		"svg": func(p panel) template.HTML {
			if p.w < wideW {
				return template.HTML(svg(p, "", p.w))
			}
			return template.HTML(svg(p, "big", p.w) + svg(p, "slim", slimW))
		},
		"key": func(k legendKey) template.CSS { return template.CSS("background:" + cssColor(k.Color)) },
		"who": func(a int) template.CSS { return template.CSS("background:" + cssColor(agentColor(a))) },
	}).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("report: reading a page's template: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return nil, fmt.Errorf("report: writing a page: %w", err)
	}
	return b.Bytes(), drawErr
}

// fillText makes the same as text.
func fillText(text string, data any) ([]byte, error) {
	t, err := texttemplate.New("text").Funcs(words).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("report: reading a text's template: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return nil, fmt.Errorf("report: writing a text: %w", err)
	}
	return b.Bytes(), nil
}
