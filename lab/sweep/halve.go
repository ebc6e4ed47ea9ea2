package sweep

import (
	"math"
	"path/filepath"

	"github.com/hop-marl/hop/store/runlog"
)

var nan = math.NaN()

// score is what a training came to by the metric of the halving: its mean over the last fifth
// of the env steps up to its rung; NaN without one. A run that has gone on since has the same score.
func (c *Coordinator) score(n *node) float64 {
	if c.ladder == nil || n.Kind != Training {
		return nan
	}
	rows, last := c.rows(n)
	sum, count := 0., 0
	for _, r := range rows {
		if r.Name == c.sweep.Halving.Metric && r.Step > last*4/5 && r.Step <= last {
			sum, count = sum+r.Value, count+1
		}
	}
	if count == 0 {
		c.Log("%s has no %s near env step %d: it counts as failed (halving.metric names a column of metrics.csv)", n.Name,
			c.sweep.Halving.Metric, last)
	}
	return sum / float64(count) // NaN if there is none
}

// rows returns a training's metrics and the env step at which it reached its rung; 0 if it has not.
func (c *Coordinator) rows(n *node) (rows []runlog.Row, last int64) {
	rows, err := runlog.ReadMetrics(filepath.Join(c.Dir, filepath.FromSlash(n.place)))
	if err != nil {
		c.Log("%s: %v", n.Name, err)
		return nil, 0
	}
	for _, r := range rows {
		if r.Step >= int64(c.sweep.Halving.Rungs[n.rung]) && (last == 0 || r.Step < last) {
			last = r.Step
		}
	}
	return rows, last
}

// reached says whether a run in the folder has come to a training's rung.
func (c *Coordinator) reached(n *node) bool {
	_, last := c.rows(n)
	return last > 0
}

// scored notes a training's score. When all seeds of a variant have one, the variant has, and those
// that are good enough go on.
func (c *Coordinator) scored(n *node, score float64) {
	if c.ladder == nil || n.Kind != Training {
		return
	}
	n.score = score
	sum := 0.
	for i := range c.sweep.Seeds {
		of := c.g.rungs[rungKey{n.variant, i, n.rung}]
		if of == nil || !of.rests() {
			return
		}
		sum += of.score
	}
	for _, v := range c.ladder.Score(n.rung, n.variant, sum/float64(len(c.sweep.Seeds))) {
		for i := range c.sweep.Seeds {
			c.g.train(v, i, n.rung+1)
		}
		if n.rung+1 == len(c.sweep.Halving.Rungs)-1 {
			c.g.follow(v)
			c.g.then(v)
		}
	}
	c.laid()
}
