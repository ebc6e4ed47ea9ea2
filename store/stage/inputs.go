package stage

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hop-marl/hop/num/disk"
)

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
