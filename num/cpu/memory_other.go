//go:build !linux && !darwin && !windows

package cpu

// Memory returns 0: how much memory the machine has is not known.
func Memory() uint64 { return 0 }
