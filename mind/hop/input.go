package hop

import (
	"hop/frame"
	"hop/game"
	"hop/mind/hop/pretrained"
	"hop/model/moa"
	"hop/runlog"
)

// moaInput says what a model of others reads of a game, without goals.
func moaInput(spec game.Spec) moa.Input {
	return moa.NewInput(frame.Layout(spec.Obs), spec.Seats, spec.Actions, 0)
}

// LoadMOA reads the best weights of a model of others that was trained before.
func LoadMOA(runs *runlog.Reader, c Config, spec game.Spec, m *pretrained.Models) error {
	in, known := moaInput(spec), -1 // of whom nothing is counted
	switch c.Goals.Kind {
	case "hand":
		in.GoalLen = len(spec.Goals)
	case "latent":
		known = len(kinds(c.population(*m)))
		in.GoalLen = m.VAE.Width() + known
	}
	return m.LoadMOA(runs, c.Models.MOA, c.MOA.Config, in, known, len(spec.Goals))
}
