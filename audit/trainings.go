package audit

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/hop-marl/hop/audit/probe"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/model/sequence"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/nn"
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
	ask := func(module string, l lesson) {
		if err == nil {
			var list []check.Finding
			list, err = l.ask(ctx, module, filepath.Join(dir, fmt.Sprint("twice", len(out))))
			out = append(out, list...)
		}
	}
	cosine := func(t *pretrain.Training, lr float64, objective func(held map[string]float64) float64) lesson {
		return lesson{t: t, eps: 1e-8, rate: halfCosine(lr), objective: objective}
	}
	if of.VAE != "" {
		c := pretrain.DefaultVAE("b")
		c.Epochs = 2
		v, made := pretrain.NewVAE(c, data, 6)
		if made != nil {
			return out, made
		}
		ask("goals", cosine(v.Training, c.Learn.LR, func(held map[string]float64) float64 {
			return held["action"] + c.Model.Outcome*held["outcome"]
		}))
		if err == nil {
			out = append(out, weighed("of codes: the divergence's", v.Learner.Total, func(step int) (got, want float64) {
				return v.Learner.Weights(step).KL, c.Learn.KL * (1 - math.Exp(-float64(step)/c.Learn.Warmup))
			}))
		}
		if cc := pretrain.DefaultCVAE(); of.CVAE != "" && err == nil {
			cc.Epochs = 2
			t, made := pretrain.NewCVAE(cc, data, v.Learner.Model, v.Learner.Params, 6)
			if made != nil {
				return out, made
			}
			ask("goals", cosine(t.Training, cc.Learn.LR, func(held map[string]float64) float64 { return held[cc.Learn.Loss] }))
			if err == nil {
				out = append(out, weighed("of inferences: how often the goal is read", t.Learner.Total, func(step int) (got, want float64) {
					return t.Learner.Weights(step).Mix, cc.Learn.Mix * max(0, 1-float64(step)/float64(t.Learner.Total/2))
				}))
			}
		}
	}
	if of.MOA != "" {
		c := pretrain.DefaultMOA().For(data.Layout)
		c.Epochs = 2
		again, made := pretrain.NewMOA(c, data, nil, 6)
		if made != nil {
			return out, made
		}
		t, made := pretrain.NewMOA(c, data, nil, 6)
		if made != nil {
			return out, made
		}
		ask("moa", lesson{t: t.Training, again: again.Training, eps: 1e-5, decay: c.Learning.Decay,
			rate: func(step, steps int) float64 { // a fiftieth in the last pass
				return c.Learning.LR / math.Pow(50, float64(2*step/steps))
			}, objective: func(held map[string]float64) float64 { return held["ce_held"] }})
		if err == nil {
			out = append(out, foretold(t))
		}
		c.Epochs, c.Patience, c.Learning.LR = 6, 1, 30*c.Learning.LR // it soon gets no better
		if t, made = pretrain.NewMOA(c, data, nil, 6); made != nil {
			return out, made
		}
		ask("moa", lesson{t: t.Training, patience: 1, objective: func(held map[string]float64) float64 { return held["ce_held"] }})
	}
	if of.Sequence != "" && err == nil {
		m, _, made := sequence.Load(models, of.Sequence)
		if made != nil {
			return out, made
		}
		c := pretrain.DefaultSequence().For(data.Layout)
		c.Model, c.Epochs = m.Config, 2
		t, made := pretrain.NewSequence(c, data, 6)
		if made != nil {
			return out, made
		}
		ask("goals", cosine(t.Training, c.Learning.LR, func(held map[string]float64) float64 { return held["ce"] }))
		if err == nil {
			out = append(out, histories(t))
		}
	}
	return out, err
}

// lesson is a training that is looked at.
type lesson struct {
	t, again   *pretrain.Training // again is the same, to be interrupted; nil: it is not asked
	eps, decay float64            // of its optimiser
	rate       schedule           // nil: it is not asked
	patience   int                // epochs without a better objective after which it stops; 0: it goes on
	objective  func(held map[string]float64) float64
}

