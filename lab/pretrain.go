package lab

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/rules"
	"github.com/hop-marl/hop/model/cvae"
	"github.com/hop-marl/hop/model/sequence"
	"github.com/hop-marl/hop/model/vae"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/cpu"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/card"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/prepare"
	"github.com/hop-marl/hop/train/pretrain"
	"github.com/hop-marl/hop/train/pretrain/score"
	"github.com/hop-marl/hop/train/pretrain/score/chance"
	"github.com/hop-marl/hop/train/pretrain/score/lives"
)

// MOAResult is what it comes to.
type MOAResult struct {
	*Model
	*score.MOAScore
	EpochCPU float64 `json:"epoch_cpu_s"` // processor time of an epoch, scoring the held-out rows included
}

// PretrainMOA trains and scores it.
func (l *Lab) PretrainMOA(ctx context.Context, c prepare.MOA, at Site) (*MOAResult, error) {
	data, g, err := l.openData(&c, c.Data)
	if err != nil {
		return nil, err
	}
	cfg := c.For(data[0].Layout)
	settings := map[string]any{"data": contents(data), "moa": cfg}
	var infer *pretrain.Inferring
	if c.CVAE != "" {
		im, ip, err := cvae.Load(l.Reg.Runs, string(c.CVAE))
		if err != nil {
			return nil, Wrong(err, "--cvae", string(c.CVAE))
		}
		infer = &pretrain.Inferring{Model: im, Params: ip}
		settings["cvae"] = weighed(im.Config, ip)
	}
	m, err := pretrain.NewMOA(cfg, data[0], infer, c.Seed)
	if err != nil {
		return nil, err
	}
	out := &MOAResult{}
	out.Model, err = learning[pretrain.Progress]{
		lab: l, seed: c.Seed, kind: "moa", settings: settings, model: m, unit: "rows", watch: rows,
		score: func() (report *card.Card, err error) {
			out.MOAScore, report, err = score.MOA(ctx, m, g)
			if err == nil && c.Beside != "" {
				err = l.scoreBeside(string(c.Beside), m, out.MOAScore, report)
			}
			return report, err
		},
	}.run(ctx, at)
	if err != nil {
		return nil, err
	}
	out.EpochCPU = out.CPU / float64(max(out.epochs, 1))
	return out, nil
}

// scoreBeside scores the models that another run's agents have of each other.
func (l *Lab) scoreBeside(run string, m *pretrain.MOA, got *score.MOAScore, report *card.Card) error {
	saved, err := l.Reg.Open(run, nil)
	if err != nil {
		return err
	}
	agents, err := saved.Predictions()
	if err != nil {
		return err
	}
	beside := map[agent.ID]score.About{}
	for id, f := range agents {
		beside[id] = score.About(f)
	}
	score.Beside(m, beside, got, report)
	return nil
}

// SequenceResult is what it comes to.
type SequenceResult struct {
	*Model
	*lives.Score
}

// PretrainSequence trains and scores it.
func (l *Lab) PretrainSequence(ctx context.Context, c prepare.Sequence, at Site) (*SequenceResult, error) {
	data, g, err := l.openData(&c, c.Data)
	if err != nil {
		return nil, err
	}
	cfg := c.For(data[0].Layout)
	var beside []lives.Beside
	for _, dir := range c.Beside {
		m, p, err := sequence.Load(l.Reg.Runs, string(dir))
		if err != nil {
			return nil, Wrong(err, "--beside", string(dir))
		}
		beside = append(beside, lives.Beside{Name: lives.Name(m), Model: m, Params: p})
	}
	m, err := pretrain.NewSequence(cfg, data[0], c.Seed)
	if err != nil {
		return nil, err
	}
	out := &SequenceResult{}
	out.Model, err = learning[pretrain.Progress]{
		lab: l, seed: c.Seed, kind: "sequence", model: m, unit: "rows", watch: rows,
		settings: map[string]any{"data": contents(data), "sequence": cfg},
		score: func() (report *card.Card, err error) {
			out.Score, report, err = lives.Of(m, g, beside)
			return report, err
		},
	}.run(ctx, at)
	return out, err
}

// VAEResult is what they come to.
type VAEResult struct {
	*Model
	Loss string `json:"loss"`
	*score.VAEScore
}

