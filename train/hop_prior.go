package train

import "hop/plan"

// hopPrior is the agent's own network as a search's prior. It is told the goals
// that were drawn for the tree, by ego-first place, zero for those who have left.
type hopPrior struct {
	plan.NetConfig
	Cache   *plan.Cache // [A+1] logits and value, by state and goals
	h       *HOP
	others  *hopOthers
	scripts Scripts   // nil: none
	rolled  []float32 // [rows] values by scripts
	place   []int     // [decisions][others] ego-first place of each co-player
	obs     []float32
	goal    []float32
	miss    []int32
	keys    []uint64
}

func newHopPrior(c plan.NetConfig, h *HOP, envs int) *hopPrior {
	return &hopPrior{
		NetConfig: c, Cache: plan.NewCache(c.Log, c.Actions+1), h: h, place: make([]int, envs*len(h.others)),
		obs: make([]float32, c.ObsLen), goal: make([]float32, h.see), miss: make([]int32, 0, c.Rows), keys: make([]uint64, c.Rows),
		rolled: make([]float32, c.Rows),
	}
}

// Eval judges states as Planning.Leaf says. Logits are the network's.
func (p *hopPrior) Eval(logits, value []float32, qs []plan.Query) {
	if p.h.cfg.Leaf != "net" {
		for i := range qs {
			p.cast(qs[i].Tree)
		}
		p.scripts.Eval(logits, p.rolled[:len(qs)], qs)
	}
	p.ask(logits, value, qs)
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
		if int(name) == p.h.random {
			bots[j] = int32(len(p.h.cfg.Bots) - 1)
		} else {
			bots[j] = p.others.guess.bot(tree, j, name)
		}
	}
}

// ask asks the network about states that are not in the cache.
func (p *hopPrior) ask(logits, value []float32, qs []plan.Query) {
	k := p.Actions
	p.miss = p.miss[:0]
	for i := range qs {
		if qs[i].End && p.h.cfg.Leaf == "scripts" {
			continue // only the value is read, and that is the scripts'
		}
		p.keys[i] = p.read(&qs[i])
		if row := p.Cache.Find(p.keys[i]); row != nil {
			copy(logits[i*k:(i+1)*k], row)
			value[i] = row[k]
			continue
		}
		p.Observe(p.obs, qs[i].Tree, qs[i].Slot, 0)
		p.Add(p.obs, p.goal)
		p.miss = append(p.miss, int32(i))
	}
	if len(p.miss) == 0 {
		return
	}
	ls, vs := p.Run()
	for row, i := range p.miss {
		l := ls[row*k : (row+1)*k]
		copy(logits[int(i)*k:(int(i)+1)*k], l)
		value[i] = vs[row]
		if key := p.keys[i]; key != 0 {
			kept := p.Cache.Put(key)
			copy(kept, l)
			kept[k] = vs[row]
		}
	}
}

// read writes what the network is told about the goals of a query's tree, and
// returns the key of state and goals, 0 if the state has none.
func (p *hopPrior) read(q *plan.Query) uint64 {
	key := q.Key
	if p.h.see == 0 {
		return key
	}
	clear(p.goal)
	n := len(p.h.others)
	env := int(q.Tree) / p.others.Trees
	for j, name := range p.others.Of(q.Tree) {
		if p.Legal(q.Tree, q.Slot, j+1) == 0 {
			continue
		}
		place := p.place[env*n+j]
		told := p.goal[place*p.h.width:][:p.h.width]
		if int(name) == p.h.random {
			told[p.h.width-1] = 1
		} else {
			copy(told, p.others.guess.drawn(q.Tree, j, name))
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
