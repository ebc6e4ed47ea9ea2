package audit

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hop-marl/hop/agent/learner"
	checks "github.com/hop-marl/hop/audit/check"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/train"
)

// logs compares what is written to the metrics with what the learners said and
// with the audit's own account.
type logs struct {
	rows   int
	wrong  []wrongRow
	failed int
	at     int                        // episodes of the replay already logged
	before int                        // env steps of the replay before the run's own count began
	known  map[string]float64         // of scores on strangers, from the first time on
	knew   map[int]map[string]float64 // [mind][kind] the most that a model of others foresaw before its agents played
}

type wrongRow struct {
	name      string
	agent     int
	got, want float64
	window    int
}

func (l *logs) must(u *session, p *train.Progress, name string, who int, value float64, n int, tol float64) {
	l.rows++
	for _, row := range p.Rows {
		if row.Name != name || row.Agent != who {
			continue
		}
		switch {
		case math.Abs(row.Value-value) > tol*max(1, math.Abs(value)):
			l.bad(wrongRow{name, who, row.Value, value, u.window})
		case n >= 0 && row.N != n:
			l.bad(wrongRow{name + " (rows behind it)", who, float64(row.N), float64(n), u.window})
		}
		return
	}
	l.bad(wrongRow{name + " (missing)", who, math.NaN(), value, u.window})
}

func (l *logs) bad(w wrongRow) {
	l.failed++
	if len(l.wrong) < 8 {
		l.wrong = append(l.wrong, w)
	}
}

func (l *logs) take(u *session, p *train.Progress) {
	for i, list := range p.Stats {
		t := u.taps[i]
		who, part := -1, ""
		if len(t.agents) == 1 {
			who = int(t.agents[0])
		} else if len(u.taps) > 1 {
			part = fmt.Sprintf("/mind%d", i)
		}
		for _, st := range list {
			l.must(u, p, st.Name+part, who, st.Value, st.N, 0)
		}
		if t.counts != nil {
			c := t.counts.Counts()
			l.must(u, p, "count/updates"+part, who, float64(c.Updates), -1, 0)
			l.must(u, p, "count/rows"+part, who, float64(c.Rows), -1, 0)
		}
	}
	for a, n := range u.ownNow {
		if u.hop != nil || u.imagination != nil {
			l.must(u, p, train.BufferMetric+"real", a, float64(n), 1, 0)
		}
		if u.imagination != nil {
			l.must(u, p, train.BufferMetric+"imagined", a, float64(u.ownMade[a]), 1, 0)
		}
	}
	l.strangers(u, p)
	l.episodes(u, p)
}

// strangers holds scores of models of others against what fixed episodes must come to: they are due every so often, and who acts in
// them, and what the Bayes observer foresees of that, is the same each time.
func (l *logs) strangers(u *session, p *train.Progress) {
	t, scored := u.exp.Train, false
	if t.Strangers.Every == 0 || u.hop == nil {
		return
	}
	if l.known == nil {
		l.known, l.knew = map[string]float64{}, map[int]map[string]float64{}
	}
	for _, row := range p.Rows {
		name, is := strings.CutPrefix(row.Name, train.StrangerMetric)
		if kind, best := strings.CutSuffix(name, "/top1"); is && best && u.window <= t.Warm.Windows {
			l.knows(u.parts.MindOf[row.Agent], kind, row.Value)
		}
	}
	for _, row := range p.Rows {
		name, is := strings.CutPrefix(row.Name, train.StrangerMetric)
		if !is {
			continue
		}
		scored = true
		if kind, is := strings.CutSuffix(name, "/start"); is {
			l.rows++
			m := u.parts.MindOf[row.Agent]
			if v, known := l.knew[m][kind]; row.Value < v || known && row.Value > v && u.window > t.Warm.Windows {
				l.bad(wrongRow{row.Name, row.Agent, row.Value, v, u.window})
			}
			l.knows(m, kind, row.Value)
			continue
		}
		l.rows++
		key := fmt.Sprintf("%s of agent %d", row.Name, row.Agent)
		if n, known := l.known[key+", rows"]; known && n != float64(row.N) {
			l.bad(wrongRow{row.Name + " (rows behind it)", row.Agent, float64(row.N), n, u.window})
		}
		if strings.Contains(name, "/limit") {
			if v, known := l.known[key]; known && v != row.Value {
				l.bad(wrongRow{row.Name, row.Agent, row.Value, v, u.window})
			}
			l.known[key] = row.Value
		}
		l.known[key+", rows"] = float64(row.N)
	}
	due := u.window%t.Strangers.Every == 0 || u.window == t.Warm.Windows || p.Step >= t.Steps
	if l.rows++; len(l.known) > 0 && due != scored {
		l.bad(wrongRow{"scores on strangers", -1, asNumber(scored), asNumber(due), u.window})
	}
}

// knows notes how well a mind knew a kind before its agents played: at least so well, since the score before window 1 is not seen.
func (l *logs) knows(mind int, kind string, top1 float64) {
	if l.knew[mind] == nil {
		l.knew[mind] = map[string]float64{}
	}
	l.knew[mind][kind] = max(l.knew[mind][kind], top1)
}

