package influence

import "github.com/hop-marl/hop/audit/reference"

// Reference adds the pay for influence to the definition of an update, for audits, and the
// model by which it is measured, which learns beside the own network.
func Reference(c Config, o *reference.Own, in reference.Adding) (err error) {
	r := c.Influence
	f := reference.Influence{Weight: r.Weight, WeightEnd: r.WeightEnd, LR: r.LR, Hidden: r.Hidden, Epochs: r.Epochs, Own: o.Actor,
		Seats: in.Seats, Me: o.Agents[0]}
	var nats float64
	if o.Reward, nats, err = f.Pay(in.Saved, in.Window); err != nil {
		return err
	}
	o.Stats = map[string]float64{"influence/nats": nats}
	o.Beside = &reference.Beside{
		Prefix: "influence/net/", Learn: func() (before, after reference.Net, err error) { return f.Learn(in.Saved, in.Window) },
		Check: "the model of influence learns by its definition",
		Good:  "Updates of the model by which influence is measured agree in direction and length.",
		Bad:   "the model by which influence is measured does not learn by its cross-entropy",
		Next:  "mind/influence: look and add (its rows), learn",
	}
	return nil
}
