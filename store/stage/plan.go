package stage

import (
	"path/filepath"
	"slices"
	"strings"
)

// Planned is a stage before it is run.
type Planned struct {
	Stage
	Key   string   // the same for the same work, wherever it is done
	Dir   string   // its folder below the root
	Reads []string // the names of the stages whose folders it reads
	Local []string // words that name files or folders of this machine
}

// Plan returns what Run would run, in order, and runs nothing.
func (r *Runner) Plan(list []Stage) []Planned {
	r.done = map[string]*outcome{}
	var all []Planned
	for _, s := range list {
		_, key := r.words(s)
		p := Planned{Stage: s, Key: key, Dir: s.Name + "-" + key[:12]}
		for i, w := range strings.Fields(s.Run) {
			for _, b := range braces.FindAllString(w, -1) {
				if name := b[1 : len(b)-1]; r.done[name] != nil && !slices.Contains(p.Reads, name) {
					p.Reads = append(p.Reads, name)
				}
			}
			if i > 0 && !braces.MatchString(w) && len(inputs(w)) > 0 {
				p.Local = append(p.Local, w)
			}
		}
		r.done[s.Name] = &outcome{key, filepath.Join(r.Root, p.Dir)}
		all = append(all, p)
	}
	return all
}
