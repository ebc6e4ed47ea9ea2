package deps

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// Package is what go list says of one.
type Package struct {
	ImportPath string
	Imports    []string
}

// List returns the packages of the module that a folder is in.
func List(dir string) ([]Package, error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("deps: go list: %w", err)
	}
	var all []Package
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p Package
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("deps: reading what go list says: %w", err)
		}
		all = append(all, p)
	}
}

// groupOf returns the number of the group that an import path of ours leads to; -1: none.
func groupOf(imported string) int {
	rest, ours := strings.CutPrefix(imported, Module)
	if !ours {
		return -1
	}
	top, _, _ := strings.Cut(rest, "/")
	return slices.IndexFunc(Groups, func(g Group) bool { return g.Name == top })
}

// between counts the imports between groups: [from][to].
func between(all []Package) [][]int {
	count := make([][]int, len(Groups))
	for i := range count {
		count[i] = make([]int, len(Groups))
	}
	for _, p := range all {
		from := groupOf(p.ImportPath)
		for _, imp := range p.Imports {
			if to := groupOf(imp); from >= 0 && to >= 0 && from != to {
				count[from][to]++
			}
		}
	}
	return count
}

// The picture's measures.
const (
	wide, high, gap = 560, 54, 14
	left, right     = 250, 840
)

// Draw returns the picture of the groups of the module that a folder is in, as SVG: a row
// for each, lowest at the bottom, its packages in it, and beside them a line to every group
// that it imports.
func Draw(dir string) (string, error) {
	all, err := List(dir)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	n := len(Groups)
	height := n*(high+gap) + gap
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif">`+"\n", right+220, height)
	b.WriteString(`<rect width="100%" height="100%" fill="#fbfaf7"/>` + "\n")
	top := func(g int) int { return gap + (n-1-g)*(high+gap) }
	for from, row := range between(all) {
		for to, count := range row {
			if count == 0 || from < to { // nothing, or a package that stands early
				continue
			}
			y1, y2 := top(from)+high/2, top(to)+high/2
			bend := right - 30 + 24*(from-to)
			fmt.Fprintf(&b, `<path d="M%d %d C%d %d %d %d %d %d" fill="none" stroke="#66707b" stroke-opacity=".5" stroke-width="%.1f"/>`+"\n",
				left+wide, y1, bend, y1, bend, y2, left+wide, y2, 0.6+math.Sqrt(float64(count))/2)
		}
	}
	for g, group := range Groups {
		drawGroup(&b, group, top(g))
	}
	b.WriteString("</svg>\n")
	return b.String(), nil
}

// drawGroup writes one group's row.
func drawGroup(b *strings.Builder, g Group, y int) {
	fmt.Fprintf(b, `<text x="16" y="%d" font-size="20" font-weight="600" fill="#1f2328">%s</text>`+"\n", y+26, g.Name)
	for i, line := range wrap(g.Says, 40) {
		fmt.Fprintf(b, `<text x="16" y="%d" font-size="11" fill="#66707b">%s</text>`+"\n", y+41+13*i, line)
	}
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" rx="8" fill="#fff" stroke="#8a6d3b"/>`+"\n", left, y, wide, high)
	var names []string
	for _, p := range g.Packages {
		if name := strings.TrimPrefix(p, g.Name+"/"); !strings.Contains(name, "/") {
			names = append(names, path.Clean(name))
		}
	}
	for i, line := range wrap(strings.Join(names, " "), 76) {
		fmt.Fprintf(b, `<text x="%d" y="%d" font-size="13" fill="#1f2328">%s</text>`+"\n", left+12, y+21+17*i, line)
	}
}

// wrap breaks a text into lines of at most so many letters.
func wrap(text string, most int) (lines []string) {
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && len(line)+1+len(w) > most {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + w)
	}
	return append(lines, line)
}
