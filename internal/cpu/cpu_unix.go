//go:build unix

package cpu

import (
	"syscall"
	"time"
)

// Time returns the processor time that this process has used.
func Time() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
