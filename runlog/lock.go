package runlog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// errLocked is what lock returns if another open file has the lock.
var errLocked = errors.New("locked")

// takeLock locks a file for this process. The system drops the lock when the
// process ends, however it ends, so there are no stale locks; the process number
// in the file is for messages only.
func takeLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, explain("writing", path, err)
	}
	err = lock(f)
	switch {
	case errors.Is(err, errLocked):
		err = busy(f)
	case err != nil:
		err = fmt.Errorf("runlog: locking %s: %w; put runs on a disk that has file locks", path, err)
	default:
		if err = f.Truncate(0); err == nil {
			_, err = fmt.Fprintf(f, "%d\n", os.Getpid())
		}
		if err != nil {
			err = explain("writing", path, err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// busy says who holds a run. The holder may not have written its number yet.
func busy(f *os.File) error {
	b := make([]byte, 32)
	n, _ := f.ReadAt(b, 0)
	pid := ""
	if b = bytes.TrimSpace(b[:n]); len(b) > 0 {
		pid = fmt.Sprintf(", process %s,", b)
	}
	return fmt.Errorf("runlog: another process%s is writing %s; wait until it is done, or stop it and then resume",
		pid, filepath.Dir(f.Name()))
}
