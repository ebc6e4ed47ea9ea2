package check

import (
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/audit/record"
	"github.com/hop-marl/hop/num/check"
)

// set is dumps of the same agents.
type set []*record.Trajectories

// each calls visit at every row of every dump; a is the row's agent.
func (s set) each(visit func(d *record.Trajectories, i, a int)) {
	for _, d := range s {
		for i := range d.Alive {
			visit(d, i, i%len(d.Agents))
		}
	}
}

// compare fills in a finding from rows of returns and tests them for a trend.
func (s set) compare(f *check.Finding, rows [][]float64, names []string) check.Trend {
	f.Rows, f.Unit = len(rows), "return, first less last"
	f.Earnings(rows, names, "mean return")
	return check.TrendOf(blocks(rows, 100))
}

func (s set) agents() []string { return s[0].Agents }

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

// order asks whether earnings follow the agents' numbers late in the dumps.
func (s set) order(f *check.Finding) {
	if len(s.agents()) < 2 {
		f.Says = "There is one agent: nothing to compare."
		return
	}
	var rows [][]float64
	unit := "runs"
	for _, d := range s {
		if len(s) >= 3 {
			rows = append(rows, d.Late())
		} else {
			unit = "episodes"
			rows = append(rows, d.Returns(d.LateFrom(), record.ByAgent)...)
		}
	}
	names, rows := s.likes(rows)
	if len(names) < 2 {
		f.Says = "No two agents that learn have the same role: nothing to compare."
		return
	}
	t := s.compare(f, rows, names)
	p, how := t.P, "exact"
	if !t.Exact {
		how = "by permutation"
	}
	f.Says = fmt.Sprintf("Late earnings do not follow the agents' numbers: p = %.2g, %s, over %d %s.", p, how, f.Rows, unit)
	if p < check.OrderP {
		says := fmt.Sprintf("Late earnings follow the agents' numbers: p = %.2g, %s, over %d %s.", p, how, f.Rows, unit)
		next := "the findings below: the first module that differs by agent explains it"
		switch apart := slices.ContainsFunc(s, func(d *record.Trajectories) bool { return !d.Shared }); {
		case !apart:
			f.Accuse(check.Suspect, f.Effect, says+" They share one network that cannot tell them apart, so learning does not explain it.", next)
		case len(s) < 3: // those who learn apart come apart by chance
			f.Accuse(check.Note, f.Effect, says+" Agents that learn apart may come to that by chance of learning.",
				"record three runs or more with different seeds, and audit their folder: what all of them agree on is no chance")
		default:
			f.Accuse(check.Suspect, f.Effect, says+" Agents that are built alike differ.", next)
		}
	}
}

// likes keeps of every row the columns of the role that most agents have, of those who learn if others do not.
func (s set) likes(rows [][]float64) ([]string, [][]float64) {
	count, role := map[int]int{}, s[0].Role[0]
	for a, r := range s[0].Role {
		if s.scripted(a) {
			continue
		}
		if count[r]++; count[r] > count[role] {
			role = r
		}
	}
	var names []string
	out := make([][]float64, len(rows))
	for a, r := range s[0].Role {
		if r != role || s.scripted(a) {
			continue
		}
		names = append(names, s.agents()[a])
		for i := range rows {
			out[i] = append(out[i], rows[i][a])
		}
	}
	return names, out
}

// scripted reports whether an agent learns nothing while others do.
func (s set) scripted(a int) bool { return s[0].Learns != nil && !s[0].Learns[a] }

// place asks whether an order follows the name or the place: agents that are
// dealt to seats anew each episode leave only the game to favour a seat.
func (s set) place(f *check.Finding) {
	k := len(s.agents())
	var rows [][]float64
	moved := 0
	for _, d := range s {
		for e := 1; e < len(d.Starts); e++ {
			now, before := d.At(d.Starts[e], 0), d.At(d.Starts[e-1], 0)
			if !slices.Equal(d.Seat[now:now+k], d.Seat[before:before+k]) {
				moved++
			}
		}
		rows = append(rows, d.Returns(0, func(t, a int) int { return int(d.Seat[d.At(t, a)]) })...)
	}
	if k < 2 {
		f.Says = "There is one seat: nothing to compare."
		return
	}
	names := make([]string, k)
	for i := range names {
		names[i] = fmt.Sprintf("seat %d", i)
	}
	p := s.compare(f, rows, names).P
	status := check.ByChance(p)
	switch {
	case moved == 0:
		f.Says = "Agents never change seats, so name and place cannot be told apart."
		f.Next = "deal agents to seats anew each episode, or play once with the ids permuted"
	case status != check.Pass:
		f.Accuse(status, f.Effect, fmt.Sprintf("The place decides what is earned, whoever sits there: p = %.2g over %d episodes.", p, len(rows)),
			"the game: tie-breaks, the order in which agents are moved, and who is paid first")
	default:
		f.Says = fmt.Sprintf("No place is favoured: p = %.2g over %d episodes. An order of agents follows their names, so it is made in "+
			"training.", p, len(rows))
	}
}

