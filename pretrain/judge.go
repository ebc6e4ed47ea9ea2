package pretrain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"hop/agent"
	"hop/batch"
	"hop/field"
	"hop/frame"
	"hop/game"
	"hop/model/actor"
	"hop/nn"
	"hop/ppo"
	"hop/rng"
	"hop/rollout"
	"hop/runlog"
	"hop/safetensors"
)

// JudgeConfig says how a judge of states learns: a network that is told who each
// co-player is, and by PPO learns the best response to teams of bots. A search
// asks it what a state is worth against what the co-players are drawn to be.
type JudgeConfig struct {
	Who    []string     `yaml:"who" doc:"the bots, in the order of plan.bots: one for each hand-made goal, then one for doubt"`
	Net    actor.Config `yaml:"net"`
	PPO    ppo.Config   `yaml:"ppo"`
	Envs   int          `yaml:"envs" doc:"copies of the game played side by side" range:"1..65536"`
	Window int          `yaml:"window" doc:"steps of every copy between two updates" unit:"steps" range:"1..4096"`
	Steps  int          `yaml:"steps" doc:"length of the run in steps of a single copy, summed over copies" unit:"env steps" range:"1.."`
	Save   int          `yaml:"save" doc:"windows between checkpoints" range:"1.."`
}

// DefaultJudge returns the settings of docs/planning.md.
func DefaultJudge() JudgeConfig {
	c := JudgeConfig{Who: []string{"ns", "nh", "random"}, Net: actor.Default(), PPO: ppo.Default(), Envs: 256, Window: 36, Steps: 3_000_000, Save: 40}
	c.Net.Separate, c.PPO.LREnd, c.PPO.EntropyEnd = true, 1e-4, 1e-3
	return c
}

// Validate returns everything that is wrong, joined.
func (c JudgeConfig) Validate() error {
	errs := []error{field.Check(c), field.At(c.Net.Validate(), "net", nil), field.At(c.PPO.Validate(), "ppo", nil)}
	if len(c.Who) < 2 {
		errs = append(errs, field.Bad("who", c.Who, "at least two bots"))
	}
	if c.Net.LSTM > 0 {
		errs = append(errs, field.Bad("net.lstm", c.Net.LSTM, "0, because a search asks about single states"))
	}
	return errors.Join(errs...)
}

// JudgeInput is what a judge reads.
type JudgeInput struct {
	actor.Input
	Seats int
	Who   []string
	Scale float64 // of rewards in its values
}

// Judge is the training of a judge. Agent 0 learns; in each episode the others
// are bots, drawn anew.
type Judge struct {
	cfg   JudgeConfig
	game  game.Game
	key   rng.Key
	brain *ppo.Brain
	cast  *judgeCast
	envs  *rollout.Envs
	ro    *batch.Rollout
	play  [][]rollout.Player // [worker][A]

	step, update int
	past         []judgePast
}

// judgePast is what the curve of a run shows.
type judgePast struct {
	Step          int
	Return        float64
	Policy, Value float64 // losses
}

// NewJudge prepares a run at its start. workers 0: one a core.
func NewJudge(cfg JudgeConfig, g game.Game, seed uint64, workers int) (*Judge, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	spec := g.Spec()
	if spec.Seats < 2 {
		return nil, fmt.Errorf("pretrain: %s has no co-players to judge; choose a game of several agents", spec.Name)
	}
	j := &Judge{cfg: cfg, game: g, key: rng.New(seed)}
	var err error
	if j.envs, err = rollout.New(rollout.Config{Game: g, Envs: cfg.Envs, Key: j.key.Child("envs"), Workers: workers}); err != nil {
		return nil, err
	}
	in := judgeInput(spec, cfg)
	if j.brain, err = ppo.New(cfg.PPO, cfg.Net, in.Input, []agent.ID{0}, judgeShards, j.key.Child("brain")); err != nil {
		return nil, fmt.Errorf("pretrain: a judge for this game: %w", err)
	}
	j.brain.Remember(cfg.Envs, cfg.Window)
	j.ro = batch.New(j.envs.Shape(cfg.Window, in.Extra))
	j.cast = newJudgeCast(spec.Seats, cfg.Envs, len(cfg.Who), j.key.Child("cast"))
	j.play, err = j.cast.players(g, cfg.Who, j.envs.Workers, cfg.Envs, func() rollout.Player { return j.brain.Player(0, cfg.Envs) })
	return j, err
}

// judgeShards is into how many parts a minibatch is cut, on every machine.
const judgeShards = 4

// judgeInput says what a judge reads of a game: an observation, and who the
// others are, one-hot by place after oneself, zero for those who have left.
func judgeInput(spec game.Spec, cfg JudgeConfig) JudgeInput {
	l := spec.Obs
	in := frame.Input{Height: l.Height, Width: l.Width, Planes: len(l.Planes), Rest: l.Len() - l.PlanesLen(), Extra: (spec.Seats - 1) * len(cfg.Who)}
	return JudgeInput{actor.Input{Input: in, Actions: len(spec.Actions)}, spec.Seats, cfg.Who, cfg.PPO.RewardScale}
}

// JudgeProgress is what a run says after each window.
type JudgeProgress struct {
	Step, Steps int
	Episodes    int     // that ended in the window
	Return      float64 // the learner's mean over them
	Stats       []agent.Stat
}

