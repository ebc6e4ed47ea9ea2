package runlog

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// What writing can fail with.
var (
	errsFull     = []error{windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED}
	errsReadOnly = []error{windows.ERROR_WRITE_PROTECT}
	errsTooLarge = []error{windows.ERROR_FILE_TOO_LARGE}
)

// rename waits a while if somebody is reading the file that is replaced.
func rename(from, to string) error {
	var err error
	for range 100 {
		if err = os.Rename(from, to); err == nil || !held(err) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// held reports whether a file cannot be removed because it is being read.
func held(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
}

// syncDir does nothing: Windows cannot do it, and keeps renames without it.
func syncDir(string) error { return nil }
