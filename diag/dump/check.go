package dump

import (
	"fmt"
	"math"
	"slices"

	"hop/diag"
	"hop/rng"
	"hop/stats"
)

// Limits of chance, as in package diag.
const (
	suspectP = 5e-4
	faultP   = 1e-6
)

// Audit runs every check that the dumps hold enough for: runs of the same
// agents, or one. What could not be asked, for want of an array, is said in
// missing.
func Audit(subject string, ds []*Dump) (r *diag.Report, missing []string) {
	r = &diag.Report{Subject: subject}
	x := set(ds)
	for _, f := range []diag.Finding{
		x.order(), x.place(), x.identity(), x.afterExit(), x.rewards(), x.actions(), x.legal(), x.cuts(), x.lastObs(), x.ego(), x.labels(),
		x.goals(),
	} {
		if f.Rows == 0 && f.Verdict == diag.Pass {
			missing = append(missing, f.Says)
			continue
		}
		r.Add(f)
	}
	r.Conclude()
	return r, missing
}

// set is dumps of the same agents.
type set []*Dump

func (s set) agents() []string { return s[0].Agents }

// returns gives each agent's return of every episode of a dump, from one on.
func returns(d *Dump, first int, by func(t, a int) int) [][]float64 {
	var out [][]float64
	for e := first; e < len(d.Starts); e++ {
		row := make([]float64, len(d.Agents))
		for t := d.Starts[e]; t < d.End(e); t++ {
			for a := range d.Agents {
				if x := float64(d.Reward[d.At(t, a)]); !math.IsNaN(x) && !math.IsInf(x, 0) { // said by another check
					row[by(t, a)] += x
				}
			}
		}
		out = append(out, row)
	}
	return out
}

func byAgent(_, a int) int { return a }

// late returns the first episode of the last fifth, or of the last hundred if
// that is more.
func late(d *Dump) int {
	n := len(d.Starts)
	return max(n-max(n/5, 100), 0)
}

// Late returns each agent's mean return late in the dump.
func (d *Dump) Late() []float64 { return blocks(returns(d, late(d), byAgent), 1)[0] }

// trend is Page's test both ways: does a row fall, or rise, with its index?
func trend(rows [][]float64) (p float64, exact bool) {
	back := make([][]float64, len(rows))
	for i, row := range rows {
		back[i] = slices.Clone(row)
		slices.Reverse(back[i])
	}
	r := rng.New(1).Child("dump").Rand()
	a, b := stats.TrendTest(rows, 2000, &r), stats.TrendTest(back, 2000, &r)
	return min(1, 2*min(a.P, b.P)), a.Exact
}

// blocks averages rows into at most n, so that a test stays exact.
func blocks(rows [][]float64, n int) [][]float64 {
	if len(rows) <= n {
		return rows
	}
	out := make([][]float64, n)
	for i := range out {
		lo, hi := i*len(rows)/n, (i+1)*len(rows)/n
		out[i] = make([]float64, len(rows[0]))
		for _, row := range rows[lo:hi] {
			for a, x := range row {
				out[i][a] += x / float64(hi-lo)
			}
		}
	}
	return out
}

// compare fills in a finding from rows of returns.
func (s set) compare(f *diag.Finding, rows [][]float64, names []string) {
	k := len(names)
	mean := make([]stats.Acc, k)
	var gap stats.Acc
	for _, row := range rows {
		for a, x := range row {
			mean[a].Add(x)
		}
		gap.Add(row[0] - row[k-1])
	}
	all := 0.
	for a := range mean {
		all += mean[a].Mean() / float64(k)
	}
	f.Rows, f.Unit, f.Effect, f.Lo, f.Hi = len(rows), "return, first less last", gap.Mean(), gap.Mean(), gap.Mean()
	if ci := gap.CI(0.95); len(rows) > 1 && !math.IsNaN(ci[0]) {
		f.Lo, f.Hi = ci[0], ci[1]
	}
	for a, n := range names {
		f.Evidence = append(f.Evidence, diag.Row{Label: n + ": mean return", Value: mean[a].Mean(), Wanted: all})
	}
}

// order asks whether earnings follow the agents' numbers late in the dumps.
func (s set) order() diag.Finding {
	f := diag.Finding{Step: 0, Check: "earnings by agent"}
	if len(s.agents()) < 2 {
		f.Says = "There is one agent: nothing to compare."
		return f
	}
	var rows [][]float64
	unit := "runs"
	for _, d := range s {
		if len(s) >= 3 {
			rows = append(rows, d.Late())
		} else {
			unit = "episodes"
			rows = append(rows, returns(d, late(d), byAgent)...)
		}
	}
	s.compare(&f, rows, s.agents())
	rows = blocks(rows, 100)
	p, exact := trend(rows)
	how := "exact"
	if !exact {
		how = "by permutation"
	}
	f.Says = fmt.Sprintf("Late earnings do not follow the agents' numbers: p = %.2g, %s, over %d %s.", p, how, f.Rows, unit)
	if p < 1e-3 {
		f.Verdict = diag.Suspect
		f.Says = fmt.Sprintf("Late earnings follow the agents' numbers: p = %.2g, %s, over %d %s. Agents that are built alike differ.",
			p, how, f.Rows, unit)
		f.Next = "the findings below: the first module that differs by agent explains it"
		if len(s) < 3 {
			f.Next = "dump three runs or more with different seeds: in one run agents may differ by chance of learning"
		}
	}
	return f
}

