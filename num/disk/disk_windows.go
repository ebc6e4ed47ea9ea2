package disk

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// lock locks a file for as long as it is open. The locked byte lies beyond the
// process number, so that others can read that.
func lock(f *os.File) error { return lockByte(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// share locks a file together with others who share it.
func share(f *os.File) error { return lockByte(f, 0) }

func lockByte(f *os.File, how uint32) error {
	at := &windows.Overlapped{Offset: 1 << 20}
	err := windows.LockFileEx(windows.Handle(f.Fd()), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errLocked
	}
	return err
}

func unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{Offset: 1 << 20})
}

// rename waits a while if somebody is reading the file that is replaced.
func rename(from, to string) error {
	var err error
	for range 100 {
		err = os.Rename(from, to)
		if err == nil || !errors.Is(err, windows.ERROR_SHARING_VIOLATION) && !errors.Is(err, windows.ERROR_ACCESS_DENIED) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// syncDir does nothing: Windows cannot do it, and keeps renames without it.
func syncDir(string) error { return nil }
