package pretrain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/model"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/store/runlog"
)

// ResponseConfig says how a response network learns: a network that is told who each
// co-player is, and by PPO learns the best response to teams of bots. A search
// asks it what a state is worth against what the co-players are drawn to be.
type ResponseConfig struct {
	Who    []string     `yaml:"who" doc:"the population: bots, members of a zoo, and self for copies of the network that learn beside it; none: the first two bots of the game, or the zoo, random and self; for a planner with hand-made goals in the order of leaf.partners"`
	Share  float64      `yaml:"share" doc:"share of the episodes in which all co-players are copies of the network, beside those that chance deals, if self is one of who" range:"0..1"`
	Even   bool         `yaml:"even" doc:"all teams are equally likely, but for the order of their members; else half are all of one kind and the others drawn one by one"`
	Net    actor.Config `yaml:"net"`
	PPO    ppo.Config   `yaml:"ppo"`
	Envs   int          `yaml:"envs" doc:"copies of the game played side by side" range:"1..65536"`
	Window int          `yaml:"window" doc:"steps of every copy between two updates; 0: an episode" unit:"steps" range:"0..4096"`
	Steps  int          `yaml:"steps" doc:"length of the run in steps of a single copy, summed over copies" unit:"env steps" range:"1.."`
	Save   int          `yaml:"save" doc:"windows between checkpoints" range:"1.."`
}

// DefaultResponse returns the settings of docs/planning.md.
func DefaultResponse() ResponseConfig {
	c := ResponseConfig{Share: 0.5, Net: actor.Default(), PPO: ppo.Default(), Envs: 256, Steps: 3_000_000, Save: 40}
	c.Net.Turn, c.Net.Unordered = true, true
	c.Net.Separate, c.PPO.LREnd, c.PPO.Entropy, c.PPO.EntropyEnd = true, 1e-4, 0.03, 1e-3
	return c
}

// For returns the settings for a game: the population and the window where none are named, and
// boards turned where they can be.
func (c ResponseConfig) For(g game.Game) ResponseConfig {
	spec := g.Spec()
	if c.Window == 0 {
		c.Window = min(spec.Horizon+1, 4096)
	}
	c.Net = c.Net.For(frame.Layout(spec.Obs), spec.Seats, spec.Horizon, spec.Actions)
	if len(c.Who) == 0 {
		c.Who = usual(g)
	}
	return c
}

// usual is the population where none is named: the first two bots, random and copies.
func usual(g game.Game) (who []string) {
	for _, b := range g.Bots() {
		if b.Name != "random" && len(who) < 2 {
			who = append(who, b.Name)
		}
	}
	return append(who, "random", Self)
}

// Validate returns everything that is wrong, joined.
func (c ResponseConfig) Validate() error {
	errs := []error{config.Check(c), config.At(c.Net.Validate(), "net", nil), config.At(c.PPO.Validate(), "ppo", nil)}
	if len(c.Who) == 1 {
		errs = append(errs, config.Bad("who", c.Who, "at least two"))
	}
	if c.Net.LSTM > 0 {
		errs = append(errs, config.Bad("net.lstm", c.Net.LSTM, "0, because a search asks about single states"))
	}
	return errors.Join(errs...)
}

// ResponseInput is what a response network reads.
type ResponseInput struct {
	actor.Input
	Seats int
	Who   []string
	Scale float64 // of rewards in its values
	Share float64 // of episodes in which all others were copies of it
}

// Met returns how often a co-player was of each kind: a share of episodes is dealt to
// copies alone, all else evenly.
func (in ResponseInput) Met() []float64 {
	met := make([]float64, len(in.Who))
	for k, name := range in.Who {
		met[k] = 1 / float64(len(in.Who))
		if slices.Contains(in.Who, Self) {
			met[k] *= 1 - in.Share
		}
		if name == Self {
			met[k] += in.Share
		}
	}
	return met
}

// Bare returns what it reads of an observation alone.
func (in ResponseInput) Bare() frame.Input {
	bare := in.Input.Input
	bare.Extra = 0
	return bare
}

// Response is the training of a response network. Agent 0 learns; in each episode the others
// are bots, drawn anew.
type Response struct {
	Config ResponseConfig
	Game   game.Game
	Key    rng.Key
	Brain  *ppo.Brain
	Past   []ResponsePast // by window
	Cores  *cores.Pool    // whose workers it learns with, open while it runs; nil: as many of its own as it plays with

	members Members // nil: all but oneself are bots
	teams   *teamDealer
	envs    *rollout.Envs
	ro      *batch.Rollout
	play    [][]rollout.Player // [worker][A]

	step, update int
}

