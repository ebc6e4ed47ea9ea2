package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"hop/card"
	"hop/dataset"
	"hop/f32"
	"hop/game"
	"hop/internal/cpu"
	"hop/model/world"
	"hop/pretrain"
	"hop/pretrain/score"
	"hop/rng"
)

type pretrainWorldCmd struct {
	Data    []string `help:"Folder of a dataset; repeatable, all of one game." required:"" sep:"none" type:"path" placeholder:"DIR"`
	Out     string   `help:"Folder of the run; an interrupted one with the same settings goes on." required:"" type:"path" placeholder:"DIR"`
	Variant string   `help:"heads: a distribution for everything; planes: the notes' plane regression." enum:"heads,planes" default:"heads"`
	Set     []string `help:"Set a field, such as epochs=20 or model.hidden=[64,64]; repeatable." sep:"none" placeholder:"PATH=VALUE"`
	Seed    uint64   `help:"Names all random streams." default:"1"`
	Probe   int      `help:"Steps of new episodes, by teams of all bots, to look for illegal transitions in." default:"100000"`
	Plays   int      `help:"Random plays to follow open loop." default:"1000"`
	Beside  string   `help:"Folder of another world model, shown beside this one in one picture." type:"path" placeholder:"RUN"`
	Fault   string   `hidden:"" enum:"none,seat_order,no_end,mean_pool" default:"none"`
	JSON    bool     `help:"Print one JSON object."`
}

func (pretrainWorldCmd) Help() string {
	return `Examples:

  hop collect --mix ns,nh --rows 25000 --seed 7 --out data/mix
  hop collect --team random --rows 25000 --seed 8 --out data/random
  hop pretrain world --data data/mix --data data/random --out runs/world --json
  hop pretrain world --data data/mix --data data/random --variant planes --out runs/planes

The model is scored on episodes it has not seen; card.html in the run's folder shows every number, which events break, and the worst rows as pictures. docs/world.md explains all of it.`
}

// worldJSON is the promise of the command.
type worldJSON struct {
	Run     string `json:"run"`
	Variant string `json:"variant"`
	Fault   string `json:"fault,omitempty"`
	Verdict string `json:"verdict"`
	*score.WorldScore
	OpenLoop []float64         `json:"open_loop"`
	Probe    *score.WorldScore `json:"probe"`
	Rows     map[string]int    `json:"split"`
	Weights  int               `json:"weights"`
	Epochs   int               `json:"epochs"`
	CPU      float64           `json:"cpu_s"`   // of learning
	Wall     float64           `json:"wall_s"`  // of learning
	Scoring  float64           `json:"score_s"` // of the clock
}

func (c pretrainWorldCmd) Run(a *app) error {
	if err := f32.KernelsErr(); err != nil {
		return err
	}
	cfg, err := c.config()
	if err != nil {
		return err
	}
	data, g, err := openData(a, c.Data)
	if err != nil {
		return err
	}
	w, err := pretrain.NewWorld(cfg, data, c.Seed)
	if err != nil {
		return err
	}
	run, err := openPretrain(c.Out, "world", c.Seed, map[string]any{"data": c.Data, "seed": c.Seed, "world": cfg}, w.Resume)
	if err != nil {
		return err
	}
	defer run.Close()
	out := worldJSON{Run: c.Out, Variant: cfg.Model.Variant, Weights: w.Net.Len(), Rows: map[string]int{}}
	if cfg.Model.Fault != "none" {
		out.Fault = cfg.Model.Fault
	}
	for part, name := range []string{"learn", "choose", "score"} {
		out.Rows[name] = len(w.Parts[part])
	}
	watch := cpu.Start()
	bar := a.progress("rows")
	err = w.Run(a.ctx, run, logEpochs(run, bar))
	bar.end()
	out.CPU, out.Wall = watch.Spent()
	out.Epochs = w.Epoch
	if err != nil {
		return stoppedPretrain(a, run, err)
	}
	watch = cpu.Start()
	key := rng.New(c.Seed).Child("judge") // the name is part of the numbers
	out.WorldScore = score.World(w)
	out.Probe = score.ProbeWorld(w.Model, w.Net, g, c.Probe, key)
	out.OpenLoop = score.OpenLoop(w.Model, w.Net, g, c.Plays, 15, key)
	report, err := c.card(w, &out, g)
	if err != nil {
		return err
	}
	out.Verdict = report.Verdict()
	_, out.Scoring = watch.Spent()
	return finishPretrain(a, run, report, c.JSON, out)
}

// config returns the settings that the flags give.
func (c pretrainWorldCmd) config() (pretrain.WorldConfig, error) {
	cfg := pretrain.DefaultWorld()
	cfg.Model.Variant, cfg.Model.Fault = c.Variant, c.Fault
	if err := setFields(&cfg, c.Set); err != nil {
		return cfg, err
	}
	if err := cfg.Validate(); err != nil {
		return cfg, usageError{err}
	}
	return cfg, nil
}

// openData opens the datasets, which must be of one game, and builds that game.
func openData(a *app, dirs []string) ([]*dataset.Data, game.Game, error) {
	var data []*dataset.Data
	for _, dir := range dirs {
		d, err := dataset.Open(dir)
		if err != nil {
			return nil, nil, err
		}
		data = append(data, d)
	}
	var params map[string]json.RawMessage
	var name, word string
	err := json.Unmarshal(data[0].Game, &params)
	if err == nil {
		err = json.Unmarshal(params["name"], &name)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the game of %s: %w", dirs[0], err)
	}
	made, err := a.reg.NewGame(name)
	if err != nil {
		return nil, nil, err
	}
	delete(params, "name")
	for path, value := range params {
		text := string(value)
		if json.Unmarshal(value, &word) == nil {
			text = word
		}
		if err := made.Set(path, text); err != nil {
			return nil, nil, fmt.Errorf("reading the game of %s: %w", dirs[0], err)
		}
	}
	g, err := made.Build()
	return data, g, err
}

// card fills the model's card.
func (c pretrainWorldCmd) card(w *pretrain.World, out *worldJSON, g game.Game) (*card.Card, error) {
	j := score.WorldScores{Held: out.WorldScore, Probe: out.Probe, OpenLoop: out.OpenLoop, Planes: g.Spec().Obs.Planes}
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
