//go:build unix

package runlog

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// What writing can fail with.
var (
	errsFull     = []error{syscall.ENOSPC, syscall.EDQUOT}
	errsReadOnly = []error{syscall.EROFS}
	errsTooLarge = []error{syscall.EFBIG}
)

// lock locks a file for as long as it is open.
func lock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errLocked
	}
	return err
}

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
