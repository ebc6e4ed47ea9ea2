package deps

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A decision and an update of HOP are calls of functions of parts, and nothing else; the page
// names these calls in their order, between others, and everything that it names exists.
func TestTheStrangersPathIsTrue(t *testing.T) {
	page, all, hop := "", declared{}, declared{}
	eachFile(t, func(s source) {
		if s.path == "docs/architecture.md" {
			page = s.text
		}
		if s.file == nil || strings.HasSuffix(s.path, "_test.go") {
			return
		}
		all.add(s.file)
		if path.Dir(s.path) == "agent/hop" {
			hop.add(s.file)
		}
	})
	for _, fault := range lost(page, all, hop) {
		t.Error(fault)
	}
}

// paths are the parts of the section. The first two lead through all calls of a function that is one screen, the
// others from caller to called.
var paths = []struct{ from, through string }{
	{"From an observation to an action", "player.Act"},
	{"From a window to new weights", "Mind.Learn"},
	{"From `hop train` to the first window", ""},
	{"From `hop audit` to a sentence", ""},
}

// mostStops is how many stops a path may have at most.
const mostStops = 15

// stop is one.
var stop = regexp.MustCompile(`(?m)^\d+\. .*`)

// quoted is a function's name: of a package, or of a type, with or without its package.
var quoted = regexp.MustCompile("`((?:[a-z]+\\.)?[A-Za-z]+\\.[A-Za-z]+)`")

// lost lists what is wrong with the section.
func lost(page string, all, hop declared) (faults []string) {
	_, section, ok := strings.Cut(page, "## A stranger's path\n")
	if !ok {
		return []string{"docs/architecture.md has no section on a stranger's path"}
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var walked []string
	for i, p := range paths {
		_, part, ok := strings.Cut(section, p.from)
		if i+1 < len(paths) {
			part, _, _ = strings.Cut(part, paths[i+1].from)
		}
		if !ok {
			faults = append(faults, fmt.Sprintf("there is no path %q", p.from))
			continue
		}
		if len(stop.FindAllString(part, -1)) > mostStops {
			faults = append(faults, fmt.Sprintf("the path %q has more than %d stops", p.from, mostStops))
		}
		var names, stops []string
		for _, line := range stop.FindAllString(part, -1) {
			for _, q := range quoted.FindAllStringSubmatch(line, -1) {
				stops = append(stops, q[1])
			}
		}
		for _, q := range quoted.FindAllStringSubmatch(part, -1) {
			if names = append(names, q[1]); !all.has(q[1]) {
				faults = append(faults, fmt.Sprintf("the path names `%s`, and there is no such function", q[1]))
			}
		}
		if p.through == "" {
			faults = append(faults, all.strays(walked, stops)...)
		}
		if walked = append(walked, stops...); p.through == "" {
			continue
		}
		calls, bad := hop.calls(p.through)
		faults = append(faults, bad...)
		at := 0
		for _, call := range append([]string{p.through}, calls...) {
			next := slices.IndexFunc(names[at:], func(n string) bool { return n == call || n == "hop."+call })
			if next < 0 {
				faults = append(faults, fmt.Sprintf("%s calls %s, which the path does not name in its place", p.through, call))
				continue
			}
			at += next + 1
		}
	}
	return faults
}

// strays lists what a path names that no function named before calls, here or in the paths before it, or only before
// what the path named of it last.
func (d *declared) strays(before, names []string) (faults []string) {
	var on []*body
	for i, name := range slices.Concat(before, names) {
		words := strings.Split(name, ".")
		of, last := words[len(words)-2], words[len(words)-1]
		f := d.funcs[of+"."+last]
		if f == nil || f.Recv != nil {
			of = "" // a method, of any type
		}
		calls := func(b *body) bool { return b.reach(of, last) }
		if i > len(before) && !slices.ContainsFunc(on, calls) {
			faults = append(faults, fmt.Sprintf("the path names `%s`, which nothing named before it calls there", name))
		}
		for _, b := range d.bodies[words[len(words)-2]+"."+last] {
			on = slices.Insert(on, 0, &body{b, token.NoPos})
		}
	}
	return faults
}

// body is a function's, and how far a path has come in it.
type body struct {
	*ast.BlockStmt
	at token.Pos
}

// reach goes on to the next call of a package's function, or of a method if no package is given, if there is one.
func (b *body) reach(of, name string) (ok bool) {
	ast.Inspect(b.BlockStmt, func(n ast.Node) bool {
		call, _ := n.(*ast.CallExpr)
		if ok || call == nil || call.Rparen <= b.at {
			return !ok
		}
		fun := call.Fun
		if typed, is := fun.(*ast.IndexExpr); is {
			fun = typed.X
		}
		switch fun := fun.(type) {
		case *ast.Ident:
			ok = fun.Name == name && call.Lparen > b.at
		case *ast.SelectorExpr:
			x, _ := fun.X.(*ast.Ident)
			ok = fun.Sel.Name == name && call.Lparen > b.at && (of == "" || x != nil && x.Name == of)
		}
		if ok {
			b.at = call.Lparen
		}
		return !ok
	})
	return ok
}

// declared is what packages declare.
type declared struct {
	funcs  map[string]*ast.FuncDecl     // by name, by package and name, by type and name
	types  map[string]map[string]string // of a struct's fields; the methods of an interface have the type ""
	embeds map[string][]string
	bodies map[string][]*ast.BlockStmt // of functions, by the names of funcs: packages have types of the same name
}

// add adds a file's.
func (d *declared) add(f *ast.File) {
	if d.funcs == nil {
		d.funcs, d.types, d.embeds = map[string]*ast.FuncDecl{}, map[string]map[string]string{}, map[string][]string{}
		d.bodies = map[string][]*ast.BlockStmt{}
	}
	for _, decl := range f.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			of := f.Name.Name
			if decl.Recv != nil {
				of = nameOf(decl.Recv.List[0].Type)
			}
			d.funcs[of+"."+decl.Name.Name] = decl
			if decl.Body != nil {
				d.bodies[of+"."+decl.Name.Name] = append(d.bodies[of+"."+decl.Name.Name], decl.Body)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					d.addType(t)
				}
			}
		}
	}
}

