package pretrain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"hop/dataset"
	"hop/field"
	"hop/model/vae"
	"hop/nn"
	"hop/rng"
	"hop/runlog"
	"hop/safetensors"
)

// VAEConfig says how codes of states are learnt from recorded steps.
type VAEConfig struct {
	Model    vae.Config      `yaml:"model"`
	Learn    vae.LearnConfig `yaml:"learn"`
	Ahead    int             `yaml:"ahead" doc:"loss b: z also has to help predict the agent's actions up to so many steps later, each as often; 0: the present one only, as in the notes" range:"0..100"`
	Epochs   int             `yaml:"epochs" doc:"times the rows are gone through at most" range:"1..10000"`
	Patience int             `yaml:"patience" doc:"stop after so many epochs without a better held-out objective; 0: never" range:"0.."`
}

// DefaultVAE returns the settings of docs/opponents.md for loss a or b. Loss A
// needs width and epochs to tell all agents' cells apart; loss B fits the rows it
// learns from within a few.
func DefaultVAE(loss string) VAEConfig {
	c := VAEConfig{Model: vae.Default(), Learn: vae.DefaultLearn(), Epochs: 10, Patience: 4}
	c.Model.Loss, c.Model.Hidden = loss, []int{512, 256}
	if loss == "b" {
		c.Model.Hidden, c.Model.Outcome, c.Ahead = []int{256, 128}, 0.5, 5
		c.Epochs, c.Learn.LR = 6, 1e-3
	}
	return c
}

// Validate returns everything that is wrong, joined.
func (c VAEConfig) Validate() error {
	return errors.Join(field.Check(c), field.At(c.Model.Validate(), "model", nil))
}

// VAE is the training of codes of states on a dataset: 85 % of the episodes to
// learn from, 5 % to choose the weights by, 10 % to judge them by.
type VAE struct {
	cfg    VAEConfig
	key    rng.Key
	data   *dataset.Data
	parts  [3]pretrainPart // learn, choose, judge
	learn  *vae.Learner
	order  []int
	epoch  int
	best   float64
	bestAt int
	bestW  []float32
	past   []vaeEpoch
}

// pretrainPart is one part of the data in the model's form.
type pretrainPart struct {
	rows []int32
	seqs []dataset.Sequence
	last []int32 // of each row, the last row of its sequence
	vae  *vae.Rows
}

// vaeEpoch is what an epoch left behind, for the curves.
type vaeEpoch struct {
	Learn, Held map[string]float64
}

// NewVAE prepares a run at its start.
func NewVAE(cfg VAEConfig, data *dataset.Data, seed uint64) (*VAE, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	v := &VAE{cfg: cfg, key: rng.New(seed), data: data, best: math.Inf(1)}
	in, err := vaeInput(data)
	if err != nil {
		return nil, err
	}
	m, p, err := vae.New(cfg.Model, in, v.key.Child("init"))
	if err != nil {
		return nil, fmt.Errorf("pretrain: codes of this data's states: %w", err)
	}
	v.parts = splitParts(data, v.key)
	for i := range v.parts {
		v.parts[i].vae = vaeRows(m, data, v.parts[i].rows)
		v.parts[i].outcomes()
		if v.parts[i].vae.Len() == 0 {
			return nil, fmt.Errorf("pretrain: %d episodes are too few to learn from, choose by and judge by; collect more", data.Episodes)
		}
	}
	n := v.parts[0].vae.Len()
	steps := cfg.Epochs * ((n + cfg.Learn.Batch - 1) / cfg.Learn.Batch)
	if v.learn, err = vae.NewLearner(m, p, cfg.Learn, steps, v.key.Child("learn")); err != nil {
		return nil, field.At(err, "learn", nil)
	}
	v.order, v.bestW = make([]int, n), slices.Clone(p.W)
	return v, nil
}

// vaeInput reads off the dataset what the model sees. The first planes of a game
// on a board are its agents', one each, oneself first.
func vaeInput(d *dataset.Data) (vae.Input, error) {
	l := d.Layout
	if len(l.Planes) < l.Seats || l.Height == 0 {
		return vae.Input{}, errors.New("pretrain: a code of states needs a board with a plane for each agent, which this dataset's game has not; choose a game on a board")
	}
	in := vae.Input{Agents: l.Seats, Actions: len(l.Actions)}
	in.Height, in.Input.Width, in.Planes = l.Height, l.Width, len(l.Planes)
	in.Rest = d.ObsLen() - l.Height*l.Width*len(l.Planes)
	return in, nil
}

