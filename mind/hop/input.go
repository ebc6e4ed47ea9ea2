package hop

import (
	"hop/frame"
	"hop/game"
	"hop/mind/hop/pretrained"
	"hop/model"
	"hop/model/moa"
	"hop/runlog"
	"hop/safetensors"
)

// moaInput says what a model of others reads of a game, without goals.
func moaInput(spec game.Spec) moa.Input {
	return moa.NewInput(frame.Layout(spec.Obs), spec.Seats, spec.Actions, 0)
}

// LoadMOA reads the best weights of a model of others that was trained before.
func LoadMOA(runs *runlog.Reader, c Config, spec game.Spec, m *pretrained.Models) error {
	in := moaInput(spec)
	switch c.Goals.Kind {
	case "hand":
		in.GoalLen = len(spec.Goals)
	case "latent":
		in.GoalLen = m.VAE.Width() + len(kinds(c.population(*m)))
	}
	last, err := runs.Last(c.Models.MOA)
	if err != nil {
		return err
	}
	f, err := safetensors.Parse(last.Body)
	if err != nil {
		return err
	}
	if _, m.MOA, err = model.Fill(f, "best/", c.MOA.Config, in, moa.Layers); err != nil || c.Goals.Kind != "latent" || len(spec.Goals) == 0 {
		return err
	}
	m.Reached = make([]float32, len(kinds(c.population(*m)))*len(spec.Goals))
	return f.Float32(m.Reached, moa.Reached, len(m.Reached)/len(spec.Goals), len(spec.Goals))
}
