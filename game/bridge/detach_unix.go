//go:build unix

package bridge

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// detach puts a guest into a process group of its own, which a terminal's Ctrl-C does
// not reach.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// orphaned is closed soon after the process that started this one is gone. The end of
// stdin says so too, unless a fork of the host holds the pipe open.
func orphaned() <-chan struct{} {
	gone := make(chan struct{})
	parent := os.Getppid()
	go func() {
		for os.Getppid() == parent {
			time.Sleep(200 * time.Millisecond)
		}
		close(gone)
	}()
	return gone
}
