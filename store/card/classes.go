package card

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/num/npz"
	"github.com/hop-marl/hop/num/plot"
)

// Classes counts what was and what was predicted, and how sure the prediction
// was. Its figures follow from a confusion matrix and from bins of confidence.
type Classes struct {
	Names     []string // [K]
	Confusion []int    // [K][K]: rows what was, columns the likeliest prediction
	N         int      // rows counted
	Top1      float64  // rows whose likeliest class was right; of equally likely ones each counts its share
	Top3      float64  // one of the three likeliest was, shared alike
	NLL       float64  // sum of -ln p(what was), each capped at -ln 1e-9
	Brier     float64  // sum of squared differences to the one-hot truth
	bins      [15]bin
	hits      []float64 // [K] Top1 by class
	given     []float64 // [K] sum of p(what was) by class
}

type bin struct {
	n         int
	sure, hit float64
}

// NewClasses counts classes of those names.
func NewClasses(names []string) *Classes {
	return &Classes{Names: names, Confusion: make([]int, len(names)*len(names)), hits: make([]float64, len(names)),
		given: make([]float64, len(names))}
}

// Add counts a row: what was, and the predicted probabilities [K]. In Confusion
// and precision the first of equally likely classes counts as the likelier; in
// Top1, Top3 and recall each counts its share.
func (c *Classes) Add(was int, p []float32) {
	k := len(c.Names)
	if was < 0 || was >= k || len(p) != k {
		panic("card: a row's class or probabilities do not fit the classes")
	}
	best, ties, above, level := 0, 0, 0, 0
	for i, v := range p {
		switch {
		case v > p[best]:
			best, ties = i, 1
		case v == p[best]:
			ties++
		}
		switch {
		case v > p[was]:
			above++
		case v == p[was]:
			level++
		}
		d := float64(v)
		if i == was {
			d--
		}
		c.Brier += d * d
	}
	c.N++
	c.given[was] += float64(p[was])
	c.Confusion[was*k+best]++
	if p[was] == p[best] {
		c.Top1 += 1 / float64(ties)
		c.hits[was] += 1 / float64(ties)
	}
	if above < 3 {
		c.Top3 += min(1, float64(3-above)/float64(level))
	}
	c.NLL -= math.Log(max(float64(p[was]), 1e-9))
	b := &c.bins[min(int(float64(p[best])*float64(len(c.bins))), len(c.bins)-1)]
	b.n++
	b.sure += float64(p[best])
	if best == was {
		b.hit++
	}
}

func (c *Classes) share(n float64) float64 {
	if c.N == 0 {
		return math.NaN()
	}
	return n / float64(c.N)
}

// Accuracy returns the share of rows whose likeliest class was right.
func (c *Classes) Accuracy() float64 { return c.share(c.Top1) }

// Accuracy3 returns the share of rows with the truth among the three likeliest.
func (c *Classes) Accuracy3() float64 { return c.share(c.Top3) }

// CE returns the mean cross-entropy in nats.
func (c *Classes) CE() float64 {
	return c.share(c.NLL)
}

// ECE returns the expected calibration error: over 15 equal bins of the
// likeliest class's probability, the mean of |share right - mean probability|,
// weighted by rows (Guo et al. 2017).
func (c *Classes) ECE() float64 {
	s := 0.0
	for _, b := range c.bins {
		s += math.Abs(b.hit - b.sure)
	}
	return c.share(s)
}

// Sure returns the mean probability of the likeliest class. Beside Accuracy it
// says whether predictions are surer than they should be, and, unlike ECE, its
// mean over small sets of rows is that of all of them.
func (c *Classes) Sure() float64 {
	s := 0.0
	for _, b := range c.bins {
		s += b.sure
	}
	return c.share(s)
}

// Row is a class's line of the table of docs/opponents.md.
type Row struct {
	Count                        int
	Ratio, Precision, Recall, F1 float64 // 0 where nothing was counted
}

// Class returns the line of class k.
func (c *Classes) Class(k int) Row {
	n := len(c.Names)
	row, col := 0, 0
	for i := range n {
		row += c.Confusion[k*n+i]
		col += c.Confusion[i*n+k]
	}
	hit := float64(c.Confusion[k*n+k])
	r := Row{Count: row}
	if c.N > 0 {
		r.Ratio = float64(row) / float64(c.N)
	}
	if col > 0 {
		r.Precision = hit / float64(col)
	}
	if row > 0 {
		r.Recall = c.hits[k] / float64(row)
	}
	if r.Precision+r.Recall > 0 {
		r.F1 = 2 * r.Precision * r.Recall / (r.Precision + r.Recall)
	}
	return r
}

// Recall returns that of every class.
func (c *Classes) Recall() []float64 { return c.each(func(r Row) float64 { return r.Recall }) }

// Precision returns that of every class.
func (c *Classes) Precision() []float64 { return c.each(func(r Row) float64 { return r.Precision }) }

