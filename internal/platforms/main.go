// Command platforms type-checks every package, with its tests, for each system and each processor that hop is released
// for, or for those that are named:
//
//	go run ./internal/platforms [GOOS/GOARCH...]
//
// That finds what a build for them finds in one's own code, and takes a fraction of its time, since nothing is compiled.
// What only a compiler or a linker sees (assembler, symbols) is left to python/release, which builds for all six.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

func main() {
	flag.Parse()
	targets := flag.Args()
	if len(targets) == 0 {
		targets = []string{"windows/amd64", "darwin/arm64"} // linux/amd64 is tested, linux/arm64 built where there is an emulator
	}
	c := &checker{set: token.NewFileSet(), files: map[string]func() (*ast.File, error){}}
	errs := make([]error, len(targets))
	var wg sync.WaitGroup
	for i, target := range targets {
		wg.Go(func() { errs[i] = c.check(target) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("type-checked for", strings.Join(targets, ", "))
}

// checker parses each file once for all systems.
type checker struct {
	set   *token.FileSet
	mu    sync.Mutex
	files map[string]func() (*ast.File, error)
}

// listed is a package, or one with its tests, as go list has it.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	Module          *struct{ Main bool }
}

// check type-checks everything for one system, packages after those that they import.
func (c *checker) check(target string) error {
	system, arch, _ := strings.Cut(target, "/")
	cmd := exec.Command("go", "list", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,ImportMap,Module", "./...")
	cmd.Env, cmd.Stderr = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0"), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: go list: %w", target, err)
	}
	done := map[string]*types.Package{"unsafe": types.Unsafe}
	var errs []error
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return errors.Join(errs...)
		} else if err != nil {
			return err
		}
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") { // the latter's file is generated
			continue
		}
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := c.parse(filepath.Join(p.Dir, name))
			if err != nil {
				return err
			}
			files = append(files, f)
		}
		path, _, _ := strings.Cut(p.ImportPath, " ") // "a [a.test]" is a with its tests
		config := types.Config{
			Importer: importer{done, p.ImportMap}, Sizes: types.SizesFor("gc", arch), IgnoreFuncBodies: p.Module == nil || !p.Module.Main,
			Error: func(err error) { errs = append(errs, fmt.Errorf("%s: %w", target, err)) },
		}
		done[p.ImportPath], _ = config.Check(path, c.set, files, nil) // Error has heard of what is wrong
	}
}

// parse reads a file once.
func (c *checker) parse(name string) (*ast.File, error) {
	c.mu.Lock()
	f := c.files[name]
	if f == nil {
		f = sync.OnceValues(func() (*ast.File, error) { return parser.ParseFile(c.set, name, nil, parser.SkipObjectResolution) })
		c.files[name] = f
	}
	c.mu.Unlock()
	return f()
}

// importer finds packages among those that were checked before.
type importer struct {
	done   map[string]*types.Package
	mapped map[string]string
}

// Import finds one.
func (i importer) Import(path string) (*types.Package, error) {
	if to := i.mapped[path]; to != "" {
		path = to
	}
	if p := i.done[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s was not listed before", path)
}
