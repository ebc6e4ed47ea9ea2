// Package world is a learnt model of a game's rules on a board: from what one
// agent observes and what all agents do, it predicts what everyone observes
// next, each agent's reward, who has left, whether the episode is over, and
// everyone's next legal actions.
//
// The rules of such games are local, so the networks are too: each looks at the
// three by three cells around a place and is shared by all places. Things (prey,
// blocks) are predicted first, then agents and rewards given what became of the
// things, then the end given the next board. All of it is classified, never
// regressed, so a prediction is a state. docs/world.md lists what is built in and
// what is learnt.
//
// It sees arrays, never games. A Model is layers; weights are in nn.Params and
// memory in a Work, one for each goroutine. Agents are numbered ego-first.
package world

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/runlog"
)

// The variants.
const (
	Heads  = "heads"  // a distribution for everything
	Planes = "planes" // the plane regression of the users' notes
)

// The faults that can be planted.
const (
	NoFault   = "none"
	SeatOrder = "seat_order" // joint actions in seat order: the caller's doing, named here for the spec
	NoEnd     = "no_end"     // nobody leaves, nothing ends, every action is always legal
	MeanPool  = "mean_pool"  // of the co-players' actions only their mean is known
)

// Config chooses the networks.
type Config struct {
	Variant string    `yaml:"variant" doc:"heads: a distribution for everything; planes: regression of all planes, the notes' baseline" oneof:"heads|planes"`
	Hidden  []int     `yaml:"hidden" doc:"widths of the layers at each place (heads)" range:"1..1024"`
	Dense   []int     `yaml:"dense" doc:"widths of the layers over the whole board (planes)" range:"1..4096"`
	Weights []float64 `yaml:"weights" doc:"one factor a plane for its part of the loss, such as 2,2,2,2,1,1,1; empty: 1 each" range:"0.."`
	Apart   bool      `yaml:"apart,omitempty" json:",omitempty" doc:"what appears by chance is drawn cell by cell, each by itself, and nobody jumps"`
	Fault   string    `yaml:"-"` // a mistake planted on purpose, to see which events break: NoFault, SeatOrder, NoEnd, MeanPool
}

// Default returns the heads variant.
func Default() Config {
	return Config{Variant: Heads, Hidden: []int{64, 64}, Dense: []int{256, 256}, Fault: NoFault}
}

// Validate returns everything that is wrong, joined.
func (c Config) Validate() error {
	errs := []error{config.Check(c), model.CheckLayers("hidden", c.Hidden), model.CheckLayers("dense", c.Dense)}
	if len(c.Hidden) == 0 {
		errs = append(errs, config.Bad("hidden", c.Hidden, "at least one layer"))
	}
	if len(c.Dense) == 0 {
		errs = append(errs, config.Bad("dense", c.Dense, "at least one layer"))
	}
	if faults := []string{NoFault, SeatOrder, NoEnd, MeanPool}; !slices.Contains(faults, c.Fault) {
		errs = append(errs, config.Bad("fault", c.Fault, "one of "+strings.Join(faults, ", ")))
	}
	return errors.Join(errs...)
}

