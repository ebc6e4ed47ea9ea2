// Package score says what models taught before a run are worth, on episodes that
// they did not learn from, and fills their report cards: numbers beside what costs
// nothing and what is possible, checks that name faults, figures.
package score

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/model"
	"github.com/hop-marl/hop/model/vae"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/card"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/train/pretrain"
)

// VAEScore is what codes of states are worth, on episodes they were not learnt
// from. Shares are of rows.
type VAEScore struct {
	codeScore          // its limit is one who sees what the encoder sees and is taught the goals
	CellsExact float64 `json:"cells_exact"`    // every agent's cell rebuilt
	StateExact float64 `json:"state_exact"`    // and all other planes
	Hidden     float64 `json:"hidden_by_half"` // rounding at a half would hide an agent that is there
	TypeProbe  float64 `json:"type_probe"`     // a probe for the agent's true type
	Top1       float64 `json:"action_top1"`    // loss B
	Counts     []int   `json:"class_counts,omitempty"`
}

// codeScore is what codes of states and subgoals inferred from history are scored
// by alike.
type codeScore struct {
	Rows       int                `json:"rows"`
	Terms      map[string]float64 `json:"terms"`
	Probe      float64            `json:"probe"`       // accuracy of a linear probe from the code to the goal finally reached
	ProbeLimit stats.Number       `json:"probe_limit"` // the most that could be; null: not known
	ProbeRows  int                `json:"probe_rows"`
	Majority   float64            `json:"probe_majority"` // always naming the most frequent goal
	Info       float64            `json:"probe_info"`     // nats of the goal's entropy that the probe explains
	Active     int                `json:"active"`         // dimensions of the code that vary
	Width      int                `json:"width"`
	Epochs     int                `json:"epochs"`
	BestEpoch  int                `json:"best_epoch"`
	Left       int                `json:"rows_of_agents_that_left"`

	codes vae.Codes // of the scored rows
	sound soundness
	short string // why the training was too short, "" if it was not
	past  []model.Epoch
	goals []string
}

// codesOf begins a score of the codes of rows that were learnt from and of others;
// the loss that is watched for spikes is called term. It returns the probe, nil in
// a game with fewer than two goals.
func codesOf(
	t *pretrain.Training, d *dataset.Data, part *pretrain.Part, p *nn.Params, terms []agent.Stat, term string, learn, held vae.Codes,
) (s codeScore, probe *vae.Probe) {
	s = codeScore{
		Rows: len(held.Label), Terms: pretrain.ByName(terms), Active: vae.Active(held), Width: held.Dim, Epochs: t.Epoch, BestEpoch: t.BestAt,
		codes: held, past: t.Past, goals: d.Layout.Goals, sound: soundOf(d, part).learnt(t, p, term),
	}
	s.Left = s.sound.left
	if len(s.goals) > 1 {
		probe = vae.FitProbe(learn, len(s.goals))
		got := probe.Score(held)
		s.Probe, s.Majority, s.Info, s.ProbeRows = got.Accuracy, got.Majority, got.Info, got.N
	}
	return s, probe
}

// addGoals adds what the code says about goals to a card.
func (s *codeScore) addGoals(c *card.Card, limit string) {
	n := card.Number{Name: "goal by linear probe", Value: s.Probe, N: s.ProbeRows}
	n.Baselines = []card.Ref{{Name: "majority", Value: s.Majority}}
	if best := float64(s.ProbeLimit); !math.IsNaN(best) {
		n.Limit = &card.Ref{Name: limit, Value: best, Loose: true}
	}
	c.Add(n)
	c.Add(card.Number{Name: "goal information", Value: s.Info, N: s.ProbeRows, Unit: "nats"})
}

// addActive adds how much of the code is used.
func (s *codeScore) addActive(c *card.Card) {
	c.Add(card.Number{Name: "active dimensions", Value: float64(s.Active), Limit: &card.Ref{Name: "width", Value: float64(s.Width)}})
}

// figures draws every term's curve by itself.
func (s *codeScore) figures(c *card.Card, names ...string) {
	for _, name := range names {
		var lines []plot.Line
		for i, title := range []string{"learnt from", "held out"} {
			line := plot.Line{Name: title}
			for epoch, e := range s.past {
				if v, ok := []map[string]float64{e.Learn, e.Held}[i][name]; ok {
					line.X, line.Y = append(line.X, float64(epoch+1)), append(line.Y, v)
				}
			}
			if len(line.Y) > 0 {
				lines = append(lines, line)
			}
		}
		if len(lines) == 0 {
			continue // another loss's
		}
		c.Figures = append(c.Figures, plot.Lines("term_"+name, "Term: "+name, "", plot.Axes{X: "epoch", Y: name}, lines...))
	}
}

