package check

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/hop-marl/hop/agent/hop"
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/audit/record"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/train/spec"
)

// Check is the question about direction and length.
const UpdateCheck = "an update is what the definition gives"

// Held is one real update of a mind's own network held against its definition.
type HeldUpdate struct {
	window int
	rows   int
	change reference.Change
	slip   *updateSlip           // what agrees with the update where the definition does not
	shaken *reference.Change     // of an update from weights that rounding moved, where that explains the difference; else nil
	stats  map[string][2]float64 // reported and computed, where they differ
	added  map[string]float64    // statistics of what the learner adds to learning
	report int                   // statistics compared
	choice int                   // rows whose recorded probability or value is not the network's
	far    float64               // the largest difference of a log-probability
	cuts   int                   // values after cuts of an LSTM
	uncut  int                   // of those, others than the network's
	layers int                   // rows at which the network is not what its layers come to
	asked  int                   // rows of that
	alive  bool                  // by its layers the network does not say the same at all of them
	off    float64
	model  *reference.Change // of the model that learns beside it; nil: there is none
	about  *reference.Beside
	labels bool   // without labels the same window is learnt from as it should be
	fewest string // the fewest rows that show what is wrong; "": not looked for, or not found
	whole  bool   // all that the mind saves is compared, and nothing else is known of it
	err    error
}

// Mind is a mind whose updates are looked at.
type Learner struct {
	learner.Mind
	Agents []agent.ID
	Spec   *spec.Spec
	Hop    *hop.Config // nil: it does not plan
	Seats  int
	Held   []HeldUpdate
	moves  map[string]bool // layers that the definition moved in a window that was held against it
}

// Last is the last window whose update was held; 0: none was.
func (p *Learner) Last() int {
	if len(p.Held) == 0 {
		return 0
	}
	return p.Held[len(p.Held)-1].window
}

// Proven reports whether updates were held against their definition, at least one is the same and none is another.
func (p *Learner) Proven() bool {
	same := false
	for i := range p.Held {
		h := &p.Held[i]
		if h.err != nil || h.wrong() {
			return false
		}
		same = same || h.rows > 0 && h.change.Same()
	}
	return same
}

// Wrong reports whether an update was not what it should be: another one would say no more.
func (p *Learner) Wrong() bool {
	return slices.ContainsFunc(p.Held, func(h HeldUpdate) bool { return h.err == nil && h.wrong() })
}

// Lifeless reports whether a layer does not move because it cannot: by the definition of the
// update no gradient reaches it either.
func (p *Learner) Lifeless(layer string) bool { return p.moves != nil && !p.moves[layer] }

// Dead reports whether the network's layers say the same of whatever was seen: no unit that reads it is ever active.
func (p *Learner) Dead() bool {
	asked, alive := false, false
	for _, h := range p.Held {
		asked, alive = asked || h.asked > 0, alive || h.alive
	}
	return asked && !alive
}

// Given is what is known about a window beside it.
type UpdateGiven struct {
	Window    int
	Hindsight []float32       // what the own network reads of goals; nil: what was played
	Memory    []reference.Net // of LSTMs, before the window
	Nets      []reference.Net // [A] the weights that played it, where minds read each other's
	// Untouched reports whether a row is as it was played: what was changed later is
	// not the player's fault.
	Untouched func(a agent.ID, t, n int) bool
}

// own describes how the mind's own network learns from a window, from where before
// stands; false if there is no definition of it here.
func (p *Learner) own(g UpdateGiven, w *reference.Window, before *safetensors.File, shaken uint64) (reference.Own, bool) {
	a, ok := learner.As[learner.Acting](p.Mind)
	known, params := p.Spec.Audit()
	if !ok || known.Update == nil {
		return reference.Own{}, false
	}
	model, _ := a.Actor()
	o := reference.Own{Actor: ActorOf(p.Spec.Actor, model.Input), PPO: ppoOf(p.Spec.PPO), Agents: p.Agents, Memory: g.Memory, Shaken: shaken}
	add := p.adding(g, w, before)
	add.Shaken = shaken
	return o, o.Defined() && known.Update(params, &o, add) == nil
}

// adding is what the definition of an update is given.
func (p *Learner) adding(g UpdateGiven, w *reference.Window, before *safetensors.File) reference.Adding {
	return reference.Adding{Seats: p.Seats, Agents: p.Agents, PPO: ppoOf(p.Spec.PPO), Window: w, Saved: before, Nets: g.Nets,
		Hindsight: g.Hindsight}
}

