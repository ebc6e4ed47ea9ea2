package train

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/stranger"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/runlog"
)

// Parts are what the loop works with, made by spec.Build.
type Parts struct {
	Game    game.Game                             // the true game
	Stage   func(set []string) (game.Game, error) // the game with parameters changed
	Minds   []learner.Mind                        // what learns
	Twins   func() ([]learner.Mind, error)        // makes them once more, to be loaded from them; nil: they are not scored on strangers
	MindOf  []int                                 // [A] each agent's mind
	Imagine ImaginationMaker                      // learning from made-up steps; nil: off
	Players func(who string) (PlayerMaker, error) // bots and frozen agents
	Key     rng.Key                               // names all streams
	Workers int                                   // cores to use; not part of the numbers
	Clock   func() time.Duration                  // for phase times; nil: none are taken
	Watch   Watching                              // sees windows before they are learnt from; nil: nobody does
	Rewards []Rewards                             // [mind] how each mind's rewards are shaped; nil: as the run's
	Kinds   []string                              // [A] what each agent is as a learner; nil: all are alike
	Device  bool                                  // a device takes the minds' gradient steps: they wait for it side by side
}

// Watching sees every window between playing and learning: played ones, and
// those that were imagined. It is for audits; what it changes is learnt from.
type Watching func(ro *batch.Rollout, imagined bool)

// Imagination makes up windows for minds to learn from beside played ones.
type Imagination interface {
	learner.Saver
	// Share lets the workers of a pool help.
	Share(pool *cores.Pool)
	// Learn takes in a played window and returns how often minds are to learn from
	// imagination now.
	Learn(ro *batch.Rollout, update int) (rounds int, err error)
	// Imagine fills a window, valid until the next call.
	Imagine(update, round int) *learner.Imagined
	// Stats reports on the model behind it.
	Stats() []agent.Stat
	// Rows returns how many real steps the model learns from: through agent a's eyes, or
	// all if it does not remember whose they were.
	Rows(a agent.ID) (n int, own bool)
}

// ImaginationMaker makes it, for real windows of that shape and the minds that
// will learn.
type ImaginationMaker func(played batch.Shape, minds []learner.Mind, workers int) (Imagination, error)

// abilities is a mind with the abilities that the loop uses, found once; nil where
// it has none.
type abilities struct {
	learner.Mind
	saver      learner.Saver
	announcing learner.Announcing
	counting   learner.Counting
	snapshots  learner.Snapshots
	ruled      learner.Ruled
	networks   []learner.Network
	predicts   bool // it models others
	goalLen    int
}

// abilitiesOf finds what a mind can do besides playing and learning.
func abilitiesOf(m learner.Mind) abilities {
	l := abilities{Mind: m}
	l.saver, _ = learner.As[learner.Saver](m)
	l.announcing, _ = learner.As[learner.Announcing](m)
	l.counting, _ = learner.As[learner.Counting](m)
	l.snapshots, _ = learner.As[learner.Snapshots](m)
	l.ruled, _ = learner.As[learner.Ruled](m)
	_, l.predicts = learner.As[learner.Predicting](m)
	if n, ok := learner.As[learner.Networked](m); ok {
		l.networks = n.Networks()
	}
	if g, ok := learner.As[learner.GoalReading](m); ok {
		l.goalLen = g.GoalLen()
	}
	return l
}

// PlayerMaker makes players of one policy for a number of envs, one for each
// worker. It is called once for each agent that the policy plays. Players that
// remember something share it, by env, and are keepers.
type PlayerMaker func(workers, envs int) ([]rollout.Player, error)

