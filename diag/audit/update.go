package audit

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hop/agent"
	"hop/batch"
	"hop/check"
	"hop/diag"
	"hop/diag/probe"
	"hop/diag/twin"
	"hop/exp"
	"hop/mind"
	"hop/mind/influence"
	"hop/mind/lola"
	"hop/safetensors"
)

// held is one real update of a mind's own network held against its definition.
type held struct {
	window int
	rows   int
	change twin.Change
	slip   *slip                 // what agrees with the update where the definition does not
	stats  map[string][2]float64 // reported and computed, where they differ
	report int                   // statistics compared
	choice int                   // rows whose recorded probability or value is not the network's
	far    float64               // the largest difference of a log-probability
	layers int                   // rows at which the network is not what its layers come to
	asked  int                   // rows of that
	off    float64
	model  *twin.Change // of the model by which influence is measured; nil: there is none
	err    error
}

// heldAt says whether a window's update is held against its definition: the first
// that has rows of the mind's own from probeAt on, and one later, by when schedules
// have moved and the optimiser has a past.
func (p *tap) heldAt() bool {
	late := 2 * p.u.total / 3
	return p.u.window >= probeAt && (len(p.held) == 0 || p.u.window >= late && len(p.held) == 1)
}

// own describes how the mind's own network learns from a window, from where before
// stands; false if there is no definition of it here.
func (p *tap) own(w *mind.Window, before *safetensors.File) (twin.Own, bool) {
	a, ok := mind.As[mind.Acting](p.Mind)
	if !ok || p.params == nil {
		return twin.Own{}, false
	}
	model, _ := a.Actor()
	o := twin.Own{Actor: twin.Actor{Config: p.u.exp.Actor, Input: model.Input}, Config: p.u.exp.PPO, Agents: p.agents}
	switch p.u.exp.Mind.Name {
	case "ppo":
	case "hop":
		o.Search, o.Goal = p.u.hop.Own == "search", p.hindsight
	case "lola":
		c, _ := exp.ConfigOf[lola.Config](&p.u.exp)
		if p.u.nets == nil {
			return o, false
		}
		o.Adv = twin.LOLA(o.Actor, o.Config, c.LOLA.Eta, p.agents[0], p.u.nets, w)
		o.Stats = map[string]float64{"term": rootMean(w.Rollout, p.agents[0], o.Adv), "advantage": rootMean(w.Rollout, p.agents[0],
			twin.AdvantagesOf(w, p.agents[0], o.Config))}
	case "influence":
		f := p.influence(o.Actor)
		var nats float64
		var err error
		if o.Reward, nats, err = f.Pay(before, w); err != nil {
			return o, false
		}
		o.Stats = map[string]float64{"nats": nats}
	default:
		return o, false
	}
	return o, true
}

// rootMean is the root mean square of x [T][N] over an agent's own rows.
func rootMean(ro *batch.Rollout, a agent.ID, x []float64) float64 {
	sum, n := 0., 0
	probe.Each(ro, a, func(t, e, step, slot int) {
		if ro.Alive[slot] && ro.Own[step] {
			sum += x[t*ro.Envs+e] * x[t*ro.Envs+e]
			n++
		}
	})
	return math.Sqrt(sum / float64(max(n, 1)))
}

// influence is the mind as one that is paid for influence.
func (p *tap) influence(own twin.Actor) twin.Influence {
	c, _ := exp.ConfigOf[influence.Config](&p.u.exp)
	return twin.Influence{Reward: c.Influence, Own: own, Seats: p.u.spec.Seats, Me: p.agents[0]}
}

// hold compares one update: before and after are what the mind saved around it.
func (p *tap) hold(w *mind.Window, before, after *safetensors.File, stats []agent.Stat) {
	o, ok := p.own(w, before)
	if !ok {
		return
	}
	if o.LSTM > 0 {
		if p.memory == nil {
			return
		}
		o.Memory = p.memory
	}
	h := held{window: p.u.window}
	defer func() { p.held = append(p.held, h) }()
	was, err := twin.LoadNet(before, "net/")
	if err != nil {
		h.err = err
		return
	}
	got, err := twin.LoadNet(after, "net/")
	if err != nil {
		h.err = err
		return
	}
	want, err := o.Update(before, w)
	if err != nil {
		h.err = err
		return
	}
	h.rows = want.Rows
	if h.change = twin.Compare(was, got, want.Net); !h.change.Same() {
		h.slip = recognise(o, was, got, before, w)
	}
	if p.u.exp.Mind.Name == "influence" {
		p.sees(&h, o, before, after, w)
	}
	h.reported(want, stats)
	p.chosen(&h, o, want)
	if p.u.hop == nil && h.choice == 0 {
		p.u.draws.hold(p.u, want)
	}
	p.layers(&h, o, was, w, want)
}

