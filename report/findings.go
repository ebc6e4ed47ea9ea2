package report

import (
	"fmt"

	"hop/page"
	"hop/runlog"
)

// noticed is what a run's guards found.
type noticed struct {
	Seed uint64
	runlog.Finding
}

// Findings returns what the guards of all runs noticed, by seed and step.
func (g *group) Findings() []noticed {
	var list []noticed
	for _, r := range g.Runs {
		found, err := runlog.ReadFindings(r.path)
		if err != nil {
			found = []runlog.Finding{{Check: "unreadable findings", Module: "logging", Agent: -1, Says: err.Error(), Next: "copy the folder anew"}}
		}
		for _, f := range found {
			list = append(list, noticed{r.Seed, f})
		}
	}
	return list
}

// Where says of whom and when.
func (n noticed) Where() string {
	who := ""
	if n.Agent >= 0 {
		who = fmt.Sprintf("agent %d, ", n.Agent)
	}
	return fmt.Sprintf("seed %d, %senv step %s", n.Seed, who, page.Thousands(int(n.Step)))
}
