package score

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/model/vae"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/card"
	"github.com/hop-marl/hop/store/dataset"
	"github.com/hop-marl/hop/train/pretrain"
)

// CVAEScore is what inferred subgoals are worth, on episodes that were not learnt
// from. Shares are of rows.
type CVAEScore struct {
	codeScore         // its limit is Bayes' rule on the agent's own history, policies known
	Hit       float64 `json:"subgoal_hit"`       // the agent's cell in the decoded g is one it stands on later
	HitStay   float64 `json:"subgoal_hit_stay"`  // the same for its present cell
	HitBest   float64 `json:"subgoal_hit_best"`  // the same for the subgoal's own code: what decoding allows
	HitState  float64 `json:"subgoal_hit_state"` // all agents' cells are those of one later state
	HitRows   int     `json:"subgoal_rows"`
	Open      float64 `json:"gate_open"` // share of scored rows at which a goal is inferred

	ByStep      []float64 `json:"probe_by_step"` // of the rows at steps 0, 1, ...
	LimitByStep []float64 `json:"limit_by_step"`

	Value *CVAEValue `json:"value,omitempty"` // of states; nil if it was not learnt
}

// CVAEValue is what a learnt value of states is worth on the scored rows.
type CVAEValue struct {
	Explained float64   `json:"explained"` // 1 - squared error / variance of the recorded returns
	Agrees    float64   `json:"agrees"`    // share of rows whose subgoal is the one that the recorded return picks
	Epochs    []float64 `json:"epochs"`    // Explained on the rows to choose by, after each
}

// CVAE scores the inference of subgoals and fills a card; g is the dataset's game, nil if that is
// not here.
func CVAE(ctx context.Context, c *pretrain.CVAE, g game.Game) (*CVAEScore, *card.Card, error) {
	var learn, held vae.Codes
	var terms []agent.Stat
	var h *history
	s, limit, err := &CVAEScore{}, math.NaN(), error(nil)
	cores.Beside(ctx, func() { learn, _ = inferred(c, 0) }, func() { held, s.Open = inferred(c, 2) }, func() { terms = c.Held(2) }, func() {
		if len(c.Data.Layout.Goals) < 2 || !scripted(g, c.Data.Bots) {
			return // nobody knows what all of them would have done
		}
		if h, err = newHistory(c.Data, g, c.Parts[0].Rows); err == nil {
			limit, _ = h.limit(c.Parts[2].Rows)
		}
	})
	if err != nil {
		return nil, nil, err
	}
	var probe *vae.Probe
	cores.Beside(ctx, func() { hits(c, s, held) }, func() { s.Value = valueOf(c) }, func() {
		s.codeScore, probe = codesOf(c.Training, c.Data, &c.Parts[0], c.Learner.Params, terms, c.Config.Learn.Loss, learn, held)
	})
	s.short = Short(c.Training, pretrain.DefaultCVAE().Epochs, func(held map[string]float64) float64 { return held[c.Config.Learn.Loss] })
	if probe != nil {
		s.ProbeLimit = stats.Number(limit)
	}
	if h != nil {
		s.ByStep, s.LimitByStep = bySteps(c, h, probe, held)
	}
	return s, cvaeCard(c.Learner.Model.Describe(c.Learner.Params), c.VAE.Config.Loss, s), nil
}

// inferred returns the means of the goals of a part, with the goals reached, and
// the share of rows at which the gate is open.
func inferred(c *pretrain.CVAE, part int) (vae.Codes, float64) {
	out := vae.Codes{Dim: c.Learner.Dim, Z: make([]float32, c.Seqs[part].Rows()*c.Learner.Dim)}
	c.Goals(part, func(row int, mu, _ []float32) { copy(out.Z[row*out.Dim:], mu) })
	gate := vae.NewGate(frame.Layout(c.Data.Layout.Obs()), c.Data.Layout.Seats, c.Config.Gate)
	obs, open := make([]float32, c.Data.ObsLen()), 0.
	for i, row := range c.Parts[part].Rows {
		out.Label = append(out.Label, int(c.Data.Goal[row]))
		c.Data.Observation(int(row), obs)
		open += share(gate.Apply(out.Z[i*out.Dim:(i+1)*out.Dim], obs))
	}
	return out, open / float64(max(len(out.Label), 1))
}

// valueOf returns what the learnt values are worth, nil if they are the recorded
// returns.
func valueOf(c *pretrain.CVAE) *CVAEValue {
	v := c.Values
	if !v.Learnt {
		return nil
	}
	s, same := c.Seqs[2], 0
	for k := range s.Len() {
		for row := s.Lo[k]; row < s.Lo[k+1]; row++ {
			if c.Pick(row, s.Lo[k+1], v.Of[2]) == c.Pick(row, s.Lo[k+1], v.Earned[2]) {
				same++
			}
		}
	}
	return &CVAEValue{Explained: pretrain.Explained(v.Of[2], v.Earned[2]), Agrees: float64(same) / float64(s.Rows()), Epochs: v.Epochs}
}

