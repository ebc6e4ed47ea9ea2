package train

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/store/runlog"
)

// The limits of the guards. docs/ladder.md says where they come from.
const (
	inARow         = 3    // windows that a fault must last, so that one odd window is none
	collapsed      = 0.02 // share of the entropy of uniform play below which a policy has one action left
	quietWindows   = 5    // windows without rows before an agent counts as left out
	floorWindows   = 10   // windows before a cross-entropy counts as stuck
	valueLossLimit = 10   // times the values' loss on played rows that on imagined ones may be; right ones are of the same order
	shareSlack     = 0.02 // by how much imagined rows may exceed their share
)

// guards watch a run for what is known to go wrong (docs/faults.md).
// They look at every window, read only what is there anyway, and say each thing
// once, for each mind.
type guards struct {
	nets  [][]netWatch // [mind]
	paid  []paid       // [A] in the window
	mixed []mixed      // [A] in the window
	scans []func()     // of the networks' parts, which take long
	job   cores.Job
	state guardState
}

// paid is what an agent's rewards of a window come to.
type paid struct {
	most, top float64 // the largest return, and the largest reward, either way
	bad       string  // where a reward is no number; empty: nowhere
	_         [64]byte
}

// netWatch is a network that must change while it learns.
type netWatch struct {
	learner.Network
	hash []uint64 // [part] of the last window
	now  []uint64 // [part] of this one
	bad  []bool   // [part] that has changed holds weights that are no numbers
}

// scan reads a part of the network.
func (w *netWatch) scan(i int) {
	part := w.Params.Parts[i]
	w.now[i], w.bad[i] = w.fingerprint(i), false
	if x := w.Params.W[part.Off : part.Off+part.Len]; w.now[i] != w.hash[i] && broken(f32.SumSquares(x)) { // or very large
		w.bad[i] = slices.ContainsFunc(x, func(v float32) bool { return broken(float64(v)) })
	}
}

// scan reads networks, rewards and observed actions, which takes long, with the help of all workers.
func (g *guards) scan(s *SelfPlay, gamma float64) {
	g.paid, g.mixed = make([]paid, s.ro.Agents), make([]mixed, s.ro.Agents)
	s.cores.Do(&g.job, len(g.scans)+s.ro.Agents, func(i int) {
		if a := i - len(g.scans); a >= 0 {
			g.paid[a], g.mixed[a] = returns(s.ro, agent.ID(a), gamma), order(&s.spec, s.ro, agent.ID(a))
			return
		}
		g.scans[i]()
	})
}

// returns looks at the rewards of an agent.
func returns(ro *batch.Rollout, a agent.ID, gamma float64) (p paid) {
	for n := range ro.Envs {
		sum := 0.
		for t := ro.Steps - 1; t >= 0; t-- {
			i := ro.Step(a, t, n)
			r := float64(ro.Reward[i])
			if broken(r) {
				p.bad = fmt.Sprintf("agent %d got a reward of %v at step %d of env %d's window", a, r, t, n)
				return p
			}
			if ro.End[i] != batch.Going {
				sum = 0
			}
			sum = r + gamma*sum
			p.most, p.top = max(p.most, math.Abs(sum)), max(p.top, math.Abs(r))
		}
	}
	return p
}

// guardState is what the guards remember; it is part of a checkpoint.
type guardState struct {
	Warned []string
	Bound  float64     // the largest return met, in the unit that is learnt in
	Begun  int         // windows with episodes
	Start  []float64   // [A] mean return of the first of them
	Gain   []float64   // [A] recent return above that
	Lags   []int       // [A] windows behind
	Minds  []mindGuard `json:"Brains"`
}

// mindGuard is what is remembered of a mind: how many windows in a row
// something has been so.
type mindGuard struct {
	Updates        int // of the brain, when last looked at
	Quiet, Low     int
	Loud, Wild     int
	Dead           int
	Ratio          int
	Unclipped      int
	Even, Level    int
	First          float64 // mean return of its first windows with episodes
	FirstN         int
	LeastCE        float64 // of the model of others
	CEs, Uncertain int
	Learnt, Still  []int    // [net] windows
	Moved          [][]bool // [net][part] has changed since the start

	Knew map[string]float64 `json:",omitempty"` // by kind of stranger: the best top-1 before the agents played themselves
}

