package config

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Closest returns the one of names that name is most likely a slip of the
// keyboard for, or "" if it resembles none of them.
func Closest(name string, names []string) string {
	best, least := "", min(3, max(1, len(name)/3))+1
	for _, n := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(n)); d < least || d == least && n < best {
			best, least = n, d
		}
	}
	return best
}

// suggest puts what Closest finds in words.
func suggest(name string, names []string, prefix string) string {
	if best := Closest(name, names); best != "" {
		return "; did you mean " + join(prefix, best) + "?"
	}
	return ""
}

// elsewhere is what other libraries call fields whose last word is another here.
var elsewhere = map[string]string{
	"learning_rate": "lr", "gae_lambda": "lambda", "clip_coef": "clip", "clip_range": "clip", "ent_coef": "entropy",
	"entropy_coef": "entropy", "vf_coef": "value_coef", "max_grad_norm": "max_grad", "n_epochs": "epochs", "update_epochs": "epochs",
	"minibatch_size": "minibatch", "batch_size": "minibatch", "discount": "gamma", "num_envs": "envs", "n_envs": "envs",
	"num_steps": "window", "n_steps": "window", "total_timesteps": "steps", "norm_advantage": "norm_adv",
}

// Meant suggests which fields an unknown path was meant for: those that end like it, also in the
// words of other libraries, or else one that is spelt nearly so. It is "" or begins with a semicolon.
func Meant(path string, fields []string) string {
	front, last := path[:strings.LastIndex(path, ".")+1], path[strings.LastIndex(path, ".")+1:]
	for _, want := range []string{path, front + elsewhere[last], elsewhere[last]} {
		var ends []string
		for _, f := range fields {
			if want != "" && (f == want || strings.HasSuffix(f, "."+want)) {
				ends = append(ends, f)
			}
		}
		if 0 < len(ends) && len(ends) < 6 {
			return "; did you mean " + strings.Join(ends, " or ") + "?"
		}
	}
	return suggest(path, fields, "")
}

// distance is Levenshtein's, with two letters in the wrong order as one slip.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1) // rows[i][j]: of the first i letters of a from the first j of b
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			if i == 0 || j == 0 {
				rows[i][j] = i + j
				continue
			}
			cost := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				cost++
			}
			rows[i][j] = min(cost, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// Change is a field whose value differs between two lists. A side that does not
// have the field has an empty value; an empty text is written "".
type Change struct {
	Path string `json:"path"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// Diff returns the fields that differ, or exist in one list only, in the order
// of the lists.
func Diff(a, b []Info) []Change {
	inA, inB := values(a), values(b)
	var out []Change
	add := func(path string) {
		if x, y := inA[path], inB[path]; x != y {
			out = append(out, Change{path, x, y})
		}
	}
	j := 0
	extra := func() { // fields that only b has, up to the next one that both have
		for ; j < len(b); j++ {
			if _, both := inA[b[j].Path]; both {
				return
			}
			add(b[j].Path)
		}
	}
	for _, f := range a {
		extra()
		add(f.Path)
		if j < len(b) && b[j].Path == f.Path {
			j++
		}
	}
	for ; j < len(b); j++ {
		if _, both := inA[b[j].Path]; !both {
			add(b[j].Path)
		}
	}
	return out
}

func values(list []Info) map[string]string {
	m := make(map[string]string, len(list))
	for _, f := range list {
		m[f.Path] = f.Default
	}
	return m
}

// Text is a list of fields as a table for a terminal; value is what the column of their values is
// called, and when whether it says which kinds have them.
func Text(fields []Info, value string, when bool) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "field\t%s\tmeaning\n", value)
	for _, f := range fields {
		doc := f.Doc
		if f.Unit != "" {
			doc += " [" + f.Unit + "]"
		}
		if f.Want != "" {
			doc += " (" + f.Want + ")"
		}
		if f.When != "" && when {
			doc += "; only for " + f.When
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.Path, f.Default, doc)
	}
	w.Flush()
	return b.String()
}