// SelfPlay is a run in which agents learn by playing each other, and whoever else
// the team holds. Make it with NewSelfPlay, then Run it.
type SelfPlay struct {
	cfg     Config
	rewards Rewards
	parts   Parts
	spec    game.Spec
	minds   []abilities

	envs          *rollout.Envs
	ro            *batch.Rollout // the last window
	spare         *batch.Rollout // the one before it, where minds learn one window behind
	waits         bool           // minds have not learnt from the last window yet
	sent          func()         // is called when a device has all that minds learn from; nil: nobody waits for that
	goalLen       int
	dealing       *dealing
	players       [][]rollout.Player        // [worker][A]
	roles         map[role][]rollout.Player // [worker]
	imagine       Imagination               // nil: off
	imaginedShare float64                   // of the value targets that may be imagined
	imagined      *batch.Rollout            // the last window that was; nil: none after the last played one
	guards        *guards
	strangers     *strangers // whom models of others are scored on; nil: nobody
	recorded      *recorded  // what is shown again; nil: nothing

	step, update int
	began        int     // env step at which the last window did
	stage        int     // index into cfg.Stages, -1: the true game
	score        float64 // recent mean return, for the best checkpoint
	scored       bool
	phases       map[string]float64 // seconds
	used         map[string]float64 // seconds of cores, by phase

	cores    *cores.Pool // the run's workers; open while it runs
	learning cores.Job
	both     cores.Job
}

// NewSelfPlay prepares a run at its start.
func NewSelfPlay(cfg Config, rewards Rewards, parts Parts) (*SelfPlay, error) {
	s := &SelfPlay{
		cfg: cfg, rewards: rewards, parts: parts, spec: parts.Game.Spec(), stage: -1,
		roles: map[role][]rollout.Player{}, phases: map[string]float64{}, used: map[string]float64{},
		cores: cores.New(parts.Workers, parts.Clock), learning: cores.Job{Whole: true}, both: cores.Job{Whole: true},
	}
	if parts.Device {
		s.cores.Brief()
	}
	for _, m := range parts.Minds {
		l := abilitiesOf(m)
		if l.goalLen > 0 && s.goalLen > 0 && l.goalLen != s.goalLen {
			return nil, fmt.Errorf("train: minds that read %d and %d numbers about the others' goals cannot play side by side; "+
				"give the planners of minds the same goals", s.goalLen, l.goalLen)
		}
		s.minds, s.goalLen = append(s.minds, l), max(s.goalLen, l.goalLen)
		if r, ok := learner.As[learner.Rememberer](m); ok {
			r.Remember(cfg.Envs, cfg.Window)
		}
		if b, ok := learner.As[learner.Behind](m); ok && cfg.Behind {
			b.Behind()
		}
	}
	var err error
	if s.cfg.Standins.Who, err = stranger.Population(parts.Game, cfg.Standins.Who); err != nil {
		return nil, err
	}
	if who := s.cfg.Standins.Who; cfg.Standins.Teams > 0 && len(who) < 2 {
		return nil, config.Bad("train.standins.who", who, "two who differ, because train.standins.teams is above 0")
	}
	if s.dealing, err = newDealing(s.spec.Seats, cfg.Envs, s.minds, s.cfg.Standins.Who, parts.Key); err != nil {
		return nil, err
	}
	s.dealing.shown = cfg.Standins.Shown
	s.dealing.teams = newTeams(cfg.Standins.Teams, cfg.Standins.Alike, cfg.Envs, parts.Key)
	s.guards = newGuards(s.minds)
	if err := s.open(parts.Game); err != nil {
		return nil, err
	}
	if parts.Imagine != nil {
		if s.imagine, err = parts.Imagine(s.ro.Shape, parts.Minds, s.parts.Workers); err != nil {
			return nil, err
		}
		s.imagine.Share(s.cores)
	}
	if s.strangers, err = newStrangers(s.cfg, parts); err != nil {
		return nil, err
	}
	if s.recorded, err = newRecorded(s.cfg, parts); err != nil {
		return nil, err
	}
	return s, s.hire()
}

