package audit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/model/vae"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/pretrain"
)

// coded asks whether codes of states learn what they should: some steps of random players are recorded, and the second gradient
// step of a pretraining like that of the run's own codes is computed again from the record.
func (u *session) coded(ctx context.Context) (f check.Finding, err error) {
	f = check.Finding{
		Step: 4, Check: "codes learn from the steps that were recorded", Module: "goals", Unit: "distance of the gradient",
		Says: "A pretraining of codes, on recorded steps of random players, follows the gradient of its loss, from the rows that it should.",
	}
	m, _, err := vae.Load(&runlog.Reader{AcceptOlder: true}, u.hop.Models.VAE)
	if err != nil {
		return f, err
	}
	if m.Discrete > 0 || m.Net == "conv" {
		f.Status, f.Says = check.NotAsked, "How codes that are classes learn has no definition here."
		return f, nil
	}
	dir, err := os.MkdirTemp("", "hop-audit-")
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(dir)
	c := pretrain.DefaultVAE(m.Config.Loss)
	c.Model, c.Epochs = m.Config, 1
	c.Learn.Batch, c.Learn.Shards, c.Learn.KL, c.Learn.Warmup = 128, 2, 0.05, 1
	v, data, err := u.coding(ctx, dir, c)
	if err != nil {
		return f, err
	}
	steps, err := twoSteps(ctx, v, dir)
	if err != nil {
		return f, err
	}
	rows, drawn := codeRows(v, data, 1), 0
	var half rng.Rand // both halves of a batch draw from streams of their own
	noise := func() float64 {
		if n := len(rows) / 2 * m.Dim; drawn%n == 0 {
			half = v.Key.Child("learn").Child("noise", 1, drawn/n).Rand()
		}
		drawn++
		return half.Norm()
	}
	in := m.Input
	r := reference.Coding{Loss: m.Config.Loss, Frame: m.Frame, Reads: m.Reads, Agents: m.Config.Agents, Things: m.Things, Outcome: m.Outcome,
		KL: c.Learn.KL * (1 - math.Exp(-1/c.Learn.Warmup)), Input: in.Input, Players: in.Agents, Actions: in.Actions}
	net, err := reference.LoadNet(steps[0], "model/")
	if err != nil {
		return f, err
	}
	r.Gradient(net, rows, noise)
	var moments [2]reference.Adam
	for i := range moments {
		if err := moments[i].Load(steps[i], "adam/"); err != nil {
			return f, err
		}
	}
	zero, got := moments[0].Moved(&moments[1])
	change := zero.Compare(got, net.Gradients(c.Learn.MaxGrad))
	if f.Rows = len(rows); !change.Same() {
		f.Accuse(check.Fault, change.Far(), fmt.Sprintf("A pretraining of codes follows another gradient than that of its loss: cosine %.3f, "+
			"%.3g times as long, most of all in the layer %s.", change.Cosine, change.Length, change.Part),
			"model/vae: AddAhead and learn in work.go; train/pretrain: pass, splitParts and outcomes in vae.go")
	}
	leaks(&f, v)
	return f, nil
}

// leaks accuses a pretraining of which an episode is in two parts, or which lacks one.
func leaks(f *check.Finding, v *pretrain.VAE) {
	part, rows := map[int]int{}, 0
	for i, p := range v.Parts {
		for _, q := range p.Seqs {
			if was, ok := part[q.Episode]; ok && was != i {
				f.Accuse(check.Fault, 1, fmt.Sprintf("Episode %d is both learnt from and scored on.", q.Episode), "train/pretrain: splitEpisodes")
			}
			part[q.Episode] = i
			rows += q.Hi - q.Lo
		}
	}
	if len(part) != v.Data.Episodes || rows != v.Data.Len() {
		f.Accuse(check.Fault, 1, fmt.Sprintf("%d of %d recorded steps are in no part, or in several.", v.Data.Len()-rows, v.Data.Len()),
			"train/pretrain: splitEpisodes")
	}
}

// coding records steps of random players and prepares a pretraining on them.
func (u *session) coding(ctx context.Context, dir string, c pretrain.VAEConfig) (*pretrain.VAE, *dataset.Data, error) {
	about, err := u.exp.Game.Map()
	if err != nil {
		return nil, nil, err
	}
	team := make([]string, u.spec.Seats)
	for i := range team {
		team[i] = "random"
	}
	at := filepath.Join(dir, "data")
	const rows = 5000
	record := dataset.Config{Game: u.parts.Game, GameSpec: about, Team: team, Rows: rows, Seed: 3, Dir: at, Workers: 1}
	if _, err := dataset.Collect(ctx, record); err != nil {
		return nil, nil, err
	}
	data, err := dataset.Open(at)
	if err != nil {
		return nil, nil, err
	}
	v, err := pretrain.NewVAE(c, data, 5)
	return v, data, err
}

// twoSteps lets a pretraining take two steps and returns what it saves after each.
func twoSteps(ctx context.Context, v *pretrain.VAE, dir string) (steps [2]*safetensors.File, err error) {
	run, err := runlog.Create(filepath.Join(dir, "run"), []byte("name: audit\n"), runlog.Info{})
	if err != nil {
		return steps, err
	}
	defer run.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	err = v.Run(ctx, run, func(p pretrain.Progress) {
		if i := p.Rows/v.Config.Learn.Batch - 1; !p.Whole && i >= 0 && i < len(steps) {
			f := &safetensors.File{}
			v.Learner.Save(f, "")
			b, _ := f.AppendBinary(nil) // what is saved are views
			if steps[i], _ = safetensors.Parse(b); i == len(steps)-1 {
				stop()
			}
		}
	})
	if steps[1] != nil && errors.Is(err, context.Canceled) {
		err = nil
	}
	return steps, err
}

// codeRows returns what a step of the first epoch learns from: rows in random order, and with each a later step of the same agent,
// at most so many ahead.
func codeRows(v *pretrain.VAE, d *dataset.Data, step int) (list []reference.CodeRow) {
	var rows, last []int
	for _, q := range v.Parts[0].Seqs {
		for i := q.Lo; i < q.Hi; i++ {
			rows, last = append(rows, i), append(last, q.Hi-1)
		}
	}
	order, r := make([]int, len(rows)), v.Key.Child("epoch", 0).Rand()
	r.Perm(order)
	k := len(d.Layout.Actions)
	for i, at := range order {
		here := rows[at]
		j := here + r.IntN(1+min(v.Config.Ahead, last[at]-here))
		if i/v.Config.Learn.Batch != step {
			continue
		}
		x := reference.CodeRow{State: make([]float32, d.ObsLen()), Obs: make([]float32, d.ObsLen()), Legal: d.Legal[j*k : (j+1)*k],
			Action: int32(d.Action[j]), Last: int32(d.Action[last[at]])}
		d.Observation(here, x.State)
		d.Observation(j, x.Obs)
		list = append(list, x)
	}
	return list
}
