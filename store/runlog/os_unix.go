//go:build unix

package runlog

import (
	"syscall"
)

// What writing can fail with.
var (
	errsFull     = []error{syscall.ENOSPC, syscall.EDQUOT}
	errsReadOnly = []error{syscall.EROFS}
	errsTooLarge = []error{syscall.EFBIG}
)

// held reports whether a file cannot be removed because it is being read.
func held(error) bool { return false }