// holdWhole compares all that a mind saves with what it should be after an update.
func (p *Learner) holdWhole(g UpdateGiven, w *reference.Window, before, after *safetensors.File) {
	known, params := p.Spec.Audit()
	h := HeldUpdate{window: g.Window, whole: true}
	var got, want reference.Net
	was, err := reference.LoadNet(before, "")
	if err == nil {
		got, err = reference.LoadNet(after, "")
	}
	if err == nil {
		want, err = known.Whole(params, p.adding(g, w, before))
	}
	if h.err = err; err == nil {
		p.note(was, want)
		h.change = was.Compare(got, want)
	}
	for _, a := range p.Agents {
		record.Each(w.Rollout, a, func(_, _, step, slot int) {
			if w.Alive[slot] && w.Own[step] {
				h.rows++
			}
		})
	}
	p.Held = append(p.Held, h)
}

// Hold compares one update: before and after are what the mind saved around it. It
// returns what the update should come to, nil if there is no definition of it, and
// whether the recorded choices are the network's.
func (p *Learner) Hold(g UpdateGiven, window *learner.Window, before, after *safetensors.File,
	stats []agent.Stat) (want *reference.Learnt, right bool) {
	w := windowOf(window)
	if known, _ := p.Spec.Audit(); known.Whole != nil {
		p.holdWhole(g, w, before, after)
		return nil, false
	}
	o, ok := p.own(g, w, before, 0)
	if !ok || o.LSTM > 0 && g.Memory == nil {
		return nil, false
	}
	h := HeldUpdate{window: g.Window}
	defer func() { p.Held = append(p.Held, h) }()
	was, err := reference.LoadNet(before, "net/")
	if err != nil {
		h.err = err
		return nil, false
	}
	got, err := reference.LoadNet(after, "net/")
	if err != nil {
		h.err = err
		return nil, false
	}
	want, err = o.Update(before, w)
	if err != nil {
		h.err = err
		return nil, false
	}
	h.rows = want.Rows
	p.note(was, want.Net)
	h.change = was.Compare(got, want.Net)
	if h.reported(want, o.Stats, stats); !h.change.Same() || len(h.stats) > 0 {
		h.shake(p, g, was, got, want, before, w)
	}
	if h.wrong() {
		h.slip = recognise(o, was, got, before, w)
	}
	if o.Beside != nil {
		h.beside(o.Beside, after)
	}
	p.chosen(&h, g, o, want)
	p.afterCuts(&h, o, was, w)
	p.layers(&h, o, was, w, want)
	return want, h.choice == 0
}

// Shows reports whether what a mind made of a few rows alone is not what it should be, and notes them with what the definition makes
// of the first.
func (p *Learner) Shows(g UpdateGiven, window *learner.Window, before, after *safetensors.File) bool {
	o, want, same := p.again(g, window, before, after)
	if want == nil || same {
		return false
	}
	at, adv := want.Row[0], "its normalised advantage"
	if !o.NormAdv {
		adv = "its advantage"
	}
	p.Held[len(p.Held)-1].fewest = fmt.Sprintf(" It shows with %s: agent %d's step %d in env %d, action %d of probability %.3g, reward "+
		"%.4g, value %.4g; by the definition its return is %.4g and %s %.4g.", rowsAlone(want.Rows), at.Agent, at.T, at.N, want.Action[0],
		math.Exp(want.OldLogP[0]), window.Reward[window.Step(at.Agent, at.T, at.N)], want.OldV[0], want.Ret[0], adv, want.Adv[0])
	return true
}

// again computes what a mind is to make of another window, and reports whether it has; nil: that cannot be said.
func (p *Learner) again(g UpdateGiven, window *learner.Window, before, after *safetensors.File) (
	o reference.Own, want *reference.Learnt, same bool,
) {
	w := windowOf(window)
	o, ok := p.own(g, w, before, 0)
	was, err1 := reference.LoadNet(before, "net/")
	got, err2 := reference.LoadNet(after, "net/")
	if !ok || err1 != nil || err2 != nil {
		return o, nil, false
	}
	want, err := o.Update(before, w)
	if err != nil || want.Rows == 0 {
		return o, nil, false
	}
	return o, want, was.Compare(got, want.Net).Same()
}

