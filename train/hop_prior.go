package train

import "hop/plan"

// hopPrior evaluates states for a search: by the agent's own network, by scripted
// rollouts, or by a response network, as Planning.Leaf says.
type hopPrior struct {
	own      *reader
	response *reader // nil: none
	scripts  Scripts // nil: none
	h        *HOP
	others   *hopOthers
	rolled   []float32 // [rows] values by scripts
	place    []int     // [decisions][others] ego-first place of each co-player
}

// reader asks a network about states, with what it is told about the goals that
// were drawn for the tree, by ego-first place, zero for those who have left.
type reader struct {
	plan.NetConfig
	Cache *plan.Cache // [A+1] logits and value, by state and goals
	width int         // numbers about one co-player; 0: it is told nothing
	tell  func(told []float32, tree int32, j int, name int32)

	obs  []float32
	goal []float32 // [others][width]
	miss []int32
	keys []uint64
}

func newReader(c plan.NetConfig, others, width int, tell func(told []float32, tree int32, j int, name int32)) *reader {
	return &reader{
		NetConfig: c, Cache: plan.NewCache(c.Log, c.Actions+1), width: width, tell: tell,
		obs: make([]float32, c.ObsLen), goal: make([]float32, others*width), miss: make([]int32, 0, c.Rows), keys: make([]uint64, c.Rows),
	}
}

func newHopPrior(c plan.NetConfig, h *HOP, envs int) *hopPrior {
	p := &hopPrior{h: h, place: make([]int, envs*len(h.others)), rolled: make([]float32, c.Rows)}
	width := 0
	if h.see > 0 {
		width = h.width
	}
	p.own = newReader(c, len(h.others), width, p.wish)
	if h.cfg.Leaf == "response" {
		c.Net = &actorNet{ws: h.models.Response.Work(c.Rows), params: h.models.Rates, scale: float32(h.models.RateScale), actions: c.Actions}
		p.response = newReader(c, len(h.others), len(h.cfg.Bots), p.kind)
	}
	return p
}

// wish tells what a tree's co-player was drawn to be after.
func (p *hopPrior) wish(told []float32, tree int32, j int, name int32) {
	if int(name) == p.h.random {
		told[p.h.width-1] = 1
	} else {
		copy(told, p.others.guess.drawn(tree, j, name))
	}
}

// kind tells which bot stands for that.
func (p *hopPrior) kind(told []float32, tree int32, j int, name int32) {
	told[p.bot(tree, j, name)] = 1
}

// bot returns the number of the bot that stands for what a tree's co-player is
// after.
func (p *hopPrior) bot(tree int32, j int, name int32) int32 {
	if int(name) == p.h.random {
		return int32(len(p.h.cfg.Bots) - 1)
	}
	return p.others.guess.bot(tree, j, name)
}

// Eval evaluates states as Planning.Leaf says. Logits are the response network's if there is
// one, else the own network's.
func (p *hopPrior) Eval(logits, value []float32, qs []plan.Query) {
	if p.response != nil {
		p.ask(p.response, logits, value, qs)
		return
	}
	if p.h.cfg.Scripted() {
		for i := range qs {
			p.cast(qs[i].Tree)
		}
		p.scripts.Eval(logits, p.rolled[:len(qs)], qs)
	}
	p.ask(p.own, logits, value, qs)
	switch p.h.cfg.Leaf {
	case "scripts":
		copy(value, p.rolled[:len(qs)])
	case "both":
		for i := range qs {
			value[i] = max(value[i], p.rolled[i])
		}
	}
}

// cast tells the scripts which bot stands for what a tree's co-players are after.
func (p *hopPrior) cast(tree int32) {
	bots := p.scripts.Of(tree)
	for j, name := range p.others.Of(tree) {
		bots[j] = p.bot(tree, j, name)
	}
}

// ask asks a network about states that are not in its cache.
func (p *hopPrior) ask(r *reader, logits, value []float32, qs []plan.Query) {
	k := r.Actions
	r.miss = r.miss[:0]
	for i := range qs {
		if qs[i].End && p.h.cfg.Leaf == "scripts" {
			continue // only the value is read, and that is the scripts'
		}
		r.keys[i] = p.read(r, &qs[i])
		if row := r.Cache.Find(r.keys[i]); row != nil {
			copy(logits[i*k:(i+1)*k], row)
			value[i] = row[k]
			continue
		}
		r.Observe(r.obs, qs[i].Tree, qs[i].Slot, 0)
		r.Add(r.obs, r.goal)
		r.miss = append(r.miss, int32(i))
	}
	if len(r.miss) == 0 {
		return
	}
	ls, vs := r.Run()
	for row, i := range r.miss {
		l := ls[row*k : (row+1)*k]
		copy(logits[int(i)*k:(int(i)+1)*k], l)
		value[i] = vs[row]
		if key := r.keys[i]; key != 0 {
			kept := r.Cache.Put(key)
			copy(kept, l)
			kept[k] = vs[row]
		}
	}
}

// read writes what a network is told about the goals of a query's tree, and
// returns the key of state and goals, 0 if the state has none.
func (p *hopPrior) read(r *reader, q *plan.Query) uint64 {
	key := q.Key
	if r.width == 0 {
		return key
	}
	clear(r.goal)
	n := len(p.h.others)
	env := int(q.Tree) / p.others.Trees
	for j, name := range p.others.Of(q.Tree) {
		if r.Legal(q.Tree, q.Slot, j+1) == 0 {
			continue
		}
		place := p.place[env*n+j]
		r.tell(r.goal[place*r.width:][:r.width], q.Tree, j, name)
		if r == p.response {
			name = p.bot(q.Tree, j, name)
		}
		key = (key ^ (uint64(place)<<32 | uint64(uint32(name)) + 1)) * 0x9e3779b97f4a7c15
		key ^= key >> 29
	}
	if q.Key == 0 {
		return 0
	}
	return key | 1
}

var _ plan.Prior = (*hopPrior)(nil)
