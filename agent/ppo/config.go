package ppo

import (
	"errors"

	"github.com/hop-marl/hop/num/config"
)

// Config sets the learner. Values that change over a run go linearly from the
// field to the field that ends in _end; an _end below 0 means no change.
type Config struct {
	LR          float64 `yaml:"lr" doc:"Adam's learning rate" range:"0<.."`
	LREnd       float64 `yaml:"lr_end" doc:"learning rate at the end of the run; -1: as lr" range:"-1.."`
	Gamma       float64 `yaml:"gamma" doc:"discount of a step" range:"0..1"`
	Lambda      float64 `yaml:"lambda" doc:"GAE's lambda" range:"0..1"`
	Clip        float64 `yaml:"clip" doc:"how far the new policy's ratio to the old one counts" range:"0<.."`
	ClipValue   bool    `yaml:"clip_value" doc:"hold the value within clip of the old one in its loss, as the original code does"`
	Entropy     float64 `yaml:"entropy" doc:"weight of the entropy bonus" range:"0.."`
	EntropyEnd  float64 `yaml:"entropy_end" doc:"weight at the end of the run; -1: as entropy" range:"-1.."`
	ValueCoef   float64 `yaml:"value_coef" doc:"weight of the value loss" range:"0.."`
	MaxGrad     float64 `yaml:"max_grad" doc:"largest global norm of a gradient; 0: any" range:"0.."`
	Epochs      int     `yaml:"epochs" doc:"passes over a window" range:"1..100"`
	Minibatch   int     `yaml:"minibatch" doc:"alive rows in a gradient step" unit:"rows" range:"1.."`
	NormAdv     bool    `yaml:"norm_adv" doc:"scale advantages to mean 0 and deviation 1 over the window's alive rows"`
	RewardScale float64 `yaml:"reward_scale" doc:"rewards are multiplied by this for learning, never in a report" range:"0<.."`
	TargetKL    float64 `yaml:"target_kl" doc:"stop a window's passes when the policy has moved this far; 0: never" unit:"nats" range:"0.."`
	AdamEps     float64 `yaml:"adam_eps" doc:"Adam's epsilon" range:"0<.."`
	SeqLen      int     `yaml:"seq_len" doc:"steps an LSTM is trained through at a time" unit:"steps" range:"1..1000"`
	Prosocial   float64 `yaml:"prosocial" doc:"share of the team's mean reward in one's own: 0 selfish, 1 team; below 0 what the others earn counts against one" range:"-4..1"`
	Align       float64 `yaml:"align" doc:"Advantage Alignment's beta: weight of the others' advantages, each times one's own of the steps before; 0: none" range:"0.."`
	ProsocEnd   float64 `yaml:"prosocial_end" doc:"the share at the end of the run; -1: as prosocial" range:"-1..1"`
}

// Default returns settings that learn to hunt stags together on 4x4.
func Default() Config {
	return Config{
		LR: 1e-3, LREnd: -1, Gamma: 0.99, Lambda: 0.95, Clip: 0.2, Entropy: 0.01, EntropyEnd: -1,
		ValueCoef: 0.5, MaxGrad: 0.5, Epochs: 4, Minibatch: 512, NormAdv: true, RewardScale: 0.2,
		AdamEps: 1e-5, SeqLen: 20, ProsocEnd: -1,
	}
}

// Validate returns everything that is wrong, joined.
func (c Config) Validate() error { return errors.Join(config.Check(c)) }

// Anneal goes linearly from one value to another over a run, of which a share lies behind; a to
// below 0 means no change.
func Anneal(from, to, share float64) float64 {
	if to < 0 {
		return from
	}
	return from + (to-from)*min(max(share, 0), 1)
}