// sees compares the update of the model by which influence is measured.
func (p *tap) sees(h *held, o twin.Own, before, after *safetensors.File, w *mind.Window) {
	was, want, err := p.influence(o.Actor).Learn(before, w)
	if err != nil {
		h.err = err
		return
	}
	got, err := twin.LoadNet(after, "influence/net/")
	if err != nil {
		h.err = err
		return
	}
	c := twin.Compare(was, got, want)
	h.model = &c
}

// reported compares the statistics that the learner gave with those of the twin.
func (h *held) reported(want *twin.Learnt, stats []agent.Stat) {
	h.stats = map[string][2]float64{}
	for _, st := range stats {
		kind, name, _ := strings.Cut(st.Name, "/")
		v, ok := want.Stats[name]
		if !ok || kind != "ppo" && kind != "search" && kind != "lola" && kind != "influence" {
			continue
		}
		h.report++
		tol := 2e-3 * max(1, math.Abs(v))
		if kind == "lola" || kind == "influence" { // small numbers, each of which is a mean
			tol = 0.01*math.Abs(v) + 1e-6
		}
		if math.Abs(st.Value-v) > tol {
			h.stats[st.Name] = [2]float64{st.Value, v}
		}
	}
}

// chosen compares recorded probabilities and values with the twin's network.
func (p *tap) chosen(h *held, o twin.Own, want *twin.Learnt) {
	if o.Search || p.u.hop != nil {
		return // a search chose
	}
	for r := range want.Rows {
		d := math.Abs(want.LogProb[r] - want.OldLogP[r])
		v := math.Abs(want.Value[r]-want.OldV[r]) / max(1, math.Abs(want.Value[r]))
		if h.far = max(h.far, d, v); d > 2e-3 || v > 2e-3 {
			h.choice++
		}
	}
}

// layerRows is how many rows the network is computed again at.
const layerRows = 64

// layers compares what the network computes with what its layers come to.
func (p *tap) layers(h *held, o twin.Own, net twin.Net, w *mind.Window, want *twin.Learnt) {
	if o.LSTM > 0 {
		return // chosen asks it
	}
	a, _ := mind.As[mind.Acting](p.Mind)
	model, params := a.Actor()
	now := slices.Clone(params.W)
	defer copy(params.W, now)
	for _, part := range params.Parts {
		for i, v := range net[part.Name].V {
			params.W[part.Off+i] = float32(v)
		}
	}
	ws := model.Work(1)
	for i := range min(layerRows, want.Rows) {
		at := want.Row[i*want.Rows/min(layerRows, want.Rows)]
		slot := w.Slot(at.Agent, at.T, at.N)
		ws.Reset()
		ws.Add(w.ObsAt(slot), w.GoalAt(slot)[:min(model.Extra, w.GoalLen)])
		ws.Forward(params)
		logits, value := o.At(net, w.ObsAt(slot), w.GoalAt(slot))
		h.asked++
		d := math.Abs(float64(ws.Value[0])-value) / max(1, math.Abs(value))
		for k, x := range logits {
			d = max(d, math.Abs(float64(ws.Logits[k])-x)/max(1, math.Abs(x)))
		}
		if h.off = max(h.off, d); d > 1e-3 {
			h.layers++
		}
	}
}