func newGuards(minds []abilities) *guards {
	g := &guards{}
	for _, m := range minds {
		nets := make([]netWatch, len(m.networks))
		state := mindGuard{Learnt: make([]int, len(nets)), Still: make([]int, len(nets)), LeastCE: math.MaxFloat64}
		for n := range nets {
			parts := len(m.networks[n].Params.Parts)
			nets[n] = netWatch{m.networks[n], make([]uint64, parts), make([]uint64, parts), make([]bool, parts)}
			for i := range parts {
				g.scans = append(g.scans, func() { nets[n].scan(i) })
			}
			state.Moved = append(state.Moved, make([]bool, len(nets[n].hash)))
		}
		g.nets = append(g.nets, nets)
		g.state.Minds = append(g.state.Minds, state)
	}
	g.remember()
	return g
}

// remember takes the networks as they are now for those of the last window.
func (g *guards) remember() {
	for _, nets := range g.nets {
		for _, w := range nets {
			for i := range w.hash {
				w.hash[i] = w.fingerprint(i)
			}
		}
	}
}

// fingerprint is a number that changes when any weight of a part does.
func (w *netWatch) fingerprint(part int) uint64 {
	span := w.Params.Parts[part].Span
	const odd = 0x9e3779b97f4a7c15
	x := w.Params.W[span.Off : span.Off+span.Len]
	var h0, h1, h2, h3 uint64 // side by side: a multiplication need not wait for the one before
	for ; len(x) >= 4; x = x[4:] {
		h0 = (h0 ^ uint64(math.Float32bits(x[0]))) * odd
		h1 = (h1 ^ uint64(math.Float32bits(x[1]))) * odd
		h2 = (h2 ^ uint64(math.Float32bits(x[2]))) * odd
		h3 = (h3 ^ uint64(math.Float32bits(x[3]))) * odd
	}
	sum := uint64(span.Len)
	for _, v := range x {
		sum = (sum ^ uint64(math.Float32bits(v))) * odd
	}
	for _, v := range [...]uint64{h0, h1, h2, h3} {
		sum = (sum ^ v) * odd
	}
	return sum
}

// save and load make a resumed run warn as an uninterrupted one.
func (g *guards) save(f *safetensors.File) error {
	b, err := json.Marshal(g.state)
	if err != nil {
		return fmt.Errorf("train: saving the guards: %w", err)
	}
	f.PutBytes("guards", b)
	return nil
}

func (g *guards) load(f *safetensors.File) error {
	g.remember()
	if _, ok := f.Get("guards"); !ok {
		return nil // a checkpoint of before there were guards
	}
	b, err := f.Bytes("guards")
	if err != nil {
		return err
	}
	fresh := g.state
	if err := json.Unmarshal(b, &g.state); err != nil {
		return fmt.Errorf("train: loading the guards: %w", err)
	}
	if !g.state.fits(fresh) {
		return fmt.Errorf("train: loading the guards: made for other networks")
	}
	return nil
}

func (s guardState) fits(o guardState) bool {
	return slices.EqualFunc(s.Minds, o.Minds, func(a, b mindGuard) bool {
		return len(a.Learnt) == len(b.Learnt) && len(a.Still) == len(b.Still) &&
			slices.EqualFunc(a.Moved, b.Moved, func(x, y []bool) bool { return len(x) == len(y) })
	})
}

// guard looks at the window that was just learnt from.
func (s *SelfPlay) guard(run *runlog.Run, p *Progress) error {
	var found []check.Finding
	s.timed("guard", func() { found = s.guards.look(s, p) })
	p.Findings = found
	for _, f := range found {
		if err := run.Find(f); err != nil {
			return err
		}
	}
	return nil
}

// failed keeps what was learnt before the failure, and says what failed.
func (s *SelfPlay) failed(run *runlog.Run, cause error) error {
	run.Printf("failed: %v", cause)
	w := &window{g: s.guards, s: s, p: &Progress{}, agent: -1}
	w.rewards()
	w.mind, w.agent = -1, -1
	w.say("learning failed", "ppo", cause.Error(), "lower ppo.lr or ppo.max_grad, unless a reward is not finite; the last checkpoint is whole")
	for _, f := range w.found {
		if err := run.Find(f); err != nil {
			return err
		}
	}
	return cause
}

// look returns what the window shows that was not said before.
func (g *guards) look(s *SelfPlay, p *Progress) []check.Finding {
	w := &window{g: g, s: s, p: p}
	w.rewards()
	w.order()
	w.behind()
	for i := range g.nets {
		w.mind, w.agent, w.who = i, -1, fmt.Sprintf("mind %d", i)
		m := s.minds[i]
		agents := m.Agents()
		if len(agents) == 1 {
			w.agent, w.who = int(agents[0]), fmt.Sprintf("agent %d", agents[0])
		}
		w.me = &g.state.Minds[i]
		stats := p.Stats[i]
		w.finite(stats)
		w.networks(stats)
		w.gradients(stats)
		w.ratios(stats)
		w.heads(agents, stats)
		if m.counting != nil {
			w.updates(m.counting.Counts().Updates, agents)
		}
		w.valueLoss(stats)
		w.entropy(stats, agents)
		w.modelOfOthers(stats)
		w.forgets()
		w.imagined(stats)
	}
	return w.found
}

