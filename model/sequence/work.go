package sequence

import (
	"github.com/hop-marl/hop/model"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

// Work is one goroutine's memory. It grows with what is loaded.
type Work struct {
	Act, Goal  *moa.Work // the two heads' after Forward
	Kind       nn.Logits // [rows][Kinds] after Forward
	X          f32.Sparse
	act, class *nn.Categorical
	kind       *nn.Categorical

	m       *Model
	rows    int // that there is room for
	tokens  int
	longest int
	one     *moa.Work // encodes an observation in play
	seqs    []nn.Span // of the tokens
	at      []int32   // [rows] the token whose output is the row's context; -1: none yet
	net     *nn.TransformerWork
	gru     *nn.GRUWork
	gx, gdx []float32 // [T][N][Width] what the GRU reads
	alive   []bool    // [T][N]
	u, du   []float32 // [tokens][2 Width] of a token
	emb     []float32 // [tokens][Width] what the history reads
	y, dy   []float32 // [tokens][Width] outputs, views or copies
	ctx, dc []float32 // [rows][Width] contexts
	read    []float32 // [rows][ReadLen] what the heads read of them: their codes, or they themselves
	dread   []float32
	dkind   []float32
	legal   []bool
	target  []int32
	goals   []int32
	kinds   []int32
	full    []float32 // [GoalLen of Act]
	cache   []float32 // [tokens][Width] states of the GRU in play
}

// Work returns memory that grows as it is used.
func (m *Model) Work() *Work {
	return &Work{m: m, one: m.Act.Work(1), full: make([]float32, m.Act.GoalLen)}
}

// grow makes room.
func (ws *Work) grow(rows, tokens, longest int) {
	m := ws.m
	if rows > ws.rows {
		ws.rows = rows
		ws.Act, ws.Goal = m.Act.Work(rows), m.Goal.Work(rows)
		ws.act, ws.class = nn.NewCategorical(m.Actions, rows), nn.NewCategorical(m.Goal.Actions, rows)
		ws.kind = nn.NewCategorical(len(m.Kinds), rows)
		ws.Kind, ws.dkind = make(nn.Logits, rows*len(m.Kinds)), make([]float32, rows*len(m.Kinds))
		ws.ctx, ws.dc = make([]float32, rows*m.Width), make([]float32, rows*m.Width)
		if ws.read, ws.dread = ws.ctx, ws.dc; m.Code > 0 {
			ws.read, ws.dread = make([]float32, rows*m.Code), make([]float32, rows*m.Code)
		}
		ws.legal, ws.at = make([]bool, rows*m.Actions), make([]int32, rows)
		ws.target, ws.goals, ws.kinds = make([]int32, rows), make([]int32, rows), make([]int32, rows)
	}
	if tokens > ws.tokens || longest > ws.longest {
		ws.tokens, ws.longest = max(tokens, ws.tokens), max(longest, ws.longest)
		ws.u, ws.du = make([]float32, 2*ws.tokens*m.Width), make([]float32, 2*ws.tokens*m.Width)
		switch m.History {
		case "attention":
			ws.net = m.net.Work(ws.tokens, ws.longest)
			ws.y, ws.dy, ws.emb = ws.net.Y, ws.net.DY, ws.net.X
		case "gru":
			n := ws.tokens * m.Width
			ws.emb, ws.y, ws.dy = make([]float32, n), make([]float32, n), make([]float32, n)
			ws.cache = make([]float32, n)
		}
	}
}

// load gathers histories. known is, for each of them, the place of its kind among
// those that the action's head may be given, -1: it is not.
func (ws *Work) load(l *Lives, part []int32, known []int32) {
	m, rows, tokens, longest := ws.m, 0, 0, 0
	for _, i := range part {
		rows, tokens, longest = rows+l.Steps(int(i)), tokens+l.Tokens[i].Len, max(longest, l.Tokens[i].Len)
	}
	ws.grow(rows, tokens, longest)
	ws.X.Reset(m.cols())
	ws.Act.Reset()
	ws.Goal.Reset()
	ws.seqs = ws.seqs[:0]
	k, n, off := m.Actions, 0, 0
	for j, i := range part {
		span := l.Tokens[i]
		if span.Len > 0 {
			ws.seqs = append(ws.seqs, nn.Span{Off: off, Len: span.Len})
		}
		for t := range span.Len {
			ws.X.AppendFrom(&l.X, span.Off+t)
		}
		clear(ws.full)
		if known != nil && known[j] >= 0 {
			ws.full[m.ReadLen()+int(known[j])] = 1
		}
		for row := int(l.Rows.Seqs[i].Lo); row < int(l.Rows.Seqs[i].Hi); row++ {
			if ws.at[n] = -1; l.Before[row] > 0 {
				ws.at[n] = int32(off) + l.Before[row] - 1
			}
			ws.Act.AddFrom(&l.Rows.X, row, ws.full)
			ws.Goal.AddFrom(&l.Rows.X, row, nil)
			copy(ws.legal[n*k:(n+1)*k], l.Rows.Legal[row*k:(row+1)*k])
			ws.target[n], ws.goals[n], ws.kinds[n] = l.Rows.Action[row], l.Goal[row], l.Kind[i]
			n++
		}
		off += span.Len
	}
}

// forward computes the heads of what was loaded.
func (ws *Work) forward(p *nn.Params) {
	m, rows, w := ws.m, ws.Act.Rows(), ws.m.Width
	if len(ws.seqs) > 0 {
		switch m.History {
		case "attention":
			ws.embed(p)
			m.net.Forward(p, ws.net, ws.seqs)
		case "gru":
			ws.forwardGRU(p)
		}
	}
	for i := range rows {
		c := ws.ctx[i*w : (i+1)*w]
		if clear(c); ws.at[i] >= 0 && m.History != "none" {
			copy(c, ws.y[int(ws.at[i])*w:])
		}
	}
	r := m.ReadLen()
	if m.Code > 0 {
		m.code.Forward(p, ws.read, ws.ctx, rows)
	}
	for i := range rows {
		copy(ws.Act.Goals[i*m.Act.GoalLen:], ws.read[i*r:(i+1)*r])
		copy(ws.Goal.Goals[i*r:], ws.read[i*r:(i+1)*r])
	}
	ws.Act.Forward(p)
	ws.Goal.Forward(p)
	ws.act.Set(ws.Act.Logits, ws.legal, rows)
	ws.class.Set(ws.Goal.Logits, nil, rows)
	if clear(ws.Kind); m.History != "none" {
		m.kind.Forward(p, ws.Kind, ws.read, rows)
	}
	ws.kind.Set(ws.Kind, nil, rows)
}

// lay returns the histories' tokens as [T][N], with memory for it.
func (ws *Work) lay() nn.Seq {
	s := nn.Seq{N: len(ws.seqs)}
	for _, q := range ws.seqs {
		s.T = max(s.T, q.Len)
	}
	if n := s.T * s.N; n > len(ws.alive) {
		ws.gru, ws.alive = ws.m.gru.Work(1, n), make([]bool, n)
		ws.gx, ws.gdx = make([]float32, n*ws.m.Width), make([]float32, n*ws.m.Width)
	}
	s.Alive = ws.alive[:s.T*s.N]
	return s
}

func (ws *Work) forwardGRU(p *nn.Params) {
	m, w := ws.m, ws.m.Width
	ws.embed(p)
	s := ws.lay()
	for n, q := range ws.seqs {
		for t := range s.T {
			at := t*s.N + n
			if s.Alive[at] = t < q.Len; s.Alive[at] {
				copy(ws.gx[at*w:(at+1)*w], ws.emb[(q.Off+t)*w:])
			} else {
				clear(ws.gx[at*w : (at+1)*w])
			}
		}
	}
	clear(ws.gru.H0[:s.N*w])
	m.gru.Forward(p, ws.gru, ws.gx, s)
	for n, q := range ws.seqs {
		for t := range q.Len {
			copy(ws.y[(q.Off+t)*w:(q.Off+t+1)*w], ws.gru.Y[(t*s.N+n)*w:])
		}
	}
}

func (ws *Work) backwardGRU(p *nn.Params) {
	m, w := ws.m, ws.m.Width
	s := ws.lay()
	clear(ws.gru.DY)
	for n, q := range ws.seqs {
		for t := range q.Len {
			copy(ws.gru.DY[(t*s.N+n)*w:(t*s.N+n+1)*w], ws.dy[(q.Off+t)*w:])
		}
	}
	m.gru.Backward(p, ws.gru, ws.gdx, ws.gx, s)
	for n, q := range ws.seqs {
		for t := range q.Len {
			copy(ws.dy[(q.Off+t)*w:(q.Off+t+1)*w], ws.gdx[(t*s.N+n)*w:])
		}
	}
	ws.unembed(p, ws.dy)
}

// embed turns the tokens into what the history reads; unembed goes back from its
// gradient d.
func (ws *Work) embed(p *nn.Params) {
	ws.m.first.ForwardSparse(p, ws.u, &ws.X)
	ws.m.embed.Forward(p, ws.emb, ws.u, ws.X.Rows())
}

func (ws *Work) unembed(p *nn.Params, d []float32) {
	ws.m.embed.Backward(p, ws.du, d, ws.u, ws.emb, ws.X.Rows())
	ws.m.first.BackwardSparse(p, ws.du, &ws.X, ws.u)
}

// Terms are the losses of a batch.
type Terms struct{ Action, Goal, Kind nn.Loss }

// Plus adds up.
func (t Terms) Plus(o Terms) Terms {
	return Terms{t.Action.Plus(o.Action), t.Goal.Plus(o.Goal), t.Kind.Plus(o.Kind)}
}

// learn leaves the gradient of what was loaded in p: of the mean, over total rows, of
// the action's cross-entropy and share times those of the goal and of the kind.
func (ws *Work) learn(p *nn.Params, share float32, total int) Terms {
	m, rows, w := ws.m, ws.Act.Rows(), ws.m.Width
	ws.forward(p)
	ws.Act.ZeroGrad()
	ws.Goal.ZeroGrad()
	all := nn.Rows{N: rows, Total: float64(total)}
	part := all
	part.Scale = share
	terms := Terms{Action: ws.act.CrossEntropy(ws.Act.DLogits, ws.target, nil, all),
		Goal: ws.class.CrossEntropy(ws.Goal.DLogits, ws.goals, nil, part)}
	ws.Act.Backward(p)
	ws.Goal.Backward(p)
	if m.History == "none" {
		return terms
	}
	clear(ws.dkind[:rows*len(m.Kinds)])
	terms.Kind = ws.kind.CrossEntropy(ws.dkind, ws.kinds, nil, part)
	m.kind.Backward(p, ws.dread, ws.dkind, ws.read, ws.Kind, rows)
	if m.Code > 0 {
		r := m.Code
		for i := range rows {
			ws.heads(ws.dread[i*r:(i+1)*r], i)
		}
		m.code.Backward(p, ws.dc, ws.dread, ws.ctx, ws.read, rows)
	}
	if len(ws.seqs) == 0 {
		return terms
	}
	clear(ws.dy)
	for i := range rows {
		if ws.at[i] < 0 {
			continue
		}
		d := ws.dy[int(ws.at[i])*w : (int(ws.at[i])+1)*w]
		if f32.Add(d, d, ws.dc[i*w:(i+1)*w]); m.Code == 0 {
			ws.heads(d, i)
		}
	}
	if m.History == "gru" {
		ws.backwardGRU(p)
		return terms
	}
	m.net.Backward(p, ws.net, ws.seqs)
	ws.unembed(p, ws.net.DX)
	return terms
}

// heads adds what the heads of action and goal want of what they read of row i.
func (ws *Work) heads(d []float32, i int) {
	at, n := i*ws.m.Act.GoalLen, len(d)
	f32.Add(d, d, ws.Act.DGoals[at:at+n])
	f32.Add(d, d, ws.Goal.DGoals[i*n:(i+1)*n])
}

// Predicted is what a model says of a row: distributions, views.
type Predicted struct{ Action, Goal, Kind nn.Probs }

// Each calls f for every row of the histories, in order within each, with what is
// predicted of it by who is not given the kind.
func (ws *Work) Each(p *nn.Params, l *Lives, part []int32, f func(row int, by Predicted)) {
	m := ws.m
	k, g, n := m.Actions, m.Goal.Actions, len(m.Kinds)
	const per = 16
	for lo := 0; lo < len(part); lo += per {
		some := part[lo:min(lo+per, len(part))]
		ws.load(l, some, nil)
		ws.forward(p)
		at := 0
		for _, i := range some {
			for row := l.Rows.Seqs[i].Lo; row < l.Rows.Seqs[i].Hi; row++ {
				f(int(row), Predicted{ws.act.P[at*k : (at+1)*k], ws.class.P[at*g : (at+1)*g], ws.kind.P[at*n : (at+1)*n]})
				at++
			}
		}
	}
}

// given draws, for each history, whether the action's head is given its kind: half of
// the time, so that it learns to do with it and without.
func (m *Model) given(dst []int32, l *Lives, part []int32, r *rng.Rand) {
	list := m.Given()
	for j, i := range part {
		dst[j] = -1
		for at, kind := range list {
			if kind == l.Kind[i] && r.IntN(2) == 0 {
				dst[j] = int32(at)
			}
		}
	}
}

// Learning says how a model is trained.
type Learning struct {
	LR     float64 `yaml:"lr" doc:"Adam's learning rate at the start; it falls along half a cosine to a tenth" range:"0<..1"`
	Batch  int     `yaml:"batch" doc:"steps of a gradient step, in whole histories" range:"1..1048576"`
	Clip   float64 `yaml:"clip" doc:"largest norm of a gradient; 0: any" range:"0..1e9"`
	Share  float64 `yaml:"share" doc:"weight of the goal's and of the kind's cross-entropy beside the action's" range:"0..100"`
	Shards int     `yaml:"shards" doc:"parts of a batch that may run side by side, part of the numbers; 0: one for every 128 rows" range:"0..64"`
}

// DefaultLearning returns the settings of docs/opponents.md.
func DefaultLearning() Learning {
	return Learning{LR: 2e-3, Batch: 2048, Clip: 1, Share: 0.25}
}

// Validate returns everything that is wrong, joined.
func (c Learning) Validate() error { return config.Check(c) }

// Learner is a model with weights and optimiser.
type Learner struct {
	*Model
	*model.Learner[*Work, Terms]
	cfg   Learning
	known []int32
}

// NewLearner prepares to train for a number of steps.
func NewLearner(m *Model, p *nn.Params, cfg Learning, steps int, key rng.Key) (*Learner, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	var works []*Work
	for range model.Shards(cfg.Shards, cfg.Batch) {
		works = append(works, m.Work())
	}
	l := model.NewLearner[*Work, Terms](p, cfg.LR, cfg.Clip, steps, key, works)
	return &Learner{Model: m, Learner: l, cfg: cfg}, nil
}

// Batches cuts histories, in their order, into batches of at least Batch rows each.
func (c Learning) Batches(l *Lives, order []int32) (list [][]int32) {
	lo, rows := 0, 0
	for i, s := range order {
		if rows += l.Steps(int(s)); rows >= c.Batch || i == len(order)-1 {
			list = append(list, order[lo:i+1])
			lo, rows = i+1, 0
		}
	}
	return list
}

// Step takes one gradient step on a batch of histories. r draws whose kind is given.
func (l *Learner) Step(lives *Lives, part []int32, r *rng.Rand) (Terms, error) {
	rows := 0
	for _, i := range part {
		rows += lives.Steps(int(i))
	}
	l.known = append(l.known[:0], part...)
	l.given(l.known, lives, part, r)
	return l.Learner.Step(len(part), func(s *nn.Shard[*Work]) Terms {
		s.Work.load(lives, part[s.Lo:s.Hi], l.known[s.Lo:s.Hi])
		return s.Work.learn(s.Params, float32(l.cfg.Share), rows)
	})
}

// Each is Work.Each with the current weights.
func (l *Learner) Each(lives *Lives, part []int32, f func(row int, by Predicted)) {
	l.Model.Work().Each(l.Params, lives, part, f)
}

// Lives are histories to learn from or to be scored on: one for each life, observer and
// modelled agent, or one for each of its episodes if nothing is remembered across them.
type Lives struct {
	Rows   *moa.Rows // the steps to predict; a sequence is a history
	Goal   []int32   // [rows] the goal reached in the end; the last class: none
	Kind   []int32   // [histories] of the population
	Before []int32   // [rows] tokens of its history before the row
	Tokens []nn.Span // [histories] where its tokens lie in X
	X      f32.Sparse

	m     *Model
	zeros []float32
}

// NewLives returns an empty set for models of this shape.
func (m *Model) NewLives() *Lives {
	l := &Lives{m: m, Rows: m.Act.NewRows(), zeros: make([]float32, m.Act.GoalLen)}
	l.X.Reset(m.cols())
	return l
}

// Begin starts a history with an agent of a kind.
func (l *Lives) Begin(kind int32) {
	l.Rows.Begin()
	l.Kind = append(l.Kind, kind)
	l.Tokens = append(l.Tokens, nn.Span{Off: l.X.Rows()})
}

// Add appends a step to predict and, if the observer saw what came of it, to read from
// then on. goal is the one that is reached in the end, or game.NoGoal. It reports
// whether the step was taken in.
func (l *Lives) Add(t Token, goal int32, seen bool) bool {
	n := len(l.Tokens) - 1
	if !l.Rows.Add(t.Obs, l.zeros, t.Action) {
		return false
	}
	if goal < 0 {
		goal = int32(len(l.m.Goals))
	}
	l.Goal, l.Before = append(l.Goal, goal), append(l.Before, int32(l.Tokens[n].Len))
	if seen {
		l.m.token(&l.X, &l.Rows.X, l.Rows.Len()-1, t)
		l.Tokens[n].Len++
	}
	return true
}

// Len returns the number of histories.
func (l *Lives) Len() int { return len(l.Kind) }

// Steps returns how many rows a history has.
func (l *Lives) Steps(i int) int { return int(l.Rows.Seqs[i].Hi - l.Rows.Seqs[i].Lo) }