// Input says in numbers what an observation holds: planes
// [Height][Width][Planes], of which the first Agents show one agent each,
// ego-first, then the features, the mask, the time and the last joint action
// where the game observes them. With Owned, the planes after the agents' are one
// for each agent too, ego-first: what belongs to it. The first Agents features are one for each agent,
// ego-first, and never change; the others are the same for everyone, and each
// stays as it is or becomes 0.
type Input struct {
	Height  int `yaml:"height"`
	Width   int `yaml:"width"`
	Planes  int `yaml:"planes"`
	Agents  int `yaml:"agents"`
	Actions int `yaml:"actions"`
	Horizon int `yaml:"horizon"` // an episode has at most this many steps
	Legal   int `yaml:"legal"`   // Actions, or 0 if the mask is not observed
	Time    int `yaml:"time"`    // 1, or 0 if the time is not observed
	Last    int `yaml:"last"`    // Agents, or 0 if the last joint action is not observed

	Rewards []float32 `yaml:"rewards"` // every reward there is, ascending

	Owned    int       `yaml:"owned,omitempty" json:",omitempty"`    // Agents, or 0 if no planes but the agents' are by agent
	Features int       `yaml:"features,omitempty" json:",omitempty"` // numbers observed besides the planes: none, or at least Agents
	Values   []float32 `yaml:"values,omitempty" json:",omitempty"`   // every value of a feature there is, ascending
	Zeroes   []int     `yaml:"zeroes,omitempty" json:",omitempty"`   // features that may become 0 in a step; the others stay
	Appear   []int     `yaml:"appear,omitempty" json:",omitempty"`   // kinds of things that come to lie where they did not lie, ascending
	Still    []int     `yaml:"still,omitempty" json:",omitempty"`    // kinds of things that never change, where others appear or jump
	Jumps    bool      `yaml:"jumps,omitempty" json:",omitempty"`    // agents may be put further than one cell away
}

// MaxRewards bounds how many different rewards a game may pay in a step, and
// MaxValues how many different numbers its features may be.
const (
	MaxRewards = 64
	MaxValues  = 64
)

// Validate returns everything that is wrong, joined.
func (in Input) Validate() error {
	var errs []error
	bad := func(name string, value any, want string) { errs = append(errs, config.Bad(name, value, want)) }
	switch {
	case in.Height < 1 || in.Width < 1 || in.Planes < 1:
		bad("planes", []int{in.Height, in.Width, in.Planes}, "a board: the model reads games with planes")
	case in.Agents < 1 || in.Agents > in.Planes || in.Agents > 16:
		bad("agents", in.Agents, "1 to 16, with a plane each")
	case in.Owned != 0 && (in.Owned != in.Agents || in.things() < in.Owned):
		bad("owned", in.Owned, fmt.Sprintf("0, or %d with as many planes after the agents'", in.Agents))
	case in.Planes-in.Agents > 30:
		bad("planes", in.Planes, "at most 30 after the agents'")
	}
	if in.Actions < 1 || in.Actions > 16 {
		bad("actions", in.Actions, "1 to 16")
	}
	if in.Horizon < 1 || in.Horizon > 1<<20 {
		bad("horizon", in.Horizon, "1 to 1048576")
	}
	if err := (frame.Input{Height: in.Height, Width: in.Width, Planes: in.Planes}).Validate(); len(errs) == 0 && err != nil {
		errs = append(errs, err)
	}
	if in.Legal != 0 && in.Legal != in.Actions || in.Time != 0 && in.Time != 1 || in.Last != 0 && in.Last != in.Agents {
		bad("legal, time and last", []int{in.Legal, in.Time, in.Last}, fmt.Sprintf("each 0, or %d, 1 and %d", in.Actions, in.Agents))
	}
	if n := len(in.Rewards); n < 1 || n > MaxRewards {
		bad("rewards", n, fmt.Sprintf("1 to %d different values: the model classifies rewards", MaxRewards))
	}
	if n, f := len(in.Values), in.Features; f != 0 && (f < in.Agents || f > 64) || (n > 0) != (f > 0) || n > MaxValues {
		bad("features and their values", []int{f, n}, fmt.Sprintf("none, or one feature for each agent, at most 64 in all, and "+
			"1 to %d different values: the model classifies them", MaxValues))
	}
	if slices.ContainsFunc(in.Zeroes, func(f int) bool { return f < in.Agents || f >= in.Features }) {
		bad("zeroes", in.Zeroes, "features after the agents', which never change")
	}
	if slices.ContainsFunc(in.Appear, func(e int) bool { return e < 0 || e >= in.things() }) || !slices.IsSorted(in.Appear) {
		bad("appear", in.Appear, "kinds of things, ascending: planes after the agents'")
	}
	if slices.ContainsFunc(in.Still, func(e int) bool { return e < 0 || e >= in.things() || slices.Contains(in.Appear, e) }) {
		bad("still", in.Still, "kinds of things that do not appear")
	}
	return errors.Join(errs...)
}

