package hop

import (
	"slices"

	"github.com/hop-marl/hop/agent/hop/pretrained"
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/model/sequence"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search/belief"
)

// others is the model of others: what each co-player does next, from what it sees and
// from what it is taken to be after. One network serves all co-players of an agent; it is
// given which one, so it is as free as one network each, and learns what they have in
// common once.
type others struct {
	model   *moa.Learner
	sees    *visible
	shape   shape
	uniform bool    // co-players are taken to act at random, an ablation
	smooth  float64 // share of acting at random in likelihoods, of labels in hindsight
	passes  int     // over a window
	known   float64 // share of what known players did in what it learns from
	slow    float64 // share of its weights that a window leaves as they were
	rate    float64 // of learning
	changes int     // of its weights, for caches
}

func newOthers(m *Mind, key rng.Key) (*others, error) {
	c, in := m.cfg, moaInput(m.sees.spec)
	in.GoalLen = m.shape.width + len(m.sees.others)
	model, err := moa.NewLearner(c.MOA.Config, c.MOA.Learning, in, key.Child("moa"))
	if err != nil {
		return nil, err
	}
	return &others{
		model: model, sees: m.sees, shape: m.shape, uniform: c.Search.Others == "uniform", smooth: c.Belief.Smooth,
		passes: c.MOA.Passes, rate: c.MOA.LR, known: c.MOA.Recorded, slow: c.MOA.Slow,
	}, nil
}

// begin takes over the weights of a model that was trained before the run, if there is one.
func (o *others) begin(goals string, m pretrained.Models) error {
	switch {
	case goals == "context":
		return o.model.Widen(m.Lifetimes, sequence.ActPrefix, o.shape.features)
	case m.MOA == nil:
		return nil
	case goals == "none":
		return o.model.Widen(m.MOA, "", 0) // it was trained without goals
	}
	return o.model.Widen(m.MOA, "", o.shape.features)
}

// read writes what the network reads about co-player j, dst [GoalLen]: the features of what
// it is after, doubt's place, and which one it is, one-hot.
func (o *others) read(dst []float32, j int, features []float32) {
	clear(dst)
	copy(dst, features)
	o.about(dst, j)
}

// about writes which co-player it is.
func (o *others) about(dst []float32, j int) { dst[o.shape.width+j] = 1 }

// predictions is what each co-player was predicted to do under each hypothesis: the
// likelihoods of the next update of beliefs.
type predictions struct {
	probs []float32 // [N][others][hypotheses][K], zero for those who are not there
	made  []bool    // [N] they are of the slot before
	each  int       // numbers about one co-player
}

func (p *predictions) remember(envs int, s *visible, h shape) {
	p.each = h.hypotheses * len(s.spec.Actions)
	p.probs, p.made = make([]float32, envs*len(s.others)*p.each), make([]bool, envs)
}

// of returns those of the co-player at a place of [N][others], [hypotheses][K], a view.
func (p *predictions) of(at int) []float32 { return p.probs[at*p.each : (at+1)*p.each] }

// predictor asks the model of others about many co-players at once, for one worker.
type predictor struct {
	others *others
	ws     *moa.Work
	dst    []float32 // [...][K] where answers go
	rows   int       // that were asked and not answered
	of     [3]int    // which co-player, slot and env the last of them is about
	turned []float32 // [ObsLen] what is seen from another's place
	goal   []float32 // [GoalLen]
	probs  []float32 // [rows][K]
	to     []int32   // [rows] which distribution of what is written to the answer is
}

// together returns how many of so many rows the network is asked about at a time: fewer where
// observations are large, or what waits for an answer is most of what an agent among many takes.
func together(rows int, spec *game.Spec) int {
	const numbers, least = 1 << 18, 32
	return min(rows, max(least, numbers/spec.Obs.Len()))
}

// predictor makes one for up to rows questions.
func (o *others) predictor(rows int) *predictor {
	s := &o.sees.spec
	rows = together(rows, s)
	return &predictor{
		others: o, ws: o.model.Model.Work(rows), turned: make([]float32, s.Obs.Len()), goal: make([]float32, o.model.Model.GoalLen),
		probs: make([]float32, rows*len(s.Actions)), to: make([]int32, rows),
	}
}

// ask asks what co-player j would do at slot t of env n, from its own place, if it were after
// what the features say.
func (p *predictor) ask(to int, ro *batch.Rollout, j, t, n int, features []float32) {
	if p.rows == len(p.to) {
		p.answer()
	}
	o, i, of := p.others, p.rows, [3]int{j, t, n}
	var obs []float32
	if i == 0 || of != p.of {
		obs = o.sees.obs(p.turned, ro, o.sees.others[j], t, n)
	}
	o.read(p.goal, j, features)
	p.ws.Ask(obs, p.goal)
	p.of, p.to[i], p.rows = of, int32(to), i+1
}

// answer writes what was asked.
func (p *predictor) answer() {
	rows, k := p.rows, len(p.others.sees.spec.Actions)
	if p.rows = 0; rows == 0 {
		return
	}
	p.ws.Answer(p.others.model.Params, p.probs[:rows*k])
	for i, to := range p.to[:rows] {
		copy(p.dst[int(to)*k:(int(to)+1)*k], p.probs[i*k:(i+1)*k])
	}
}

