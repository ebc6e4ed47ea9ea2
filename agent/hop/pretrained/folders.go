package pretrained

import (
	"errors"

	"github.com/hop-marl/hop/model"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/store/runlog"
)

// Folders names folders of models that were trained before the run. Their weights
// are copied into the run's checkpoints, so that a run, once it has one, needs
// the folders no more.
type Folders struct {
	VAE      string `yaml:"vae" doc:"folder of hop pretrain vae: codes of states, for goals latent and classes; empty: none"`
	CVAE     string `yaml:"cvae" doc:"folder of hop pretrain cvae: codes inferred from history, for goals latent; empty: none"`
	MOA      string `yaml:"moa" doc:"folder of hop pretrain moa with the net of moa.*: where the model of others starts, --condition goal for goals hand, none for none, kind for latent; empty: untrained"`
	Sequence string `yaml:"sequence" doc:"folder of hop pretrain sequence with the head of moa.*, which reads whole lifetimes and predicts the others, for goals context; empty: none"`
	World    string `yaml:"world" doc:"folder of hop pretrain world, for search.dynamics world; empty: none"`
	Response string `yaml:"response" doc:"folder of hop pretrain response, for leaf response; empty: none"`
}

// Fields returns all of them.
func (m *Folders) Fields() []*string {
	return []*string{&m.VAE, &m.CVAE, &m.MOA, &m.Sequence, &m.World, &m.Response}
}

// Needs says which models are missing, and which are not of use, given the kinds of goals,
// of dynamics and of leaves.
func (m Folders) Needs(goals, dynamics, leaf string) error {
	var errs []error
	need := func(path, value, want string, why bool) {
		if why && value == "" {
			errs = append(errs, config.Bad("models."+path, value, want))
		}
	}
	need("vae", m.VAE, "a folder of hop pretrain vae, because goals.kind is "+goals, goals == "latent" || goals == "classes")
	need("cvae", m.CVAE, "a folder of hop pretrain cvae, because goals.kind is latent", goals == "latent")
	need("sequence", m.Sequence, "a folder of hop pretrain sequence, because goals.kind is context", goals == "context")
	need("world", m.World, "a folder of hop pretrain world, because search.dynamics is world", dynamics == "world")
	need("response", m.Response, "a folder of hop pretrain response, because leaf.kind is response", leaf == "response")
	if m.MOA != "" && goals == "classes" {
		errs = append(errs, config.Bad("models.moa", m.MOA,
			"nothing, because no model of others is pretrained on classes; the run trains its own"))
	}
	if m.MOA != "" && goals == "context" {
		errs = append(errs, config.Bad("models.moa", m.MOA, "nothing, because goals.kind is context and models.sequence is the model of others"))
	}
	if m.Sequence != "" && goals != "context" {
		errs = append(errs, config.Bad("models.sequence", m.Sequence,
			"nothing, because goals.kind is "+goals+"; set goals.kind to context for the others to be read by it"))
	}
	return errors.Join(errs...)
}

// LoadMOA reads the best weights of a model of others that was trained before, on input in,
// and, unless kinds is negative, how often each of so many kinds reached each of the goals.
func (m *Models) LoadMOA(runs *runlog.Reader, dir string, c moa.Config, in moa.Input, kinds, goals int) error {
	last, err := runs.Last(dir)
	if err != nil {
		return err
	}
	f, err := safetensors.Parse(last.Body)
	if err != nil {
		return err
	}
	if _, m.MOA, err = model.Fill(f, "best/", c, in, moa.Layers); err != nil || kinds < 0 || goals == 0 {
		return err
	}
	m.Reached = make([]float32, kinds*goals)
	return f.Float32(m.Reached, moa.Reached, kinds, goals)
}
