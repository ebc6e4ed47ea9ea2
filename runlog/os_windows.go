package runlog

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// What writing can fail with.
var (
	errsFull     = []error{windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED}
	errsReadOnly = []error{windows.ERROR_WRITE_PROTECT}
	errsTooLarge = []error{windows.ERROR_FILE_TOO_LARGE}
)

// lock locks a file for as long as it is open. The locked byte lies beyond the
// process number, so that others can read that.
func lock(f *os.File) error {
	at := &windows.Overlapped{Offset: 1 << 20}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errLocked
	}
	return err
}

// held reports whether a file cannot be removed because it is being read.
func held(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
}