// identity asks whether two agents' rows are one agent's.
func (s set) identity(f *check.Finding) {
	k := len(s.agents())
	same, rows := make([]int, k*k), make([]int, k*k)
	s.each(func(d *record.Trajectories, i, a int) {
		n := len(d.Obs) / len(d.Alive)
		for b := a + 1; b < k; b++ {
			j := i - a + b
			if !d.Alive[i] || !d.Alive[j] {
				continue
			}
			rows[a*k+b]++
			if d.Action[i] == d.Action[j] && d.Reward[i] == d.Reward[j] && slices.Equal(d.Obs[i*n:(i+1)*n], d.Obs[j*n:(j+1)*n]) {
				same[a*k+b]++
			}
		}
	})
	var copies []int
	for at, n := range same {
		f.Rows += rows[at]
		if rows[at] >= 20 && float64(n) > 0.99*float64(rows[at]) {
			share := float64(n) / float64(rows[at])
			f.Effect = max(f.Effect, share)
			f.Saw(share, 0, "%s and %s: equal observation, action and reward", s.agents()[at/k], s.agents()[at%k])
			if !slices.Contains(copies, at%k) {
				copies = append(copies, at%k)
			}
		}
	}
	f.Unit, f.Says = "share of rows", fmt.Sprintf("No two agents share their rows, in %d pairs of rows.", f.Rows)
	if len(copies) > 0 {
		f.Accuse(check.Fault, f.Effect, fmt.Sprintf("%s %s rows of another agent: %.0f %% of their rows are equal (%d of %d agents).",
			listed(s.agents(), copies), check.Verb(len(copies), "holds", "hold"), 100*f.Effect, len(copies), k),
			"where rows are pushed and where train() picks its agent: index by the agent's own id, never by the first one found")
	}
}

// count adds up rows by agent and says them as evidence.
type count struct{ bad, rows []int }

func (s set) count() *count {
	return &count{make([]int, len(s.agents())), make([]int, len(s.agents()))}
}

// add counts a row of an agent.
func (c *count) add(a int, bad bool) {
	c.rows[a]++
	if bad {
		c.bad[a]++
	}
}

// finish writes a counted share into a finding; fault if there is any.
func (s set) finish(f *check.Finding, c *count, label, good, bad, next string) {
	n, all := 0, 0
	var who []int
	for a := range c.bad {
		n, all = n+c.bad[a], all+c.rows[a]
		if c.bad[a] > 0 {
			who = append(who, a)
			f.Saw(float64(c.bad[a]), 0, "%s: %s", s.agents()[a], label)
		}
	}
	f.Rows, f.Unit, f.Says = all, "share of rows", fmt.Sprintf("%s, in %d rows.", good, all)
	if n > 0 {
		share := float64(n) / float64(all)
		f.Accuse(check.Fault, share, fmt.Sprintf("%s: %d rows of %s (%.1f %% of %d).", bad, n, listed(s.agents(), who), 100*share, all), next)
	}
}

// listed names agents.
func listed(names []string, who []int) string {
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

// afterExit asks whether who has left still acts.
func (s set) afterExit(f *check.Finding) {
	c := s.count()
	for _, d := range s {
		in := d.Alive
		if d.Done != nil {
			in = d.AliveByDone() // says the same, if alive was recorded too
		}
		set{d}.each(func(d *record.Trajectories, i, a int) {
			if !d.Alive[i] || !in[i] {
				c.add(a, d.Action[i] >= 0)
			}
		})
	}
	s.finish(f, c, "actions after it left", "Agents that have left do nothing", "Actions are recorded for agents that have left",
		"write -1 for agents that have left, and keep their rows out of every buffer: a model of others learns \"stay\" from them")
}

// rewards asks whether every reward is a number, and earned by somebody present.
func (s set) rewards(f *check.Finding) {
	c := s.count()
	s.each(func(d *record.Trajectories, i, a int) {
		if x := float64(d.Reward[i]); (math.IsNaN(x) || math.IsInf(x, 0)) && f.Status == check.Pass {
			f.Accuse(check.Fault, 1, fmt.Sprintf("The reward of %s at step %d of %s is %v.", d.Agents[a], i/len(d.Agents), d.Name, x),
				"the game's step function: a division by 0, or memory that was not written")
			f.Module, f.Rows, f.Unit = "game", 1, "rows"
		}
		if !d.Alive[i] {
			c.add(a, d.Reward[i] != 0)
		}
	})
	if f.Status == check.Pass {
		s.finish(f, c, "rewards after it left", "Agents that have left earn nothing", "Rewards are recorded for agents that have left",
			"the step's reward belongs to the row with which the agent leaves; see whether rewards are shifted by a step or added for the "+
				"whole team")
	}
}

// actions asks whether everybody alive acts, and whether one agent's actions are
// of one kind while the others' are not.
func (s set) actions(f *check.Finding) {
	c, k := s.count(), 0
	for _, d := range s {
		k = max(k, d.Actions)
	}
	of := make([][]int, len(s.agents()))
	for a := range of {
		of[a] = make([]int, k)
	}
	s.each(func(d *record.Trajectories, i, a int) {
		if act := d.Action[i]; d.Alive[i] {
			if c.add(a, act < 0); act >= 0 {
				of[a][act]++
			}
		}
	})
	s.finish(f, c, "alive without an action", "Everybody alive acts", "No action is recorded for agents that are alive",
		"alive and actions disagree: see which of them is shifted by a step")
	if f.Status != check.Pass {
		return
	}
	var one []int
	for a := range of {
		action, share := check.Commonest(of[a])
		f.Saw(share, 1/float64(max(k, 1)), "%s: share of its most frequent action, %d", s.agents()[a], action)
		if c.rows[a] >= 50 && share > 0.99 && !s.scripted(a) {
			one = append(one, a)
		}
	}
	if len(one) > 0 && len(one) < len(of) {
		f.Accuse(check.Suspect, float64(len(one))/float64(len(of)),
			fmt.Sprintf("%s %s one action only, the others do not.", listed(s.agents(), one), check.Verb(len(one), "plays", "play")),
			"whether that agent learns at all: its updates and its entropy")
		f.Module, f.Unit = "ppo", "share of agents"
	}
}
