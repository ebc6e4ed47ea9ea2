//go:build unix

package runlog

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

var (
	errDiskFull error = syscall.ENOSPC
	errReadOnly error = syscall.EROFS
)

// takeLock locks a file for this process. The system drops the lock when the
// process ends, however it ends.
func takeLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, explain(path, err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		b := make([]byte, 32)
		n, _ := f.ReadAt(b, 0)
		if errors.Is(err, unix.EWOULDBLOCK) {
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

// syncDir makes a rename survive a crash.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return explain(dir, err)
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return explain(dir, err)
	}
	return nil
}
