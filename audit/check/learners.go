package check

import (
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/audit/record"
	"github.com/hop-marl/hop/num/check"
)

// recorded is what was recorded of a run, to be asked.
type recorded struct {
	*record.Learners
	first string // the first number that a question finds wrong
}

// learnt notes where a batch is wrong, if nothing was before: in a column, at a row.
func (r *recorded) learnt(bad bool, b *record.Batch, column string, i int) bool {
	if bad && r.first == "" {
		k := slices.IndexFunc(r.Batches, func(c record.Batch) bool { return len(c.Row) > 0 && &c.Row[0] == &b.Row[0] })
		r.first = fmt.Sprintf("%s[%d] of batch %d, that of %s after %d steps of play", column, i, k, r.whose(b), b.At)
		if row := b.Row[i]; row >= 0 {
			r.first += fmt.Sprintf(", of what %s did at step %d", r.Agents[row%r.Count], row/r.Count)
		}
	}
	return bad
}

// played notes where what was recorded of playing is wrong, if nothing was before.
func (r *recorded) played(bad bool, column string, row int) bool {
	if bad && r.first == "" {
		r.first = fmt.Sprintf("%s of %s at step %d of play", column, r.Agents[row%r.Count], row/r.Count)
	}
	return bad
}

// rowCount counts rows by agent, and those of them that are wrong.
type rowCount struct {
	names     []string // of the agents
	bad, rows []int
}

func countRows(names []string) *rowCount {
	return &rowCount{names, make([]int, len(names)), make([]int, len(names))}
}

// add counts a row of an agent.
func (c *rowCount) add(a int, bad bool) {
	c.rows[a]++
	c.bad[a] += one(bad)
}

// counted writes into a finding how many rows were asked, what is to be said of so many if
// nothing is wrong, and as evidence whose rows are, under a label. It returns how many and
// their share.
func (c *rowCount) counted(f *check.Finding, good, label string) (bad int, share float64) {
	for a, n := range c.bad {
		f.Rows += c.rows[a]
		if bad += n; n > 0 {
			f.Who = append(f.Who, a)
			f.Saw(float64(n), 0, "%s: %s", c.names[a], label)
		}
	}
	f.Unit, f.Says = "share of rows", fmt.Sprintf(good, f.Rows)
	return bad, float64(bad) / float64(max(f.Rows, 1))
}

// indices lists where counts are above 0.
func indices(counts []int) (list []int) {
	for i, n := range counts {
		if n > 0 {
			list = append(list, i)
		}
	}
	return list
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func sum(x []int) (n int) {
	for _, v := range x {
		n += v
	}
	return n
}

// places returns 0 to n-1.
func places(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// few names those whom a finding is about, with a verb in their number.
func (r *recorded) few(f *check.Finding, singular, plural string) string {
	return check.Few(r.titles(f.Who)) + " " + check.Verb(len(f.Who), singular, plural)
}

func (r *recorded) titles(who []int) []string {
	var out []string
	for _, a := range who {
		out = append(out, r.Agents[a])
	}
	return out
}

func unique(x []int) []int {
	slices.Sort(x)
	return slices.Compact(x)
}

// also says that one sentence stands for several agents.
func also(agents int) string {
	if agents < 2 {
		return ""
	}
	return fmt.Sprintf(" The same is so of %d agents.", agents)
}

// argmax returns the place of the largest, the first of equals; what is no number is none.
func argmax[F float32 | float64](x []F) (best int) {
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return best
}

// Likeliest counts how often the likeliest action was taken, against how often it should be.
type Likeliest struct{ sum, variance float64 }

// Add counts a choice.
func (l *Likeliest) Add(probs []float64, action int32) {
	best := argmax(probs)
	l.sum += float64(one(int(action) == best)) - probs[best]
	l.variance += probs[best] * (1 - probs[best])
}

// Off returns how many standard deviations the count is off; 0: there is too little to tell.
func (l *Likeliest) Off() float64 {
	if l.variance <= 1 {
		return 0
	}
	return l.sum / math.Sqrt(l.variance)
}
