// Package disktest is a disk that loses its power, for tests.
//
// A file's bytes survive the loss once the file is synced, a name once the folder that
// it stands in is. Everything else may be lost, or may not.
package disktest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hop-marl/hop/num/disk"
)

// State is what may lie below a folder when the power is back.
type State struct {
	root  string
	files map[string][]byte // by path
	dirs  []string          // as above, in order
}

// powerDisk remembers what was synced.
type powerDisk struct {
	root      string
	now, safe map[string]*inode // by path; of folders nil
}

type inode struct{ now, safe []byte }

// Losses does something, and returns all that a loss of power after any of its changes
// below root may leave there, and the least that is left after the last one. What is
// done may not remove folders.
func Losses(root string, do func() error) (states []State, last State, err error) {
	d := &powerDisk{root: root, now: map[string]*inode{}, safe: map[string]*inode{}}
	var mu sync.Mutex
	seen := map[[sha256.Size]byte]bool{}
	disk.Trace(func(c disk.Change) error {
		mu.Lock()
		defer mu.Unlock()
		if !strings.HasPrefix(c.Name, root+string(filepath.Separator)) && c.Name != root {
			return nil
		}
		d.change(c)
		for _, s := range d.left() {
			if sum := s.sum(); !seen[sum] {
				seen[sum] = true
				states = append(states, s)
			}
		}
		return nil
	})
	defer disk.Trace(nil)
	err = do()
	return states, d.left()[synced], err
}

func (d *powerDisk) change(c disk.Change) {
	f := d.now[c.Name]
	switch c.Op {
	case disk.Made:
		d.now[c.Name] = nil
	case disk.Written:
		if f == nil {
			f = &inode{}
			d.now[c.Name] = f
		}
		f.now = append(slices.Clip(f.now), c.Data...)
	case disk.Cut:
		if f != nil {
			f.now = f.now[:min(int(c.Bytes), len(f.now))]
		}
	case disk.Renamed:
		delete(d.now, c.Name)
		d.now[c.To] = f
	case disk.Removed:
		delete(d.now, c.Name)
	case disk.Synced:
		if f != nil {
			f.safe = f.now
			return
		}
		in := func(name string, _ *inode) bool { return filepath.Dir(name) == filepath.Clean(c.Name) }
		maps.DeleteFunc(d.safe, in)
		for name, f := range d.now {
			if in(name, f) {
				d.safe[name] = f
			}
		}
	}
}

// synced is which of those that left returns has no more than was synced.
const synced = 0

// left returns what may be on the disk: the names as they are or as they were synced,
// each with its bytes as they are, as they were synced, or half of what came since.
func (d *powerDisk) left() []State {
	var list []State
	for _, names := range []map[string]*inode{d.safe, d.now} {
		for _, bytes := range []func(f *inode) []byte{
			func(f *inode) []byte { return f.safe },
			func(f *inode) []byte { return f.now },
			func(f *inode) []byte {
				if len(f.now) < len(f.safe) {
					return f.now
				}
				return f.now[:(len(f.now)+len(f.safe))/2]
			},
		} {
			s := State{d.root, map[string][]byte{}, nil}
			for _, name := range slices.Sorted(maps.Keys(names)) { // a folder comes before what is in it
				above := filepath.Dir(name)
				switch f := names[name]; {
				case above != d.root && !slices.Contains(s.dirs, above): // lost with its folder
				case f == nil:
					s.dirs = append(s.dirs, name)
				default:
					s.files[name] = bytes(f)
				}
			}
			list = append(list, s)
		}
	}
	return list
}

func (s State) sum() [sha256.Size]byte {
	h := sha256.New()
	fmt.Fprintf(h, "%q\n", s.dirs)
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		fmt.Fprintf(h, "%q %d\n", name, len(s.files[name]))
		h.Write(s.files[name])
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// String lists what is left.
func (s State) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		fmt.Fprintf(&b, "%s: %d bytes\n", strings.TrimPrefix(name, s.root), len(s.files[name]))
	}
	return b.String()
}

// Restore makes the folder hold what is left, and nothing else.
func (s State) Restore() error {
	err := errors.Join(os.RemoveAll(s.root), os.MkdirAll(s.root, 0o755))
	for _, dir := range s.dirs {
		err = errors.Join(err, os.Mkdir(dir, 0o755))
	}
	for name, b := range s.files {
		err = errors.Join(err, os.WriteFile(name, b, 0o644))
	}
	return err
}

// Folder makes a folder in memory where there is such a place, since there syncing
// costs nothing, and returns how to remove it.
func Folder() (dir string, remove func(), err error) {
	if dir, err = os.MkdirTemp("/dev/shm", "hop-test-"); err != nil {
		dir, err = os.MkdirTemp("", "hop-test-")
	}
	return dir, func() { os.RemoveAll(dir) }, err
}
