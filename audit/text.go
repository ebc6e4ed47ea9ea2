package audit

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/disk"
)

// Write puts the page and the numbers into a folder, and returns where the page is; command is how
// to do it again.
func (r *Result) Write(dir, command string) (page string, err error) {
	html, err := r.Page(command)
	if err != nil {
		return "", err
	}
	page = filepath.Join(dir, "audit.html")
	if err := disk.Write(page, html); err != nil {
		return "", fmt.Errorf("writing the page: %w", err)
	}
	return page, disk.WriteJSON(filepath.Join(dir, "audit.json"), r)
}

// Text is the page of a terminal; foreign: of trajectories of other code.
func (r *Result) Text(foreign bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Audit of %s: %s", r.Subject, strings.ToUpper(r.Verdict.String()))
	if r.Module != "" {
		fmt.Fprintf(&b, " in %s", r.Module)
	}
	fmt.Fprintf(&b, "\n%s\n", r.Says)
	if r.Next != "" {
		fmt.Fprintf(&b, "Look at: %s.\n", r.Next)
	}
	if r.Verdict == check.Pass && !foreign && !r.opaque {
		fmt.Fprintln(&b, "If returns are still low: hop ladder on the spec measures what each module costs.")
	}
	for i, name := range Steps {
		asked, good := 0, 0
		var lines []string
		for _, f := range r.Findings {
			if f.Step != i {
				continue
			}
			if asked++; f.Status == check.Pass {
				good++
				continue
			}
			module := f.Module
			if module == "" {
				module = "symptom"
			}
			lines = append(lines, fmt.Sprintf("  %-7s %-10s %s", f.Status, module, f.Says))
			if f.Status == check.NotAsked {
				continue
			}
			for k, row := range f.Evidence {
				if k == 4 {
					lines = append(lines, fmt.Sprintf("%21s%d more in the page", "", len(f.Evidence)-k))
					break
				}
				lines = append(lines, fmt.Sprintf("%21s%s: %.4g, wanted %.4g", "", row.Label, row.Value, row.Wanted))
			}
		}
		if asked > 0 {
			fmt.Fprintf(&b, "\n%s  %d passed\n%s", name, good, strings.Join(append(lines, ""), "\n"))
		}
	}
	return b.String()
}
