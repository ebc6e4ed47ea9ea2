package deps

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

func list(t *testing.T) []Package {
	t.Helper()
	all, err := List(root)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// place is where a package stands in the plan.
type place struct{ group, at int }

func (p place) below(q place) bool { return p.group < q.group || p.group == q.group && p.at < q.at }

// places gives every package of the plan its place. What is internal stands above all groups.
func places() map[string]place {
	all := map[string]place{}
	for g, group := range append(slices.Clone(Groups), Beside...) {
		for i, path := range group.Packages {
			all[path] = place{g, i}
			if lower, early := Early[path]; early {
				g := slices.IndexFunc(Groups, func(group Group) bool { return group.Name == lower })
				all[path] = place{g, len(Groups[g].Packages)}
			}
		}
	}
	return all
}

// imports returns which of ours a package imports, without its own private parts.
func (p Package) imports() (list []string) {
	for _, imp := range p.Imports {
		path, ours := strings.CutPrefix(imp, Module)
		if ours && !slices.ContainsFunc(Trees, func(t string) bool { return strings.HasPrefix(path, t) }) {
			list = append(list, path)
		}
	}
	return list
}

// misplaced lists what is wrong with a package's imports.
func misplaced(from string, imports []string, all map[string]place) (faults []string) {
	at, known := all[from]
	if !known {
		return []string{from + " is in no group; add it to internal/deps"}
	}
	for _, to := range imports {
		if q, known := all[to]; !known || !q.below(at) {
			faults = append(faults, from+" imports "+to+", which does not stand above it in internal/deps")
		}
		for _, b := range Barred {
			dir, tree := strings.CutSuffix(b.From, "/...")
			if (from == dir || tree && strings.HasPrefix(from, dir+"/")) && slices.Contains(b.To, to) {
				faults = append(faults, from+" imports "+to+": "+b.Why)
			}
		}
	}
	return faults
}

func TestImportsGoToWhatStandsAbove(t *testing.T) {
	all, left := places(), places()
	for _, p := range list(t) {
		path := strings.TrimPrefix(p.ImportPath, Module)
		if slices.ContainsFunc(Trees, func(tree string) bool { return strings.HasPrefix(path, tree) }) {
			continue
		}
		for _, fault := range misplaced(path, p.imports(), all) {
			t.Error(fault)
		}
		delete(left, path)
	}
	for path := range left {
		t.Errorf("internal/deps lists %s, which does not exist", path)
	}
}

// The rule itself is proved on imports that break it.
func TestWrongImportsAreSeen(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"num/rng", "game", "stand above"},
		{"num/rng", "num/stats", "stand above"},
		{"num/rng", "num/rng", "stand above"},
		{"lab", "internal/deps", "stand above"},
		{"lab/new", "num/rng", "no group"},
		{"lab", "num/new", "stand above"},
		{"model/actor", "game", "arrays"},
		{"train", "agent/ppo", "the loop"},
		{"train/eval", "agent/ppo", ""},
		{"num/stats", "num/rng", ""},
		{"cmd/hop", "num/rng", ""},
	} {
		got := strings.Join(misplaced(c.from, []string{c.to}, places()), "\n")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s imports %s: got %q, want %q", c.from, c.to, got, c.want)
		}
	}
}

// The picture of docs/architecture.md is of the house as it stands.
func TestThePictureIsOfThisHouse(t *testing.T) {
	want, err := Draw(root)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(root + "/docs/house.svg")
	if err != nil || string(got) != want {
		t.Errorf("docs/house.svg is another one (%v); go run ./internal/deps/house > docs/house.svg draws it", err)
	}
}

// The listing of the top is the list of groups.
func TestTheTopIsTheGroups(t *testing.T) {
	var want []string
	for _, g := range append(slices.Clone(Groups), Beside...) {
		want = append(want, g.Name)
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name, ours := e.Name(), slices.Contains(want, e.Name())
		if left := []string{"runs", "data", "dist"}; e.IsDir() && name[0] != '.' && !ours && !slices.Contains(left, name) {
			t.Errorf("the folder %s is of no group", name)
		}
	}
	page, err := os.ReadFile(root + "/docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range append(slices.Clone(Groups), Beside...) {
		if row := "| `" + g.Name + "` | " + g.Says + " |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/architecture.md has no row %s", row)
		}
	}
}