func (d *declared) addType(t *ast.TypeSpec) {
	var list *ast.FieldList
	switch x := t.Type.(type) {
	case *ast.StructType:
		list = x.Fields
	case *ast.InterfaceType:
		list = x.Methods
	default:
		return
	}
	members := map[string]string{}
	for _, f := range list.List {
		if len(f.Names) == 0 {
			d.embeds[t.Name.Name] = append(d.embeds[t.Name.Name], nameOf(f.Type))
		}
		for _, name := range f.Names {
			members[name.Name] = nameOf(f.Type)
		}
	}
	d.types[t.Name.Name] = members
}

// nameOf returns the name of a type, of what it points to or of what it is an instance of; "" if it has none.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return nameOf(e.X)
	case *ast.IndexExpr:
		return nameOf(e.X)
	case *ast.IndexListExpr:
		return nameOf(e.X)
	}
	return ""
}

// has reports that a function, a method, or a method of an interface exists.
func (d *declared) has(name string) bool {
	words := strings.Split(name, ".")
	of, last := words[len(words)-2], words[len(words)-1]
	method, is := d.types[of][last]
	return d.funcs[of+"."+last] != nil || is && method == ""
}

// find returns which type a member of a type belongs to, itself or what it embeds, and the
// type of the member, if it is a field.
func (d *declared) find(of, member string) (owner, field string, ok bool) {
	if field, ok := d.types[of][member]; ok || d.funcs[of+"."+member] != nil {
		return of, field, true
	}
	for _, e := range d.embeds[of] {
		if owner, field, ok := d.find(e, member); ok {
			return owner, field, true
		}
	}
	return "", "", false
}

// calls returns what a method calls, one a statement: functions of the parts that its
// receiver has, or of the receiver. Anything else is at fault, but a return at the end.
func (d *declared) calls(method string) (list, faults []string) {
	f := d.funcs[method]
	if f == nil {
		return nil, []string{"there is no " + method}
	}
	of, _, _ := strings.Cut(method, ".")
	me := f.Recv.List[0].Names[0].Name
	for i, s := range f.Body.List {
		var call *ast.CallExpr
		switch s := s.(type) {
		case *ast.ExprStmt:
			call, _ = s.X.(*ast.CallExpr)
		case *ast.AssignStmt: // what the parts hand to each other
			if call, _ = s.Rhs[0].(*ast.CallExpr); s.Tok != token.DEFINE || i > 0 {
				call = nil
			}
		case *ast.ReturnStmt:
			if i == len(f.Body.List)-1 {
				continue
			}
		}
		name := d.partOf(call, of, me)
		if name == "" {
			faults = append(faults, fmt.Sprintf("statement %d of %s is no call of a function of a part", i+1, method))
		} else if _, begins := s.(*ast.AssignStmt); !begins {
			list = append(list, name)
		}
	}
	return list, faults
}

