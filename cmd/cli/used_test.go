package cli

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/registry"
)

// unusedFlags are those that no page, help or test types, and why each stays.
var unusedFlags = map[string]string{
	"delay":    "of hop play on a terminal and in films: how fast is for whoever watches to say",
	"discount": "of hop oracle: the best response by what learners who discount are after",
	"ca":       "of hop sweep and hop worker: another certificate than the system's; tests of package hub set its field",
}

// A flag that nobody types is one more thing to read, and nobody knows whether it works. Those of stages are fields of
// specs, of which package registry asks the same.
func TestEveryFlagIsTypedSomewhere(t *testing.T) {
	typed := map[string]bool{}
	word := regexp.MustCompile(`--[a-z][a-z-]*`)
	err := filepath.WalkDir("../..", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && strings.HasPrefix(e.Name(), ".") && e.Name() != "..":
			return fs.SkipDir
		case e.IsDir(), !slices.Contains([]string{".md", ".txt", ".sh", ".py", ".yaml", ".go"}, filepath.Ext(path)),
			filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		b, err := os.ReadFile(path)
		for _, flag := range word.FindAllString(string(b), -1) {
			typed[flag] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	a := &app{t.Context(), registry.New(), strings.NewReader(""), io.Discard, io.Discard, &ending{}}
	for _, n := range newParser(a, "").Model.Leaves(true) {
		for _, f := range n.Flags {
			if stage := slices.Contains(prepare.Commands(), n.Path()); !stage && !f.Hidden && !typed["--"+f.Name] && unusedFlags[f.Name] == "" {
				t.Errorf("hop %s --%s: no page, help or test types it; remove it, or say in unusedFlags why it stays", n.Path(), f.Name)
			}
		}
	}
	for name := range unusedFlags {
		if typed["--"+name] {
			t.Errorf("--%s is typed somewhere: take it off the list", name)
		}
	}
}
