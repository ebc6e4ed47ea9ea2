package check

import (
	"github.com/hop-marl/hop/agent/hop"
	"github.com/hop-marl/hop/agent/imagine"
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/model/cvae"
	"github.com/hop-marl/hop/model/world"
)

// What definitions are given: a run's settings and windows, by the fields that they read.

// ActorOf describes the network that an agent acts by.
func ActorOf(c actor.Config, in actor.Input) reference.Actor {
	return reference.Actor{Net: c.Net, Frame: c.Frame, Act: c.Act, Hidden: c.Hidden, Separate: c.Separate, LSTM: c.LSTM,
		Actions: in.Actions, Input: in.Input, Sense: in.Sense}
}

func ppoOf(c ppo.Config) reference.PPO {
	return reference.PPO{LR: c.LR, LREnd: c.LREnd, Entropy: c.Entropy, EntropyEnd: c.EntropyEnd, Gamma: c.Gamma, Lambda: c.Lambda,
		Align: c.Align, Clip: c.Clip, ValueCoef: c.ValueCoef, MaxGrad: c.MaxGrad, TargetKL: c.TargetKL, AdamEps: c.AdamEps, Epochs: c.Epochs,
		Minibatch: c.Minibatch, SeqLen: c.SeqLen, NormAdv: c.NormAdv, ClipValue: c.ClipValue}
}

func windowOf(w *learner.Window) *reference.Window {
	r, imagined, ratio := w.Rewards, (*batch.Rollout)(nil), 0.
	if w.Imagined != nil {
		imagined, ratio = w.Imagined.Rollout, w.Imagined.RealRatio
	}
	return &reference.Window{Rollout: w.Rollout, Share: w.Share, Imagined: imagined, RealRatio: ratio,
		Rewards: reference.Rewards{Scale: r.Scale, Prosocial: r.Prosocial, Gamma: r.Gamma, Goal: r.Goal}}
}

func goalsOf(g hop.Goals) reference.GoalSettings {
	learn := cvae.DefaultLearn()
	return reference.GoalSettings{Kind: g.Kind, Selector: g.Selector, Doubt: g.Doubt, DoubtStart: g.DoubtStart, Rate: g.Rate, Mix: g.Mix,
		Ahead: g.Ahead, VAEPasses: g.VAEPasses, CVAEPasses: g.CVAEPasses, Gate: g.Gate,
		Batch: learn.Batch, Parts: learn.Parts(), KL: learn.KL, MaxGrad: learn.MaxGrad}
}

func hopOf(c *hop.Config) reference.HOP {
	m, b := c.MOA, c.Belief
	return reference.HOP{
		Goals: goalsOf(c.Goals), Leaf: c.Leaf.Kind, Partners: c.Leaf.Partners,
		Others: reference.OthersSettings{Net: m.Net, Frame: m.Frame, Augment: m.Augment, Distances: m.Distances, Balance: m.Balance,
			Passes: m.Passes, Batch: m.Batch, Views: m.Views, LR: m.LR, Decay: m.Decay, Clip: m.Clip},
		Belief: reference.BeliefSettings{Within: b.Within, Across: b.Across, Decay: b.Decay, Smooth: b.Smooth, Count: b.Count},
	}
}

func worldOf(c world.Config, in world.Input) reference.World {
	return reference.World{Variant: c.Variant, Weights: c.Weights, Height: in.Height, Width: in.Width, Planes: in.Planes, Agents: in.Agents,
		Actions: in.Actions, Horizon: in.Horizon, Legal: in.Legal, Time: in.Time, Last: in.Last, Owned: in.Owned, Features: in.Features,
		Rewards: in.Rewards}
}

func imaginationOf(c imagine.Config) reference.ImaginationSettings {
	return reference.ImaginationSettings{Rows: c.Rows, Refresh: c.Refresh, GradientSteps: c.Steps, Batch: c.Batch, LR: c.LR}
}
