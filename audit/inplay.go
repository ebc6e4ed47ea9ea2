package audit

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hop-marl/hop/agent/learner"
	checks "github.com/hop-marl/hop/audit/check"
	"github.com/hop-marl/hop/audit/probe"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/train"
)

// inPlay is agents who plan in play alone, as they play what was learnt: watched for some
// windows, with values that promise far too much, so that what guards them has something to do.
type inPlay struct {
	u       *session
	agents  []agent.ID
	mind    learner.Mind
	copy    made // the same, without a plan against somebody unknown, which remembers more than is saved: for looking inside
	insight checks.Decisions
	studies []*checks.Study
	looked  map[agent.ID]bool
	err     error // of looking
}

// How agents are watched in play.
const (
	playEnvs    = 3
	playWindows = 18
	promised    = 60 // reward that an episode is taken to be worth beside what it is
)

// plansInPlay lets the minds that plan in play alone play, and says what was found.
func (u *session) plansInPlay() []check.Finding {
	if u.broke != nil || u.spec.Opaque || u.spec.View > 0 {
		return nil
	}
	var out []check.Finding
	for i, t := range u.taps {
		if t.hop == nil || t.hop.Search.When != "play" || t.hop.Search.Kind == "none" {
			continue
		}
		p := &inPlay{u: u, agents: t.agents, looked: map[agent.ID]bool{}}
		if err := p.play(i, t); err != nil {
			f := check.Finding{Step: 4, Check: "agents play what was learnt", Module: "planner", Unit: "minds", Rows: 1}
			f.Accuse(check.Fault, 1, fmt.Sprintf("Mind %d cannot play what it learnt: %v.", i, err), "LoadWeights, Freeze and Players of that mind")
			return append(out, f)
		}
		found := append(p.insight.Searching(), p.insight.Peeking(true)...)
		for _, f := range append(found, checks.OthersFindings(p.studies)...) {
			f.Check += ", in play"
			out = append(out, f)
		}
		if slices.ContainsFunc(p.studies, (*checks.Study).Unplanned) {
			out = append(out, check.Finding{
				Step: 4, Check: "plans against somebody unknown", Module: "planner", Unit: "share of decisions", Status: check.NotAsked,
				Says: fmt.Sprintf("In %d windows there were too few decisions that are not a script's for every agent's plans to be looked at.",
					playWindows),
			})
		}
	}
	return out
}

// made is a mind that was made anew and plays what was learnt.
type made struct {
	learner.Mind
	parts train.Parts
	reads learner.GoalReading
}

// make makes the minds anew and loads what mind i has learnt.
func (p *inPlay) make(i int, t *tap, unknown bool) (m made, err error) {
	u := p.u
	defer func(was bool) { t.hop.Search.Unknown = was }(t.hop.Search.Unknown)
	t.hop.Search.Unknown = t.hop.Search.Unknown && unknown
	if m.parts, err = u.exp.Parts(u.opt.Seeds[0], machineOf(u.from)); err != nil {
		return m, err
	}
	if u.opt.Change != nil {
		s := u.exp
		u.opt.Change(&s, &m.parts)
	}
	m.Mind = m.parts.Minds[i]
	saved, err := probe.Saved(t.Mind)
	if err != nil {
		return m, err
	}
	weights, ok := learner.As[learner.Weighted](m.Mind)
	frozen, can := learner.As[learner.Freezer](m.Mind)
	reads, has := learner.As[learner.GoalReading](m.Mind)
	acting, acts := learner.As[learner.Acting](m.Mind)
	if !ok || !can || !has || !acts {
		return m, fmt.Errorf("audit: it has not the abilities that it takes")
	}
	if r, ok := learner.As[learner.Rememberer](m.Mind); ok {
		r.Remember(playEnvs, u.exp.Train.Window)
	}
	if err := weights.LoadWeights(saved, ""); err != nil {
		return m, err
	}
	frozen.Freeze(false)
	_, params := acting.Actor()
	for _, part := range params.Parts {
		if part.Name == "value/b" {
			params.W[part.Off] += float32(promised * t.exp.PPO.RewardScale)
		}
	}
	m.reads = reads
	return m, nil
}