func asNumber(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// episodes compares what is logged of the window's episodes: those in which nobody's
// place was taken.
func (l *logs) episodes(u *session, p *train.Progress) {
	var list []checks.Ended
	for _, e := range u.replay.Ended[l.at:] {
		if !e.Mixed {
			list = append(list, e)
		}
	}
	l.at = len(u.replay.Ended)
	l.rows++
	if p.Step != u.replay.Steps-l.before {
		l.bad(wrongRow{"env steps", -1, float64(p.Step), float64(u.replay.Steps - l.before), u.window})
	}
	if len(list) == 0 {
		return
	}
	mean := func(of func(e checks.Ended) float64) float64 {
		sum := 0.
		for _, e := range list {
			sum += of(e)
		}
		return sum / float64(len(list))
	}
	must := func(name string, who int, of func(e checks.Ended) float64) {
		l.must(u, p, name, who, mean(of), len(list), 1e-6)
	}
	must("episode/steps", -1, func(e checks.Ended) float64 { return float64(e.Steps) })
	must("return/mean", -1, func(e checks.Ended) float64 {
		sum := 0.
		for _, r := range e.Return {
			sum += r
		}
		return sum / float64(len(e.Return))
	})
	share := func(a, goal int) func(checks.Ended) float64 {
		return func(e checks.Ended) float64 {
			if e.Goal[a] == goal {
				return 1
			}
			return 0
		}
	}
	of, names := map[string][]float64{}, u.exp.KindNames(u.spec.Seats)
	for a, name := range names {
		if len(u.exp.Train.Team) > 0 && u.exp.Train.Team[a] != "learn" {
			name = u.exp.Train.Team[a]
		}
		of[name] = append(of[name], mean(func(e checks.Ended) float64 { return e.Return[a] }))
	}
	for name, returns := range of {
		sum := 0.
		for _, x := range returns {
			sum += x / float64(len(returns))
		}
		l.must(u, p, train.KindMetric+name, -1, sum, len(returns)*len(list), 1e-6)
	}
	for a := range u.spec.Seats {
		must("return", a, func(e checks.Ended) float64 { return e.Return[a] })
		must("life", a, func(e checks.Ended) float64 { return float64(e.Life[a]) })
		for g, name := range u.spec.Goals {
			must("goal/"+name, a, share(a, g))
		}
		if len(u.spec.Goals) > 0 {
			must("goal/none", a, share(a, game.NoGoal))
		}
	}
}

// given compares what the loop tells minds about a window with the spec: how much of
// the run lies behind, and how rewards are shaped.
type given struct {
	windows int
	wrong   []string // the first few, in words
	failed  int
	shares  int     // of those, shares of the run
	last    float64 // share that was told
}

func (g *given) take(p *tap, w *learner.Window) {
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
	if r := u.exp.Train.Recorded; r.Windows > 0 && g.windows <= 2*r.Windows {
		g.recorded(u, w, u.window%r.Windows)
	}
	was := g.failed
	bad("a share of the run", w.Share, share)
	g.shares, g.last = g.shares+g.failed-was, w.Share
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

// recorded holds what is shown again beside a window against the rules: it is played from the stream of its turn.
func (g *given) recorded(u *session, w *learner.Window, turn int) {
	bad := func(what string) {
		if g.failed++; len(g.wrong) < 4 {
			g.wrong = append(g.wrong, fmt.Sprintf("%s in window %d", what, u.window))
		}
	}
	if w.Recorded == nil || w.Recorded.Envs != u.exp.Train.Envs {
		bad("no recorded steps")
		return
	}
	again := checks.NewReplay(u.parts.Game, u.parts.Key.Child("recorded").Child("window", turn), u.exp.Train.Envs)
	again.Learns = make([]bool, u.spec.Seats)
	again.Window(w.Recorded, nil, nil)
	if i := check.Worst(again.Findings()); i >= 0 && again.Findings()[i].Status == check.Fault {
		bad("recorded steps that are not those of their turn")
	}
}

// handed says whether minds were told what the spec says.
func (u *session) handed() check.Finding {
	g := &u.given
	f := check.Finding{
		Step: 3, Check: "learners are told what the spec says", Module: "buffers", Unit: "numbers that differ", Rows: g.windows,
		Says: "How far the run is, and how rewards are scaled, shared and weighted by goal, is what the spec says.",
	}
	if counted := float64(u.loop.Step()) / float64(u.exp.Train.Steps); g.failed == g.shares && math.Abs(g.last-counted) < 1e-12 {
		f.Module = "logging" // minds are told what was counted, and the count is off
	}
	c, made := u.exp.PPO, u.exp.Rewards()
	if made.Scale != c.RewardScale || made.Gamma != c.Gamma || made.Prosocial != c.Prosocial || made.ProsocialEnd != c.ProsocEnd {
		f.Module = "spec" // it was wrong before the loop had it
	}
	if g.failed > 0 {
		f.Accuse(check.Fault, float64(g.failed), fmt.Sprintf("Learners are given %s.", g.wrong[0]),
			"spec.Spec.Rewards, then train.SelfPlay.learn and shaped: what a window is handed over with")
		for _, w := range slices.Compact(g.wrong) {
			f.Saw(1, 0, "%s", w)
		}
	}
	return f
}
