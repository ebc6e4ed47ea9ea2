//go:build unix

package worker

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// apart gives the process a group of its own, so that a Ctrl-C at the worker's terminal
// reaches the worker alone, which then stops its jobs in order.
func apart(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// interrupt asks it to stop as Ctrl-C does.
func interrupt(c *exec.Cmd) error { return c.Process.Signal(os.Interrupt) }

// kill ends it and what it has started.
func kill(c *exec.Cmd) error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }

// peak is the most memory that it had.
func peak(s *os.ProcessState) int64 {
	u, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) << 10
}
