package runlog

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Build says which program it is: what hop version prints and env.json keeps.
type Build struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`          // "unknown" where the build was not told it, as by go run
	Dirty   bool   `json:"dirty,omitempty"` // files had changed since the commit
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Kernels string `json:"kernels"`
}

// NewBuild returns the running program's.
func NewBuild(version, kernels string) Build {
	b := Build{Version: version, Commit: "unknown", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Kernels: kernels}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.modified":
				b.Dirty = s.Value == "true"
			}
		}
	}
	return b
}

// Line says it on one line.
func (b Build) Line() string {
	commit := b.Commit
	if b.Dirty {
		commit += " (dirty)"
	}
	return fmt.Sprintf("hop %s, commit %s, %s, %s/%s, %s kernels", b.Version, commit, b.Go, b.OS, b.Arch, b.Kernels)
}
