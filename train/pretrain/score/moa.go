package score

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/card"
	"github.com/hop-marl/hop/train/pretrain"
)

// MOAScore is what `hop pretrain moa` promises, on episodes that were not learnt
// from.
type MOAScore struct {
	Top1       float64            `json:"top1"`
	Top3       float64            `json:"top3"`
	CE         float64            `json:"ce"`
	ECE        float64            `json:"ece"`
	Recall     []stats.Number     `json:"recall"`    // null of actions that were not taken
	Precision  []stats.Number     `json:"precision"` // null of actions that were not predicted
	Rows       int                `json:"rows"`      // scored
	Limit      string             `json:"limit"`
	LimitTop1  stats.Number       `json:"limit_top1"` // null: limit_error says why it is not known
	LimitCE    stats.Number       `json:"limit_ce"`
	OfLimit    stats.Number       `json:"of_limit"` // top1 / limit_top1
	Baselines  map[string]MOABase `json:"baselines"`
	Limits     map[string]MOABase `json:"limits"`
	Belief     *MOABelief         `json:"belief,omitempty"`
	Drift      *MOADrift          `json:"drift,omitempty"` // where it is most off on average
	Split      map[string]int     `json:"split"`           // rows
	Left       int                `json:"rows_of_agents_that_left"`
	Aimless    int                `json:"left_out_without_goal"`
	BestEpoch  int                `json:"best_epoch"`
	Epochs     int                `json:"epochs"`
	Describe   string             `json:"model"`
	LimitError string             `json:"limit_error,omitempty"`

	Beside     []MOABeside  `json:"beside,omitempty"`            // models that a run's agents have of each other
	BesideTop1 float64      `json:"beside_top1,omitempty"`       // of all of them together
	BesideOf   stats.Number `json:"beside_of_offline,omitempty"` // divided by that of the model learnt here
}

// counted returns the recall and precision of every class, NaN where nothing was
// counted.
func counted(c *card.Classes) (recall, precision []stats.Number) {
	named := make([]int, len(c.Names))
	for i, n := range c.Confusion {
		named[i%len(named)] += n
	}
	for k := range c.Names {
		r := c.Class(k)
		if r.Count == 0 {
			r.Recall = math.NaN()
		}
		if named[k] == 0 {
			r.Precision = math.NaN()
		}
		recall, precision = append(recall, stats.Number(r.Recall)), append(precision, stats.Number(r.Precision))
	}
	return recall, precision
}

// MOA scores the best weights and fills a card; g is the dataset's game, nil if that is not here.
func MOA(ctx context.Context, t *pretrain.MOA, g game.Game) (*MOAScore, *card.Card, error) {
	var c, majority, table *card.Classes
	var l *MOALimits
	var uniform MOABase
	cores.Beside(ctx, func() { c = t.Classes(2) }, func() { l = limits(t, g) }, func() { uniform, majority, table = baselines(t) })
	s := &MOAScore{
		Top1: c.Accuracy(), Top3: c.Accuracy3(), CE: c.CE(), ECE: c.ECE(), Rows: c.N,
		Baselines: map[string]MOABase{"uniform_legal": uniform, "majority": base(majority), "state_table": base(table)},
		Limits:    map[string]MOABase{}, Split: map[string]int{}, Left: t.Rows.Left, Aimless: t.Aimless,
		BestEpoch: t.BestAt, Epochs: t.Epoch, Describe: t.Learner.Model.Describe(t.Learner.Params),
		LimitTop1: stats.Number(math.NaN()), LimitCE: stats.Number(math.NaN()), OfLimit: stats.Number(math.NaN()),
	}
	s.Recall, s.Precision = counted(c)
	for part, name := range []string{"learn", "choose", "score"} {
		s.Split[name] = t.Len(part)
	}
	know := oracle.OwnHistory
	if t.Config.Condition != "none" {
		know = oracle.TypeKnown
	}
	var limit *card.Classes
	if l.why != nil {
		s.LimitError = l.why.Error()
	} else {
		for k, x := range l.Know {
			s.Limits[strings.ReplaceAll(oracle.Knowledge(k).String(), " ", "_")] = base(x)
		}
		limit = l.Know[know]
		s.Limit, s.LimitTop1, s.LimitCE = know.String(), stats.Number(limit.Accuracy()), stats.Number(limit.CE())
		s.OfLimit = stats.Number(s.Top1) / s.LimitTop1
	}
	s.Belief, s.Drift = follow(t, l), driftOf(t)
	return s, moaCard(t, s, c, limit, uniform.floor), nil
}

