package lab

import (
	"context"
	"encoding/json"
	"strings"

	"hop/diag/ladder"
	"hop/exp"
	"hop/report"
)

// LadderConfig says what is taken apart.
type LadderConfig struct {
	What, PPO string   // presets, spec files or folders of runs
	Set       []string // of What, where it is trained first
	Seeds     []uint64 // that are trained
	Teams     [][]string
	Out       string // folder of runs that are trained first
	Workers   int    // 0: all cores
}

// LadderRuns returns the folders of both runs, after training what is no run, and
// the game that they play.
func (l *Lab) LadderRuns(ctx context.Context, c LadderConfig) (runs, ppo []string, name string, err error) {
	if ppo, err = l.runs(ctx, c, c.PPO, nil); err != nil {
		return nil, nil, "", err
	}
	if runs, err = l.runs(ctx, c, c.What, c.Set); err != nil {
		return nil, nil, "", err
	}
	name, err = l.fits(runs[0], ppo[0], c.Teams)
	return runs, ppo, name, err
}

// Climbable refuses what does not plan.
func (l *Lab) Climbable(what string, sets []string) error {
	spec, err := l.specOf(what, sets)
	if err == nil {
		_, err = ladder.Rungs(spec)
	}
	if err != nil {
		return Misuse{err}
	}
	return nil
}

// specOf returns the spec of a preset, a file or a run's folder.
func (l *Lab) specOf(what string, sets []string) (exp.Spec, error) {
	if dirs, err := Folders(what); err == nil {
		return l.RunSpec(dirs[0])
	}
	return l.Reg.Load(what, sets)
}

// runs returns a run's folders, after training it if it is a spec.
func (l *Lab) runs(ctx context.Context, c LadderConfig, what string, sets []string) ([]string, error) {
	if dirs, err := Folders(what); err == nil {
		return dirs, nil
	}
	spec, err := l.Reg.Load(what, sets)
	if err != nil {
		return nil, Misuse{err}
	}
	t, err := l.NewTraining(spec, c.Seeds, c.Out, c.Workers)
	if err != nil {
		return nil, err
	}
	if _, err := l.Train(ctx, t); err != nil {
		return nil, err
	}
	return Folders(t.Folder)
}

// fits checks that both runs play the same game and that teams fill it.
func (l *Lab) fits(run, ppo string, teams [][]string) (string, error) {
	var labels []string
	var name string
	for _, dir := range []string{ppo, run} {
		spec, err := l.RunSpec(dir)
		if err != nil {
			return "", err
		}
		g, err := spec.Game.Build()
		if err != nil {
			return "", err
		}
		for _, t := range teams {
			if n := g.Spec().Seats - 1; len(t) != n {
				return "", misuse("--vs %s names %d co-players, %s has room for %d", strings.Join(t, ","), len(t), g.Spec().Name, n)
			}
		}
		m, err := spec.Game.Map()
		if err != nil {
			return "", err
		}
		b, err := json.Marshal(m)
		if err != nil {
			return "", err
		}
		labels, name = append(labels, string(b)), spec.Game.Name
	}
	if labels[0] != labels[1] {
		return "", misuse("%s and %s were trained on different games:\n  %s\n  %s", run, ppo, labels[1], labels[0])
	}
	return name, nil
}

// LadderPage is a ladder as its page shows it.
func LadderPage(res *ladder.Result, teams [][]string) *report.Ladder {
	p := &report.Ladder{Says: res.Says, Seeds: res.Seeds, Best: res.Best}
	for _, t := range teams {
		p.Vs = append(p.Vs, strings.Join(t, ","))
	}
	for i, s := range res.Rungs {
		r := report.LadderRung{Name: s.Name, Module: s.Module, Oracle: s.Oracle, Mean: s.Mean.Mean, CI: s.CI}
		r.Total = i == 0 || s.Name == "as trained" || i == len(res.Rungs)-1
		if i > 0 {
			r.Delta, r.DeltaCI = res.Deltas[i-1].Delta, res.Deltas[i-1].CI
		}
		for _, v := range s.Vs {
			r.Vs = append(r.Vs, v.Mean)
		}
		p.Rungs = append(p.Rungs, r)
	}
	for _, s := range res.Singles {
		p.Singles = append(p.Singles, report.LadderSingle{
			Name: s.Name, Module: s.Module, Mean: s.Mean.Mean, Delta: s.Delta, CI: s.DeltaCI, Share: s.Share,
		})
	}
	return p
}
