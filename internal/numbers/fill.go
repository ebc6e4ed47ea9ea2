package main

import (
	"fmt"
	"regexp"
	"strings"
)

// marks are around what is quoted: on a line of text a number, else a block.
var marks = regexp.MustCompile(`(?s)<!--=([^>]*?)-->(.*?)<!---->`)

// fill fills a page with what is said.
func fill(page string, said map[string]string) (string, error) {
	var missing []string
	page = marks.ReplaceAllStringFunc(page, func(all string) string {
		m := marks.FindStringSubmatch(all)
		var list []string
		for _, name := range strings.Split(m[1], "; ") {
			text, ok := said[name]
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