// Unlabelled notes whether the window of an update that is wrong is learnt from as it should be once nothing in it is labelled.
func (p *Learner) Unlabelled(g UpdateGiven, window *learner.Window, before, after *safetensors.File) {
	_, _, same := p.again(g, window, before, after)
	p.Held[len(p.Held)-1].labels = same
}

// mislabelled reports whether labels alone make its updates wrong.
func (p *Learner) mislabelled() bool {
	return !slices.ContainsFunc(p.Held, func(h HeldUpdate) bool { return h.err == nil && h.wrong() && !h.labels })
}

func rowsAlone(n int) string {
	if n == 1 {
		return "a single row"
	}
	return fmt.Sprintf("%d rows, the first of them", n)
}

// shakes is how often an update that differs is computed once more, and fewShakes how often one that is so far off that no more
// of them would explain it.
const (
	shakes    = 8
	fewShakes = 2
)

// shake computes the update some times more, from weights that only rounding moved. A ratio that lies at the clip to the last
// digit may fall on either side of it: an update that one of these is the same as is the definition's. Elsewhere high rates,
// many steps and saturated policies take updates apart: as far as these are from the definition is not held against the learner.
func (h *HeldUpdate) shake(
	p *Learner, g UpdateGiven, was, got reference.Net, want *reference.Learnt, before *safetensors.File, w *reference.Window,
) {
	var chance reference.Change
	differs, stats := !h.change.Same(), map[string]float64{}
	for shaken := uint64(1); shaken <= shakes; shaken++ {
		o, ok := p.own(g, w, before, shaken)
		by, err := o.Update(before, w)
		if err != nil || !ok {
			return
		}
		if c := was.Compare(got, by.Net); differs && c.Same() {
			h.change, differs = c, false
		}
		if chance.Widen(was.Compare(by.Net, want.Net)); shaken == fewShakes && differs && h.change.Beyond(chance) {
			return
		}
		for name, v := range h.stats {
			stats[name] = max(stats[name], math.Abs(by.Stats[name]-v[1]))
		}
	}
	if differs && h.change.Within(chance) {
		h.shaken = &chance
	}
	maps.DeleteFunc(h.stats, func(name string, v [2]float64) bool { return math.Abs(v[0]-v[1]) <= 5*stats[name] })
}

// wrong reports whether an update is not what it should be, by more than rounding.
func (h *HeldUpdate) wrong() bool { return !h.change.Same() && h.shaken == nil }

// note notes the layers that the definition moves, by as much as float32 can show.
func (p *Learner) note(was, want reference.Net) {
	if p.moves == nil {
		p.moves = map[string]bool{}
	}
	for name, m := range want {
		for i, x := range m.V {
			if math.Abs(x-was[name].V[i]) > 1e-7*math.Abs(x) {
				p.moves[name] = true
				break
			}
		}
	}
}

// beside compares the update of a model that learns beside the own network.
func (h *HeldUpdate) beside(b *reference.Beside, after *safetensors.File) {
	was, want, err := b.Learn()
	var got reference.Net
	if err == nil {
		got, err = reference.LoadNet(after, b.Prefix)
	}
	if err != nil {
		h.err = err
		return
	}
	c := was.Compare(got, want)
	h.model, h.about = &c, b
}

// reported compares the statistics that the learner gave with those of the twin; added are those
// of what it adds to learning.
func (h *HeldUpdate) reported(want *reference.Learnt, added map[string]float64, stats []agent.Stat) {
	h.stats, h.added = map[string][2]float64{}, added
	for _, st := range stats {
		v, ok := want.Stats[st.Name]
		if !ok {
			continue
		}
		h.report++
		tol := 2e-3 * max(1, math.Abs(v))
		if _, ok := added[st.Name]; ok { // small numbers, each of which is a mean
			tol = 0.01*math.Abs(v) + 1e-6
		}
		if math.Abs(st.Value-v) > tol {
			h.stats[st.Name] = [2]float64{st.Value, v}
		}
	}
}

// chosen compares recorded probabilities and values with the reference's network.
func (p *Learner) chosen(h *HeldUpdate, g UpdateGiven, o reference.Own, want *reference.Learnt) {
	if o.Search || p.Hop != nil && !p.Hop.ByNetwork() {
		return // a search chose
	}
	for r := range want.Rows {
		if at := want.Row[r]; !g.Untouched(at.Agent, at.T, at.N) {
			continue
		}
		d := math.Abs(want.LogProb[r] - want.OldLogP[r])
		v := math.Abs(want.Value[r]-want.OldV[r]) / max(1, math.Abs(want.Value[r]))
		if h.far = max(h.far, d, v); d > 2e-3 || v > 2e-3 {
			h.choice++
		}
	}
}