// Run plays and learns until the run's length is reached or ctx ends, in which
// case it saves and returns ctx's error. watch, if not nil, sees every update.
func (s *SelfPlay) Run(ctx context.Context, run *runlog.Run, watch func(*Progress)) error {
	s.cores.Open()
	defer s.cores.Close()
	saved := s.step
	if s.update == 0 { // how well they know strangers before they learn
		first, err := s.scoreStrangers()
		if err != nil {
			return err
		}
		if err := run.Log(s.strangerRows(first)); err != nil {
			return err
		}
	}
	for s.step < s.cfg.Steps || s.waits {
		if err := ctx.Err(); err != nil {
			return s.stopped(run, err)
		}
		turn := s.turn
		if s.cfg.Behind {
			turn = s.behind
		}
		stats, failure, err := turn()
		if err != nil {
			return err
		}
		if failure != nil {
			return s.failed(run, failure)
		}
		p := s.progress(stats)
		if p.Strangers, err = s.scoreStrangers(); err != nil {
			return err
		}
		p.Rows = append(p.Rows, s.strangerRows(p.Strangers)...)
		if s.done() { // this step has rows already
			p.Rows = nil
		}
		if err := s.guard(run, p); err != nil {
			return err
		}
		if watch != nil {
			watch(p)
		}
		if err := run.Log(p.Rows); err != nil {
			return err
		}
		if s.step/s.cfg.Save > saved/s.cfg.Save || s.step >= s.cfg.Steps && !s.waits {
			saved = s.step
			s.dealing.remember(s.minds)
			if err := s.checkpoint(run); err != nil {
				return err
			}
		}
	}
	return nil
}

// turn plays a window and lets minds learn from it; failure is theirs.
func (s *SelfPlay) turn() (stats [][]agent.Stat, failure, err error) {
	if err := s.prepare(); err != nil {
		return nil, nil, err
	}
	if err := s.collect(); err != nil {
		return nil, nil, fmt.Errorf("train: after env step %d: %w", s.step, err)
	}
	s.count()
	stats, failure = s.learn()
	return stats, failure, nil
}

// behind plays a window while minds learn from the one before it, so that it is played by what they were
// before that. At the end there is a window to learn from and none to play.
func (s *SelfPlay) behind() (stats [][]agent.Stat, failure, err error) {
	stats = make([][]agent.Stat, len(s.minds))
	learn := func() {
		if s.waits {
			stats, failure = s.learn()
		}
	}
	if s.step >= s.cfg.Steps {
		learn()
		s.waits = false
		return stats, failure, nil
	}
	if err := s.prepare(); err != nil {
		return nil, nil, err
	}
	if s.spare == nil {
		s.spare = batch.New(s.ro.Shape)
	}
	s.envs.Prepare(s.players)
	play := func() { err = s.envs.Collect(s.spare, s.players) }
	before, used := s.phases["learn"], s.used["learn"]
	s.timed("collect", func() {
		switch {
		case s.parts.Watch != nil: // who watches sees one thing at a time
			learn()
			play()
		case s.parts.Device: // who learns waits for it, once it has the window
			var learning sync.WaitGroup
			sent := make(chan struct{})
			s.sent = sync.OnceFunc(func() { close(sent) })
			learning.Go(func() { learn(); s.sent() })
			<-sent
			play()
			learning.Wait()
		default:
			s.cores.Do(&s.both, 2, func(part int) { []func(){learn, play}[part]() })
		}
	})
	s.phases["collect"] -= s.phases["learn"] - before // what it took longer
	s.used["collect"] -= s.used["learn"] - used
	if err != nil {
		return nil, nil, fmt.Errorf("train: after env step %d: %w", s.step, err)
	}
	s.ro, s.spare, s.waits = s.spare, s.ro, true
	s.count()
	return stats, failure, nil
}

// done reports whether nothing was played in the last turn, because only the learning was left.
func (s *SelfPlay) done() bool { return s.cfg.Behind && !s.waits }