// place asks whether an order follows the name or the place: agents that are
// dealt to seats anew each episode leave only the game to favour a seat.
func (s set) place() diag.Finding {
	f := diag.Finding{Step: 1, Check: "earnings by place", Module: "game"}
	k := len(s.agents())
	var rows [][]float64
	moved := 0
	for _, d := range s {
		if d.Seat == nil {
			f.Says = "Seats are not recorded (seats, [T][A]), so name and place cannot be told apart."
			return f
		}
		for e := 1; e < len(d.Starts); e++ {
			now, before := d.At(d.Starts[e], 0), d.At(d.Starts[e-1], 0)
			if !slices.Equal(d.Seat[now:now+k], d.Seat[before:before+k]) {
				moved++
			}
		}
		rows = append(rows, returns(d, 0, func(t, a int) int { return int(d.Seat[d.At(t, a)]) })...)
	}
	if k < 2 {
		f.Says = "There is one seat: nothing to compare."
		return f
	}
	names := make([]string, k)
	for i := range names {
		names[i] = fmt.Sprintf("seat %d", i)
	}
	s.compare(&f, rows, names)
	p, _ := trend(blocks(rows, 100))
	switch {
	case moved == 0:
		f.Says = "Agents never change seats, so name and place cannot be told apart."
		f.Next = "deal agents to seats anew each episode, or play once with the ids permuted"
	case p < faultP || p < suspectP:
		f.Verdict = diag.Suspect
		if p < faultP {
			f.Verdict = diag.Fault
		}
		f.Says = fmt.Sprintf("The place decides what is earned, whoever sits there: p = %.2g over %d episodes.", p, len(rows))
		f.Next = "the game: tie-breaks, the order in which agents are moved, and who is paid first"
	default:
		f.Says = fmt.Sprintf("No place is favoured: p = %.2g over %d episodes. An order of agents follows their names, so it "+
			"is made in training.", p, len(rows))
	}
	return f
}

// identity asks whether two agents' rows are one agent's.
func (s set) identity() diag.Finding {
	f := diag.Finding{Step: 3, Check: "rows are the agent's own", Module: "buffers", Unit: "share of rows"}
	k := len(s.agents())
	same, rows := make([]int, k*k), make([]int, k*k)
	for _, d := range s {
		if d.Obs == nil {
			f.Says = "Observations are not recorded (obs, [T][A]...), so copied rows cannot be found."
			return f
		}
		n := len(d.Obs) / (d.Steps * k)
		for t := range d.Steps {
			for a := range k {
				for b := a + 1; b < k; b++ {
					i, j := d.At(t, a), d.At(t, b)
					if !d.Alive[i] || !d.Alive[j] {
						continue
					}
					rows[a*k+b]++
					if d.Action[i] == d.Action[j] && d.Reward[i] == d.Reward[j] && slices.Equal(d.Obs[i*n:(i+1)*n], d.Obs[j*n:(j+1)*n]) {
						same[a*k+b]++
					}
				}
			}
		}
	}
	var copies []int
	for at, n := range same {
		f.Rows += rows[at]
		if rows[at] >= 20 && float64(n) > 0.99*float64(rows[at]) {
			share := float64(n) / float64(rows[at])
			f.Effect = max(f.Effect, share)
			f.Evidence = append(f.Evidence, diag.Row{Label: fmt.Sprintf("%s and %s: equal observation, action and reward",
				s.agents()[at/k], s.agents()[at%k]), Value: share, Wanted: 0})
			if !slices.Contains(copies, at%k) {
				copies = append(copies, at%k)
			}
		}
	}
	f.Lo, f.Hi = f.Effect, f.Effect
	if len(copies) == 0 {
		f.Says = fmt.Sprintf("No two agents share their rows, in %d pairs of rows.", f.Rows)
		return f
	}
	f.Verdict, f.Says = diag.Fault, fmt.Sprintf("%s %s rows of another agent: %.0f %% of their rows are equal (%d of %d agents).",
		list(s.agents(), copies), verb(copies, "holds", "hold"), 100*f.Effect, len(copies), k)
	f.Next = "where rows are pushed and where train() picks its agent: index by the agent's own id, never by the first one found"
	return f
}

// count adds up rows by agent and says them as evidence.
type count struct{ bad, rows []int }

func (s set) count() count { return count{make([]int, len(s.agents())), make([]int, len(s.agents()))} }

