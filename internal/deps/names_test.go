package deps

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hop-marl/hop/train/registry"
)

// All that is known of a game or a learner stands in its registry entry: no code but its own
// compares with its name, lists it, or asserts its types.
func TestOnlyTheRegistryKnowsWhichThereAre(t *testing.T) {
	known := knownNames()
	used := map[exception]bool{}
	eachFile(t, func(s source) {
		if s.file == nil || strings.HasSuffix(s.path, "_test.go") || slices.ContainsFunc(elsewhere, func(dir string) bool {
			return strings.HasPrefix(s.path, dir)
		}) {
			return
		}
		for _, f := range namings(s, known) {
			if e := (exception{s.path, f.what}); exceptions[e] != "" {
				used[e] = true
				continue
			}
			t.Errorf("%s: %s: ask the registry's entry for what is wanted, or say in names_test.go why not", f.at, f.says)
		}
	})
	for e := range exceptions {
		if !used[e] {
			t.Errorf("%v is not there any more: take it from the exceptions", e)
		}
	}
}

// elsewhere is where names may stand: the registry, and what is not of this house.
var elsewhere = []string{"train/registry/", "examples/", "internal/", "docs/", "python/"}

// exception is a name in a file that is no name of a game or a learner there.
type exception struct{ path, what string }

// exceptions say why.
var exceptions = map[exception]string{
	{"agent/hop/config.go", "ppo"}:       "a value of the field own: which loss it learns by",
	{"game/matrix/stage.go", "staghunt"}: "a payoff matrix",
	{"game/rules/flat.go", "staghunt"}:   "a payoff matrix",
	{"lab/play/draw.go", "coin"}:         "a thing on a board",
	{"lab/report/figures.go", "ppo"}:     "a group of statistics",
	{"lab/scale/scale.go", "ppo"}:        "a job that is measured",
	{"lab/sweep/queue/job.go", "python"}: "a parameter that names a program",
	{"serve/jobs/control.go", "hop"}:     "the program",
	{"train/spec/kinds.go", "ppo"}:       "a block of the spec",
}

// owner is where all about a game or a learner may be known.
type owner struct{ dirs []string }

// knownNames returns the names of games and learners, with whose code they are.
func knownNames() map[string]owner {
	reg, known := registry.New(), map[string]owner{}
	for _, name := range reg.GameNames() {
		known[name] = owner{[]string{"game/" + name}}
	}
	for _, name := range reg.MindNames() {
		known[name] = owner{[]string{"agent/" + name}}
	}
	known["staghunt"] = owner{[]string{"game/staghunt", "search/hunt"}}
	known["python"] = owner{[]string{"game/pyenv", "game/bridge"}} // which also finds the interpreter of that name
	return known
}

// has reports whether a file is of the owner.
func (o owner) has(file string) bool {
	return slices.ContainsFunc(o.dirs, func(dir string) bool { return strings.HasPrefix(file, dir+"/") })
}

// naming is a place that knows a game or a learner.
type naming struct{ at, what, says string }

// comparing are functions that compare with one of their arguments.
var comparing = []string{"Contains", "Index", "EqualFold", "Has", "HasPrefix", "CutPrefix", "HasSuffix"}

// namings lists where a file compares with a name, lists it, or asserts a type of another's package.
func namings(s source, known map[string]owner) (list []naming) {
	literal := func(how string, all ...ast.Expr) {
		for _, x := range all {
			lit, ok := x.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				continue
			}
			name, _ := strconv.Unquote(lit.Value)
			if o, ok := known[name]; ok && !o.has(s.path) {
				list = append(list, naming{s.fset.Position(x.Pos()).String(), name, fmt.Sprintf("%s %q", how, name)})
			}
		}
	}
	types := typesOf(s, known)
	asserted := func(all ...ast.Expr) {
		for _, x := range all {
			if name := types(x); name != "" {
				list = append(list, naming{s.fset.Position(x.Pos()).String(), name, "asserts " + name})
			}
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				literal("compares with", n.X, n.Y)
			}
		case *ast.CaseClause:
			literal("compares with", n.List...)
			asserted(n.List...)
		case *ast.IndexExpr:
			literal("looks up", n.Index)
			asserted(n.Index)
		case *ast.CompositeLit:
			for _, x := range n.Elts {
				if kv, ok := x.(*ast.KeyValueExpr); ok {
					x = kv.Key
				}
				literal("lists", x)
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains(comparing, f.Sel.Name) {
				literal("compares with", n.Args...)
			}
		case *ast.TypeAssertExpr:
			asserted(n.Type)
		}
		return true
	})
	return list
}

// typesOf returns what names the type of an expression if it is a concrete one of a game's or a
// learner's package that the file is not of: its game, state, settings or mind.
func typesOf(s source, known map[string]owner) func(ast.Expr) string {
	foreign := map[string]bool{} // by the name under which the file imports it
	for _, i := range s.file.Imports {
		to, _ := strconv.Unquote(i.Path.Value)
		to, ours := strings.CutPrefix(to, Module)
		name := path.Base(to)
		if i.Name != nil {
			name = i.Name.Name
		}
		for _, o := range known {
			foreign[name] = foreign[name] || ours && o.has(to+"/") && !o.has(s.path)
		}
	}
	return func(x ast.Expr) string {
		if p, ok := x.(*ast.StarExpr); ok {
			x = p.X
		}
		if sel, ok := x.(*ast.SelectorExpr); ok {
			if pkg, ok := sel.X.(*ast.Ident); ok && foreign[pkg.Name] && slices.Contains(concrete, sel.Sel.Name) {
				return pkg.Name + "." + sel.Sel.Name
			}
		}
		return ""
	}
}

// concrete is what packages of games and learners call their types.
var concrete = []string{"Game", "State", "Config", "Mind", "Brain"}

func TestNamesOfGamesAndLearnersAreSeen(t *testing.T) {
	known := map[string]owner{"hunt": {[]string{"game/hunt", "search/fast"}}, "ppo": {[]string{"agent/ppo"}}}
	const text = `package x
import (
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/game"
	fast "github.com/hop-marl/hop/game/hunt"
	"github.com/hop-marl/hop/search/learned"
)
type row struct{ name string; module string }
func f(name string, g game.Game, all []string) any {
	switch name {
	case "ppo":
	}
	switch g.(type) {
	case *fast.Game, *game.Known:
	}
	_ = row{module: "ppo"}
	say("not finite", "ppo")
	_, _ = game.As[*fast.State](g)
	_, _ = game.As[learned.Config](g)
	_ = map[string]int{"hunt": 1}["ppo"]
	_ = []row{{"hunt", ""}}
	_ = []string{"other", "ppo"}
	return name != "hunt" || slices.Contains(all, "ppo") || g.(fast.Config).On || name == "hunts" || g.(ppo.Player) != nil
}`
	want := []string{
		`11 compares with "ppo"`, `14 asserts fast.Game`, `18 asserts fast.State`, `20 looks up "ppo"`, `20 lists "hunt"`, `21 lists "hunt"`,
		`22 lists "ppo"`, `23 compares with "hunt"`, `23 compares with "ppo"`, `23 asserts fast.Config`,
	}
	var got []string
	for _, f := range namings(parse(t, "lab/x.go", text), known) {
		got = append(got, strings.Split(f.at, ":")[1]+" "+f.says)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, own := range []string{"search/fast/x.go", "game/hunt/best/x.go"} {
		for _, f := range namings(parse(t, own, text), known) {
			if f.what != "ppo" {
				t.Errorf("%s may know its own game: %s", own, f.says)
			}
		}
	}
}
