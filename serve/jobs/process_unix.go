//go:build unix

package jobs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/hop-marl/hop/num/disk"
)

// begin starts a process in a session of its own. It is handed the lock of the job's
// folder, open: the system drops it when the process ends, however it ends.
func begin(dir string, words []string) (pid int, err error) {
	lock, err := disk.Lock(dir)
	if err != nil {
		return 0, err
	}
	defer lock.Close() // the process still holds it
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = withoutToken(os.Environ())
	var files [2]*os.File
	for i, name := range []string{resultFile, outputFile} {
		if files[i], err = os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644); err != nil {
			return 0, err
		}
		defer files[i].Close()
	}
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = files[0], files[1], []*os.File{lock}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	pid = cmd.Process.Pid
	return pid, cmd.Process.Release()
}

// alive reports whether a job's process holds its folder. One of ours that has ended is
// taken note of, so that it does not stay in the system's list.
func alive(dir string, pid int) bool {
	h, err := disk.Held(dir)
	if err == nil && h.Held {
		return true
	}
	if pid > 0 {
		_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
	}
	return false
}

// interrupt is Ctrl-C.
func interrupt(_ []string, pid int) error {
	if pid <= 1 {
		return errors.New("its number is not known")
	}
	return syscall.Kill(pid, syscall.SIGINT)
}

// Interrupt is for Windows alone.
func Interrupt(string) error { return errors.New("this is for Windows alone") }
