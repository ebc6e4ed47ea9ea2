package audit

import (
	"fmt"
	"math"

	"hop/agent"
	"hop/train"
)

// logs compares what is written to the metrics with what the learners said and
// with the audit's own account.
type logs struct {
	rows   int
	wrong  []wrongRow
	failed int
	at     int // episodes of the replay already logged
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
	from := l.at
	l.at = u.replay.Ends
	if u.exp.Train.Standins.Share > 0 || u.exp.Train.Warm.Windows > 0 || from == l.at {
		return // episodes with stand-ins are left out of the log, and the audit cannot tell all of them
	}
	for a := range agent.ID(u.spec.Seats) {
		mean := 0.
		for _, v := range u.replay.Return[a][from:l.at] {
			mean += v / float64(l.at-from)
		}
		l.must(u, p, "return", int(a), mean, l.at-from, 1e-6)
	}
}
