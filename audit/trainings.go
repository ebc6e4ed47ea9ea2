package audit

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/model/sequence"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/pretrain"
)

// schedule is the learning rate of a step of so many in all.
type schedule func(step, steps int) float64

// halfCosine falls from a rate to a tenth of it along half a cosine.
func halfCosine(lr float64) schedule {
	return func(step, steps int) float64 {
		return lr * (0.1 + 0.45*(1+math.Cos(math.Pi*float64(step)/float64(steps))))
	}
}

// trained lets each kind of model that learns from records go over them twice, and asks how far its steps are.
func (u *session) trained(ctx context.Context, dir string, data *dataset.Data) (out []check.Finding, err error) {
	of := u.hop.Models
	ask := func(module string, t *pretrain.Training, eps, decay float64, rate schedule, made error) {
		if err == nil {
			err = made
		}
		if err == nil {
			var f check.Finding
			f, err = stepped(ctx, module, t, filepath.Join(dir, fmt.Sprint("twice", len(out))), eps, decay, rate)
			out = append(out, f)
		}
	}
	if of.VAE != "" {
		c := pretrain.DefaultVAE("b")
		c.Epochs = 2
		v, made := pretrain.NewVAE(c, data, 6)
		ask("goals", v.Training, 1e-8, 0, halfCosine(c.Learn.LR), made)
		if cc := pretrain.DefaultCVAE(); made == nil && of.CVAE != "" {
			cc.Epochs = 2
			t, made := pretrain.NewCVAE(cc, data, v.Learner.Model, v.Learner.Params, 6)
			ask("goals", t.Training, 1e-8, 0, halfCosine(cc.Learn.LR), made)
		}
	}
	if of.MOA != "" {
		c := pretrain.DefaultMOA().For(data.Layout)
		c.Epochs = 2
		t, made := pretrain.NewMOA(c, data, nil, 6)
		ask("moa", t.Training, 1e-5, c.Learning.Decay, func(step, steps int) float64 { // a fiftieth in the last pass
			return c.Learning.LR / math.Pow(50, float64(2*step/steps))
		}, made)
	}
	if of.Sequence != "" && err == nil {
		m, _, made := sequence.Load(models, of.Sequence)
		if made != nil {
			return out, made
		}
		c := pretrain.DefaultSequence().For(data.Layout)
		c.Model, c.Epochs = m.Config, 2
		t, made := pretrain.NewSequence(c, data, 6)
		ask("goals", t.Training, 1e-8, 0, halfCosine(c.Learning.LR), made)
		if err == nil {
			out = append(out, histories(t))
		}
	}
	return out, err
}

// stepped lets a model learn and computes from weights and moments around a step of the second pass how long that was.
func stepped(
	ctx context.Context, module string, t *pretrain.Training, dir string, eps, decay float64, rate schedule,
) (check.Finding, error) {
	f := check.Finding{
		Step: 4, Check: "trainings from records take steps as long as they should", Module: module, Unit: "share of the rate",
		Says: "In the second pass over recorded steps the rate has fallen as it should.",
	}
	run, err := runlog.Create(dir, []byte("name: audit\n"), runlog.Info{})
	if err != nil {
		return f, err
	}
	defer run.Close()
	var saved [2]*safetensors.File
	steps, second := 0, 0
	err = t.Run(ctx, run, func(p pretrain.Progress) { // before the first pass is over nothing can be saved
		if p.Whole {
			return
		}
		if steps++; p.Epoch == 1 {
			if second++; second == 2 || second == 3 {
				body, _ := t.Save()
				saved[second-2], _ = safetensors.Parse(body)
			}
		}
	})
	if err != nil || saved[1] == nil {
		f.Status = check.NotAsked
		return f, err
	}
	got, step, err := rateOf(saved, eps, decay)
	if err != nil {
		return f, err
	}
	want := rate(step, steps)
	f.Saw(got, want, "rate of step %d of %d", step+1, steps)
	if f.Rows = 1; math.Abs(got/want-1) > 0.01 {
		f.Accuse(check.Fault, got/want-1, fmt.Sprintf("In the second pass over recorded steps a model takes steps of a rate of %.3g; it should "+
			"be %.3g.", got, want), "the schedule in model.NewLearner or train/pretrain, and num/nn: Trainer.Step, Adam")
	}
	return f, nil
}

// rateOf is the rate by which weights follow from moments, between what was saved before and after a step, and the number of steps
// before it.
func rateOf(saved [2]*safetensors.File, eps, decay float64) (rate float64, step int, err error) {
	const of, root = "now/", "now/adam/"
	weights := of + "net/"
	for _, t := range saved[1].Tensors {
		if strings.HasPrefix(t.Name, of+"model/") {
			weights = of + "model/"
		}
	}
	adam := reference.Adam{Eps: eps}
	if err := adam.Load(saved[1], root); err != nil {
		return 0, 0, err
	}
	was, err := reference.LoadNet(saved[0], weights)
	if err != nil {
		return 0, 0, err
	}
	now, err := reference.LoadNet(saved[1], weights)
	if err != nil {
		return 0, 0, err
	}
	return was.Rate(now, &adam, decay), adam.Steps - 1, nil
}

// histories asks whether a sequence model reads of each co-player what that one did, and learns what it was.
func histories(t *pretrain.Sequence) check.Finding {
	f := check.Finding{
		Step: 4, Check: "lives are read as they were lived", Module: "goals", Unit: "rows that differ",
		Says: "Whose steps a sequence model reads, what that one was and did then, and in which part a life is, are those of the record.",
	}
	part, wrong := map[int32]int{}, ""
	d := t.Data
	for i, h := range t.Parts {
		for n, q := range h.Rows.Seqs {
			for row := q.Lo; row < q.Hi; row++ {
				at, life := int(h.Source[row]), h.Life[row]
				goal := int32(d.Goal[at])
				if goal < 0 {
					goal = int32(len(d.Layout.Goals))
				}
				if was, ok := part[life]; ok && was != i && wrong == "" {
					wrong = fmt.Sprintf("life %d is both learnt from and scored on", life)
				}
				part[life] = i
				f.Rows++
				switch {
				case wrong != "":
				case int32(d.Bot[at]) != h.Kind[n]:
					wrong = fmt.Sprintf("step %d is of kind %d, it is learnt as %d", at, d.Bot[at], h.Kind[n])
				case int32(d.Action[at]) != h.Rows.Action[row]:
					wrong = fmt.Sprintf("in step %d action %d was taken, %d is learnt", at, d.Action[at], h.Rows.Action[row])
				case goal != h.Goal[row]:
					wrong = fmt.Sprintf("step %d leads to goal %d, %d is learnt", at, goal, h.Goal[row])
				}
			}
		}
	}
	if wrong != "" {
		f.Accuse(check.Fault, 1, "Of recorded lives "+wrong+".", "train/pretrain: NewHistories and Sequence.Histories")
	}
	return f
}