// Predict writes what each co-player who is there would do now under each hypothesis. Of
// whom nothing is inferred all of them say the same.
func (p *predictor) Predict(v *rollout.View, envs []int32, x *Inferred, dst *predictions) {
	o, k := p.others, len(p.others.sees.spec.Actions)
	p.dst = dst.probs
	for _, e := range envs {
		n := int(e)
		dst.made[n] = true
		for j, a := range o.sees.others {
			at := o.sees.at(n, j)
			if !o.sees.there(v.Rollout, a, v.T, n) {
				clear(dst.of(at))
				continue
			}
			known := !o.uniform && x.open(at)
			for g := range o.shape.hypotheses {
				if g == o.shape.doubt || !known {
					game.Spread(dst.of(at)[g*k:(g+1)*k], o.sees.legal(v.Rollout, a, v.T, n))
					continue
				}
				p.ask(at*o.shape.hypotheses+g, v.Rollout, j, v.T, n, x.of(at, g))
			}
		}
	}
	p.answer()
}

// hindsight writes how likely each hypothesis is given all that a co-player did in a
// trajectory, where at first all are as likely: features are those of hypothesis g at its
// step t, probs scratch, [steps][hypotheses][K].
func (p *predictor) hindsight(dst []float64, probs []float32, ro *batch.Rollout, path trajectory, features func(t, g int) []float32) {
	o, h, k := p.others, len(dst), len(p.others.sees.spec.Actions)
	p.dst = probs
	for t := path.lo; t < path.hi; t++ {
		for g := range h {
			if to := (t-path.lo)*h + g; g == o.shape.doubt {
				game.Spread(probs[to*k:(to+1)*k], o.sees.legal(ro, path.agent, t, path.env))
			} else {
				p.ask(to, ro, path.other, t, path.env, features(t-path.lo, g))
			}
		}
	}
	p.answer()
	for g := range dst {
		dst[g] = 1 / float64(h)
	}
	for t := path.lo; t < path.hi; t++ {
		likely, action := probs[(t-path.lo)*h*k:][:h*k], ro.Action[ro.Step(path.agent, t, path.env)]
		belief.Bayes(dst, likely, o.sees.legal(ro, path.agent, t, path.env), action, o.smooth)
	}
}

// Score says how well the model predicts a labelled window, which it has not seen yet.
func (o *others) Score(u *update) {
	if rows, who := o.rows(u); rows.Len() > 0 && u.err == nil {
		score := moa.NewScore(o.sees.others, o.sees.spec.Actions)
		score.AddAll(o.model, rows, numbers(len(rows.Seqs)), who)
		u.add(score.Stats(o.model, rows), nil)
	}
}

// Fit lets the model learn from a labelled window.
func (o *others) Fit(u *update) {
	rows, _ := o.rows(u)
	if rows.Len() == 0 || u.err != nil {
		return
	}
	o.changes++
	o.model.Share(u.window.Cores)
	seqs := o.recall(rows, u)
	before := slices.Clone(o.model.Params.W)
	for range u.passes {
		if _, err := o.model.Epoch(rows, seqs, o.rate, u.rand, nil); err != nil {
			u.add(nil, err)
			return
		}
	}
	if s := float32(o.slow); s > 0 {
		for i, w := range o.model.Params.W {
			o.model.Params.W[i] = w + s*(before[i]-w)
		}
	}
}

// recall adds what known players did to a window's rows, drawn anew until it is the share that
// is wanted, and returns the sequences to learn from.
func (o *others) recall(rows *moa.Rows, u *update) []int32 {
	own, steps := numbers(len(rows.Seqs)), float64(rows.Len())
	if u.known == nil || u.known.steps == 0 || o.known == 0 {
		return own
	}
	o.fill(rows, u.known)
	all := numbers(len(rows.Seqs))[len(own):]
	if o.known == 1 {
		return all
	}
	for want := steps * o.known / (1 - o.known); want > 0; {
		s := all[u.rand.IntN(len(all))]
		own, want = append(own, s), want-float64(rows.Seqs[s].Hi-rows.Seqs[s].Lo)
	}
	return own
}

// numbers returns 0 to n-1.
func numbers(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

// rows puts labelled steps into the network's form, once; who is the co-player of each
// sequence.
func (o *others) rows(u *update) (rows *moa.Rows, who []int32) {
	if u.rows != nil {
		return u.rows, u.who
	}
	rows = o.model.Model.NewRows()
	who = o.fill(rows, u)
	u.rows, u.who = rows, who
	return rows, who
}

// fill appends labelled steps to rows, and returns the co-player of each sequence.
func (o *others) fill(rows *moa.Rows, u *update) (who []int32) {
	w, width, read := u.window, o.shape.features, make([]float32, o.model.Model.GoalLen)
	row := 0
	for _, p := range u.list {
		rows.Begin()
		who = append(who, int32(p.other))
		for t := p.lo; t < p.hi; t++ {
			o.read(read, p.other, u.goals[row*width:(row+1)*width])
			rows.Add(o.sees.obs(nil, w.Rollout, p.agent, t, p.env), read, w.Action[w.Step(p.agent, t, p.env)])
			row++
		}
	}
	return who
}

// Networks returns the model of others, if it learns.
func (o *others) Networks() []learner.Network {
	if o.passes == 0 {
		return nil
	}
	return []learner.Network{{Name: "model of others", Module: "moa", Params: o.model.Params, Sign: "moa/ce"}}
}

// single returns the model's view of single steps by goals that are one-hot, for one
// goroutine; goal 0 is everybody's where there are none.
func (o *others) single(goals bool) learner.Predict {
	ws, read, hot := o.model.Model.Work(1), make([]float32, o.model.Model.GoalLen), make([]float32, o.shape.features)
	return func(probs, obs []float32, a agent.ID, goal int) bool {
		if !goals {
			goal = 0
		}
		for j, other := range o.sees.others {
			if other == a && goal >= 0 {
				clear(hot)
				hot[goal] = 1
				o.read(read, j, hot)
				ws.Predict(o.model.Params, obs, read, probs)
				return true
			}
		}
		return false
	}
}
