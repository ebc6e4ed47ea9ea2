package bridge

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// detach puts a guest into a process group of its own, which a terminal's Ctrl-C does
// not reach.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// orphaned is never closed: without forks the end of stdin says all.
func orphaned() <-chan struct{} { return nil }