// PretrainVAE trains and scores them.
func (l *Lab) PretrainVAE(ctx context.Context, c prepare.VAE, at Site) (*VAEResult, error) {
	cfg := c.VAEConfig
	data, _, err := l.openData(&c, c.Data)
	if err != nil {
		return nil, err
	}
	v, err := pretrain.NewVAE(cfg, data[0], c.Seed)
	if err != nil {
		return nil, err
	}
	out := &VAEResult{Loss: cfg.Model.Loss}
	out.Model, err = learning[pretrain.Progress]{
		lab: l, seed: c.Seed, kind: "vae", settings: map[string]any{"data": contents(data), "vae": cfg}, model: v, unit: "rows", watch: rows,
		score: func() (report *card.Card, err error) {
			out.VAEScore, report, err = score.VAE(ctx, v)
			return report, err
		},
	}.run(ctx, at)
	return out, err
}

// CVAEResult is what it comes to.
type CVAEResult struct {
	*Model
	VAE string `json:"vae"`
	*score.CVAEScore
}

// PretrainCVAE trains and scores it.
func (l *Lab) PretrainCVAE(ctx context.Context, c prepare.CVAE, at Site) (*CVAEResult, error) {
	if err := c.Validate(); err != nil {
		return nil, Misuse{err}
	}
	codes, weights, err := vae.Load(l.Reg.Runs, string(c.VAE))
	if err != nil {
		return nil, fmt.Errorf("--vae %s: %w", c.VAE, err)
	}
	c.Model.Dim, c.Model.Classes = codes.Width(), codes.Discrete
	data, g, err := l.openData(&c, c.Data)
	if err != nil {
		return nil, err
	}
	cfg := c.CVAEConfig
	v, err := pretrain.NewCVAE(cfg, data[0], codes, weights, c.Seed)
	if err != nil {
		return nil, err
	}
	out := &CVAEResult{VAE: string(c.VAE)}
	out.Model, err = learning[pretrain.Progress]{
		lab: l, seed: c.Seed, kind: "cvae", model: v, unit: "rows", watch: rows,
		settings: map[string]any{"data": contents(data), "vae": weighed(codes.Config, weights), "cvae": cfg},
		score: func() (report *card.Card, err error) {
			out.CVAEScore, report, err = score.CVAE(ctx, v, g)
			return report, err
		},
	}.run(ctx, at)
	return out, err
}

// ResponseResult is what it comes to.
type ResponseResult struct {
	*Model
	*score.ResponseScore
}

// PretrainResponse trains and scores it.
func (l *Lab) PretrainResponse(ctx context.Context, c prepare.Response, at Site) (*ResponseResult, error) {
	if err := c.Validate(); err != nil {
		return nil, Misuse{err}
	}
	g, err := at.build()
	if err != nil {
		return nil, err
	}
	played, err := at.Game.Map()
	if err != nil {
		return nil, err
	}
	settings, cfg := map[string]any{"game": played}, c.ResponseConfig
	var members pretrain.Members
	var zoo *Population
	if c.Zoo != "" {
		if zoo, err = l.Population(string(c.Zoo), g, played); err != nil {
			return nil, err
		}
		if members = zoo.Players; len(cfg.Who) == 0 {
			cfg.Who = append(slices.Clone(zoo.Names), "random", pretrain.Self)
		}
	}
	cfg = cfg.For(g)
	if zoo != nil {
		if settings["zoo"], err = zoo.Held(learntKinds(g, cfg.Who)); err != nil {
			return nil, err
		}
	}
	r, err := pretrain.NewResponse(cfg, g, c.Seed, c.Workers, members)
	if err != nil {
		return nil, err
	}
	settings["response"] = cfg
	out := &ResponseResult{}
	out.Model, err = learning[pretrain.ResponseProgress]{
		lab: l, seed: c.Seed, kind: "response", settings: settings, model: r, unit: "steps",
		watch: func(p pretrain.ResponseProgress, _ *Model, _ *runlog.Run) (at, of int) { return p.Step, p.Steps },
		score: func() (report *card.Card, err error) {
			out.ResponseScore, report, err = score.Response(ctx, r, c.Episodes, c.Workers)
			return report, err
		},
	}.run(ctx, at)
	return out, err
}

// learntKinds returns the kinds of co-players that are no bots of the game, nor copies.
func learntKinds(g game.Game, who []string) []string {
	return slices.DeleteFunc(slices.Clone(who), func(name string) bool {
		_, err := game.NewBot(g, name)
		return err == nil || name == pretrain.Self
	})
}

