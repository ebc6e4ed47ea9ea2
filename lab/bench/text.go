package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/hop-marl/hop/num/plot"
)

// EnvText is a table for a terminal.
func EnvText(rows []EnvRow) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "game\tboard\tagents\tagent-steps/s per core\tns each\tobservation\tallocations\t")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%dx%d\t%d\t%s\t%.0f\t%d B\t%.2f\t\n", r.Game, r.Size, r.Size, r.Agents, plot.Short(r.Rate), r.NS, r.Bytes, r.Allocs)
	}
	w.Flush()
	return b.String()
}

// PlanText is a table for a terminal.
func PlanText(rows []PlanRow) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "leaf\tboard\tagents\tsims\tsims/s per core\tsims/s\tms a decision\tleaves a sim\tallocations\t")
	fmt.Fprintln(w, "select\tothers\tsteps\tleaves\tbackup\t")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%dx%d\t%d\t%d\t%s\t%s\t%.3f\t%.2f\t%.2f\t", r.Leaf, r.Size, r.Size, r.Agents, r.Sims, plot.Short(r.Rate),
			plot.Short(r.Wall), r.MS, r.Leaves, r.Allocs)
		for _, share := range []float64{r.Phases.Select, r.Phases.Others, r.Phases.Dynamics, r.Phases.Leaf, r.Phases.Backup} {
			fmt.Fprintf(w, "%.0f %%\t", 100*share)
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	return b.String()
}

// PlanGrid is Markdown tables, a leaf each: boards and agents down, simulations across.
func PlanGrid(rows []PlanRow) string {
	var b strings.Builder
	for i, r := range rows {
		if i == 0 || r.Leaf != rows[i-1].Leaf {
			var sims []string
			for _, s := range rows[i:] {
				if s.Leaf == r.Leaf && s.Size == r.Size && s.Agents == r.Agents {
					sims = append(sims, fmt.Sprintf(" %d |", s.Sims))
				}
			}
			fmt.Fprintf(&b, "| %s, agents |%s\n|%s", r.Leaf, strings.Join(sims, ""), strings.Repeat("---|", len(sims)+1))
		}
		if i == 0 || r.Leaf != rows[i-1].Leaf || r.Size != rows[i-1].Size || r.Agents != rows[i-1].Agents {
			fmt.Fprintf(&b, "\n| %dx%d, %d |", r.Size, r.Size, r.Agents)
		}
		fmt.Fprintf(&b, " %.3g |", r.Rate/1e6)
		if i+1 == len(rows) || rows[i+1].Leaf != r.Leaf {
			b.WriteString("\n\n")
		}
	}
	return b.String()
}

// Text says how long an iteration took.
func (r *LoopRow) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d env steps with %d decisions of %d simulations, and learning: %.2f s of processor time\n", r.Steps,
		r.Decisions, r.Sims, r.CPU)
	for _, name := range slices.Sorted(maps.Keys(r.Phases)) {
		fmt.Fprintf(&b, "  %-24s %6.2f s by the clock\n", name, r.Phases[name])
	}
	return b.String()
}

// Text says how fast a training was, by phase.
func (r *TrainRow) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s: %s agent-steps for each second of processor time, %s for each second of the clock\n",
		r.Preset, plot.Count(r.CPU, "core"), plot.Short(r.Rate), plot.Short(r.WallRate))
	total := 0.
	for name, s := range r.Phases {
		if !strings.Contains(name, "/") {
			total += s
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Phases)) {
		fmt.Fprintf(&b, "  %-24s %6.2f s  %4.0f %%", name, r.Phases[name], 100*r.Phases[name]/total)
		if used, ok := r.Used[name]; ok && r.CPU > 1 {
			fmt.Fprintf(&b, "  %4.1f cores used", used)
		}
		fmt.Fprintln(&b)
	}
	fmt.Fprintf(&b, "  memory %.0f MiB\n", r.MemoryMiB)
	return b.String()
}
