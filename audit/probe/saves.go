package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/spec"
)

// How saving is looked at: a run of so many windows after the warm-up, of which three in four have a checkpoint come due.
const (
	savedWindows = 13
	savedEnvs    = 4
	savedSteps   = 16
	savedLast    = 3 // that are kept, and
	savedEvery   = 5 // every fifth
)

// Saves asks whether a run leaves the checkpoints that its spec asks for: when they are due, the newest, every so-many-th, and the
// one of the best score.
func Saves(ctx context.Context, s spec.Spec, seed uint64) (check.Finding, error) {
	f := check.Finding{
		Step: 4, Check: "checkpoints are kept as the spec says", Module: "checkpoint", Unit: "checkpoints that differ",
		Says: "Checkpoints are written when they are due; the newest, every so-many-th and the best stay.",
	}
	c := &s.Train
	c.Envs, c.Window, c.Warm.Windows = min(c.Envs, savedEnvs), min(c.Window, savedSteps), min(c.Warm.Windows, 1)
	window := c.Envs * c.Window
	c.Steps, c.Save, c.Keep, c.KeepEvery = savedWindows*window, 4*window/3, savedLast, savedEvery
	r, err := newResumer(s, seed, 1)
	if err != nil {
		return f, err
	}
	dir, err := os.MkdirTemp("", "hop-audit-")
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(dir)
	dir = filepath.Join(dir, "run")
	run, err := runlog.Create(dir, []byte("name: audit\n"), runlog.Info{})
	if err != nil {
		return f, err
	}
	defer run.Close()
	var steps []int
	var scores []float64
	saved, score, scored := 0, 0., false
	if err := r.loop.Run(ctx, run, func(p *train.Progress) {
		for _, row := range p.Rows {
			if row.Name != "return/mean" {
				continue
			}
			if !scored {
				score, scored = row.Value, true
			}
			score = 0.9*score + 0.1*row.Value
		}
		if p.Step/c.Save > saved/c.Save || p.Step >= c.Steps {
			saved = p.Step
			steps, scores = append(steps, p.Step), append(scores, score)
		}
	}); err != nil {
		return f, err
	}
	best := 0
	for i, x := range scores {
		if x >= scores[best] { // of equals the newest
			best = i
		}
	}
	reader := &runlog.Reader{}
	f.Rows = len(steps)
	for i, step := range steps {
		_, none := reader.At(dir, int64(step))
		newest, nth, top := i >= len(steps)-savedLast, (i+1)%savedEvery == 0, i == best
		if none == nil {
			var seal struct{ Score float64 }
			text, err := os.ReadFile(filepath.Join(dir, "checkpoints", fmt.Sprintf("step-%012d.json", step)))
			if err == nil {
				err = json.Unmarshal(text, &seal)
			}
			if err != nil {
				return f, err
			}
			if math.Abs(seal.Score-scores[i]) > 1e-9*max(1, math.Abs(scores[i])) {
				f.Accuse(check.Fault, f.Effect+1, fmt.Sprintf("Checkpoint %d of %d has a score of %.6g; by the returns until then it is %.6g.", i+1,
					len(steps), seal.Score, scores[i]), "train: SelfPlay.progress, what the best checkpoint is known by")
			}
		}
		switch stays := newest || nth || top; {
		case stays && none != nil:
			f.Accuse(check.Fault, f.Effect+1, fmt.Sprintf("Checkpoint %d of %d, of env step %d, is not there: %s.", i+1, len(steps), step,
				why(newest, nth)), "train: SelfPlay.Run (when), checkpoint (its score); store/runlog: Run.Checkpoint and prune")
		case !stays && none == nil:
			f.Accuse(check.Fault, f.Effect+1, fmt.Sprintf("Checkpoint %d of %d, of env step %d, stays: it is none of the %d newest, no %dth one "+
				"and not the best.", i+1, len(steps), step, savedLast, savedEvery), "store/runlog: prune")
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "checkpoints", "*.safetensors"))
	if err == nil && len(files) > len(steps) {
		slices.Sort(files)
		f.Accuse(check.Fault, f.Effect+1, fmt.Sprintf("There are %d checkpoints, %d came due.", len(files), len(steps)), "train: SelfPlay.Run")
	}
	return f, err
}

// why says why a checkpoint is to stay.
func why(newest, nth bool) string {
	switch {
	case newest:
		return fmt.Sprintf("it is one of the %d newest", savedLast)
	case nth:
		return fmt.Sprintf("every %dth is to stay", savedEvery)
	}
	return "it is that of the best score"
}
