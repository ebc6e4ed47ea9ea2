// Package rl2 is RL^2: fast reinforcement learning via slow reinforcement learning
// (Duan et al. 2016; learning to reinforcement learn, Wang et al. 2016).
//
// A trial is several episodes in a row among the same co-players. A recurrent network
// keeps its memory through all of them and reads, beside the observation, what it did
// last, what that earned and whether an episode has ended since. PPO maximises the
// return of the whole trial. What is slow is PPO, over many trials with co-players of
// a population; what is fast is the network's memory, which in a trial learns who the
// co-players are and how to answer them without any weight moving. The update is
// package ppo's; its file trial.go holds what trials change.
package rl2

import (
	"errors"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/config"
)

// Config is the mind's block of a spec.
type Config struct {
	RL2 Trial `yaml:"rl2"`
}

// Trial says how long agents live among the same co-players.
type Trial struct {
	Episodes int `yaml:"episodes" doc:"episodes of a trial: a life among the same co-players, at whose start alone the memory is reset and whose return is maximised; 1: an LSTM's PPO that reads its last step" unit:"episodes" range:"1..1000"`
}

// Default returns trials of ten episodes.
func Default() Config { return Config{Trial{Episodes: 10}} }

// Validate returns everything that is wrong, joined.
func (c Config) Validate() error { return errors.Join(config.Check(c)) }

// GoalNumbers returns how many numbers agents of a game read beside their observation.
func (c Config) GoalNumbers(spec game.Spec) int { return ppo.TrialInput(len(spec.Actions), spec.Seats) }

// New returns the minds of brains whose networks have an LSTM and read GoalNumbers
// numbers beside their observation.
func New(c Config, brains []*ppo.Brain) ([]learner.Mind, error) {
	var minds []learner.Mind
	for _, b := range brains {
		if b.Model.LSTM == 0 {
			return nil, errors.New("rl2: agents that live through trials need a memory; set actor.lstm above 0")
		}
		b.LiveThroughTrials(c.RL2.Episodes)
		minds = append(minds, b)
	}
	return minds, nil
}
