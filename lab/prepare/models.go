package prepare

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/rules"
	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/model/cvae"
	"github.com/hop-marl/hop/model/sequence"
	"github.com/hop-marl/hop/model/vae"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/cpu"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/card"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train/pretrain"
	"github.com/hop-marl/hop/train/pretrain/score"
	"github.com/hop-marl/hop/train/pretrain/score/chance"
	"github.com/hop-marl/hop/train/pretrain/score/lives"
)

// MOA asks for a model of what others do next.
type MOA struct {
	Data      string   `help:"Folder of a dataset." required:"" type:"path" placeholder:"DIR"`
	Condition string   `help:"@moa_condition" enum:"none,goal,type,kind" default:"none"`
	CVAE      string   `name:"cvae" help:"Folder of hop pretrain cvae, the inference of goals; for --condition kind." type:"path" placeholder:"RUN"`
	History   bool     `help:"Remember the agent's steps so far (a GRU; model.history=64)."`
	Net       string   `help:"dense, or conv: the convolutions of HOP's paper." enum:"dense,conv" default:"dense"`
	Beside    string   `help:"Run whose agents' own models of each other are scored on the same rows." type:"path" placeholder:"RUN"`
	Epochs    int      `help:"Passes over the data at most." default:"10"`
	Set       []string `help:"Set a field, such as learning.lr=1e-3 or model.hidden=[64,64]; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	Common
}

// MOAResult is what it comes to.
type MOAResult struct {
	*Learnt
	*score.MOAScore
	EpochCPU float64 `json:"epoch_cpu_s"` // processor time of an epoch, scoring the held-out rows included
}

// Do trains and scores it.
func (c MOA) Do(ctx context.Context, l *lab.Lab) (*MOAResult, error) {
	data, g, err := openData(l, c.Data)
	if err != nil {
		return nil, err
	}
	cfg := pretrain.DefaultMOA(data[0].Layout)
	cfg.Condition, cfg.Epochs, cfg.Model.Net = c.Condition, c.Epochs, c.Net
	if c.Net == "conv" {
		cfg.Model.Frame = "board"
	}
	if c.History {
		cfg.Model.History = 64
	}
	if err := configure(&cfg, c.Set); err != nil {
		return nil, err
	}
	settings := map[string]any{"data": contents(data), "moa": cfg}
	var infer *pretrain.Inferring
	if c.CVAE != "" {
		im, ip, err := cvae.Load(l.Reg.Runs, c.CVAE)
		if err != nil {
			return nil, lab.Wrong(err, "--cvae", c.CVAE)
		}
		infer = &pretrain.Inferring{Model: im, Params: ip}
		settings["cvae"] = weighed(im.Config, ip)
	}
	m, err := pretrain.NewMOA(cfg, data[0], infer, c.Seed)
	if err != nil {
		return nil, err
	}
	out := &MOAResult{}
	out.Learnt, err = training[pretrain.Progress]{
		lab: l, kind: "moa", settings: settings, model: m, unit: "rows", watch: rows,
		score: func() (report *card.Card, err error) {
			out.MOAScore, report, err = score.MOA(ctx, m, g)
			if err == nil && c.Beside != "" {
				err = c.beside(l, m, out.MOAScore, report)
			}
			return report, err
		},
	}.learn(ctx, c.Common)
	if err != nil {
		return nil, err
	}
	out.EpochCPU = out.CPU / float64(max(out.epochs, 1))
	return out, nil
}

// beside scores the models that another run's agents have of each other.
func (c MOA) beside(l *lab.Lab, m *pretrain.MOA, got *score.MOAScore, report *card.Card) error {
	saved, err := l.Reg.Open(c.Beside, nil)
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

// Sequence asks for a model that reads whole lives.
type Sequence struct {
	Data    string   `help:"Folder of a dataset of lives (hop collect --life)." required:"" type:"path" placeholder:"DIR"`
	History string   `help:"What reads the steps so far: attention (a transformer), gru, or none." enum:"attention,gru,none" default:"attention"`
	Forget  bool     `help:"Begin anew with every episode (model.across=false)."`
	Beside  []string `help:"Folder of another hop pretrain sequence, scored on the same lives; repeatable." sep:"none" type:"path" placeholder:"RUN"`
	Set     []string `help:"Set a field, such as epochs=20 or model.width=32; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	Common
}

