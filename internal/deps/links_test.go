package deps

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// Every link between pages has its target, with the section that it names, and what is
// shown is small.
func TestEveryLinkHasATarget(t *testing.T) {
	pages := map[string]string{}
	eachFile(t, func(s source) {
		if ours.MatchString(s.path) {
			pages[s.path] = s.text
		}
	})
	size := func(file string) (int64, bool) {
		at, err := os.Stat(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil || at.IsDir() {
			return 0, err == nil
		}
		return at.Size(), true
	}
	for _, fault := range badLinks(pages, size) {
		t.Error(fault)
	}
}

const largest = 300_000 // bytes of what a page shows

var (
	ours  = regexp.MustCompile(`^((docs|examples|python)/.*|[^/]*)\.md$`) // others are templates of pages
	link  = regexp.MustCompile(`\]\(([^)#:\s]*)(#[^)\s]*)?\)`)
	fence = regexp.MustCompile("(?ms)^```.*?^```$|`[^`\n]*`")
)

// badLinks says which links of pages lead nowhere. size is of a file, and whether there is one.
func badLinks(pages map[string]string, size func(file string) (int64, bool)) (faults []string) {
	for page, text := range pages {
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			to := page
			if m[1] != "" {
				to = path.Join(path.Dir(page), m[1])
			}
			switch n, ok := size(to); {
			case !ok:
				faults = append(faults, fmt.Sprintf("%s links to %s, which there is not", page, m[1]))
			case n > largest:
				faults = append(faults, fmt.Sprintf("%s shows %s, of %d kB", page, m[1], n/1000))
			}
			if target, ok := pages[to]; ok && m[2] != "" && !anchors(target)[m[2][1:]] {
				faults = append(faults, fmt.Sprintf("%s links to %s%s, and there is no such section", page, m[1], m[2]))
			}
		}
	}
	return faults
}

// anchors returns the names of a page's sections, as GitHub makes them.
func anchors(page string) map[string]bool {
	names := map[string]bool{}
	for line := range strings.Lines(page) {
		head := strings.TrimLeft(line, "#")
		if len(head) == len(line) || !strings.HasPrefix(head, " ") {
			continue
		}
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(head))
		names[name] = true
	}
	return names
}

func TestBadLinksAreSeen(t *testing.T) {
	pages := map[string]string{
		"README.md": "# A\n[b](docs/b.md) [gone](docs/gone.md) [big](big.gif)\n" +
			"[c](docs/b.md#two-words-ab) [d](docs/b.md#three) [e](#a) [f](#b)\n" +
			"`[x](no.md)`\n```\n[y](no.md)\n```\n[out](https://example.org/x#y) [folder](docs)\n",
		"docs/b.md": "## Two words, `a/b`\n[up](../README.md#a)\n",
	}
	size := func(file string) (int64, bool) {
		n, ok := map[string]int64{"README.md": 1, "docs/b.md": 1, "docs": 0, "big.gif": largest + 1}[file]
		return n, ok
	}
	got := strings.Join(badLinks(pages, size), "\n")
	want := "README.md links to docs/gone.md, which there is not\nREADME.md shows big.gif, of 300 kB\n" +
		"README.md links to docs/b.md#three, and there is no such section\nREADME.md links to #b, and there is no such section"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
