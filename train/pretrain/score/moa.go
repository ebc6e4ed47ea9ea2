package score

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/nn"
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

// About predicts what agent a does if it pursues goal: probs [Actions] from a's
// own observation. It reports false where it cannot say.
type About func(probs, obs []float32, a agent.ID, goal int) bool

// MOABeside is what an agent's own model of another, learnt while playing, is
// worth on the scored rows.
type MOABeside struct {
	Of        agent.ID       `json:"of"`
	About     agent.ID       `json:"about"`
	Rows      int            `json:"rows"`
	Top1      float64        `json:"top1"`
	CE        float64        `json:"ce"`
	ECE       float64        `json:"ece"`
	Recall    []stats.Number `json:"recall"`
	OfOffline stats.Number   `json:"of_offline"` // top1 / that of the model learnt here, on the same rows

	online, offline *card.Classes
}

// Beside holds what agents have learnt about each other while playing against
// the model learnt here, row by row, and adds it to score and card: want it to
// reach four fifths of the top-1, and to lose no action.
func Beside(t *pretrain.MOA, agents map[agent.ID]About, s *MOAScore, k *card.Card) {
	d, m := t.Data, t.Learner.Model
	here := make([]nn.Probs, t.Rows.Len())
	t.Learner.Each(t.Rows, t.Parts[2], func(row int, p nn.Probs) { here[row] = slices.Clone(p) })
	obs, probs := make([]float32, d.ObsLen()), make([]float32, m.Actions)
	all, ref := card.NewClasses(d.Layout.Actions), card.NewClasses(d.Layout.Actions)
	for of := range agent.ID(d.Layout.Seats) {
		about := agents[of]
		if about == nil {
			continue
		}
		pairs := make([]MOABeside, d.Layout.Seats)
		for j := range pairs {
			pairs[j] = MOABeside{Of: of, About: agent.ID(j), online: card.NewClasses(d.Layout.Actions), offline: card.NewClasses(d.Layout.Actions)}
		}
		for _, q := range t.Parts[2] {
			for i := int(t.Rows.Seqs[q].Lo); i < int(t.Rows.Seqs[q].Hi); i++ {
				row := int(t.Source[i])
				d.Observation(row, obs)
				j := agent.ID(d.Agent[row])
				if !about(probs, obs, j, int(d.Goal[row])) {
					continue
				}
				was := int(t.Rows.Action[i])
				pairs[j].online.Add(was, probs)
				pairs[j].offline.Add(was, here[i])
				all.Add(was, probs)
				ref.Add(was, here[i])
			}
		}
		for _, p := range pairs {
			if p.online.N == 0 {
				continue
			}
			p.Rows, p.Top1, p.CE, p.ECE = p.online.N, p.online.Accuracy(), p.online.CE(), p.online.ECE()
			p.Recall, _ = counted(p.online)
			p.OfOffline = stats.Number(p.Top1 / p.offline.Accuracy())
			s.Beside = append(s.Beside, p)
			k.Add(card.Number{
				Name: fmt.Sprintf("agent %d's own model of agent %d: top-1", p.Of, p.About), Value: p.Top1, N: p.Rows,
				Limit: &card.Ref{Name: "learnt here", Value: p.offline.Accuracy(), Loose: true},
			})
		}
	}
	if all.N == 0 {
		k.Check("online models keep up", false, false, "no scored row has a goal that they could be told", "collect rows of the run's own agents")
		return
	}
	worst := s.Beside[0]
	for _, p := range s.Beside {
		if p.OfOffline < worst.OfOffline {
			worst = p
		}
	}
	s.BesideTop1, s.BesideOf = all.Accuracy(), stats.Number(all.Accuracy()/ref.Accuracy())
	k.Check("online models keep up", worst.OfOffline >= 0.8, worst.OfOffline >= 0.5,
		fmt.Sprintf("learnt while playing: top-1 %.3f, cross-entropy %.3f, calibration error %.3f on %d rows; learnt here: %.3f, %.3f, %.3f. "+
			"The weakest, agent %d's of agent %d, reaches %.0f %%",
			all.Accuracy(), all.CE(), all.ECE(), all.N, ref.Accuracy(), ref.CE(), ref.ECE(), worst.Of, worst.About, 100*worst.OfOffline),
		"more passes (moa.passes), or a higher moa.lr")
	if at, least := all.Weakest(ref, 0.03); at >= 0 {
		k.Check("online models lose no action", least >= 0.5, least >= 0.25,
			fmt.Sprintf("the weakest is %s: where it is taken it has probability %.2f on average, learnt here %.2f", d.Layout.Actions[at],
				all.Given(at), ref.Given(at)), "more rows of it, or moa.balance: true")
	}
}