// count counts the window that was played.
func (s *SelfPlay) count() {
	s.show(s.ro, false)
	s.began = s.step
	s.step += s.played()
	s.update++
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
		s.dealing.learns[a] = who == "learn"
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
			s.players[w][a].(*dealtPlayer).own = players[w]
		}
	}
	st := s.cfg.Standins
	s.dealing.share = st.Share
	if over := st.Over; st.ShareEnd >= 0 {
		if over == 0 {
			over = s.cfg.Steps
		}
		s.dealing.share += (st.ShareEnd - st.Share) * min(float64(s.step)/float64(over), 1)
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
	for _, m := range s.minds {
		if m.ruled == nil {
			continue
		}
		if err := m.ruled.SetGame(g); err != nil {
			return fmt.Errorf("train: stage %d: %w", stage, err)
		}
		for _, a := range m.Agents() {
			delete(s.roles, role{a, "learn"}) // its players plan on the rules of before
		}
	}
	if err := s.open(g); err != nil {
		return err
	}
	return s.hire()
}

// role returns who plays agent a now.
func (s *SelfPlay) role(a int) string { return s.cfg.Role(a, s.step) }

// learn lets every mind learn from the window and, if there is imagination that
// can be trusted, from imagined ones beside it.
func (s *SelfPlay) learn() ([][]agent.Stat, error) {
	w := learner.Window{Rollout: s.ro, Share: float64(s.step) / float64(s.cfg.Steps), Cores: s.cores, Beside: len(s.minds),
		Played: s.parts.Watch == nil}
	rounds := 0
	s.imagined = nil
	var err error
	if w.Recorded, err = s.recorded.window(s.update); err != nil {
		return nil, fmt.Errorf("train: what was recorded, at env step %d: %w", s.step, err)
	}
	if s.imagine != nil {
		s.timed("world", func() { rounds, err = s.imagine.Learn(s.ro, s.update) })
		if err != nil {
			return nil, fmt.Errorf("train: imagination at env step %d: %w", s.step, err)
		}
	}
	if rounds == 0 {
		return s.learnFrom(&w)
	}
	var stats [][]agent.Stat
	for round := range rounds {
		s.timed("imagine", func() { w.Imagined = s.imagine.Imagine(s.update, round) })
		s.imaginedShare, s.imagined = 1-w.Imagined.RealRatio, w.Imagined.Rollout
		s.show(w.Imagined.Rollout, true)
		now, err := s.learnFrom(&w)
		if err != nil {
			return nil, err
		}
		stats = newest(now, stats)
	}
	return stats, nil
}

// newest returns what minds report of a round, and what only rounds before it did:
// others are learnt about once.
func newest(now, before [][]agent.Stat) [][]agent.Stat {
	for i, list := range before {
		for _, st := range list {
			if _, again := stat(now[i], st.Name); !again {
				now[i] = append(now[i], st)
			}
		}
	}
	return now
}

// learnFrom lets the minds learn side by side. Who has no mind left helps with the
// minibatches of the others.
func (s *SelfPlay) learnFrom(w *learner.Window) ([][]agent.Stat, error) {
	stats, errs := make([][]agent.Stat, len(s.minds)), make([]error, len(s.minds))
	s.timed("learn", func() {
		learn := func(i int, pool *cores.Pool) {
			own := *w
			own.Rewards, own.Cores = s.shaped(i), pool
			stats[i], errs[i] = s.minds[i].Learn(&own)
		}
		if !s.parts.Device {
			s.cores.Do(&s.learning, len(stats), func(i int) { learn(i, w.Cores) }) // one mind at a time on each core, whose cache holds one
			return
		}
		for _, m := range s.minds {
			m.announcing.Announce()
		}
		var all sync.WaitGroup
		left := atomic.Int32{}
		left.Store(int32(len(stats)))
		w.Sent = func() {
			if left.Add(-1) == 0 && s.sent != nil {
				s.sent()
			}
		}
		for i := range stats {
			all.Go(func() { learn(i, nil) })
		}
		all.Wait()
	})
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("train: mind %d at env step %d: %w", i, s.step, err)
		}
	}
	return stats, nil
}