// VAE scores codes of states and fills a card.
func VAE(ctx context.Context, v *pretrain.VAE) (*VAEScore, *card.Card, error) {
	m, p := v.Learner.Model, v.Learner.Params
	rows, s := v.Parts[2].States, &VAEScore{}
	var terms vae.Terms
	scratch := make([]int32, m.Input.Agents)
	classes := make([]int, m.Discrete)
	m.Each(rows, func(ws *vae.Work) {
		terms = terms.Plus(ws.Evaluate(p))
		for i := range ws.X.Rows() {
			cells, state, hidden := ws.Exact(i, scratch)
			s.CellsExact += share(cells)
			s.StateExact += share(state)
			s.Hidden += share(hidden)
			if m.Config.Loss == "b" {
				s.Top1 += share(ws.Acts.Mode(i) == ws.Action[i])
			}
			if m.Discrete > 0 {
				classes[ws.Class.Mode(i*m.Groups)]++
			}
		}
	})
	n := float64(rows.Len())
	s.CellsExact, s.StateExact, s.Hidden, s.Top1 = s.CellsExact/n, s.StateExact/n, s.Hidden/n, s.Top1/n
	if m.Discrete > 0 {
		s.Counts = classes
	}
	term := "action"
	if v.Config.Model.Loss == "a" {
		term = "reconstruction_agents"
	}
	learn, held := codes(v, 0), codes(v, 2)
	goals, limit, types, err := len(v.Data.Layout.Goals), 0., 0., error(nil)
	probes := []func(){func() {
		s.codeScore, _ = codesOf(v.Training, v.Data, &v.Parts[0], p, v.Named(terms), term, learn, held)
	}}
	if goals > 1 {
		probes = append(probes, func() { limit, _, err = stateLimit(m, &v.Parts, v.Data.Goal, goals, v.Key.Child("limit")) },
			func() { types = probeTypes(v, learn, held) })
	}
	if cores.Beside(ctx, probes...); err != nil {
		return nil, nil, err
	}
	s.short = Short(v.Training, pretrain.DefaultVAE(v.Config.Model.Loss).Epochs, func(held map[string]float64) float64 { return held[term] })
	if goals > 1 {
		s.ProbeLimit, s.TypeProbe = stats.Number(limit), types
	}
	return s, vaeCard(v.Config, m.Describe(p), m.Actions, s), nil
}

