package audit

import (
	"fmt"
	"math"
	"slices"

	"hop/check"
	"hop/mind"
)

// given compares what the loop tells minds about a window with the spec: how much of
// the run lies behind, and how rewards are shaped.
type given struct {
	windows int
	wrong   []string // the first few, in words
	failed  int
}

func (g *given) take(p *tap, w *mind.Window) {
	u := p.u
	g.windows++
	bad := func(what string, got, want float64) {
		if math.Abs(got-want) <= 1e-9*max(1, math.Abs(want)) {
			return
		}
		if g.failed++; len(g.wrong) < 4 {
			g.wrong = append(g.wrong, fmt.Sprintf("%s of %.4g in window %d, it is %.4g", what, got, u.window, want))
		}
	}
	steps := float64(u.replay.Steps)
	share := steps / float64(u.exp.Train.Steps)
	over := func(from, to float64, over int) float64 { return from + (to-from)*min(steps/float64(over), 1) }
	c := p.exp.PPO
	bad("a share of the run", w.Share, share)
	bad("a scale of rewards", w.Rewards.Scale, c.RewardScale)
	bad("a discount of the team's rewards", w.Rewards.Gamma, c.Gamma)
	prosocial := c.Prosocial
	if c.ProsocEnd >= 0 {
		prosocial = over(prosocial, c.ProsocEnd, u.exp.Train.Steps)
	}
	bad("a share of the team's rewards", w.Rewards.Prosocial, prosocial)
	for i, goal := range u.spec.Goals {
		want, got := 1., 1.
		for _, x := range u.exp.Train.GoalWeight {
			if x.Goal == goal {
				want = over(x.From, x.To, x.Over)
			}
		}
		if w.Rewards.Goal != nil {
			got = w.Rewards.Goal[i]
		}
		bad("a weight of "+goal, got, want)
	}
}

// handed says whether minds were told what the spec says.
func (u *session) handed() check.Finding {
	g := &u.given
	f := check.Finding{
		Step: 3, Check: "learners are told what the spec says", Module: "buffers", Unit: "numbers that differ", Rows: g.windows,
		Says: "How far the run is, and how rewards are scaled, shared and weighted by goal, is what the spec says.",
	}
	c, made := u.exp.PPO, u.exp.Rewards()
	if made.Scale != c.RewardScale || made.Gamma != c.Gamma || made.Prosocial != c.Prosocial || made.ProsocialEnd != c.ProsocEnd {
		f.Module = "spec" // it was wrong before the loop had it
	}
	if g.failed > 0 {
		f.Accuse(check.Fault, float64(g.failed), fmt.Sprintf("Learners are given %s.", g.wrong[0]),
			"exp.Spec.Rewards, then train.SelfPlay.learn and shaped: what a window is handed over with")
		for _, w := range slices.Compact(g.wrong) {
			f.Saw(1, 0, "%s", w)
		}
	}
	return f
}
