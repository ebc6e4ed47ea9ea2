package runs

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// settings are the fields of a spec by their path, as they are written there.
func settings(n *yaml.Node, path string, into map[string]string) {
	switch {
	case n.Kind == yaml.DocumentNode && len(n.Content) > 0:
		settings(n.Content[0], path, into)
	case n.Kind == yaml.MappingNode && len(n.Content) > 0:
		for i := 0; i+1 < len(n.Content); i += 2 {
			settings(n.Content[i+1], strings.TrimPrefix(path+"."+n.Content[i].Value, "."), into)
		}
	case n.Kind == yaml.ScalarNode:
		into[path] = n.Value
	default:
		text, _ := yaml.Marshal(flow(n))
		into[path] = strings.TrimSpace(string(text))
	}
}

// flow is a list as it stands on one line.
func flow(n *yaml.Node) *yaml.Node {
	line := *n
	line.Style = yaml.FlowStyle
	return &line
}

// longest is how many letters of a setting are shown: lists of data may have thousands.
const longest = 80

// tellApart gives trainings the settings in which those of one preset differ. specs are theirs.
func tellApart(rows []Row, specs []about) {
	first, differ := map[string]about{}, map[string]bool{"name": false}
	seen := map[[32]byte]bool{}
	for i, r := range rows {
		if _, ok := first[r.Preset]; !ok {
			first[r.Preset] = specs[i]
		}
		if !seen[specs[i].sum] { // a thousand runs have a few specs
			seen[specs[i].sum] = true
			apart(specs[i].all, first[r.Preset].all, differ)
			apart(first[r.Preset].all, specs[i].all, differ)
		}
	}
	delete(differ, "name")
	for i, r := range rows {
		for path := range differ {
			if value, ok := specs[i].all[path]; ok {
				if letters := []rune(value); len(letters) > longest {
					value = string(letters[:longest]) + "…"
				}
				r.Settings[path] = value
			}
		}
	}
}

// apart notes the fields of s that t has not, or has with another value.
func apart(s, t map[string]string, into map[string]bool) {
	for path, value := range s {
		if other, ok := t[path]; !ok || other != value {
			into[path] = true
		}
	}
}