// Len returns the length of an observation.
func (in Input) Len() int { return in.lastAt() + in.Last*in.Actions }

func (in Input) cells() int   { return in.Height * in.Width }
func (in Input) board() int   { return in.cells() * in.Planes }
func (in *Input) things() int { return in.Planes - in.Agents }
func (in Input) legalAt() int { return in.board() + in.Features }
func (in Input) timeAt() int  { return in.legalAt() + in.Legal }
func (in Input) lastAt() int  { return in.timeAt() + in.Time }
func (in Input) common() int  { return max(in.Features-in.Agents, 0) } // features that are the same for everyone

// Level returns the number of the reward nearest to v.
func (in Input) Level(v float32) int32 { return nearest(in.Rewards, v) }

func nearest(levels []float32, v float32) int32 {
	best := 0
	for i, r := range levels {
		if abs(r-v) < abs(levels[best]-v) {
			best = i
		}
	}
	return int32(best)
}

func abs(x float32) float32 { return max(x, -x) }

// Model is the networks' layers. The weights are elsewhere: see New.
type Model struct {
	Input
	Config

	base, site int // columns of one place without and with actions
	cell       net // [places] -> a bit a thing
	agent      net // [agents] -> where it goes
	reward     nn.Dense
	feature    net // [rows] -> a bit for each feature that may become 0
	over       net // [rows] -> whether the episode is over
	legal      net // [agents] -> a bit an action
	dense      net // variant planes

	// What the rules draw, where they do: see draw.go.
	jump nn.Dense // [agents] whether it is put elsewhere
	land net      // [places] how likely it is put there
	many net      // [rows] whether one thing of a kind is put somewhere
	spot net      // [places] whether one lies there, and how likely it is put there
	draw uint32   // bit e: kind e is drawn with the others of its kind
	hold uint32   // bit e: kind e stays as it is
}

// net is layers over sparse rows with a head.
type net struct {
	cols  int
	trunk nn.MLP
	head  nn.Dense
}

// reach is how many places around a cell are seen, and moves there are.
const reach = 9

// gone is the class of agents that leave, after the reach moves.
const gone = reach

// vanishCap bounds what is counted of the things of one kind that vanish.
const vanishCap = 4

// New returns the model and its weights, drawn from key.
func New(c Config, in Input, key rng.Key) (*Model, *nn.Params, error) {
	return model.New(c, in, key, Layers)
}