// splitParts deals whole episodes to three parts.
func splitParts(d *dataset.Data, key rng.Key) (parts [3]pretrainPart) {
	r := key.Child("split").Rand()
	first, rest := d.SplitByEpisode(0.85, &r)
	parts[0].rows, parts[0].seqs = first.Rows, first.Sequences
	for _, q := range rest.Sequences {
		to := &parts[2]
		if q.Episode%3 == 0 {
			to = &parts[1]
		}
		to.seqs = append(to.seqs, q)
		for row := q.Lo; row < q.Hi; row++ {
			to.rows = append(to.rows, int32(row))
		}
	}
	for i := range parts {
		part := &parts[i]
		for _, q := range part.seqs {
			end := len(part.last) + q.Hi - q.Lo - 1
			for range q.Hi - q.Lo {
				part.last = append(part.last, int32(end))
			}
		}
	}
	return parts
}

// vaeRows puts rows into the model's form. A dataset has only rows of agents that
// were alive.
func vaeRows(m *vae.Model, d *dataset.Data, pick []int32) *vae.Rows {
	rows, obs, k := m.Rows(), make([]float32, d.ObsLen()), len(d.Layout.Actions)
	for _, i := range pick {
		d.Observation(int(i), obs)
		rows.Add(obs, d.Legal[int(i)*k:(int(i)+1)*k], int32(d.Action[i]))
	}
	return rows
}

// outcomes tells every row its agent's last action.
func (p *pretrainPart) outcomes() {
	for i := range p.vae.Outcome {
		p.vae.Outcome[i] = p.vae.Action[p.last[i]]
	}
}

// Model returns the model and its weights: the best ones after Run.
func (v *VAE) Model() (*vae.Model, *nn.Params) { return v.learn.Model, v.learn.Params }

// Run learns until the epochs are over, the held-out objective stops falling or
// ctx ends, in which case it returns ctx's error; whole epochs are saved. It ends
// with the best weights in place.
func (v *VAE) Run(ctx context.Context, run *runlog.Run, watch func(epoch, epochs int, learn, held map[string]float64)) error {
	for v.epoch < v.cfg.Epochs && (v.cfg.Patience == 0 || v.epoch-v.bestAt < v.cfg.Patience) {
		learnt, err := v.pass(ctx)
		if err != nil {
			return err
		}
		held := v.terms(v.parts[1].vae)
		v.epoch++
		if o := v.objective(held); o < v.best {
			v.best, v.bestAt = o, v.epoch
			copy(v.bestW, v.learn.Params.W)
		}
		e := vaeEpoch{v.named(learnt), v.named(held)}
		v.past = append(v.past, e)
		if err := run.Log(v.metrics(learnt, held)); err != nil {
			return err
		}
		if err := v.save(run); err != nil {
			return err
		}
		if watch != nil {
			watch(v.epoch, v.cfg.Epochs, e.Learn, e.Held)
		}
	}
	copy(v.learn.Params.W, v.bestW)
	return nil
}

// pass goes through the rows once.
func (v *VAE) pass(ctx context.Context) (vae.Terms, error) {
	r := v.key.Child("epoch", v.epoch).Rand()
	r.Perm(v.order)
	var sum vae.Terms
	ahead := make([]int, len(v.order))
	for i, at := range v.order {
		ahead[i] = at + r.IntN(1+min(v.cfg.Ahead, int(v.parts[0].last[at])-at))
	}
	for lo := 0; lo < len(v.order); lo += v.cfg.Learn.Batch {
		if err := ctx.Err(); err != nil {
			return sum, err
		}
		hi := min(lo+v.cfg.Learn.Batch, len(v.order))
		t, err := v.learn.Step(v.parts[0].vae, v.order[lo:hi], ahead[lo:hi])
		if err != nil {
			return sum, fmt.Errorf("pretrain: epoch %d: %w", v.epoch+1, err)
		}
		sum = sum.Plus(t)
	}
	return sum, nil
}

// inBatches fills a workspace with the rows, a batch at a time.
func inBatches(m *vae.Model, rows *vae.Rows, do func(ws *vae.Work, first int)) {
	const batch = 512
	ws := m.Work(batch)
	for lo := 0; lo < rows.Len(); lo += batch {
		ws.Reset()
		for i := lo; i < min(lo+batch, rows.Len()); i++ {
			ws.Add(rows, i)
		}
		do(ws, lo)
	}
}

// terms returns the losses of rows that are not learnt from.
func (v *VAE) terms(rows *vae.Rows) vae.Terms {
	var sum vae.Terms
	inBatches(v.learn.Model, rows, func(ws *vae.Work, _ int) { sum = sum.Plus(ws.Judge(v.learn.Params)) })
	return sum
}

