package serve

import (
	"net/http"
	"strconv"

	"hop/serve/control"
	"hop/serve/shelf"
)

// startView is what the page is made from.
type startView struct {
	*control.Form
	Groups  []control.Presets
	Blocks  []control.Block
	Seeds   string
	Sets    []string
	Folder  int
	Folders []string
	Allowed bool // trainings may be started
	Jobs    []job
	CanGoOn []shelf.Row // trainings that were stopped, killed or failed
	Log     []control.Entry
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
	d.Groups, d.Blocks = control.Groups(reg), d.Form.Blocks()
	if d.Allowed {
		d.Jobs = s.jobs(control.Train, control.Resume)
		d.Log = s.control.Log(50)
	}
	for _, row := range s.shelf.Now().Rows {
		if len(d.CanGoOn) < 50 && (row.State == shelf.Stopped || row.State == shelf.Killed || row.State == shelf.Failed) {
			d.CanGoOn = append(d.CanGoOn, row)
		}
	}
	return d, nil
}
