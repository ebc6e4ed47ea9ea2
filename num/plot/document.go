package plot

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"image/color"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	texttemplate "text/template"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/hop-marl/hop/num/disk"
)

//go:embed style.css
var style string

//go:embed parts.html
var parts string

// Document is a page and the same as text. Its files are NAME.html and NAME.md, and
// NAME.json where there are numbers for programs.
type Document struct {
	Name    string
	HTML    string // template of the page
	Text    string // template of the text
	Data    any
	Figures []*Figure
	Folder  string            // for the figures as PNG; "": beside the page
	Files   map[string][]byte // more files, by name
	JSON    any               // nil: none
	Context context.Context   // drawing stops when it ends; nil: never
}

// Page returns the page: one file, figures inside.
func (d *Document) Page() ([]byte, error) {
	t, err := kit(d.Name)
	if err == nil {
		t, err = t.Parse(d.HTML)
	}
	var b bytes.Buffer
	if err == nil {
		err = t.Execute(&b, d.Data)
	}
	if err != nil {
		return nil, fmt.Errorf("page: making %s.html: %w", d.Name, err)
	}
	return b.Bytes(), nil
}

// kit returns the parts that pages are made of.
func kit(name string) (*template.Template, error) {
	base64URL := func(kind string, b []byte) template.URL {
		return template.URL("data:image/" + kind + ";base64," + base64.StdEncoding.EncodeToString(b))
	}
	return template.New(name).Funcs(words).Funcs(template.FuncMap{
		"style": func() template.CSS { return template.CSS(style) },
		"svg":   Panel.svg,
		"image": base64URL,
		"key":   swatch,
		"goal":  func(i int, name string) template.CSS { return swatch(Goal(i, name)) },
		"who":   func(a int) template.CSS { return swatch(Key{Color: Agent(a)}) },
	}).Parse(parts)
}

// Markdown returns the text.
func (d *Document) Markdown() ([]byte, error) {
	t, err := texttemplate.New(d.Name).Funcs(words).Parse(d.Text)
	var b bytes.Buffer
	if err == nil {
		err = t.Execute(&b, d.Data)
	}
	if err != nil {
		return nil, fmt.Errorf("page: making %s.md: %w", d.Name, err)
	}
	return b.Bytes(), nil
}

// Write puts everything into a folder, which it makes.
func (d *Document) Write(dir string) error {
	media := filepath.Join(dir, d.Folder)
	err := os.MkdirAll(media, 0o755)
	if err == nil {
		_, err = disk.Below(dir, cmp.Or(d.Folder, ".")) // a link would lead to somebody else's files
	}
	if err != nil {
		return fmt.Errorf("page: making %s: %w; choose another folder with --out", media, err)
	}
	files := map[string][]byte{}
	for name, b := range d.Files {
		files[filepath.Join(dir, name)] = b
	}
	for _, f := range d.Figures {
		if d.Context != nil && d.Context.Err() != nil {
			return d.Context.Err()
		}
		b, err := f.PNG()
		if err != nil {
			return err
		}
		files[filepath.Join(media, f.Name+".png")] = b
	}
	if files[filepath.Join(dir, d.Name+".html")], err = d.Page(); err != nil {
		return err
	}
	if files[filepath.Join(dir, d.Name+".md")], err = d.Markdown(); err != nil {
		return err
	}
	if d.JSON != nil {
		b, err := disk.JSON(d.JSON)
		if err != nil {
			return fmt.Errorf("page: making %s.json: %w", d.Name, err)
		}
		files[filepath.Join(dir, d.Name+".json")] = b
	}
	for path, b := range files {
		if err := disk.Write(path, b); err != nil { // whole, since someone may be looking at it
			return fmt.Errorf("page: writing %s: %w; make room there, or copy the folder elsewhere", path, err)
		}
	}
	return nil
}

// Style returns the style sheet of all pages, for a server that sends it as a file.
func Style() string { return style }

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