// window is one look.
type window struct {
	g     *guards
	s     *SelfPlay
	p     *Progress
	found []check.Finding

	mind, agent int
	who         string
	me          *mindGuard
}

// say adds a finding, unless it has been said of this mind before.
func (w *window) say(name, module, says, next string) {
	w.warn(check.Suspect, name, module, says, next)
}

// warn is say of something that is so bad.
func (w *window) warn(bad check.Status, name, module, says, next string) {
	key := fmt.Sprintf("%s/%d", name, w.mind)
	if slices.Contains(w.g.state.Warned, key) {
		return
	}
	w.g.state.Warned = append(w.g.state.Warned, key)
	f := check.Finding{Step: w.s.step, Check: name, Status: bad, Module: module, Says: says, Next: next}
	if w.agent >= 0 {
		f.Who = []int{w.agent}
	}
	w.found = append(w.found, f)
}

// lasts counts windows in a row and reports whether there have been enough.
func lasts(count *int, on bool, enough int) bool {
	if !on {
		*count = 0
		return false
	}
	*count++
	return *count >= enough
}

// stat returns the first statistic of one of the names: ppo/entropy and
// search/entropy are the same thing of two learners.
func stat(stats []agent.Stat, names ...string) (agent.Stat, bool) {
	for _, st := range stats {
		if slices.Contains(names, st.Name) {
			return st, true
		}
	}
	return agent.Stat{}, false
}

func broken(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }

// largeReward is a reward, in the unit that is learnt in, that is remarked on.
const largeReward = 1e3

// rewards finds rewards that are no numbers, or large ones, and the largest return so far in
// the unit that is learnt in: no value should be far beyond it.
func (w *window) rewards() {
	shape := w.s.shaped(0)
	scale := w.s.scale()
	for _, f := range shape.Goal {
		scale = max(scale, w.s.scale()*f)
	}
	for m := range w.s.minds {
		shape.Gamma = max(shape.Gamma, w.s.shaped(m).Gamma)
	}
	w.g.scan(w.s, shape.Gamma)
	most, top := 0., 0.
	for a, p := range w.g.paid {
		if p.bad != "" {
			w.mind, w.agent, w.who = w.s.parts.MindOf[a], a, fmt.Sprintf("agent %d", a)
			w.say("reward not finite", "game", p.bad, "look at the game's Step; hop play shows an episode step by step")
			return
		}
		most, top = max(most, p.most), max(top, p.top)
	}
	if top*scale > largeReward {
		w.mind, w.agent, w.who = 0, -1, "all agents"
		w.say("large rewards", "game", fmt.Sprintf("a reward is %.3g, which is %.3g in the unit that is learnt in: values of such a size are "+
			"not learnt well", top, top*scale), fmt.Sprintf("let ppo.reward_scale be about %.0e, so that returns are between 1 and 10",
			10/max(most, top)))
	}
	for a := range w.p.Return {
		if acc := &w.p.Return[a]; acc.N() > 0 {
			most = max(most, math.Abs(acc.Mean()))
		}
	}
	if shape.Gamma < 1 {
		most = min(most, top/(1-shape.Gamma))
	}
	w.g.state.Bound = max(w.g.state.Bound, most*scale)
}

// finite finds losses that are no numbers.
func (w *window) finite(stats []agent.Stat) {
	for _, st := range stats {
		if broken(st.Value) {
			w.say("not finite", "ppo", fmt.Sprintf("%s of %s is %v", st.Name, w.who, st.Value),
				"lower ppo.lr, set ppo.max_grad (0.5), and look for a division or a logarithm of 0 in what feeds it")
			return
		}
	}
}

