package score

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/store/card"
	"github.com/hop-marl/hop/train/pretrain"
)

// WorldScores is all that was measured of a world model.
type WorldScores struct {
	Held     *WorldScore
	Probe    *WorldScore // of new episodes; nil: the game is not here to be played
	OpenLoop []float64   // nothing without a game
	Planes   []string    // names
	Short    string      // why the training was too short, "" if it was not

	Beside     [][]float32 // [Probe.Worst][H][W][Planes] raw predictions of another model
	BesideName string
}

// BesideWorld returns what another model predicts for the worst rows of a score.
func BesideWorld(m *world.Model, p *nn.Params, s *WorldScore) [][]float32 {
	ws, next := m.Work(), newWorldNext(m.Input, 1)
	var out [][]float32
	for _, c := range s.Worst {
		if len(c.Obs) != m.Len() {
			return nil
		}
		ws.Step(p, next, c.Obs, c.given, 1)
		out = append(out, slices.Clone(next.Planes))
	}
	return out
}

// What is asked of a model that obeys the rules; see docs/world.md.
const (
	goodExact  = 0.999
	weakExact  = 0.99
	goodEvent  = 0.995
	weakEvent  = 0.95
	goodLoop   = 0.98
	weakLoop   = 0.9
	goodReward = 1e-5
	weakReward = 1e-3
	goodPSNR   = 45
	weakPSNR   = 30
)

// WorldCard writes the report card. Without a game to play, what needs new episodes or the rules is
// left out, and there are no limits.
func WorldCard(m *world.Model, what string, j WorldScores) (*card.Card, error) {
	h, p := j.Held, j.Probe
	limit := func(v float64) *card.Ref { return &card.Ref{Name: "the rules", Value: v} }
	held, sure := limit, limit
	about := fmt.Sprintf("%s. Scored on %d held-out steps", what, h.Rows)
	switch {
	case p == nil:
		about += ". The data are of a game that hop does not have: no new episodes could be played, and nothing is known of its rules, not " +
			"even whether they draw random numbers, so there are no limits."
		held = func(float64) *card.Ref { return nil }
		sure = held
	case p.random:
		about += fmt.Sprintf(" and on %d steps of new episodes by teams of all bots. The rules draw random numbers, so not every step can be "+
			"foreseen: of the new episodes' steps, the %d that chance decides are left out, and the limit is 100 %% of the others. "+
			"Held-out steps are not told apart, so they have no limit.", p.Rows, p.Chance)
		held = func(float64) *card.Ref { return nil }
	default:
		about += fmt.Sprintf(" and on %d steps of new episodes by teams of all bots. The rules are deterministic: the limit is 100 %% exact.",
			p.Rows)
	}
	c := &card.Card{Title: "World model", Short: j.Short, About: about}
	idle := func(v float64) []card.Ref { return []card.Ref{{Name: "nothing moves", Value: v}} }
	mean := []card.Ref{{Name: "mean reward", Value: h.Idle.RewardMSE}}
	c.Add(card.Number{Name: "exact next states", Value: h.Exact, N: h.Rows, Baselines: idle(h.Idle.Exact), Limit: held(1), Good: goodExact})
	if p != nil {
		c.Add(card.Number{Name: "exact, new episodes", Value: p.Exact, N: p.Rows, Baselines: idle(p.Idle.Exact), Limit: limit(1),
			Good: goodExact})
		c.Add(card.Number{Name: "illegal transitions, new episodes", Value: float64(p.Illegal), N: p.Rows, Lower: true, Limit: limit(0)})
	}
	c.Add(card.Number{Name: "PSNR", Value: h.PSNR, N: h.Rows, Unit: "dB", Baselines: idle(psnr(h.Idle.MSE))})
	c.Add(card.Number{Name: "obs MSE", Value: h.MSE, N: h.Rows, Lower: true, Baselines: idle(h.Idle.MSE), Limit: held(0)})
	c.Add(card.Number{Name: "reward MSE", Value: h.RewardMSE, N: h.Rows, Lower: true, Baselines: mean, Limit: held(0)})
	if p != nil {
		c.Add(card.Number{Name: "10 steps open loop", Value: j.loop(10), Limit: held(1)})
	}
	c.Add(card.Number{Name: "calibration of ends", Value: h.EndECE, N: h.Rows, Lower: true, Limit: sure(0)})
	c.Add(card.Number{Name: "calibration of rewards", Value: h.RewardECE, N: h.Rows, Lower: true, Limit: sure(0)})
	j.checks(c)
	if m.Fault != world.NoFault {
		c.Notes = append(c.Notes, "Planted on purpose: "+m.Fault+". "+j.broken())
	}
	if m.Time == 0 {
		c.Notes = append(c.Notes, "The game does not observe the time, so the model cannot foresee its end by time.")
	}
	return c, j.figures(c, m)
}

