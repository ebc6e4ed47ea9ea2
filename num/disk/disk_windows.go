package disk

import (
	"errors"
	"os"
	"slices"
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
	return patient(func() error { return os.Rename(from, to) }, windows.ERROR_SHARING_VIOLATION, windows.ERROR_ACCESS_DENIED)
}

// open waits a while if somebody is removing another name of the file.
func open(name string) (f *os.File, err error) {
	err = patient(func() (err error) { f, err = os.Open(name); return err }, windows.ERROR_SHARING_VIOLATION)
	return f, err
}

// patient tries for two seconds while it fails with one of some errors.
func patient(try func() error, passing ...error) (err error) {
	for range 100 {
		err = try()
		if !slices.ContainsFunc(passing, func(e error) bool { return errors.Is(err, e) }) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// syncDir does nothing: Windows cannot do it, and keeps renames without it.
func syncDir(string) error { return nil }