// ResponsePast is what the curve of a run shows of a window.
type ResponsePast struct {
	Step          int
	Return        float64
	Policy, Value float64 // losses
}

// NewResponse prepares a run at its start, with members that may be nil. workers 0: one a
// core.
func NewResponse(cfg ResponseConfig, g game.Game, seed uint64, workers int, members Members) (*Response, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	spec := g.Spec()
	if spec.Seats < 2 {
		return nil, fmt.Errorf("pretrain: %s has no co-players to answer; choose a game of several agents", spec.Name)
	}
	r := &Response{Config: cfg, Game: g, Key: rng.New(seed), members: members}
	var err error
	if r.envs, err = rollout.New(rollout.Config{Game: g, Envs: cfg.Envs, Key: r.Key.Child("envs"), Workers: workers}); err != nil {
		return nil, err
	}
	in := responseInput(spec, cfg)
	who := learners(cfg.Who, spec.Seats)
	shards := ppo.Shards(cfg.PPO, cfg.Net, 1)
	if r.Brain, err = ppo.New(cfg.PPO, cfg.Net, in.Input, who, shards, r.Key.Child("brain")); err != nil {
		return nil, fmt.Errorf("pretrain: a response network for this game: %w", err)
	}
	r.Brain.Remember(cfg.Envs, cfg.Window)
	r.ro = batch.New(r.envs.Shape(cfg.Window, in.Extra))
	r.teams = newTeamDealer(spec.Seats, cfg.Envs, cfg.Who, r.Key.Child("cast")) // the name is part of the numbers
	r.teams.share = cfg.Share
	if cfg.Even {
		r.teams.even = Teams(spec.Seats, len(cfg.Who))
	}
	r.play, err = r.teams.players(g, cfg.Who, r.envs.Workers, cfg.Envs, members,
		func(a agent.ID) rollout.Player { return r.Brain.Player(a, cfg.Envs) })
	return r, err
}

// Self names the kind of co-players that are copies of the learner.
const Self = "self"

// learners returns the agents that the network learns from: the first, and with
// copies of itself all of them.
func learners(who []string, seats int) []agent.ID {
	list := []agent.ID{0}
	for a := 1; a < seats && slices.Contains(who, Self); a++ {
		list = append(list, agent.ID(a))
	}
	return list
}

// responseInput says what a response network reads of a game: an observation, and who the
// others are, one-hot by place after oneself, zero for those who have left.
func responseInput(spec game.Spec, cfg ResponseConfig) ResponseInput {
	layout := frame.Layout(spec.Obs)
	in := actor.Input{Input: layout.Input(), Actions: len(spec.Actions)}
	in.Extra = (spec.Seats - 1) * len(cfg.Who)
	in.Sense = cfg.Net.SenseOf(layout, spec.Seats, spec.Horizon, spec.Actions)
	return ResponseInput{in, spec.Seats, cfg.Who, cfg.PPO.RewardScale, cfg.Share}
}

// ResponseProgress is what a run says after each window.
type ResponseProgress struct {
	Step, Steps int
	Episodes    int     // that ended in the window
	Return      float64 // the learner's mean over them
	Stats       []agent.Stat
}

// Use is Training.Use.
func (r *Response) Use(pool *cores.Pool) { r.Cores = pool }

