package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// LockFile is what the file is called that says who is writing into a folder.
const LockFile = "lock"

// SignatureFile is what the file is called in which a user signs what a folder names to run
// (package trust). It differs from user to user, so no sum of a folder counts it.
const SignatureFile = ".signature"

// errLocked is what lock returns if another open file has the lock.
var errLocked = errors.New("locked")

// ErrHeld is what errors are that say that another process is writing into a folder.
var ErrHeld = errors.New("another process is writing there")

// Busy is an ErrHeld that knows who is writing.
type Busy struct {
	PID int // 0: it has not been written yet
	Dir string
}

// Owner is the process number as text, "" if it has not been written yet.
func (h *Busy) Owner() string {
	if h.PID == 0 {
		return ""
	}
	return strconv.Itoa(h.PID)
}

// Is says that it is an ErrHeld.
func (*Busy) Is(target error) bool { return target == ErrHeld }

func (h *Busy) Error() string {
	who := ""
	if h.PID > 0 {
		who = fmt.Sprintf(", process %d,", h.PID)
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
	err = take(f)
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

// take locks the file. Whoever asks whether a folder is held has its lock for a moment,
// shared: as long as that alone is in the way, it is tried again.
func take(f *os.File) error {
	for left := asked; ; left-- {
		err := lock(f)
		if !errors.Is(err, errLocked) || left == 0 {
			return err
		}
		if share(f) != nil {
			return err // somebody holds it alone
		}
		if err := unlock(f); err != nil {
			return err
		}
		time.Sleep(time.Duration(1+os.Getpid()%3) * time.Millisecond)
	}
}

// asked is how often Lock tries again because of those who only ask.
const asked = 2000

// Holder says who is writing into a folder.
type Holder struct {
	Held bool
	PID  int       // of the process; 0: nobody, or not known
	Seen time.Time // the last sign of life (Beat), also of one that is gone; zero: none
}

// Held says whether a process is writing into a folder, by the lock, and which. It changes
// nothing there, and a process that takes the folder meanwhile is not kept from it.
func Held(dir string) (Holder, error) {
	name := filepath.Join(dir, LockFile)
	if err := Own(name); err != nil {
		return Holder{}, err
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Holder{}, nil
	}
	if err != nil {
		return Holder{}, err
	}
	defer f.Close()
	var h Holder
	if info, err := f.Stat(); err == nil {
		h.Seen = info.ModTime()
	}
	if err := share(f); errors.Is(err, errLocked) {
		h.Held, h.PID = true, pid(f)
		return h, nil
	} else if err != nil {
		return h, fmt.Errorf("asking who holds %s: %w", dir, err)
	}
	return h, unlock(f)
}

// Beat gives a sign of life to those who ask who holds the folder: the lock's time.
func Beat(f *os.File, now time.Time) error { return os.Chtimes(f.Name(), now, now) }

// Unlock gives a folder up. To close the file would not do: a process that is being
// started has it open too for a moment, and holds the lock until it runs its program.
func Unlock(f *os.File) error { return errors.Join(unlock(f), f.Close()) }

// holder says who holds a folder. It may not have written its number yet.
func holder(f *os.File, dir string) error {
	return &Busy{pid(f), dir}
}

// pid reads which process wrote its number into a lock, 0 if it has not yet.
func pid(f *os.File) int {
	b := make([]byte, 32)
	n, _ := f.ReadAt(b, 0)
	number, err := strconv.Atoi(string(bytes.TrimSpace(b[:n])))
	if err != nil || number < 0 {
		return 0
	}
	return number
}
