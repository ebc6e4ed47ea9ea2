package deps

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

// most is how many methods an interface of learners, or of what a registry's entry names, may
// have, with those that it embeds.
const most = 5

// Interfaces of what learns are small: whoever writes a learner, or a goal model, has at most
// five things to think of at a time.
func TestInterfacesOfLearnersAreSmall(t *testing.T) {
	all, of := map[string]*ast.InterfaceType{}, map[string]bool{}
	var anonymous []string
	eachFile(t, func(s source) {
		if s.file == nil || strings.HasSuffix(s.path, "_test.go") {
			return
		}
		large := interfacesOf(s.file, all)
		if slices.Contains([]string{"agent/learner", "agent/hop", "search/truth", "game/oracle", "train/spec"}, path.Dir(s.path)) {
			of[s.file.Name.Name] = true
			anonymous = append(anonymous, large...)
		}
	})
	for _, fault := range append(anonymous, tooMany(all, of)...) {
		t.Error(fault)
	}
}

// interfacesOf adds a file's interfaces by package and name, and lists those without a name
// that embed anything or are too large.
func interfacesOf(f *ast.File, all map[string]*ast.InterfaceType) (faults []string) {
	named := map[*ast.InterfaceType]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			if i, ok := n.Type.(*ast.InterfaceType); ok {
				all[f.Name.Name+"."+n.Name.Name], named[i] = i, true
			}
		case *ast.InterfaceType:
			if !named[n] && len(n.Methods.List) > most {
				faults = append(faults, fmt.Sprintf("package %s has an interface without a name of %d lines, more than %d", f.Name.Name,
					len(n.Methods.List), most))
			}
		}
		return true
	})
	return faults
}

// tooMany lists the interfaces of some packages that have too many methods.
func tooMany(all map[string]*ast.InterfaceType, of map[string]bool) (faults []string) {
	for name := range all {
		pkg, _, _ := strings.Cut(name, ".")
		if n := methods(all, name); of[pkg] && n > most {
			faults = append(faults, fmt.Sprintf("%s has %d methods, more than %d: split it by who uses it", name, n, most))
		}
	}
	return faults
}

// methods counts those of an interface and of what it embeds; none of our interfaces that embed
// several share a method.
func methods(all map[string]*ast.InterfaceType, name string) (n int) {
	i := all[name]
	if i == nil {
		return 0
	}
	pkg, _, _ := strings.Cut(name, ".")
	for _, f := range i.Methods.List {
		switch x := f.Type.(type) {
		case *ast.Ident:
			n += methods(all, pkg+"."+x.Name)
		case *ast.SelectorExpr:
			n += methods(all, x.X.(*ast.Ident).Name+"."+x.Sel.Name)
		default:
			n += len(f.Names)
		}
	}
	return n
}

func TestLargeInterfacesAreSeen(t *testing.T) {
	all := map[string]*ast.InterfaceType{}
	plan := parse(t, "search/plan.go", "package plan\ntype Rules interface { Root(); Expand(); Legal() }")
	mind := parse(t, "agent/learner/mind.go", `package mind
type Base interface { A(); B() }
type Fine interface { plan.Rules; Base }
type Large interface { Fine; C() }
var _ interface { A(); B(); C(); D(); E(); F() } = nil`)
	if got := interfacesOf(plan.file, all); len(got) != 0 {
		t.Errorf("got %q", got)
	}
	if got := interfacesOf(mind.file, all); len(got) != 1 || !strings.Contains(got[0], "without a name of 6") {
		t.Errorf("got %q", got)
	}
	got := tooMany(all, map[string]bool{"mind": true})
	if len(got) != 1 || !strings.HasPrefix(got[0], "mind.Large has 6 methods") {
		t.Errorf("got %q", got)
	}
	if got := tooMany(all, map[string]bool{"plan": true}); len(got) != 0 {
		t.Errorf("an interface of 3 is objected to: %q", got)
	}
}
