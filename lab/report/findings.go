package report

import (
	"fmt"

	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/store/runlog"
)

// noticed is what a run's guards found.
type noticed struct {
	Seed uint64
	check.Finding
}

// Findings returns what the guards of all runs noticed, by seed and step.
func (g *group) Findings() []noticed {
	var list []noticed
	for _, r := range g.Runs {
		found, err := runlog.ReadFindings(r.path)
		if err != nil {
			found = []check.Finding{{Check: "unreadable findings", Status: check.Suspect, Module: "logging", Says: err.Error(),
				Next: "copy the folder anew"}}
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
	if a := n.Agent(); a >= 0 {
		who = fmt.Sprintf("agent %d, ", a)
	}
	return fmt.Sprintf("seed %d, %senv step %s", n.Seed, who, plot.Thousands(n.Step))
}
