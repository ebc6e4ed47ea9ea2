package bridge

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// Python starts a module of hop's Python package as a guest. named is the interpreter; "": the
// usual one. flag is how a user names another, beside HOP_PYTHON; "": by that alone.
func Python(module, named, flag string) (*Peer, error) {
	by := "HOP_PYTHON"
	if flag != "" {
		by = flag + " or HOP_PYTHON"
	}
	python, err := interpreter(named)
	if err != nil {
		return nil, fmt.Errorf("%w; install one, or name it with %s", err, by)
	}
	p, err := Start(exec.Command(python, "-m", module), thisVersion())
	if err == nil {
		return p, nil
	}
	if strings.Contains(err.Error(), "No module named hop_marl") || strings.Contains(err.Error(), "No module named 'hop_marl'") {
		return nil, fmt.Errorf("%s does not have hop's Python package; install it there (pip install hop-marl), or name the interpreter "+
			"that has it with %s", python, by)
	}
	return nil, err
}

// interpreter returns the Python that is named or, if it is "", that of HOP_PYTHON, the one beside
// this program, the one of VIRTUAL_ENV, or python3.
func interpreter(named string) (string, error) {
	if named != "" {
		return named, nil
	}
	if p := os.Getenv("HOP_PYTHON"); p != "" {
		return p, nil
	}
	var folders []string
	if exe, err := os.Executable(); err == nil { // a wheel puts both into one folder
		folders = append(folders, filepath.Dir(exe))
	}
	if v := os.Getenv("VIRTUAL_ENV"); v != "" {
		folders = append(folders, filepath.Join(v, "bin"), filepath.Join(v, "Scripts"))
	}
	for _, dir := range folders {
		for _, name := range []string{"python3", "python", "python.exe"} {
			path := filepath.Join(dir, name)
			if info, err := os.Stat(path); err == nil && !info.IsDir() {
				return path, nil
			}
		}
	}
	for _, name := range []string{"python3", "python"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("there is no Python here")
}

// thisVersion is the version of this program, for people.
func thisVersion() string {
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
		return b.Main.Version
	}
	return "dev"
}

// Traced is an error with where it happened in the guest's code, if that is known.
func Traced(err error) error {
	var r *Refusal
	if errors.As(err, &r) && r.Trace != "" {
		return fmt.Errorf("%s\n%s", r.Text, strings.TrimSpace(r.Trace))
	}
	return err
}