func share(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// probeTypes asks what z says about types; 0 where there is one only.
func probeTypes(v *pretrain.VAE, learn, held vae.Codes) float64 {
	types := len(v.Data.Bots)
	if types < 2 {
		return 0
	}
	for part, c := range map[int]*vae.Codes{0: &learn, 2: &held} {
		c.Label = make([]int, len(v.Parts[part].Rows))
		for i, row := range v.Parts[part].Rows {
			c.Label[i] = int(v.Data.Bot[row])
		}
	}
	return vae.FitProbe(learn, types).Score(held).Accuracy
}

// codes returns the means of z of a part of the rows, with the goals reached.
func codes(v *pretrain.VAE, part int) vae.Codes {
	m, p := v.Learner.Model, v.Learner.Params
	c := vae.Codes{Dim: m.Width()}
	m.Each(v.Parts[part].States, func(ws *vae.Work) {
		ws.Encode(p)
		ws.Mean()
		c.Z = append(c.Z, ws.Z[:ws.X.Rows()*m.Width()]...)
	})
	for _, row := range v.Parts[part].Rows {
		c.Label = append(c.Label, int(v.Data.Goal[row]))
	}
	return c
}

// vaeCard fills the card of codes of states.
func vaeCard(cfg pretrain.VAEConfig, describe string, actions int, s *VAEScore) *card.Card {
	c := &card.Card{Title: "Code of states, loss " + strings.ToUpper(cfg.Model.Loss), Short: s.short,
		About: describe + ". Scored on episodes that were not learnt from."}
	for _, name := range slices.Sorted(maps.Keys(s.Terms)) {
		n := card.Number{Name: name, Value: s.Terms[name], N: s.Rows, Unit: "nats", Lower: true}
		switch name {
		case "action":
			n.Baselines = []card.Ref{{Name: "uniform", Value: math.Log(float64(actions))}}
		case "kl_weight":
			n.Unit, n.N = "", 0
		}
		c.Add(n)
	}
	c.Add(card.Number{Name: "agents' cells exact", Value: s.CellsExact, N: s.Rows, Limit: &card.Ref{Name: "all", Value: 1}})
	c.Add(card.Number{Name: "whole state exact", Value: s.StateExact, N: s.Rows, Limit: &card.Ref{Name: "all", Value: 1}})
	c.Add(card.Number{Name: "rows where rounding at a half hides an agent", Value: s.Hidden, N: s.Rows, Lower: true})
	s.addGoals(c, "taught, one state")
	s.addActive(c)
	vaeChecks(c, cfg, actions, s)
	s.figures(c, slices.Sorted(maps.Keys(s.Terms))...)
	c.Figures = append(c.Figures, goalMap("z_map", s.codes, s.goals))
	return c
}

func vaeChecks(c *card.Card, cfg pretrain.VAEConfig, actions int, s *VAEScore) {
	s.sound.check(c)
	if cfg.Model.Loss == "b" {
		floor, ce := check.SoftmaxFloor(actions), s.Terms["action"]
		askFloor(c, "softmax once", check.Predictor{CE: ce, Floor: floor, Classes: actions, Right: s.Top1})
		first, last := s.past[0].Learn["action"], s.past[len(s.past)-1].Learn["action"]
		c.Check("learns", last < 0.98*first || ce < 0.5*floor, last < first,
			fmt.Sprintf("the action's cross-entropy on the rows learnt from went from %.3f to %.3f", first, last),
			"check that the optimiser holds encoder and model of the action alike")
	} else {
		c.Check("agents' cells", s.CellsExact >= 0.99, s.CellsExact >= 0.9,
			fmt.Sprintf("every agent's cell is rebuilt on %.2f %% of states", 100*s.CellsExact),
			"more epochs, wider layers or more dimensions")
	}
	c.Check("z is used", s.Active >= (s.Width+1)/2, s.Active > 0,
		fmt.Sprintf("%d of %d dimensions vary with the state", s.Active, s.Width), "lower the KL weight")
	if s.ProbeRows > 0 {
		weak := cfg.Model.Loss == "a" || s.Probe > s.Majority+0.01 // loss A does not ask for it
		c.Check("goal in z", s.Probe >= float64(s.ProbeLimit)-0.02, weak,
			fmt.Sprintf("a linear probe names the goal finally reached on %.1f %% of rows; taught on the state itself %.1f %%, always the most "+
				"frequent %.1f %%", 100*s.Probe, 100*float64(s.ProbeLimit), 100*s.Majority),
			"a code that rebuilds boards need not order them by goal: use loss b with model.outcome above 0 (discrete goals: more classes or "+
				"model.groups=4), or infer goals from history with hop pretrain cvae")
	}
}

// goalMap shows codes in the plane in which they vary most, coloured by the goal
// finally reached: evenly spaced rows, at most 3,000.
func goalMap(name string, codes vae.Codes, goals []string) *plot.Figure {
	x, y, held := vae.Map(codes)
	clouds := make([]plot.Cloud, len(goals)+1)
	for i, g := range goals {
		clouds[i].Name = g
	}
	clouds[len(goals)].Name = "none"
	step := max(1, len(x)/3000)
	for i := 0; i < len(x); i += step {
		k := codes.Label[i]
		if k < 0 {
			k = len(goals)
		}
		clouds[k].X, clouds[k].Y = append(clouds[k].X, x[i]), append(clouds[k].Y, y[i])
	}
	var full []plot.Cloud
	for _, cl := range clouds {
		if len(cl.X) > 0 {
			full = append(full, cl)
		}
	}
	caption := fmt.Sprintf("The two directions in which z varies most hold %.0f %% of its variance.", 100*held)
	return plot.Scatter(name, "z by the goal finally reached", caption, plot.Axes{X: "first direction", Y: "second direction"}, full...)
}

// soundness is whether a model was taught from sound rows and learnt at all: what
// the cards of codes and of subgoals ask first.
type soundness struct {
	rows    int
	left    int      // rows whose own plane shows nobody
	checked int      // rows whose own last action could be checked
	wrong   int      // and was not the one recorded a step before
	agents  []int    // rows of each agent
	still   []string // parts whose weights are where they started
	parts   int
	curve   []float64 // the learnt loss by epoch
}

// soundOf looks at the rows that are learnt from.
func soundOf(d *dataset.Data, part *pretrain.Part) soundness {
	l := d.Layout
	s := soundness{rows: len(part.Rows), agents: make([]int, l.Seats)}
	cells, c := l.Height*l.Width, len(l.Planes)
	for _, row := range part.Rows {
		planes := d.Obs[int(row)*cells*c : int(row+1)*cells*c]
		there := false
		for i := 0; i < len(planes); i += c {
			there = there || planes[i] != 0
		}
		if !there {
			s.left++
		}
		s.agents[d.Agent[row]]++
	}
	for _, q := range part.Seqs {
		for row := q.Lo + 1; l.Last > 0 && row < q.Hi; row++ {
			known, wrong, _ := check.Joint(0, d.Last[row*l.Seats:row*l.Seats+1], d.Action[row-1:row])
			s.checked, s.wrong = s.checked+known, s.wrong+wrong
		}
	}
	return s
}

// learnt adds how the weights went since the start of the training.
func (s soundness) learnt(t *pretrain.Training, p *nn.Params, term string) soundness {
	s.parts = len(p.Parts)
	for _, part := range p.Parts {
		if lo, hi := part.Off, part.Off+part.Len; slices.Equal(t.Start[lo:hi], p.W[lo:hi]) {
			s.still = append(s.still, part.Name)
		}
	}
	for _, e := range t.Past {
		s.curve = append(s.curve, e.Learn[term])
	}
	return s
}

// check adds the questions to a card.
func (s soundness) check(k *card.Card) {
	k.Ask(check.HasLeft, s.left == 0, false,
		fmt.Sprintf("%d of %d rows learnt from are of agents that are not on the board", s.left, s.rows))
	askOrder(k, s.wrong, s.checked)
	var idle []string
	for a, n := range s.agents {
		if n == 0 {
			idle = append(idle, fmt.Sprintf("agent %d", a))
		}
	}
	k.Check("every agent is learnt from", len(idle) == 0, false,
		fmt.Sprintf("rows by agent: %v; none of: %s", s.agents, nameAll(idle)), "collect and learn from every agent's rows, not only the first's")
	k.Ask(check.EveryPart, len(s.still) == 0, false,
		fmt.Sprintf("%d of %d parts are where they started: %s", len(s.still), s.parts, nameAll(s.still)))
	askSpikes(k, s.curve)
}

// askOrder asks whether joint actions are observed in the order of the planes.
func askOrder(k *card.Card, wrong, rows int) {
	k.Ask(check.EgoFirst, wrong == 0, false,
		fmt.Sprintf("in %d of %d rows the own last action that is observed is not the one recorded a step before", wrong, rows))
}

// askSpikes asks whether the loss keeps jumping back to where it began, as it
// does when a model is saved but a fresh one goes on.
func askSpikes(k *card.Card, curve []float64) {
	at := check.Spikes(curve)
	why := "the loss never jumps back to where it began"
	if len(at) == 1 {
		why = fmt.Sprintf("the loss jumps back towards its start once, at point %d of %d", at[0], len(curve))
	} else if len(at) > 1 {
		why = fmt.Sprintf("the loss jumps back towards its start %d times, every %d points or so", len(at), (at[len(at)-1]-at[0])/(len(at)-1))
	}
	k.Ask(check.Keeps, len(at) == 0, len(at) == 1, why)
}

// Short says why a training was too short to judge its model by, "" if it was
// not: its last epoch was its best, and either there were far fewer than usual or
// the loss on the episodes to choose by was still falling clearly.
func Short(t *pretrain.Training, usual int, loss func(held map[string]float64) float64) string {
	if t.BestAt < t.Epoch {
		return ""
	}
	var curve []float64
	for _, e := range t.Past {
		curve = append(curve, loss(e.Held))
	}
	var why []string
	if 2*t.Epoch < usual {
		why = append(why, fmt.Sprintf("%d of the usual %d epochs", t.Epoch, usual))
	}
	if rate := check.Falling(curve); rate > 0 {
		why = append(why, fmt.Sprintf("still improving by %.0f %% per epoch", 100*rate))
	}
	return strings.Join(why, ", ")
}

func nameAll(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}
