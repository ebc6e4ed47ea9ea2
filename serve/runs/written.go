package runs

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hop-marl/hop/num/disk"
)

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
