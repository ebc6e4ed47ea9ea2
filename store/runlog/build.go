package runlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/hop-marl/hop/num/disk"
)

// Build says which program it is: what hop version prints and env.json keeps.
type Build struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`          // "unknown" where the build was not told it, as by go run
	Dirty   bool   `json:"dirty,omitempty"` // files had changed since the commit
	// Program tells executables apart where the commit does not say all that they were
	// made from.
	Program string `json:"program,omitempty"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Kernels string `json:"kernels"`
}

// NewBuild returns the running program's.
func NewBuild(version, kernels string) Build {
	b := Build{Version: version, Commit: "unknown", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Kernels: kernels}
	local := false // a part of the program comes from a folder, which has no version
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.modified":
				b.Dirty = s.Value == "true"
			}
		}
		for _, d := range info.Deps {
			local = local || d.Replace != nil && d.Replace.Version == ""
		}
	}
	if b.Commit == "unknown" || b.Dirty || local {
		b.Program = program()
	}
	return b
}

// program names the running executable by what it was made from: the same sources in
// the same place give the same name, also by go run, which builds anew each time.
var program = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := disk.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	head := make([]byte, 1<<16)
	n, _ := io.ReadFull(f, head)
	if id := buildID(head[:n]); id != nil {
		h.Write(id)
	} else if _, err := io.Copy(h, io.NewSectionReader(f, 0, 1<<40)); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
})

// buildID finds Go's own hash of all that went into an executable, which lies near
// its beginning: as a note on systems with ELF files, in a quoted line on others. It
// spares reading tens of megabytes. nil: there is none.
func buildID(head []byte) []byte {
	if _, rest, ok := bytes.Cut(head, []byte("\xff Go build ID: \"")); ok {
		if id, _, ok := bytes.Cut(rest, []byte("\"\n")); ok && len(id) > 0 {
			return id
		}
	}
	before, rest, ok := bytes.Cut(head, []byte("\x04\x00\x00\x00Go\x00\x00")) // the note's kind and owner
	if !ok || len(before) < 4 {
		return nil
	}
	n := int(before[len(before)-4]) | int(before[len(before)-3])<<8
	if n == 0 || n > len(rest) {
		return nil
	}
	return rest[:n]
}

// ID is the same for builds that compute the same, and for no others: the commit, or
// the executable where the commit does not say all, with Go's version, the system and
// the kernel set.
func (b Build) ID() string {
	made := b.Commit
	if b.Program != "" || b.Dirty {
		made = "program " + b.Program
	}
	return strings.Join([]string{b.Version, made, b.Go, b.OS, b.Arch, b.Kernels}, " ")
}

// Line says it on one line.
func (b Build) Line() string {
	commit := b.Commit
	if b.Dirty {
		commit += " (dirty)"
	}
	if b.Program != "" {
		commit += ", program " + b.Program
	}
	return fmt.Sprintf("hop %s, commit %s, %s, %s/%s, %s kernels", b.Version, commit, b.Go, b.OS, b.Arch, b.Kernels)
}

// Same returns nil if b is the same program, and otherwise an error that says which
// one began what the other is to go on with.
func (b Build) Same(other Build) error {
	if b.ID() == other.ID() {
		return nil
	}
	return fmt.Errorf("it was made so far by another build, %s; this is %s, and may compute something else. Go on with that one, or say "+
		"--accept-build", b.Line(), other.Line())
}

// Last returns the build that wrote the run last.
func (e *Env) Last() Build {
	if n := len(e.Later); n > 0 {
		return e.Later[n-1]
	}
	return e.Build
}

// GoOn notes which build goes on with the run.
func (r *Run) GoOn(b Build) error {
	if r.env.Last().ID() == b.ID() {
		return nil
	}
	r.env.Later = append(r.env.Later, b)
	return r.saveEnv()
}
