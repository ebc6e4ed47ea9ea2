package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/runlog"
)

// bins is how many points a curve has at most.
const bins = 80

// grid is the common ruler of all curves: equal stretches of env steps.
type grid struct {
	n    int
	last float64
}

func (g *group) grid() grid {
	last, points := 1., 1
	for _, r := range g.Runs {
		last, points = max(last, float64(r.Step)), max(points, r.points)
		for _, list := range r.series {
			points = max(points, len(list))
		}
	}
	return grid{min(bins, points), last}
}

// xs returns the middles of the stretches, in env steps.
func (d grid) xs() []float64 {
	out := make([]float64, d.n)
	for i := range out {
		out[i] = (float64(i) + 0.5) * d.last / float64(d.n)
	}
	return out
}

// few returns the count from which a row is shown. Of numbers about what was
// played, windows in which less than a fifth of the usual number of episodes ended
// are passed over: a run's first window holds only those that happened to be short.
func few(played bool, rows []runlog.Row) int {
	if !played {
		return 1
	}
	var ns []float64
	for _, r := range rows {
		ns = append(ns, float64(r.N))
	}
	return max(1, int(math.Ceil(stats.Quantile(ns, 0.5)/5)))
}

// curve averages rows over each stretch, weighted by the count behind them,
// of which there must be a few.
// Stretches between rows are bridged; before the first and after the last there
// is NaN.
func (d grid) curve(rows []runlog.Row, few int) []float64 {
	sum, weight := make([]float64, d.n), make([]float64, d.n)
	for _, r := range rows {
		if math.IsNaN(r.Value) || math.IsInf(r.Value, 0) || r.N < few {
			continue
		}
		i := min(int(float64(r.Step)/d.last*float64(d.n)), d.n-1)
		sum[i] += r.Value * float64(r.N)
		weight[i] += float64(r.N)
	}
	known := -1
	for i := range sum {
		if weight[i] == 0 {
			sum[i] = math.NaN()
			continue
		}
		sum[i] /= weight[i]
		for j := known + 1; known >= 0 && j < i; j++ {
			t := float64(j-known) / float64(i-known)
			sum[j] = sum[known] + t*(sum[i]-sum[known])
		}
		known = i
	}
	return sum
}

// bundle is one number over several seeds.
type bundle struct {
	seeds         [][]float64 // [seed][bin]
	mean, lo, hi  []float64   // [bin] over the seeds that have the bin
	rows, updates int         // counts behind it, all seeds together
}

// bundle gathers a series from all runs.
func (g *group) bundle(d grid, k key) bundle {
	b := bundle{mean: make([]float64, d.n), lo: make([]float64, d.n), hi: make([]float64, d.n)}
	for _, r := range g.Runs {
		rows := r.series[k]
		if len(rows) == 0 {
			continue
		}
		b.seeds = append(b.seeds, d.curve(rows, few(g.played(k.name), rows)))
		b.updates += len(rows)
		for _, row := range rows {
			b.rows += row.N
		}
	}
	for i := range b.mean {
		var acc stats.Acc
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, s := range b.seeds {
			if v := s[i]; !math.IsNaN(v) {
				acc.Add(v)
				lo, hi = min(lo, v), max(hi, v)
			}
		}
		b.mean[i], b.lo[i], b.hi[i] = acc.Mean(), lo, hi
		if acc.N() == 0 {
			b.lo[i], b.hi[i] = math.NaN(), math.NaN()
		}
	}
	return b
}

// last returns the rows of the last 20 % of training. A run that has not come that
// far has none.
func (r *run) last(k key) []runlog.Row {
	end := cmp.Or(r.Steps, r.Step)
	return slices.DeleteFunc(slices.Clone(r.series[k]), func(row runlog.Row) bool { return float64(row.Step) <= 0.8*float64(end) })
}

// lastFifth returns the mean over the last 20 %, weighted by the counts behind the
// rows, or NaN.
func (r *run) lastFifth(k key) float64 {
	sum, weight := 0., 0.
	for _, row := range r.last(k) {
		sum += row.Value * float64(row.N)
		weight += float64(row.N)
	}
	return sum / weight
}

// lastFifth returns the mean over the seeds that have one, or NaN.
func (g *group) lastFifth(k key) float64 {
	sum, n := 0., 0.
	for _, r := range g.Runs {
		if x := r.lastFifth(k); !math.IsNaN(x) {
			sum, n = sum+x, n+1
		}
	}
	return sum / n
}

// lastRows counts the rows behind a number in the last fifth, over all seeds.
func (g *group) lastRows(k key) int {
	n := 0
	for _, r := range g.Runs {
		for _, row := range r.last(k) {
			n += row.N
		}
	}
	return n
}

// Last is the mean return, over agents, of the last 20 % of training.
func (r *run) Last() float64 { return r.lastFifth(meanReturn) }