// ask lets a model learn. From weights and moments around a step of the second pass it computes how long that was, and it asks
// whether the best weights are kept and, of one that is interrupted after an epoch, whether it ends as if it were not.
func (l *lesson) ask(ctx context.Context, module, dir string) ([]check.Finding, error) {
	t := l.t
	f := check.Finding{
		Step: 4, Check: "trainings from records take steps as long as they should", Module: module, Unit: "share of the rate",
		Says: "In the second pass over recorded steps the rate has fallen as it should.",
	}
	run, err := runlog.Create(dir, []byte("name: audit\n"), runlog.Info{})
	if err != nil {
		return nil, err
	}
	defer run.Close()
	var saved [2]*safetensors.File
	steps, second, epochs := 0, 0, []*safetensors.File(nil)
	err = t.Run(ctx, run, func(p pretrain.Progress) { // before the first pass is over nothing can be saved
		if p.Whole {
			body, _ := t.Save()
			file, _ := safetensors.Parse(body)
			epochs = append(epochs, file)
			return
		}
		if steps++; p.Epoch == 1 {
			if second++; second == 2 || second == 3 {
				body, _ := t.Save()
				saved[second-2], _ = safetensors.Parse(body)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	kept, err := l.kept(module, epochs)
	if err != nil || l.rate == nil || saved[1] == nil {
		return []check.Finding{kept}, err
	}
	got, step, err := rateOf(saved, l.eps, l.decay)
	if err != nil {
		return nil, err
	}
	want := l.rate(step, steps)
	f.Saw(got, want, "rate of step %d of %d", step+1, steps)
	if f.Rows = 1; math.Abs(got/want-1) > 0.01 {
		f.Accuse(check.Fault, got/want-1, fmt.Sprintf("In the second pass over recorded steps a model takes steps of a rate of %.3g; it should "+
			"be %.3g.", got, want), "the schedule in model.NewLearner or train/pretrain, and num/nn: Trainer.Step, Adam")
	}
	out := []check.Finding{kept, f}
	if l.again != nil {
		f, err = l.interrupted(ctx, dir+"-again", epochs)
		out = append(out, f)
	}
	return out, err
}

// kept asks whether a training that is over has the weights of the epoch whose objective was the lowest, and stopped when it had to:
// epochs are what was saved after each.
func (l *lesson) kept(module string, epochs []*safetensors.File) (check.Finding, error) {
	f := check.Finding{
		Step: 4, Check: "trainings from records keep what did best", Module: module, Unit: "trainings", Rows: len(epochs),
		Says: "A training from records ends with the weights that did best on episodes to choose by, once it is to stop.",
	}
	best, at := math.Inf(1), 0
	for i, past := range l.t.Past {
		if l.patience > 0 && i > 0 && i-at >= l.patience {
			f.Accuse(check.Fault, 1, fmt.Sprintf("A training that did best in epoch %d goes on after epoch %d; it was to wait for %d.", at, i,
				l.patience), "train/pretrain: Training.Run")
		}
		if x := l.objective(past.Held); x < best {
			best, at = x, i+1
		}
	}
	if at == 0 {
		f.Status = check.NotAsked
		return f, nil
	}
	body, err := l.t.Save()
	if err != nil {
		return f, err
	}
	end, err := safetensors.Parse(body)
	if err != nil {
		return f, err
	}
	for _, x := range epochs[at-1].Tensors {
		if !strings.HasPrefix(x.Name, "now/net/") && !strings.HasPrefix(x.Name, "now/model/") {
			continue // what belongs to the optimiser goes on from the last epoch
		}
		if now, ok := end.Get(x.Name); !ok || string(now.Data) != string(x.Data) {
			f.Accuse(check.Fault, 1, fmt.Sprintf("A training ends with other weights than those of epoch %d of %d, which did best on episodes to "+
				"choose by.", at, len(epochs)), "train/pretrain: Training.Run, and held of the model")
			break
		}
	}
	if l.t.BestAt != at {
		f.Accuse(check.Fault, 1, fmt.Sprintf("A training says that epoch %d did best; it was epoch %d.", l.t.BestAt, at),
			"train/pretrain: Training.Run")
	}
	return f, nil
}

// interrupted asks whether the same training, loaded after its first epoch, ends as this one did.
func (l *lesson) interrupted(ctx context.Context, dir string, epochs []*safetensors.File) (check.Finding, error) {
	f := check.Finding{
		Step: 4, Check: "trainings from records go on as if nothing had been", Module: "checkpoint", Unit: "tensors that differ",
		Says: "A training from records that is interrupted ends in the same weights.",
	}
	first, err := epochs[0].AppendBinary(nil)
	if err == nil {
		err = l.again.Resume(first, 1)
	}
	if err != nil {
		return f, err
	}
	run, err := runlog.Create(dir, []byte("name: audit\n"), runlog.Info{})
	if err != nil {
		return f, err
	}
	defer run.Close()
	if err := l.again.Run(ctx, run, nil); err != nil {
		return f, err
	}
	var files [2]*safetensors.File
	for i, t := range []*pretrain.Training{l.t, l.again} {
		body, err := t.Save()
		if err != nil {
			return f, err
		}
		if files[i], err = safetensors.Parse(body); err != nil {
			return f, err
		}
	}
	f.Rows = len(files[0].Tensors)
	if lost := probe.Unlike(files[0], files[1]); len(lost) > 0 {
		f.Accuse(check.Fault, float64(len(lost)), fmt.Sprintf("A training from records that is interrupted after an epoch ends elsewhere: %d "+
			"tensors differ, such as %s.", len(lost), lost[0]), "train/pretrain: Training.Save, Resume; num/nn: Trainer.Save and Load")
	}
	return f, nil
}

// weighed holds what a part of a loss weighs over a training of so many steps against its definition.
func weighed(what string, steps int, at func(step int) (got, want float64)) check.Finding {
	f := check.Finding{
		Step: 4, Check: "parts of losses weigh what they should over a training", Module: "goals", Unit: "steps that differ",
		Says: "What fades or grows over a training from records does so from its first step to its last.",
	}
	for _, step := range []int{0, 1, steps / 4, steps / 2, 3 * steps / 4, steps - 1, steps} {
		f.Rows++
		if got, want := at(step); math.Abs(got-want) > 1e-6*max(1e-3, math.Abs(want)) {
			f.Accuse(check.Fault, f.Effect+1, fmt.Sprintf("In a training %s weight is %.4g in step %d of %d; it should be %.4g.", what, got, step,
				steps, want), "model/vae and model/cvae: Learner.Weights")
		}
	}
	return f
}

// foretold counts again how well a model of others foresees the steps that its weights are chosen by.
func foretold(t *pretrain.MOA) check.Finding {
	f := check.Finding{
		Step: 4, Check: "what models of others foresee is counted", Module: "logging", Unit: "numbers that differ",
		Says: "Cross-entropy and hits that a model of others is chosen by are those of the steps that were held out.",
	}
	var ce, hits, three float64
	t.Learner.Each(t.Rows, t.Parts[1], func(row int, p nn.Probs) {
		was, above, level, best, ties := t.Rows.Action[row], 0, 0, float32(0), 0
		for _, v := range p {
			switch {
			case v > p[was]:
				above++
			case v == p[was]:
				level++
			}
			if v > best {
				best, ties = v, 0
			}
			if v == best {
				ties++
			}
		}
		f.Rows++
		if ce -= math.Log(max(float64(p[was]), 1e-9)); p[was] == best {
			hits += 1 / float64(ties)
		}
		three += max(0, min(1, float64(3-above)/float64(level)))
	})
	held, n := t.Past[max(t.BestAt-1, 0)].Held, float64(max(f.Rows, 1))
	for name, want := range map[string]float64{"ce_held": ce / n, "top1": hits / n, "top3": three / n} {
		if got := held[name]; math.Abs(got-want) > 1e-6*max(1, want) {
			f.Accuse(check.Fault, f.Effect+1, fmt.Sprintf("Of a model of others that learns from records %s is said to be %.4g; it is %.4g.", name,
				got, want), "train/pretrain: MOA.held and Classes; store/card: Classes.Add")
		}
	}
	return f
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
