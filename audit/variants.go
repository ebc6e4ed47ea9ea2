package audit

import (
	"context"
	"fmt"

	"github.com/hop-marl/hop/agent/learner"
	checks "github.com/hop-marl/hop/audit/check"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/spec"
)

// A run is seen at the settings of its spec, and a few windows more are seen at others: as large as the run is, with passes that end
// early, in the middle and beyond the end of what changes over a run, and with several rounds of imagination.

// sized returns the spec with about as many envs as it has: more than the small copy, of those who plan not many more.
func sized(s spec.Spec) spec.Spec {
	few := small(s).Train.Envs
	given, steps := s.Train.Envs, s.Train.Window
	if s = small(s); len(s.Audits()) > 0 && s.Audits()[0].Envs > 0 {
		given = min(given, 2*few+3)
	}
	if s.Train.Envs, s.Train.Window = min(given, 256), min(steps, 64); s.Actor.LSTM > 0 {
		s.Train.Envs = min(given, 24)
	}
	return s
}

// oneWindow plays one window of a spec that is not quite the audited one, and holds it against the rules and what the first mind
// makes of it against its definition. in says in which respect it is not.
func oneWindow(ctx context.Context, s spec.Spec, opt Options, in string, f check.Finding) (check.Finding, error) {
	u, err := newSession(s, opt.Seeds[0], opt, true, nil)
	if err != nil {
		return f, err
	}
	u.large = true
	if err := u.run(ctx, s.Train.Warm.Windows+1); err != nil && u.broke == nil {
		return f, err
	}
	found := append(u.replay.Findings(), u.handed(), u.earnings.Finding(), u.counters(), u.acted())
	found = append(found, checks.Updates([]*checks.Learner{&u.taps[0].update})...)
	if u.broke != nil {
		found = append(found, u.broken(nil))
	}
	name, rows := f.Check, f.Rows
	for _, g := range found {
		if rows += g.Rows; g.Status >= check.Suspect && g.Status > f.Status {
			f = g
			f.Says = in + ": " + g.Says
		}
	}
	f.Check, f.Rows = name, rows
	return f, nil
}

// atSize plays one window with as many envs as the run has.
func atSize(ctx context.Context, s spec.Spec, opt Options) (check.Finding, error) {
	in := fmt.Sprintf("With %d envs", s.Train.Envs)
	return oneWindow(ctx, s, opt, in, check.Finding{
		Step: 4, Check: "the same at its own size", Module: "ppo", Unit: "findings",
		Says: in + " a window is what the rules give, and what is learnt from it what the definition gives.",
	})
}

// stopsEarly plays windows whose passes over the rows end once the policy has moved so far (nats), whatever the spec says.
func stopsEarly(ctx context.Context, s spec.Spec, opt Options) (check.Finding, error) {
	f := check.Finding{
		Step: 4, Check: "passes end when the policy has moved far", Module: "ppo", Unit: "findings",
		Says: "With ppo.target_kl a window's passes end after the one in which the policy has moved further than that.",
	}
	s.Train.Envs, s.PPO.Epochs = min(s.Train.Envs, 8), max(s.PPO.Epochs, 6)
	sizes := []float64{1e-9, 1e-4, 3e-4, 1e-3, 3e-3}
	if s.Actor.LSTM > 0 {
		sizes = sizes[:3] // each takes long
	}
	for _, far := range sizes {
		s.PPO.TargetKL = far
		var err error
		if f, err = oneWindow(ctx, s, opt, fmt.Sprintf("With ppo.target_kl=%g", far), f); err != nil || f.Status >= check.Suspect {
			return f, err
		}
	}
	return f, nil
}

// surer is how many times surer than it begins a policy is made.
const surer = 50

