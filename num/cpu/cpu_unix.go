//go:build unix

package cpu

import (
	"runtime"
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

// Peak returns the most bytes of memory that this process has had; 0 if the system
// does not say.
func Peak() uint64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return uint64(u.Maxrss)
	}
	return uint64(u.Maxrss) << 10 // elsewhere it is in kilobytes
}