// Layers returns the model and its weights, for which there is no memory yet: it takes
// little, however large they are.
func Layers(c Config, in Input) (*Model, *nn.Params, error) {
	errs := []error{c.Validate(), in.Validate()}
	if n := len(c.Weights); n != 0 && n != in.Planes {
		errs = append(errs, config.Bad("weights", c.Weights, fmt.Sprintf("one factor for each of the %d planes, or none", in.Planes)))
	}
	if in.Features > 0 && c.Variant == Planes {
		errs = append(errs, config.Bad("variant", c.Variant, Heads+", because the game observes numbers besides its planes"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	m := &Model{Input: in, Config: c}
	n, k, e := in.Agents, in.Actions, in.things()
	m.base = e + 1 + n
	m.site = m.base + k*n
	for _, e := range in.Still {
		m.hold |= 1 << e
	}
	p := &nn.Params{}
	add := func(name string, hidden []int, cols, out int) net {
		trunk := p.MLP(name, nn.ReLU, append([]int{cols}, hidden...)...)
		return net{cols, trunk, p.Dense(name+"/head", hidden[len(hidden)-1], out, nn.None, nn.Orthogonal(0.1))}
	}
	m.legal = add("legal", c.Hidden, reach*m.base+e*n, k)
	switch c.Variant {
	case Planes:
		m.dense = add("dense", c.Dense, in.board()+n*k+1, in.board()+n+1)
	default:
		m.cell = add("things", c.Hidden, m.placeCols(), max(e, 1))
		m.agent = add("move", c.Hidden, m.agentCols(), reach+1)
		m.reward = p.Dense("reward", c.Hidden[len(c.Hidden)-1], len(in.Rewards), nn.None, nn.Orthogonal(0.1))
		m.over = add("over", c.Hidden, (n+1)+e*(vanishCap+1)+in.Horizon+2, 1)
		if len(in.Zeroes) > 0 {
			m.feature = add("features", c.Hidden, m.featureCols(), len(in.Zeroes))
		}
		if m.jumps() {
			m.jump = p.Dense("jump", c.Hidden[len(c.Hidden)-1], 1, nn.None, nn.Orthogonal(0.1))
			m.land = add("land", c.Hidden, m.landCols(), 1)
		}
		if m.appears() {
			m.many = add("many", c.Hidden, m.countCols(), 1)
			m.spot = add("spot", c.Hidden, m.spotCols(), 2)
			for _, e := range in.Appear {
				m.draw |= 1 << e
			}
		}
	}
	return m, p, nil
}

// Describe says in a few words what the model is.
func (m *Model) Describe(p *nn.Params) string {
	hidden := m.Hidden
	if m.Variant == Planes {
		hidden = m.Dense
	}
	return fmt.Sprintf("%s %v, %d weights", m.Variant, hidden, p.Len())
}

// board is what an observation says.
type board struct {
	at    []int16   // [Agents] cell, -1 off the board
	thing []uint32  // [cells] bit e: thing e
	crowd []uint8   // [cells] agents there
	acts  []uint8   // [cells][Actions] agents there by action
	feat  []float32 // [Features]
	level []int32   // [Features] which of the Values each is
	t     int
}

func (m *Model) newBoard() board {
	return board{
		at: make([]int16, m.Agents), thing: make([]uint32, m.cells()),
		crowd: make([]uint8, m.cells()), acts: make([]uint8, m.cells()*m.Actions),
		feat: make([]float32, m.Features), level: make([]int32, m.Features),
	}
}

// read takes the planes, the features and the time of an observation.
func (b *board) read(m *Model, obs []float32) {
	b.planes(m, obs[:m.board()])
	copy(b.feat, obs[m.board():])
	for f, v := range b.feat {
		b.level[f] = nearest(m.Values, v)
	}
	b.t = 0
	if m.Time > 0 {
		b.t = min(int(obs[m.timeAt()]*float32(m.Horizon)+0.5), m.Horizon)
	}
}

// planes takes the planes alone.
func (b *board) planes(m *Model, planes []float32) {
	for i := range b.at {
		b.at[i] = -1
	}
	for cell := range b.thing {
		set := uint32(0)
		for i, v := range planes[cell*m.Planes : (cell+1)*m.Planes] {
			switch {
			case v == 0:
			case i < m.Agents:
				b.at[i] = int16(cell)
			default:
				set |= 1 << (i - m.Agents)
			}
		}
		b.thing[cell] = set
	}
	b.count()
}

// count fills crowd from at.
func (b *board) count() {
	clear(b.crowd)
	for _, c := range b.at {
		if c >= 0 {
			b.crowd[c]++
		}
	}
}

// act fills acts. With MeanPool only the own action has a place.
func (b *board) act(m *Model, joint []int32) {
	clear(b.acts)
	for i, c := range b.at {
		if k := joint[i]; c >= 0 && k >= 0 && (i == 0 || m.Fault != MeanPool) {
			b.acts[int(c)*m.Actions+int(k)]++
		}
	}
}

// left returns how many agents are on the board.
func (b *board) left() int {
	n := 0
	for _, c := range b.at {
		if c >= 0 {
			n++
		}
	}
	return n
}

// things returns how many cells hold thing e.
func (b *board) things(e int) int {
	n := 0
	for _, set := range b.thing {
		n += int(set >> e & 1)
	}
	return n
}

// vanished returns the things on a cell of b that are not on it in next.
func (b *board) vanished(next *board, cell int) uint32 { return b.thing[cell] &^ next.thing[cell] }

// bitsOf calls do for each bit of set.
func bitsOf(set uint32, do func(e int)) {
	for ; set != 0; set &= set - 1 {
		do(bits.TrailingZeros32(set))
	}
}

// Trainer returns a trainer of the model for minibatches of so many rows. A row costs several
// times what it does in other models, so that shards have fewer.
func (m *Model) Trainer(p *nn.Params, rows int, rate nn.Schedule) *nn.Trainer[*Work, Losses] {
	works := make([]*Work, nn.ShardsOf(4*rows))
	for i := range works {
		works[i] = m.Work()
	}
	return nn.NewTrainer[*Work, Losses](p, nn.TrainerConfig{Clip: 1}, rate, works)
}

// NewBatch returns room for so many rows.
func NewBatch(in Input, rows int) Batch {
	n, planes := in.Agents, in.Height*in.Width*in.Planes
	return Batch{
		Rows: rows, Obs: make([]float32, rows*in.Len()), Joint: make([]int32, rows*n), Next: make([]float32, rows*planes),
		Reward: make([]float32, rows*n), Over: make([]bool, rows),
		NextFeat: make([]float32, rows*in.Features),
	}
}

// Load returns the world model of a run's folder with its best weights.
func Load(runs *runlog.Reader, dir string) (*Model, *nn.Params, error) {
	return model.Load(runs, dir, "world", Layers)
}

// regress is the plane regression's step: the next board is what is nearest to
// its numbers, an agent where its plane is largest, gone if the plane sums to less
// than a half, a thing where its plane is above a half. Nothing keeps an agent
// from jumping; that is the point of the comparison.
func (ws *Work) regress(p *nn.Params, dst *Next, obs []float32, joint []int32, lo, rows int) {
	m, n, c := ws.m, ws.m.Agents, ws.m.Planes
	ws.forwardDense(p, obs, joint, rows)
	for i := range rows {
		next, y := &ws.next[i], ws.dense.y[i*m.dense.head.Out:(i+1)*m.dense.head.Out]
		if dst.Planes != nil {
			copy(dst.Planes[(lo+i)*m.board():], y[:m.board()])
		}
		if ws.done[i] {
			for a := range n {
				put(dst.Reward, a, lo+i, 0)
				put(dst.Mean, a, lo+i, 0)
				put(dst.Gone, a, lo+i, 1)
			}
			continue
		}
		for a := range n {
			best, sum := 0, float32(0)
			for cell := range m.cells() {
				sum += y[cell*c+a]
				if y[cell*c+a] > y[best*c+a] {
					best = cell
				}
			}
			next.at[a] = int16(best)
			if sum < 0.5 && m.Fault != NoEnd {
				next.at[a] = -1
			}
			sure(dst, lo+i, min(max(y[best*c+a], 0), 1))
			put(dst.Reward, a, lo+i, y[m.board()+a])
			put(dst.Mean, a, lo+i, y[m.board()+a])
			put(dst.Gone, a, lo+i, min(max(1-sum, 0), 1))
		}
		for cell := range m.cells() {
			next.thing[cell] = 0
			for e := range m.things() {
				if y[cell*c+n+e] > 0.5 {
					next.thing[cell] |= 1 << e
				}
			}
		}
		next.count()
		next.t = min(ws.was[i].t+1, m.Horizon)
		ws.done[i] = y[m.board()+n] > 0.5 && m.Fault != NoEnd
	}
}

func (ws *Work) forwardDense(p *nn.Params, obs []float32, joint []int32, rows int) {
	m := ws.m
	ws.dense.x.Reset(m.dense.cols)
	for i := range rows {
		m.denseRow(&ws.dense.x, obs[i*m.Len():(i+1)*m.Len()], joint[i*m.Agents:(i+1)*m.Agents])
	}
	m.dense.forward(p, &ws.dense)
}
