package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/hop-marl/hop/internal/mutants"
)

// subject is the program that slips are planted in.
const subject = "./internal/mutants/subject"

// unbuilt says that a patched program does not compile.
type unbuilt struct{ error }

// build builds the program with a slip in it, or as it is, and returns its path.
func (l *bench) build(ctx context.Context, name string, r *mutants.Record) (string, error) {
	bin := filepath.Join(l.dir, "bin", name)
	if runtime.GOOS == "windows" {
		bin += ".exe"
	}
	args := []string{"build", "-ldflags", "-s -w", "-o", bin} // nobody debugs them
	if r != nil {
		text, err := r.Patched(l.root)
		if err != nil {
			return "", err
		}
		dir := bin + ".parts"
		defer os.RemoveAll(dir)
		was, patched := filepath.Join(l.root, filepath.FromSlash(r.File)), filepath.Join(dir, path.Base(r.File))
		overlay := filepath.Join(dir, "overlay.json")
		b, err := json.Marshal(map[string]any{"Replace": map[string]string{was: patched}})
		err = errors.Join(err, os.MkdirAll(dir, 0o755), os.WriteFile(patched, text, 0o644), os.WriteFile(overlay, b, 0o644))
		if err != nil {
			return "", err
		}
		if l.relink(ctx, bin, dir, was) == nil {
			return bin, nil
		}
		args = append(args, "-overlay", overlay)
	}
	if err := l.tool(ctx, append(args, subject)...); err != nil {
		return "", unbuilt{fmt.Errorf("building %s: %w", name, err)}
	}
	return bin, nil
}

// tool runs the go command.
func (l *bench) tool(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = l.root
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	return nil
}

// part is a package of the program as it is.
type part struct {
	ImportPath, Export, Dir     string
	GoFiles, SFiles, EmbedFiles []string
}

// parts returns what the program is linked from, itself last.
func (l *bench) parts(ctx context.Context) (list []part, err error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-export", "-json=ImportPath,Export,Dir,GoFiles,SFiles,EmbedFiles", subject)
	cmd.Dir, cmd.Stderr = l.root, os.Stderr
	text, err := cmd.Output()
	for d := json.NewDecoder(bytes.NewReader(text)); err == nil; {
		var p part
		if err = d.Decode(&p); err == nil && p.Export != "" {
			list = append(list, p)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return list, err
}

// relink compiles only the package of a file that a file of that name in dir takes the place of, and links
// it with the others as they are: three seconds in place of twenty. The linker refuses it where what
// others see of the package has changed.
func (l *bench) relink(ctx context.Context, bin, dir, file string) error {
	config, object := filepath.Join(dir, "packages"), filepath.Join(dir, "package.a")
	compile := []string{"tool", "compile", "-lang=go1.26", "-complete", "-pack", "-importcfg", config, "-o", object}
	err := errors.New("it has more than Go files")
	var before, after strings.Builder
	main := ""
	for _, p := range l.linked {
		main = p.Export
		fmt.Fprintf(&before, "packagefile %s=%s\n", p.ImportPath, main)
		if p.Dir == filepath.Dir(file) && len(p.SFiles)+len(p.EmbedFiles) == 0 {
			main, err = object, nil
			compile = append(compile, "-p", p.ImportPath, "-trimpath", dir+"=>"+p.ImportPath+";"+p.Dir+"=>"+p.ImportPath)
			for _, name := range p.GoFiles {
				if at := filepath.Join(p.Dir, name); at == file {
					compile = append(compile, filepath.Join(dir, name))
				} else {
					compile = append(compile, at)
				}
			}
		}
		fmt.Fprintf(&after, "packagefile %s=%s\n", p.ImportPath, main)
	}
	if err == nil {
		err = os.WriteFile(config, []byte(before.String()), 0o644)
	}
	if err == nil {
		err = l.tool(ctx, compile...)
	}
	if err == nil {
		err = os.WriteFile(config, []byte(after.String()), 0o644)
	}
	if err == nil {
		err = l.tool(ctx, "tool", "link", "-importcfg", config, "-buildmode=exe", "-s", "-w", "-o", bin, main)
	}
	return err
}