// play plays what mind i has learnt.
func (p *inPlay) play(i int, t *tap) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("it panics: %v, in %s", x, panicked())
		}
	}()
	u := p.u
	m, err := p.make(i, t, true)
	if err != nil {
		return err
	}
	if p.copy, err = p.make(i, t, false); err != nil {
		return err
	}
	p.mind = m.Mind
	parts, scale, steps := m.parts, t.exp.PPO.RewardScale, u.exp.Train.Window
	cfg := *t.hop
	cfg.Goals.Life, cfg.Search.When = 0, "always"
	f, err := probe.Saved(p.mind)
	if err != nil {
		return err
	}
	key := u.key.Child("in play")
	envs, err := rollout.New(rollout.Config{Game: parts.Game, Envs: playEnvs, Key: key, Workers: 1})
	if err != nil {
		return err
	}
	players := make([]rollout.Player, u.spec.Seats)
	for _, a := range p.agents {
		s := checks.NewStudy(cfg, u.spec, a, u.key.Child("mind", i), true)
		if err := s.Before(checks.Part(f, a), playEnvs); err != nil {
			return err
		}
		if cfg.Search.Guard {
			if err := s.Guarded(checks.Part(f, a), parts.Game, scale, playEnvs); err != nil {
				return err
			}
		}
		p.studies = append(p.studies, s)
		list, err := p.mind.Players(a, 1, playEnvs)
		if err != nil {
			return err
		}
		if err := s.Unknown(list[0], parts.Game, playEnvs); err != nil {
			return err
		}
		copies, err := p.copy.Players(a, 1, playEnvs)
		if err != nil {
			return err
		}
		subject := checks.Subject{Mind: p.copy.Mind, Player: copies[0], Hop: &cfg, Game: parts.Game, Scale: scale,
			Actor: u.exp.Actor}
		players[a] = &watchedPlayer{Player: list[0], in: p, subject: subject, study: s}
	}
	if slices.Contains(players, nil) {
		return nil // others of another kind play there
	}
	ro := batch.New(envs.Shape(steps, m.reads.GoalLen()))
	for range playWindows {
		if err := errors.Join(envs.Collect(ro, [][]rollout.Player{players}), p.err); err != nil {
			return err
		}
		if f, err = probe.Saved(p.mind); err != nil {
			return err
		}
		if err := p.follow(ro, f); err != nil {
			return err
		}
	}
	return nil
}

// follow holds what was believed in a window against the reference.
func (p *inPlay) follow(ro *batch.Rollout, f *safetensors.File) error {
	for _, s := range p.studies {
		if err := s.Played(&learner.Window{Rollout: ro}, checks.Part(f, s.Agent())); err != nil {
			return err
		}
	}
	return nil
}

// look examines a decision that a copy of the mind makes.
func (p *inPlay) look(s checks.Subject, v *rollout.View, envs []int32) {
	f, err := probe.Saved(p.mind)
	saver, ok := learner.As[learner.Saver](s.Mind)
	if err == nil && ok {
		err = saver.Load(f, "")
	}
	if err == nil {
		err = p.insight.Look(s, v, envs)
	}
	p.err = errors.Join(p.err, err)
}

// watchedPlayer is a player of one agent in play.
type watchedPlayer struct {
	rollout.Player
	in      *inPlay
	subject checks.Subject
	study   *checks.Study
}

// Act looks at a decision of the plan, once, lets the player act and keeps what it holds.
func (w *watchedPlayer) Act(v *rollout.View, envs []int32) {
	early := func(n int32) bool { return v.Start[v.Moment(v.T, int(n))] || !w.study.Plans(int(n)) }
	if later := slices.DeleteFunc(slices.Clone(envs), early); !w.in.looked[v.Agent] && len(later) > 0 {
		w.in.looked[v.Agent] = true
		w.in.look(w.subject, v, later)
	}
	w.study.Acts(v, envs)
	w.Player.Act(v, envs)
	if b, ok := w.Player.(learner.Believing); ok {
		w.study.Acted(b, v, envs)
	}
}

// EpisodeOver passes on.
func (w *watchedPlayer) EpisodeOver(v *rollout.View, n int) {
	w.study.Over(v.T, n)
	w.study.Earned(n, v.EarnedOf(n))
	w.study.Ended(v, n)
	if p, ok := w.Player.(rollout.Watcher); ok {
		p.EpisodeOver(v, n)
	}
}

var _ rollout.Watcher = (*watchedPlayer)(nil)
