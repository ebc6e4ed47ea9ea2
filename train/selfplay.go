package train

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"hop/agent"
	"hop/batch"
	"hop/game"
	"hop/ppo"
	"hop/rng"
	"hop/rollout"
	"hop/runlog"
	"hop/safetensors"
)

// Parts are what the loop works with, made by exp.Build.
type Parts struct {
	Game    game.Game                             // the true game
	Stage   func(set []string) (game.Game, error) // the game with parameters changed
	Brains  []*ppo.Brain                          // the networks that act
	Minds   []Mind                                // what learns with each of them; nil: the brains alone, by PPO
	BrainOf []int                                 // [A] each agent's brain
	GoalLen int                                   // numbers about goals that brains read
	Imagine Imagining                             // learning from made-up steps, if on
	Players func(who string) (PlayerMaker, error) // bots and frozen agents
	Key     rng.Key                               // names all streams
	Workers int                                   // cores to use; not part of the numbers
	Clock   func() time.Duration                  // for phase times; nil: none are taken
	Watch   Watching                              // sees windows before they are learnt from; nil: nobody does
}

// Mind learns for the agents of one brain: the brain alone, or with models of
// others and a planner around it.
type Mind interface {
	// Players returns a player of agent a for each worker.
	Players(a agent.ID, workers, envs int) ([]rollout.Player, error)
	// Learn takes one window; share is how much of the run lies behind.
	Learn(ro *batch.Rollout, shape ppo.Shape, share float64) ([]agent.Stat, error)
	// Remember prepares for envs copies and windows of steps steps.
	Remember(envs, steps int)
	Save(f *safetensors.File, prefix string) error
	Load(f *safetensors.File, prefix string) error
}

// plain is a brain that learns by PPO and nothing else.
type plain struct{ *ppo.Brain }

func (p plain) Players(a agent.ID, workers, envs int) ([]rollout.Player, error) {
	var players []rollout.Player
	for range workers {
		players = append(players, p.Player(a, envs))
	}
	return players, nil
}

var _ Mind = plain{}

// PlayerMaker makes players of one policy for a number of envs, one for each
// worker. It is called once for each agent that the policy plays. Players that
// remember something share it, by env, and are keepers.
type PlayerMaker func(workers, envs int) ([]rollout.Player, error)

// SelfPlay is a run of PPO in which agents learn by playing each other, and
// whoever else the team holds. Make it with NewSelfPlay, then Run it.
type SelfPlay struct {
	cfg    Config
	reward ppo.Config
	parts  Parts
	spec   game.Spec

	envs    *rollout.Envs
	ro      *batch.Rollout
	cast    *cast
	players [][]rollout.Player        // [worker][A]
	roles   map[role][]rollout.Player // [worker]
	imagine *imagination              // nil: off
	guards  *guards

	step, update int
	stage        int     // index into cfg.Stages, -1: the true game
	score        float64 // recent mean return, for the best checkpoint
	scored       bool
	phases       map[string]float64
}

// NewSelfPlay prepares a run at its start.
func NewSelfPlay(cfg Config, learner ppo.Config, parts Parts) (*SelfPlay, error) {
	s := &SelfPlay{
		cfg: cfg, reward: learner, parts: parts, spec: parts.Game.Spec(), stage: -1,
		roles: map[role][]rollout.Player{}, phases: map[string]float64{},
	}
	s.cast = newCast(s.spec.Seats, cfg.Envs, parts.Brains, cfg.Standins.Who, parts.Key)
	s.cast.teams = newTeams(cfg.Standins.Teams, cfg.Envs, parts.Key)
	if parts.Minds == nil {
		for _, b := range parts.Brains {
			s.parts.Minds = append(s.parts.Minds, plain{b})
		}
	}
	for _, m := range s.parts.Minds {
		m.Remember(cfg.Envs, cfg.Window)
	}
	s.guards = newGuards(s.parts)
	if err := s.open(parts.Game); err != nil {
		return nil, err
	}
	if parts.Imagine.On {
		var err error
		if s.imagine, err = newImagination(parts.Imagine, s.spec, s.ro.Shape, parts); err != nil {
			return nil, err
		}
	}
	return s, s.hire()
}

// Run plays and learns until the run's length is reached or ctx ends, in which
// case it saves and returns ctx's error. watch, if not nil, sees every update.
func (s *SelfPlay) Run(ctx context.Context, run *runlog.Run, watch func(*Progress)) error {
	saved := s.step
	for s.step < s.cfg.Steps {
		if err := ctx.Err(); err != nil {
			return s.stopped(run, err)
		}
		if err := s.prepare(); err != nil {
			return err
		}
		s.collect()
		if s.warm() {
			watched(s.ro)
		}
		s.show(s.ro, false)
		s.step += s.played()
		s.update++
		stats, err := s.learn()
		if err != nil {
			return s.failed(run, err)
		}
		p := s.progress(stats)
		if err := s.guard(run, p); err != nil {
			return err
		}
		if watch != nil {
			watch(p)
		}
		if err := run.Log(p.Rows); err != nil {
			return err
		}
		if s.step/s.cfg.Save > saved/s.cfg.Save || s.step >= s.cfg.Steps {
			saved = s.step
			s.cast.remember(s.parts.Brains)
			if err := s.checkpoint(run); err != nil {
				return err
			}
		}
	}
	return nil
}

