package deps

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"
)

const longest = 140 // characters of a line; a tab is one

// source is a text file of the module by its path from the root. A Go file
// comes parsed.
type source struct {
	path string
	text string
	fset *token.FileSet
	file *ast.File // nil: not Go
}

// eachFile visits the text files that nobody generated, but not in some folders.
func eachFile(t *testing.T, visit func(s source)) {
	t.Helper()
	list, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		visit(s)
	}
}

// sources reads and parses them, once for all tests.
var sources = sync.OnceValues(func() (list []source, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			hidden := strings.HasPrefix(d.Name(), ".") && path != root
			if hidden || d.Name() == "testdata" || d.Name() == "runs" {
				return filepath.SkipDir
			}
			return nil
		}
		if ext := filepath.Ext(rel); ext != ".go" && ext != ".md" && ext != ".yaml" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		s := source{path: rel, text: string(text)}
		if strings.HasSuffix(rel, ".go") {
			s.fset = token.NewFileSet()
			if s.file, err = parser.ParseFile(s.fset, rel, text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
				return err
			}
			if ast.IsGenerated(s.file) {
				return nil
			}
		}
		list = append(list, s)
		return nil
	})
	return list, err
})

func TestDeclaredNames(t *testing.T) {
	page, err := os.ReadFile(root + "/docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	retired, err := retiredWords(string(page))
	if err != nil {
		t.Fatal(err)
	}
	eachFile(t, func(s source) {
		if s.file == nil {
			return
		}
		for _, fault := range badNames(s.file, s.fset, retired) {
			t.Error(fault)
		}
	})
}

func TestLinesAndText(t *testing.T) {
	eachFile(t, func(s source) {
		tags := tagsOf(s)
		for i, line := range strings.Split(s.text, "\n") {
			line = strings.TrimSuffix(line, tags[i+1])
			if fault := badLine(line, s.file != nil); fault != "" && s.path != "docs/faults.md" {
				t.Errorf("%s:%d: %s", s.path, i+1, fault)
			}
		}
	})
}

// The page of the field's faults names tests that there are, and whoever links
// to one of its sections finds it.
func TestThePageOfFaultsIsTrue(t *testing.T) {
	page := ""
	tests, links := map[string]bool{}, map[string]string{}
	eachFile(t, func(s source) {
		if s.path == "docs/faults.md" {
			page = s.text
		}
		for _, m := range anchor.FindAllStringSubmatch(s.text, -1) {
			links[m[1]] = s.path
		}
		if s.file == nil {
			return
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Test") {
				tests[f.Name.Name] = true
			}
		}
	})
	for _, fault := range brokenLinks(page, tests, links) {
		t.Error(fault)
	}
}

var (
	anchor = regexp.MustCompile(`faults\.md#([a-z-]+)`)
	named  = regexp.MustCompile("`(Test[A-Za-z]+)`")
)

func brokenLinks(page string, tests map[string]bool, links map[string]string) (faults []string) {
	heads := map[string]bool{}
	for _, line := range strings.Split(page, "\n") {
		if h, ok := strings.CutPrefix(line, "## "); ok {
			heads[strings.ReplaceAll(strings.ToLower(h), " ", "-")] = true
		}
	}
	for to, from := range links {
		if !heads[to] {
			faults = append(faults, fmt.Sprintf("%s links to docs/faults.md#%s, which there is not", from, to))
		}
	}
	for _, m := range named.FindAllStringSubmatch(page, -1) {
		if !tests[m[1]] {
			faults = append(faults, fmt.Sprintf("docs/faults.md names %s, which there is not", m[1]))
		}
	}
	return faults
}

