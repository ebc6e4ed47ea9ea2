package runlog

import (
	"os"
	"strconv"
	"syscall"
	"testing"
)

// limitChild takes from a child what its environment says: room in files, or
// being root.
func limitChild(t *testing.T) {
	if size, err := strconv.ParseUint(os.Getenv("RUNLOG_FSIZE"), 10, 64); err == nil {
		must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: size}))
	}
	if os.Getenv("RUNLOG_NOBODY") != "" {
		must(t, syscall.Setuid(65534))
	}
}