func moaCard(t *pretrain.MOA, s *MOAScore, c, limit *card.Classes, floor float64) *card.Card {
	k := &card.Card{
		Title: "Model of others: " + s.Describe,
		About: fmt.Sprintf("Given: %s. Learnt from %d rows, weights of epoch %d of %d chosen on %d, scored on %d rows of other episodes.",
			t.Config.Condition, s.Split["learn"], s.BestEpoch, s.Epochs, s.Split["choose"], s.Rows),
	}
	k.Short = Short(t.Training, pretrain.DefaultMOA().Epochs, func(held map[string]float64) float64 { return held["ce_held"] })
	loose := t.Config.Condition == "none" // an observation shows the others too, which own history does not go by
	number := func(name string, v float64, lower bool, of func(MOABase) float64) {
		n := card.Number{Name: name, Value: v, N: s.Rows, Lower: lower}
		for _, b := range []struct{ key, name string }{{"uniform_legal", "uniform legal"}, {"majority", "majority"},
			{"state_table", "state table"}} {
			n.Baselines = append(n.Baselines, card.Ref{Name: b.name, Value: of(s.Baselines[b.key])})
		}
		if limit != nil {
			n.Limit = &card.Ref{Name: s.Limit, Value: of(base(limit)), Loose: loose}
		}
		k.Add(n)
	}
	number("top-1", s.Top1, false, func(b MOABase) float64 { return b.Top1 })
	number("top-3", s.Top3, false, func(b MOABase) float64 { return b.Top3 })
	number("cross-entropy", s.CE, true, func(b MOABase) float64 { return b.CE })
	k.Numbers[2].Unit, k.Numbers[2].Fix = "nats", "train longer, or give more rows"
	k.Add(card.Number{Name: "calibration error", Value: s.ECE, N: s.Rows, Lower: true})
	for a, name := range t.Data.Layout.Actions {
		n := card.Number{Name: "recall of " + name, Value: float64(s.Recall[a]), N: c.Class(a).Count}
		if limit != nil {
			n.Limit = &card.Ref{Name: s.Limit, Value: limit.Class(a).Recall, Loose: true} // one action's recall can be had at another's cost
		}
		k.Add(n)
	}
	if b := s.Belief; b != nil {
		name := "type named in time"
		if t.Config.Condition == "goal" {
			name = "goal named when the exact observer names the type"
		}
		k.Add(card.Number{Name: name, Value: b.OnTime, N: b.Agents})
	}
	var learnt, held, steps []float64
	for _, e := range t.Past {
		learnt, held, steps = append(learnt, e.Learn["ce_learnt"]), append(held, e.Held["ce_held"]), append(steps, e.Steps...)
	}
	checkRows(k, t.Rows)
	checkLearns(k, t.Learner)
	floored := check.Predictor{CE: min(s.CE, slices.Min(append(learnt, math.Inf(1)))), Floor: floor, Classes: len(t.Data.Layout.Actions),
		Right: s.Top1, Sure: c.Sure()}
	if limit != nil {
		floored.Exact = float64(s.LimitCE)
	}
	askFloor(k, "below the floor of a double softmax", floored)
	askSpikes(k, steps)
	checkSkill(t, k, s, c, limit)
	k.Figures = append(k.Figures, c.Figures("moa_")...)
	flat := func(v float64) []float64 {
		out := make([]float64, max(len(held), 1))
		for i := range out {
			out[i] = v
		}
		return out
	}
	lines := []plot.Line{{Name: "learnt", Y: learnt}, {Name: "held out", Y: held}, {Name: "softmax twice: floor", Y: flat(floor), Dash: true}}
	if limit != nil {
		lines = append(lines, plot.Line{Name: s.Limit, Y: flat(float64(s.LimitCE)), Dash: true})
	}
	k.Figures = append(k.Figures, plot.Lines("moa_loss", "Cross-entropy",
		"Mean -ln p of what was played, over the legal actions, by epoch.", plot.Axes{X: "epoch", Y: "nats"}, lines...))
	if s.Belief != nil {
		k.Figures = append(k.Figures, beliefFigure(t, s.Belief))
	}
	if s.LimitError != "" {
		k.Notes = append(k.Notes, "No limit: "+s.LimitError)
	}
	return k
}

func beliefFigure(t *pretrain.MOA, b *MOABelief) *plot.Figure {
	var lines []plot.Line
	for i, bot := range t.Data.Bots {
		cut := len(b.Counted[i])
		for j, n := range b.Counted[i] {
			if n < 20 {
				cut = j
				break
			}
		}
		lines = append(lines, plot.Line{Name: bot + ", learnt", Y: b.Learnt[i][:cut]},
			plot.Line{Name: bot + ", exact", Y: b.Exact[i][:cut], Dash: true})
	}
	return plot.Lines("moa_belief", "Belief in the true type",
		"Mean probability after so many of its actions, while at least 20 agents are in the game.",
		plot.Axes{X: "actions seen - 1", Y: "probability", YMax: 1.02}, lines...)
}

