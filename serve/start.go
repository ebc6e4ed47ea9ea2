package serve

import (
	"net/http"
	"strconv"
	"strings"

	"hop/exp"
	"hop/serve/control"
	"hop/serve/shelf"
)

// startView is what the page is made from.
type startView struct {
	*control.Form
	Groups  []presets
	Blocks  []fields
	Seeds   string
	Sets    []string
	Folder  int
	Folders []string
	Allowed bool // trainings may be started
	Jobs    []job
	CanGoOn []shelf.Row // trainings that were stopped, killed or failed
}

// presets are those of a group.
type presets struct {
	Name string
	List []exp.Preset
}

// fields are those of a block of the spec.
type fields struct {
	Name    string
	List    []control.Field
	Changed int
	Faults  int
}

func (s *Server) startPage(r *http.Request, v *view) (any, error) {
	q := r.URL.Query()
	d := startView{Seeds: q.Get("seeds"), Sets: q["set"], Folders: s.shelf.Folders(), Allowed: s.door.Allowed(r)}
	if d.Seeds == "" {
		d.Seeds = "1"
	}
	reg := s.c.Lab.Reg
	names := reg.PresetNames()
	preset := q.Get("preset")
	if preset == "" {
		preset = names[0]
		for _, n := range names {
			if n == "ppo-4x4" {
				preset = n
			}
		}
	}
	d.Folder, _ = strconv.Atoi(q.Get("folder"))
	dir, err := s.folder(d.Folder)
	if err != nil {
		return nil, err
	}
	if d.Form, err = control.NewForm(reg, control.Asked{Preset: preset, Sets: d.Sets, Seeds: d.Seeds}, typed(dir)); err != nil {
		return nil, refusal{http.StatusBadRequest, err}
	}
	for _, p := range reg.PresetList() {
		if n := len(d.Groups); n == 0 || d.Groups[n-1].Name != p.Group {
			d.Groups = append(d.Groups, presets{Name: p.Group})
		}
		g := &d.Groups[len(d.Groups)-1]
		g.List = append(g.List, p)
	}
	for _, f := range d.Fields {
		block, _, deeper := strings.Cut(f.Path, ".")
		if !deeper {
			block = ""
		}
		i := -1
		for k := range d.Blocks {
			if d.Blocks[k].Name == block {
				i = k
			}
		}
		if i < 0 {
			i = len(d.Blocks)
			d.Blocks = append(d.Blocks, fields{Name: block})
		}
		b := &d.Blocks[i]
		b.List = append(b.List, f)
		if f.Set != "" || f.Default != f.Was {
			b.Changed++
		}
		if f.Fault != "" {
			b.Faults++
		}
	}
	if d.Allowed {
		d.Jobs = s.jobs(control.Train, control.Resume)
	}
	for _, row := range s.shelf.Now().Rows {
		if len(d.CanGoOn) < 50 && (row.State == shelf.Stopped || row.State == shelf.Killed || row.State == shelf.Failed) {
			d.CanGoOn = append(d.CanGoOn, row)
		}
	}
	return d, nil
}
