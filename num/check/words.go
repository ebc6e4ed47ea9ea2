package check

import (
	"fmt"
	"strings"
)

// List names things: a, b and c.
func List(names []string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

// Few names at most four things, and says how many more there are.
func Few(names []string) string {
	if len(names) > 4 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:4], ", "), len(names)-4)
	}
	return List(names)
}

// Agents names agents by their numbers: "agent 1" or "agents 1, 2 and 3".
func Agents[A ~int](list []A) string {
	var names []string
	for _, a := range list {
		names = append(names, fmt.Sprint(int(a)))
	}
	switch len(names) {
	case 0:
		return "no agent"
	case 1:
		return "agent " + names[0]
	}
	return "agents " + List(names)
}

// Verb is in the form for one, or for several.
func Verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Capital begins a sentence.
func Capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
