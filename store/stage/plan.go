package stage

import "path/filepath"

// Planned is a stage before it is run.
type Planned struct {
	Stage
	Key   string   // the same for the same work, wherever it is done
	Dir   string   // its folder below the root
	Local []string // files or folders of this machine that it reads
}

// Plan returns what Run would run, in order, and runs nothing.
func (r *Runner) Plan(list []Stage) []Planned {
	r.done = map[string]*outcome{}
	var all []Planned
	for _, s := range list {
		key, dir := r.key(s)
		p := Planned{Stage: s, Key: key, Dir: filepath.Base(dir)}
		for _, file := range s.Files {
			if held(file) != "" {
				p.Local = append(p.Local, file)
			}
		}
		r.done[s.Name] = &outcome{key, dir}
		all = append(all, p)
	}
	return all
}