// Run learns until the run's length is reached or ctx ends, in which case it
// saves and returns ctx's error.
func (r *Response) Run(ctx context.Context, run *runlog.Run, watch func(ResponseProgress)) error {
	pool, end := pooled(r.Cores, r.envs.Workers)
	defer end()
	r.envs.Cores = pool
	defer func() { r.envs.Cores = nil }()
	rewards := learner.Rewards{Scale: r.Config.PPO.RewardScale, Gamma: r.Config.PPO.Gamma}
	for r.step < r.Config.Steps {
		if ctx.Err() != nil {
			return errors.Join(r.checkpoint(run), ctx.Err())
		}
		if err := r.envs.Collect(r.ro, r.play); err != nil {
			return err
		}
		share := float64(r.step) / float64(r.Config.Steps)
		r.step += r.Config.Envs * r.Config.Window
		r.update++
		stats, err := r.Brain.Learn(&learner.Window{Rollout: r.ro, Rewards: rewards, Share: share, Cores: pool})
		if err != nil {
			return fmt.Errorf("pretrain: the response network at step %d: %w; lower ppo.lr", r.step, err)
		}
		p := ResponseProgress{Step: min(r.step, r.Config.Steps), Steps: r.Config.Steps, Stats: stats}
		for _, ep := range r.envs.Episodes() {
			p.Episodes++
			p.Return += (ep.Return[0] - p.Return) / float64(p.Episodes)
		}
		if err := run.Log(r.rows(p)); err != nil {
			return err
		}
		if watch != nil {
			watch(p)
		}
		if r.update%r.Config.Save == 0 || r.step >= r.Config.Steps {
			if err := r.checkpoint(run); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Response) rows(p ResponseProgress) []runlog.Row {
	rows := []runlog.Row{{Step: int64(r.step), Name: "response/return", Agent: -1, Value: p.Return, N: p.Episodes}}
	at := ResponsePast{Step: r.step, Return: p.Return}
	for _, s := range p.Stats {
		rows = append(rows, runlog.Row{Step: int64(r.step), Name: strings.Replace(s.Name, "ppo/", "response/", 1), Agent: -1, Value: s.Value,
			N: s.N})
		switch s.Name {
		case "ppo/value_loss":
			at.Value = s.Value
		case "ppo/policy_loss":
			at.Policy = s.Value
		}
	}
	r.Past = append(r.Past, at)
	return rows
}

// responseMeta is what a checkpoint says about its model.
type responseMeta struct {
	Config actor.Config
	Input  ResponseInput
	Step   int
	Update int
	Past   []ResponsePast
}

// checkpoint writes everything that is needed to go on, and to use the weights.
func (r *Response) checkpoint(run *runlog.Run) error {
	meta, err := json.Marshal(responseMeta{r.Config.Net, responseInput(r.Game.Spec(), r.Config), r.step, r.update, r.Past})
	if err != nil {
		return err
	}
	f := &safetensors.File{Meta: map[string]string{"response": string(meta)}}
	if err := r.Brain.Save(f, "brain/"); err != nil {
		return err
	}
	envs, err := r.envs.AppendBinary(nil)
	if err != nil {
		return err
	}
	f.PutBytes("envs", envs)
	if err := r.teams.save(f); err != nil {
		return err
	}
	body, err := f.AppendBinary(nil)
	if err != nil {
		return err
	}
	return run.Checkpoint(int64(r.step), body, float64(r.step), runlog.Keep{Last: 2})
}

// Resume goes back to a checkpoint of the same run.
func (r *Response) Resume(body []byte, _ int64) error {
	f, meta, err := openResponse(body)
	var envs []byte
	if err == nil {
		err = r.Brain.Load(f, "brain/")
	}
	if err == nil {
		envs, err = f.Bytes("envs")
	}
	if err == nil {
		err = r.envs.UnmarshalBinary(envs)
	}
	if err == nil {
		err = r.teams.load(f)
	}
	if err != nil {
		return fmt.Errorf("pretrain: resuming the response network: %w", err)
	}
	r.step, r.update, r.Past = meta.Step, meta.Update, meta.Past
	return nil
}

func openResponse(body []byte) (*safetensors.File, responseMeta, error) {
	var m responseMeta
	f, err := safetensors.Parse(body)
	if err != nil {
		return nil, m, err
	}
	if err := json.Unmarshal([]byte(f.Meta["response"]), &m); err != nil {
		return nil, m, fmt.Errorf("the checkpoint is not one of hop pretrain response: %w", err)
	}
	return f, m, nil
}

// LoadResponse makes the response network of a run's folder.
func LoadResponse(runs *runlog.Reader, dir string) (*actor.Model, *nn.Params, ResponseInput, error) {
	last, err := runs.Last(dir)
	if err != nil {
		return nil, nil, ResponseInput{}, err
	}
	f, meta, err := openResponse(last.Body)
	if err != nil {
		return nil, nil, ResponseInput{}, fmt.Errorf("pretrain: loading %s: %w; train one with hop pretrain response", dir, err)
	}
	m, p, err := model.Fill(f, "brain/net/", meta.Config, meta.Input.Input, actor.Layers)
	if err != nil {
		return nil, nil, ResponseInput{}, fmt.Errorf("pretrain: loading %s: %w", dir, err)
	}
	return m, p, meta.Input, nil
}

// Against makes lanes copies of the game in which the network meets one team, given
// as the kind of each agent; the learner's own, the first, is not used.
func (r *Response) Against(team []int8, lanes int, key rng.Key) (*rollout.Envs, [][]rollout.Player, error) {
	envs, err := rollout.New(rollout.Config{Game: r.Game, Envs: lanes, Key: key, Workers: r.envs.Workers})
	if err != nil {
		return nil, nil, err
	}
	teams := newTeamDealer(len(team), lanes, r.Config.Who, key)
	teams.fixed = team
	players, err := teams.players(r.Game, r.Config.Who, envs.Workers, lanes, r.members, func(agent.ID) rollout.Player {
		return ppo.NewPlayer(r.Brain.Model, r.Brain.Params, lanes, nil, 1)
	})
	return envs, players, err
}