// afterCuts compares what an LSTM says of what follows a cut with what is recorded: nothing else looks at what it remembered there.
func (p *Learner) afterCuts(h *HeldUpdate, o reference.Own, was reference.Net, w *reference.Window) {
	if lives, ok := learner.As[learner.Trials](p.Mind); o.LSTM == 0 || o.Extra > 0 || ok && lives.Trial() > 1 {
		return
	}
	o.AfterCuts(was, w.Rollout, func(_ agent.ID, slot int, value float64) {
		h.cuts++
		if math.Abs(value-float64(w.Value[slot])) > 1e-2*max(1, math.Abs(value)) {
			h.uncut++
		}
	})
}

// layerRows is how many rows the network is computed again at.
const networkRows = 64

// layers compares what the network computes with what its layers come to.
func (p *Learner) layers(h *HeldUpdate, o reference.Own, net reference.Net, w *reference.Window, want *reference.Learnt) {
	if o.LSTM > 0 {
		return // chosen asks it
	}
	a, _ := learner.As[learner.Acting](p.Mind)
	model, params := a.Actor()
	now := slices.Clone(params.W)
	defer copy(params.W, now)
	for _, part := range params.Parts {
		for i, v := range net[part.Name].V {
			params.W[part.Off+i] = float32(v)
		}
	}
	ws := model.Work(1)
	var first []float64
	for i := range min(networkRows, want.Rows) {
		at := want.Row[i*want.Rows/min(networkRows, want.Rows)]
		slot := w.Slot(at.Agent, at.T, at.N)
		ws.Reset()
		ws.Add(w.ObsAt(slot), w.GoalAt(slot)[:min(model.Extra, w.GoalLen)])
		ws.Forward(params)
		logits, value := o.At(net, w.ObsAt(slot), w.GoalAt(slot))
		if h.asked++; i == 0 {
			first = append(slices.Clone(logits), value)
		}
		h.alive = h.alive || !slices.Equal(append(slices.Clone(logits), value), first)
		d := math.Abs(float64(ws.Value[0])-value) / max(1, math.Abs(value))
		for k, x := range logits {
			d = max(d, math.Abs(float64(ws.Logits[k])-x)/max(1, math.Abs(x)))
		}
		if h.off = max(h.off, d); d > 1e-3 {
			h.layers++
		}
	}
}

// exchanged reports that statistics which differ are right under each other's names.
func exchanged(stats map[string][2]float64) bool {
	for _, v := range stats {
		found := false
		for _, o := range stats {
			found = found || math.Abs(v[0]-o[1]) <= 1e-3*max(1e-3, math.Abs(o[1]))
		}
		if !found {
			return false
		}
	}
	return len(stats) > 1
}

