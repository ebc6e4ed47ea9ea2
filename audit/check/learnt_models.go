package check

import (
	"fmt"
	"math"

	"hop/check"
)

// others asks what predictions of co-players are worth: against how often each action is
// taken at all, and against the actions of other agents and other steps.
func (r *recorded) others(f *check.Finding) {
	k := r.Count
	f.Unit = "nats"
	var ce, floor, sure, right float64
	counts := make([][]int, k) // of each co-player's actions
	for a := range counts {
		counts[a] = make([]int, r.MOA.Width)
	}
	gone, uneven := 0, 0
	type rival struct {
		says string
		row  func(t, me, of int) int
		ce   float64
		own  float64 // cross-entropy of the same rows against the right action
		n    int
	}
	rivals := []rival{
		{says: "what the co-player did a step before", row: func(t, _, of int) int { return r.Before(t*k + of) }},
		{says: "what the co-player does a step later", row: func(t, _, of int) int { return r.After(t*k + of) }},
		{says: "what the agent itself does", row: func(t, me, _ int) int { return t*k + me }},
		{says: "what the next agent in the list does", row: func(t, me, of int) int { return t*k + (of+1)%k }},
		{says: "what the agent before in the list does", row: func(t, me, of int) int { return t*k + (of+k-1)%k }},
	}
	loss := func(p []float32, act int32) float64 { return -math.Log(max(float64(p[act]), 1e-9)) }
	exact, knows := 0., 0 // of those who know what co-players draw from
	drawn := r.drawnAt()
	for i, row := range r.MOA.Row {
		t, me, of := row/k, row%k, r.Of[i]
		p := r.MOA.At(i)
		if !shares(p) {
			uneven++
			continue
		}
		at := t*k + of
		if !r.Alive[at] || r.Action[at] < 0 {
			gone++
			continue
		}
		if i < len(r.MOA.Row)/2 {
			continue // it learns: the later half counts
		}
		f.Rows++
		act := r.Action[at]
		own := loss(p, act)
		if j, ok := drawn[at]; ok {
			exact += loss(r.Probs.At(j), act)
			knows++
		}
		ce += own
		counts[of][act]++
		floor += check.SoftmaxFloor(r.Actions)
		best := 0
		for j, x := range p {
			if x > p[best] {
				best = j
			}
		}
		sure += float64(p[best])
		if best == int(act) {
			right++
		}
		for j := range rivals {
			if from := rivals[j].row(t, me, of); from >= 0 && from != at && r.Alive[from] && r.Action[from] >= 0 {
				rivals[j].n++
				rivals[j].own += own
				rivals[j].ce += loss(p, r.Action[from])
			}
		}
	}
	all := len(r.MOA.Row)
	switch {
	case uneven*10 > all:
		f.Rows = all
		f.Accuse(check.Fault, float64(uneven)/float64(all),
			fmt.Sprintf("%d of %d predictions of others are no distributions: they do not add up to 1.",
				uneven, all), "hand in probabilities, after the softmax")
		return
	case gone*50 > all && gone > 2:
		f.Rows = all
		f.Accuse(check.Fault, float64(gone)/float64(all), fmt.Sprintf("%d of %d predictions are of co-players that have left.", gone, all),
			"keep co-players that have left out of what the model reads and learns from: it learns to predict that they stay")
		return
	case f.Rows < 20:
		f.Rows = 0
		f.Says = needOthers
		return
	}
	n := float64(f.Rows)
	base := 0.
	for _, c := range counts {
		m := 0
		for _, x := range c {
			m += x
		}
		for _, x := range c {
			if x > 0 {
				base -= float64(x) * math.Log(float64(x)/float64(m))
			}
		}
	}
	ce, base, sure, right = ce/n, base/n, sure/n, right/n
	f.Saw(ce, base, "cross-entropy, beside that of how often each action is taken")
	f.Saw(right, 1, "share of actions that are predicted right")
	f.Saw(sure, right, "mean probability of the likeliest action")
	for _, v := range rivals {
		m := float64(max(v.n, 1))
		f.Saw(v.ce/m, v.own/m, "cross-entropy with %s", v.says)
		if v.n >= 20 && v.ce < v.own-max(0.1*m, 4*math.Sqrt(m)) && v.ce < 0.9*v.own && f.Status == check.Pass {
			f.Accuse(check.Fault, (v.own-v.ce)/m, fmt.Sprintf("Predictions of others fit %s better than the co-player's action: cross-entropy %.3g "+
				"against %.3g.", v.says, v.ce/m, v.own/m), "which agent and which step the model is handed, when it learns and when it is asked")
		}
	}
	if f.Status > check.Pass {
		return
	}
	p := check.Predictor{CE: ce, Floor: floor / n, Classes: r.Actions, Right: right, Sure: sure}
	switch {
	case p.DoubleSoftmax() == check.Fault:
		f.Accuse(check.Fault, ce-base, fmt.Sprintf("Predictions of others are flat: right in %.0f %% of rows, but only %.0f %% sure, and their "+
			"cross-entropy of %.3g is above what two softmaxes allow, %.3g.", 100*right, 100*sure, ce, p.Floor),
			"the network's last layer and the loss: a softmax in one of them, not in both")
	case knows == f.Rows && exact/n > 0.95*base:
		f.Says = fmt.Sprintf("There is little to predict: who knows what co-players draw from has a cross-entropy of %.3g, how often each "+
			"action is taken %.3g, the model %.3g, over %d rows.", exact/n, base, ce, f.Rows)
	case ce > 1.02*base:
		f.Accuse(check.Suspect, ce-base,
			fmt.Sprintf("Predictions of others are no better than how often each action is taken: cross-entropy %.3g against %.3g, over %d "+
				"rows.", ce, base, f.Rows), "whether the model learns at all (rec.learner(..., part=\"moa\")), and from whose rows")
	default:
		f.Says = fmt.Sprintf("Predictions of others are better than how often each action is taken: cross-entropy %.3g against %.3g, %.0f %% "+
			"right, over %d rows.", ce, base, 100*right, f.Rows)
	}
}

