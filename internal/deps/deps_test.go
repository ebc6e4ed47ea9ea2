package deps

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

type pkg struct {
	ImportPath string
	Dir        string
	Imports    []string
	GoFiles    []string
}

func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,GoFiles", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	dec := json.NewDecoder(bytes.NewReader(out))
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// floorOf returns the floor of a package of ours, or -1 if the plan does not know it.
func floorOf(path string) int {
	path = strings.TrimPrefix(path, "hop/")
	if f, ok := Floors[path]; ok {
		return f
	}
	for prefix, f := range Trees {
		if strings.HasPrefix(path, prefix+"/") {
			return f
		}
	}
	return -1
}

func TestPackagesImportOnlyFromLowerFloors(t *testing.T) {
	for _, p := range list(t) {
		floor := floorOf(p.ImportPath)
		if floor < 0 {
			t.Errorf("%s is not in the plan; add it to internal/deps, README.md and docs/architecture.md", p.ImportPath)
			continue
		}
		for _, imp := range p.Imports {
			if !strings.HasPrefix(imp, "hop/") {
				continue
			}
			if f := floorOf(imp); f >= floor && !sibling(p.ImportPath, imp) {
				t.Errorf("%s (floor %d) imports %s (floor %d)", p.ImportPath, floor, imp, f)
			}
			for _, b := range Barred {
				if under(p.ImportPath, b.From) && under(imp, b.To) {
					t.Errorf("%s imports %s: %s", p.ImportPath, imp, b.Why)
				}
			}
		}
	}
}

// sibling allows a package to import its own internal parts.
func sibling(from, to string) bool { return strings.HasPrefix(to, from+"/internal/") }

func under(path, prefix string) bool {
	path = strings.TrimPrefix(path, "hop/")
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}

func TestEveryPackageOfThePlanExists(t *testing.T) {
	have := map[string]bool{}
	for _, p := range list(t) {
		have[strings.TrimPrefix(p.ImportPath, "hop/")] = true
	}
	for _, path := range slices.Sorted(maps.Keys(Floors)) {
		if !have[path] {
			t.Errorf("internal/deps lists %s, which does not exist", path)
		}
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
			bad(imp, "blank import: wiring belongs in exp")
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
				bad(n, "init(): wiring belongs in exp, tables in var")
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
import ("math/rand/v2"; "time"; "log"; _ "hop/exp"; "fmt")
func init() {}
func f() { _ = rand.Int(); _ = time.Now(); log.Print(); fmt.Println() }`)), "\n")
	for _, want := range []string{"math/rand/v2", "time.Now", "imports log", "blank import", "init()", "fmt.Println"} {
		if !strings.Contains(got, want) {
			t.Errorf("no objection to %s in:\n%s", want, got)
		}
	}
	fine := parse(t, "cli/x.go", "package cli\nimport (\"time\"; \"fmt\")\nfunc f() { _ = time.Now(); fmt.Println() }")
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