// MOADrift is where a model is off on average: an action of a step that it
// predicts more or less often than it is taken. The calibration error looks at the
// likeliest action alone and does not see this.
type MOADrift struct {
	Step      int     `json:"step"` // of the episode
	Action    string  `json:"action"`
	Predicted float64 `json:"predicted"` // mean probability
	Taken     float64 `json:"taken"`     // share of rows
	Z         float64 `json:"z"`         // their difference in standard errors
	Rows      int     `json:"rows"`
}

// drifts sums up by step and action. Agents of one episode are of one team, so
// what chance does is measured between episodes.
type drifts struct {
	names []string
	n     []int       // [step]
	p     [][]float64 // [step][action] sum of probabilities
	was   [][]float64 // how often it was taken
	gap   [][]float64 // was - p of the present episode
	v     [][]float64 // sum of squares of past episodes' gaps

	episode int
}

// add counts a row. Rows of an episode come together.
func (d *drifts) add(episode, step, action int, probs nn.Probs) {
	if episode != d.episode {
		d.close()
		d.episode = episode
	}
	for len(d.n) <= step {
		d.n = append(d.n, 0)
		for _, sum := range []*[][]float64{&d.p, &d.was, &d.gap, &d.v} {
			*sum = append(*sum, make([]float64, len(d.names)))
		}
	}
	d.n[step]++
	d.was[step][action]++
	d.gap[step][action]++
	for k, p := range probs {
		d.p[step][k] += float64(p)
		d.gap[step][k] -= float64(p)
	}
}

// close ends an episode.
func (d *drifts) close() {
	for t, gap := range d.gap {
		for k, g := range gap {
			d.v[t][k] += g * g
		}
		clear(gap)
	}
}

// worst returns the difference that chance explains least, of steps with at
// least a hundred rows; differences below 0.01 do not count. Nil: there is none.
func (d *drifts) worst() *MOADrift {
	d.close()
	var out *MOADrift
	for t, rows := range d.n {
		if rows < 100 {
			continue
		}
		n := float64(rows)
		for k, name := range d.names {
			gap := math.Abs(d.p[t][k] - d.was[t][k])
			if z := gap / math.Sqrt(max(d.v[t][k], 1)); gap > 0.01*n && (out == nil || z > out.Z) {
				out = &MOADrift{t, name, d.p[t][k] / n, d.was[t][k] / n, z, rows}
			}
		}
	}
	return out
}

// driftOf scores the current weights.
func driftOf(t *pretrain.MOA) *MOADrift {
	d := &drifts{names: t.Data.Layout.Actions}
	t.Learner.Each(t.Rows, t.Parts[2], func(row int, p nn.Probs) {
		at := t.Source[row]
		d.add(int(t.Data.Episode[at]), int(t.Data.T[at]), int(t.Rows.Action[row]), p)
	})
	return d.worst()
}

// check asks whether actions are predicted as often as they are taken, at every
// step. Of a hundred numbers that are right, one is beyond five standard errors
// in fewer than one run of ten thousand.
func (d *MOADrift) check(k *card.Card, balance bool) {
	why, ok, weak := "every action is predicted as often as it is taken, at every step, within 0.01 or five standard errors", true, true
	if d != nil && d.Z > 5 {
		ok, weak = false, math.Abs(d.Predicted-d.Taken) < 0.1
		why = fmt.Sprintf("at step %d, %s has %.3f on average and is taken in %.3f of %d rows, %.0f standard errors off", d.Step, d.Action,
			d.Predicted, d.Taken, d.Rows, d.Z)
	}
	fix := "see whether batches are drawn from all rows alike: sorted by length or kind, they are weighed wrongly"
	if balance {
		fix = "learning.balance does this; turn it off where probabilities are used as such"
	}
	k.Check("right on average at every step", ok, weak, why, fix)
}
