package main

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"

	"github.com/hop-marl/hop/num/disk"
)

//go:embed page.html site.css search.js
var looks embed.FS

// source is where files lie that are no pages.
const source = "https://github.com/hop-marl/hop/blob/main/"

// site is all pages.
type site struct {
	pages []*page
	by    map[string]*page // by the path of its source
	files map[string]bool  // pictures and other files that pages show, which are copied
	index []entry
}

// page is one.
type page struct {
	Path, To string // of its source, and of what is made of it
	Title    string
	Chinese  bool
	Other    *page // in the other language
	text     []byte
	tree     ast.Node
	Body     template.HTML
}

// entry is a section to search.
type entry struct {
	URL   string `json:"u"`
	Title string `json:"t"`
	Text  string `json:"x"`
}

var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(html.WithUnsafe()), // our own comments and pictures
)

// ours are the pages: those at the top, of docs, and what examples and the Python package say of themselves.
var ours = regexp.MustCompile(`^(([A-Z][^/]*|docs/.*|examples/[^/]*/[^/]*|python/[^/]*))\.md$`)

// read finds and parses the pages.
func read(root fs.FS) (*site, error) {
	s := &site{by: map[string]*page{}, files: map[string]bool{}}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && name != "." && !slices.Contains([]string{"docs", "examples", "python"}, strings.Split(name, "/")[0]) {
				return fs.SkipDir
			}
			return err
		}
		if !ours.MatchString(name) {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		p := &page{Path: name, To: strings.TrimSuffix(name, ".md") + ".html", text: text, Chinese: strings.Contains(name, "zh")}
		p.To = strings.Replace(p.To, "README", "index", 1)
		s.pages, s.by[name] = append(s.pages, p), p
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, p := range s.pages {
		p.Other = s.by[cmp.Or(map[string]string{"README.md": "README.zh-CN.md", "README.zh-CN.md": "README.md"}[p.Path],
			strings.Replace(p.Path, "docs/zh/", "docs/", 1))]
		if !p.Chinese && p.Other == p {
			p.Other = s.by[strings.Replace(p.Path, "docs/", "docs/zh/", 1)]
		}
		p.tree = markdown.Parser().Parse(text.NewReader(p.text), parser.WithContext(parser.NewContext(parser.WithIDs(ids{}))))
	}
	for _, p := range s.pages {
		if err := s.render(p, root); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// ids names sections as GitHub does.
type ids map[string]int

// Generate returns the name of a section.
func (used ids) Generate(value []byte, _ ast.NodeKind) []byte {
	name := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(linked.ReplaceAllString(string(value), "$1")))
	n := used[name]
	if used[name]++; n > 0 {
		name = fmt.Sprintf("%s-%d", name, n)
	}
	return []byte(name)
}

// Put is of names that are given, which we have none of.
func (ids) Put([]byte) {}

var linked = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// render makes a page, with its links led to where they are in the site.
func (s *site) render(p *page, root fs.FS) error {
	section := &entry{URL: p.To}
	err := ast.Walk(p.tree, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
		if !enter {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			n.Destination = []byte(s.link(p, string(n.Destination), root))
		case *ast.Image:
			n.Destination = []byte(s.link(p, string(n.Destination), root))
		case *ast.Heading:
			title := string(plain(n, p.text))
			if n.Level == 1 && p.Title == "" {
				p.Title = title
				section.Title = title
				break
			}
			s.add(section)
			id, _ := n.AttributeString("id")
			section = &entry{URL: p.To + "#" + string(id.([]byte)), Title: p.Title + " › " + title}
		case *ast.Paragraph, *ast.TextBlock:
			section.Text += string(plain(n, p.text)) + " "
		case *ast.FencedCodeBlock:
			for i := range n.Lines().Len() {
				line := n.Lines().At(i)
				section.Text += string(line.Value(p.text))
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return err
	}
	s.add(section)
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, p.text, p.tree); err != nil {
		return err
	}
	p.Body = template.HTML(b.String())
	p.Title = cmp.Or(p.Title, p.Path)
	return nil
}

// add adds a section to the index.
func (s *site) add(e *entry) {
	if e.Title != "" {
		s.index = append(s.index, entry{e.URL, e.Title, strings.Join(strings.Fields(strings.ToLower(e.Text)), " ")})
	}
}

// plain is what a node says, without marks.
func plain(n ast.Node, source []byte) (b []byte) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b = append(b, t.Segment.Value(source)...)
			if t.SoftLineBreak() {
				b = append(b, ' ')
			}
			continue
		}
		b = append(b, plain(c, source)...)
	}
	return b
}