// curveSteps is how many steps the curves of recognition show.
const curveSteps = 8

// bySteps returns the probe's accuracy and the limit for each step of an episode.
func bySteps(c *pretrain.CVAE, h *history, p *vae.Probe, held vae.Codes) (probe, limit []float64) {
	for t := range curveSteps {
		at := vae.Codes{Dim: held.Dim}
		var rows []int32
		for i, row := range c.Parts[2].Rows {
			if int(c.Data.T[row]) == t {
				at.Z, at.Label = append(at.Z, held.Z[i*held.Dim:(i+1)*held.Dim]...), append(at.Label, held.Label[i])
				rows = append(rows, row)
			}
		}
		best, n := h.limit(rows)
		if n == 0 {
			break
		}
		probe, limit = append(probe, p.Score(at).Accuracy), append(limit, best)
	}
	return probe, limit
}

// hits decodes every inferred goal and looks whether the agent goes there. A row
// without later rows of its agent does not count.
func hits(c *pretrain.CVAE, s *CVAEScore, held vae.Codes) {
	m, n := c.VAE, c.VAE.Input.Agents
	part := &c.Parts[2]
	const batch = 512
	ws, cells, best := m.Work(batch), make([]int32, len(part.Rows)*n), make([]int32, len(part.Rows)*n)
	for lo := 0; lo < len(part.Rows); lo += batch {
		hi := min(lo+batch, len(part.Rows))
		for dst, z := range map[*int32][]float32{&cells[lo*n]: held.Z[lo*held.Dim:], &best[lo*n]: c.Seqs[2].Mu[lo*held.Dim:]} {
			ws.DecodeFrom(c.Codes, z, hi-lo)
			to := cells
			if dst == &best[lo*n] {
				to = best
			}
			for i := range hi - lo {
				ws.DecodedCells(to[(lo+i)*n:(lo+i+1)*n], i)
			}
		}
	}
	for i := range part.Rows {
		last := int(part.Last[i])
		if i == last {
			continue
		}
		s.HitRows++
		var hit, stay, top, state bool
		for j := i + 1; j <= last; j++ {
			later := part.States.Cell[j*n : (j+1)*n]
			hit = hit || later[0] == cells[i*n]
			stay = stay || later[0] == part.States.Cell[i*n]
			top = top || later[0] == best[i*n]
			same := true
			for a, cell := range later {
				same = same && cell == cells[i*n+a]
			}
			state = state || same
		}
		s.Hit += share(hit)
		s.HitStay += share(stay)
		s.HitBest += share(top)
		s.HitState += share(state)
	}
	k := float64(max(s.HitRows, 1))
	s.Hit, s.HitStay, s.HitBest, s.HitState = s.Hit/k, s.HitStay/k, s.HitBest/k, s.HitState/k
}

// cvaeCard fills the card of the inference of subgoals over codes of a loss.
func cvaeCard(describe, loss string, s *CVAEScore) *card.Card {
	c := &card.Card{Title: "Subgoals inferred from history", Short: s.short,
		About: describe + ". Scored on episodes that were not learnt from."}
	c.Add(card.Number{Name: "kl", Value: s.Terms["kl"], N: s.Rows, Unit: "nats", Lower: true})
	c.Add(card.Number{Name: "explained variance of the subgoal's code", Value: s.Terms["explained"], N: s.Rows,
		Limit: &card.Ref{Name: "all", Value: 1}})
	s.addGoals(c, "Bayes, own history")
	fix := "more epochs, or a VAE whose decoder finds more cells"
	if loss == "b" {
		fix = "codes of loss b tell what an agent is after, not where: read no cells off g, or infer over a VAE of loss a"
	}
	c.Add(card.Number{
		Name: "subgoal hit ratio", Value: s.Hit, N: s.HitRows, Fix: fix,
		Baselines: []card.Ref{{Name: "present cell", Value: s.HitStay}}, Limit: &card.Ref{Name: "the subgoal's own code", Value: s.HitBest},
	})
	c.Add(card.Number{Name: "whole-state hit ratio", Value: s.HitState, N: s.HitRows})
	c.Add(card.Number{Name: "rows where the gate is open", Value: s.Open, N: s.Rows})
	s.addActive(c)
	if v := s.Value; v != nil {
		c.Add(card.Number{Name: "return explained by the learnt value", Value: v.Explained, N: s.Rows, Limit: &card.Ref{Name: "all", Value: 1}})
		c.Add(card.Number{Name: "subgoals as by the recorded return", Value: v.Agrees, N: s.Rows})
	}
	s.sound.check(c)
	c.Check("g follows the subgoal", s.Terms["explained"] > 0.3, s.Terms["explained"] > 0.05,
		fmt.Sprintf("g explains %.0f %% of the variance of the subgoal's code", 100*s.Terms["explained"]),
		"check that the VAE was loaded, and that its codes are of the right rows")
	if s.ProbeRows > 0 {
		limit, best := float64(s.ProbeLimit), "what could be is not known of those who learnt"
		if math.IsNaN(limit) {
			limit = s.Majority + 0.04
		} else {
			best = fmt.Sprintf("Bayes' rule on the own history, which g can pass because it sees the others' too, %.1f %%", 100*limit)
		}
		c.Check("goal in g", s.Probe >= limit-0.02, s.Probe > s.Majority+0.01,
			fmt.Sprintf("a linear probe names the goal finally reached on %.1f %% of rows; %s, always the most frequent %.1f %%", 100*s.Probe,
				best, 100*s.Majority),
			"use a VAE of loss b, whose codes tell apart what the agent does")
	}
	c.Check("g is used", s.Active >= (s.Width+1)/2, s.Active > 0,
		fmt.Sprintf("%d of %d dimensions vary", s.Active, s.Width), "raise the KL weight")
	cvaeFigures(c, s)
	return c
}

