package check

import (
	"fmt"
	"math"

	"github.com/hop-marl/hop/audit/record"
	"github.com/hop-marl/hop/num/check"
)

// rival is something that predictions may fit in place of what they are of: their loss
// there, beside the loss of the same rows where it belongs.
type rival struct {
	says      string
	row       func(row, of int) int // the rival's row; -1: there is none
	n         int
	own, loss float64
}

func (v *rival) add(own, loss float64) { v.n, v.own, v.loss = v.n+1, v.own+own, v.loss+loss }

// means returns both losses a row.
func (v *rival) means() (own, loss float64) {
	n := float64(max(v.n, 1))
	return v.own / n, v.loss / n
}

// others asks what predictions of co-players are worth: against how often each action is
// taken at all, and against the actions of other agents and other steps.
func (r *recorded) others(f *check.Finding) {
	k := r.Count
	f.Unit = "nats"
	rivals := []*rival{
		{says: "what the co-player did a step before", row: func(row, of int) int { return r.Before(row - row%k + of) }},
		{says: "what the co-player does a step later", row: func(row, of int) int { return r.After(row - row%k + of) }},
		{says: "what the agent itself does", row: func(row, of int) int { return row }},
		{says: "what the next agent in the list does", row: func(row, of int) int { return row - row%k + (of+1)%k }},
		{says: "what the agent before in the list does", row: func(row, of int) int { return row - row%k + (of+k-1)%k }},
	}
	loss := func(p []float32, act int32) float64 { return -math.Log(max(float64(p[act]), 1e-9)) }
	played := func(row int) bool { return row >= 0 && r.Alive[row] && r.Action[row] >= 0 }
	var ce, sure, right, exact float64
	gone, uneven, knows, drawn := 0, 0, 0, r.drawnAt() // knows: rows of whom it is known what they draw from
	counts := make([][]int, k)                         // of each co-player's actions
	for a := range counts {
		counts[a] = make([]int, r.MOA.Width)
	}
	for i, row := range r.MOA.Row {
		p, of := r.MOA.At(i), r.Of[i]
		at := row - row%k + of
		switch {
		case !shares(p):
			uneven++
			continue
		case !played(at):
			gone++
			continue
		case i < len(r.MOA.Row)/2:
			continue // it learns: the later half counts
		}
		f.Rows++
		act := r.Action[at]
		own := loss(p, act)
		if j, ok := drawn[at]; ok {
			exact += loss(r.Probs.At(j), act)
			knows++
		}
		best := argmax(p)
		ce, sure, right = ce+own, sure+float64(p[best]), right+float64(one(best == int(act)))
		counts[of][act]++
		for _, v := range rivals {
			if from := v.row(row, of); from != at && played(from) {
				v.add(own, loss(p, r.Action[from]))
			}
		}
	}
	all := len(r.MOA.Row)
	switch {
	case uneven*10 > all:
		f.Rows = all
		f.Accuse(check.Fault, float64(uneven)/float64(all), fmt.Sprintf("%d of %d predictions of others are no distributions: they do not add "+
			"up to 1.", uneven, all), "hand in probabilities, after the softmax")
		return
	case gone*50 > all && gone > 2:
		f.Rows = all
		f.Accuse(check.Fault, float64(gone)/float64(all), fmt.Sprintf("%d of %d predictions are of co-players that have left.", gone, all),
			"keep co-players that have left out of what the model reads and learns from: it learns to predict that they stay")
		return
	case f.Rows < 20:
		f.Rows, f.Says = 0, needOthers
		return
	}
	n := float64(f.Rows)
	base := entropies(counts) / n
	ce, sure, right = ce/n, sure/n, right/n
	f.Saw(ce, base, "cross-entropy, beside that of how often each action is taken")
	f.Saw(right, 1, "share of actions that are predicted right")
	f.Saw(sure, right, "mean probability of the likeliest action")
	for _, v := range rivals {
		own, other := v.means()
		m := float64(max(v.n, 1))
		f.Saw(other, own, "cross-entropy with %s", v.says)
		if v.n >= 20 && v.loss < v.own-max(0.1*m, 4*math.Sqrt(m)) && v.loss < 0.9*v.own && f.Status == check.Pass {
			f.Accuse(check.Fault, own-other, fmt.Sprintf("Predictions of others fit %s better than the co-player's action: cross-entropy %.3g "+
				"against %.3g.", v.says, other, own), "which agent and which step the model is handed, when it learns and when it is asked")
		}
	}
	p := check.Predictor{CE: ce, Floor: check.SoftmaxFloor(r.Actions), Classes: r.Actions, Right: right, Sure: sure}
	switch {
	case f.Status > check.Pass:
	case p.DoubleSoftmax() == check.Fault:
		f.Accuse(check.Fault, ce-base, fmt.Sprintf("Predictions of others are flat: right in %.0f %% of rows, but only %.0f %% sure, and their "+
			"cross-entropy of %.3g is above what two softmaxes allow, %.3g.", 100*right, 100*sure, ce, p.Floor),
			"the network's last layer and the loss: a softmax in one of them, not in both")
	case knows == f.Rows && exact/n > 0.95*base:
		f.Says = fmt.Sprintf("There is little to predict: who knows what co-players draw from has a cross-entropy of %.3g, how often each "+
			"action is taken %.3g, the model %.3g, over %d rows.", exact/n, base, ce, f.Rows)
	case ce > 1.02*base:
		f.Accuse(check.Suspect, ce-base, fmt.Sprintf("Predictions of others are no better than how often each action is taken: cross-entropy "+
			"%.3g against %.3g, over %d rows.", ce, base, f.Rows),
			"whether the model learns at all (rec.learner(..., part=\"moa\")), and from whose rows")
	default:
		f.Says = fmt.Sprintf("Predictions of others are better than how often each action is taken: cross-entropy %.3g against %.3g, %.0f %% "+
			"right, over %d rows.", ce, base, 100*right, f.Rows)
	}
}

