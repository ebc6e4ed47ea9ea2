package bridge

import (
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/windows"
)

// early says that a file's name cannot go while it is mapped: Windows refuses that.
const early = false

// memoryDirs are the folders to try.
func memoryDirs() []string { return []string{os.TempDir()} }

// mapFile maps a file for reading and writing.
func mapFile(f *os.File, size int) ([]byte, func() error, error) {
	h, err := windows.CreateFileMapping(windows.Handle(f.Fd()), nil, windows.PAGE_READWRITE, uint32(uint64(size)>>32), uint32(size), nil)
	if err != nil {
		return nil, nil, err
	}
	at, err := windows.MapViewOfFile(h, windows.FILE_MAP_WRITE, 0, 0, uintptr(size))
	windows.CloseHandle(h)
	if err != nil {
		return nil, nil, err
	}
	p := *(*unsafe.Pointer)(unsafe.Pointer(&at)) // the system's memory, which no collector moves
	return unsafe.Slice((*byte)(p), size), func() error { return windows.UnmapViewOfFile(at) }, nil
}

// sweep removes files whose processes died; those in use cannot be removed.
func sweep(dir string) {
	old, _ := filepath.Glob(filepath.Join(dir, pattern))
	for _, path := range old {
		os.Remove(path)
	}
}