func cvaeFigures(c *card.Card, s *CVAEScore) {
	s.figures(c, "kl", "nce", "feature", "mix")
	if len(s.ByStep) > 0 {
		c.Figures = append(c.Figures, plot.Lines("by_step", "How fast the goal is recognised",
			"Rows of agents that reach a goal in the end. Bayes' rule goes by the agent's own actions; g sees the board and the others as well, so "+
				"it can pass.", plot.Axes{X: "step", Y: "goal named right", YMin: 0.4, YMax: 1},
			plot.Line{Name: "linear probe of g", Y: s.ByStep}, plot.Line{Name: "Bayes, own history", Y: s.LimitByStep, Dash: true}))
	}
	c.Figures = append(c.Figures, goalMap("g_map", s.codes, s.goals))
}

// scripted reports that all kinds are bots of the game.
func scripted(g game.Game, kinds []string) bool {
	return g != nil && !slices.ContainsFunc(kinds, func(name string) bool {
		_, err := game.NewBot(g, name)
		return err != nil
	})
}

// ownHistory returns, for every row, the posterior of the agent's type given what
// it did before, [rows][bots]: the dataset's episodes are played again and every
// bot is asked how likely it was to do what was done. Types are equally likely at
// first, as they are over the teams of a mix. It is an error if a bot cannot say
// how it acts or the dataset is not of the game.
func ownHistory(d *dataset.Data, g game.Game) ([]float32, error) {
	b, err := oracle.NewBayes(g, d.Bots)
	if err != nil {
		return nil, err
	}
	post, types := make([]float32, d.Len()*len(d.Bots)), make([]float64, len(d.Bots))
	all := func(int) bool { return true }
	return post, Replay(d, g, all, b.Start, func(st game.State, rows []int, actions []int32) {
		for _, row := range rows {
			b.Types(types, oracle.OwnHistory, game.Seat(d.Seat[row]), 0)
			for i, p := range types {
				post[row*len(types)+i] = float32(p)
			}
		}
		b.Update(st, actions)
	})
}

// goalCounts turns a belief about an agent's type into the likeliest goal that it
// will reach: it has counted, on the rows to learn from, what each type reached when
// the same of the goals' things were still on the board.
type goalCounts struct {
	d      *dataset.Data
	goals  int
	planes []int           // of each goal's things, -1 if there is no plane of that name
	count  map[int][]int32 // by what is left: [types][goals]
}

func newGoalCounts(d *dataset.Data, learn []int32) *goalCounts {
	q := &goalCounts{d: d, goals: len(d.Layout.Goals), count: map[int][]int32{}}
	for _, goal := range d.Layout.Goals {
		at := -1
		for i, plane := range d.Layout.Planes {
			if plane == goal {
				at = i
			}
		}
		q.planes = append(q.planes, at)
	}
	for _, row := range learn {
		if g := int(d.Goal[row]); g >= 0 {
			c := q.at(int(row))
			c[int(d.Bot[row])*q.goals+g]++
		}
	}
	return q
}

// at returns the counts for what is left on the board at a row.
func (q *goalCounts) at(row int) []int32 {
	d := q.d
	c := len(d.Layout.Planes)
	size := d.Layout.Height * d.Layout.Width
	left := 0
	for i, plane := range q.planes {
		for cell := 0; plane >= 0 && cell < size; cell++ {
			if d.Obs[(row*size+cell)*c+plane] != 0 {
				left |= 1 << i
				break
			}
		}
	}
	if q.count[left] == nil {
		q.count[left] = make([]int32, len(d.Bots)*q.goals)
	}
	return q.count[left]
}

