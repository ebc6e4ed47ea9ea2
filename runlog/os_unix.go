//go:build unix

package runlog

import (
	"errors"
	"os"
	"syscall"
)

// What writing can fail with.
var (
	errsFull     = []error{syscall.ENOSPC, syscall.EDQUOT}
	errsReadOnly = []error{syscall.EROFS}
	errsTooLarge = []error{syscall.EFBIG}
)

func rename(from, to string) error { return os.Rename(from, to) }

// held reports whether a file cannot be removed because it is being read.
func held(error) bool { return false }

// syncDir makes a rename survive a crash, where the file system knows how.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}
