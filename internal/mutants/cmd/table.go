package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/hop-marl/hop/internal/mutants"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/store/runlog"
)

// auditAll builds and audits the slips that are not in the file of results yet, and
// prints the tables of all, or writes them into a page. must: each has to be found, in the
// right module.
func (l *bench) auditAll(ctx context.Context, list []mutants.Record, page string, must bool) error {
	var rows []result
	work := l.prepared(ctx, list)
	err := l.each(len(work), func(i int) error {
		r := work[i]
		got, err := l.auditOne(ctx, r)
		if err != nil && ctx.Err() == nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", r.Name, err) // one that went stale keeps the others from nothing
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
		fmt.Fprintf(os.Stderr, "%s: %s %s, %.0f s\n", r.Name, got.Verdict, got.Module, got.Seconds)
		return nil
	})
	for _, r := range list {
		if got, ok := l.done[l.key(r)]; ok {
			got.held, got.why = l.held[r.Name], r.Quiet
			rows = append(rows, got)
		}
	}
	if page == "" {
		fmt.Print(tables(rows))
	} else {
		err = errors.Join(err, l.writePage(page, rows))
	}
	for _, r := range rows {
		if must && !r.Quiet && !r.right() {
			err = errors.Join(err, fmt.Errorf("%s: %s in %q, want %s", r.Name, r.Verdict, r.Module, strings.Join(r.Wanted, " or ")))
		}
	}
	if must && len(rows) < len(list) {
		err = errors.Join(err, fmt.Errorf("%d of %d slips were audited", len(rows), len(list)))
	}
	return err
}

// prepared begins to make the models that slips need, and returns those slips first that need none.
func (l *bench) prepared(ctx context.Context, list []mutants.Record) (order []mutants.Record) {
	begun := map[string]bool{}
	var wait []mutants.Record
	for _, r := range list {
		needs := false
		for _, preset := range r.Presets {
			sets := strings.Join(append([]string{preset}, r.Sets...), " ")
			s, err := l.reg.Load(preset, r.Sets)
			if err != nil || len(s.Prepare) == 0 {
				continue
			}
			if needs = true; !r.Anew && !begun[sets] && l.done[l.key(r)].Key == "" {
				begun[sets] = true
				go l.spec(ctx, preset, r.Sets, false) // whoever needs them waits for them, and meets what fails
			}
		}
		if needs {
			wait = append(wait, r)
		} else {
			order = append(order, r)
		}
	}
	return append(order, wait...)
}

func (l *bench) key(r mutants.Record) string {
	return strings.Join([]string{r.Name, r.Sum(), l.seeds}, " ")
}

// auditOne audits one slip on its presets and keeps the worst verdict, the first of
// equals. Once there is a fault, the other preset is not asked.
func (l *bench) auditOne(ctx context.Context, r mutants.Record) (result, error) {
	key := l.key(r)
	l.mu.Lock()
	was, ok := l.done[key]
	l.mu.Unlock()
	if ok {
		return was, nil
	}
	name := slug(r.Name)
	bin, err := l.build(ctx, name, &r)
	if err != nil {
		return result{}, err
	}
	defer os.Remove(bin)
	order := []string{"", "pass", late, breaks, "suspect", "fault"}
	var worst result
	seconds := 0.
	for _, preset := range r.Presets {
		got, err := l.audit(ctx, bin, name, preset, job{l.seeds, r.Sets, r.Anew})
		if err != nil {
			return got, err
		}
		seconds += got.Seconds
		if slices.Index(order, got.Verdict) > slices.Index(order, worst.Verdict) {
			worst = got
		}
		if worst.Verdict == "fault" {
			break
		}
	}
	worst.Key, worst.Name, worst.Wanted, worst.Quiet, worst.Seconds = key, r.Name, r.Modules, r.Quiet != "", seconds
	return worst, l.keep(worst)
}

// writePage writes the tables into a file, below which program was audited and how.
func (l *bench) writePage(page string, rows []result) error {
	head := fmt.Sprintf("# Tables: slips planted in the source\n\nWritten by `go run ./internal/mutants/cmd --seeds %s --page %s` "+
		"([what it means](../audit.md#what-it-was-proved-on)), of %s.\n\n", l.seeds, page, runlog.NewBuild("dev", f32.Kernels()).Line())
	return os.WriteFile(page, []byte(head+tables(rows)), 0o644)
}

