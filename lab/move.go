package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/store/runlog"
)

// trash is the folder beside runs into which they are moved when they are removed. No list
// of runs looks into folders that begin with a dot.
const trash = ".trash"

// Discard moves a run into the trash beside it and returns where it lies now.
func Discard(dir string) (string, error) {
	if err := Movable(dir); err != nil {
		return "", err
	}
	to, err := NewFolder(filepath.Join(filepath.Dir(dir), trash), filepath.Base(dir))
	if err != nil {
		return "", err
	}
	to = filepath.Join(to, filepath.Base(dir))
	if err := os.Rename(dir, to); err != nil {
		return "", errors.Join(fmt.Errorf("removing %s: %w", dir, err), os.Remove(filepath.Dir(to)))
	}
	return to, nil
}

// Move gives a run another path. What is there already is never written over.
func Move(dir, to string) error {
	if err := Movable(dir); err != nil {
		return err
	}
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return Misused("%s is there already", to)
	}
	if err := disk.Make(filepath.Dir(to)); err != nil {
		return err
	}
	if err := os.Rename(dir, to); err != nil {
		return fmt.Errorf("moving %s: %w", dir, err)
	}
	return nil
}

// Movable refuses what is no whole run, and a run that somebody writes.
func Movable(dir string) error {
	seeds, err := Folders(dir)
	if err != nil {
		return err
	}
	if _, ok := runlog.SeedOf(filepath.Base(dir)); ok {
		return Misused("%s is a seed of %s; move or remove the whole run", dir, filepath.Dir(dir))
	}
	for _, seed := range seeds {
		if h, err := disk.Held(seed); err != nil {
			return err
		} else if h.Held {
			return Misused("%s is being written by process %d; stop it first", seed, h.PID)
		}
	}
	return nil
}
