package deps

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
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

// forbidden calls, and where they are allowed.
func TestForbiddenCalls(t *testing.T) {
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "asm" || name == "runs") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		for _, f := range faults(t, path) {
			t.Error(f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func faults(t *testing.T, path string) []string {
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rel, _ := filepath.Rel(root, path)
	return check(filepath.ToSlash(rel), src)
}

func check(rel string, src []byte) []string {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, rel, src, 0)
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	bad := func(n ast.Node, what string) { out = append(out, fset.Position(n.Pos()).String()+": "+what) }
	names := map[string]string{} // local name -> import path
	for _, imp := range file.Imports {
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
			if p == f.Name && !allowed(rel, f.Except) {
				bad(imp, "imports "+p+": "+f.Why)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
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
				if call == f.Name && !allowed(rel, f.Except) {
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
	src := []byte(`package ppo
import ("math/rand/v2"; "time"; "log"; _ "hop/exp"; "fmt")
func init() {}
func f() { _ = rand.Int(); _ = time.Now(); log.Print(); fmt.Println() }`)
	got := strings.Join(check("ppo/ppo.go", src), "\n")
	for _, want := range []string{"math/rand/v2", "time.Now", "imports log", "blank import", "init()", "fmt.Println"} {
		if !strings.Contains(got, want) {
			t.Errorf("no objection to %s in:\n%s", want, got)
		}
	}
	if f := check("cli/x.go", []byte("package cli\nimport (\"time\"; \"fmt\")\nfunc f() { _ = time.Now(); fmt.Println() }")); len(f) != 0 {
		t.Errorf("cli may look at the clock and print, got %v", f)
	}
}