// entropies sums up how much counts leave open, each in nats times how many it counts.
func entropies(counts [][]int) (nats float64) {
	for _, c := range counts {
		for _, x := range c {
			if x > 0 {
				nats -= float64(x) * math.Log(float64(x)/float64(sum(c)))
			}
		}
	}
	return nats
}

// world asks what predictions of the next observation and of rewards are worth: against
// copying the observation and the mean reward, and against other steps and agents.
func (r *recorded) world(f *check.Finding) {
	f.Unit = "squared error"
	var still, mates, later, before, after rival // in place of what comes next, or of the reward
	var paid, off []float64
	for i, row := range r.WorldRow {
		if !r.Alive[row] || i < len(r.WorldRow)/2 {
			continue // it learns: the later half counts
		}
		f.Rows++
		exit, cut := r.Ends(row)
		if r.Foreseen.Width > 0 && r.Obs != nil && !exit && !cut && r.Foreseen.At(i)[0] == r.Foreseen.At(i)[0] {
			x := r.Foreseen.At(i)
			e := apart(x, view(r.Next, r.Foreseen, row))
			still.add(e, apart(view(r.Obs, r.Foreseen, row), view(r.Next, r.Foreseen, row)))
			if from := row - row%r.Count + (row+1)%r.Count; r.Count > 1 && r.Alive[from] {
				mates.add(e, apart(x, view(r.Next, r.Foreseen, from)))
			}
			if from := r.After(row); from >= 0 {
				later.add(e, apart(x, view(r.Next, r.Foreseen, from)))
			}
		}
		if x := r.WorldReward; x != nil && !math.IsNaN(x[i]) {
			square := func(row int) float64 { d := x[i] - float64(r.Reward[row]); return d * d }
			paid, off = append(paid, float64(r.Reward[row])), append(off, square(row))
			if from := r.Before(row); from >= 0 {
				before.add(square(row), square(from))
			}
			if from := r.After(row); from >= 0 {
				after.add(square(row), square(from))
			}
		}
	}
	if f.Rows < 20 {
		f.Rows, f.Says = 0, needWorld
		return
	}
	f.Says = ""
	if still.n > 0 {
		foreseenViews(f, still, mates, later)
	}
	if len(paid) == 0 || f.Status != check.Pass {
		return
	}
	_, sd := moments(paid)
	own, _ := moments(off)
	n, variance := float64(len(paid)), sd*sd
	f.Saw(own, variance, "squared error of rewards, beside that of their mean")
	switch {
	case variance == 0:
	case before.loss-before.own < -0.5*own*n:
		f.Accuse(check.Fault, own, "Predicted rewards are those of the step before.", "which step's reward the model learns")
	case after.loss-after.own < -0.5*own*n:
		f.Accuse(check.Fault, own, "Predicted rewards are those of the step after.", "which step's reward the model learns")
	case own > variance:
		f.Accuse(check.Suspect, own/variance, fmt.Sprintf("The world model predicts rewards no better than their mean: squared error %.3g "+
			"against %.3g, over %.0f rows.", own, variance, n), "whether it learns at all, and how rare rewards are")
	default:
		f.Says += fmt.Sprintf(" Rewards: squared error %.3g, of their mean %.3g.", own, variance)
	}
}

// foreseenViews says what predictions of the next observation are worth.
func foreseenViews(f *check.Finding, still, mates, later rival) {
	err, copied := still.means()
	f.Saw(err, copied, "squared error of the next observation, beside that of copying this one")
	own, other := mates.means()
	soon, late := later.means()
	switch {
	case mates.n >= 20 && mates.loss < 0.5*mates.own:
		f.Accuse(check.Fault, own/other, fmt.Sprintf("Predicted observations are the next agent's: squared error %.3g against %.3g of its own.",
			other, own), "whose observations and actions the world model is handed")
	case later.n >= 20 && later.loss < 0.5*later.own:
		f.Accuse(check.Fault, soon/late, fmt.Sprintf("Predicted observations are those of two steps later: squared error %.3g against %.3g.",
			late, soon), "which step's observation the model learns as the next one")
	case err > 0.98*copied:
		f.Accuse(check.Suspect, err/max(copied, 1e-12), fmt.Sprintf("The world model predicts the next observation no better than copying this "+
			"one: squared error %.3g against %.3g, over %d rows.", err, copied, still.n),
			"whether it learns at all, and whether what it reads includes everybody's actions")
	default:
		f.Says = fmt.Sprintf("The world model predicts the next observation better than copying: squared error %.3g against %.3g, over %d rows.",
			err, copied, still.n)
	}
}

// view returns a row of observations that are as wide as a table's.
func view(x []float32, t record.Table, row int) []float32 { return x[row*t.Width : (row+1)*t.Width] }

// apart is the squared distance of two observations, where the first is a number.
func apart(x, y []float32) (sum float64) {
	for i := range x {
		if x[i] == x[i] {
			sum += float64(x[i]-y[i]) * float64(x[i]-y[i])
		}
	}
	return sum
}