// SequenceResult is what it comes to.
type SequenceResult struct {
	*Learnt
	*lives.Score
}

// Do trains and scores it.
func (c Sequence) Do(ctx context.Context, l *lab.Lab) (*SequenceResult, error) {
	data, g, err := openData(l, c.Data)
	if err != nil {
		return nil, err
	}
	cfg := pretrain.DefaultSequence(data[0].Layout)
	cfg.Model.History, cfg.Model.Across = c.History, !c.Forget
	if err := configure(&cfg, c.Set); err != nil {
		return nil, err
	}
	var beside []lives.Beside
	for _, dir := range c.Beside {
		m, p, err := sequence.Load(l.Reg.Runs, dir)
		if err != nil {
			return nil, lab.Wrong(err, "--beside", dir)
		}
		beside = append(beside, lives.Beside{Name: lives.Name(m), Model: m, Params: p})
	}
	m, err := pretrain.NewSequence(cfg, data[0], c.Seed)
	if err != nil {
		return nil, err
	}
	out := &SequenceResult{}
	out.Learnt, err = training[pretrain.Progress]{
		lab: l, kind: "sequence", settings: map[string]any{"data": contents(data), "sequence": cfg}, model: m, unit: "rows", watch: rows,
		score: func() (report *card.Card, err error) {
			out.Score, report, err = lives.Of(m, g, beside)
			return report, err
		},
	}.learn(ctx, c.Common)
	return out, err
}

// VAE asks for codes of states.
type VAE struct {
	Data     string   `help:"Folder of a dataset." required:"" type:"path" placeholder:"DIR"`
	Loss     string   `help:"a: rebuild the state; b: help to predict the agent's action." enum:"a,b" default:"a"`
	Dim      int      `help:"Dimensions of z." default:"16"`
	Discrete int      `help:"Classes of a discrete goal in place of a continuous z; 0: continuous." default:"0"`
	Set      []string `help:"Set a field, such as epochs=30 or model.hidden=[512,256]; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	Common
}

// VAEResult is what they come to.
type VAEResult struct {
	*Learnt
	Loss string `json:"loss"`
	*score.VAEScore
}

// Do trains and scores them.
func (c VAE) Do(ctx context.Context, l *lab.Lab) (*VAEResult, error) {
	cfg := pretrain.DefaultVAE(c.Loss)
	cfg.Model.Dim, cfg.Model.Discrete = c.Dim, c.Discrete
	if err := configure(&cfg, c.Set); err != nil {
		return nil, err
	}
	data, _, err := openData(l, c.Data)
	if err != nil {
		return nil, err
	}
	v, err := pretrain.NewVAE(cfg, data[0], c.Seed)
	if err != nil {
		return nil, err
	}
	out := &VAEResult{Loss: cfg.Model.Loss}
	out.Learnt, err = training[pretrain.Progress]{
		lab: l, kind: "vae", settings: map[string]any{"data": contents(data), "vae": cfg}, model: v, unit: "rows", watch: rows,
		score: func() (report *card.Card, err error) {
			out.VAEScore, report, err = score.VAE(ctx, v)
			return report, err
		},
	}.learn(ctx, c.Common)
	return out, err
}

// CVAE asks for the inference of subgoals from history.
type CVAE struct {
	Data     string   `help:"Folder of a dataset." required:"" type:"path" placeholder:"DIR"`
	VAE      string   `name:"vae" help:"Run of hop pretrain vae whose codes are the subgoals." required:"" type:"path" placeholder:"RUN"`
	Selector string   `help:"@cvae_selector" enum:"optimistic,conservative" default:"optimistic"`
	Gate     int      `help:"@cvae_gate" default:"-1"`
	Set      []string `help:"Set a field, such as epochs=20 or model.gru=64; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	Common
}