// seen is what events and worst rows are shown of: new episodes, or those held out.
func (j *WorldScores) seen() (s *WorldScore, where string) {
	if j.Probe == nil {
		return j.Held, "held-out episodes"
	}
	return j.Probe, "new episodes"
}

// loop returns the share of plays exact for k steps.
func (j *WorldScores) loop(k int) float64 {
	if len(j.OpenLoop) == 0 {
		return 0
	}
	return j.OpenLoop[min(k, len(j.OpenLoop))-1]
}

// checks asks whether the model obeys the rules.
func (j *WorldScores) checks(c *card.Card) {
	h, p, where := j.Held, j.Probe, "held-out"
	if p == nil {
		c.Check("exact", h.Exact >= goodExact, true, fmt.Sprintf("%.3f %% of held-out next states are exact; wrong: %s", 100*h.Exact,
			kindList(h.Wrong)), "if the rules draw no random numbers: more data or epochs; look at the worst rows first")
		for _, name := range []string{"legal", "events", "rewards", "open loop", "sharp"} {
			c.Answer(check.Finding{Check: name, Status: check.NotAsked, Says: "the game is not here to be played"})
		}
		return
	}
	if p.random {
		h, where = p, "new episodes' certain"
	}
	c.Check("exact", h.Exact >= goodExact, h.Exact >= weakExact,
		fmt.Sprintf("%.3f %% of %s next states are exact; wrong: %s", 100*h.Exact, where, kindList(h.Wrong)),
		"more data or epochs; look at the worst rows first")
	c.Check("legal", p.Illegal == 0, float64(p.Illegal) <= 1e-3*float64(p.Rows),
		fmt.Sprintf("%d of %d transitions are illegal: %s", p.Illegal, p.Rows, kindList(p.Kinds)),
		"a model that moves agents where the rules do not cannot be planned with; train the heads variant longer")
	worst, acc := "", 1.
	for _, name := range slices.Sorted(maps.Keys(p.Events)) {
		if e := p.Events[name]; e.N >= 20 && e.Accuracy < acc {
			worst, acc = name, e.Accuracy
		}
	}
	why := "every event is foreseen"
	if worst != "" {
		why = fmt.Sprintf("%s is foreseen in %.2f %% of %d cases; %s", worst, 100*acc, p.Events[worst].N, j.broken())
	}
	rare := worst != "" && p.Events[worst].N <= p.Rows/2000 // hardly ever met, so hardly ever planned with
	c.Check("events", acc >= goodEvent, acc >= weakEvent || rare, why, "collect more of the rare event (teams of one bot), or raise rare")
	c.Check("rewards", h.RewardMSE <= goodReward, h.RewardMSE <= weakReward,
		fmt.Sprintf("the own expected reward has a squared error of %.2g", h.RewardMSE),
		"see which events break; rewards follow them")
	if p.random {
		c.Answer(check.Finding{Check: "open loop", Status: check.NotAsked,
			Says: "the rules draw random numbers, which nobody foresees for 10 steps"})
	} else {
		c.Check("open loop", j.loop(10) >= goodLoop, j.loop(10) >= weakLoop,
			fmt.Sprintf("%.1f %% of random plays are exact for 10 steps without seeing the game again", 100*j.loop(10)),
			"imagine fewer steps, or only where doubt is small")
	}
	c.Check("sharp", h.PSNR >= goodPSNR, h.PSNR >= weakPSNR, fmt.Sprintf("raw planes have %.1f dB", h.PSNR),
		"train longer; regression of planes stays at 20 to 30 dB")
}

// ShortWorld says why a training was too short to judge its model by, "" if it
// was not.
func ShortWorld(w *pretrain.World) string {
	return Short(w.Training, pretrain.DefaultWorld().Epochs, func(held map[string]float64) float64 {
		sum := 0.
		for _, name := range slices.Sorted(maps.Keys(held)) {
			sum += held[name]
		}
		return sum
	})
}