// finish writes a counted share into a finding; fault if there is any.
func (s set) finish(f *diag.Finding, c count, label, good, bad, next string) {
	n, all := 0, 0
	var who []int
	for a := range c.bad {
		n, all = n+c.bad[a], all+c.rows[a]
		if c.bad[a] > 0 {
			who = append(who, a)
			f.Evidence = append(f.Evidence, diag.Row{Label: s.agents()[a] + ": " + label, Value: float64(c.bad[a]), Wanted: 0})
		}
	}
	f.Rows, f.Unit, f.Effect = all, "share of rows", float64(n)/float64(max(all, 1))
	f.Lo, f.Hi = f.Effect, f.Effect
	if n == 0 {
		f.Says = fmt.Sprintf("%s, in %d rows.", good, all)
		return
	}
	f.Verdict = diag.Fault
	f.Says = fmt.Sprintf("%s: %d rows of %s (%.1f %% of %d).", bad, n, list(s.agents(), who), 100*f.Effect, all)
	f.Next = next
}

// list names agents.
func list(names []string, who []int) string {
	if len(who) == len(names) && len(who) > 1 {
		return "all agents"
	}
	out := ""
	for i, a := range who {
		switch {
		case i == 0:
		case i == len(who)-1:
			out += " and "
		default:
			out += ", "
		}
		out += names[a]
	}
	return out
}

func verb(who []int, one, many string) string {
	if len(who) == 1 {
		return one
	}
	return many
}

// afterExit asks whether who has left still acts.
func (s set) afterExit() diag.Finding {
	f, c := diag.Finding{Step: 3, Check: "rows after exit", Module: "buffers"}, s.count()
	for _, d := range s {
		in := d.Alive
		if d.Done != nil {
			in = d.aliveByDone() // says the same, if alive was recorded too
		}
		for i, alive := range d.Alive {
			if !alive || !in[i] {
				c.rows[i%len(d.Agents)]++
				if d.Action[i] >= 0 {
					c.bad[i%len(d.Agents)]++
				}
			}
		}
	}
	s.finish(&f, c, "actions after it left", "Agents that have left do nothing", "Actions are recorded for agents that have left",
		"write -1 for agents that have left, and keep their rows out of every buffer: a model of others learns \"stay\" from them")
	return f
}

// rewards asks whether every reward is a number, and earned by somebody present.
func (s set) rewards() diag.Finding {
	f, c := diag.Finding{Step: 3, Check: "rewards after exit", Module: "buffers"}, s.count()
	for _, d := range s {
		for i, r := range d.Reward {
			a := i % len(d.Agents)
			if x := float64(r); math.IsNaN(x) || math.IsInf(x, 0) {
				f.Verdict, f.Module, f.Rows, f.Effect, f.Lo, f.Hi, f.Unit = diag.Fault, "game", 1, 1, 1, 1, "rows"
				f.Says = fmt.Sprintf("The reward of %s at step %d of %s is %v.", d.Agents[a], i/len(d.Agents), d.Name, x)
				f.Next = "the game's step function: a division by 0, or memory that was not written"
				return f
			}
			if !d.Alive[i] {
				c.rows[a]++
				if r != 0 {
					c.bad[a]++
				}
			}
		}
	}
	s.finish(&f, c, "rewards after it left", "Agents that have left earn nothing", "Rewards are recorded for agents that have left",
		"the step's reward belongs to the row with which the agent leaves; see whether rewards are shifted by a step or added for the whole team")
	return f
}

// actions asks whether everybody alive acts, and whether one agent's actions are
// of one kind while the others' are not.
func (s set) actions() diag.Finding {
	f, c := diag.Finding{Step: 3, Check: "actions", Module: "rollout"}, s.count()
	k := 0
	for _, d := range s {
		k = max(k, d.Actions)
	}
	of := make([][]int, len(s.agents()))
	for a := range of {
		of[a] = make([]int, k)
	}
	for _, d := range s {
		for i, act := range d.Action {
			a := i % len(d.Agents)
			if !d.Alive[i] {
				continue
			}
			c.rows[a]++
			if act < 0 {
				c.bad[a]++
			} else {
				of[a][act]++
			}
		}
	}
	s.finish(&f, c, "alive without an action", "Everybody alive acts", "No action is recorded for agents that are alive",
		"alive and actions disagree: see which of them is shifted by a step")
	if f.Verdict != diag.Pass {
		return f
	}
	var one []int
	for a := range of {
		top, all := slices.Max(of[a]), c.rows[a]
		share := float64(top) / float64(max(all, 1))
		f.Evidence = append(f.Evidence, diag.Row{Label: fmt.Sprintf("%s: share of its most frequent action, %d",
			s.agents()[a], slices.Index(of[a], top)), Value: share, Wanted: 1 / float64(max(k, 1))})
		if all >= 50 && share > 0.99 {
			one = append(one, a)
		}
	}
	if len(one) > 0 && len(one) < len(of) {
		f.Verdict, f.Module, f.Effect = diag.Suspect, "ppo", float64(len(one))/float64(len(of))
		f.Lo, f.Hi, f.Unit = f.Effect, f.Effect, "share of agents"
		f.Says = fmt.Sprintf("%s %s one action only, the others do not.", list(s.agents(), one), verb(one, "plays", "play"))
		f.Next = "whether that agent learns at all: its updates and its entropy"
	}
	return f
}
