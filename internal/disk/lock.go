package disk

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// LockFile is what the file is called that says who is writing into a folder.
const LockFile = "lock"

// errLocked is what lock returns if another open file has the lock.
var errLocked = errors.New("locked")

// ErrHeld is what errors are that say that another process is writing into a folder.
var ErrHeld = errors.New("another process is writing there")

// Held is an ErrHeld that knows who is writing.
type Held struct {
	PID string // a process number, "" if it has not been written yet
	Dir string
}

// Is says that it is an ErrHeld.
func (*Held) Is(target error) bool { return target == ErrHeld }

func (h *Held) Error() string {
	who := ""
	if h.PID != "" {
		who = fmt.Sprintf(", process %s,", h.PID)
	}
	return fmt.Sprintf("another process%s is writing %s; wait until it is done, or stop it and then go on", who, h.Dir)
}

// Lock takes a folder for this process, until Unlock is given the file that it returns. The
// system drops the lock when the process ends, however it ends, so there are no stale
// locks; the process number in the file is for messages only.
func Lock(dir string) (*os.File, error) {
	name := filepath.Join(dir, LockFile)
	if err := Own(name); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	err = lock(f)
	switch {
	case errors.Is(err, errLocked):
		err = holder(f, dir)
	case err != nil:
		err = fmt.Errorf("locking %s: %w; choose a folder on a disk that has file locks", name, err)
	default:
		if err = f.Truncate(0); err == nil {
			_, err = fmt.Fprintf(f, "%d\n", os.Getpid())
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Unlock gives a folder up. To close the file would not do: a process that is being
// started has it open too for a moment, and holds the lock until it runs its program.
func Unlock(f *os.File) error { return errors.Join(unlock(f), f.Close()) }

// holder says who holds a folder. It may not have written its number yet.
func holder(f *os.File, dir string) error {
	b := make([]byte, 32)
	n, _ := f.ReadAt(b, 0)
	return &Held{string(bytes.TrimSpace(b[:n])), dir}
}
