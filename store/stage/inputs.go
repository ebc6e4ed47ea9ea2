package stage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hop-marl/hop/num/disk"
)

// inputs returns what the files and folders hold that a word names, alone, in a list
// or as a value. A stage that reads them is done anew when they hold something else.
func inputs(word string) (sums []string) {
	for _, name := range strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune("=,[]#", r) }) {
		if s := held(name); s != "" {
			sums = append(sums, s)
		}
	}
	return sums
}

// held returns the sum of what a file, a dataset, a zoo, a run or a folder of runs holds,
// "" for all else. A dataset is its manifest and a zoo its index, which have the sums of
// what they name; a run is its spec and its checkpoints.
func held(name string) string {
	info, err := os.Stat(name)
	if err != nil {
		return ""
	}
	if info.Mode().IsRegular() {
		s, _ := sum(name)
		return s
	}
	h := sha256.New()
	found := false
	for _, pattern := range []string{"manifest.json", "zoo.json", "spec.yaml", "checkpoints/*", "seed-*/spec.yaml", "seed-*/checkpoints/*"} {
		list, err := disk.Match(name, pattern)
		for _, file := range list {
			if s, err := sum(file); err == nil {
				found = true
				fmt.Fprintf(h, "%s %s\n", filepath.Base(file), s)
			}
		}
		if err != nil || found && (pattern == "manifest.json" || pattern == "zoo.json") {
			break
		}
	}
	if !found {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// A stage may train, and what it trains may have stages of its own, so deep.
const deepest = 8

// nest is where in a context the specs stand whose stages are running.
type nest struct{}

type link struct{ name, sum string }

// Nest returns a context for the stages of a spec. It refuses a spec that is being
// prepared already, and too many of them within each other.
func Nest(ctx context.Context, name string, spec []byte) (context.Context, error) {
	h := sha256.Sum256(spec)
	this := link{name, hex.EncodeToString(h[:])}
	chain, _ := ctx.Value(nest{}).([]link)
	var words []string
	again := false
	for _, l := range chain {
		again = again || l.sum == this.sum
		words = append(words, l.name)
	}
	path := strings.Join(append(words, name), " prepares ")
	switch {
	case again:
		return ctx, fmt.Errorf("%s: a spec cannot be a stage of its own preparation", path)
	case len(chain) >= deepest:
		return ctx, fmt.Errorf("%s: stages within stages go %d deep, and no deeper", path, deepest)
	}
	return context.WithValue(ctx, nest{}, append(chain[:len(chain):len(chain)], this)), nil
}