// prepare brings the game, the team and the stand-ins to where the run is.
func (s *SelfPlay) prepare() error {
	stage := s.stage
	for i, st := range s.cfg.Stages {
		if s.step >= st.At {
			stage = i
		}
	}
	if stage != s.stage {
		if err := s.enter(stage); err != nil {
			return err
		}
	}
	for a := range s.spec.Seats {
		who := s.role(a)
		s.cast.learns[a] = who == "learn"
		if s.warm() {
			if err := s.showBots(agent.ID(a)); err != nil {
				return err
			}
			continue
		}
		players, err := s.play(who, agent.ID(a))
		if err != nil {
			return err
		}
		for w := range s.players {
			s.players[w][a].(*castPlayer).own = players[w]
		}
	}
	st := s.cfg.Standins
	s.cast.share = st.Share
	if over := st.Over; st.ShareEnd >= 0 {
		if over == 0 {
			over = s.cfg.Steps
		}
		s.cast.share += (st.ShareEnd - st.Share) * min(float64(s.step)/float64(over), 1)
	}
	return nil
}

// enter starts a stage of the curriculum.
func (s *SelfPlay) enter(stage int) error {
	g, err := s.parts.Stage(s.cfg.Stages[stage].Set)
	if err != nil {
		return err
	}
	s.stage = stage
	if err := s.open(g); err != nil {
		return err
	}
	return s.hire()
}

// role returns who plays agent a now.
func (s *SelfPlay) role(a int) string {
	who := "learn"
	if len(s.cfg.Team) > 0 {
		who = s.cfg.Team[a]
	}
	for _, sw := range s.cfg.Switch {
		if sw.Agent == a && s.step >= sw.At {
			who = sw.To
		}
	}
	return who
}

// learn lets every brain learn from its own agents' rows, side by side.
func (s *SelfPlay) learn() ([][]agent.Stat, error) {
	if s.imagine != nil {
		return s.learnImagining()
	}
	return s.learnBy(func(i int, shape ppo.Shape, share float64) ([]agent.Stat, error) {
		return s.parts.Minds[i].Learn(s.ro, shape, share)
	})
}

// learnBy lets every brain i learn by do.
func (s *SelfPlay) learnBy(do func(i int, shape ppo.Shape, share float64) ([]agent.Stat, error)) ([][]agent.Stat, error) {
	shape := s.shape()
	share := float64(s.step) / float64(s.cfg.Steps)
	stats, errs := make([][]agent.Stat, len(s.parts.Brains)), make([]error, len(s.parts.Brains))
	s.timed("learn", func() {
		var next atomic.Int32 // one brain at a time on each core, whose cache holds one
		learn := func() {
			for i := int(next.Add(1)) - 1; i < len(stats); i = int(next.Add(1)) - 1 {
				stats[i], errs[i] = do(i, shape, share)
			}
		}
		var wg sync.WaitGroup
		for range min(s.envs.Workers, len(stats)) - 1 {
			wg.Go(learn)
		}
		learn()
		wg.Wait()
	})
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("train: brain %d at env step %d: %w", i, s.step, err)
		}
	}
	return stats, nil
}

// shape says how true rewards become what is learnt from, now.
func (s *SelfPlay) shape() ppo.Shape {
	c := s.reward
	sh := ppo.Shape{Scale: c.RewardScale, Prosocial: c.Prosocial, Gamma: c.Gamma}
	if c.ProsocEnd >= 0 {
		sh.Prosocial += (c.ProsocEnd - c.Prosocial) * min(float64(s.step)/float64(s.cfg.Steps), 1)
	}
	if len(s.cfg.GoalWeight) > 0 {
		sh.Goal = make([]float64, len(s.spec.Goals))
		for g := range sh.Goal {
			sh.Goal[g] = 1
		}
		for _, w := range s.cfg.GoalWeight {
			sh.Goal[goalIndex(s.spec.Goals, w.Goal)] = w.From + (w.To-w.From)*min(float64(s.step)/float64(w.Over), 1)
		}
	}
	return sh
}

// played counts the steps of the last window that were part of an episode; the
// others only started one.
func (s *SelfPlay) played() int {
	n := s.ro.Steps * s.ro.Envs
	for t := 1; t <= s.ro.Steps; t++ {
		for e := range s.ro.Envs {
			if s.ro.Start[s.ro.Moment(t, e)] {
				n--
			}
		}
	}
	return n
}

