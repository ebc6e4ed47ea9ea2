package jobs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/windows"
)

// begin starts a process with a console of its own that nobody sees. What it says goes
// into a file that nobody else may write as long as it is open, by which it is known to
// live: a lock would be this process's.
func begin(dir string, words []string) (pid int, err error) {
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = withoutToken(os.Environ())
	result, err := os.OpenFile(filepath.Join(dir, resultFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return 0, err
	}
	defer result.Close()
	output, err := alone(dir, windows.CREATE_NEW, windows.FILE_SHARE_READ)
	if err != nil {
		return 0, err
	}
	defer output.Close()
	cmd.Stdout, cmd.Stderr = result, output
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	pid = cmd.Process.Pid
	return pid, cmd.Process.Release()
}

// alone opens the output to write on.
func alone(dir string, how, share uint32) (*os.File, error) {
	name := filepath.Join(dir, outputFile)
	path, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	h, err := windows.CreateFile(path, windows.FILE_APPEND_DATA|windows.SYNCHRONIZE, share, nil, how, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(h), name), nil
}

// alive reports whether a job's process has its output open.
func alive(dir string, _ int) bool {
	f, err := alone(dir, windows.OPEN_EXISTING, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE)
	if err == nil {
		f.Close()
		return false
	}
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION)
}

// interrupt has a helper, this program itself, do it: it must leave its console for the
// job's, which the server cannot.
func interrupt(program []string, pid int) error {
	cmd := exec.Command(program[0], append(program[1:], "__interrupt", strconv.Itoa(pid))...)
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NO_WINDOW}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// Interrupt goes to the console of a process and presses Ctrl-Break there.
func Interrupt(text string) error {
	pid, err := strconv.ParseUint(text, 10, 32)
	if err != nil || pid == 0 {
		return errors.New("want the number of a process")
	}
	kernel := windows.NewLazySystemDLL("kernel32.dll")
	_, _, _ = kernel.NewProc("FreeConsole").Call()
	if ok, _, err := kernel.NewProc("AttachConsole").Call(uintptr(pid)); ok == 0 {
		return fmt.Errorf("reaching its console: %w", err)
	}
	if err := windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(pid)); err != nil {
		return fmt.Errorf("pressing Ctrl-Break: %w", err)
	}
	return nil
}
