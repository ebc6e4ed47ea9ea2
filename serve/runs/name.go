package runs

import (
	"path/filepath"
	"strconv"
)

// Roots are the folders themselves, for programs that are started on them.
func (s *Shelf) Roots() []string { return s.folders }

// Name returns what a folder or file below the served ones is called, and false if it is
// not below them.
func (s *Shelf) Name(path string) (string, bool) {
	for n, f := range s.folders {
		rest, err := filepath.Rel(f, path)
		if err == nil && rest != "." && filepath.IsLocal(rest) {
			return strconv.Itoa(n) + ":" + filepath.ToSlash(rest), true
		}
	}
	return "", false
}
