package games

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hop-marl/hop/game/pyenv"
	"github.com/hop-marl/hop/lab"
	"github.com/hop-marl/hop/train/spec"
)

// A host may play an environment of its own, in its own process, and ask our agents to act in it: it
// says what the environment is like and writes what comes of every reset and step, and here it is a
// game like any other.

// Host is what such a host asks for.
type Host struct {
	Who                     // whose run was trained on such an environment; no Run: nobody's yet
	About   json.RawMessage `json:"about"`   // the environment, as a worker describes it
	Numbers int             `json:"numbers"` // of an observation, if that is known; 0: what the run's networks take
}

// hostEnv opens the host's environment. Whether observations have the mask in them was found out by
// playing when the run began: the run's networks, or how many numbers are wanted, say which it is.
func (s *Server) hostEnv(args json.RawMessage) (*Opened, error) {
	o := Host{Who: Who{Agent: -1}}
	if err := json.Unmarshal(args, &o); err != nil {
		return nil, err
	}
	if s.game != nil {
		return nil, errors.New("a game is open already; another one needs a hop bridge of its own")
	}
	said := map[string]any{}
	if err := json.Unmarshal(o.About, &said); err != nil {
		return nil, err
	}
	g, err := s.hostGame(o.Who)
	if err != nil {
		return nil, err
	}
	var first error
	for _, masks := range []bool{false, true} {
		said["masks"] = masks
		text, err := json.Marshal(said)
		if err != nil {
			return nil, err
		}
		if s.host, err = pyenv.Host(pyenv.Default(), text); err != nil {
			return nil, err
		}
		if err = s.suits(o); err == nil {
			return s.opened(g, Open{Game: g.Name, Envs: 1, Threads: 1, Illegal: "error"})
		} else if first == nil {
			first = err
		}
	}
	return nil, fmt.Errorf("this environment, with agents %v and actions %v, is not what was trained on: %w",
		said["agents"], said["actions"], first)
}

// hostGame returns the game of a run that was trained on an environment in Python, with its
// parameters, or that game as it comes.
func (s *Server) hostGame(w Who) (spec.Game, error) {
	if w.Run == "" {
		for _, name := range s.lab.Reg.GameNames() {
			if g, err := s.lab.Reg.NewGame(name); err == nil && len(g.Executes()) > 0 {
				return g, g.Set("env", "a:b")
			}
		}
		return spec.Game{}, errors.New("this hop knows no environments in Python")
	}
	sp, _, err := s.readSpec(w)
	return sp.Game, err
}

// suits reports whether the environment that is hosted is what the run's networks read.
func (s *Server) suits(o Host) error {
	if o.Run == "" {
		if got := s.host.Spec().Obs.Len(); o.Numbers > 0 && got != o.Numbers {
			return fmt.Errorf("the network reads observations of %d numbers, and this environment's have %d: it was made for another one",
				o.Numbers, got)
		}
		return nil
	}
	x, _, err := s.saved(o.Who, nil)
	if err == nil {
		_, _, err = x.Minds()
	}
	return err
}

// readSpec reads the spec of a run's checkpoint, and nothing of it is started.
func (s *Server) readSpec(w Who) (sp spec.Spec, dir string, err error) {
	dirs, err := lab.Folders(w.Run)
	if err != nil {
		return sp, "", err
	}
	reg := *s.lab.Reg
	reg.Trust.All = reg.Trust.All || w.Trust
	saved, err := reg.Runs.Last(dirs[0])
	if w.Step > 0 {
		saved, err = reg.Runs.At(dirs[0], w.Step)
	}
	if err != nil {
		return sp, "", err
	}
	sp, err = reg.Parse(saved.Spec, filepath.Join(dirs[0], "spec.yaml"), "run", nil)
	return sp, dirs[0], err
}

// aboutEnv tells of a run that was trained on an environment in Python, without starting that; nil: it was not.
func (s *Server) aboutEnv(w Who) (*About, error) {
	sp, dir, err := s.readSpec(w)
	if err != nil || len(sp.Game.Executes()) == 0 {
		return nil, err
	}
	params, err := sp.Game.Map()
	delete(params, "name")
	return &About{Run: dir, Mind: sp.Mind.Name, Game: sp.Game.Name, Params: params, Step: w.Step, Own: true}, err
}
