package lola

import (
	"errors"

	"github.com/hop-marl/hop/audit/reference"
)

// Reference adds LOLA's term to the definition of an update, for audits: by the formula of
// the paper, from the weights that played the window.
func Reference(c Config, o *reference.Own, in reference.Adding) error {
	if in.Nets == nil {
		return errors.New("lola: the weights that played the window are not known")
	}
	me := o.Agents[0]
	o.Adv = in.Window.LOLA(o.Actor, o.PPO, c.LOLA.Eta, me, in.Nets, in.Shaken)
	adv, _ := in.Window.Advantages(me, o.PPO)
	o.Stats = map[string]float64{
		"lola/term":      in.Window.RootMean(me, o.Adv),
		"lola/advantage": in.Window.RootMean(me, adv),
	}
	return nil
}