// partOf returns the type and the name of a function that is called of a part of the
// receiver me, or of me itself; "": it is neither.
func (d *declared) partOf(call *ast.CallExpr, of, me string) string {
	if call == nil {
		return ""
	}
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if part, ok := fun.X.(*ast.SelectorExpr); ok {
		if x, ok := part.X.(*ast.Ident); !ok || x.Name != me {
			return "" // through two parts
		}
		_, of, _ = d.find(of, part.Sel.Name)
	} else if x, ok := fun.X.(*ast.Ident); !ok || x.Name != me {
		return ""
	}
	owner, _, ok := d.find(of, fun.Sel.Name)
	if !ok {
		return ""
	}
	return owner + "." + fun.Sel.Name
}

const pathCode = `package hop
type player struct { watcher; search *search }
type watcher struct { goals Inference; deep deep }
type deep struct { search *search }
type Inference interface { Infer() }
type search struct {}
func (s *search) Run() {}
func (p *player) choose() {}
func (p *player) Act() {
	p.goals.Infer()
	p.search.Run()
	p.choose()
}
type Mind struct { search *search }
func (m *Mind) update() int { return 0 }
func (m *Mind) Learn() error {
	u := m.update()
	m.search.Run()
	m.search.Run()
	return nil
}
func Main() { newSeat().Take() }
func newSeat() *seat { return nil }
type seat struct {}
func (s *seat) Take() { s.Rise(); s.Sit(); hop.end() }
func (s *seat) Sit() {}
func (s *seat) Rise() {}
func (w watcher) Act() {}
func end() {}
`

const pathPage = "## A stranger's path\nFrom an observation to an action\n1. `hop.player.Act`\n2. `Inference.Infer`, `search.Run`\n" +
	"3. `player.choose`\nFrom a window to new weights\n1. `Mind.Learn`\n2. `search.Run`\n3. `search.Run`\n" +
	"From `hop train` to the first window\n1. `hop.Main`, `hop.newSeat`\n2. `seat.Take`: `seat.Rise`, `seat.Sit`, `hop.end`\n" +
	"From `hop audit` to a sentence\n1. `hop.Main`\n2. `search.Run`\n## Next\n"

func TestALostPathIsNoticed(t *testing.T) {
	holds := func(page, code string) string {
		var d declared
		d.add(parse(t, "hop.go", code).file)
		return strings.Join(lost(page, d, d), "\n")
	}
	if got := holds(pathPage, pathCode); got != "" {
		t.Errorf("a true path is objected to: %s", got)
	}
	for _, c := range []struct{ old, now, want string }{
		{"## A stranger's path", "## Another", "has no section"},
		{"`Inference.Infer`, `search.Run`", "`search.Run`, `Inference.Infer`", "player.Act calls search.Run, which"},
		{"3. `player.choose`", "", "player.Act calls player.choose, which"},
		{"3. `search.Run`\n", "", "Mind.Learn calls search.Run, which"},
		{"`player.choose`", "`player.choose` and `search.Walk`", "`search.Walk`"},
		{"From a window", "Of a window", "no path \"From a window"},
		{"	p.search.Run()\n", "	if true { p.search.Run() }\n", "statement 2 of player.Act"},
		{"	p.search.Run()\n", "	p.deep.search.Run()\n", "statement 2 of player.Act"},
		{"	p.search.Run()\n", "	fmt.Println()\n", "statement 2 of player.Act"},
		{"	p.search.Run()\n", "	p.search.Walk()\n", "statement 2 of player.Act"},
		{"	p.search.Run()\n", "	p.seen++\n", "statement 2 of player.Act"},
		{"	m.search.Run()\n", "	v := m.update()\n	m.search.Run()\n", "statement 2 of Mind.Learn"},
		{"Learn()", "Study()", "no Mind.Learn"},
		{"newSeat().Take()", "newSeat()", "names `seat.Take`, which"},
		{"`hop.newSeat`", "`hop.newSeats`", "`hop.newSeats`, and there is no"},
		{"`seat.Rise`, `seat.Sit`", "`seat.Sit`, `seat.Rise`", "names `seat.Rise`, which"},
		{"hop.end()", "other.end()", "names `hop.end`, which"},
		{"2. `search.Run`\n## Next", "2. `watcher.Act`\n## Next", "names `watcher.Act`, which"},
		{"From `hop audit`", "Of `hop audit`", "no path \"From `hop audit`"},
		{"2. `search.Run`\n## Next", strings.Repeat("2. x\n", 15) + "## Next", "more than 15 stops"},
	} {
		page, code := strings.Replace(pathPage, c.old, c.now, 1), strings.Replace(pathCode, c.old, c.now, 1)
		if page == pathPage && code == pathCode {
			t.Fatalf("%q is in neither", c.old)
		}
		if got := holds(page, code); !strings.Contains(got, c.want) {
			t.Errorf("%q for %q: no objection with %q: %s", c.now, c.old, c.want, got)
		}
	}
}