// world asks what predictions of the next observation and of rewards are worth: against
// copying the observation and the mean reward, and against other steps and agents.
func (r *recorded) world(f *check.Finding) {
	k, width := r.Count, r.Foreseen.Width
	f.Unit = "squared error"
	var err, still, later, mates float64
	var pay, base, paySoon, payLate []float64
	var mean float64
	mateRows, laterRows := 0, 0
	distance := func(x, y []float32) float64 {
		sum := 0.
		for i := range x {
			if x[i] == x[i] {
				sum += float64(x[i]-y[i]) * float64(x[i]-y[i])
			}
		}
		return sum
	}
	seen := func(x []float32, row int) []float32 { return x[row*width : (row+1)*width] }
	rows := 0
	var mateErr, laterErr float64 // of the same rows, against the right observation
	for i, row := range r.WorldRow {
		exit, cut := r.Ends(row)
		if !r.Alive[row] || i < len(r.WorldRow)/2 {
			continue // it learns: the later half counts
		}
		f.Rows++
		if width > 0 && r.Obs != nil && !exit && !cut && r.Foreseen.At(i)[0] == r.Foreseen.At(i)[0] {
			rows++
			x := r.Foreseen.At(i)
			e := distance(x, seen(r.Next, row))
			err += e
			still += distance(seen(r.Obs, row), seen(r.Next, row))
			if from := row - row%k + (row+1)%k; k > 1 && r.Alive[from] {
				mateRows++
				mateErr, mates = mateErr+e, mates+distance(x, seen(r.Next, from))
			}
			if from := r.After(row); from >= 0 {
				laterRows++
				laterErr, later = laterErr+e, later+distance(x, seen(r.Next, from))
			}
		}
		if x := r.WorldReward; x != nil && !math.IsNaN(x[i]) {
			paid := float64(r.Reward[row])
			pay, base = append(pay, (x[i]-paid)*(x[i]-paid)), append(base, paid)
			mean += paid
			if from := r.Before(row); from >= 0 {
				d := x[i] - float64(r.Reward[from])
				payLate = append(payLate, d*d-pay[len(pay)-1])
			}
			if from := r.After(row); from >= 0 {
				d := x[i] - float64(r.Reward[from])
				paySoon = append(paySoon, d*d-pay[len(pay)-1])
			}
		}
	}
	if f.Rows < 20 {
		f.Rows = 0
		f.Says = needWorld
		return
	}
	total := func(x []float64) (sum float64) {
		for _, v := range x {
			sum += v
		}
		return sum
	}
	f.Says = ""
	if rows > 0 {
		f.Saw(err/float64(rows), still/float64(rows), "squared error of the next observation, beside that of copying this one")
		switch {
		case mateRows >= 20 && mates < 0.5*mateErr:
			f.Accuse(check.Fault, mateErr/mates,
				fmt.Sprintf("Predicted observations are the next agent's: squared error %.3g against %.3g of its own.",
					mates/float64(mateRows), mateErr/float64(mateRows)), "whose observations and actions the world model is handed")
		case laterRows >= 20 && later < 0.5*laterErr:
			f.Accuse(check.Fault, laterErr/later,
				fmt.Sprintf("Predicted observations are those of two steps later: squared error %.3g against %.3g.",
					later/float64(laterRows), laterErr/float64(laterRows)), "which step's observation the model learns as the next one")
		case err > 0.98*still:
			f.Accuse(check.Suspect, err/max(still, 1e-12),
				fmt.Sprintf("The world model predicts the next observation no better than copying this one: squared error %.3g against %.3g, over %d "+
					"rows.", err/float64(rows), still/float64(rows), rows),
				"whether it learns at all, and whether what it reads includes everybody's actions")
		default:
			f.Says = fmt.Sprintf("The world model predicts the next observation better than copying: squared error %.3g against %.3g, over %d rows.",
				err/float64(rows), still/float64(rows), rows)
		}
	}
	if n := float64(len(pay)); n > 0 && f.Status == check.Pass {
		variance := 0.
		for _, x := range base {
			variance += (x - mean/n) * (x - mean/n)
		}
		own := total(pay)
		f.Saw(own/n, variance/n, "squared error of rewards, beside that of their mean")
		switch {
		case variance == 0:
		case total(payLate) < -0.5*own:
			f.Accuse(check.Fault, own/n, "Predicted rewards are those of the step before.", "which step's reward the model learns")
		case total(paySoon) < -0.5*own:
			f.Accuse(check.Fault, own/n, "Predicted rewards are those of the step after.", "which step's reward the model learns")
		case own > variance:
			f.Accuse(check.Suspect, own/variance,
				fmt.Sprintf("The world model predicts rewards no better than their mean: squared error %.3g against "+
					"%.3g, over %.0f rows.", own/n, variance/n, n), "whether it learns at all, and how rare rewards are")
		default:
			f.Says += fmt.Sprintf(" Rewards: squared error %.3g, of their mean %.3g.", own/n, variance/n)
		}
	}
}
