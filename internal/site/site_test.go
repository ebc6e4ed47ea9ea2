package main

import (
	"html"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

var (
	refs = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	id   = regexp.MustCompile(`id="([^"]*)"`)
)

// badLinks lists what pages of a site lead to that is not there, or fetch from elsewhere.
func badLinks(t *testing.T, dir, root string) (faults []string) {
	t.Helper()
	pages, names := map[string]string{}, map[string]map[string]bool{}
	err := filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".html" {
			return err
		}
		b, err := os.ReadFile(name)
		at, _ := filepath.Rel(dir, name)
		at = filepath.ToSlash(at)
		pages[at], names[at] = string(b), map[string]bool{"": true}
		for _, m := range id.FindAllStringSubmatch(pages[at], -1) {
			names[at][html.UnescapeString(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for at, text := range pages {
		for _, m := range refs.FindAllStringSubmatch(text, -1) {
			to, err := url.Parse(html.UnescapeString(m[1]))
			if err != nil {
				faults = append(faults, at+": "+m[1])
				continue
			}
			file, where := path.Join(path.Dir(at), to.Path), filepath.Join(dir, path.Dir(at), to.Path)
			switch {
			case to.Scheme == "mailto":
				continue
			case strings.HasPrefix(m[1], source):
				where = filepath.Join(root, strings.TrimPrefix(to.Path, "/hop-marl/hop/blob/main/"))
			case to.Host != "" && strings.HasPrefix(m[0], "href"):
				continue // a reader may go there
			case to.Host != "":
				faults = append(faults, at+" fetches "+m[1])
				continue
			case to.Path == "":
				file, where = at, filepath.Join(dir, at)
			}
			if _, err := os.Stat(where); err != nil {
				faults = append(faults, at+" leads to "+m[1]+", which there is not")
			} else if names[file] != nil && !names[file][to.Fragment] {
				faults = append(faults, at+" leads to the section "+m[1]+", which there is not")
			}
		}
	}
	return faults
}

// Every link of the site leads somewhere: to a page and its section, a picture, or a file of the repository.
func TestEveryLinkResolves(t *testing.T) {
	s, err := read(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := s.write("../..", dir); err != nil {
		t.Fatal(err)
	}
	for _, fault := range badLinks(t, dir, "../..") {
		t.Error(fault)
	}
	if len(s.pages) < 100 || len(s.index) < 300 {
		t.Errorf("%d pages and %d sections", len(s.pages), len(s.index))
	}
	for _, p := range s.pages {
		if p.Chinese && p.Other == nil || p.Other != nil && p.Other.Other != p {
			t.Errorf("%s has no page in English that leads back", p.Path)
		}
	}
}

// What leads nowhere, or elsewhere, is seen; sections are named as GitHub does.
func TestBadLinksAreSeen(t *testing.T) {
	s, err := read(fstest.MapFS{
		"README.md": {Data: []byte("# A\n[b](docs/b.md#two-words-1) [gone](docs/b.md#three) ![p](p.png) " +
			"<img src=\"https://x.org/y.png\">\n[f](main.go)\n")},
		"docs/b.md":       {Data: []byte("# B\n## Two words\n## Two [words](../README.md)\nSought **text**.\n")},
		"docs/zh/b.md":    {Data: []byte("# 乙\n[a](../../README.md)\n")},
		"README.zh-CN.md": {Data: []byte("# 甲\n")},
		"main.go":         {Data: []byte("package main")},
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := s.write(dir, dir); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(badLinks(t, dir, dir), "\n")
	for _, want := range []string{"docs/b.html#three", "p.png, which", "fetches https://x.org/y.png", "main.go, which"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not among\n%s", want, got)
		}
	}
	if strings.Count(got, "\n") != 3 {
		t.Errorf("others are refused too:\n%s", got)
	}
	for _, e := range s.index {
		if e.URL == "docs/b.html#two-words-1" && e.Title == "B › Two words" && e.Text == "sought text." {
			return
		}
	}
	t.Errorf("the index is %+v", s.index)
}
