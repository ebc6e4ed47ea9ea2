package search

// drawOthers draws the co-players' actions for the steps that are wanted.
func (f *Forest) drawOthers() {
	f.qs, f.who = f.qs[:0], f.who[:0]
	for row := range f.want {
		leaf := &f.want[row]
		n := &f.nodes[leaf.From]
		l := &f.lane[f.owner[row]]
		if n.drawn && f.keepsAt(l.steps) {
			copy(f.acts[row*f.Others:(row+1)*f.Others], f.kept[int(leaf.From)*f.Others:])
			continue
		}
		f.qs = append(f.qs, Query{leaf.Tree, leaf.From, n.key, n.legal, l.steps, l.seed, false})
		f.who = append(f.who, int32(row))
		if f.common != nil {
			f.common[l.tree] = Common(l.seed, l.steps)
		}
	}
	if len(f.qs) == 0 {
		return
	}
	rs := f.rs
	if f.common != nil {
		rs = f.common
	}
	if len(f.qs) == len(f.want) {
		f.asked.Others.Draw(f.acts[:len(f.qs)*f.Others], f.qs, rs)
	} else {
		f.asked.Others.Draw(f.drawn[:len(f.qs)*f.Others], f.qs, rs)
		for i, row := range f.who {
			copy(f.acts[int(row)*f.Others:(int(row)+1)*f.Others], f.drawn[i*f.Others:])
		}
	}
	if !f.keepRoot {
		return
	}
	for i, row := range f.who {
		if slot := f.qs[i].Slot; f.keepsAt(f.qs[i].Depth) {
			copy(f.kept[int(slot)*f.Others:(int(slot)+1)*f.Others], f.acts[int(row)*f.Others:])
			f.nodes[slot].drawn = true
		}
	}
}

// keepsAt reports whether the joint action of a node at a depth is drawn once and
// kept.
func (f *Forest) keepsAt(depth int32) bool { return f.keepAll || f.keepRoot && depth == 0 }
