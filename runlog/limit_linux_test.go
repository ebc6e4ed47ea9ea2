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
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: size}); err != nil {
			t.Fatal(err)
		}
	}
	if os.Getenv("RUNLOG_NOBODY") != "" {
		if err := syscall.Setuid(65534); err != nil {
			t.Fatal(err)
		}
	}
}
