package cpu

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Memory returns how many bytes of memory the machine has, or as many as a container
// may take of it; 0 if the system does not say.
func Memory() uint64 {
	least := uint64(math.MaxUint64)
	text, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == "MemTotal:" {
			if kb, err := strconv.ParseUint(f[1], 10, 64); err == nil && kb > 0 {
				least = kb << 10
			}
		}
	}
	groups, _ := os.ReadFile("/proc/self/cgroup")
	for _, file := range limits(string(groups)) {
		text, _ := os.ReadFile(file)
		if n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 { // else max
			least = min(least, n)
		}
	}
	if least == math.MaxUint64 {
		return 0
	}
	return least
}

// limits returns the files that may hold a limit of the control groups that a process
// is in, in the form of version 2 and of version 1, and those of the groups above.
func limits(groups string) (files []string) {
	add := func(root, path, name string) {
		for {
			files = append(files, filepath.Join(root, path, name))
			if path == "/" || path == "." || path == "" {
				return
			}
			path = filepath.Dir(path)
		}
	}
	for line := range strings.Lines(groups) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(f) != 3:
		case f[0] == "0" && f[1] == "":
			add("/sys/fs/cgroup", f[2], "memory.max")
		case strings.Contains(","+f[1]+",", ",memory,"):
			add("/sys/fs/cgroup/memory", f[2], "memory.limit_in_bytes")
		}
	}
	return files
}
