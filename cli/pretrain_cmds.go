package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"hop/agent"
	"hop/card"
	"hop/game"
	"hop/internal/cpu"
	"hop/model/vae"
	"hop/model/world"
	"hop/pretrain"
	"hop/pretrain/score"
	"hop/rng"
	"hop/runlog"
)

type pretrainMOACmd struct {
	Data      string   `help:"Folder of a dataset." required:"" type:"path" placeholder:"DIR"`
	Condition string   `help:"${moa_condition}" enum:"none,goal,type" default:"none"`
	History   bool     `help:"Remember the agent's steps so far (a GRU; model.history=64)."`
	Net       string   `help:"dense, or conv: HOP's net." enum:"dense,conv" default:"dense"`
	Beside    string   `help:"Run whose agents' own models of each other are scored on the same rows." type:"path" placeholder:"RUN"`
	Epochs    int      `help:"Passes over the data at most." default:"10"`
	Set       []string `help:"Set a field, such as learning.lr=1e-3 or model.hidden=[64,64]; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	pretrainFlags
}

func (c pretrainMOACmd) Run(a *app) error {
	data, g, err := openData(a, c.Data)
	if err != nil {
		return err
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
		return err
	}
	t, err := pretrain.NewMOA(cfg, data[0], c.Seed)
	if err != nil {
		return err
	}
	settings := map[string]any{"data": c.Data, "moa": cfg}
	return learnRows(a, c.pretrainFlags, "moa", settings, t, func(done *pretrained) (any, *card.Card, error) {
		got, report, err := score.MOA(t, g)
		if err == nil && c.Beside != "" {
			err = c.beside(a, t, got, report)
		}
		return struct {
			*pretrained
			*score.MOAScore
			EpochCPU float64 `json:"epoch_cpu_s"` // processor time of an epoch, scoring the held-out rows included
		}{done, got, done.CPU / float64(max(done.epochs, 1))}, report, err
	})
}

// beside scores the models that another run's agents have of each other.
func (c pretrainMOACmd) beside(a *app, t *pretrain.MOA, got *score.MOAScore, report *card.Card) error {
	saved, err := a.reg.Open(c.Beside, nil)
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
	score.Beside(t, beside, got, report)
	return nil
}

type pretrainVAECmd struct {
	Data     string   `help:"Folder of a dataset." required:"" type:"path" placeholder:"DIR"`
	Loss     string   `help:"a: rebuild the state; b: help to predict the agent's action." enum:"a,b" default:"a"`
	Dim      int      `help:"Dimensions of z." default:"16"`
	Discrete int      `help:"Classes of a discrete goal in place of a continuous z; 0: continuous." default:"0"`
	Set      []string `help:"Set a field, such as epochs=30 or model.hidden=[512,256]; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	pretrainFlags
}

func (c pretrainVAECmd) Run(a *app) error {
	cfg := pretrain.DefaultVAE(c.Loss)
	cfg.Model.Dim, cfg.Model.Discrete = c.Dim, c.Discrete
	if err := configure(&cfg, c.Set); err != nil {
		return err
	}
	data, _, err := openData(a, c.Data)
	if err != nil {
		return err
	}
	v, err := pretrain.NewVAE(cfg, data[0], c.Seed)
	if err != nil {
		return err
	}
	settings := map[string]any{"data": c.Data, "vae": cfg}
	return learnRows(a, c.pretrainFlags, "vae", settings, v, func(done *pretrained) (any, *card.Card, error) {
		got, report, err := score.VAE(v)
		return struct {
			*pretrained
			Loss string `json:"loss"`
			*score.VAEScore
		}{done, cfg.Model.Loss, got}, report, err
	})
}

