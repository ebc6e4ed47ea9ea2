package disk

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

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