// checkRows asks whether the data are what they seem.
func checkRows(k *card.Card, r *moa.Rows) {
	taken := r.Keep && r.Left > 0
	why := "every row is of an agent that was in the game"
	switch {
	case taken:
		why = fmt.Sprintf("%d of %d rows are of agents that had left; a model learns from them that everybody stands still", r.Left, r.Len())
	case r.Left > 0:
		why = fmt.Sprintf("%d rows of agents that had left were offered and refused", r.Left)
	}
	k.Ask(check.HasLeft, !taken, false, why)
	askOrder(k, r.Wrong, r.Steps)
	k.Check("actions are legal", r.Illegal == 0, false, fmt.Sprintf("%d recorded actions are outside their mask", r.Illegal),
		"record mask and action at the same moment")
}

// checkLearns asks whether the optimiser moves every weight.
func checkLearns(k *card.Card, l *moa.Learner) {
	still := l.Still()
	k.Ask(check.EveryPart, len(still) == 0, false,
		fmt.Sprintf("%d gradient steps moved the weights by %.0f %% of their norm; where they started: %d of %d parts %s", l.Updates,
			100*l.Moved(), len(still), len(l.Params.Parts), strings.Join(still, ", ")))
}

// askFloor asks whether a softmax was applied to probabilities.
func askFloor(k *card.Card, name string, p check.Predictor) {
	f := check.Finding{Check: name, Status: p.DoubleSoftmax(), Next: "take the cross-entropy of logits, not of probabilities",
		Says: fmt.Sprintf("best cross-entropy %.3f; a softmax of probabilities cannot fall below %.3f on these masks "+
			"(%.3f with all %d actions legal)", p.CE, p.Floor, check.SoftmaxFloor(p.Classes), p.Classes)}
	switch {
	case f.Status == check.NotAsked:
		f.Says += fmt.Sprintf("; nor does who knows all that can be known, at %.3f, so the floor tells nothing", p.Exact)
	case f.Status == check.Pass && p.CE >= p.Floor:
		f.Says += fmt.Sprintf("; but it is not less sure than its %.0f %% right allow, so it has learnt too little, not through two softmaxes",
			100*p.Right)
	}
	k.Answer(f)
}

// checkSkill asks how good the predictions are.
func checkSkill(t *pretrain.MOA, k *card.Card, s *MOAScore, c, limit *card.Classes) {
	if limit != nil {
		k.Check("reaches what can be known", s.OfLimit >= 0.98, s.OfLimit >= 0.9,
			fmt.Sprintf("top-1 %.3f is %.1f %% of the %.3f that %s gives", s.Top1, 100*s.OfLimit, s.LimitTop1,
				s.Limit), "train longer, or give it history")
	}
	top, name := 0., ""
	for n, b := range s.Baselines {
		if b.Top1 > top || b.Top1 == top && n < name {
			top, name = b.Top1, n
		}
	}
	k.Check("beats what needs no learning", s.Top1 > top+0.02, s.Top1 > top,
		fmt.Sprintf("top-1 %.3f against %.3f of %s", s.Top1, top, strings.ReplaceAll(name, "_", " ")),
		"look at the loss curve: it has learnt little")
	at, worst := c.Weakest(limit, 0.005)
	if at >= 0 {
		k.Check("no action is lost", worst >= 0.75, worst >= 0.25,
			fmt.Sprintf("the weakest is %s: where it is taken it has probability %.2f on average, %.0f %% of what can be known",
				t.Data.Layout.Actions[at], c.Given(at), 100*worst),
			"more rows of it, or learning.balance=true")
	}
	fix := "stop earlier, or give more data"
	if t.Config.Learning.Balance {
		fix = "learning.balance shifts probabilities towards rare actions; turn it off where they are used as such"
	}
	if k.Short != "" {
		fix = "train longer"
	}
	k.Check("calibrated", s.ECE < 0.02, s.ECE < 0.05, fmt.Sprintf("probabilities are off by %.3f on average", s.ECE), fix)
	s.Drift.check(k, t.Config.Learning.Balance)
	if b := s.Belief; b != nil && t.Config.Condition == "type" { // who wants a stag may end with a hare, so goals have no such limit
		k.Check("names types in time", b.OnTime >= 0.95, b.OnTime >= 0.8,
			fmt.Sprintf("in %.1f %% of %d agents' episodes it is 90 %% sure of the true type at most a step after the exact observer", 100*b.OnTime,
				b.Agents), "a better model of others, or another belief.smooth")
	}
}
