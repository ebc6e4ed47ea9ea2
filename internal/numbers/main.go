// Command numbers makes the numbers that pages quote: it runs the commands of docs/numbers.yaml, keeps
// what they printed below docs/results/numbers with commit, kernel set and date, and fills the pages.
//
//	go run ./internal/numbers                  # fills the pages with what is kept
//	go run ./internal/numbers tutorial         # measures a group anew, then fills
//	go run ./internal/numbers -check tutorial  # says where it comes out otherwise than kept
//
// A page quotes a number by <!--=GROUP.STEP.NAME-->2.88<!----> and what a command printed by the same
// marks around a block. Of a group measured more than once, by seed or kernel set, a number is that of
// the first kernel set, or the mean over seeds; "spread" after the name quotes the lowest and the highest.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/hop-marl/hop/num/disk"
)

func main() {
	check := flag.Bool("check", false, "compare with what is kept, and write nothing")
	bin := flag.String("bin", "", "folder of programs to use, hop and outside; none: they are built")
	root := flag.String("root", ".", "the repository")
	variant := flag.String("only", "", "one seed or kernel set of the group")
	out := flag.String("out", "", "keep what is measured in this folder, and fill no page")
	flag.Parse()
	if err := run(*root, *bin, *variant, *out, *check, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "numbers:", err)
		os.Exit(1)
	}
}

func run(root, bin, variant, out string, check bool, names []string) error {
	plan, err := readPlan(root)
	if err != nil {
		return err
	}
	bench := &bench{root: root, dir: bin}
	defer bench.close()
	for _, name := range names {
		g, ok := plan[name]
		if !ok {
			return fmt.Errorf("docs/numbers.yaml has no %s", name)
		}
		for _, v := range g.variants() {
			if variant != "" && v != variant {
				continue
			}
			m, err := bench.measure(g, v)
			if err != nil {
				return err
			}
			if check {
				was, err := readMeasured(root, g.file(name, v))
				if err == nil {
					err = differ(g, was, m)
				}
				if err != nil {
					return fmt.Errorf("%s: %w", g.file(name, v), err)
				}
				continue
			}
			dir := out
			if dir == "" {
				dir = filepath.Join(root, kept)
			}
			if err := cmp.Or(disk.Make(dir), disk.WriteJSON(filepath.Join(dir, g.file(name, v)), m)); err != nil {
				return err
			}
			for to, picture := range m.pictures {
				if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(to)), picture, 0o644); err != nil {
					return err
				}
			}
		}
	}
	if check || out != "" {
		return nil
	}
	return fillAll(root, plan)
}

// fillAll fills every page.
func fillAll(root string, plan plan) error {
	said, err := plan.said(root)
	if err != nil {
		return err
	}
	pages, err := pages(root)
	if err != nil {
		return err
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		filled, err := fill(string(text), root, said)
		if err != nil {
			return fmt.Errorf("%s: %w", page, err)
		}
		if filled != string(text) {
			fmt.Println(page)
			if err := os.WriteFile(page, []byte(filled), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// pages lists those that may quote numbers.
func pages(root string) (list []string, err error) {
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "python/*.md", "examples/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	slices.Sort(list)
	return list, nil
}
