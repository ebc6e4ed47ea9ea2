package search

// mix spreads a key's bits and keeps it from being 0.
func mix(k uint64) uint64 {
	k ^= k >> 32
	k *= 0xd6e8feb86659fd93
	k ^= k >> 32
	return k | 1
}

// edgeKey names a step: where from, one's own action, and the others'.
func (f *Forest) edgeKey(leaf *Leaf, row int) uint64 {
	k := (uint64(leaf.From)<<8 | uint64(leaf.Action)) * 0x9e3779b97f4a7c15 // spread, or one's own action cancels another's
	k ^= k >> 29
	for _, a := range f.acts[row*f.Others : (row+1)*f.Others] {
		k = (k ^ uint64(uint32(a+1))) * 0x9e3779b97f4a7c15
		k ^= k >> 29
	}
	return mix(k) &^ 1 // states have odd keys
}

// find returns the entry of a key in a lane's table, or nil.
func (f *Forest) find(i int, key uint64) *entry {
	size := len(f.table) / f.group
	table := f.table[i*size : (i+1)*size]
	for at := int(key>>32) & (size - 1); ; at = (at + 1) & (size - 1) {
		e := &table[at]
		if e.gen != f.gen {
			return nil
		}
		if e.key == key {
			return e
		}
	}
}

// insert adds an entry. Once the table is half full, steps are not added any
// more and will be played again; states always find room.
func (f *Forest) insert(i int, key uint64, slot int32, prize float32) {
	size := len(f.table) / f.group
	if l := &f.lane[i]; key&1 == 1 || int(l.stored) < size/2 {
		l.stored++
	} else {
		return
	}
	table := f.table[i*size : (i+1)*size]
	at := int(key>>32) & (size - 1)
	for table[at].gen == f.gen {
		at = (at + 1) & (size - 1)
	}
	table[at] = entry{key, f.gen, slot, prize}
}

// follow moves cursors along steps that were played before, and keeps in f.want
// those that were not.
func (f *Forest) follow() {
	kept := 0
	for row := range f.want {
		leaf := f.want[row]
		i := int(f.owner[row])
		l := &f.lane[i]
		e := f.find(i, f.edgeKey(&leaf, row))
		if e == nil {
			if kept != row {
				f.want[kept], f.owner[kept] = leaf, f.owner[row]
				copy(f.acts[kept*f.Others:(kept+1)*f.Others], f.acts[row*f.Others:(row+1)*f.Others])
			}
			kept++
			continue
		}
		f.walk(i, l, leaf.From, leaf.Action, e.prize, e.slot)
		if f.nodes[e.slot].over {
			f.backup(i, l, 0)
		}
	}
	f.want, f.owner = f.want[:kept], f.owner[:kept]
	f.lap(&f.Spent.Select)
}

// addState is addNode where equal states are one node.
func (f *Forest) addState(i, row int, leaf *Leaf) {
	l := &f.lane[i]
	if leaf.Over {
		leaf.Key = 1 // one node stands for every end
	}
	known := f.find(i, mix(leaf.Key))
	if known == nil {
		f.insert(i, f.edgeKey(leaf, row), leaf.To, leaf.Reward)
		f.insert(i, mix(leaf.Key), leaf.To, 0)
		f.addNode(i, leaf)
		return
	}
	f.insert(i, f.edgeKey(leaf, row), known.slot, leaf.Reward)
	f.walk(i, l, leaf.From, leaf.Action, leaf.Reward, known.slot)
	if leaf.Over {
		f.backup(i, l, 0)
	}
}
