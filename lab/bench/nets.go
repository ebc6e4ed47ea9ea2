package bench

import (
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search"
)

// newNet returns the network that a leaf names, with random weights: dense
// layers of 64 and 64, HOP's convolutions, or small ones.
func newNet(leaf string, spec game.Spec, goal, rows int, seed uint64) (search.Net, error) {
	if leaf == "conv16" {
		return newSmallConv(spec, goal, rows, seed), nil
	}
	c := actor.Default()
	if leaf == "conv" {
		c.Net, c.Frame = "conv", "board"
	}
	l := spec.Obs
	m, p, err := actor.New(c, actor.Input{
		Input:   frame.Input{Height: l.Height, Width: l.Width, Planes: len(l.Planes), Rest: l.Len() - l.PlanesLen(), Extra: goal},
		Actions: len(spec.Actions),
	}, rng.New(seed))
	if err != nil {
		return nil, err
	}
	return &net{ws: m.Work(rows), p: p}, nil
}

// net is an actor as a search.Net.
type net struct {
	ws  *actor.Work
	p   *nn.Params
	ran bool
}

// Add adds a row.
func (n *net) Add(obs, goal []float32) {
	if n.ran {
		n.ws.Reset()
		n.ran = false
	}
	n.ws.Add(obs, goal)
}

// Run answers the rows.
func (n *net) Run() (logits, value []float32) {
	n.ws.Forward(n.p)
	n.ran = true
	return n.ws.Logits, n.ws.Value
}

// smallConv is a convolutional net of the size that a small board needs: two 3x3
// convolutions of 16 channels, then a layer of 64 over their output and the rest of
// the row.
type smallConv struct {
	p              *nn.Params
	conv           [2]nn.Conv3x3
	hidden, head   nn.Dense
	planes, flat   int
	width, actions int // of hidden's input, of the answers
	work           *nn.ConvWork
	rows           int
	x, a, b        []float32 // [rows][H][W][channels]
	cat            []float32 // [rows][width]
	y              []float32 // [rows][64]
	out            []float32 // [rows][actions+1]
	logits, value  []float32
}

func newSmallConv(spec game.Spec, goal, rows int, seed uint64) *smallConv {
	l, p := spec.Obs, &nn.Params{}
	n := &smallConv{p: p, planes: l.PlanesLen(), flat: l.Height * l.Width * 16, actions: len(spec.Actions)}
	n.width = n.flat + l.Len() - l.PlanesLen() + goal
	n.conv[0] = p.Conv3x3("conv/0", l.Height, l.Width, len(l.Planes), 16, nn.ReLU)
	n.conv[1] = p.Conv3x3("conv/1", l.Height, l.Width, 16, 16, nn.ReLU)
	n.hidden = p.Dense("dense", n.width, 64, nn.ReLU)
	n.head = p.Dense("head", 64, n.actions+1, nn.None)
	p.Init(rng.New(seed))
	n.work = nn.NewConvWork(n.conv[0], n.conv[1])
	n.x, n.a, n.b = make([]float32, rows*n.planes), make([]float32, rows*n.flat), make([]float32, rows*n.flat)
	n.cat, n.y, n.out = make([]float32, rows*n.width), make([]float32, rows*64), make([]float32, rows*(n.actions+1))
	n.logits, n.value = make([]float32, rows*n.actions), make([]float32, rows)
	return n
}

// Add adds a row.
func (n *smallConv) Add(obs, goal []float32) {
	copy(n.x[n.rows*n.planes:], obs[:n.planes])
	rest := n.cat[n.rows*n.width+n.flat : (n.rows+1)*n.width]
	copy(rest[copy(rest, obs[n.planes:]):], goal)
	n.rows++
}

// Run answers the rows.
func (n *smallConv) Run() (logits, value []float32) {
	m := n.rows
	n.rows = 0
	n.conv[0].Forward(n.p, n.work, n.a, n.x, m)
	n.conv[1].Forward(n.p, n.work, n.b, n.a, m)
	for i := range m {
		copy(n.cat[i*n.width:], n.b[i*n.flat:(i+1)*n.flat])
	}
	n.hidden.Forward(n.p, n.y[:m*64], n.cat[:m*n.width], m)
	n.head.Forward(n.p, n.out[:m*(n.actions+1)], n.y[:m*64], m)
	for i := range m {
		row := n.out[i*(n.actions+1):]
		copy(n.logits[i*n.actions:(i+1)*n.actions], row)
		n.value[i] = row[n.actions]
	}
	return n.logits[:m*n.actions], n.value[:m]
}

// oneHot is goals as vectors of that many numbers.
type oneHot int

var oneHots = [2][]float32{{1, 0}, {0, 1}}

// Vector returns the goal's vector.
func (oneHot) Vector(_ int32, _ int, goal int32) []float32 { return oneHots[goal] }
