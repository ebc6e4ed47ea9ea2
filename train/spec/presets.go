package spec

import (
	"errors"
	"io/fs"
)

// AddPresets adds presets, NAME.yaml each, to those that the registry has.
func (r *Registry) AddPresets(files fs.FS) {
	if r.Presets != nil {
		files = both{r.Presets, files}
	}
	r.Presets = files
}

// both is the files of two folders; of the same name the second one's.
type both struct{ under, over fs.FS }

// Open opens a file; the folder itself is ReadDir's.
func (b both) Open(name string) (fs.File, error) {
	f, err := b.over.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return b.under.Open(name)
	}
	return f, err
}

// ReadDir lists the folder, each name once.
func (b both) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(b.over, name)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, e := range list {
		seen[e.Name()] = true
	}
	under, err := fs.ReadDir(b.under, name)
	for _, e := range under {
		if !seen[e.Name()] {
			list = append(list, e)
		}
	}
	return list, err
}
