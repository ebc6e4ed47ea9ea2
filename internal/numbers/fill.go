package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
)

// marks are around what is quoted: on a line of text a number, else a block.
var marks = regexp.MustCompile(`(?s)<!--=([^>]*?)-->(.*?)<!---->`)

// fill fills a page with what is said.
func fill(page, root string, said map[string]string) (string, error) {
	var missing []string
	page = marks.ReplaceAllStringFunc(page, func(all string) string {
		m := marks.FindStringSubmatch(all)
		var list []string
		for _, name := range strings.Split(m[1], "; ") {
			text, ok := said[name]
			if words := strings.Fields(name); !ok && len(words) == 3 && words[0] == "line" {
				text, ok = lineOf(root, words[1], words[2])
			}
			if !ok {
				missing = append(missing, name)
			}
			list = append(list, text)
		}
		if strings.HasPrefix(m[2], "\n") {
			return fmt.Sprintf("<!--=%s-->\n```text\n%s\n```\n<!---->", m[1], strings.Join(list, "\n\n"))
		}
		return fmt.Sprintf("<!--=%s-->%s<!---->", m[1], strings.Join(list, " "))
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("nothing is kept under %s; go run ./internal/numbers GROUP measures a group", strings.Join(missing, ", "))
	}
	return page, nil
}

// lineOf is a link, of a page two folders below the top, to where a function or Type.Method stands in a file.
func lineOf(root, file, name string) (link string, ok bool) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, filepath.Join(root, filepath.FromSlash(file)), nil, parser.SkipObjectResolution)
	if err != nil {
		return "", false
	}
	for _, d := range f.Decls {
		fn, isFunc := d.(*ast.FuncDecl)
		if !isFunc {
			continue
		}
		is := fn.Name.Name
		if fn.Recv != nil {
			of := fn.Recv.List[0].Type
			if star, isStar := of.(*ast.StarExpr); isStar {
				of = star.X
			}
			if t, isName := of.(*ast.Ident); isName {
				is = t.Name + "." + is
			}
		}
		if is == name {
			return fmt.Sprintf("[`%s`](../../%s#L%d)", name, file, set.Position(fn.Pos()).Line), true
		}
	}
	return "", false
}
