package registry_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hop-marl/hop/train/registry"
)

// unset are the fields that no preset, page, example or test sets, and why each stays.
var unset = map[string]string{
	"warmup":      "of the VAE's weight on the KL; a test holds its default to the formula",
	"tau_end":     "the end of tau, which a folder of a VAE of before names",
	"noise_alpha": "the concentration of the noise that noise_eps is the share of",
	"keep_every":  "a zoo keeps its members' ages by it",
	"adam_eps":    "Adam's own is 1e-8, and PPO's habit 1e-5: who compares with other code needs it",
}

// A field that nobody sets is one more thing to read, and nobody knows whether it works.
func TestEveryFieldIsSetSomewhere(t *testing.T) {
	sets := where(t)
	seen, missed := map[string]bool{}, map[string]bool{}
	reg := registry.New()
	defer reg.Close()
	for _, name := range reg.GameNames() {
		sp := reg.Default()
		if err := sp.Set("game.name=" + name); err != nil {
			t.Fatal(err)
		}
		for _, f := range sp.AllFields() {
			leaf := f.Path[strings.LastIndex(f.Path, ".")+1:]
			if seen[leaf] {
				continue
			}
			seen[leaf] = true
			if !sets[bare(leaf)] {
				missed[leaf] = true
				if unset[leaf] == "" {
					t.Errorf("%s: no preset, page, example or test sets it; remove it, or say in unset why it stays", f.Path)
				}
			}
		}
	}
	for leaf := range unset {
		if !missed[leaf] {
			t.Errorf("%s is set somewhere, or no field any more: take it off the list", leaf)
		}
	}
}

// bare is a name as YAML, Go and flags have it alike.
func bare(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// where returns the names of all that presets, pages, help, examples and tests set.
func where(t *testing.T) map[string]bool {
	set := regexp.MustCompile("\\b([A-Za-z_]+)(?:[:=]| = )|--([a-z-]+)|[.]([A-Z][A-Za-z]+), [^=\n]* = ")
	all := map[string]bool{}
	top := filepath.Join("..", "..")
	err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(top, path)
		rel = filepath.ToSlash(rel)
		switch {
		case err != nil:
			return err
		case e.IsDir() && strings.HasPrefix(e.Name(), ".") && rel != ".":
			return fs.SkipDir
		case e.IsDir() || rel == "train/registry/fields_test.go":
			return nil
		}
		yes := strings.HasSuffix(rel, "_test.go") || strings.HasPrefix(rel, "train/registry/presets/") || strings.HasSuffix(rel, ".md") ||
			strings.HasPrefix(rel, "cmd/cli/help/") || strings.HasPrefix(rel, "examples/") || strings.HasPrefix(rel, "docs/questions/")
		if !yes {
			return nil
		}
		b, err := os.ReadFile(path)
		for _, m := range set.FindAllSubmatch(b, -1) {
			for _, name := range m[1:] {
				all[bare(string(name))] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
