package worker

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// apart gives the process a group of its own, to which a Ctrl-Break can be sent.
func apart(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// interrupt asks it to stop.
func interrupt(c *exec.Cmd) error {
	return windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(c.Process.Pid))
}

func kill(c *exec.Cmd) error { return c.Process.Kill() }

// peak is not known here.
func peak(*os.ProcessState) int64 { return 0 }