// CVAEResult is what it comes to.
type CVAEResult struct {
	*Learnt
	VAE string `json:"vae"`
	*score.CVAEScore
}

// Do trains and scores it.
func (c CVAE) Do(ctx context.Context, l *lab.Lab) (*CVAEResult, error) {
	codes, weights, err := vae.Load(l.Reg.Runs, c.VAE)
	if err != nil {
		return nil, fmt.Errorf("--vae %s: %w", c.VAE, err)
	}
	cfg := pretrain.DefaultCVAE()
	cfg.Selector, cfg.Gate = c.Selector, c.Gate
	same := []string{fmt.Sprintf("model.dim=%d", codes.Width()), fmt.Sprintf("model.classes=%d", codes.Discrete)}
	if err := configure(&cfg, append(c.Set, same...)); err != nil {
		return nil, err
	}
	data, g, err := openData(l, c.Data)
	if err != nil {
		return nil, err
	}
	v, err := pretrain.NewCVAE(cfg, data[0], codes, weights, c.Seed)
	if err != nil {
		return nil, err
	}
	out := &CVAEResult{VAE: c.VAE}
	out.Learnt, err = training[pretrain.Progress]{
		lab: l, kind: "cvae", model: v, unit: "rows", watch: rows,
		settings: map[string]any{"data": contents(data), "vae": weighed(codes.Config, weights), "cvae": cfg},
		score: func() (report *card.Card, err error) {
			out.CVAEScore, report, err = score.CVAE(ctx, v, g)
			return report, err
		},
	}.learn(ctx, c.Common)
	return out, err
}

// Response asks for a response network.
type Response struct {
	lab.PythonEnv
	Game     string   `help:"Name of the game (hop list games)." default:"staghunt"`
	Set      []string `help:"Set a field, such as game.size=8 or steps=3000000; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	Zoo      string   `help:"Folder of a zoo (hop zoo train): the co-players are its members that are not held out, then random and copies of the network, unless who says otherwise." type:"path" placeholder:"DIR"`
	Episodes int      `help:"Fresh episodes of every team to score it by." default:"500"`
	Workers  int      `help:"Cores to use; 0: all. Numbers do not depend on it." default:"0"`
	Common
}

// ResponseResult is what it comes to.
type ResponseResult struct {
	*Learnt
	*score.ResponseScore
}

// Do trains and scores it.
func (c Response) Do(ctx context.Context, l *lab.Lab) (*ResponseResult, error) {
	if c.Episodes < 1 {
		return nil, lab.Misused("--episodes %d: want at least 1", c.Episodes)
	}
	var own, ofGame []string
	for _, s := range c.Set {
		if strings.HasPrefix(s, "game.") {
			ofGame = append(ofGame, s)
		} else {
			own = append(own, s)
		}
	}
	g, params, err := l.NewGame(c.Named(c.Game, ofGame))
	if err != nil {
		return nil, err
	}
	cfg := pretrain.DefaultResponse(g)
	played, err := params.Map()
	if err != nil {
		return nil, err
	}
	settings := map[string]any{"game": played}
	var members pretrain.Members
	var zoo *lab.Population
	if c.Zoo != "" {
		if zoo, err = l.Population(c.Zoo, g, played); err != nil {
			return nil, err
		}
		cfg.Who, members = append(slices.Clone(zoo.Names), "random", pretrain.Self), zoo.Players
	}
	if err := configure(&cfg, own); err != nil {
		return nil, err
	}
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
	out.Learnt, err = training[pretrain.ResponseProgress]{
		lab: l, kind: "response", settings: settings, model: r, unit: "steps",
		watch: func(p pretrain.ResponseProgress, _ *Learnt, _ *runlog.Run) (at, of int) { return p.Step, p.Steps },
		score: func() (report *card.Card, err error) {
			out.ResponseScore, report, err = score.Response(ctx, r, c.Episodes, c.Workers)
			return report, err
		},
	}.learn(ctx, c.Common)
	return out, err
}

// learntKinds returns the kinds of co-players that are no bots of the game, nor copies.
func learntKinds(g game.Game, who []string) []string {
	return slices.DeleteFunc(slices.Clone(who), func(name string) bool {
		_, err := game.NewBot(g, name)
		return err == nil || name == pretrain.Self
	})
}

// World asks for a model of the rules.
type World struct {
	Data    []string `help:"Folder of a dataset; repeatable, all of one game." required:"" sep:"none" type:"path" placeholder:"DIR"`
	Variant string   `help:"heads: a distribution for everything; planes: one number for each cell of the next observation." enum:"heads,planes" default:"heads"`
	Set     []string `help:"Set a field, such as epochs=20 or model.hidden=[64,64]; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	Probe   int      `help:"Steps of new episodes, by teams of all bots, to look for illegal transitions in." default:"100000"`
	Plays   int      `help:"Random plays to follow on the model's own predictions, step after step." default:"1000"`
	Beside  string   `help:"Folder of another world model, shown beside this one in one picture." type:"path" placeholder:"RUN"`
	Fault   string   `hidden:"" enum:"none,seat_order,no_end,mean_pool" default:"none"`
	Common
}

