package check

import (
	"hop/audit/reference"
	"hop/batch"
	"hop/safetensors"
)

// slip is a way to get an update wrong, and where that would be.
type updateSlip struct {
	reference.Slip
	look string
}

// recognise returns the slip that agrees with an update, nil if none does.
func recognise(o reference.Own, was, got reference.Net, before *safetensors.File, w *reference.Window) *updateSlip {
	for _, s := range updateSlips(o, w) {
		o.Slip = s.Slip
		if want, err := o.Update(before, w); err == nil && want.Rows > 0 && reference.Compare(was, got, want.Net).Same() {
			return &s
		}
	}
	return nil
}

// slips are what is tried. An audit does not need them to find a fault, only to
// give it a name.
func updateSlips(o reference.Own, w *reference.Window) []updateSlip {
	const loss, returns, step, rows = "ppo.Brain.losses", "ppo.Advantages", "ppo.Brain.descend and nn.Adam", "ppo.Brain.gather"
	conf := func(name, look string, f func(*reference.PPO)) updateSlip {
		return updateSlip{reference.Slip{Name: name, Settings: f}, look}
	}
	ends := func(name string, from, to batch.End) updateSlip {
		return updateSlip{reference.Slip{Name: name, Window: func(ro *batch.Rollout) {
			for i, e := range ro.End {
				if e == from {
					ro.End[i] = to
				}
			}
		}}, returns}
	}
	var list []updateSlip
	for i := range reference.AdvantageSlips {
		if a := &reference.AdvantageSlips[i]; a.Name != "" {
			list = append(list, updateSlip{reference.Slip{Name: a.Name, Advantage: a}, returns})
		}
	}
	list = append(list,
		conf("gradients that are not clipped", step, func(c *reference.PPO) { c.MaxGrad = 0 }),
		conf("a single pass over the window", "ppo.Brain.passes", func(c *reference.PPO) { c.Epochs = 1 }),
		conf("one pass less", "ppo.Brain.passes", func(c *reference.PPO) { c.Epochs-- }),
		conf("Adam's usual epsilon", step, func(c *reference.PPO) { c.AdamEps = 1e-8 }),
		conf("a learning rate that does not fall", "ppo.Brain.Update: the schedules", func(c *reference.PPO) { c.LREnd = -1 }),
		updateSlip{reference.Slip{Name: "an optimiser that starts anew with every window", AdamAnew: true}, step},
		ends("cuts that are taken for exits", batch.Cut, batch.Exited),
		ends("exits that are bootstrapped from as if they were cuts", batch.Exited, batch.Cut),
		updateSlip{reference.Slip{Name: "rewards that are not scaled", Rewards: func(r *reference.Rewards) { r.Scale = 1 }},
			"mind.Rewards.Apply"},
		updateSlip{reference.Slip{Name: "the team's rewards", Rewards: func(r *reference.Rewards) { r.Prosocial = 1 }}, "mind.Rewards.Apply"},
		updateSlip{reference.Slip{Name: "the agent's own rewards alone",
			Rewards: func(r *reference.Rewards) { r.Prosocial = 0 }}, "mind.Rewards.Apply"},
		updateSlip{reference.Slip{Name: "learning from all rows, bots' too", Window: func(ro *batch.Rollout) {
			for i := range ro.Own {
				ro.Own[i] = true
			}
		}}, rows},
		updateSlip{reference.Slip{Name: "a policy without the mask of legal actions", NoMask: true}, rows})
	for k := 1; k < w.Agents && len(o.Agents) == 1; k++ {
		list = append(list, updateSlip{reference.Slip{Name: "the rows of another agent", OtherAgent: k}, rows})
	}
	if o.Search {
		return append(list,
			updateSlip{reference.Slip{Name: "beliefs in place of labels", Beliefs: true}, "mind/hop: fitOwn"},
			updateSlip{reference.Slip{Name: "the search's policy alone, without the return", Loss: reference.Terms{Policy: 1}}, "ppo.Brain.imitate"},
			updateSlip{reference.Slip{Name: "the return alone, without the search's policy", Loss: reference.Terms{Value: 1}}, "ppo.Brain.imitate"})
	}
	return append(list,
		conf("advantages that are not normalised", rows, func(c *reference.PPO) { c.NormAdv = !c.NormAdv }),
		conf("no clipping of the ratio", loss, func(c *reference.PPO) { c.Clip = 1e9 }),
		conf("an entropy bonus that does not fall", "ppo.Brain.Update: the schedules", func(c *reference.PPO) { c.EntropyEnd = -1 }),
		conf("twice the weight of the value", loss, func(c *reference.PPO) { c.ValueCoef *= 2 }),
		conf("half the weight of the value", loss, func(c *reference.PPO) { c.ValueCoef /= 2 }),
		updateSlip{reference.Slip{Name: "a ratio that is always 1", RatioOne: true}, loss},
		updateSlip{reference.Slip{Name: "advantages with the opposite sign", Uphill: true}, loss},
		updateSlip{reference.Slip{Name: "an entropy bonus with the opposite sign", Loss: reference.Terms{Policy: 1, Value: 1,
			Entropy: -1}}, loss},
		updateSlip{reference.Slip{Name: "no entropy bonus", Loss: reference.Terms{Policy: 1, Value: 1}}, loss},
		updateSlip{reference.Slip{Name: "no value loss", Loss: reference.Terms{Policy: 1, Entropy: 1}}, loss},
		updateSlip{reference.Slip{Name: "no policy loss", Loss: reference.Terms{Value: 1, Entropy: 1}}, loss},
	)
}