// Run learns until the run's length is reached or ctx ends, in which case it
// saves and returns ctx's error.
func (j *Judge) Run(ctx context.Context, run *runlog.Run, watch func(JudgeProgress)) error {
	shape := ppo.Shape{Scale: j.cfg.PPO.RewardScale, Gamma: j.cfg.PPO.Gamma}
	for j.step < j.cfg.Steps {
		if ctx.Err() != nil {
			return errors.Join(j.checkpoint(run), ctx.Err())
		}
		j.envs.Collect(j.ro, j.play)
		share := float64(j.step) / float64(j.cfg.Steps)
		j.step += j.cfg.Envs * j.cfg.Window
		j.update++
		stats, err := j.brain.Learn(j.ro, shape, share)
		if err != nil {
			return fmt.Errorf("pretrain: the judge at step %d: %w; lower ppo.lr", j.step, err)
		}
		p := JudgeProgress{Step: min(j.step, j.cfg.Steps), Steps: j.cfg.Steps, Stats: stats}
		for _, ep := range j.envs.Episodes() {
			p.Episodes++
			p.Return += (ep.Return[0] - p.Return) / float64(p.Episodes)
		}
		if err := run.Log(j.rows(p)); err != nil {
			return err
		}
		if watch != nil {
			watch(p)
		}
		if j.update%j.cfg.Save == 0 || j.step >= j.cfg.Steps {
			if err := j.checkpoint(run); err != nil {
				return err
			}
		}
	}
	return nil
}

func (j *Judge) rows(p JudgeProgress) []runlog.Row {
	rows := []runlog.Row{{Step: int64(j.step), Name: "judge/return", Agent: -1, Value: p.Return, N: p.Episodes}}
	at := judgePast{Step: j.step, Return: p.Return}
	for _, s := range p.Stats {
		rows = append(rows, runlog.Row{Step: int64(j.step), Name: strings.Replace(s.Name, "ppo/", "judge/", 1), Agent: -1, Value: s.Value, N: s.N})
		switch s.Name {
		case "ppo/value_loss":
			at.Value = s.Value
		case "ppo/policy_loss":
			at.Policy = s.Value
		}
	}
	j.past = append(j.past, at)
	return rows
}

// judgeMeta is what a checkpoint says about its model.
type judgeMeta struct {
	Config actor.Config
	Input  JudgeInput
	Step   int
	Update int
	Past   []judgePast
}

// checkpoint writes everything that is needed to go on, and to use the weights.
func (j *Judge) checkpoint(run *runlog.Run) error {
	meta, err := json.Marshal(judgeMeta{j.cfg.Net, judgeInput(j.game.Spec(), j.cfg), j.step, j.update, j.past})
	if err != nil {
		return err
	}
	f := &safetensors.File{Meta: map[string]string{"judge": string(meta)}}
	if err := j.brain.Save(f, "brain/"); err != nil {
		return err
	}
	envs, err := j.envs.AppendBinary(nil)
	if err != nil {
		return err
	}
	f.PutBytes("envs", envs)
	if err := j.cast.save(f); err != nil {
		return err
	}
	body, err := f.AppendBinary(nil)
	if err != nil {
		return err
	}
	return run.Checkpoint(int64(j.step), body, float64(j.step), runlog.Keep{Last: 2})
}

// Resume goes back to a checkpoint of the same run.
func (j *Judge) Resume(body []byte, _ int64) error {
	f, meta, err := openJudge(body)
	var envs []byte
	if err == nil {
		err = j.brain.Load(f, "brain/")
	}
	if err == nil {
		envs, err = f.Bytes("envs")
	}
	if err == nil {
		err = j.envs.UnmarshalBinary(envs)
	}
	if err == nil {
		err = j.cast.load(f)
	}
	if err != nil {
		return fmt.Errorf("pretrain: resuming the judge: %w", err)
	}
	j.step, j.update, j.past = meta.Step, meta.Update, meta.Past
	return nil
}

func openJudge(body []byte) (*safetensors.File, judgeMeta, error) {
	var m judgeMeta
	f, err := safetensors.Parse(body)
	if err != nil {
		return nil, m, err
	}
	if err := json.Unmarshal([]byte(f.Meta["judge"]), &m); err != nil {
		return nil, m, fmt.Errorf("the checkpoint is not one of hop pretrain judge: %w", err)
	}
	return f, m, nil
}

// LoadJudge makes the judge of a run's folder.
func LoadJudge(dir string) (*actor.Model, *nn.Params, JudgeInput, error) {
	body, _, err := runlog.Last(dir)
	if err != nil {
		return nil, nil, JudgeInput{}, err
	}
	f, meta, err := openJudge(body)
	if err != nil {
		return nil, nil, JudgeInput{}, fmt.Errorf("pretrain: loading %s: %w; train one with hop pretrain judge", dir, err)
	}
	m, p, err := actor.New(meta.Config, meta.Input.Input, rng.Key{})
	if err == nil {
		err = p.Load(f, "brain/net/")
	}
	if err != nil {
		return nil, nil, JudgeInput{}, fmt.Errorf("pretrain: loading %s: %w", dir, err)
	}
	return m, p, meta.Input, nil
}

// Model returns the network and its weights.
func (j *Judge) Model() (*actor.Model, *nn.Params) { return j.brain.Model, j.brain.Params }