// Configs say what their fields mean, and only the command line that they are flags.
func TestOnlyTheCommandLineKnowsFlags(t *testing.T) {
	n := 0
	eachFile(t, func(s source) {
		if s.file == nil || strings.HasPrefix(s.path, "cmd/") {
			return
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			if f, ok := node.(*ast.Field); ok && f.Tag != nil {
				n++
				tag := reflect.StructTag(strings.Trim(f.Tag.Value, "`"))
				for _, kong := range []string{"help", "placeholder", "kong", "arg", "cmd"} {
					if _, has := tag.Lookup(kong); has {
						t.Errorf("%s: the tag %s is the command line's; use those of num/config", s.fset.Position(f.Pos()), kong)
					}
				}
			}
			return true
		})
	})
	if n < 500 {
		t.Errorf("only %d tags were seen", n)
	}
}

func TestForbiddenCalls(t *testing.T) {
	eachFile(t, func(s source) {
		if s.file == nil || strings.HasSuffix(s.path, "_test.go") || strings.HasPrefix(s.path, "num/f32/asm/") {
			return
		}
		for _, f := range check(s) {
			t.Error(f)
		}
	})
}

// check returns the forbidden imports and calls of a file.
func check(s source) []string {
	var out []string
	bad := func(n ast.Node, what string) { out = append(out, s.fset.Position(n.Pos()).String()+": "+what) }
	names := map[string]string{} // local name -> import path
	for _, imp := range s.file.Imports {
		p := strings.Trim(imp.Path.Value, `"`)
		name := p[strings.LastIndex(p, "/")+1:]
		if imp.Name != nil {
			name = imp.Name.Name
		}
		names[name] = p
		if name == "_" && p != "embed" {
			bad(imp, "blank import: wiring belongs in train/registry")
		}
		for _, f := range ForbiddenImports {
			if p == f.Name && !allowed(s.path, f.Except) {
				bad(imp, "imports "+p+": "+f.Why)
			}
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Name.Name == "init" && n.Recv == nil {
				bad(n, "init(): wiring belongs in train/registry, tables in var")
			}
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if !ok {
				break
			}
			call := names[x.Name] + "." + n.Sel.Name
			for _, f := range ForbiddenCalls {
				if call == f.Name && !allowed(s.path, f.Except) {
					bad(n, "calls "+call+": "+f.Why)
				}
			}
		}
		return true
	})
	return out
}

func allowed(rel string, except []string) bool {
	for _, e := range except {
		if strings.HasPrefix(rel, e) {
			return true
		}
	}
	return false
}

// The check itself is proved on a file that breaks each rule.
func TestForbiddenCallsAreSeen(t *testing.T) {
	got := strings.Join(check(parse(t, "agent/ppo/ppo.go", `package ppo
import ("math/rand/v2"; "time"; "log"; _ "example.org/wiring"; "fmt")
func init() {}
func f() { _ = rand.Int(); _ = time.Now(); log.Print(); fmt.Println() }`)), "\n")
	for _, want := range []string{"math/rand/v2", "time.Now", "imports log", "blank import", "init()", "fmt.Println"} {
		if !strings.Contains(got, want) {
			t.Errorf("no objection to %s in:\n%s", want, got)
		}
	}
	fine := parse(t, "cmd/cli/x.go", "package cli\nimport (\"time\"; \"fmt\")\nfunc f() { _ = time.Now(); fmt.Println() }")
	if f := check(fine); len(f) != 0 {
		t.Errorf("cli may look at the clock and print, got %v", f)
	}
}

func parse(t *testing.T, path, text string) source {
	t.Helper()
	s := source{path: path, text: text, fset: token.NewFileSet()}
	var err error
	if s.file, err = parser.ParseFile(s.fset, path, text, parser.SkipObjectResolution); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}
