package pretrain

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model/vae"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/dataset"
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
	return errors.Join(config.Check(c), config.At(c.Model.Validate(), "model", nil))
}

// VAE is the training of codes of states on a dataset: 85 % of the episodes to
// learn from, 5 % to choose the weights by, 10 % to score them by.
type VAE struct {
	*Training
	Config  VAEConfig
	Key     rng.Key
	Data    *dataset.Data
	Parts   [3]Part // to learn from, to choose by, to score
	Learner *vae.Learner
	order   []int
}

// Part is one part of the data in the model's form.
type Part struct {
	Rows   []int32
	Seqs   []dataset.Sequence
	Last   []int32 // of each row, the last row of its sequence
	States *vae.Rows
}

// NewVAE prepares a run at its start.
func NewVAE(cfg VAEConfig, data *dataset.Data, seed uint64) (*VAE, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	v := &VAE{Config: cfg, Key: rng.New(seed), Data: data}
	in, err := vaeInput(data)
	if err != nil {
		return nil, err
	}
	m, p, err := vae.New(cfg.Model, in, v.Key.Child("init"))
	if err != nil {
		return nil, fmt.Errorf("pretrain: codes of this data's states: %w", err)
	}
	v.Parts = splitParts(data, v.Key)
	for i := range v.Parts {
		v.Parts[i].States = vaeRows(m, data, v.Parts[i].Rows)
		v.Parts[i].outcomes()
		if v.Parts[i].States.Len() == 0 {
			return nil, tooFew(data)
		}
	}
	n := v.Parts[0].States.Len()
	steps := cfg.Epochs * ((n + cfg.Learn.Batch - 1) / cfg.Learn.Batch)
	if v.Learner, err = vae.NewLearner(m, p, cfg.Learn, steps, v.Key.Child("learn")); err != nil {
		return nil, config.At(err, "learn", nil)
	}
	v.order = make([]int, n)
	v.Training = newTraining(settings{
		kind: "vae", metrics: [2]string{"vae_" + cfg.Model.Loss + "/learn/", "vae_" + cfg.Model.Loss + "/held/"},
		epochs: cfg.Epochs, patience: cfg.Patience, rows: n, config: cfg.Model, input: in, params: p, learner: v.Learner, epoch: v,
	})
	return v, nil
}

func tooFew(d *dataset.Data) error {
	return fmt.Errorf("pretrain: %d episodes are too few to learn from, choose by and score; collect more", d.Episodes)
}

// vaeInput reads off the dataset what the model sees. The first planes of a game
// on a board are its agents', one each, oneself first.
func vaeInput(d *dataset.Data) (vae.Input, error) {
	l := d.Layout
	if len(l.Planes) < l.Seats || l.Height == 0 {
		return vae.Input{}, errors.New("pretrain: a code of states needs a board with a plane for each agent, which this dataset's game has " +
			"not; choose a game on a board")
	}
	return vae.Input{Input: frame.Layout(l.Obs()).Input(), Agents: l.Seats, Actions: len(l.Actions)}, nil
}

// splitParts deals whole episodes to three parts.
func splitParts(d *dataset.Data, key rng.Key) (parts [3]Part) {
	for i, seqs := range splitEpisodes(d, key.Child("split"), func(_, episode int) bool { return episode%3 == 0 }) {
		part := &parts[i]
		part.Seqs, part.Rows = seqs, rowsOf(seqs)
		for _, q := range seqs {
			end := int32(len(part.Last) + q.Hi - q.Lo - 1)
			part.Last = append(part.Last, slices.Repeat([]int32{end}, q.Hi-q.Lo)...)
		}
	}
	return parts
}

// splitEpisodes deals 85 % of the episodes to the first part; of the others, counted
// from 1, those that are chosen go to the second and the rest to the third.
func splitEpisodes(d *dataset.Data, key rng.Key, choose func(nth, episode int) bool) (parts [3][]dataset.Sequence) {
	r := key.Rand()
	first, rest := d.SplitByEpisode(0.85, &r)
	parts[0] = first.Sequences
	nth, episode := 0, -1
	for _, q := range rest.Sequences {
		if q.Episode != episode {
			nth, episode = nth+1, q.Episode
		}
		to := &parts[2]
		if choose(nth, episode) {
			to = &parts[1]
		}
		*to = append(*to, q)
	}
	return parts
}

// rowsOf lists the rows of sequences.
func rowsOf(seqs []dataset.Sequence) []int32 {
	var rows []int32
	for _, q := range seqs {
		for row := q.Lo; row < q.Hi; row++ {
			rows = append(rows, int32(row))
		}
	}
	return rows
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

// outcomes gives every row its agent's last action.
func (p *Part) outcomes() {
	for i := range p.States.Outcome {
		p.States.Outcome[i] = p.States.Action[p.Last[i]]
	}
}

// pass goes through the rows once.
func (v *VAE) pass(step func(rows int) error) ([]agent.Stat, error) {
	r := v.Key.Child("epoch", v.Epoch).Rand()
	r.Perm(v.order)
	var sum vae.Terms
	ahead := make([]int, len(v.order))
	for i, at := range v.order {
		ahead[i] = at + r.IntN(1+min(v.Config.Ahead, int(v.Parts[0].Last[at])-at))
	}
	for lo := 0; lo < len(v.order); lo += v.Config.Learn.Batch {
		if err := step(lo); err != nil {
			return nil, err
		}
		hi := min(lo+v.Config.Learn.Batch, len(v.order))
		t, err := v.Learner.Step(v.Parts[0].States, v.order[lo:hi], ahead[lo:hi])
		if err != nil {
			return nil, fmt.Errorf("pretrain: epoch %d: %w", v.Epoch+1, err)
		}
		sum = sum.Plus(t)
	}
	return v.Named(sum), nil
}

// held scores the weights on the rows to choose by.
func (v *VAE) held(string) ([]agent.Stat, float64, error) {
	var sum vae.Terms
	v.Learner.Model.Each(v.Parts[1].States, func(ws *vae.Work) { sum = sum.Plus(ws.Evaluate(v.Learner.Params)) })
	return v.Named(sum), v.objective(sum), nil
}

// objective is what the weights are chosen by: the reconstruction in loss A; in
// loss B the action's cross-entropy and, where z is asked for it, the last
// action's, which z learns by heart sooner.
func (v *VAE) objective(t vae.Terms) float64 {
	switch {
	case v.Config.Model.Loss == "a":
		return t.Cells.Mean() + t.Bits.Mean()
	case v.Config.Model.Outcome > 0:
		return t.Action.Mean() + v.Config.Model.Outcome*t.Outcome.Mean()
	}
	return t.Action.Mean()
}

// Named gives every term its own name. In loss B the decoder reads along, so its
// terms are called readout there: they are no part of the loss of z.
func (v *VAE) Named(t vae.Terms) []agent.Stat {
	var out []agent.Stat
	add := func(name string, value float64, on bool) {
		if on {
			out = append(out, agent.Stat{Name: name, Value: value, N: t.KL.Rows})
		}
	}
	b, name := v.Config.Model.Loss == "b", "reconstruction"
	if b {
		name = "readout"
	}
	add("action", t.Action.Mean(), b)
	add("blur", t.Blur.Mean(), v.Config.Model.Discrete > 0)
	add("kl", t.KL.Mean(), true)
	add("kl_weight", v.Learner.Weights(v.Learner.Steps()).KL, true)
	add("outcome", t.Outcome.Mean(), b && v.Config.Model.Outcome > 0)
	add(name+"_agents", t.Cells.Mean(), true)
	add(name+"_things", t.Bits.Mean(), true)
	return out
}