// retiredWords reads the left column of the table.
func retiredWords(page string) (map[string]string, error) {
	_, section, ok := strings.Cut(page, "## Words that are retired\n")
	if !ok {
		return nil, fmt.Errorf("docs/architecture.md has no section %q", "Words that are retired")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	words := map[string]string{}
	for _, line := range strings.Split(section, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || strings.Contains(cells[1], "---") || strings.TrimSpace(cells[1]) == "retired" {
			continue
		}
		for _, w := range strings.Split(cells[1], ",") {
			words[strings.TrimSpace(w)] = strings.TrimSpace(cells[2])
		}
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("docs/architecture.md retires no word")
	}
	return words, nil
}

// badNames returns the declared names that contain a retired word, or hide
// something that is built into Go. Methods and fields hide nothing.
func badNames(file *ast.File, fset *token.FileSet, retired map[string]string) (faults []string) {
	say := func(id *ast.Ident, format string, args ...any) {
		faults = append(faults, fset.Position(id.Pos()).String()+": "+id.Name+fmt.Sprintf(format, args...))
	}
	declared := func(id *ast.Ident, hides bool) {
		if id == nil {
			return
		}
		for _, w := range wordsOf(id.Name) {
			if instead, ok := retired[w]; ok {
				say(id, ": the word %s is retired; there are: %s", w, instead)
			}
		}
		if hides && types.Universe.Lookup(id.Name) != nil {
			say(id, " is built into Go and must not be hidden")
		}
	}
	exprs := func(list ...ast.Expr) {
		for _, e := range list {
			if id, ok := e.(*ast.Ident); ok {
				declared(id, true)
			}
		}
	}
	fields := func(list *ast.FieldList, hides bool) {
		if list == nil {
			return
		}
		for _, f := range list.List {
			for _, id := range f.Names {
				declared(id, hides)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			declared(n.Name, true)
		case *ast.FuncDecl:
			declared(n.Name, n.Recv == nil)
			fields(n.Recv, true)
		case *ast.FuncType:
			fields(n.TypeParams, true)
			fields(n.Params, true)
			fields(n.Results, true)
		case *ast.TypeSpec:
			declared(n.Name, true)
			fields(n.TypeParams, true)
		case *ast.StructType:
			fields(n.Fields, false)
		case *ast.InterfaceType:
			fields(n.Methods, false)
		case *ast.ValueSpec:
			for _, id := range n.Names {
				declared(id, true)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				exprs(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				exprs(n.Key, n.Value)
			}
		case *ast.LabeledStmt:
			declared(n.Label, false)
		}
		return true
	})
	return faults
}

// wordsOf splits a name where its case changes and where there are no letters.
func wordsOf(name string) []string {
	var words []string
	var word []rune
	rs := []rune(name)
	for i, r := range rs {
		capital := unicode.IsUpper(r) && (i == 0 || !unicode.IsUpper(rs[i-1]) || i+1 < len(rs) && unicode.IsLower(rs[i+1]))
		if (capital || !unicode.IsLetter(r)) && len(word) > 0 {
			words = append(words, string(word))
			word = nil
		}
		if unicode.IsLetter(r) {
			word = append(word, unicode.ToLower(r))
		}
	}
	return append(words, string(word))
}

// tagsOf returns the struct tags of a file by the lines that they end. They cannot
// be broken, and what a field means stands in them, so they count for nothing in
// a line's length.
func tagsOf(s source) map[int]string {
	tags := map[int]string{}
	if s.file == nil {
		return tags
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if f, ok := n.(*ast.Field); ok && f.Tag != nil {
			tags[s.fset.Position(f.Tag.Pos()).Line] = f.Tag.Value
		}
		return true
	})
	return tags
}

// riddle is a number that a reader of the code cannot look up.
var riddle = regexp.MustCompile(`\b([Ff]ault [0-9]|notes? 00[0-9]|SPEC [0-9])`)

func badLine(line string, code bool) string {
	if r := riddle.FindString(line); r != "" {
		return fmt.Sprintf("%q: name the thing, or link to docs/faults.md", r)
	}
	if n := utf8.RuneCountInString(line); code && n > longest {
		return fmt.Sprintf("%d characters, more than %d", n, longest)
	}
	return ""
}

// The checks themselves are proved on text that breaks each rule.
func TestBadNamesAreSeen(t *testing.T) {
	retired, err := retiredWords("# X\n## Words that are retired\n\n| retired | instead |\n|---|---|\n" +
		"| way, ways | steps |\n| cast | team |\n\n## Y\n| tree | no |\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ src, want string }{
		{"type wayOut int", "wayOut: the word way"},
		{"type T struct { castOf int }", "castOf: the word cast"},
		{"type T interface { HTTPWays() }", "HTTPWays: the word ways"},
		{"func way() {}", "way: the word way"},
		{"func (T) Cast2() {}", "Cast2: the word cast"},
		{"func f(cast int) {}", "cast: the word cast"},
		{"func f() (cast int) { return }", "cast: the word cast"},
		{"func f() { a, way := 1, 2 }", "way: the word way"},
		{"func f() { for way := range 3 {} }", "way: the word way"},
		{"func f() { for _, way := range x {} }", "way: the word way"},
		{"func f() { var way int }", "way: the word way"},
		{"func f() { way: for {} }", "way: the word way"},
		{"const noWay = 1", "noWay: the word way"},
		{"var f = func(ways int) {}", "ways: the word ways"},
		{"import ways \"fmt\"", "ways: the word ways"},
		{"func f[cast any]() {}", "cast: the word cast"},
		{"func f() { way = 1; x.cast(ways) }", ""},
		{"type always struct { tree, castle, Subway int }", ""},
		{"func f(min int) {}", "min is built into Go"},
		{"func f() { cap := 1 }", "cap is built into Go"},
		{"func f() { for len := range 3 {} }", "len is built into Go"},
		{"func max() {}", "max is built into Go"},
		{"type any int", "any is built into Go"},
		{"func f() { switch new := x.(type) {} }", "new is built into Go"},
		{"func (copy T) f() {}", "copy is built into Go"},
		{"func f[real any]() {}", "real is built into Go"},
		{"var g = func(print int) {}", "print is built into Go"},
		{"type T struct { len, copy int }", ""},
		{"type T interface { close() }", ""},
		{"func (T) new() { min = 3; _ = x }", ""},
	} {
		s := parse(t, "x.go", "package x\n"+c.src)
		got := strings.Join(badNames(s.file, s.fset, retired), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) || strings.Contains(got, "\n") {
			t.Errorf("%s: got %q, want %q once", c.src, got, c.want)
		}
	}
	for _, page := range []string{"# X\n", "## Words that are retired\n\nnone\n"} {
		if _, err := retiredWords(page); err == nil {
			t.Errorf("a page without the words is taken: %q", page)
		}
	}
}

func TestBadLinesAreSeen(t *testing.T) {
	for _, c := range []struct {
		line string
		code bool
		bad  bool
	}{
		{strings.Repeat("ä", longest), true, false},
		{strings.Repeat("ä", longest+1), true, true},
		{strings.Repeat("x", longest+1), false, false},
		{"as in Fault" + " 7 of them", false, true},
		{"as in note" + " 004", true, true},
		{"as in notes" + " 000 and 001", true, true},
		{"as SPEC" + " 3 has it", false, true},
		{"default 4, note 12, SPEC.md", false, false},
	} {
		if got := badLine(c.line, c.code); (got != "") != c.bad {
			t.Errorf("%q: got %q", c.line, got)
		}
	}
	long := parse(t, "x.go", "package x\ntype T struct {\n\tA int `doc:\""+strings.Repeat("x", longest)+"\"`\n}\n")
	if tag := tagsOf(long)[3]; !strings.HasPrefix(tag, "`doc:") || !strings.HasSuffix(tag, "`") {
		t.Errorf("the tag of line 3 is %q", tag)
	}
	links := map[string]string{"a-fault": "x.go", "another": "y.md"}
	got := strings.Join(brokenLinks("## A fault\n`TestA`, `TestB`\n", map[string]bool{"TestA": true}, links), "\n")
	if want := "y.md links to docs/faults.md#" + "another, which there is not\ndocs/faults.md names TestB, which there is not"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
