package audit

import (
	"fmt"
	"math"

	checks "hop/audit/check"
	"hop/game"
	"hop/train"
)

// logs compares what is written to the metrics with what the learners said and
// with the audit's own account.
type logs struct {
	rows   int
	wrong  []wrongRow
	failed int
	at     int // episodes of the replay already logged
	before int // env steps of the replay before the run's own count began
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
	l.episodes(u, p)
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