type pretrainCVAECmd struct {
	Data     string   `help:"Folder of a dataset." required:"" type:"path" placeholder:"DIR"`
	VAE      string   `name:"vae" help:"Run of hop pretrain vae whose codes are the subgoals." required:"" type:"path" placeholder:"RUN"`
	Selector string   `help:"${cvae_selector}" enum:"optimistic,conservative" default:"optimistic"`
	Gate     int      `help:"${cvae_gate}" default:"-1"`
	Set      []string `help:"Set a field, such as epochs=20 or model.gru=64; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	pretrainFlags
}

func (c pretrainCVAECmd) Run(a *app) error {
	codes, weights, err := vae.Load(c.VAE)
	if err != nil {
		return err
	}
	cfg := pretrain.DefaultCVAE()
	cfg.Selector, cfg.Gate = c.Selector, c.Gate
	if err := configure(&cfg, append(c.Set, fmt.Sprintf("model.dim=%d", codes.Width()))); err != nil {
		return err
	}
	data, g, err := openData(a, c.Data)
	if err != nil {
		return err
	}
	v, err := pretrain.NewCVAE(cfg, data[0], codes, weights, c.Seed)
	if err != nil {
		return err
	}
	settings := map[string]any{"data": c.Data, "vae": c.VAE, "cvae": cfg}
	return learnRows(a, c.pretrainFlags, "cvae", settings, v, func(done *pretrained) (any, *card.Card, error) {
		got, report, err := score.CVAE(v, g)
		return struct {
			*pretrained
			VAE string `json:"vae"`
			*score.CVAEScore
		}{done, c.VAE, got}, report, err
	})
}

type pretrainResponseCmd struct {
	gameFlags
	Episodes int `help:"Fresh episodes of every team to score it by." default:"500"`
	Workers  int `help:"Cores to use; 0: all. Numbers do not depend on it." default:"0"`
	pretrainFlags
}

func (c pretrainResponseCmd) Run(a *app) error {
	cfg := pretrain.DefaultResponse()
	var own []string
	all := c.Set
	c.Set = nil
	for _, s := range all {
		if strings.HasPrefix(s, "game.") {
			c.Set = append(c.Set, s)
		} else {
			own = append(own, s)
		}
	}
	if err := configure(&cfg, own); err != nil {
		return err
	}
	g, params, err := c.build(a)
	if err != nil {
		return err
	}
	played, err := params.Map()
	if err != nil {
		return err
	}
	r, err := pretrain.NewResponse(cfg, g, c.Seed, c.Workers)
	if err != nil {
		return err
	}
	show := func(p pretrain.ResponseProgress, _ *pretrained, _ *runlog.Run, bar *progress) {
		bar.update(p.Step, p.Steps)
	}
	settings := map[string]any{"game": played, "response": cfg}
	return learn(a, c.pretrainFlags, "response", settings, "steps", r, show, func(done *pretrained) (any, *card.Card, error) {
		got, report, err := score.Response(r, c.Episodes)
		return struct {
			*pretrained
			*score.ResponseScore
		}{done, got}, report, err
	})
}

type pretrainWorldCmd struct {
	Data    []string `help:"Folder of a dataset; repeatable, all of one game." required:"" sep:"none" type:"path" placeholder:"DIR"`
	Variant string   `help:"heads: a distribution for everything; planes: the notes' plane regression." enum:"heads,planes" default:"heads"`
	Set     []string `help:"Set a field, such as epochs=20 or model.hidden=[64,64]; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	Probe   int      `help:"Steps of new episodes, by teams of all bots, to look for illegal transitions in." default:"100000"`
	Plays   int      `help:"Random plays to follow open loop." default:"1000"`
	Beside  string   `help:"Folder of another world model, shown beside this one in one picture." type:"path" placeholder:"RUN"`
	Fault   string   `hidden:"" enum:"none,seat_order,no_end,mean_pool" default:"none"`
	pretrainFlags
}

// worldJSON is the promise of the command.
type worldJSON struct {
	*pretrained
	Variant string `json:"variant"`
	Fault   string `json:"fault,omitempty"`
	*score.WorldScore
	OpenLoop []float64         `json:"open_loop"`
	Probe    *score.WorldScore `json:"probe"`
	Rows     map[string]int    `json:"split"`
	Weights  int               `json:"weights"`
	Epochs   int               `json:"epochs"`
	Scoring  float64           `json:"score_s"` // of the clock
}

func (c pretrainWorldCmd) Run(a *app) error {
	cfg := pretrain.DefaultWorld()
	cfg.Model.Variant, cfg.Model.Fault = c.Variant, c.Fault
	if err := configure(&cfg, c.Set); err != nil {
		return err
	}
	data, g, err := openData(a, c.Data...)
	if err != nil {
		return err
	}
	w, err := pretrain.NewWorld(cfg, data, c.Seed)
	if err != nil {
		return err
	}
	settings := map[string]any{"data": c.Data, "world": cfg}
	return learnRows(a, c.pretrainFlags, "world", settings, w, func(done *pretrained) (any, *card.Card, error) {
		watch := cpu.Start()
		key := rng.New(c.Seed).Child("judge") // the name is part of the numbers
		out := worldJSON{
			pretrained: done, Variant: cfg.Model.Variant, WorldScore: score.World(w), Weights: w.Net.Len(), Rows: map[string]int{}, Epochs: w.Epoch,
			Probe:    score.ProbeWorld(w.Model, w.Net, g, c.Probe, key),
			OpenLoop: score.OpenLoop(w.Model, w.Net, g, c.Plays, 15, key),
		}
		if cfg.Model.Fault != "none" {
			out.Fault = cfg.Model.Fault
		}
		for part, name := range []string{"learn", "choose", "score"} {
			out.Rows[name] = len(w.Parts[part])
		}
		report, err := c.card(w, &out, g)
		_, out.Scoring = watch.Spent()
		return out, report, err
	})
}

// card fills the model's card.
func (c pretrainWorldCmd) card(w *pretrain.World, out *worldJSON, g game.Game) (*card.Card, error) {
	j := score.WorldScores{Held: out.WorldScore, Probe: out.Probe, OpenLoop: out.OpenLoop, Planes: g.Spec().Obs.Planes,
		Short: score.ShortWorld(w)}
	if c.Beside != "" {
		m, p, err := world.Load(c.Beside)
		if err != nil {
			return nil, err
		}
		j.Beside = score.BesideWorld(m, p, out.Probe)
		j.BesideName = fmt.Sprintf("%s (%s)", m.Variant, filepath.Base(c.Beside))
	}
	return score.WorldCard(w.Model, w.Model.Describe(w.Net), j)
}