func (c *Classes) ratio() []float64 { return c.each(func(r Row) float64 { return r.Ratio }) }

func (c *Classes) each(of func(Row) float64) []float64 {
	out := make([]float64, len(c.Names))
	for k := range out {
		out[k] = of(c.Class(k))
	}
	return out
}

// Given returns the mean probability that class k had where it was so. Unlike
// recall it does not hang on which of several nearly equally likely classes is
// the likeliest by a hair.
func (c *Classes) Given(k int) float64 { return c.given[k] / float64(max(c.Class(k).Count, 1)) }

// Weakest returns the class, among those of at least a share of the rows, whose
// Given is the smallest part of that in beside, or of 1 if beside is nil; -1 if
// there is none.
func (c *Classes) Weakest(beside *Classes, seldom float64) (class int, part float64) {
	class = -1
	for k := range c.Names {
		want := 1.
		if beside != nil {
			want = max(beside.Given(k), 1e-9)
		}
		if p := c.Given(k) / want; c.Class(k).Ratio >= seldom && (class < 0 || p < part) {
			class, part = k, p
		}
	}
	return class, part
}

// CSV returns the table action,count,ratio,precision,recall,f1.
func (c *Classes) CSV() []byte {
	var b bytes.Buffer
	b.WriteString("action,count,ratio,precision,recall,f1\n")
	for k := range c.Names {
		r := c.Class(k)
		fmt.Fprintf(&b, "%d,%d", k, r.Count)
		for _, v := range []float64{r.Ratio, r.Precision, r.Recall, r.F1} {
			b.WriteByte(',')
			b.WriteString(strconv.FormatFloat(v, 'g', 6, 64))
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// Write writes base.csv and base.npz, the latter with counts, ratio, precision,
// recall, f1 [K] and confusion [K][K].
func (c *Classes) Write(base string) error {
	if err := disk.Write(base+".csv", c.CSV()); err != nil {
		return fmt.Errorf("card: writing the classes: %w", err)
	}
	k := len(c.Names)
	counts, confusion := make([]int64, k), make([]int64, k*k)
	for i := range counts {
		counts[i] = int64(c.Class(i).Count)
	}
	for i, v := range c.Confusion {
		confusion[i] = int64(v)
	}
	var b bytes.Buffer
	err := npz.Write(&b, []npz.Array{
		{Name: "counts", Shape: []int{k}, Data: counts}, {Name: "ratio", Shape: []int{k}, Data: c.ratio()},
		{Name: "precision", Shape: []int{k}, Data: c.Precision()}, {Name: "recall", Shape: []int{k}, Data: c.Recall()},
		{Name: "f1", Shape: []int{k}, Data: c.each(func(r Row) float64 { return r.F1 })},
		{Name: "confusion", Shape: []int{k, k}, Data: confusion},
	})
	if err == nil {
		err = disk.Write(base+".npz", b.Bytes())
	}
	if err != nil {
		return fmt.Errorf("card: writing the classes: %w", err)
	}
	return nil
}

// Figures draws the class distribution, the confusion matrix, the recall of
// each class and the reliability of the probabilities, in files whose names
// begin with base.
func (c *Classes) Figures(base string) []*plot.Figure {
	k := len(c.Names)
	share := make([]float64, k*k)
	for i, n := range c.Confusion {
		share[i] = float64(n) / float64(max(1, c.Class(i/k).Count))
	}
	var x, y []float64
	for _, b := range c.bins {
		if b.n > 0 {
			x, y = append(x, b.sure/float64(b.n)), append(y, b.hit/float64(b.n))
		}
	}
	model, perfect := plot.Line{Name: "model", X: x, Y: y}, plot.Line{Name: "perfect", X: []float64{0, 1}, Y: []float64{0, 1}, Dash: true}
	return []*plot.Figure{
		plot.Bars(base+"class_distribution", "What was played", fmt.Sprintf("%d rows of agents in the game.", c.N),
			plot.Axes{X: "action", Y: "share of rows"}, c.Names, plot.Group{Name: "share", Values: c.ratio()}),
		plot.HeatOf(base+"confusion_matrix", "Confusion",
			"Rows: what was played; columns: the likeliest prediction; shares of the row. A dark diagonal is good.",
			"played, predicted", c.Names, c.Names, share),
		plot.Bars(base+"per_class_recall", "Recall", "Of the rows with this action, the share predicted right.",
			plot.Axes{X: "action", Y: "recall", YMax: 1}, c.Names, plot.Group{Name: "recall", Values: c.Recall()}),
		plot.Lines(base+"calibration", "Reliability", fmt.Sprintf(
			"How often the likeliest action was right, by its probability; 15 bins. Expected calibration error %.4f.", c.ECE()),
			plot.Axes{X: "probability of the likeliest action", Y: "share right", YMax: 1}, model, perfect),
	}
}
