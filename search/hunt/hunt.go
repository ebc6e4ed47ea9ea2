// Package hunt is the stag hunt's rules once more, made for search: a state of 48 bytes, tables
// shared by all states of an episode, and futures of co-players that rollouts share. The game's
// registry entry names them; tests hold them to package staghunt's.
package hunt

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/game/staghunt"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
	"github.com/hop-marl/hop/search/truth"
)

// The policies that hunt knows. A script for one stag is oneStag plus its number.
const (
	random = iota
	ns
	nh
	deadline
	oneStag
)

var policies = map[string]int{"random": random, "ns": ns, "nh": nh, "deadline": deadline}

// gone is the cell of who has left, none an action not taken.
const (
	gone = 1<<16 - 1
	none = 1<<8 - 1
)

// position is a position, by place.
type position struct {
	cell     [8]uint16
	last     [8]uint8 // 255: none
	left     uint64   // bit p: prey p is on the map; stags first
	prey     uint64   // of the key: the sum of what is left
	t, first int16
	over     bool
}

// decision is what all states of a decision share.
type decision struct {
	seats     []game.Seat
	place     []int8      // [seats]
	ego       [8][8]uint8 // [place][i] the place i seats on from a place's own
	weight    [8]float64
	root      position
	salt      uint64
	board     *grid.Board
	preyAt    []int8
	prey      []int16
	code      []uint64 // [prey] its part of the key, whatever its number is here
	dist      [][]int16
	reach     int    // no path to a prey is longer
	stag      []bool // [cells] a stag is or was there
	distances [64]distances
	known     bool
	looked    uint64 // names the position read last
}

// Fast is what search plays in place of the stag hunt's own rules. A script may also be "stag",
// which stands for one script a stag that goes to that stag until a hare must be taken.
type Fast struct{}

// Fits reports whether whole boards are seen, and a position has room for all seats.
func (Fast) Fits(g game.Game) bool {
	s := g.Spec()
	return s.View == 0 && s.Seats <= len(position{}.cell)
}

// Model returns the rules for one goroutine.
func (Fast) Model(g game.Game, c truth.For) (truth.Model, error) {
	own, ok := game.As[*staghunt.Game](g)
	if !ok {
		return truth.Model{}, fmt.Errorf("%s is no stag hunt", g.Spec().Name)
	}
	h, err := newHunt(own, c)
	return truth.Model{Rules: h, Views: h, Scripted: h}, err
}

// Bot returns the bot that a script is. With one stag, going there until a hare must be taken
// is what the game calls deadline.
func (Fast) Bot(g game.Game, script string) string {
	if own, ok := game.As[*staghunt.Game](g); ok && script == "stag" && own.Config().Stags == 1 {
		return "deadline"
	}
	return script
}

// DrawsForGone says that a number is drawn for each co-player, needed or not.
func (Fast) DrawsForGone() bool { return true }

var _ truth.Fast = Fast{}

// hunt is a truth.Model.
type hunt struct {
	c      staghunt.Config
	obs    game.Layout
	n      int
	stags  uint64
	model  []int
	script []int
	slots  []position
	envs   []decision
	seats  []game.Seat
	things []string
	seen   []float32
	ones   f32.Sparse // where seen is not 0
	joint  [8]int32
	looks  uint64    // positions read so far
	traces []trace   // by Roll.Future
	weight []float32 // [steps] the discount's powers
	alike  bool      // as truth.For has it
}

