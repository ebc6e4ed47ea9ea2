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

// held reports whether a file cannot be removed because it is being read.
func held(error) bool { return false }
