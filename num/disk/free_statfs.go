//go:build linux || darwin

package disk

import "golang.org/x/sys/unix"

// Free returns how many bytes the disk of a folder has left.
func Free(dir string) (bytes uint64, known bool) {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return 0, false
	}
	return s.Bavail * uint64(s.Bsize), true
}
