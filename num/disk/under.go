package disk

import (
	"fmt"
	"os"
	"path/filepath"
)

// Below returns the path of a file or folder below another folder, for names that come
// from a file. It must be there, and may not lead out of the folder, neither by .. nor
// by links.
func Below(dir, name string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	name = filepath.FromSlash(name)
	if _, err := root.Stat(name); err != nil {
		return "", fmt.Errorf("%s: %w", dir, err)
	}
	return filepath.Join(dir, name), nil
}
