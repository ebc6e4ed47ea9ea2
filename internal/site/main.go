// Command site makes the docs into pages that a browser opens without a server:
//
//	go run ./internal/site          # into dist/site; open dist/site/index.html
//
// Every page of the repository in Markdown becomes one; links between them, to sections and to pictures work, links to
// other files lead to the repository. Search runs in the browser, over an index beside the pages. Nothing is loaded from
// elsewhere.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", ".", "the repository")
	out := flag.String("out", "dist/site", "folder that the site is put in")
	flag.Parse()
	s, err := read(os.DirFS(*root))
	if err == nil {
		err = s.write(*root, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
	fmt.Printf("%s: %d pages, %d sections to search\n", *out, len(s.pages), len(s.index))
}
