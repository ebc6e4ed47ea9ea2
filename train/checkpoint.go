package train

import (
	"fmt"
	"math"

	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/store/runlog"
)

// checkpoint writes everything that changes from one iteration to the next.
func (s *SelfPlay) checkpoint(run *runlog.Run) error {
	var err error
	run.SetPhases(s.phases, s.used, s.cores.Workers()) // a checkpoint saves them: a run that is killed later has them
	s.timed("checkpoint", func() {
		var body []byte
		if body, err = s.Save(); err != nil {
			return
		}
		err = run.Checkpoint(int64(s.step), body, s.score, runlog.Keep{Last: s.cfg.Keep, Every: s.cfg.KeepEvery})
	})
	run.SetPhases(s.phases, s.used, s.cores.Workers())
	return err
}

// stopped saves before giving up the run.
func (s *SelfPlay) stopped(run *runlog.Run, cause error) error {
	if err := s.checkpoint(run); err != nil {
		return err
	}
	return cause
}

// Save returns the run as it is now.
func (s *SelfPlay) Save() ([]byte, error) {
	f := &safetensors.File{Meta: map[string]string{"format": "hop self-play 1"}}
	scored := int64(0)
	if s.scored {
		scored = 1
	}
	f.PutInt64("loop", []int64{int64(s.step), int64(s.update), int64(s.stage), int64(math.Float64bits(s.score)), scored}, 5)
	envs, err := s.envs.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	f.PutBytes("envs", envs)
	if s.waits {
		window, err := s.ro.AppendBinary(nil)
		if err != nil {
			return nil, err
		}
		f.PutBytes(waiting, window)
	}
	if err := s.dealing.save(f); err != nil {
		return nil, err
	}
	if err := s.saveMemories(f); err != nil {
		return nil, err
	}
	for i, m := range s.minds {
		if m.saver == nil {
			continue
		}
		if err := m.saver.Save(f, Prefix(i)); err != nil {
			return nil, err
		}
	}
	if s.imagine != nil {
		if err := s.imagine.Save(f, "imagine/"); err != nil {
			return nil, err
		}
	}
	if err := s.guards.save(f); err != nil {
		return nil, err
	}
	return f.AppendBinary(nil)
}

// waiting is where a checkpoint holds the last window, if it has not been learnt from.
const waiting = "waiting"

// Load goes on from what Save returned.
func (s *SelfPlay) Load(body []byte) error {
	f, err := safetensors.Parse(body)
	if err != nil {
		return err
	}
	var loop [5]int64
	if err := f.Int64(loop[:], "loop", 5); err != nil {
		return err
	}
	s.step, s.update = int(loop[0]), int(loop[1])
	s.score, s.scored = math.Float64frombits(uint64(loop[3])), loop[4] == 1
	// A checkpoint made when a stage's time has come is still of the stage before.
	if stage := int(loop[2]); stage >= len(s.cfg.Stages) {
		return fmt.Errorf("train: the checkpoint is of stage %d, the spec has %d stages; use the spec of the saved run", stage, len(s.cfg.Stages))
	} else if stage >= 0 {
		if err := s.enter(stage); err != nil {
			return err
		}
	}
	envs, err := f.Bytes("envs")
	if err != nil {
		return err
	}
	if err := s.envs.UnmarshalBinary(envs); err != nil {
		return err
	}
	if _, s.waits = f.Get(waiting); s.waits {
		window, err := f.Bytes(waiting)
		if err != nil {
			return err
		}
		if err := s.ro.UnmarshalBinary(window); err != nil {
			return err
		}
	}
	if err := s.dealing.load(f); err != nil {
		return err
	}
	if err := s.loadMemories(f); err != nil {
		return err
	}
	for i, m := range s.minds {
		if m.saver == nil {
			continue
		}
		if err := m.saver.Load(f, Prefix(i)); err != nil {
			return err
		}
	}
	if s.imagine != nil {
		if err := s.imagine.Load(f, "imagine/"); err != nil {
			return err
		}
	}
	return s.guards.load(f)
}

// Prefix is where a checkpoint holds mind i.
func Prefix(i int) string { return fmt.Sprintf("mind/%d/", i) }
