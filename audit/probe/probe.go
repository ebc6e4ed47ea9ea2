// Package probe finds out by experiment what a mind learns from, whether runs
// come back from a checkpoint, and whether they kept what they learnt: a window is changed in one respect, the mind learns,
// and what came of it is compared with what would have come otherwise. No mind is
// asked, so none can hide.
package probe

import (
	"errors"
	"hash/fnv"
	"slices"

	"github.com/hop-marl/hop/agent/hop"
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/audit/record"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/safetensors"
)

// Rows is how many single rows of an agent are changed, one at a time.
const Rows = 8

// Sources is what one learner was found to learn from.
type Sources struct {
	Agents []agent.ID // whose rows it should learn from

	Twice    bool      // learning twice from one checkpoint gave one result
	Restored []string  // tensors that Load did not restore
	Share    []float64 // [A] share of that agent's probed rows that it learns from
	Probed   []int     // [A] rows probed

	Reads  learner.Reads // what the mind declares to read of others
	Undone []string      // of that, what changed nothing
	Done   []string      // and what did
	Hidden []string      // what is not declared and changed the result

	// What changed the result: true is wrong in the first four, right in the others.
	Dead, Foreign, Exits Yes
	Cuts, Mask, Obs      Yes

	Rise Rising // what a raised reward comes to
}

// Sound reports whether experiments were made, and could be: every one starts from
// the same place.
func (s *Sources) Sound() bool { return s != nil && s.Twice && len(s.Restored) == 0 }

// Rising is what raising the reward of single rows came to, in trials; in those of Free the action could become likelier.
type Rising struct{ Trials, Free, Prob, Value int }

// Saturated is how unlikely all other actions are together where a policy can hardly become surer.
const Saturated = 1e-3

// Labeller labels others' steps in hindsight.
type Labeller interface {
	Labels(w *learner.Window) []hop.Label
}

// Yes is an answer that may not have been asked for.
type Yes struct{ Asked, Is bool }

// fingerprint is one of all tensors.
func fingerprint(f *safetensors.File) uint64 {
	h := fnv.New64a()
	for _, t := range f.Tensors {
		h.Write(t.Data)
	}
	return h.Sum64()
}

// prober changes a window in one respect, lets a mind learn from it, looks
// whether that made a difference, and puts the mind back.
type prober struct {
	mind   learner.Mind
	saver  learner.Saver
	params *nn.Params // nil: what is saved tells
	start  *safetensors.File
	window *learner.Window
	played *batch.Rollout
	copy   *batch.Rollout
	goals  int       // that the game has
	base   uint64    // what it learns from the window as it was played
	after  []float32 // the acting network after learning the unchanged window
	look   func()    // is called when the mind has learnt, before it is put back
	err    error
}

// Saved returns a mind's tensors.
func Saved(m learner.Mind) (*safetensors.File, error) {
	f := &safetensors.File{}
	s, ok := learner.As[learner.Saver](m)
	if !ok {
		return f, errors.New("probe: the mind cannot be saved")
	}
	return f, s.Save(f, "")
}

// learn lets the mind learn from ro, puts it back and returns a fingerprint of what
// it had learnt: the network that acts, or all that is saved.
func (p *prober) learn(ro *batch.Rollout) uint64 {
	if p.err != nil {
		return 0
	}
	w := *p.window
	w.Rollout = ro
	if _, p.err = p.mind.Learn(&w); p.err != nil {
		return 0
	}
	var learnt uint64
	if p.params != nil {
		learnt = record.Print(p.params.W)
	} else {
		var f *safetensors.File
		if f, p.err = Saved(p.mind); p.err != nil {
			return 0
		}
		learnt = fingerprint(f)
	}
	if p.look != nil {
		p.look()
	}
	p.err = p.saver.Load(p.start, "")
	return learnt
}

// changed reports whether learning from the window after edit ends elsewhere.
func (p *prober) changed(edit func(ro *batch.Rollout)) bool {
	p.copy.CopyFrom(p.played)
	edit(p.copy)
	return p.learn(p.copy) != p.base
}

// another returns a legal action that is not the one played, or that one if
// there is none.
func another(legal []bool, act int32) int32 {
	for k := range legal {
		if other := int32((int(act) + 1 + k) % len(legal)); other != act && legal[other] {
			return other
		}
	}
	return act
}