func newHunt(g *staghunt.Game, to truth.For) (*hunt, error) {
	c := g.Config()
	h := &hunt{c: c, obs: g.Spec().Obs, n: c.Agents, stags: 1<<c.Stags - 1, envs: make([]decision, to.Envs), alike: to.Alike}
	h.seen, h.seats, h.things = make([]float32, h.obs.Len()), make([]game.Seat, 0, c.Agents), make([]string, 0, 1)
	h.ones.Reset(h.obs.Len())
	h.ones.AppendNonzeros(slices.Repeat([]float32{1}, h.obs.Len()), 0) // so that it need not grow
	for _, name := range to.Models {
		k, ok := policies[name]
		if !ok {
			return nil, fmt.Errorf("there is no model %q of a stag hunter; there are deadline, nh, ns and random", name)
		}
		h.model = append(h.model, k)
	}
	for _, name := range to.Scripts {
		if name == "stag" {
			for p := range c.Stags {
				h.script = append(h.script, oneStag+p)
			}
			continue
		}
		k, ok := policies[name]
		if !ok {
			return nil, fmt.Errorf("there is no script %q for a stag hunter; there are deadline, nh, ns, random and stag", name)
		}
		h.script = append(h.script, k)
	}
	cells := c.Size * c.Size
	for e := range h.envs {
		v := &h.envs[e]
		v.seats, v.place = make([]game.Seat, c.Agents), make([]int8, c.Agents)
		v.board, v.preyAt, v.prey = grid.New(c.Size, c.Size), make([]int8, cells), make([]int16, c.Stags+c.Hares)
		v.code, v.stag = make([]uint64, c.Stags+c.Hares), make([]bool, cells)
		for range v.prey {
			v.dist = append(v.dist, make([]int16, cells))
		}
		for i := range v.distances {
			v.distances[i].to, v.distances[i].aim = make([]uint32, cells), make([]uint64, cells)
		}
	}
	return h, nil
}

func (h *hunt) Size(slots int) {
	if len(h.slots) < slots {
		h.slots = make([]position, slots)
	}
}

func (h *hunt) Scripts() int { return len(h.script) }

// set reads the position off the game's state.
func (h *hunt) Set(env int, st game.State, seats []game.Seat) {
	v, s := &h.envs[env], st.(*staghunt.State)
	h.looks++
	v.looked = h.looks
	for place, seat := range seats {
		v.seats[place], v.place[seat] = seat, int8(place)
		v.weight[place] = 1
		if len(h.c.Strength) > 0 {
			v.weight[place] = h.c.Strength[seat]
		}
	}
	for place, seat := range seats {
		for i := range h.n {
			v.ego[place][i] = uint8(v.place[(int(seat)+i)%h.n])
		}
	}
	s.Observe(v.seats[0], h.seen)
	if !v.known || !h.look(v) {
		h.learn(v, s)
		h.look(v)
	}
	r := &v.root
	r.t, r.first, r.over = int16(s.Time()), 0, st.Over()
	for seat := range h.n {
		if s.Caught(game.Seat(seat)) != game.NoGoal && h.c.EndAfter > 0 {
			text, err := s.AppendText(nil)
			if err == nil {
				fmt.Sscanf(string(text), "t=%d first=%d", &r.t, &r.first)
			}
			break
		}
	}
	last := h.seen[h.obs.LastAt():]
	for i := range h.n {
		place := v.place[(int(v.seats[0])+i)%h.n]
		r.last[place] = none
		for k := range h.obs.Legal {
			if last[i*h.obs.Legal+k] != 0 {
				r.last[place] = uint8(k)
			}
		}
	}
	v.salt = 1
	for _, c := range v.board.Blocks {
		v.salt = fold(v.salt, uint64(c))
	}
	for _, seat := range seats {
		v.salt = fold(v.salt, uint64(seat))
	}
}

