package card

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"strings"
)

// Write puts the card into a folder, which it makes: card.json, card.md,
// card.html and one PNG per figure.
func (c *Card) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("card: making the folder: %w", err)
	}
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("card: writing JSON: %w", err)
	}
	files := map[string][]byte{"card.json": append(b, '\n'), "card.md": []byte(c.Markdown()), "card.html": []byte(c.HTML(true))}
	for _, f := range c.Figures {
		files[f.Name+".png"] = f.PNG
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			return fmt.Errorf("card: writing: %w", err)
		}
	}
	return nil
}

// cells returns a number's row of the table.
func (n Number) cells() (value, baselines, limit string) {
	value = show(n.Value, n.Unit)
	var bs []string
	for _, r := range n.Baselines {
		bs = append(bs, r.Name+" "+show(r.Value, ""))
	}
	if n.Limit != nil {
		limit = n.Limit.Name + " " + show(n.Limit.Value, "")
	}
	return value, strings.Join(bs, ", "), limit
}

// Label returns the number's name with the direction that is better.
func (n Number) Label() string {
	if n.Lower {
		return n.Name + " ↓"
	}
	return n.Name
}

var pipe = strings.NewReplacer("|", "\\|", "\n", " ")

// Markdown returns the card as text; figures are linked by file name.
func (c *Card) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n**Verdict: %s**\n", c.Title, c.Verdict())
	if c.Lead != "" {
		fmt.Fprintf(&b, "\n%s\n", c.Lead)
	}
	if len(c.Numbers) > 0 {
		b.WriteString("\n| number | value | rows | without learning | limit |\n|---|---|---|---|---|\n")
		for _, n := range c.Numbers {
			v, bs, l := n.cells()
			rows := ""
			if n.N > 0 {
				rows = fmt.Sprint(n.N)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", pipe.Replace(n.Label()), v, rows, pipe.Replace(bs), pipe.Replace(l))
		}
	}
	if len(c.Checks) > 0 {
		b.WriteString("\n| check | | why | what to do |\n|---|---|---|---|\n")
		for _, k := range c.Checks {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", pipe.Replace(k.Name), k.Status, pipe.Replace(k.Why), pipe.Replace(k.Fix))
		}
	}
	for _, f := range c.Figures {
		fmt.Fprintf(&b, "\n![%s](%s.png)\n", f.Title, f.Name)
		if f.Caption != "" {
			fmt.Fprintf(&b, "\n%s\n", f.Caption)
		}
	}
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "\n%s\n", n)
	}
	return b.String()
}

var page = template.Must(template.New("card").Parse(`<section class="card card-{{.Status}}">
<h2>{{.Title}}</h2>
<p class="verdict {{.Status}}"><strong>{{.Verdict}}</strong></p>
{{with .Lead}}<p>{{.}}</p>
{{end}}{{with .Rows}}<table class="numbers"><thead><tr><th>number</th><th>value</th><th>rows</th><th>without learning</th><th>limit</th></tr></thead><tbody>
{{range .}}<tr><td>{{.Name}}</td><td>{{.Value}}</td><td>{{with .N}}{{.}}{{end}}</td><td>{{.Baselines}}</td><td>{{.Limit}}</td></tr>
{{end}}</tbody></table>
{{end}}{{with .Checks}}<table class="checks"><thead><tr><th>check</th><th></th><th>why</th><th>what to do</th></tr></thead><tbody>
{{range .}}<tr class="{{.Status}}"><td>{{.Name}}</td><td>{{.Status}}</td><td>{{.Why}}</td><td>{{.Fix}}</td></tr>
{{end}}</tbody></table>
{{end}}{{range .Figures}}<figure><img src="{{.Src}}" alt="{{.Title}}" style="max-width:100%"><figcaption>{{.Title}}{{with .Caption}}. {{.}}{{end}}</figcaption></figure>
{{end}}{{range .Notes}}<p class="note">{{.}}</p>
{{end}}</section>
`))

// HTML returns the card as a section of a page, without a style sheet. Figures
// are linked by file name, or put in whole, so that the page can be mailed.
func (c *Card) HTML(whole bool) string {
	type row struct {
		Name, Value, Baselines, Limit string
		N                             int
	}
	type fig struct {
		Src            template.URL
		Title, Caption string
	}
	data := struct {
		Title, Verdict, Lead string
		Status               Status
		Rows                 []row
		Checks               []Check
		Figures              []fig
		Notes                []string
	}{Title: c.Title, Verdict: c.Verdict(), Lead: c.Lead, Status: c.Status(), Checks: c.Checks, Notes: c.Notes}
	for _, n := range c.Numbers {
		v, bs, l := n.cells()
		data.Rows = append(data.Rows, row{n.Label(), v, bs, l, n.N})
	}
	for _, f := range c.Figures {
		src := template.URL(f.Name + ".png")
		if whole {
			src = f.dataURL()
		}
		data.Figures = append(data.Figures, fig{src, f.Title, f.Caption})
	}
	var b bytes.Buffer
	if err := page.Execute(&b, data); err != nil {
		panic("card: the template does not fit its data")
	}
	return b.String()
}