// broken names the events that are foreseen in less than 95 % of at least 20 cases.
func (j *WorldScores) broken() string {
	var out []string
	s, _ := j.seen()
	for _, name := range slices.Sorted(maps.Keys(s.Events)) {
		if e := s.Events[name]; e.N >= 20 && e.Accuracy < weakEvent {
			out = append(out, fmt.Sprintf("%s (%.0f %%)", name, 100*e.Accuracy))
		}
	}
	if len(out) == 0 {
		return "No event breaks."
	}
	return "These break: " + strings.Join(out, ", ") + "."
}

// kindList writes counts by name.
func kindList(m map[string]int) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if m[k] > 0 {
			out = append(out, fmt.Sprintf("%s %d", k, m[k]))
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

// figures draws events, open loop, calibration, histograms and the worst rows.
func (j *WorldScores) figures(c *card.Card, m *world.Model) error {
	s, where := j.seen()
	if j.Probe != nil {
		where += " by teams of all bots"
	}
	names := slices.Sorted(maps.Keys(s.Events))
	var share []float64
	for i, n := range names {
		e := s.Events[n]
		share = append(share, e.Accuracy, 1-e.Accuracy)
		names[i] = fmt.Sprintf("%s (%d)", n, e.N)
	}
	if len(names) > 0 { // few new steps may all have been decided by chance
		c.Figures = append(c.Figures, plot.HeatOf("events", "Events",
			"Share of each event that was foreseen in "+where+", with how often it happened; "+
				"the board, the hunters' cells and their rewards must be right.",
			"", names, []string{"foreseen", "missed"}, share))
	}
	k := make([]float64, len(j.OpenLoop))
	for i := range k {
		k[i] = float64(i + 1)
	}
	if j.Probe != nil {
		c.Figures = append(c.Figures, plot.Lines("open_loop", "Open loop",
			"Share of random plays whose first k steps are exact; the model never sees the game again after the start.",
			plot.Axes{X: "steps k", Y: "exact plays", YMin: 0, YMax: 1}, plot.Line{Name: "exact", X: k, Y: j.OpenLoop}))
	}
	c.Figures = append(c.Figures, j.calibration(), j.rewards())
	for i, name := range j.Planes {
		c.Figures = append(c.Figures, histogram(j.Held, i, name))
	}
	worst, err := j.picture(m)
	c.Figures = append(c.Figures, worst)
	return err
}

// calibration compares probabilities of ends with how often they came true.
func (j *WorldScores) calibration() *plot.Figure {
	var x, y []float64
	for i, n := range j.Held.end.n {
		if n > 0 {
			x, y = append(x, j.Held.end.sum[i]/n), append(y, j.Held.end.hit[i]/n)
		}
	}
	return plot.Lines("ends", "Calibration of ends",
		"Ten bins of the probability that an agent leaves or the episode ends, against how often it did.",
		plot.Axes{X: "predicted", Y: "came true", YMin: 0, YMax: 1},
		plot.Line{Name: "this model", X: x, Y: y}, plot.Line{Name: "calibrated", X: []float64{0, 1}, Y: []float64{0, 1}, Dash: true})
}

// rewards is a scatter of true and expected rewards.
func (j *WorldScores) rewards() *plot.Figure {
	cloud := plot.Cloud{Name: "rows"}
	for _, p := range j.Held.mean {
		cloud.X, cloud.Y = append(cloud.X, p[0]), append(cloud.Y, p[1])
	}
	return plot.Scatter("rewards", "Calibration of rewards", "The own reward of held-out rows: true and expected, raw.",
		plot.Axes{X: "true", Y: "expected"}, cloud)
}

// histogram shows the raw values of a plane where it is set and where it is not.
func histogram(s *WorldScore, plane int, name string) *plot.Figure {
	share := func(counts []int) []float64 {
		total := 0
		for _, n := range counts {
			total += n
		}
		out := make([]float64, len(counts))
		for i, n := range counts {
			out[i] = float64(n) / float64(max(total, 1))
		}
		return out
	}
	labels := make([]string, histBins)
	for i := range labels {
		labels[i] = fmt.Sprintf("%.2f", float64(i)/histBins)
	}
	return plot.Bars("plane_"+name, "Raw values of plane "+name,
		"Share of cells by predicted value, never rounded, where the truth is 1 and where it is 0.",
		plot.Axes{X: "predicted", Y: "share", YMin: 0, YMax: 1}, labels,
		plot.Group{Name: "truth 1", Values: share(s.hist[plane])}, plot.Group{Name: "truth 0", Values: share(s.zero[plane])})
}