// fades plays a window in the middle of a run and one beyond its end, with rates and bonuses that go far, each to an end of its own,
// whatever the spec says: at a preset's own settings one can hardly be told from another.
func fades(ctx context.Context, s spec.Spec, opt Options) (check.Finding, error) {
	f := check.Finding{
		Step: 4, Check: "what changes over a run goes to its own end", Module: "ppo", Unit: "findings",
		Says: "The rate and the weight of the entropy are what the definition gives in the middle of a run, and beyond its end.",
	}
	s.Train.Envs = min(s.Train.Envs, 8)
	s.PPO.Entropy, s.PPO.EntropyEnd, s.PPO.LREnd, s.PPO.TargetKL = 0.1, 1, s.PPO.LR/5, 0
	was := opt.Change
	opt.Change = func(s *spec.Spec, p *train.Parts) { // who plays evenly has no entropy to gain
		if was != nil {
			was(s, p)
		}
		for _, m := range p.Minds {
			if a, ok := learner.As[learner.Acting](m); ok {
				_, params := a.Actor()
				for _, part := range params.Parts {
					if part.Name == "head/w" {
						f32.Scale(params.W[part.Off:part.Off+part.Len], surer)
					}
				}
			}
		}
	}
	rows := (s.Train.Warm.Windows + 1) * s.Train.Envs * s.Train.Window
	for _, at := range []struct {
		in    string
		steps int
	}{{"In the middle of a run", 2 * rows}, {"Beyond a run's end", rows - rows/4}} {
		s.Train.Steps = at.steps
		var err error
		if f, err = oneWindow(ctx, s, opt, at.in, f); err != nil || f.Status >= check.Suspect {
			return f, err
		}
	}
	return f, nil
}

// switches lets a bot take the last agent's place for a window, and the agent come back.
func switches(ctx context.Context, s spec.Spec, opt Options) (check.Finding, error) {
	f := check.Finding{
		Step: 3, Check: "places are played by whom switches of the team say", Module: "rollout", Unit: "share of rows",
		Says: "A bot that takes a place in the middle of a run plays it from then on, until the agent comes back.",
	}
	s.Train.Envs, s.Train.Window = min(s.Train.Envs, 4), min(s.Train.Window, 16)
	g, err := s.Game.Build()
	if err != nil {
		return f, err
	}
	seats, window := g.Spec().Seats, s.Train.Envs*s.Train.Window
	begin := (s.Train.Warm.Windows + 1) * window
	s.Train.Switch = []train.Switch{{At: begin, Agent: seats - 1, To: "random"}, {At: begin + 2*window, Agent: seats - 1, To: "learn"}}
	u, err := newSession(s, opt.Seeds[0], opt, true, nil)
	if err != nil {
		return f, err
	}
	u.large = true
	if err := u.run(ctx, s.Train.Warm.Windows+6); err != nil && u.broke == nil {
		return f, err
	}
	if found := u.replay.Placed.Finding(); found.Status >= check.Suspect {
		found.Check, found.Says = f.Check, "With switches of the team: "+found.Says
		return found, nil
	}
	f.Rows = u.window
	return f, nil
}

// rounds lets agents imagine three times after a window.
func rounds(ctx context.Context, s spec.Spec, opt Options) (check.Finding, error) {
	f := check.Finding{
		Step: 4, Check: "several rounds of imagination", Module: "world", Unit: "findings",
		Says: "Three rounds of imagination after a window are what the model predicts, each of its own streams.",
	}
	s.Train.Envs, s.Train.Window = min(s.Train.Envs, 16), min(s.Train.Window, 24)
	s.Imagine.Refresh, s.Imagine.Trust, s.Imagine.Steps = 3, 0, min(s.Imagine.Steps, 30)
	u, err := newSession(s, opt.Seeds[0], opt, true, nil)
	if err != nil {
		return f, err
	}
	u.large = true
	if err := u.run(ctx, s.Train.Warm.Windows+3); err != nil && u.broke == nil {
		return f, err
	}
	if f.Rows = u.imagined; u.broke != nil {
		return u.broken(nil), nil
	}
	for _, g := range append(u.imagination.Findings(), u.repeated()) {
		if g.Status >= check.Suspect && g.Status > f.Status {
			name := f.Check
			f = g
			f.Check, f.Says = name, "With three rounds of imagination after a window: "+g.Says
		}
	}
	return f, nil
}

// repeated says whether imagination came to the same twice.
func (u *session) repeated() check.Finding {
	return counted(check.Finding{
		Step: 4, Check: "every imagined window is another", Module: "world", Unit: "share of windows", Rows: u.imagined,
		Says: "No imagined window is the one before it.",
	}, float64(u.again)/float64(max(u.imagined, 1)),
		fmt.Sprintf("%d of %d imagined windows are the one before, number by number.", u.again, u.imagined),
		"agent/imagine: the streams of a window and of a round")
}
