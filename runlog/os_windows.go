package runlog

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

var (
	errDiskFull error = windows.ERROR_DISK_FULL
	errReadOnly error = windows.ERROR_WRITE_PROTECT
)

// takeLock locks a file for this process. The system drops the lock when the
// process ends, however it ends. The locked byte lies beyond the process number,
// so that others can read it.
func takeLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, explain(path, err)
	}
	at := &windows.Overlapped{Offset: 1 << 20}
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if err != nil {
		b := make([]byte, 32)
		n, _ := f.ReadAt(b, 0)
		if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
			err = busy(path, b[:n])
		}
		return nil, errors.Join(err, f.Close())
	}
	if err := f.Truncate(0); err != nil {
		return nil, errors.Join(explain(path, err), f.Close())
	}
	if _, err := fmt.Fprintf(f, "%d", os.Getpid()); err != nil {
		return nil, errors.Join(explain(path, err), f.Close())
	}
	return f, nil
}

func dropLock(f *os.File) error { return f.Close() }

// syncDir does nothing: Windows keeps renames without it.
func syncDir(string) error { return nil }