// Findings says whether the updates of every agent are what the definition gives.
func Updates(minds []*Learner) []check.Finding {
	f := check.Finding{
		Step: 4, Check: UpdateCheck, Module: "ppo", Unit: "cosine of the two changes, less 1",
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
	model := check.Finding{Step: 4, Module: "ppo", Unit: "cosine of the two changes, less 1"}
	least, updates, network := 1., 0, false
	unsteady, apart := 0, 1.
	var odd []*Learner
	for _, t := range minds {
		wrong := false
		for i := range t.Held {
			h := &t.Held[i]
			if h.err != nil {
				f.Module = "checkpoint"
				f.Accuse(check.Fault, 1, fmt.Sprintf("The saved network of %s cannot be read by its names: %v.", check.Agents(t.Agents), h.err),
					"Save of that mind")
				continue
			}
			updates++
			f.Rows += h.rows
			least = min(least, h.change.Cosine)
			f.Saw(h.change.Cosine, 1, "%s, window %d: cosine of the change with its definition", check.Agents(t.Agents), h.window)
			f.Saw(h.change.Length, 1, "%s, window %d: length of the change over that", check.Agents(t.Agents), h.window)
			wrong = wrong || h.wrong()
			if h.shaken != nil {
				unsteady, apart = unsteady+1, min(apart, h.shaken.Cosine)
			}
			if h.whole {
				continue
			}
			network = true
			if choice.Rows += h.rows; h.choice > 0 && choice.Effect == 0 {
				share := float64(h.choice) / float64(h.rows)
				choice.Accuse(check.Fault, share, fmt.Sprintf("%s: in %.0f %% of the rows the recorded probability or value is not what the "+
					"network says there, computed again in float64.", check.Capital(check.Agents(t.Agents)), 100*share),
					"ppo.Player.Act: what is written to LogProb and Value, and the memory of an LSTM")
			}
			if choice.Rows += h.cuts; h.uncut > 0 && choice.Effect == 0 {
				choice.Accuse(check.Fault, float64(h.uncut)/float64(h.cuts), fmt.Sprintf("%s: %d of %d values after a cut are not what the network "+
					"says of what was seen last, given what it remembers.", check.Capital(check.Agents(t.Agents)), h.uncut, h.cuts),
					"game/rollout: Envs.work, for which copies Player.Evaluate is called; agent/ppo: Player.recall")
			}
			if layers.Rows += h.asked; h.layers > 0 && layers.Effect == 0 {
				share := float64(h.layers) / float64(h.asked)
				layers.Accuse(check.Fault, share, fmt.Sprintf("%s: at %.0f %% of the rows the network's output is off by up to %.2g from what its "+
					"layers come to.", check.Capital(check.Agents(t.Agents)), 100*share, h.off),
					"model/actor.Work.Forward, frame (the input) and nn (the layers)")
			}
			if stats.Rows += h.report; len(h.stats) > 0 && h.change.Same() && stats.Effect == 0 {
				for _, name := range slices.Sorted(maps.Keys(h.stats)) {
					v := h.stats[name]
					stats.Saw(v[0], v[1], "%s, %s", check.Agents(t.Agents), name)
					if _, ok := h.added[name]; ok && !exchanged(h.stats) {
						stats.Module = check.PPO // what is added to learning is off, by too little to turn the update
					}
				}
				e := stats.Evidence[0]
				if v, ok := h.stats["ppo/explained"]; ok && math.Abs(v[0]-v[1]) < 0.05 {
					stats.Module = "ppo" // other returns than it should learn from, by too little to turn the update
				}
				stats.Accuse(check.Fault, float64(len(h.stats)), fmt.Sprintf("%s: the update is right, but it reports %.4g where it is %.4g.",
					e.Label, e.Value, e.Wanted), "ppo.Brain.report, and the sums behind it")
			}
		}
		for _, h := range t.Held {
			if h.model == nil {
				continue
			}
			if model.Rows == 0 {
				model.Check, model.Says = h.about.Check, h.about.Good
			}
			if model.Rows += h.rows; !h.model.Same() {
				model.Accuse(check.Fault, h.model.Cosine-1, fmt.Sprintf("%s: %s: cosine %.3f of 1, length %.3g of what it should be.",
					check.Capital(check.Agents(t.Agents)), h.about.Bad, h.model.Cosine, h.model.Length), h.about.Next)
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
	f.Says = fmt.Sprintf("%d updates, computed again in float64 from the same window and weights, agree in direction and length.",
		updates-unsteady)
	if unsteady > 0 {
		says := fmt.Sprintf("%d of %d updates were not asked: weights that differ by a millionth before one differ by so much after it (cosine "+
			"%.3f) that rounding decides; the rate and the number of steps are high for these gradients.", unsteady, updates, apart)
		if f.Says += " " + says; unsteady == updates {
			f.Status, f.Says = check.NotAsked, says
		}
	}
	if len(odd) > 0 {
		says, next := differs(odd, len(minds))
		if !slices.ContainsFunc(odd, func(t *Learner) bool { return !t.mislabelled() }) {
			f.Module, next = "goals", "agent/hop: ownNetwork.inHindsight: which label is written to which row, and to which co-player's place"
			says += " Where nothing is labelled the same rows are learnt from as they should be: the labels that it reads are at fault."
		}
		f.Accuse(check.Fault, least-1, says, next)
	}
	out := []check.Finding{f}
	if network {
		out = []check.Finding{choice, layers, f, stats}
	}
	if model.Rows > 0 {
		out = append(out, model)
	}
	return out
}

// differs says how updates differ from their definition.
func differs(odd []*Learner, all int) (says, next string) {
	var who []agent.ID
	var h *HeldUpdate
	for _, t := range odd {
		who = append(who, t.Agents...)
		for i := range t.Held {
			if h == nil && t.Held[i].wrong() {
				h = &t.Held[i]
			}
		}
	}
	c := h.change
	name := "PPO's"
	if odd[0].Hop != nil && odd[0].Hop.Own == "search" {
		name = "the search's and the return's"
	}
	if h.whole {
		return fmt.Sprintf("%s: the update is not what the definition of %s gives: cosine %.3f of 1, length %.3g of what it should be.",
			check.Capital(check.Agents(who)), odd[0].Spec.Title(), c.Cosine, c.Length), "Learn of that mind"
	}
	next = "ppo.Brain.gather and Advantages (what it is given), losses (the loss), passes and nn.Adam.Step (the step)"
	switch {
	case h.slip != nil:
		says = fmt.Sprintf("%s: the update is what %s would give, not what %s loss does (cosine %.3f, length %.3g of what it should be).",
			check.Capital(check.Agents(who)), h.slip.Name, name, c.Cosine, c.Length)
		next = h.slip.look
	case c.Cosine < -0.9:
		says = fmt.Sprintf("%s: the update goes the opposite way of %s loss (cosine %.3f).", check.Capital(check.Agents(who)), name, c.Cosine)
	case c.Cosine >= 0.999 && c.Part == "":
		says = fmt.Sprintf("%s: the update has the right direction but %.3g times the length that rate and gradient give.",
			check.Capital(check.Agents(who)), c.Length)
		next = "the learning rate and its schedule, the clipping of gradients, nn.Adam"
	case c.Part != "" && c.Cosine > 0.9:
		says = fmt.Sprintf("%s: the update of %s is not what %s loss gives there; other layers agree better (cosine of all %.3f, length %.3g).",
			check.Capital(check.Agents(who)), c.Part, name, c.Cosine, c.Length)
		next = "the gradient of " + c.Part + " (model/actor, nn), then " + next
	default:
		says = fmt.Sprintf("%s: the update is not what %s loss gives: cosine %.3f of 1, length %.3g of what it should be.",
			check.Capital(check.Agents(who)), name, c.Cosine, c.Length)
	}
	says += h.fewest
	if len(odd) < all {
		says += fmt.Sprintf(" The other %d learn as they should.", all-len(odd))
	}
	return says, next
}

// slip is a way to get an update wrong, and where that would be.
type updateSlip struct {
	reference.Slip
	look string
}

// recognise returns the slip that agrees with an update, nil if none does.
func recognise(o reference.Own, was, got reference.Net, before *safetensors.File, w *reference.Window) *updateSlip {
	for _, s := range updateSlips(o, w) {
		o.Slip = s.Slip
		if want, err := o.Update(before, w); err == nil && want.Rows > 0 && was.Compare(got, want.Net).Same() {
			return &s
		}
	}
	return nil
}

// slips are what is tried. An audit does not need them to find a fault, only to
// give it a name.
func updateSlips(o reference.Own, w *reference.Window) []updateSlip {
	const ( // where it would be, and the mend
		loss = "ppo.Brain.losses; mend: the mean of max(-r A, -clip(r) A), with r against the policy that played, plus value_coef/2 times " +
			"that of (V - R)^2, less the bonus for entropy"
		returns = "ppo.Advantages; mend: A = r + gamma V' - V + gamma lambda A', where V' and A' end at an exit, and at a cut V' is the last " +
			"slot's value and A' is 0"
		step = "nn.Trainer.Step, nn.Adam.Step; mend: scale all gradients down together to a norm of max_grad, then take a step of Adam, " +
			"whose moments live on"
		rows     = "ppo.Brain.gather; mend: rows at which the agent was alive and acted itself, with the mask and the action that were recorded"
		passes   = "ppo.Brain.passes; mend: ppo.epochs passes over the window, each row once in each"
		fades    = "ppo.Brain.Update; mend: what fades goes from its start to its end by the share of the run that is over"
		imitates = "ppo.Brain.imitate; mend: half the cross-entropy to the search's policy and half the squared error to the return"
		labels   = "agent/hop: ownNetwork.Fit; mend: the own network learns with labels in hindsight, and plays with beliefs"
		rewards  = "learner.Rewards.Apply; mend: an agent's own rewards and the team's mean, weighed by prosocial, times reward_scale"
	)
	conf := func(name, look string, f func(*reference.PPO)) updateSlip {
		return updateSlip{reference.Slip{Name: name, Settings: f}, look}
	}
	ends := func(name string, from, to batch.End) updateSlip {
		return updateSlip{reference.Slip{Name: name, Window: func(ro *batch.Rollout) {
			for i, e := range ro.End {
				if e == from {
					ro.End[i] = to
				}
			}
		}}, returns}
	}
	var list []updateSlip
	for i := range reference.AdvantageSlips {
		if a := &reference.AdvantageSlips[i]; a.Name != "" {
			list = append(list, updateSlip{reference.Slip{Name: a.Name, Advantage: a}, returns})
		}
	}
	list = append(list, conf("gradients that are not clipped", step, func(c *reference.PPO) { c.MaxGrad = 0 }),
		conf("a single pass over the window", passes, func(c *reference.PPO) { c.Epochs = 1 }),
		conf("one pass less", passes, func(c *reference.PPO) { c.Epochs-- }),
		conf("Adam's usual epsilon", step, func(c *reference.PPO) { c.AdamEps = 1e-8 }),
		conf("a learning rate that does not fall", fades, func(c *reference.PPO) { c.LREnd = -1 }),
		updateSlip{reference.Slip{Name: "an optimiser that starts anew with every window", AdamAnew: true}, step},
		ends("cuts that are taken for exits", batch.Cut, batch.Exited),
		ends("exits that are bootstrapped from as if they were cuts", batch.Exited, batch.Cut),
		updateSlip{reference.Slip{Name: "rewards that are not scaled", Rewards: func(r *reference.Rewards) { r.Scale = 1 }}, rewards},
		updateSlip{reference.Slip{Name: "the team's rewards", Rewards: func(r *reference.Rewards) { r.Prosocial = 1 }}, rewards},
		updateSlip{reference.Slip{Name: "the agent's own rewards alone",
			Rewards: func(r *reference.Rewards) { r.Prosocial = 0 }}, rewards},
		updateSlip{reference.Slip{Name: "learning from all rows, bots' too", Window: func(ro *batch.Rollout) {
			for i := range ro.Own {
				ro.Own[i] = true
			}
		}}, rows},
		updateSlip{reference.Slip{Name: "a policy without the mask of legal actions", NoMask: true}, rows})
	for k := 1; k < w.Agents && len(o.Agents) == 1; k++ {
		list = append(list, updateSlip{reference.Slip{Name: "the rows of another agent", OtherAgent: k}, rows})
	}
	if o.Search {
		return append(list, updateSlip{reference.Slip{Name: "beliefs in place of labels", Beliefs: true}, labels},
			updateSlip{reference.Slip{Name: "the search's policy alone, without the return", NoValue: true}, imitates},
			updateSlip{reference.Slip{Name: "the return alone, without the search's policy", NoPolicy: true}, imitates})
	}
	if o.Align > 0 {
		list = append(list, conf("advantages that are not aligned with the others'", "ppo.Brain.align", func(c *reference.PPO) { c.Align = 0 }),
			conf("an alignment discounted once too little", "ppo.Brain.align", func(c *reference.PPO) { c.Align /= c.Gamma }))
	}
	return append(list, conf("advantages that are not normalised", rows, func(c *reference.PPO) { c.NormAdv = !c.NormAdv }),
		conf("no clipping of the ratio", loss, func(c *reference.PPO) { c.Clip = 1e9 }),
		conf("an entropy bonus that does not fall", fades, func(c *reference.PPO) { c.EntropyEnd = -1 }),
		conf("twice the weight of the value", loss, func(c *reference.PPO) { c.ValueCoef *= 2 }),
		conf("half the weight of the value", loss, func(c *reference.PPO) { c.ValueCoef /= 2 }),
		updateSlip{reference.Slip{Name: "a ratio that is always 1", RatioOne: true}, loss},
		updateSlip{reference.Slip{Name: "advantages with the opposite sign", Uphill: true}, loss},
		updateSlip{reference.Slip{Name: "an entropy bonus with the opposite sign", Malus: true}, loss},
		updateSlip{reference.Slip{Name: "no entropy bonus", NoBonus: true}, loss},
		updateSlip{reference.Slip{Name: "no value loss", NoValue: true}, loss},
		updateSlip{reference.Slip{Name: "no policy loss", NoPolicy: true}, loss},
	)
}
