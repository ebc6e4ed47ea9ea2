package runlog

import (
	"errors"

	"golang.org/x/sys/windows"
)

// What writing can fail with.
var (
	errsFull     = []error{windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED}
	errsReadOnly = []error{windows.ERROR_WRITE_PROTECT}
	errsTooLarge = []error{windows.ERROR_FILE_TOO_LARGE}
)

// held reports whether a file cannot be removed because it is being read.
func held(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
}
