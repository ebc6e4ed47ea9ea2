package serve

import (
	"net/http"
	"strconv"

	"github.com/hop-marl/hop/serve/jobs"
	"github.com/hop-marl/hop/serve/runs"
)

// startView is what the page is made from.
type startView struct {
	*jobs.Form
	Groups  []jobs.Presets
	Blocks  []jobs.Block
	Seeds   string
	Sets    []string
	Folder  int
	Folders []string
	Allowed bool // trainings may be started
	Jobs    []job
	CanGoOn []runs.Row // trainings that were stopped, killed or failed
	Log     []jobs.Entry
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
	if d.Form, err = jobs.NewForm(reg, jobs.Asked{Preset: preset, Sets: d.Sets, Seeds: d.Seeds}, typed(dir)); err != nil {
		return nil, refusal{http.StatusBadRequest, err}
	}
	d.Groups, d.Blocks = jobs.Groups(reg), d.Form.Blocks()
	if d.Allowed {
		d.Jobs = s.jobs(jobs.Train, jobs.Resume)
		d.Log = s.control.Log(50)
	}
	for _, row := range s.shelf.Now().Rows {
		if len(d.CanGoOn) < 50 && (row.State == runs.Stopped || row.State == runs.Killed || row.State == runs.Failed) {
			d.CanGoOn = append(d.CanGoOn, row)
		}
	}
	return d, nil
}