// tables returns the shares, by module and over all, then a row a slip. Quiet ones are
// shown and not counted: there is nothing to find.
func tables(rows []result) string {
	var b strings.Builder
	b.WriteString("| module | slips | found | right module first |\n|---|---|---|---|\n")
	for _, module := range append(slices.Clone(mutants.Modules), "all") {
		n, detected, right := 0, 0, 0
		for _, r := range rows {
			if r.Quiet || module != "all" && r.Wanted[0] != module {
				continue
			}
			n++
			if r.detected() {
				detected++
			}
			if r.right() {
				right++
			}
		}
		if n > 0 {
			fmt.Fprintf(&b, "| %s | %d | %d (%.0f %%) | %d (%.0f %%) |\n", module, n,
				detected, 100*float64(detected)/float64(n), right, 100*float64(right)/float64(n))
		}
	}
	b.WriteString("\n| slip | module | preset | verdict | what the audit says | s |\n|---|---|---|---|---|---|\n")
	for _, r := range rows {
		name, verdict, says := r.Name, r.Verdict+", "+r.Module, sentence(r.Says)
		if r.held {
			name += " (held back)"
		}
		switch {
		case r.Quiet && !r.detected():
			verdict, says = "quiet", "Changes nothing: "+sentence(r.why)
		case r.Verdict == "pass":
			verdict, says = "not found", ""
		case !r.detected():
			verdict = r.Verdict
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %.0f |\n", name, strings.Join(r.Wanted, ", "), r.Preset, verdict, says, r.Seconds)
	}
	return b.String()
}

// sentence returns the first sentence of a text, fit for a table.
func sentence(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\n", " "), "|", "/")
	if at := strings.Index(text, ". "); at >= 0 {
		text = text[:at+1]
	}
	return text
}

// auditHealthy audits the program as it is, each preset from each seed on, and prints
// what is worse than pass.
func (l *bench) auditHealthy(ctx context.Context, match *regexp.Regexp) error {
	var from, to int
	if n, err := fmt.Sscanf(l.seeds, "%d-%d", &from, &to); n != 2 || err != nil || to < from {
		return fmt.Errorf("--seeds %s: want FROM-TO", l.seeds)
	}
	var rows []result
	for _, p := range l.reg.PresetNames() {
		for seed := from; seed <= to && match.MatchString(p); seed++ {
			rows = append(rows, result{Name: fmt.Sprintf("%s, seeds %d-%d", p, seed, seed+to-from), Preset: p})
		}
	}
	err := l.each(len(rows), func(i int) error {
		name := rows[i].Name
		key := "healthy " + name
		l.mu.Lock()
		was, ok := l.done[key]
		l.mu.Unlock()
		if ok {
			rows[i] = was
			return nil
		}
		_, seeds, _ := strings.Cut(name, ", seeds ")
		got, err := l.audit(ctx, l.sound, slug(name), rows[i].Preset, job{seeds: seeds})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		got.Key, got.Name = key, name
		rows[i] = got
		fmt.Fprintf(os.Stderr, "%s: %s, %.0f s\n", name, got.Verdict, got.Seconds)
		return l.keep(got)
	})
	wrong := 0
	for _, r := range rows {
		if r.Verdict == "" || r.Verdict == "pass" {
			continue
		}
		wrong++
		fmt.Printf("%s: %s %s: %s\n", r.Name, r.Verdict, r.Module, r.Says)
		for _, f := range r.Findings {
			fmt.Printf("  %-7s %-10s %s: %s\n", f.Status, f.Module, f.Check, f.Says)
		}
	}
	fmt.Printf("%d of %d audits of the program as it is have a finding worse than pass\n", wrong, len(rows))
	return err
}

// showDifferences runs each slip's presets for a few windows, with and without it, and
// says which come to the same numbers: those must be quiet, and all others not.
func (l *bench) showDifferences(ctx context.Context, list []mutants.Record) error {
	err := l.each(len(list), func(i int) error {
		got, err := l.difference(ctx, list[i])
		if err == nil {
			fmt.Printf("%-6s %s: %s\n", got.Verdict, got.Name, got.Says)
		}
		return err
	})
	if err != nil {
		return err
	}
	wrong := 0
	for _, r := range list {
		if l.done["differs "+l.key(r)].Verdict == same {
			wrong++
		}
	}
	if wrong > 0 {
		err = fmt.Errorf("%d slips change nothing that a short run shows, or are quiet and do", wrong)
	}
	return err
}

// same is the verdict on a slip that does not show, or is quiet and does.
const same = "same"

// difference compares one slip with the program as it is.
func (l *bench) difference(ctx context.Context, r mutants.Record) (result, error) {
	key := "differs " + l.key(r)
	l.mu.Lock()
	was, ok := l.done[key]
	l.mu.Unlock()
	if ok && was.Verdict != same {
		return was, nil
	}
	if r.Anew {
		return result{Key: key, Name: r.Name, Verdict: "anew", Says: "it lies before the training; a short run does not show it"}, nil
	}
	bin, err := l.build(ctx, slug(r.Name)+"-probe", &r)
	if err != nil {
		return was, err
	}
	defer os.Remove(bin)
	got := result{Key: key, Name: r.Name, Verdict: "differs"}
	for _, preset := range r.Presets {
		want, err := l.probe(ctx, l.sound, preset, r.Sets)
		if err != nil {
			return got, err
		}
		switch is, err := l.probe(ctx, bin, preset, r.Sets); {
		case err != nil && ctx.Err() != nil:
			return got, err
		case err != nil:
			got.Says = fmt.Sprintf("%s%s breaks: %v; ", got.Says, preset, err)
		case (is == want) != (r.Quiet != ""):
			got.Verdict = same
			fallthrough
		default:
			got.Says = fmt.Sprintf("%s%s %s, without it %s; ", got.Says, preset, is, want)
		}
	}
	return got, l.keep(got)
}

// probe returns the hash of the numbers of a short run. Those of the program as it is
// are remembered.
func (l *bench) probe(ctx context.Context, bin, preset string, sets []string) (string, error) {
	key := strings.Join(append([]string{bin, preset}, sets...), " ")
	l.mu.Lock()
	was, ok := l.done[key]
	l.mu.Unlock()
	if ok {
		return was.Says, nil
	}
	what, left, err := l.spec(ctx, preset, sets, false)
	if err != nil {
		return "", err
	}
	text, err := exec.CommandContext(ctx, bin, append([]string{"probe", what}, left...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, last(text))
	}
	hash := strings.TrimSpace(string(text))
	if bin != l.sound {
		return hash, nil
	}
	return hash, l.keep(result{Key: key, Says: hash})
}