// show shows a window to who watches.
func (s *SelfPlay) show(ro *batch.Rollout, imagined bool) {
	if s.parts.Watch != nil {
		s.parts.Watch(ro, imagined)
	}
}

// shaped says how true rewards become what a mind learns from, now.
func (s *SelfPlay) shaped(m int) learner.Rewards {
	c := s.rewards
	if s.parts.Rewards != nil {
		c = s.parts.Rewards[m]
	}
	r := learner.Rewards{Scale: c.Scale, Prosocial: c.Prosocial, Gamma: c.Gamma}
	if c.ProsocialEnd >= 0 {
		r.Prosocial += (c.ProsocialEnd - c.Prosocial) * min(float64(s.step)/float64(s.cfg.Steps), 1)
	}
	if len(s.cfg.GoalWeight) > 0 {
		r.Goal = make([]float64, len(s.spec.Goals))
		for g := range r.Goal {
			r.Goal[g] = 1
		}
		for _, w := range s.cfg.GoalWeight {
			r.Goal[slices.Index(s.spec.Goals, w.Goal)] = w.From + (w.To-w.From)*min(float64(s.step)/float64(w.Over), 1)
		}
	}
	return r
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
	envs, err := rollout.New(rollout.Config{Game: g, Envs: s.cfg.Envs, Key: key, Workers: s.parts.Workers, Cores: s.cores})
	if err != nil {
		return err
	}
	if got, want := envs.Spec().Obs.Len(), s.spec.Obs.Len(); got != want {
		return fmt.Errorf("train: stage %d changes the observation from %d to %d numbers; a network cannot follow: change "+
			"only parameters that keep the board's size and the number of agents", s.stage, want, got)
	}
	s.envs = envs
	if s.ro == nil {
		s.ro = batch.New(envs.Shape(s.cfg.Window, s.goalLen))
	}
	return nil
}

// hire makes a dealtPlayer for every agent and worker.
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
			p := &dealtPlayer{d: s.dealing, agent: agent.ID(a)}
			p.Who, p.Player = func(n int) int { return int(s.dealing.choice[a][n]) }, p.player
			for _, ps := range who {
				if ps == nil {
					p.who = append(p.who, nil)
				} else {
					p.who = append(p.who, ps[w])
				}
			}
			if s.dealing.hasPast {
				i := s.parts.MindOf[a]
				for _, params := range s.dealing.ring[i] {
					p.past = append(p.past, s.minds[i].snapshots.Past(params, s.cfg.Envs))
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
		if players, err = s.parts.Minds[s.parts.MindOf[a]].Players(a, s.envs.Workers, s.cfg.Envs); err != nil {
			return nil, err
		}
	} else {
		hire, err := s.parts.Players(who)
		if err != nil {
			return nil, err
		}
		if players, err = hire(s.envs.Workers, s.cfg.Envs); err != nil {
			return nil, err
		}
	}
	s.roles[role{a, who}] = players
	return players, nil
}

// timed adds the time that do takes to a phase.
func (s *SelfPlay) timed(phase string, do func()) {
	if s.parts.Clock == nil {
		do()
		return
	}
	start, idle := s.parts.Clock(), s.cores.Idle()
	do()
	took := s.parts.Clock() - start
	s.phases[phase] += took.Seconds()
	s.used[phase] += (took*time.Duration(s.cores.Workers()) - (s.cores.Idle() - idle)).Seconds()
}

// Pool returns the run's workers, for audits.
func (s *SelfPlay) Pool() *cores.Pool { return s.cores }

// Step returns how many env steps have been played.
func (s *SelfPlay) Step() int { return s.step }
