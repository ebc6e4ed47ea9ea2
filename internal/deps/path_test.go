package deps

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The page says which functions lead from an observation to an action and from a
// window to new weights. Each of them exists, and there are at most twelve steps.
func TestTheStrangersPathIsTrue(t *testing.T) {
	page, funcs := "", map[string]bool{}
	eachFile(t, func(s source) {
		if s.path == "docs/architecture.md" {
			page = s.text
		}
		if s.file == nil {
			return
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				funcs[f.Name.Name] = true
			}
		}
	})
	for _, fault := range lost(page, funcs) {
		t.Error(fault)
	}
}

var (
	numbered = regexp.MustCompile(`(?m)^(\d+)\. `)
	quoted   = regexp.MustCompile("`([A-Za-z.]+)`")
)

// lost lists what is wrong with the section.
func lost(page string, funcs map[string]bool) (faults []string) {
	_, section, ok := strings.Cut(page, "## A stranger's path\n")
	if !ok {
		return []string{"docs/architecture.md has no section on a stranger's path"}
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for _, n := range numbered.FindAllStringSubmatch(section, -1) {
		if len(n[1]) > 2 || len(n[1]) == 2 && n[1] > "12" {
			faults = append(faults, fmt.Sprintf("the path has a step %s, more than 12", n[1]))
		}
	}
	known := 0
	for _, q := range quoted.FindAllStringSubmatch(section, -1) {
		words := strings.Split(q[1], ".")
		if name := words[len(words)-1]; !funcs[name] {
			faults = append(faults, fmt.Sprintf("the path names `%s`, and there is no such function", q[1]))
		} else {
			known++
		}
	}
	if known < 20 {
		faults = append(faults, fmt.Sprintf("the path names %d functions, which is no path", known))
	}
	return faults
}

func TestALostPathIsNoticed(t *testing.T) {
	steps := strings.Repeat("1. `a.Real` does it.\n", 20)
	for text, want := range map[string]string{
		"nothing": "has no section",
		"## A stranger's path\n" + steps + "13. `a.Real`.\n":    "a step 13",
		"## A stranger's path\n" + steps + "2. `a.Gone` was.\n": "`a.Gone`",
		"## A stranger's path\n1. `a.Real`.\n":                  "is no path",
	} {
		got := lost(text, map[string]bool{"Real": true})
		if !slices.ContainsFunc(got, func(f string) bool { return strings.Contains(f, want) }) {
			t.Errorf("no objection to %q: %v", want, got)
		}
	}
	if got := lost("## A stranger's path\n"+steps, map[string]bool{"Real": true}); len(got) != 0 {
		t.Errorf("a true path is objected to: %v", got)
	}
}