// updated asks whether one update of every agent is what the definition gives.
func (u *session) updated() []check.Finding {
	f := check.Finding{
		Step: 4, Check: "an update is what the definition gives", Module: "ppo", Unit: "cosine of the two changes, less 1",
	}
	stats := check.Finding{
		Step: 4, Check: "learners report what they did", Module: "logging", Unit: "statistics that differ",
		Says: "Losses, entropy, distance and rate are those of the update.",
	}
	choice := check.Finding{
		Step: 4, Check: "choices are recorded as the network made them", Module: "rollout", Unit: "share of rows",
		Says: "Recorded probabilities and values are the network's, computed again in float64.",
	}
	layers := check.Finding{
		Step: 4, Check: "the network is what its layers come to", Module: "ppo", Unit: "share of rows",
		Says: "Logits and values are what the layers come to in float64.",
	}
	model := check.Finding{
		Step: 4, Check: "the model of influence learns by its definition", Module: "ppo", Unit: "cosine of the two changes, less 1",
		Says: "Updates of the model by which influence is measured agree in direction and length.",
	}
	least, updates := 1., 0
	var odd []*tap
	for _, t := range u.taps {
		wrong := false
		for i := range t.held {
			h := &t.held[i]
			if h.err != nil {
				f.Accuse(check.Fault, 1, fmt.Sprintf("The saved network of %s cannot be read by its names: %v.", diag.Names(t.agents), h.err),
					"Save of that mind")
				continue
			}
			updates++
			f.Rows += h.rows
			least = min(least, h.change.Cosine)
			f.Saw(h.change.Cosine, 1, "%s, window %d: cosine of the change with its definition", diag.Names(t.agents), h.window)
			f.Saw(h.change.Length, 1, "%s, window %d: length of the change over that", diag.Names(t.agents), h.window)
			wrong = wrong || !h.change.Same()
			if choice.Rows += h.rows; h.choice > 0 && choice.Effect == 0 {
				share := float64(h.choice) / float64(h.rows)
				choice.Accuse(check.Fault, share, fmt.Sprintf("%s: in %.0f %% of the rows the recorded probability or value is not what the "+
					"network says there, computed again in float64.", capital(diag.Names(t.agents)), 100*share),
					"ppo.Player.Act: what is written to LogProb and Value, and the memory of an LSTM")
			}
			if layers.Rows += h.asked; h.layers > 0 && layers.Effect == 0 {
				share := float64(h.layers) / float64(h.asked)
				layers.Accuse(check.Fault, share, fmt.Sprintf("%s: at %.0f %% of the rows the network's output is off by up to %.2g from what its "+
					"layers come to.", capital(diag.Names(t.agents)), 100*share, h.off), "model/actor.Work.Forward, frame (the input) and nn (the layers)")
			}
			if stats.Rows += h.report; len(h.stats) > 0 && h.change.Same() && stats.Effect == 0 {
				for name, v := range h.stats {
					stats.Saw(v[0], v[1], "%s, %s", diag.Names(t.agents), name)
				}
				e := stats.Evidence[0]
				if _, ok := h.stats["ppo/explained"]; ok {
					stats.Module = "ppo" // other returns than it should learn from, by too little to turn the update
				}
				stats.Accuse(check.Fault, float64(len(h.stats)), fmt.Sprintf("%s: the update is right, but it reports %.4g where it is %.4g.",
					e.Label, e.Value, e.Wanted), "ppo.Brain.report, and the sums behind it")
			}
		}
		for _, h := range t.held {
			if h.model == nil {
				continue
			}
			if model.Rows += h.rows; !h.model.Same() {
				model.Accuse(check.Fault, h.model.Cosine-1, fmt.Sprintf("%s: the model by which influence is measured does not learn by its "+
					"cross-entropy: cosine %.3f of 1, length %.3g of what it should be.", capital(diag.Names(t.agents)), h.model.Cosine,
					h.model.Length), "mind/influence: look and add (its rows), learn")
			}
		}
		if wrong {
			odd = append(odd, t)
		}
	}
	if updates == 0 {
		return nil
	}
	if choice.Effect > 0 && (layers.Effect > 0 || len(odd) > 0) {
		choice.Module = "ppo" // the network itself is off, not what was written down of it
	}
	f.Effect = least - 1
	f.Says = fmt.Sprintf("%d updates, computed again in float64 from the same window and weights, agree in direction and length.", updates)
	if len(odd) > 0 {
		says, next := u.differs(odd)
		f.Accuse(check.Fault, least-1, says, next)
	}
	out := []check.Finding{choice, layers, f, stats}
	if u.draws.rows > 0 {
		out = append(out, u.redrawn())
	}
	if model.Rows > 0 {
		out = append(out, model)
	}
	return out
}

// differs says how updates differ from their definition.
func (u *session) differs(odd []*tap) (says, next string) {
	var who []agent.ID
	var h *held
	for _, t := range odd {
		who = append(who, t.agents...)
		for i := range t.held {
			if h == nil && !t.held[i].change.Same() {
				h = &t.held[i]
			}
		}
	}
	c := h.change
	name := "PPO's"
	if u.hop != nil && u.hop.Own == "search" {
		name = "the search's and the return's"
	}
	next = "ppo.Brain.gather and Advantages (what it is given), losses (the loss), descend and nn.Adam (the step)"
	switch {
	case h.slip != nil:
		says = fmt.Sprintf("%s: the update is what %s would give, not what %s loss does (cosine %.3f, length %.3g of what it should be).",
			capital(diag.Names(who)), h.slip.Name, name, c.Cosine, c.Length)
		next = h.slip.look
	case c.Cosine < -0.9:
		says = fmt.Sprintf("%s: the update goes the opposite way of %s loss (cosine %.3f).", capital(diag.Names(who)), name, c.Cosine)
	case c.Cosine >= 0.999 && c.Part == "":
		says = fmt.Sprintf("%s: the update has the right direction but %.3g times the length that rate and gradient give.",
			capital(diag.Names(who)), c.Length)
		next = "the learning rate and its schedule, the clipping of gradients, nn.Adam"
	case c.Part != "" && c.Cosine > 0.9:
		says = fmt.Sprintf("%s: the update of %s is not what %s loss gives there; other layers agree better (cosine of all %.3f, length %.3g).",
			capital(diag.Names(who)), c.Part, name, c.Cosine, c.Length)
		next = "the gradient of " + c.Part + " (model/actor, nn), then " + next
	default:
		says = fmt.Sprintf("%s: the update is not what %s loss gives: cosine %.3f of 1, length %.3g of what it should be.",
			capital(diag.Names(who)), name, c.Cosine, c.Length)
	}
	if len(odd) < len(u.taps) {
		says += fmt.Sprintf(" The other %d learn as they should.", len(u.taps)-len(odd))
	}
	return says, next
}
