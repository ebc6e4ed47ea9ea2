package audit

import (
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/agent/learner"
	checks "github.com/hop-marl/hop/audit/check"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/check"
)

// dealt counts who was dealt to the learners' places, once for each episode, or life of several,
// that is running when a window ends.
type dealt struct {
	starts []int // [N] episodes that began
	last   []int // [N] the last life that was counted, from 1
	times  int
	alone  int // one learner was left,
	alike  int // and all the others were the same one

	own     map[[2]int]bool // by agent and env: its own policy played the last episode
	within  int             // places in episodes that went on with a life
	changed int             // of those, places that somebody else played than in the episode before
}

func (d *dealt) take(u *session, ro *batch.Rollout) {
	if d.starts == nil {
		d.starts, d.last, d.own = make([]int, ro.Envs), make([]int, ro.Envs), map[[2]int]bool{}
	}
	for n := range ro.Envs {
		for t := range ro.Steps {
			if ro.Start[ro.Moment(t, n)] {
				d.starts[n]++
				d.goesOn(u, ro, t, n)
			}
		}
		life := (d.starts[n]-1)/u.trial() + 1
		if life == d.last[n] || u.window <= u.exp.Train.Warm.Windows {
			continue
		}
		d.last[n] = life
		d.times++
		own, kinds := 0, map[int]bool{}
		for a := range u.spec.Seats {
			switch who := u.loop.Dealt(agent.ID(a), n); {
			case !u.learner(a):
			case who < 0:
				own++
			default:
				kinds[who] = true
			}
		}
		if own == 1 && len(kinds) > 0 {
			if d.alone++; len(kinds) == 1 {
				d.alike++
			}
		}
	}
}

// goesOn looks whether an episode that starts is dealt as the one before, if it is of the same life.
func (d *dealt) goesOn(u *session, ro *batch.Rollout, t, n int) {
	for a := range u.spec.Seats {
		at, own := [2]int{a, n}, u.deeds[ro.Step(agent.ID(a), t, n)].Acted
		if (d.starts[n]-1)%u.trial() > 0 && u.learner(a) && u.window > u.exp.Train.Warm.Windows {
			if d.within++; own != d.own[at] {
				d.changed++
			}
		}
		d.own[at] = own
	}
}

// lifelong asks whether whoever is dealt to a place stays there for a life.
func (u *session) lifelong() check.Finding {
	return counted(check.Finding{
		Step: 3, Check: "a dealing holds for a life", Module: "rollout", Unit: "share of places", Rows: u.dealt.within,
		Says: "In all episodes of a life the same learners play, and the same places are stand-ins'.",
	}, float64(u.dealt.changed)/float64(max(u.dealt.within, 1)), fmt.Sprintf("In %d of %d places somebody else plays than in the episode "+
		"before, though a life among the same co-players goes on.", u.dealt.changed, u.dealt.within),
		"train: dealtPlayer.Ask, and for how many episodes a choice holds (learner.Trials)")
}

// trial returns for how many episodes a dealing holds.
func (u *session) trial() int {
	trial := 1
	for _, t := range u.taps {
		if l, ok := learner.As[learner.Trials](t.Mind); ok {
			trial = max(trial, l.Trial())
		}
	}
	return trial
}

// learning returns how many agents learn.
func (u *session) learning() (n float64) {
	for a := range u.spec.Seats {
		if u.learner(a) {
			n++
		}
	}
	return n
}

// standIns asks whether stand-ins play as often as the spec says: in each episode, or life, each
// learner's place is taken with that probability, or all but one are.
func (u *session) standIns() check.Finding {
	c, learners := u.exp.Train.Standins, u.learning()
	f := check.Finding{
		Step: 3, Check: "stand-ins play as often as the spec says", Module: "rollout", Unit: "share of places", Rows: u.places,
	}
	most := (learners - 1) / learners
	one := c.Share // of a place, alone: no audit gets as far as there are earlier selves to meet
	if past := slices.Index(c.Who, "past"); past >= 0 {
		one *= 1 - 1/float64(max(len(u.replay.Placed.Who), 1))
	}
	want := c.Alike*most + (1-c.Alike)*one
	spread := c.Alike*most*most + (1-c.Alike)*(one*one+one*(1-one)/learners) - want*want // of one dealing's share
	share := float64(u.taken) / float64(max(u.places, 1))
	f.Effect = share
	f.Says = fmt.Sprintf("Stand-ins took %.0f %% of the places, the spec says %.0f %%.", 100*share, 100*want)
	if c.Teams > 0 {
		f.Says = fmt.Sprintf("Stand-ins took %.0f %% of the places, alone or as teams.", 100*share)
	}
	dealings := float64(u.places) / learners / float64(u.trial())
	far := math.Abs(share-want) * math.Sqrt(dealings/max(spread, 1e-9))
	never := u.taken == 0 && dealings*math.Log((1-min(c.Alike, 0.999))*math.Pow(1-min(one, 0.999), learners)) < math.Log(1e-9)
	if f.Saw(share, want, "share of learners' places that were taken"); never || c.Teams == 0 && c.ShareEnd < 0 && far > 6 {
		f.Accuse(check.Fault, share,
			fmt.Sprintf("Stand-ins took %.0f %% of %d learners' places, the spec says %.0f %%.", 100*share, u.places, 100*want),
			"train: dealing.draw, and its share in SelfPlay.prepare")
	}
	return f
}

// teamsAlike asks whether one learner meets co-players who are all the same one as often as the
// spec says, and whether those whom it meets alone are alike.
func (u *session) teamsAlike() check.Finding {
	c, d, learners := u.exp.Train.Standins, &u.dealt, u.learning()
	f := check.Finding{
		Step: 3, Check: "whole teams of stand-ins are alike", Module: "rollout", Unit: "share of teams", Rows: d.times,
		Says: fmt.Sprintf("In %d of %d dealings one learner met co-players who were all the same one, the spec says %.0f %%.", d.alike, d.times,
			100*c.Alike),
	}
	byChance := (1 - c.Alike) * learners * math.Pow(c.Share, learners-1) * (1 - c.Share) // one by one all but one are taken
	f.Saw(float64(d.alone), 0, "dealings in which one learner was left")
	f.Saw(float64(d.alike), float64(d.alone), "of those, co-players who were all the same one")
	const next = "train: teams.deal, which draws one of the population for a whole team"
	switch {
	case checks.Unlikely(d.alike, d.alone, c.Alike/(c.Alike+byChance)) && d.alike < d.alone:
		f.Accuse(check.Fault, float64(d.alone-d.alike)/float64(d.alone), fmt.Sprintf("In %d of %d dealings in which one learner was left its "+
			"co-players were not all the same one.", d.alone-d.alike, d.alone), next)
	case checks.Unlikely(d.alike, d.times, c.Alike):
		f.Accuse(check.Fault, float64(d.alike)/float64(d.times), fmt.Sprintf("In %d of %d dealings one learner met co-players who were all the "+
			"same one, the spec says %.0f %%.", d.alike, d.times, 100*c.Alike), next)
	}
	return f
}