// link is where a link of a page leads: to a page or picture of the site, else to the repository.
func (s *site) link(from *page, to string, root fs.FS) string {
	target, anchor, _ := strings.Cut(to, "#")
	if target == "" || strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
		return to
	}
	if anchor != "" {
		anchor = "#" + anchor
	}
	file := path.Join(path.Dir(from.Path), target)
	if p := s.by[file]; p != nil {
		return relative(from.To, p.To) + anchor
	}
	if at, err := fs.Stat(root, file); err == nil && !at.IsDir() && slices.Contains([]string{".png", ".gif", ".svg"}, path.Ext(file)) {
		s.files[file] = true
		return relative(from.To, file)
	}
	return source + file + anchor
}

// relative is the way from a page to a file.
func relative(from, to string) string {
	return strings.Repeat("../", strings.Count(from, "/")) + to
}

// Up is the way from a page to the top.
func (p *page) Up() string { return relative(p.To, "") }

// part is a headline of the list of pages.
type part struct {
	Name  string
	Pages []*page
}

// parts is the list of pages in one language.
func (s *site) parts(chinese bool) (list []part) {
	for _, g := range []struct {
		name, chinese string
		of            *regexp.Regexp
	}{
		{"hop", "hop", regexp.MustCompile(`^[^/]*\.md$`)},
		{"Guides", "指南", regexp.MustCompile(`^docs/(zh/)?[^/]*\.md$`)},
		{"Algorithms", "算法", regexp.MustCompile(`^docs/algorithms/`)},
		{"Games", "游戏", regexp.MustCompile(`^docs/games/`)},
		{"Questions", "问题", regexp.MustCompile(`^docs/questions/`)},
		{"Results", "结果", regexp.MustCompile(`^docs/results/`)},
		{"Examples", "例子", regexp.MustCompile(`^(examples|python)/`)},
	} {
		p := part{Name: g.name}
		if chinese {
			p.Name = g.chinese
		}
		for _, one := range s.pages {
			if one.Chinese == chinese && g.of.MatchString(one.Path) {
				p.Pages = append(p.Pages, one)
			}
		}
		if len(p.Pages) > 0 {
			list = append(list, p)
		}
	}
	return list
}

// write writes the site.
func (s *site) write(root, out string) error {
	t, err := template.ParseFS(looks, "page.html")
	if err != nil {
		return err
	}
	made := map[string][]byte{}
	for _, p := range s.pages {
		var b bytes.Buffer
		err := t.Execute(&b, map[string]any{"Page": p, "Parts": s.parts(p.Chinese), "Up": p.Up(), "To": relative(p.To, "")})
		if err != nil {
			return err
		}
		made[p.To] = b.Bytes()
	}
	for file := range s.files {
		if made[file], err = os.ReadFile(filepath.Join(root, filepath.FromSlash(file))); err != nil {
			return err
		}
	}
	index, err := json.Marshal(s.index)
	if err != nil {
		return err
	}
	made["index.js"] = fmt.Appendf(nil, "const index = %s;\n", index)
	for _, name := range []string{"site.css", "search.js"} {
		if made[name], err = looks.ReadFile(name); err != nil {
			return err
		}
	}
	for name, b := range made {
		to := filepath.Join(out, filepath.FromSlash(name))
		if err := cmp.Or(disk.Make(filepath.Dir(to)), os.WriteFile(to, b, 0o644)); err != nil {
			return err
		}
	}
	return nil
}