// WorldResult is what it comes to.
type WorldResult struct {
	*Model
	Variant string `json:"variant"`
	Fault   string `json:"fault,omitempty"`
	*score.WorldScore
	OpenLoop []float64         `json:"open_loop"`
	Probe    *score.WorldScore `json:"probe"`
	Rows     map[string]int    `json:"split"`
	Weights  int               `json:"weights"`
	Epochs   int               `json:"epochs"`
	Scoring  float64           `json:"score_s"` // of the clock

	Nats     *chance.Score  `json:"nats"`               // what held-out steps cost by the model's probabilities
	NatsNew  *chance.Score  `json:"nats_new"`           // and steps of new episodes
	Rollouts []chance.Drift `json:"rollouts,omitempty"` // episodes drawn from the model, where the rules draw
}

// mostDrawn bounds the episodes that are drawn from a world model to the end.
const mostDrawn = 200

// chances returns what scores the model's probabilities.
func chances(c prepare.World, w *pretrain.World, g game.Game, out *WorldResult, key rng.Key) (ask []func()) {
	var law rules.Draws
	switch {
	case g == nil:
	case g.Spec().Deterministic:
		law = chance.Certain
	default:
		if known, ok := game.As[rules.Chance](g); ok {
			law = known()
		}
		ask = append(ask, func() { out.Rollouts = chance.Rollouts(w.Model, w.Net, g, min(c.Plays, mostDrawn), key) })
	}
	ask = append(ask, func() { out.Nats = chance.Held(w, law) })
	if g != nil {
		ask = append(ask, func() { out.NatsNew = chance.New(w.Model, w.Net, g, law, max(c.Probe/5, 1), key) })
	}
	return ask
}

// PretrainWorld trains and scores it.
func (l *Lab) PretrainWorld(ctx context.Context, c prepare.World, at Site) (*WorldResult, error) {
	cfg := c.WorldConfig
	cfg.Model.Fault = c.Fault
	data, g, err := l.openData(&c, c.Data...)
	if err != nil {
		return nil, err
	}
	w, err := pretrain.NewWorld(cfg, data, c.Seed)
	if err != nil {
		return nil, err
	}
	out := &WorldResult{Variant: cfg.Model.Variant, Weights: w.Net.Len(), Rows: map[string]int{}}
	if cfg.Model.Fault != "none" {
		out.Fault = cfg.Model.Fault
	}
	out.Model, err = learning[pretrain.Progress]{
		lab: l, seed: c.Seed, kind: "world", settings: map[string]any{"data": contents(data), "world": cfg}, model: w, unit: "rows", watch: rows,
		score: func() (*card.Card, error) {
			watch := cpu.Start()
			key := rng.New(c.Seed).Child("judge") // the name is part of the numbers
			out.Epochs = w.Epoch
			ask := append(chances(c, w, g, out, key), func() { out.WorldScore = score.World(w) })
			if g != nil {
				ask = append(ask, func() { out.Probe = score.ProbeWorld(w.Model, w.Net, g, c.Probe, key) },
					func() { out.OpenLoop = score.OpenLoop(w.Model, w.Net, g, c.Plays, 15, key) })
			}
			cores.Beside(ctx, ask...)
			for part, name := range []string{"learn", "choose", "score"} {
				out.Rows[name] = len(w.Parts[part])
			}
			report, err := l.worldCard(c, w, out)
			_, out.Scoring = watch.Spent()
			return report, err
		},
	}.run(ctx, at)
	return out, err
}

// worldCard fills the model's card.
func (l *Lab) worldCard(c prepare.World, w *pretrain.World, out *WorldResult) (*card.Card, error) {
	j := score.WorldScores{
		Held: out.WorldScore, Probe: out.Probe, OpenLoop: out.OpenLoop, Planes: w.Data[0].Layout.Planes, Short: score.ShortWorld(w),
	}
	if c.Beside != "" {
		m, p, err := world.Load(l.Reg.Runs, string(c.Beside))
		if err != nil {
			return nil, err
		}
		seen := out.Probe
		if seen == nil {
			seen = out.WorldScore
		}
		j.Beside = score.BesideWorld(m, p, seen)
		j.BesideName = fmt.Sprintf("%s (%s)", m.Variant, filepath.Base(string(c.Beside)))
	}
	report, err := score.WorldCard(w.Model, w.Model.Describe(w.Net), j)
	if err != nil {
		return nil, err
	}
	if out.Nats != nil {
		out.Nats.Show(report, "held-out steps")
	}
	if out.NatsNew != nil {
		out.NatsNew.Show(report, "new episodes")
	}
	if out.Rollouts != nil {
		chance.ShowRollouts(report, out.Rollouts, min(c.Plays, mostDrawn))
	}
	return report, nil
}
