package audit

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/hop-marl/hop/audit/probe"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/spec"
)

// recorded is what the folder of a run, or of several seeds of one, holds.
type recorded struct {
	dirs       []string
	seeds      []uint64
	spec       spec.Spec
	last       *runlog.Checkpoint // of the first
	returns    [][]float64        // [seed][agent] over the last fifth
	curves     [][][]float64      // [seed][agent][logged]
	counts     []map[string][]float64
	noticed    []check.Finding // by the guards, while it ran
	forgetting probe.Forgetting
}

// Folder reports whether dir holds a run, or seeds of one.
func Folder(dir string) bool {
	_, err := runlog.Seeds(dir)
	return err == nil
}

// Run audits a run's folder: what it recorded, then its agents, loaded from the
// newest checkpoint, as they play and learn on for a few windows from fresh
// starts.
func Run(ctx context.Context, reg *spec.Registry, dir string, opt Options) (*Result, error) {
	rec, err := read(reg, dir, opt.Seeds)
	if err != nil {
		return nil, err
	}
	opt.Seeds = rec.seeds[:1]
	if opt.Updates == 0 {
		opt.Updates = probeAt + 1
	}
	s := rec.spec
	s.Train.Stages, s.Train.Switch = nil, nil
	s.Train.Warm.Windows = 0
	s.Imagine.Refresh = 1 // what agents made of a window is known up to its first round
	s.Train.Save = max(s.Train.Steps, 1)
	f, err := safetensors.Parse(rec.last.Body)
	if err != nil {
		return nil, fmt.Errorf("audit: the checkpoint of %s: %w", rec.dirs[0], err)
	}
	r, err := audit(ctx, s, opt, &checkpoint{f, rec.last.Body})
	if err != nil {
		return nil, err
	}
	r.Subject, r.Used = dir, []runlog.Used{rec.last.Used}
	found := slices.DeleteFunc(r.Findings, func(f check.Finding) bool { return f.Step == 0 }) // a few windows say less than the record
	r.Findings = nil
	r.Returns, r.Curves, r.recorded = rec.returns, rec.curves, true
	alike := len(s.Train.Team) == 0 && (len(s.Kinds) == 0 || s.Apart() != "")
	if g, err := s.Game.Build(); err != nil || !g.Spec().Symmetric || g.Spec().Seats < 2 {
		alike = false
	}
	if alike {
		r.Add(orders(&s, rec.returns)...)
	}
	r.Add(rec.forgetting.Finding(s.PPO))
	r.Add(append(found, rec.counted()...)...)
	return r, nil
}

// checkpoint is what a run is loaded from.
type checkpoint struct {
	file *safetensors.File
	body []byte
}

// read reads a folder, or only these seeds of it.
func read(reg *spec.Registry, dir string, only []uint64) (*recorded, error) {
	dirs, err := runlog.Seeds(dir)
	if err != nil {
		return nil, err
	}
	rec := &recorded{}
	for _, d := range dirs {
		run, err := runlog.Read(d)
		if err == nil {
			err = run.Faults()
		}
		if err != nil {
			return nil, err
		}
		if len(only) > 0 && !slices.Contains(only, run.Env.Seed) {
			continue
		}
		rec.dirs, rec.seeds = append(rec.dirs, d), append(rec.seeds, run.Env.Seed)
		if len(rec.seeds) == 1 {
			if rec.spec, err = reg.Parse(run.Spec, filepath.Join(d, "spec.yaml"), run.Env.Preset, nil); err != nil {
				return nil, err
			}
			if rec.last, err = reg.Runs.Last(d); err != nil {
				return nil, err
			}
		}
		rows, err := run.Metrics()
		if err != nil {
			return nil, err
		}
		rec.take(rows, rec.spec.Train.Warm.Until(rows))
		rec.forgetting.Take(run.Env.Seed, rows, rec.spec.Train.Warm.Until(rows))
		list, err := run.Findings()
		if err != nil {
			return nil, err
		}
		rec.noticed = append(rec.noticed, list...)
	}
	for _, seed := range only {
		if !slices.Contains(rec.seeds, seed) {
			return nil, fmt.Errorf("audit: %s has no seed %d; without --seeds all that it has are asked", dir, seed)
		}
	}
	return rec, nil
}