// WorldResult is what it comes to.
type WorldResult struct {
	*Learnt
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

// chance returns what scores the model's probabilities.
func (c World) chance(w *pretrain.World, g game.Game, out *WorldResult, key rng.Key) (ask []func()) {
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

// Do trains and scores it.
func (c World) Do(ctx context.Context, l *lab.Lab) (*WorldResult, error) {
	if c.Probe < 1 || c.Plays < 1 {
		return nil, lab.Misused("--probe %d --plays %d: want at least 1 of each", c.Probe, c.Plays)
	}
	cfg := pretrain.DefaultWorld()
	cfg.Model.Variant, cfg.Model.Fault = c.Variant, c.Fault
	if err := configure(&cfg, c.Set); err != nil {
		return nil, err
	}
	data, g, err := openData(l, c.Data...)
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
	out.Learnt, err = training[pretrain.Progress]{
		lab: l, kind: "world", settings: map[string]any{"data": contents(data), "world": cfg}, model: w, unit: "rows", watch: rows,
		score: func() (*card.Card, error) {
			watch := cpu.Start()
			key := rng.New(c.Seed).Child("judge") // the name is part of the numbers
			out.Epochs = w.Epoch
			ask := append(c.chance(w, g, out, key), func() { out.WorldScore = score.World(w) })
			if g != nil {
				ask = append(ask, func() { out.Probe = score.ProbeWorld(w.Model, w.Net, g, c.Probe, key) },
					func() { out.OpenLoop = score.OpenLoop(w.Model, w.Net, g, c.Plays, 15, key) })
			}
			cores.Beside(ctx, ask...)
			for part, name := range []string{"learn", "choose", "score"} {
				out.Rows[name] = len(w.Parts[part])
			}
			report, err := c.card(l, w, out)
			_, out.Scoring = watch.Spent()
			return report, err
		},
	}.learn(ctx, c.Common)
	return out, err
}

// card fills the model's card.
func (c World) card(l *lab.Lab, w *pretrain.World, out *WorldResult) (*card.Card, error) {
	j := score.WorldScores{
		Held: out.WorldScore, Probe: out.Probe, OpenLoop: out.OpenLoop, Planes: w.Data[0].Layout.Planes, Short: score.ShortWorld(w),
	}
	if c.Beside != "" {
		m, p, err := world.Load(l.Reg.Runs, c.Beside)
		if err != nil {
			return nil, err
		}
		seen := out.Probe
		if seen == nil {
			seen = out.WorldScore
		}
		j.Beside = score.BesideWorld(m, p, seen)
		j.BesideName = fmt.Sprintf("%s (%s)", m.Variant, filepath.Base(c.Beside))
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