// open starts copies of a game; windows of the same shape keep their memory.
func (s *SelfPlay) open(g game.Game) error {
	key := s.parts.Key
	if s.stage >= 0 {
		key = key.Child("stage", s.stage)
	}
	envs, err := rollout.New(rollout.Config{Game: g, Envs: s.cfg.Envs, Key: key, Workers: s.parts.Workers})
	if err != nil {
		return err
	}
	if got, want := envs.Spec().Obs.Len(), s.spec.Obs.Len(); got != want {
		return fmt.Errorf("train: stage %d changes the observation from %d to %d numbers; a network cannot follow: change only parameters that keep the board's size and the number of agents", s.stage, want, got)
	}
	s.envs = envs
	if s.ro == nil {
		s.ro = batch.New(envs.Shape(s.cfg.Window, s.parts.GoalLen))
	}
	return nil
}

// hire makes a castPlayer for every agent and worker.
func (s *SelfPlay) hire() error {
	workers := s.envs.Workers
	s.players = make([][]rollout.Player, workers)
	for w := range s.players {
		s.players[w] = make([]rollout.Player, s.spec.Seats)
	}
	for a := range s.spec.Seats {
		var who [][]rollout.Player
		for _, name := range s.cfg.Standins.Who {
			if name == "past" {
				who = append(who, nil)
				continue
			}
			ps, err := s.play(name, agent.ID(a))
			if err != nil {
				return err
			}
			who = append(who, ps)
		}
		for w := range workers {
			p := &castPlayer{c: s.cast, agent: agent.ID(a)}
			for _, ps := range who {
				if ps == nil {
					p.who = append(p.who, nil)
				} else {
					p.who = append(p.who, ps[w])
				}
			}
			brain := s.parts.BrainOf[a]
			if s.cast.hasPast {
				for _, params := range s.cast.ring[brain] {
					p.past = append(p.past, pastPlayer(s.parts.Brains[brain].Model, params, s.cfg.Envs))
				}
			}
			s.players[w][a] = p
		}
	}
	return nil
}

// play returns the players, one a worker, of a policy that plays agent a.
func (s *SelfPlay) play(who string, a agent.ID) ([]rollout.Player, error) {
	if made, ok := s.roles[role{a, who}]; ok {
		return made, nil
	}
	var players []rollout.Player
	if who == "learn" {
		var err error
		if players, err = s.parts.Minds[s.parts.BrainOf[a]].Players(a, s.envs.Workers, s.cfg.Envs); err != nil {
			return nil, err
		}
	} else {
		make, err := s.parts.Players(who)
		if err != nil {
			return nil, err
		}
		if players, err = make(s.envs.Workers, s.cfg.Envs); err != nil {
			return nil, err
		}
	}
	s.roles[role{a, who}] = players
	return players, nil
}

// checkpoint writes everything that changes from one iteration to the next.
func (s *SelfPlay) checkpoint(run *runlog.Run) error {
	var err error
	s.timed("checkpoint", func() {
		var body []byte
		if body, err = s.Save(); err != nil {
			return
		}
		err = run.Checkpoint(int64(s.step), body, s.score, runlog.Keep{Last: s.cfg.Keep, Every: s.cfg.KeepEvery})
	})
	run.SetPhases(s.phases)
	return err
}

// stopped saves before giving up the run.
func (s *SelfPlay) stopped(run *runlog.Run, cause error) error {
	if err := s.checkpoint(run); err != nil {
		return err
	}
	return cause
}

// timed adds the time that do takes to a phase.
func (s *SelfPlay) timed(phase string, do func()) {
	if s.parts.Clock == nil {
		do()
		return
	}
	start := s.parts.Clock()
	do()
	s.phases[phase] += (s.parts.Clock() - start).Seconds()
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
	if err := s.cast.save(f); err != nil {
		return nil, err
	}
	if err := s.saveMemories(f); err != nil {
		return nil, err
	}
	for i, b := range s.parts.Minds {
		if err := b.Save(f, fmt.Sprintf("brain/%d/", i)); err != nil {
			return nil, err
		}
	}
	if s.imagine != nil {
		s.imagine.world.save(f)
	}
	if err := s.guards.save(f); err != nil {
		return nil, err
	}
	return f.AppendBinary(nil)
}

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
	if err := s.cast.load(f); err != nil {
		return err
	}
	if err := s.loadMemories(f); err != nil {
		return err
	}
	for i, b := range s.parts.Minds {
		if err := b.Load(f, fmt.Sprintf("brain/%d/", i)); err != nil {
			return err
		}
	}
	if s.imagine != nil {
		if err := s.imagine.world.load(f); err != nil {
			return err
		}
	}
	return s.guards.load(f)
}

// Step returns how many env steps have been played.
func (s *SelfPlay) Step() int { return s.step }
