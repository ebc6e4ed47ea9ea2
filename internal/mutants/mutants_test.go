package mutants

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/train/registry"
)

// Every record can be applied: refactorings keep the corpus alive.
func TestEveryRecordIsWhole(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	list, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	reg := registry.New()
	presets, seen, quiet := reg.PresetNames(), map[string]bool{}, 0
	for _, r := range list {
		if seen[r.Name] {
			t.Errorf("%s: two records have this name", r.Name)
		}
		seen[r.Name] = true
		for _, m := range r.Modules {
			if !slices.Contains(Modules, m) {
				t.Errorf("%s: there is no module %q", r.Name, m)
			}
		}
		if len(r.Presets) > 2 {
			t.Errorf("%s: %d presets, want one or two", r.Name, len(r.Presets))
		}
		for _, p := range r.Presets {
			if !slices.Contains(presets, p) {
				t.Errorf("%s: there is no preset %q", r.Name, p)
			} else if len(r.Sets) > 0 {
				if _, err := reg.Load(p, r.Sets); err != nil {
					t.Errorf("%s: %v", r.Name, err)
				}
			}
		}
		if r.Quiet != "" {
			quiet++
		}
		text, err := r.Patched(root)
		if err != nil {
			t.Error(err)
		} else if _, err := parser.ParseFile(token.NewFileSet(), r.File, text, parser.SkipObjectResolution); err != nil {
			t.Errorf("%s: what it makes of %s is no Go: %v", r.Name, r.File, err)
		}
	}
	if len(list) < 90 || quiet >= 8 {
		t.Errorf("%d records, %d of them quiet, want at least 90 and fewer than 8", len(list), quiet)
	}
}

func TestFaultyRecordsAreRefused(t *testing.T) {
	const good = "name: a\nmodule: ppo, moa\npresets: ppo-4x4\nset: ppo.lr=1\nfile: ppo/ppo.go\nold:\n\tx\n\ty\nnew:\n\tz\n"
	list, err := Parse(good+"---\n"+strings.Replace(good, "\tz\n", "", 1), "f")
	if err != nil {
		t.Fatal(err)
	}
	if r := list[0]; len(list) != 2 || r.Name != "a" || !slices.Equal(r.Modules, []string{"ppo", "moa"}) || r.Old != "\tx\n\ty\n" ||
		r.New != "\tz\n" || list[1].New != "" || !slices.Equal(r.Sets, []string{"ppo.lr=1"}) {
		t.Errorf("%+v", list)
	}
	for _, cut := range []string{"name: a\n", "module: ppo, moa\n", "old:\n", "new:\n", "file: ppo/ppo.go\n"} {
		if _, err := Parse(strings.Replace(good, cut, "", 1), "f"); err == nil {
			t.Errorf("a record without %q was accepted", cut)
		}
	}
	if _, err := Parse(strings.Replace(good, "set", "sets", 1), "f"); err == nil {
		t.Error("an unknown field was accepted")
	}
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	for old, want := range map[string]string{"import (\n": "once", "nothing of the kind\n": "0 times", "\n": "times"} {
		r := Record{Name: "a", File: "agent/ppo/ppo.go", Old: old}
		if _, err := r.Patched(root); (err == nil) != (want == "once") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", old, err)
		}
	}
}

// Slips that the users' questions plant can be planted: docs/questions/slips.py does.
func TestSlipsOfTheQuestionsApply(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "questions", "slips.txt"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := Parse(string(text), "slips.txt")
	if err != nil || len(list) < 10 {
		t.Fatal(len(list), err)
	}
	for _, r := range list {
		if _, err := r.Patched(root); err != nil {
			t.Error(err)
		}
	}
}