// Ask finds out by experiment what a mind learns from.
func Ask(m learner.Mind, params *nn.Params, w *learner.Window, spec game.Spec) (*Sources, error) {
	planes := spec.Obs.PlanesLen()
	ro := w.Rollout
	src := &Sources{Agents: m.Agents(), Share: make([]float64, ro.Agents), Probed: make([]int, ro.Agents)}
	start, err := Saved(m)
	if err != nil {
		return nil, err
	}
	p := &prober{mind: m, params: params, start: start, window: w, played: ro, copy: batch.New(ro.Shape), goals: len(spec.Goals)}
	if d, ok := learner.As[learner.Declares](m); ok {
		src.Reads = d.Reads(w)
	}
	p.saver, _ = learner.As[learner.Saver](m)
	var weights []float32
	if params != nil {
		weights = slices.Clone(params.W)
		defer copy(params.W, weights) // whatever Load does, the run goes on from here
	}
	p.copy.CopyFrom(ro)
	p.look = func() {
		if params != nil {
			p.after = slices.Clone(params.W)
		}
	}
	p.base = p.learn(p.copy)
	p.look = nil
	if p.err != nil {
		return nil, p.err
	}
	back, err := Saved(m)
	if err != nil {
		return nil, err
	}
	src.Restored = Unlike(start, back)
	if params != nil && !slices.Equal(weights, params.W) {
		src.Restored = append(src.Restored, "net")
	}
	p.copy.CopyFrom(ro)
	again := p.learn(p.copy)
	src.Twice = again == p.base
	if !src.Sound() {
		return src, p.err
	}
	p.rows(src, planes)
	p.declared(src)
	p.places(src, planes)
	return src, p.err
}

// rows asks of every agent whether its rows matter, all at once and one by one.
func (p *prober) rows(src *Sources, planes int) {
	team := p.window.Rewards.Prosocial != 0
	for b := range agent.ID(p.played.Agents) {
		var own [][2]int
		record.Each(p.played, b, func(_, _, step, slot int) {
			if p.played.Alive[slot] && p.played.Own[step] {
				own = append(own, [2]int{step, slot})
			}
		})
		if len(own) == 0 {
			continue
		}
		mine := slices.Contains(src.Agents, b)
		secret := func(ro *batch.Rollout, step, slot int) {
			for _, c := range columns {
				if !c.declared(src.Reads) {
					c.edit(ro, step, slot, p.goals)
				}
			}
		}
		if !mine {
			if net := p.changed(func(ro *batch.Rollout) {
				for _, r := range own {
					secret(ro, r[0], r[1])
				}
			}); !net {
				src.Probed[b] = len(own)
				continue
			}
		}
		hits := 0
		n := min(Rows, len(own))
		for i := range n {
			r := own[(2*i+1)*len(own)/(2*n)]
			if mine && !team {
				p.raised(src, r[0], r[1])
			}
			if net := p.changed(func(ro *batch.Rollout) {
				if mine {
					mark(ro, r[0], r[1], team)
				} else {
					secret(ro, r[0], r[1])
				}
			}); net {
				hits++
			}
		}
		src.Share[b], src.Probed[b] = float64(hits)/float64(n), n
	}
	for _, a := range src.Agents {
		src.Obs.Asked = src.Obs.Asked || planes > 0 && src.Probed[a] > 0
	}
	if src.Obs.Asked {
		src.Obs.Is = p.changed(func(ro *batch.Rollout) {
			for _, a := range src.Agents {
				record.Each(ro, a, func(_, _, step, slot int) {
					if ro.Alive[slot] && ro.Own[step] {
						obs := ro.ObsAt(slot)
						for i := range obs[:planes] {
							obs[i] = 1 - obs[i]
						}
					}
				})
			}
		})
	}
}