// objective is what the weights are chosen by: the reconstruction in loss A, the
// action's cross-entropy in loss B.
func (v *VAE) objective(t vae.Terms) float64 {
	if v.cfg.Model.Loss == "b" {
		return t.Action.Mean()
	}
	return t.Cells.Mean() + t.Bits.Mean()
}

// named gives every term its own name. In loss B the decoder reads along, so its
// terms are called readout there: they are no part of the loss of z.
func (v *VAE) named(t vae.Terms) map[string]float64 {
	out := map[string]float64{"kl": t.KL.Mean(), "kl_weight": v.learn.KLWeight()}
	if v.cfg.Model.Discrete > 0 {
		out["blur"] = t.Blur.Mean()
	}
	name := "reconstruction"
	if v.cfg.Model.Loss == "b" {
		name = "readout"
		out["action"] = t.Action.Mean()
		if v.cfg.Model.Outcome > 0 {
			out["outcome"] = t.Outcome.Mean()
		}
	}
	out[name+"_agents"], out[name+"_things"] = t.Cells.Mean(), t.Bits.Mean()
	return out
}

func (v *VAE) metrics(learnt, held vae.Terms) []runlog.Row {
	var rows []runlog.Row
	for _, part := range []struct {
		name string
		of   vae.Terms
	}{{"learn/", learnt}, {"held/", held}} {
		terms := v.named(part.of)
		for _, name := range sortedKeys(terms) {
			rows = append(rows, runlog.Row{
				Step: int64(v.epoch), Name: "vae_" + v.cfg.Model.Loss + "/" + part.name + name, Agent: -1, Value: terms[name], N: part.of.KL.Rows,
			})
		}
	}
	return rows
}

func sortedKeys(m map[string]float64) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// vaeMeta is what a checkpoint says about its model.
type vaeMeta struct {
	Config vae.Config
	Input  vae.Input
	Best   float64
	BestAt int
	Past   []vaeEpoch
}

// save writes everything that is needed to go on, and to use the best weights.
func (v *VAE) save(run *runlog.Run) error {
	meta, err := json.Marshal(vaeMeta{v.cfg.Model, v.learn.Model.Input, v.best, v.bestAt, v.past})
	if err != nil {
		return err
	}
	f := &safetensors.File{Meta: map[string]string{"vae": string(meta)}}
	v.learn.Save(f, "now/")
	saveAs(f, "best/", v.learn.Params, v.bestW)
	body, err := f.AppendBinary(nil)
	if err != nil {
		return err
	}
	return run.Checkpoint(int64(v.epoch), body, -v.best, runlog.Keep{Last: 2})
}

// saveAs saves other weights of a model than those in place.
func saveAs(f *safetensors.File, prefix string, p *nn.Params, w []float32) {
	now := slices.Clone(p.W)
	copy(p.W, w)
	p.Save(f, prefix)
	copy(p.W, now)
}

// Resume goes back to a checkpoint of the same run.
func (v *VAE) Resume(body []byte, epoch int64) error {
	f, meta, err := openVAE(body)
	if err == nil {
		if err = v.learn.Params.Load(f, "best/"); err == nil {
			copy(v.bestW, v.learn.Params.W)
			err = v.learn.Load(f, "now/")
		}
	}
	if err != nil {
		return fmt.Errorf("pretrain: resuming the code of states: %w", err)
	}
	v.epoch, v.best, v.bestAt, v.past = int(epoch), meta.Best, meta.BestAt, meta.Past
	return nil
}

func openVAE(body []byte) (*safetensors.File, vaeMeta, error) {
	var meta vaeMeta
	f, err := safetensors.Parse(body)
	if err != nil {
		return nil, meta, err
	}
	if err := json.Unmarshal([]byte(f.Meta["vae"]), &meta); err != nil {
		return nil, meta, fmt.Errorf("the checkpoint is not of a code of states: %w", err)
	}
	return f, meta, nil
}

// LoadVAE returns the model of a run's folder with its best weights.
func LoadVAE(dir string) (*vae.Model, *nn.Params, error) {
	body, _, err := runlog.Last(dir)
	if err != nil {
		return nil, nil, err
	}
	f, meta, err := openVAE(body)
	if err != nil {
		return nil, nil, fmt.Errorf("pretrain: loading the code of states of %s: %w; train one with hop pretrain vae", dir, err)
	}
	m, p, err := vae.New(meta.Config, meta.Input, rng.Key{})
	if err == nil {
		err = p.Load(f, "best/")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("pretrain: loading the code of states of %s: %w", dir, err)
	}
	return m, p, nil
}
