package audit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	checks "github.com/hop-marl/hop/audit/check"
	"github.com/hop-marl/hop/audit/probe"
	"github.com/hop-marl/hop/audit/record"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/model/vae"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/pretrain"
)

// prepared asks of every kind of model that agents who plan were given whether it learns what it should: on some recorded steps of
// bots, or among them, the beginning of a training like that of the run's own is held against its definition.
func (u *session) prepared(ctx context.Context) (out []check.Finding, err error) {
	dir, err := os.MkdirTemp("", "hop-audit-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	of := u.hop.Models
	var data *dataset.Data
	if of.VAE+of.World+of.MOA+of.Sequence != "" {
		if data, err = u.recordSteps(ctx, dir); err != nil {
			return nil, err
		}
		if out, err = u.trained(ctx, dir, data); err != nil {
			return nil, err
		}
	}
	if of.VAE != "" {
		var list []check.Finding
		list, err = u.coded(ctx, dir, data)
		out = append(out, list...)
	}
	if err == nil && of.World != "" {
		var f check.Finding
		f, err = u.modelled(ctx, dir, data)
		out = append(out, f)
	}
	if err == nil && of.Response != "" {
		var who, dealt check.Finding
		if who, err = u.responding(); err == nil {
			dealt, err = u.answered(ctx, dir)
		}
		out = append(out, who, dealt)
	}
	return out, err
}

// models reads the folders of models.
var models = &runlog.Reader{AcceptOlder: true}

// coded asks whether codes of states learn what they should, and whether their inference is taught those of states that were
// reached. The second gradient step is computed again from the record.
func (u *session) coded(ctx context.Context, dir string, data *dataset.Data) ([]check.Finding, error) {
	f := check.Finding{
		Step: 4, Check: "codes learn from the steps that were recorded", Module: "goals", Unit: "distance of the gradient",
		Says: "A pretraining of codes, on recorded steps of bots, follows the gradient of its loss, from the rows that it should.",
	}
	m, _, err := vae.Load(models, u.hop.Models.VAE)
	if err != nil {
		return nil, err
	}
	if m.Discrete > 0 || m.Net == "conv" {
		f.Status, f.Says = check.NotAsked, "How codes that are classes learn has no definition here."
		return []check.Finding{f}, nil
	}
	c := pretrain.DefaultVAE(m.Config.Loss)
	c.Model, c.Epochs = m.Config, 1
	c.Learn.Batch, c.Learn.Shards, c.Learn.KL, c.Learn.Warmup = 128, 2, 0.05, 1
	v, err := pretrain.NewVAE(c, data, 5)
	if err != nil {
		return nil, err
	}
	steps, err := twoSteps(ctx, v, dir)
	if err != nil {
		return nil, err
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
		return nil, err
	}
	r.Gradient(net, rows, noise)
	var moments [2]reference.Adam
	for i := range moments {
		if err := moments[i].Load(steps[i], "adam/"); err != nil {
			return nil, err
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
	if u.hop.Models.CVAE == "" {
		return []check.Finding{f}, nil
	}
	goals, err := labelled(v, data, r)
	return []check.Finding{f, goals}, err
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

// recordSteps records steps of bots, two episodes a life.
func (u *session) recordSteps(ctx context.Context, dir string) (*dataset.Data, error) {
	about, err := u.exp.Game.Map()
	if err != nil {
		return nil, err
	}
	var bots []string
	for _, b := range u.parts.Game.Bots() {
		bots = append(bots, b.Name)
	}
	at := filepath.Join(dir, "data")
	const rows = 5000
	record := dataset.Config{Game: u.parts.Game, GameSpec: about, Among: bots[:min(3, len(bots))], Life: 2, Rows: rows, Seed: 3, Dir: at,
		Workers: 1}
	if _, err := dataset.Collect(ctx, record); err != nil {
		return nil, err
	}
	return dataset.Open(at)
}

// labelled asks whether the inference of subgoals is taught the code of the state of the highest return, of those that the agent
// reached soon after.
func labelled(v *pretrain.VAE, data *dataset.Data, r reference.Coding) (check.Finding, error) {
	f := check.Finding{
		Step: 4, Check: "inferences learn the codes of what was reached", Module: "goals", Unit: "share of rows",
		Says: "A pretraining of the inference is taught the codes of states that the same agent reached in the same episode, the best of them.",
	}
	c, err := pretrain.NewCVAE(pretrain.DefaultCVAE(), data, v.Learner.Model, v.Learner.Params, 5)
	if err != nil {
		return f, err
	}
	saved := &safetensors.File{}
	v.Learner.Save(saved, "")
	net, err := reference.LoadNet(saved, "model/")
	if err != nil {
		return f, err
	}
	wrong := 0
	for i, part := range c.Parts {
		row, dim := 0, v.Learner.Dim
		for _, q := range part.Seqs {
			var states [][]float32
			for at := q.Lo; at < q.Hi; at++ {
				states = append(states, make([]float32, data.ObsLen()))
				data.Observation(at, states[len(states)-1])
			}
			mean := r.Means(net, states)
			for t, goals := range reference.Reached(data.Reward[q.Lo:q.Hi], c.Config.Gamma, c.Config.Horizon) {
				got := c.Seqs[i].Mu[(row+t)*dim : (row+t+1)*dim]
				if f.Rows++; !slices.ContainsFunc(goals, func(g int) bool { return near(got, mean[g]) }) {
					wrong++
				}
			}
			row += q.Hi - q.Lo
		}
	}
	if wrong > 0 {
		share := float64(wrong) / float64(f.Rows)
		f.Accuse(check.Fault, share, fmt.Sprintf("In %.3g %% of the steps a pretraining of the inference is taught another code than that of "+
			"the best state that the agent reached then.", 100*share),
			"train/pretrain: CVAE.subgoals and values; model/cvae: Selector.Pick, Returns")
	}
	return f, nil
}

// near reports whether float32 numbers are these.
func near(got []float32, want []float64) bool {
	for i, v := range want {
		if math.Abs(float64(got[i])-v) > 1e-3*max(1, math.Abs(v)) {
			return false
		}
	}
	return true
}

// modelled asks whether a world model learns what it should: the first step of a training's second pass is computed again.
func (u *session) modelled(ctx context.Context, dir string, data *dataset.Data) (check.Finding, error) {
	f := check.Finding{
		Step: 4, Check: "world models learn from the steps that were recorded", Module: "world", Unit: "distance of the change",
		Says: "A pretraining of a world model, on recorded steps of bots, does in its second pass what loss, rate and rows give.",
	}
	m, _, err := world.Load(models, u.hop.Models.World)
	if err != nil {
		return f, err
	}
	c := pretrain.DefaultWorld()
	c.Model, c.Epochs, c.Rare, c.Patience = m.Config, 2, 0, 0
	w, err := pretrain.NewWorld(c, []*dataset.Data{data}, 5)
	if err != nil {
		return f, err
	}
	if in := w.Model.Input; in.Features > 0 || len(in.Appear) > 0 || in.Jumps {
		f.Status, f.Says = check.NotAsked, "How world models of games with features, or where things appear, learn has no definition here."
		return f, nil
	}
	rows := w.Parts[0]
	f.Rows = min(c.Batch, len(rows))
	saved, err := secondPass(ctx, w, filepath.Join(dir, "world"), len(rows)+f.Rows)
	if err != nil {
		return f, err
	}
	net, err := reference.LoadNet(saved, "now/net/")
	adam := &reference.Adam{Eps: 1e-8}
	if err = errors.Join(err, adam.Load(saved, "now/adam/")); err != nil {
		return f, err
	}
	r := reference.Imagining{World: checks.WorldOf(w.Model, w.Net), Adam: adam}
	got, was := r.Net, net.Clone()
	r.Net = net
	order, draw := make([]int, len(rows)), rng.New(5).Child("epoch", 1).Rand()
	draw.Perm(order)
	var steps []reference.Transition
	for _, i := range order[:f.Rows] {
		steps = append(steps, transition(data, int(rows[i].Row)))
	}
	r.Descend(steps, c.LR*(1-0.99/2), 1)
	if change := was.Compare(got, r.Net); !change.Same() {
		f.Accuse(check.Fault, change.Far(), fmt.Sprintf("A pretraining of a world model learns something else in its second pass than loss and "+
			"rate give: cosine %.3f, length %.3g of what it should be.", change.Cosine, change.Length),
			"train/pretrain: NewWorld (the rate), World.pass and Fill (the rows); model/world: Work.Learn (the losses)")
	}
	return f, nil
}

// secondPass lets a world model learn until so many rows, one step into its second pass, and returns what was saved before that.
func secondPass(ctx context.Context, w *pretrain.World, dir string, until int) (*safetensors.File, error) {
	run, err := runlog.Create(dir, []byte("name: audit\n"), runlog.Info{})
	if err != nil {
		return nil, err
	}
	defer run.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	err = w.Run(ctx, run, func(p pretrain.Progress) {
		if p.Rows >= until {
			stop()
		}
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil, err
	}
	last, err := models.Last(dir)
	if err != nil {
		return nil, err
	}
	return safetensors.Parse(last.Body)
}

// transition is a recorded step.
func transition(d *dataset.Data, row int) reference.Transition {
	n, board := d.Layout.Seats, d.Layout.Obs().PlanesLen()
	x := reference.Transition{Obs: make([]float32, d.ObsLen()), Reward: d.Rewards[row*n : (row+1)*n], Over: d.Over[row]}
	d.Observation(row, x.Obs)
	for _, v := range d.NextObs[row*board : (row+1)*board] {
		x.Next = append(x.Next, float32(v))
	}
	for _, k := range d.Joint[row*n : (row+1)*n] {
		x.Joint = append(x.Joint, int32(k))
	}
	return x
}

// responding asks whether a response network is told who sits where.
func (u *session) responding() (check.Finding, error) {
	f := check.Finding{
		Step: 4, Check: "response networks are told who plays", Module: "planner", Unit: "share of rows",
		Says: "While it is trained a response network reads, place by place, which kind each co-player is who is still there.",
	}
	c := pretrain.DefaultResponse().For(u.parts.Game)
	r, err := pretrain.NewResponse(c, u.parts.Game, 5, 1, nil)
	if err != nil {
		return f, err
	}
	team, kinds := make([]int8, u.spec.Seats), len(c.Who)
	for a := range team {
		team[a] = int8(a % kinds)
	}
	envs, players, err := r.Against(team, 8, rng.New(5))
	if err != nil {
		return f, err
	}
	ro := batch.New(envs.Shape(c.Window, (u.spec.Seats-1)*kinds))
	if err := envs.Collect(ro, players); err != nil {
		return f, err
	}
	wrong := 0
	record.Each(ro, 0, func(t, n, _, slot int) {
		if !ro.Alive[slot] {
			return
		}
		want := make([]float32, ro.GoalLen)
		for a := 1; a < u.spec.Seats; a++ {
			if at := ro.Slot(agent.ID(a), t, n); ro.Alive[at] {
				place := (int(ro.Seat[at]) + u.spec.Seats - int(ro.Seat[slot])) % u.spec.Seats
				want[(place-1)*kinds+int(team[a])] = 1
			}
		}
		if f.Rows++; !slices.Equal(ro.GoalAt(slot), want) {
			wrong++
		}
	})
	if wrong > 0 {
		share := float64(wrong) / float64(f.Rows)
		f.Accuse(check.Fault, share, fmt.Sprintf("In %.3g %% of the steps a response network is told other kinds of co-players than sit there.",
			100*share), "train/pretrain: answerPlayer.writeKinds")
	}
	return f, nil
}

// answered asks whether a response network meets the teams that it should, learns at the rates that it should, and goes on as if
// nothing had been where it is interrupted: two windows of one step, in each copy of which a team is dealt once.
func (u *session) answered(ctx context.Context, dir string) (check.Finding, error) {
	f := check.Finding{
		Step: 4, Check: "response networks meet the teams that they should", Module: "planner", Unit: "teams that differ",
		Says: "Teams that a response network meets are dealt as its streams give, its rate falls by the share of the run that is over, and one " +
			"that is interrupted ends as if it were not.",
	}
	c := pretrain.DefaultResponse().For(u.parts.Game)
	c.Window, c.Envs, c.Save = 1, 64, 1
	c.Steps = 2 * c.Envs
	bad := func(format string, args ...any) {
		f.Accuse(check.Fault, f.Effect+1, "A response network "+fmt.Sprintf(format, args...)+".",
			"train/pretrain: teamDealer.deal; Response.Run, Resume")
	}
	train := func(name string, from []byte) ([2]*runlog.Checkpoint, error) {
		var saved [2]*runlog.Checkpoint
		r, err := pretrain.NewResponse(c, u.parts.Game, 5, 1, nil)
		if err == nil && from != nil {
			err = r.Resume(from, int64(c.Envs))
		}
		if err != nil {
			return saved, err
		}
		run, err := runlog.Create(filepath.Join(dir, name), []byte("name: audit\n"), runlog.Info{})
		if err != nil {
			return saved, err
		}
		defer run.Close()
		window := 0
		if from != nil {
			window = 1
		}
		if err := r.Run(ctx, run, func(p pretrain.ResponseProgress) {
			share := float64(window) / 2
			for _, st := range p.Stats {
				if want := c.PPO.LR + (c.PPO.LREnd-c.PPO.LR)*share; st.Name == "ppo/lr" && math.Abs(st.Value-want) > 1e-9 {
					bad("learns at a rate of %.4g where %.0f %% of its training are over; it should be %.4g", st.Value, 100*share, want)
				}
			}
			window++
		}); err != nil {
			return saved, err
		}
		for i := range saved {
			if saved[i], err = models.At(filepath.Join(dir, name), int64((i+1)*c.Envs)); err != nil && (i > 0 || from == nil) {
				return saved, err
			}
		}
		return saved, nil
	}
	whole, err := train("response", nil)
	if err != nil {
		return f, err
	}
	again, err := train("response-again", whole[0].Body)
	if err != nil {
		return f, err
	}
	var files [3]*safetensors.File
	for i, at := range []*runlog.Checkpoint{whole[0], whole[1], again[1]} {
		if files[i], err = safetensors.Parse(at.Body); err != nil {
			return f, err
		}
	}
	if lost := probe.Unlike(files[1], files[2]); len(lost) > 0 {
		bad("that is interrupted ends elsewhere: %d tensors differ, such as %s", len(lost), lost[0])
	}
	dealt, err := files[0].Bytes("cast")
	if err != nil {
		return f, err
	}
	seats, kinds, self := u.spec.Seats, len(c.Who), slices.Index(c.Who, pretrain.Self)
	for n := range c.Envs { // half of the teams are of one kind, the others are drawn one by one, and a share is of copies alone
		r, team := rng.New(5).Child("cast").Child("env", n).Rand(), make([]byte, seats)
		if self >= 0 && c.Share > 0 && r.Float64() < c.Share {
			for a := range team {
				team[a] = byte(self)
			}
		} else {
			alike, kind := r.Float64() < 0.5, r.IntN(kinds)
			for a := range team {
				if team[a] = byte(kind); !alike {
					team[a] = byte(r.IntN(kinds))
				}
			}
			team[0] = byte(max(0, self))
		}
		if f.Rows++; !slices.Equal(dealt[n*seats:(n+1)*seats], team) {
			bad("meets the team %v in copy %d, by the stream it is %v", dealt[n*seats:(n+1)*seats], n, team)
		}
	}
	return f, nil
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