// take takes in one seed's metrics. What was returned in its warm-up is not the
// agents'.
func (rec *recorded) take(rows []runlog.Row, warm int64) {
	var curves [][]float64
	counts := map[string][]float64{}
	for _, row := range rows {
		switch {
		case row.Agent < 0:
		case row.Name == "return" && row.Step > warm:
			for len(curves) <= row.Agent {
				curves = append(curves, nil)
			}
			curves[row.Agent] = append(curves[row.Agent], row.Value)
		case row.Name == "count/updates" || row.Name == "count/rows":
			key := fmt.Sprintf("%s, agent %d", row.Name, row.Agent)
			counts[key] = append(counts[key], row.Value)
		}
	}
	rec.counts = append(rec.counts, counts)
	rec.curves, rec.returns = append(rec.curves, curves), append(rec.returns, probe.LastFifth(curves))
}

// counted looks at the counters that the run recorded, and at what its guards
// noticed.
func (rec *recorded) counted() []check.Finding {
	f := check.Finding{
		Step: 2, Check: "recorded updates", Module: "ppo", Unit: "updates behind the first",
		Says: "Every learner was updated until the end, as often as the others.",
	}
	for i, counts := range rec.counts {
		agents := len(rec.returns[i])
		for key := range counts {
			var a int
			if _, err := fmt.Sscanf(key, "count/updates, agent %d", &a); err == nil {
				agents = max(agents, a+1)
			}
		}
		ends := make([]float64, agents)
		most := 0.
		for a := range ends {
			list := counts[fmt.Sprintf("count/updates, agent %d", a)]
			f.Rows += len(list)
			if ends[a] = -1; len(list) > 0 && rec.spec.EverLearns(a) { // agents of one mind have no counter
				ends[a] = list[len(list)-1]
				most = max(most, ends[a])
			}
		}
		for a, n := range ends {
			if n < 0 {
				continue
			}
			f.Saw(n, most, "seed %d, agent %d: updates", rec.seeds[i], a)
			if behind := most - n; behind > 0.02*most && behind > f.Effect {
				f.Accuse(check.Fault, behind, fmt.Sprintf("Agent %d of seed %d was updated %.0f times, others %.0f times.", a, rec.seeds[i], n, most),
					"why that learner had no rows, or stopped: hop report on the run")
			}
		}
	}
	out := []check.Finding{f}
	return append(out, gathered(rec.noticed)...)
}

// gathered makes one finding of all that guards said for one cause: of several agents, of several seeds.
func gathered(noticed []check.Finding) (out []check.Finding) {
	for _, n := range noticed {
		if !slices.Contains(check.Modules, n.Module) {
			n.Module = "guards"
		}
		n.Step, n.Check, n.Unit = 4, "guard: "+n.Check, "warnings"
		i := slices.IndexFunc(out, func(f check.Finding) bool { return f.Check == n.Check && f.Module == n.Module })
		if i < 0 {
			i, out = len(out), append(out, n)
		}
		f := &out[i]
		f.Status = max(f.Status, n.Status)
		f.Effect++
		f.Rows++
		for _, a := range n.Who {
			if !slices.Contains(f.Who, a) {
				f.Who = append(f.Who, a)
			}
		}
	}
	for i := range out {
		if f := &out[i]; f.Rows > 1 {
			slices.Sort(f.Who)
			f.Says += fmt.Sprintf("; %d more like it", f.Rows-1)
			if len(f.Who) > 1 {
				f.Says += ", of " + check.Agents(f.Who)
			}
		}
	}
	return out
}
