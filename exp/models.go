package exp

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"hop/field"
	"hop/game"
	"hop/model/cvae"
	"hop/model/moa"
	"hop/model/vae"
	"hop/model/world"
	"hop/nn"
	"hop/pretrain"
	"hop/rng"
	"hop/runlog"
	"hop/safetensors"
	"hop/train"
)

// Models names folders of models that were trained before the run. Their weights
// are copied into the run's checkpoints, so that a run, once it has one, needs
// the folders no more.
type Models struct {
	VAE      string `yaml:"vae" doc:"folder of hop pretrain vae: codes of states, for plan.goals latent and codes; empty: none"`
	CVAE     string `yaml:"cvae" doc:"folder of hop pretrain cvae: codes inferred from history, for plan.goals latent; empty: none"`
	MOA      string `yaml:"moa" doc:"folder of hop pretrain moa with the net of moa.*: where the model of others starts, --condition goal for plan.goals hand, none for none; empty: untrained"`
	World    string `yaml:"world" doc:"folder of hop pretrain world, for plan.dynamics world; empty: none"`
	Response string `yaml:"response" doc:"folder of hop pretrain response, for plan.leaf response; empty: none"`
}

// check says which models are missing.
func (m Models) check(p train.Planning) error {
	if !p.On {
		return nil
	}
	var errs []error
	need := func(path, value, want string, why bool) {
		if why && value == "" {
			errs = append(errs, field.Bad(path, value, want))
		}
	}
	need("vae", m.VAE, "a folder of hop pretrain vae, because plan.goals is "+p.Goals, p.Learnt())
	need("cvae", m.CVAE, "a folder of hop pretrain cvae, because plan.goals is latent", p.Goals == "latent")
	need("world", m.World, "a folder of hop pretrain world, because plan.dynamics is world", p.Dynamics == "world")
	need("response", m.Response, "a folder of hop pretrain response, because plan.leaf is response", p.Leaf == "response")
	if m.MOA != "" && p.Learnt() {
		errs = append(errs, field.Bad("moa", m.MOA, "nothing, because no model of others is pretrained on learnt goals; the run trains its own"))
	}
	return errors.Join(errs...)
}

// Unfilled returns the fields that still hold the name of a stage in braces, such
// as {vae}, in place of a folder.
func (m Models) Unfilled() []string {
	var out []string
	for _, f := range field.List(m) {
		if strings.Contains(f.Default, "{") {
			out = append(out, "models."+f.Path)
		}
	}
	return out
}

// load reads the models that the plan uses. They must have been trained on
// observations like the game's.
func (s *Spec) load(g game.Game) (train.Models, error) {
	var m train.Models
	if !s.Plan.On {
		return m, nil
	}
	if names := s.Models.Unfilled(); len(names) > 0 {
		return m, fmt.Errorf("exp: %s names a stage that has not been run; use hop train, which runs spec.prepare, or give a folder", strings.Join(names, ", "))
	}
	in := input(g.Spec()).Input
	var err error
	if s.Plan.Learnt() {
		if m.VAE, m.Codes, err = vae.Load(s.Models.VAE); err != nil {
			return m, fmt.Errorf("exp: models.vae: %w", err)
		}
		if want := (vae.Input{Input: in, Agents: g.Spec().Seats, Actions: len(g.Spec().Actions)}); m.VAE.Input != want {
			return m, misfit("vae", s.Models.VAE, m.VAE.Input, want)
		}
	}
	if s.Plan.Goals == "latent" {
		if m.CVAE, m.Infer, err = cvae.Load(s.Models.CVAE); err != nil {
			return m, fmt.Errorf("exp: models.cvae: %w", err)
		}
		if want := (cvae.Input{Input: in, Seats: g.Spec().Seats, Actions: len(g.Spec().Actions)}); m.CVAE.Input != want {
			return m, misfit("cvae", s.Models.CVAE, m.CVAE.Input, want)
		}
	}
	if s.Plan.Dynamics == "world" {
		if m.World, m.Steps, err = world.Load(s.Models.World); err != nil {
			return m, fmt.Errorf("exp: models.world: %w", err)
		}
		l, w := g.Spec().Obs, m.World.Input
		want := world.Input{
			Height: l.Height, Width: l.Width, Planes: len(l.Planes), Agents: g.Spec().Seats, Actions: len(g.Spec().Actions), Horizon: g.Spec().Horizon,
			Legal: l.Legal, Time: l.Time, Last: l.Last, Rewards: w.Rewards,
		}
		if !reflect.DeepEqual(w, want) {
			return m, misfit("world", s.Models.World, w, want)
		}
	}
	if s.Plan.Leaf == "response" {
		if err := s.loadResponse(g, &m); err != nil {
			return m, fmt.Errorf("exp: models.response: %w", err)
		}
	}
	if s.Models.MOA != "" {
		if m.MOA, err = s.loadMOA(g); err != nil {
			return m, fmt.Errorf("exp: models.moa: loading %s: %w; train it with the spec's own net, such as hop pretrain moa --condition goal --set model.hidden=[64,64] --set model.distances=false", s.Models.MOA, err)
		}
	}
	return m, nil
}

func misfit(name, dir string, got, want any) error {
	return fmt.Errorf("exp: models.%s: %s was trained on observations %+v, here they are %+v; train one on this game", name, dir, got, want)
}

// loadResponse reads a response network, which must have been told of the plan's bots.
func (s *Spec) loadResponse(g game.Game, m *train.Models) error {
	j, p, in, err := pretrain.LoadResponse(s.Models.Response)
	if err != nil {
		return err
	}
	want := input(g.Spec())
	want.Extra = (g.Spec().Seats - 1) * len(s.Plan.Bots)
	if in.Input != want {
		return misfit("response", s.Models.Response, in.Input, want)
	}
	if !slices.Equal(in.Who, s.Plan.Bots) {
		return fmt.Errorf("%s was told of the bots %v, plan.bots are %v; they must be the same, in the same order", s.Models.Response, in.Who, s.Plan.Bots)
	}
	m.Response, m.Rates, m.RateScale = j, p, in.Scale
	return nil
}

// loadMOA reads the best weights of a model of others.
func (s *Spec) loadMOA(g game.Game) (*nn.Params, error) {
	in := moaInput(g.Spec())
	if s.Plan.Goals == "hand" {
		in.GoalLen = len(g.Spec().Goals)
	}
	_, p, err := moa.New(s.MOA.Config, in, rng.Key{})
	if err != nil {
		return nil, err
	}
	body, _, err := runlog.Last(s.Models.MOA)
	if err != nil {
		return nil, err
	}
	f, err := safetensors.Parse(body)
	if err != nil {
		return nil, err
	}
	return p, p.Load(f, "best/")
}
