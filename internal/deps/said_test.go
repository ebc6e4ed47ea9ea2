package deps

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// said is a function, a method or a field as sentences name it: with its package.
var said = regexp.MustCompile(`\b([a-z]\w*)\.([A-Za-z]\w*)(?:\.([A-Za-z]\w*))?\b`)

// moved are packages that there were.
var moved = map[string]bool{"plan": true, "exp": true, "diag": true}

// field finds the fields of specs: what looks like a field of a type may be one of those.
var field = regexp.MustCompile("yaml:\"([a-z_]+)")

// TestFindingsNameWhatThereIs holds sentences of the audit, which say where in the code to look, to the code.
func TestFindingsNameWhatThereIs(t *testing.T) {
	var all declared
	packages, names := map[string]bool{}, map[string]bool{}
	var texts []source
	eachFile(t, func(s source) {
		if s.file == nil || strings.HasSuffix(s.path, "_test.go") {
			return
		}
		all.add(s.file)
		packages[s.file.Name.Name] = true
		for _, m := range field.FindAllStringSubmatch(s.text, -1) {
			names[m[1]] = true
		}
		for _, d := range s.file.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				for _, spec := range g.Specs {
					if x, ok := spec.(*ast.TypeSpec); ok {
						names[x.Name.Name] = true
					}
				}
			}
		}
		if strings.HasPrefix(s.path, "audit/") {
			texts = append(texts, s)
		}
	})
	for _, s := range texts {
		for _, fault := range unknown(s, &all, packages, names) {
			t.Error(fault)
		}
	}
}

// unknown lists what a file's texts name that there is not.
func unknown(s source, all *declared, packages, names map[string]bool) (faults []string) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		if err != nil {
			return true
		}
		for _, m := range said.FindAllStringSubmatch(text, -1) {
			of, last := m[2], m[3]
			if moved[m[1]] && ast.IsExported(of) {
				faults = append(faults, s.path+" says "+m[0]+", which there is not")
			}
			if !packages[m[1]] || last == "" && !ast.IsExported(of) {
				continue
			}
			if last == "" {
				of, last = m[1], of
			}
			if _, _, ok := all.find(of, last); !ok && !names[last] && last != "go" {
				faults = append(faults, s.path+" says "+m[0]+", which there is not")
			}
		}
		return true
	})
	return faults
}

func TestWhatThereIsNotIsSeen(t *testing.T) {
	s := parse(t, "audit/x.go", `package audit
type thing struct{ part int }
func (t *thing) Do() {}
const texts = "audit.thing.Do, audit.thing.part, goals.kind, others.go; but audit.thing.Done, audit.Gone and plan.Forest"`)
	var all declared
	all.add(s.file)
	got := strings.Join(unknown(s, &all, map[string]bool{"audit": true}, nil), "\n")
	for _, name := range []string{"audit.thing.Done", "audit.Gone", "plan.Forest"} {
		if strings.Count(got, name+", which") != 1 {
			t.Errorf("%s is not seen to be missing in:\n%s", name, got)
		}
	}
	if strings.Count(got, "\n") != 2 {
		t.Errorf("more is missed than there should be:\n%s", got)
	}
}
