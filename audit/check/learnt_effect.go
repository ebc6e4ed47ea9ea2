package check

import (
	"fmt"
	"math"

	"hop/audit/record"
	"hop/check"
)

// relation is how much one column goes with another, over all batches of an agent.
type relation struct {
	sum, batches float64 // of correlations times the root of the rows: standard deviations
	share        float64 // of correlations
	rows         int
}

func (c *relation) add(r float64, n int) {
	if !math.IsNaN(r) && n >= 8 {
		c.sum += r * math.Sqrt(float64(n))
		c.share += r
		c.batches++
		c.rows += n
	}
}

func (c *relation) z() float64    { return c.sum / math.Sqrt(max(c.batches, 1)) }
func (c *relation) mean() float64 { return c.share / max(c.batches, 1) }

// correlation is Pearson's; NaN where a column does not vary.
func correlation(x, y []float64) float64 {
	mx, sx := moments(x)
	my, sy := moments(y)
	if !(sx > 1e-12 && sy > 1e-12) {
		return math.NaN()
	}
	sum := 0.
	for i := range x {
		sum += (x[i] - mx) * (y[i] - my)
	}
	return sum / float64(len(x)) / sx / sy
}

// less returns x without what goes with z: what is left of a straight line through both.
func less(x, z []float64) []float64 {
	mx, sx := moments(x)
	mz, sz := moments(z)
	slope := 0.
	if r := correlation(x, z); !math.IsNaN(r) {
		slope = r * sx / sz
	}
	out := make([]float64, len(x))
	for i := range x {
		out[i] = x[i] - mx - slope*(z[i]-mz)
	}
	return out
}

// minus subtracts.
func minus(x, y []float64) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		out[i] = x[i] - y[i]
	}
	return out
}

// effects asks of every agent whether what an update did goes with what it is for.
func (r *recorded) effects(f *check.Finding, columns []string, of func(b *record.Batch) float64, good string,
	bad func(name string, c relation) (check.Status, string), next string) {
	sums := make([]relation, r.Count)
	for k := range r.Batches {
		b := &r.Batches[k]
		whole := true
		for _, c := range columns {
			whole = whole && b.Col[c] != nil
		}
		if whole {
			sums[b.Agents[0]].add(of(b), len(b.Row))
		}
	}
	f.Unit = "correlation"
	for a, c := range sums {
		if c.rows < 200 { // too few to say that there is nothing
			continue
		}
		f.Rows += c.rows
		f.Saw(c.mean(), 1, "%s: mean correlation over %.0f updates", r.Agents[a], c.batches)
		if status, says := bad(r.Agents[a], c); status > f.Status {
			f.Who = []int{a}
			f.Accuse(status, c.mean(), says, next)
		}
	}
	if f.Status == check.Pass {
		f.Says = fmt.Sprintf(good, f.Rows)
		if f.Rows == 0 {
			f.Says = "Fewer than 200 rows of an agent were handed to rec.learnt."
		}
	}
}

// raised asks whether an update raises the probability of what had an advantage: the
// policy gradient does nothing else.
func (r *recorded) raised(f *check.Finding) {
	r.effects(f, []string{"after_logprobs", "logprobs", "advantages"},
		func(b *record.Batch) float64 {
			return correlation(b.Col["advantages"], minus(b.Col["after_logprobs"], b.Col["logprobs"]))
		},
		"Updates raise the probability of what had an advantage, in %d rows.",
		func(name string, c relation) (check.Status, string) {
			switch {
			case c.z() < -4:
				return check.Fault, fmt.Sprintf("Updates of %s lower the probability of what had an advantage: a correlation of %.2f over %d rows.",
					name, c.mean(), c.rows)
			case c.z() < 2:
				return check.Suspect, fmt.Sprintf("Updates of %s do not raise the probability of what had an advantage: a correlation of %.2f over "+
					"%d rows.", name, c.mean(), c.rows)
			}
			return check.Pass, ""
		}, "the loss: its sign, and whether rows, actions and advantages of a minibatch are taken by the same indices")
}

// valued asks whether an update brings values closer to returns: of two rows with the
// same value the one with the higher return must gain more.
func (r *recorded) valued(f *check.Finding) {
	r.effects(f, []string{"after_values", "values", "returns"},
		func(b *record.Batch) float64 {
			return correlation(less(b.Col["returns"], b.Col["values"]), less(minus(b.Col["after_values"], b.Col["values"]), b.Col["values"]))
		},
		"Updates bring values closer to returns, in %d rows.",
		func(name string, c relation) (check.Status, string) {
			switch {
			case c.z() < -4:
				return check.Fault,
					fmt.Sprintf("Updates of %s move values away from returns: a correlation of %.2f over %d rows.", name, c.mean(), c.rows)
			case c.z() < 2:
				return check.Suspect, fmt.Sprintf("Updates of %s do not bring values closer to their own returns: a correlation of %.2f over %d rows.",
					name, c.mean(), c.rows)
			}
			return check.Pass, ""
		}, "the value's loss: shapes [n] and [n, 1] make a table of all pairs, which teaches the mean; rows and returns by the same indices")
}
