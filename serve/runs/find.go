package runs

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/store/runlog"
)

// How far is looked for runs.
const (
	deepest = 6      // folders below the one that is served
	most    = 20_000 // folders in all
)

// place is where a training lies.
type place struct {
	folder  int
	name    string // 0:ppo-4x4-001
	title   string // ppo-4x4-001
	seeds   []string
	names   []string // of the seeds
	planned []uint64 // seeds that there are to be
	preset  string
	why     string // what is wrong with the folder itself
	page    bool
}

// nowhere are folders of a run in which there are no runs; elsewhere such a name means nothing.
var nowhere = map[string]bool{"checkpoints": true, "report": true, "compare": true}

// Sweep is a folder in which hop sweep works.
type Sweep struct {
	Name  string // 0:sweeps/lr
	Title string // sweeps/lr
	Dir   string
}

// find returns the trainings and sweeps below a folder. Links are not followed.
func find(folder int, root string) (list []*place, sweeps []Sweep, notes []string) {
	seen := 0
	var walk func(dir, title string, depth int)
	walk = func(dir, title string, depth int) {
		if seen++; seen > most {
			return
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) || depth == 0 {
				notes = append(notes, fmt.Sprintf("%s cannot be read: %s", title, disk.Reason(err)))
			}
			return
		}
		p := &place{folder: folder, name: fmt.Sprintf("%d:%s", folder, title), title: title}
		var below []string
		group, itself, swept := false, false, false
		for _, e := range entries {
			name := e.Name()
			switch {
			case !utf8.ValidString(name):
				notes = append(notes, fmt.Sprintf("a folder in %s has a name that is no text; it is left out", title))
			case e.IsDir():
				if _, ok := runlog.SeedOf(name); ok && hasRun(filepath.Join(dir, name)) {
					p.seeds = append(p.seeds, filepath.Join(dir, name))
					p.names = append(p.names, p.name+"/"+name)
				} else if !strings.HasPrefix(name, ".") {
					below = append(below, name)
				}
			case name == "group.json":
				group = true
			case name == "spec.yaml", name == "env.json":
				itself = true
			case name == "report.html":
				p.page = true
			case name == "sweep.json":
				swept = true
			}
		}
		if swept {
			at := Sweep{Name: p.name, Title: title, Dir: dir}
			if title == "." {
				at.Title = filepath.Base(root)
			}
			sweeps = append(sweeps, at)
			below = slices.DeleteFunc(below, func(name string) bool { return name == "engine" || name == "failed" })
		}
		if group {
			g, err := runlog.ReadGroup(dir)
			if err != nil {
				p.why = strings.ReplaceAll(err.Error(), root+string(filepath.Separator), "")
			}
			if g != nil {
				p.planned, p.preset = g.Seeds, g.Preset
			}
		}
		if itself || group || len(p.seeds) > 0 {
			below = slices.DeleteFunc(below, func(name string) bool { return nowhere[name] })
		}
		switch {
		case itself:
			p.seeds, p.names = []string{dir}, []string{p.name}
			list = append(list, p)
		case group || len(p.seeds) > 0:
			list = append(list, p)
		}
		if depth >= deepest {
			return
		}
		for _, name := range below {
			walk(filepath.Join(dir, name), path.Join(title, name), depth+1)
		}
	}
	walk(root, ".", 0)
	if seen > most {
		notes = append(notes, fmt.Sprintf("%s has more than %d folders; runs in the others are not shown", filepath.Base(root), most))
	}
	return list, sweeps, notes
}

