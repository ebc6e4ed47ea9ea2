package cpu

import "golang.org/x/sys/unix"

// Memory returns how many bytes of memory the machine has; 0 if the system does not say.
func Memory() uint64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return n
}
