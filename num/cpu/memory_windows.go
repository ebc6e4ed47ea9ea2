package cpu

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	kernel        = windows.NewLazySystemDLL("kernel32.dll")
	memoryStatus  = kernel.NewProc("GlobalMemoryStatusEx")
	processMemory = kernel.NewProc("K32GetProcessMemoryInfo")
)

// Memory returns how many bytes of memory the machine has; 0 if the system does not say.
func Memory() uint64 {
	s := struct { // MEMORYSTATUSEX
		length, load uint32
		total        uint64
		rest         [6]uint64
	}{}
	s.length = uint32(unsafe.Sizeof(s))
	if ok, _, _ := memoryStatus.Call(uintptr(unsafe.Pointer(&s))); ok == 0 {
		return 0
	}
	return s.total
}

// Peak returns the most bytes of memory that this process has had; 0 if the system
// does not say.
func Peak() uint64 {
	s := struct { // PROCESS_MEMORY_COUNTERS
		length, faults uint32
		peak           uintptr
		rest           [7]uintptr
	}{}
	s.length = uint32(unsafe.Sizeof(s))
	if ok, _, _ := processMemory.Call(uintptr(windows.CurrentProcess()), uintptr(unsafe.Pointer(&s)), uintptr(s.length)); ok == 0 {
		return 0
	}
	return uint64(s.peak)
}