// raised raises the reward of one row by a lot, lets the mind learn, and notes
// whether the action's probability and the state's value come out higher than if
// nothing had been raised.
func (p *prober) raised(src *Sources, step, slot int) {
	acting, ok := learner.As[learner.Acting](p.mind)
	if !ok || p.params == nil || p.err != nil {
		return
	}
	model, _ := acting.Actor()
	if model.LSTM > 0 {
		return
	}
	ro, ws := p.played, model.Work(1)
	ask := func() (prob, value float64) {
		ws.Reset()
		ws.Add(ro.ObsAt(slot), ro.GoalAt(slot)[:min(model.Extra, ro.GoalLen)])
		ws.Forward(p.params)
		return reference.Softmax(ws.Logits[:ro.Actions], ro.LegalAt(slot))[ro.Action[step]], float64(ws.Value[0])
	}
	var prob, value float64
	p.look = func() { prob, value = ask() }
	p.changed(func(w *batch.Rollout) { w.Reward[step] += 20 })
	p.look = nil
	now := slices.Clone(p.params.W)
	copy(p.params.W, p.after)
	was, worth := ask()
	copy(p.params.W, now)
	src.Rise.Trials++
	if was <= 1-Saturated {
		if src.Rise.Free++; prob > was {
			src.Rise.Prob++
		}
	}
	if value > worth {
		src.Rise.Value++
	}
}

// place is a row of one of the mind's agents.
type place struct {
	a                agent.ID
	t, n, step, slot int
}

// places asks about rows and slots that must, or must not, matter.
func (p *prober) places(src *Sources, planes int) {
	played, team := p.played, p.window.Rewards.Prosocial != 0
	ask := func(y *Yes, want func(at place) bool, edit func(ro *batch.Rollout, at place)) {
		var list []place
		for _, a := range src.Agents {
			record.Each(played, a, func(t, n, step, slot int) {
				if at := (place{a, t, n, step, slot}); want(at) {
					list = append(list, at)
				}
			})
		}
		if len(list) == 0 {
			return
		}
		y.Asked = true
		y.Is = p.changed(func(ro *batch.Rollout) {
			for _, at := range list {
				edit(ro, at)
			}
		})
	}
	mine := func(at place) bool { return played.Alive[at.slot] && played.Own[at.step] }
	raise := func(ro *batch.Rollout, at place) { ro.Value[ro.Slot(at.a, at.t+1, at.n)] += 3 }
	ask(&src.Dead, func(at place) bool { return !played.Alive[at.slot] }, func(ro *batch.Rollout, at place) {
		value := ro.Value[at.slot]
		tamper(ro, at.step, at.slot, planes, !team)
		if at.t > 0 && played.End[played.Step(at.a, at.t-1, at.n)] == batch.Cut {
			ro.Value[at.slot] = value
		}
	})
	ask(&src.Foreign, func(at place) bool { return played.Alive[at.slot] && !played.Own[at.step] }, func(ro *batch.Rollout, at place) {
		tamper(ro, at.step, at.slot, planes, !team)
	})
	ask(&src.Exits, func(at place) bool { return mine(at) && played.End[at.step] == batch.Exited }, raise)
	values := slices.ContainsFunc(played.Value, func(v float32) bool { return v != 0 }) // a mind without any has none to bootstrap from
	ask(&src.Cuts, func(at place) bool { return values && mine(at) && played.End[at.step] == batch.Cut }, raise)
	ask(&src.Mask, func(at place) bool { return mine(at) && slices.Contains(played.LegalAt(at.slot), false) },
		func(ro *batch.Rollout, at place) {
			legal := ro.LegalAt(at.slot)
			for k := range legal {
				legal[k] = true
			}
		})
}

// RoundTrip saves a mind, loads it and saves it again: what is not the same then.
func RoundTrip(m learner.Mind) []string {
	saver, _ := learner.As[learner.Saver](m)
	a, err := Saved(m)
	if err != nil || saver.Load(a, "") != nil {
		return []string{"nothing"}
	}
	b, err := Saved(m)
	if err != nil {
		return []string{"nothing"}
	}
	return Unlike(a, b)
}

// Anew loads what a mind saves into one that was made anew, which saves it again: what is not the same then.
func Anew(m, fresh learner.Mind) []string {
	saver, saves := learner.As[learner.Saver](fresh)
	a, err := Saved(m)
	if err != nil || !saves || saver.Load(a, "") != nil {
		return []string{"nothing"}
	}
	b, err := Saved(fresh)
	if err != nil {
		return []string{"nothing"}
	}
	return Unlike(a, b)
}

// Unlike returns the names of tensors that differ or are missing.
func Unlike(a, b *safetensors.File) []string {
	var out []string
	for _, t := range a.Tensors {
		u, ok := b.Get(t.Name)
		if !ok || string(u.Data) != string(t.Data) {
			out = append(out, t.Name)
		}
	}
	return out
}
