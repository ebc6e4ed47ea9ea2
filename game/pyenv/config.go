// Package pyenv is a PettingZoo environment in Python as a game.
//
// Worker processes (python -m hop_marl.worker) play the copies; observations, masks,
// rewards and actions lie in memory that both sides see, and one message a step goes
// to every worker. Which worker plays a copy, and how many there are, reaches no
// number. An episode is its seed and its actions: that is how a run is resumed.
//
// Copies cannot be copied and their rules cannot be read (game.Spec.Opaque), agents
// keep their seats unless the environment declares that seats are alike, and what goes
// wrong in Python is a game.Failure. docs/environments.md is the user's page.
package pyenv

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/hop-marl/hop/num/config"
)

// Config says which environment is played.
type Config struct {
	Env     string `yaml:"env" doc:"the environment, MODULE:FUNCTION: a Python function that returns a PettingZoo environment; modules of the current folder come first"`
	Kwargs  string `yaml:"kwargs" doc:"arguments of that function, a JSON object such as {\"N\": 2}"`
	Horizon int    `yaml:"horizon" doc:"longest episode; longer ones are cut; 0: what the environment says, else 1000" unit:"steps" range:"0..100000"`
	Workers int    `yaml:"workers" doc:"Python processes that play the copies; 0: one a core, at most 16; no number depends on it" range:"0..256"`
	Python  string `yaml:"python" doc:"the Python interpreter; empty: HOP_PYTHON, the one beside the hop command, the one of VIRTUAL_ENV, or python3"`
	Lenient bool   `yaml:"lenient" doc:"observations outside of their Box are clipped, rewards that are arrays of one number and agents that nobody knows are taken as they come, and counted; false: refused"`
	Replay  bool   `yaml:"replay" doc:"episodes can be played again from reset(seed) and their actions, which is tried before a run begins; false: not tried, and a run that was stopped cannot be resumed"`
}

// Default returns a config that names no environment.
func Default() Config { return Config{Replay: true} }

// Validate returns everything that is wrong with the parameters, joined. Whether there
// is such an environment is found out when it is opened.
func (c Config) Validate() error {
	errs := []error{
		config.Check(c),
		config.Need(c.Env != "", "env", c.Env, "MODULE:FUNCTION, such as mpe2.simple_spread_v3:parallel_env (--env names it too)"),
	}
	var args map[string]any
	if c.Kwargs != "" && json.Unmarshal([]byte(c.Kwargs), &args) != nil {
		errs = append(errs, config.Bad("kwargs", c.Kwargs, `a JSON object such as {"N": 2}`))
	}
	return errors.Join(errs...)
}

// Label names the environment.
func (c Config) Label() string { return strings.TrimSpace(c.Env + " " + c.Kwargs) }

// Executes says what opening the environment runs.
func (c Config) Executes() string {
	return fmt.Sprintf("\"%s -m hop_marl.worker\" with %s(%s)", cmp.Or(c.Python, "python3"), c.Env, c.Kwargs)
}

// workers returns how many processes there are to be.
func (c Config) workers() int {
	if c.Workers > 0 {
		return c.Workers
	}
	return max(1, min(runtime.NumCPU(), 16))
}