// networks finds weights that are no numbers, and weights that do not change
// though their network learns.
func (w *window) networks(stats []agent.Stat) {
	rate, known := stat(stats, "ppo/lr", "search/lr")
	for n, net := range w.g.nets[w.mind] {
		learnt := len(stats) > 0 && (!known || rate.Value > 0) && w.plays()
		if _, ok := stat(stats, net.Sign); net.Sign != "" && !ok {
			learnt = false
		}
		if learnt {
			w.me.Learnt[n]++
		}
		changed, never := false, ""
		for i, part := range net.Params.Parts {
			if now := net.now[i]; now != net.hash[i] {
				changed, w.me.Moved[n][i], net.hash[i] = true, true, now
				if net.bad[i] {
					w.say("not finite", net.Module, fmt.Sprintf("%s of the %s of %s holds weights that are not numbers", part.Name, net.Name, w.who),
						"go back to a checkpoint before this step with a lower learning rate")
				}
			}
			if !w.me.Moved[n][i] && never == "" {
				never = part.Name
			}
		}
		if lasts(&w.me.Still[n], learnt && !changed, inARow) {
			w.say("dead gradients", net.Module, fmt.Sprintf("the %s of %s has learnt in the last %d windows and no weight changed",
				net.Name, w.who, w.me.Still[n]), "see that its trainer (nn.Trainer) is asked to step and that its learning rate is not 0")
		} else if never != "" && w.me.Learnt[n] >= inARow && changed {
			w.say("dead gradients", net.Module, fmt.Sprintf("%s of the %s of %s has never changed in %d windows while the rest did",
				never, net.Name, w.who, w.me.Learnt[n]), "see that its optimiser holds it, and that what it feeds reaches a loss")
		}
	}
}

// plays reports whether one of the mind's agents is played by it: a planner whose place a
// bot has for good goes on modelling the others, and its own network stands still.
func (w *window) plays() bool {
	return slices.ContainsFunc(w.s.minds[w.mind].Agents(), func(a agent.ID) bool { return w.s.role(int(a)) == "learn" })
}

// gradients finds gradients that are nothing.
func (w *window) gradients(stats []agent.Stat) {
	norm, ok := stat(stats, "ppo/grad_norm", "search/grad_norm")
	if lasts(&w.me.Dead, ok && norm.Value < 1e-9, inARow) {
		w.say("dead gradients", "ppo", fmt.Sprintf("the gradient of %s has had norm %.2g for %d windows", w.who, norm.Value, w.me.Dead),
			"see whether all rewards are 0 or all advantages equal (metrics.csv), and whether a unit of the network is ever on")
	}
}

// updates finds learners that do not get to learn while others do.
func (w *window) updates(now int, agents []agent.ID) {
	grew := now > w.me.Updates
	w.me.Updates = now
	mine := slices.ContainsFunc(agents, func(a agent.ID) bool { return w.s.role(int(a)) == "learn" })
	others := slices.ContainsFunc(w.p.Stats, func(list []agent.Stat) bool { return len(list) > 0 })
	if lasts(&w.me.Quiet, !grew && mine && (others || w.s.dealing.share < 1), quietWindows) {
		w.say("agent without updates", "ppo", fmt.Sprintf("%s learns by the spec but has not been updated for %d windows", w.who, w.me.Quiet),
			"see that its rows are its own (batch.Rollout.Own) and that nothing runs for agent 0 only; hop audit names the module")
	}
}

// valueLoss finds values that are further off than 0 everywhere would be.
func (w *window) valueLoss(stats []agent.Stat) {
	loss, ok := stat(stats, "ppo/value_loss", "search/value_loss")
	limit := w.g.state.Bound * w.g.state.Bound
	if lasts(&w.me.Loud, ok && limit > 0 && loss.Value > limit, inARow) {
		w.say("exploding loss", "ppo", fmt.Sprintf("the value loss of %s is %.3g for %d windows; returns are at most %.3g in "+
			"the unit learnt in, so a value of 0 everywhere would lose at most %.3g", w.who, loss.Value, w.me.Loud, w.g.state.Bound, limit/2),
			"see whether value targets mix two scales (imagined and played rewards, or ppo.reward_scale twice), then lower ppo.lr")
	}
}

// entropy finds policies that have settled on one action before they got
// anywhere: the return is no better than at the start, and where the game has
// goals mostly none is reached. An equilibrium in one action, such as mutual
// defection, reaches its goal and is none.
func (w *window) entropy(stats []agent.Stat, agents []agent.ID) {
	ret, n, none := 0., 0, 0.
	for _, a := range agents {
		if acc := &w.p.Return[a]; acc.N() > 0 {
			ret, n, none = ret+acc.Mean(), n+1, none+w.p.None[a]
		}
	}
	if n == 0 {
		return
	}
	ret, none = ret/float64(n), none/float64(n)
	if w.me.FirstN < inARow {
		w.me.First += (ret - w.me.First) / float64(w.me.FirstN+1)
		w.me.FirstN++
		return
	}
	h, ok := stat(stats, "ppo/entropy", "search/entropy")
	poor := ret <= w.me.First && (len(w.s.spec.Goals) == 0 || none > 0.5)
	low := ok && poor && h.Value < 0.1 // spares counting most of the time
	uniform := 0.
	if low {
		uniform = w.uniform(agents)
		low = uniform > 0 && h.Value < collapsed*uniform
	}
	if lasts(&w.me.Low, low, inARow) {
		w.say("entropy collapse", "ppo", fmt.Sprintf("the policy of %s has an entropy of %.2g nats, uniform play %.2f, and "+
			"returns %.3g, no more than the %.3g of its first windows", w.who, h.Value, uniform, ret, w.me.First),
			"raise ppo.entropy or lower ppo.lr, and start over: a policy with one action left does not explore")
	}
}