// likeliest returns the likeliest goal under the belief post[types].
func (q *goalCounts) likeliest(row int, post []float32) int {
	counts := q.at(row)
	best, top := 0, math.Inf(-1)
	for g := range q.goals {
		p := 0.
		for i, b := range post {
			sum := int32(0)
			for _, n := range counts[i*q.goals : (i+1)*q.goals] {
				sum += n
			}
			if sum > 0 {
				p += float64(b) * float64(counts[i*q.goals+g]) / float64(sum)
			}
		}
		if p > top {
			best, top = g, p
		}
	}
	return best
}

// history says what an agent's own history tells of its goal, to one who knows all
// types' policies.
type history struct {
	d     *dataset.Data
	post  []float32 // [rows][bots]
	goals *goalCounts
}

func newHistory(d *dataset.Data, g game.Game, learn []int32) (*history, error) {
	post, err := ownHistory(d, g)
	return &history{d, post, newGoalCounts(d, learn)}, err
}

// limit returns how often the goal finally reached is named, over the n rows that
// have a goal.
func (h *history) limit(rows []int32) (accuracy float64, n int) {
	types := len(h.d.Bots)
	for _, row := range rows {
		goal := int(h.d.Goal[row])
		if goal < 0 {
			continue
		}
		n++
		if h.goals.likeliest(int(row), h.post[int(row)*types:(int(row)+1)*types]) == goal {
			accuracy++
		}
	}
	return accuracy / float64(max(n, 1)), n
}

// stateLimit returns how often the goal is named from one state by a network
// that is taught the goals: what a code of that state could at best say. No exact
// posterior of single states exists without summing over all pasts, so this
// estimates it from below: layers of 128, the best of a few passes by the rows to
// choose by.
func stateLimit(m *vae.Model, parts *[3]pretrain.Part, goal []int8, goals int, key rng.Key) (float64, int, error) {
	const width, batch, passes = 128, 256, 4
	p := &nn.Params{}
	net := p.MLP("net", nn.ReLU, parts[0].States.State.Cols, width, width)
	head := p.Dense("head", width, goals, nn.None)
	p.Init(key)
	ws, mw := m.Work(batch), net.Work(batch)
	cat, logits, d, target := nn.NewCategorical(goals, batch), make(nn.Logits, batch*goals), make([]float32, batch*goals), make([]int32, batch)
	run := func(part int, pick []int) int {
		ws.Reset()
		for i, at := range pick {
			ws.Add(parts[part].States, at)
			target[i] = int32(goal[parts[part].Rows[at]])
		}
		net.ForwardSparse(p, mw, &ws.X)
		head.Forward(p, logits, mw.Y, len(pick))
		cat.Set(logits[:len(pick)*goals], nil, len(pick))
		hits := 0
		for i := range pick {
			if cat.Mode(i) == target[i] {
				hits++
			}
		}
		return hits
	}
	score := func(part int, pick []int) float64 {
		hits := 0
		for lo := 0; lo < len(pick); lo += batch {
			hits += run(part, pick[lo:min(lo+batch, len(pick))])
		}
		return float64(hits) / float64(max(len(pick), 1))
	}
	var known [3][]int
	for i := range parts {
		for at, row := range parts[i].Rows {
			if goal[row] >= 0 {
				known[i] = append(known[i], at)
			}
		}
	}
	best, limit := -1., 0.
	order := make([]int, len(known[0]))
	rate := nn.Linear(2e-3, 0, passes*((len(order)+batch-1)/batch))
	cfg := nn.TrainerConfig{Adam: nn.AdamConfig{WeightDecay: 1e-3}, Clip: 1}
	trainer := nn.NewTrainer[*nn.MLPWork, nn.Loss](p, cfg, rate, []*nn.MLPWork{mw})
	var sum nn.Loss
	for pass := range passes {
		r := key.Child("pass", pass).Rand()
		r.Perm(order)
		for i, at := range order {
			order[i] = known[0][at]
		}
		for lo := 0; lo < len(order); lo += batch {
			pick := order[lo:min(lo+batch, len(order))]
			if _, err := trainer.Step(len(pick), &sum, func(*nn.Shard[*nn.MLPWork]) nn.Loss {
				run(0, pick)
				clear(d)
				loss := cat.CrossEntropy(d, target, nil, nn.Rows{N: len(pick)})
				head.Backward(p, mw.DY, d, mw.Y, logits, len(pick))
				net.BackwardSparse(p, mw, &ws.X)
				return loss
			}); err != nil {
				return 0, 0, fmt.Errorf("pretrain: the reference of what a state tells: %w", err)
			}
		}
		if s := score(1, known[1]); s > best {
			best, limit = s, score(2, known[2])
		}
	}
	return limit, len(known[2]), nil
}
