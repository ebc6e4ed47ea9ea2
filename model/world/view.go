package world

// View writes what the agent at offset s, ego-first, observes, from what agent 0
// observes: the agents' planes, what belongs to them, their features and the last
// joint action turned, all else equal.
// The mask is each agent's own and cannot be turned: legal is s's, nil for none.
// dst and obs must not overlap.
func (in Input) View(dst, obs []float32, s int, legal []bool) {
	n, c, k := in.Agents, in.Planes, in.Actions
	if len(dst) != in.Len() || len(obs) != in.Len() {
		panic("world: an observation has the wrong length")
	}
	for at := 0; at < in.board(); at += c {
		copy(dst[at:], obs[at+s:at+n])
		copy(dst[at+n-s:], obs[at:at+s])
		copy(dst[at+n:at+c], obs[at+n:])
		if in.Owned > 0 {
			copy(dst[at+n:], obs[at+n+s:at+2*n])
			copy(dst[at+2*n-s:], obs[at+n:at+n+s])
		}
	}
	if in.Features > 0 {
		feat, was := dst[in.board():in.legalAt()], obs[in.board():in.legalAt()]
		copy(feat, was[s:n])
		copy(feat[n-s:], was[:s])
		copy(feat[n:], was[n:])
	}
	for i := range in.Legal {
		dst[in.legalAt()+i] = 0
		if i < len(legal) && legal[i] {
			dst[in.legalAt()+i] = 1
		}
	}
	copy(dst[in.timeAt():in.lastAt()], obs[in.timeAt():])
	if in.Last > 0 {
		last, was := dst[in.lastAt():], obs[in.lastAt():]
		copy(last, was[s*k:n*k])
		copy(last[(n-s)*k:], was[:s*k])
	}
}

// write writes what agent s observes of a board after joint was played.
func (m *Model) write(dst []float32, b *board, joint []int32, s int, legal []bool) {
	n, c, k := m.Agents, m.Planes, m.Actions
	clear(dst)
	for i := range n {
		if cell := int(b.at[(s+i)%n]); cell >= 0 {
			dst[cell*c+i] = 1
		}
	}
	for cell, set := range b.thing {
		bitsOf(m.seen(set, s), func(e int) { dst[cell*c+n+e] = 1 })
	}
	for f, v := range b.feat {
		if f < n {
			v = b.feat[(s+f)%n]
		}
		dst[m.board()+f] = v
	}
	for i, ok := range legal[:min(len(legal), m.Legal)] {
		if ok {
			dst[m.legalAt()+i] = 1
		}
	}
	if m.Time > 0 {
		dst[m.timeAt()] = float32(b.t) / float32(m.Horizon)
	}
	for i := range m.Last {
		if a := joint[(s+i)%n]; a >= 0 {
			dst[m.lastAt()+i*k+int(a)] = 1
		}
	}
}