// uniform returns the mean entropy of uniform play over the agents' own rows.
func (w *window) uniform(agents []agent.ID) float64 {
	sum, rows := 0., 0
	for _, slot := range w.own(agents) {
		sum += w.evenly(slot)
		rows++
	}
	return sum / float64(max(rows, 1))
}

// own visits the rows at which the agents' own policies chose, by step and slot.
func (w *window) own(agents []agent.ID) iter.Seq2[int, int] {
	ro := w.s.ro
	return func(yield func(step, slot int) bool) {
		for _, a := range agents {
			for t := range ro.Steps {
				for n := range ro.Envs {
					step, slot := ro.Step(a, t, n), ro.Slot(a, t, n)
					if ro.Alive[slot] && ro.Own[step] && ro.Action[step] != game.NoAction && !yield(step, slot) {
						return
					}
				}
			}
		}
	}
}

// evenly is -ln of the probability of an action in a slot, if all that are legal are as likely.
func (w *window) evenly(slot int) float64 {
	k := 0
	for _, ok := range w.s.ro.LegalAt(slot) {
		if ok {
			k++
		}
	}
	return math.Log(float64(max(k, 1)))
}

// modelOfOthers finds a cross-entropy that grew beyond guessing, and one that
// cannot fall because softmax was applied twice.
func (w *window) modelOfOthers(stats []agent.Stat) {
	ce, ok := stat(stats, "moa/ce")
	top1, ok1 := stat(stats, "moa/top1")
	if !ok || !ok1 || broken(ce.Value) {
		return
	}
	k := len(w.s.spec.Actions)
	me, even := w.me, math.Log(float64(k))
	if lasts(&me.Wild, ce.Value > 2*even, inARow) {
		w.say("exploding loss", "moa", fmt.Sprintf("the cross-entropy of %s's model of others is %.3g for %d windows, guessing has %.3g",
			w.who, ce.Value, me.Wild, even), "see whether actions of agents that have left are learnt from, and whether "+
			"actions and observations are in the same ego-first order")
	}
	me.CEs++
	me.LeastCE = min(me.LeastCE, ce.Value)
	p := check.Predictor{CE: me.LeastCE, Floor: check.SoftmaxFloor(k), Classes: k, Right: top1.Value}
	if lasts(&me.Uncertain, me.CEs >= floorWindows && p.DoubleSoftmax() == check.Fault, inARow) {
		w.say("double softmax", "moa", fmt.Sprintf("%s's model of others is right %.0f %% of the time, but its cross-entropy, "+
			"%.3f, has not come below ln(1+(K-1)/e) = %.3f in %d windows", w.who, 100*top1.Value, ce.Value, p.Floor, me.CEs),
			"softmax is applied twice: hand logits, not probabilities, to the cross-entropy")
	}
}

// imagined finds value targets that are imagined to a larger share than the spec
// allows, or do not fit the played ones.
func (w *window) imagined(stats []agent.Stat) {
	made, _ := stat(stats, "ppo/value_loss_imagined")
	played, _ := stat(stats, "ppo/value_loss")
	share, _ := stat(stats, "ppo/imagined_share")
	allowed := w.s.imaginedShare
	if share.Value > allowed+shareSlack {
		w.say("imagined share", "world", fmt.Sprintf("%.0f %% of the value targets of %s are imagined, the spec allows %.0f %%",
			100*share.Value, w.who, 100*allowed), "raise imagine.real_ratio, or find who writes imagined rows into the played window")
	}
	if made.N > 0 && made.Value > valueLossLimit*max(played.Value, 1e-3) {
		w.say("imagined targets", "world", fmt.Sprintf("the value loss of %s is %.3g on imagined rows and %.3g on played "+
			"ones: imagined rewards do not fit the returns (docs/faults.md#mixed-value-targets), or the world model is wrong",
			w.who, made.Value, played.Value), "raise imagine.trust, or score the model with hop pretrain world")
	}
}