func fold(h, x uint64) uint64 {
	h = (h ^ x) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

// look reads who and what is where off what place 0 sees, and reports whether
// blocks and prey are those that are known.
func (h *hunt) look(v *decision) bool {
	for i := range v.root.cell {
		v.root.cell[i] = gone
	}
	v.root.left, v.root.prey = 0, 0
	h.ones.Reset(h.obs.PlanesLen())
	h.ones.AppendNonzeros(h.seen[:h.obs.PlanesLen()], 0)
	planes, blocks := int32(h.n+3), 0
	for _, i := range h.ones.Idx {
		c := i / planes
		switch plane := int(i - c*planes); {
		case plane < h.n:
			v.root.cell[v.ego[0][plane]] = uint16(c)
		case plane == h.n:
			if !v.board.Blocked[c] {
				return false
			}
			blocks++
		default:
			p := v.preyAt[c]
			if p < 0 || (int(p) < h.c.Stags) != (plane == h.n+1) {
				return false
			}
			v.root.left |= 1 << p
			v.root.prey += v.code[p]
		}
	}
	return blocks == len(v.board.Blocks)
}

// learn takes blocks and prey from the board.
func (h *hunt) learn(v *decision, s *staghunt.State) {
	v.known = true
	for p := range v.prey {
		v.prey[p] = grid.None
	}
	for i := range v.distances {
		v.distances[i].set = noSet
	}
	next := [2]int{0, h.c.Stags}
	for c := range v.preyAt {
		v.preyAt[c], v.board.Blocked[c], v.stag[c] = -1, false, false
		h.seats, h.things = s.Cell(c/h.c.Size, c%h.c.Size, h.seats[:0], h.things[:0])
		if len(h.things) == 0 {
			continue
		}
		kind := 0
		switch h.things[0] {
		case "block":
			v.board.Blocked[c] = true
			continue
		case "hare":
			kind = 1
		}
		v.prey[next[kind]], v.preyAt[c], v.stag[c] = int16(c), int8(next[kind]), kind == 0
		v.code[next[kind]] = fold(uint64(kind)<<20+1, uint64(c))
		next[kind]++
	}
	v.board.Link()
	v.reach = 0
	for p, c := range v.prey {
		if c == grid.None {
			continue
		}
		v.board.Distances(v.dist[p], c)
		for _, d := range v.dist[p] {
			if d < grid.Far {
				v.reach = max(v.reach, int(d))
			}
		}
	}
}

func (h *hunt) Root(env int, slot int32) (uint32, uint64) {
	v := &h.envs[env]
	h.slots[slot] = v.root
	return h.mask(v, &v.root, 0), h.key(v, &v.root)
}

func (h *hunt) key(v *decision, s *position) uint64 {
	c := &s.cell
	k := fold(v.salt, uint64(c[0])|uint64(c[1])<<16|uint64(c[2])<<32|uint64(c[3])<<48)
	if h.n > 4 {
		k = fold(k, uint64(c[4])|uint64(c[5])<<16|uint64(c[6])<<32|uint64(c[7])<<48)
	}
	k = fold(k, uint64(s.t)+s.prey)
	if h.c.EndAfter > 0 {
		k = fold(k, uint64(s.first))
	}
	if !h.alike {
		k = fold(k, binary.LittleEndian.Uint64(s.last[:]))
	}
	return k | 1
}

func (h *hunt) Legal(env int, slot int32, place int) uint32 {
	return h.mask(&h.envs[env], &h.slots[slot], place)
}

// mask returns a bit for each legal action of a place.
func (h *hunt) mask(v *decision, s *position, place int) uint32 {
	c := s.cell[place]
	if c == gone || s.over {
		return 0
	}
	set := uint32(v.board.Moves[c]) | 1<<grid.Stay
	if p := v.preyAt[c]; p >= 0 && s.left>>p&1 != 0 {
		if int(p) >= h.c.Stags {
			set |= 1 << staghunt.HuntHare
		} else if s.crowd(c) {
			set |= 1 << staghunt.HuntStag
		}
	}
	return set
}

// crowd reports whether at least two stand on a cell.
func (s *position) crowd(c uint16) bool {
	all := s.on(c)
	return all&(all-1) != 0
}

// on returns a bit, every sixteenth, for each of the first four places that stands
// on a cell, and for the others the bits after those.
func (s *position) on(c uint16) uint64 {
	p := &s.cell
	const one = 1 | 1<<16 | 1<<32 | 1<<48
	lo := uint64(p[0]) | uint64(p[1])<<16 | uint64(p[2])<<32 | uint64(p[3])<<48
	hi := uint64(p[4]) | uint64(p[5])<<16 | uint64(p[6])<<32 | uint64(p[7])<<48
	return zeros(lo^one*uint64(c)) | zeros(hi^one*uint64(c))<<1
}

// zeros returns the lowest bit of each quarter of x that is 0.
func zeros(x uint64) uint64 {
	const rest = 0x7fff7fff7fff7fff
	return ^((x&rest + rest) | x | rest) >> 15
}

func (h *hunt) Expand(leaves []search.Leaf, others, envs []int32, _ []rng.Rand) {
	n := h.n - 1
	for i := range leaves {
		l := &leaves[i]
		h.joint[0] = l.Action
		copy(h.joint[1:], others[i*n:(i+1)*n])
		l.Reward, l.Over, l.Legal, l.Key = h.step(int(envs[l.Tree]), l.From, l.To, h.joint[:h.n])
	}
}

// step plays a joint action by place from slot to slot.
func (h *hunt) step(env int, from, to int32, actions []int32) (float32, bool, uint32, uint64) {
	v, s := &h.envs[env], &h.slots[to]
	*s = h.slots[from]
	for i, a := range actions {
		s.last[i] = uint8(a)
	}
	reward := h.advance(v, s, actions)
	if s.over || s.cell[0] == gone {
		return reward, true, 0, 0
	}
	return reward, false, h.mask(v, s, 0), h.key(v, s)
}

// advance plays a joint action by place and returns place 0's reward.
func (h *hunt) advance(v *decision, s *position, actions []int32) float32 {
	s.t++
	hunts := false
	for i, a := range actions {
		if a >= 0 && a < grid.Stay {
			s.cell[i] = uint16(v.board.Next[s.cell[i]][a])
		}
		hunts = hunts || a > grid.Stay
	}
	reward := float32(0)
	if hunts {
		reward = h.resolve(v, s, actions)
	}
	s.over = int(s.t) >= h.end(s)
	return reward
}

// end returns the time at which the episode ends.
func (h *hunt) end(s *position) int {
	if h.c.EndAfter > 0 && s.first > 0 {
		return min(h.c.Horizon, int(s.first)+h.c.EndAfter)
	}
	return h.c.Horizon
}

// resolve lets successful hunters and their prey leave.
func (h *hunt) resolve(v *decision, s *position, actions []int32) float32 {
	reward, at := float32(0), s.cell
	for i, a := range actions {
		if a <= grid.Stay {
			continue
		}
		hunters, total := 0, 0.
		for j, b := range actions {
			if b == a && at[j] == at[i] {
				hunters++
				total += v.share(j, a)
			}
		}
		if a == staghunt.HuntStag && hunters < 2 {
			continue
		}
		if p := v.preyAt[at[i]]; s.left>>p&1 != 0 {
			s.left &^= 1 << p
			s.prey -= v.code[p]
		}
		s.cell[i] = gone
		if s.first == 0 {
			s.first = s.t
		}
		if i == 0 {
			pays := h.c.HarePays
			if a == staghunt.HuntStag {
				pays = h.c.StagPays
			}
			reward = float32(pays * v.share(0, a) / total)
		}
	}
	return reward
}

// share is a place's weight when a prey is split: strength at a stag, equal at
// a hare.
func (v *decision) share(place int, action int32) float64 {
	if action == staghunt.HuntStag {
		return v.weight[place]
	}
	return 1
}

// observe writes what a place sees; it keeps to the layout that game.Layout has.
func (h *hunt) Observe(dst []float32, env int, slot int32, place int) {
	v, s := &h.envs[env], &h.slots[slot]
	clear(dst)
	planes := h.n + 3
	legal := dst[h.obs.LegalAt():]
	last := dst[h.obs.LastAt():]
	for i := range h.n {
		p := v.ego[place][i]
		if c := s.cell[p]; c != gone {
			dst[int(c)*planes+i] = 1
		}
		if a := s.last[p]; a != none && h.obs.Last > 0 {
			last[i*h.obs.Legal+int(a)] = 1
		}
	}
	for _, c := range v.board.Blocks {
		dst[int(c)*planes+h.n] = 1
	}
	for left := s.left; left != 0; left &= left - 1 {
		p, plane := bits.TrailingZeros64(left), h.n+1
		if p >= h.c.Stags {
			plane++
		}
		dst[int(v.prey[p])*planes+plane] = 1
	}
	if h.obs.Legal > 0 {
		for set := h.mask(v, s, place); set != 0; set &= set - 1 {
			legal[bits.TrailingZeros32(set)] = 1
		}
	}
	if h.obs.Time > 0 {
		dst[h.obs.TimeAt()] = float32(s.t) / float32(h.c.Horizon)
	}
}
