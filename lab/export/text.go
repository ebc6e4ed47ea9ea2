package export

import (
	"fmt"
	"strings"
)

// Text says what was written.
func (r Result) Text() string {
	var b strings.Builder
	for _, f := range r.Files {
		fmt.Fprintf(&b, "%s  %s\n  reads %s\n  gives %s\n", f.Path, words[f.Kind], listed(f.Inputs), listed(f.Outputs))
	}
	if len(r.Without) > 0 {
		fmt.Fprintf(&b, "Not in these files: %s. hop.load(%q) in Python plays with all of it.\n", strings.Join(r.Without, ", "), r.Run)
	}
	return b.String()
}

// words say what kinds of networks are.
var words = map[string]string{
	"actor":    "the network that acts",
	"others":   "the model of others, from their own place",
	"response": "the response network, told who the others are",
}

// listed lists inputs or outputs with their shapes.
func listed(ports []Port) string {
	var list []string
	for _, p := range ports {
		dims := "batch"
		for _, d := range p.Dims {
			dims += fmt.Sprintf(", %d", d)
		}
		list = append(list, fmt.Sprintf("%s [%s]", p.Name, dims))
	}
	return strings.Join(list, ", ")
}