// hasRun reports whether a folder is a run's, whole or not.
func hasRun(dir string) bool {
	for _, name := range []string{"env.json", "spec.yaml"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// ErrName is what errors are that say that a name is of nothing here.
var ErrName = errors.New("shelf: no such run")

// Dir returns the folder of a name, such as 0:ppo-4x4-001/seed-1. A name that is written
// in another form, leads out of its folder, by .. or by links, or is of nothing is refused.
func (s *Shelf) Dir(name string) (string, error) {
	number, rest, ok := strings.Cut(name, ":")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 0 || n >= len(s.folders) || number != strconv.Itoa(n) {
		return "", fmt.Errorf("%w: %.200q; want the number of its folder and its path below it, such as 0:ppo-4x4-001", ErrName, name)
	}
	if rest == "" || path.Clean(rest) != rest || strings.ContainsAny(rest, "\\\x00") || !filepath.IsLocal(filepath.FromSlash(rest)) {
		return "", fmt.Errorf("%w: %.200q is not a path below its folder", ErrName, name)
	}
	if len(name) > 1024 {
		return "", fmt.Errorf("%w: its name is too long", ErrName)
	}
	dir, err := disk.Below(s.folders[n], rest)
	if err != nil {
		return "", fmt.Errorf("%w: there is no %.200q, or it leads out of its folder", ErrName, name)
	}
	return dir, nil
}

// Seeds returns the runs of a name, itself or its seeds: their names and folders.
func (s *Shelf) Seeds(name string) (names, dirs []string, err error) {
	dir, err := s.Dir(name)
	if err != nil {
		return nil, nil, err
	}
	if dirs, err = runlog.Seeds(dir); err != nil {
		return nil, nil, fmt.Errorf("%w: %.200q holds no run", ErrName, name)
	}
	for i, d := range dirs {
		n := name
		if d != dir {
			n = name + "/" + filepath.Base(d)
		}
		if _, err := s.Dir(n); err != nil { // a seed that is a link
			return nil, nil, err
		}
		names, dirs[i] = append(names, n), d
	}
	return names, dirs, nil
}

// Written is a page that a program wrote into a served folder.
type Written struct {
	File    string `json:"file"` // its name, such as 0:audit-ppo-4x4-001/audit.html
	Kind    string `json:"kind"`
	Title   string `json:"title"`
	Subject string `json:"subject,omitempty"`
	Verdict string `json:"verdict,omitempty"`
	Says    string `json:"says,omitempty"`
	at      int64
}

// mostPages is how many pages are listed.
const mostPages = 200

// Written lists the pages of audits and ladders, newest first.
func (s *Shelf) Written() []Written {
	list := []Written{}
	for n, root := range s.folders {
		entries, err := os.ReadDir(root)
		if err != nil {
			continue
		}
		for _, e := range entries {
			kind := ""
			for _, k := range []string{"audit", "ladder"} {
				if e.IsDir() && strings.HasPrefix(e.Name(), k) {
					kind = k
				}
			}
			if kind == "" {
				continue
			}
			page := filepath.Join(root, e.Name(), kind+".html")
			info, err := os.Lstat(page)
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			w := Written{File: strconv.Itoa(n) + ":" + e.Name() + "/" + kind + ".html", Kind: kind, Title: e.Name(), at: info.ModTime().UnixNano()}
			w.Subject, w.Verdict, w.Says = verdict(filepath.Join(root, e.Name(), kind+".json"))
			w.Subject, w.Says = s.Plain(w.Subject), s.Plain(w.Says)
			list = append(list, w)
		}
	}
	slices.SortFunc(list, func(a, b Written) int { return cmp.Compare(b.at, a.at) })
	return list[:min(len(list), mostPages)]
}

// verdict reads what an audit came to, out of the object that it wrote; a ladder says
// only something.
func verdict(name string) (subject, verdict, says string) {
	b, err := disk.Read(name, 16<<20)
	var r struct {
		Subject, Run, Verdict, Says string
		Result                      struct{ Says string }
	}
	if err != nil || json.Unmarshal(b, &r) != nil {
		return "", "", ""
	}
	if r.Subject == "" {
		r.Subject = filepath.Base(r.Run)
	}
	if r.Says == "" {
		r.Says = r.Result.Says
	}
	return strings.TrimSpace(r.Subject), r.Verdict, r.Says
}
