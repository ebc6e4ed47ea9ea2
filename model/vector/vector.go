// Package vector is a world model of games whose observations are vectors.
//
// From what all agents observe and their joint action one network predicts, for every
// seat, the change of its observation, its reward, whether it stays, and its mask. It is a
// dense network on the joint state, in seat order, so nothing is assumed of what numbers
// mean. Numbers are read and changes are learnt in the spreads that they were seen to have
// (Scale). The prediction is a mean, of numbers that have few values the value nearest to it: a game that draws much is
// blurred.
//
// A Model is layers only; weights are in nn.Params and scratch memory in a Work, one for
// each goroutine. Package vector sees arrays, never games.
package vector

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/hop-marl/hop/model"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
)

// Config chooses the network.
type Config struct {
	Hidden []int `yaml:"hidden" doc:"widths of the layers" range:"1..4096"`
}

// Validate returns what is wrong.
func (c Config) Validate() error {
	if len(c.Hidden) == 0 {
		return config.Bad("hidden", c.Hidden, "at least one layer")
	}
	return model.CheckLayers("hidden", c.Hidden)
}

// Input says in numbers what the model reads and predicts.
type Input struct {
	Agents, Actions int
	Width           int  // numbers that an agent observes, but for mask, time and last actions
	Masks           bool // which actions are legal is observed, and predicted
	Timed           bool // the time is observed
}

// seat returns how many numbers are read of a seat, and predicted.
func (in Input) seat() (reads, writes int) {
	reads, writes = in.Width+1+in.Actions, in.Width+2
	if in.Masks {
		writes += in.Actions
	}
	return reads, writes
}

// Model is the network's layers.
type Model struct {
	Input
	Config

	cols, out int
	body      nn.MLP
	head      nn.Dense
}

// New returns the model and its weights, drawn from key.
func New(c Config, in Input, key rng.Key) (*Model, *nn.Params, error) {
	return model.New(c, in, key, Layers)
}

// maxNumbers bounds the numbers of a state: the network is dense.
const maxNumbers = 1 << 14

// Layers returns the model and its weights, for which there is no memory yet.
func Layers(c Config, in Input) (*Model, *nn.Params, error) {
	if err := c.Validate(); err != nil {
		return nil, nil, err
	}
	if n := in.Agents * (in.Width + in.Actions); in.Agents < 1 || in.Width < 1 || in.Actions < 1 || n > maxNumbers {
		return nil, nil, fmt.Errorf("vector: a state of %d agents who observe %d numbers and have %d actions; want at most %d in all",
			in.Agents, in.Width, in.Actions, maxNumbers)
	}
	p := &nn.Params{}
	reads, writes := in.seat()
	m := &Model{Input: in, Config: c, cols: in.Agents * reads, out: in.Agents * writes}
	if in.Timed {
		m.cols++
	}
	m.body = p.MLP("body", nn.ReLU, append([]int{m.cols}, c.Hidden...)...)
	m.head = p.Dense("head", c.Hidden[len(c.Hidden)-1], m.out, nn.None, nn.Orthogonal(0.1))
	return m, p, nil
}

// What is known of whether a seat stays after a step.
const (
	Left    uint8 = iota // it has left
	Stays                // it acts again
	Unknown              // a limit from outside stopped it
)

// Batch is steps: where they began, what was done, and what came of it.
type Batch struct {
	Rows   int
	Obs    []float32 // [Rows][Agents][Width]
	Joint  []int32   // [Rows][Agents]; below 0: it has left
	Time   []float32 // [Rows] share of the horizon that had gone by
	Next   []float32 // [Rows][Agents][Width]
	Reward []float32 // [Rows][Agents]
	Stays  []uint8   // [Rows][Agents]
	Legal  []uint32  // [Rows][Agents] a bit for each legal action after the step
}

// NewBatch returns room for so many steps.
func NewBatch(in Input, rows int) *Batch {
	n := rows * in.Agents
	return &Batch{
		Rows: rows, Obs: make([]float32, n*in.Width), Joint: make([]int32, n), Time: make([]float32, rows),
		Next: make([]float32, n*in.Width), Reward: make([]float32, n), Stays: make([]uint8, n), Legal: make([]uint32, n),
	}
}

// Part returns the steps lo to before hi, as views.
func (b *Batch) Part(in Input, lo, hi int) *Batch {
	n, d := in.Agents, in.Agents*in.Width
	return &Batch{
		hi - lo, b.Obs[lo*d : hi*d], b.Joint[lo*n : hi*n], b.Time[lo:hi], b.Next[lo*d : hi*d], b.Reward[lo*n : hi*n], b.Stays[lo*n : hi*n],
		b.Legal[lo*n : hi*n],
	}
}

// Copy copies step j of src to step i.
func (b *Batch) Copy(in Input, i int, src *Batch, j int) {
	n, d := in.Agents, in.Agents*in.Width
	copy(b.Obs[i*d:(i+1)*d], src.Obs[j*d:])
	copy(b.Joint[i*n:(i+1)*n], src.Joint[j*n:])
	b.Time[i] = src.Time[j]
	copy(b.Next[i*d:(i+1)*d], src.Next[j*d:])
	copy(b.Reward[i*n:(i+1)*n], src.Reward[j*n:])
	copy(b.Stays[i*n:(i+1)*n], src.Stays[j*n:])
	copy(b.Legal[i*n:(i+1)*n], src.Legal[j*n:])
}

// Question returns the same steps with room for what comes of them.
func (b *Batch) Question(in Input) *Batch {
	q := NewBatch(in, b.Rows)
	q.Obs, q.Joint, q.Time = b.Obs, b.Joint, b.Time
	return q
}

// numbers lists what is saved as it is.
func (b *Batch) numbers() map[string][]float32 {
	return map[string][]float32{"obs": b.Obs, "time": b.Time, "next": b.Next, "reward": b.Reward}
}

// Save adds the steps to f.
func (b *Batch) Save(f *safetensors.File, prefix string) {
	all := b.numbers()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f.PutFloat32(prefix+name, all[name], len(all[name]))
	}
	packed := make([]int64, len(b.Joint))
	for i, a := range b.Joint {
		packed[i] = int64(a+1) | int64(b.Stays[i])<<8 | int64(b.Legal[i])<<16
	}
	f.PutInt64(prefix+"acts", packed, len(packed))
}

// Load restores as many steps as Save stored.
func (b *Batch) Load(f *safetensors.File, prefix string) error {
	packed := make([]int64, len(b.Joint))
	err := f.Int64(packed, prefix+"acts", len(packed))
	for name, x := range b.numbers() {
		err = errors.Join(err, f.Float32(x, prefix+name, len(x)))
	}
	for i, x := range packed {
		b.Joint[i], b.Stays[i], b.Legal[i] = int32(x&255)-1, uint8(x>>8), uint32(x>>16)
	}
	return err
}

// Losses are the terms of the loss: squared errors in units of what is learnt, each a mean over living seats, and
// cross-entropies in nats.
type Losses struct{ Next, Reward, Stays, Legal nn.Loss }

// Plus returns the losses over the rows of both.
func (l Losses) Plus(k Losses) Losses {
	return Losses{l.Next.Plus(k.Next), l.Reward.Plus(k.Reward), l.Stays.Plus(k.Stays), l.Legal.Plus(k.Legal)}
}

// Work is one goroutine's memory for up to a number of rows at a time.
type Work struct {
	m        *Model
	rows     int
	x, y, dy []float32
	body     *nn.MLPWork
}

// Work allocates memory for up to rows rows at a time.
func (m *Model) Work(rows int) *Work {
	return &Work{
		m: m, rows: rows, x: make([]float32, rows*m.cols), y: make([]float32, rows*m.out), dy: make([]float32, rows*m.out),
		body: m.body.Work(rows),
	}
}

// forward predicts all rows of a batch that the memory has room for.
func (ws *Work) forward(p *nn.Params, s *Scale, b *Batch) {
	m := ws.m
	x := ws.x[:b.Rows*m.cols]
	clear(x)
	reads, _ := m.seat()
	for i := range b.Rows {
		row := x[i*m.cols : (i+1)*m.cols]
		for a := range m.Agents {
			action := b.Joint[i*m.Agents+a]
			if action < 0 {
				continue
			}
			seat, at := row[a*reads:(a+1)*reads], a*m.Width
			for k, v := range b.Obs[i*m.Agents*m.Width+at:][:m.Width] {
				seat[k] = (v - s.mean[at+k]) / s.spread[at+k]
			}
			seat[m.Width], seat[m.Width+1+int(action)] = 1, 1
		}
		if m.Timed {
			row[m.cols-1] = b.Time[i]
		}
	}
	m.body.Forward(p, ws.body, x, b.Rows)
	m.head.Forward(p, ws.y, ws.body.Y, b.Rows)
}

// Step predicts what comes of a batch's steps, and writes it there. Who has left stays away.
func (ws *Work) Step(p *nn.Params, s *Scale, b *Batch) {
	for lo := 0; lo < b.Rows; lo += ws.rows {
		part := b.Part(ws.m.Input, lo, min(lo+ws.rows, b.Rows))
		ws.forward(p, s, part)
		for i := range part.Rows {
			for a := range ws.m.Agents {
				ws.outcome(s, part, i, a)
			}
		}
	}
}

// outcome writes what was predicted of a seat in step i.
func (ws *Work) outcome(s *Scale, b *Batch, i, a int) {
	m, at := ws.m, i*ws.m.Agents+a
	obs, next := b.Obs[at*m.Width:(at+1)*m.Width], b.Next[at*m.Width:(at+1)*m.Width]
	copy(next, obs)
	b.Reward[at], b.Stays[at], b.Legal[at] = 0, Left, 0
	if b.Joint[at] < 0 {
		return
	}
	y := ws.of(ws.y, i, a)
	for k, v := range obs {
		j := a*m.Width + k
		next[k] = s.nearest(j, v+y[k]*s.step[j])
	}
	if b.Reward[at] = y[m.Width]*s.paid[a] + s.pay[a]; y[m.Width+1] < 0 {
		return
	}
	b.Stays[at], b.Legal[at] = Stays, 1<<m.Actions-1
	if m.Masks {
		b.Legal[at] = mask(y[m.Width+2:])
	}
}

// of returns what numbers of row i are about a seat, a view.
func (ws *Work) of(y []float32, i, a int) []float32 {
	_, writes := ws.m.seat()
	return y[i*ws.m.out+a*writes:][:writes]
}

// mask returns a bit for each action that is likelier legal than not; the likeliest at least.
func mask(logits []float32) (set uint32) {
	best := 0
	for k, x := range logits {
		if x > logits[best] {
			best = k
		}
		if x > 0 {
			set |= 1 << k
		}
	}
	return set | 1<<best
}

// most bounds what is learnt of a single number, in spreads: it keeps a jump from ruling a minibatch.
const most = 10

// Learn adds the gradients of a part of a minibatch of so many rows to p.G.
func (ws *Work) Learn(p *nn.Params, s *Scale, b *Batch, rows int) (sum Losses) {
	m := ws.m
	ws.forward(p, s, b)
	clear(ws.dy[:b.Rows*m.out])
	weight := 1 / float32(rows*m.Agents)
	for i := range b.Rows {
		for a := range m.Agents {
			if b.Joint[i*m.Agents+a] >= 0 {
				ws.learn(&sum, s, b, i, a, weight)
			}
		}
	}
	m.head.Backward(p, ws.body.DY, ws.dy, ws.body.Y, ws.y, b.Rows)
	m.body.Backward(p, ws.body, nil, ws.x, b.Rows)
	return sum
}

// learn adds the losses of a living seat in step i, and writes their gradients.
func (ws *Work) learn(sum *Losses, s *Scale, b *Batch, i, a int, weight float32) {
	m, at := ws.m, i*ws.m.Agents+a
	y, dy := ws.of(ws.y, i, a), ws.of(ws.dy, i, a)
	square := float32(0)
	for k, v := range b.Obs[at*m.Width : (at+1)*m.Width] {
		j := a*m.Width + k
		e := y[k] - min(max((b.Next[at*m.Width+k]-v)/s.step[j], -most), most)
		square += e * e / float32(m.Width)
		dy[k] = 2 * e * weight / float32(m.Width)
	}
	sum.Next.Add(square)
	e := y[m.Width] - min(max((b.Reward[at]-s.pay[a])/s.paid[a], -most), most)
	sum.Reward.Add(e * e)
	dy[m.Width] = 2 * e * weight
	if b.Stays[at] != Unknown {
		dy[m.Width+1] = entropy(&sum.Stays, y[m.Width+1], b.Stays[at] == Stays) * weight
	}
	if !m.Masks || b.Stays[at] != Stays {
		return
	}
	for k := range m.Actions {
		dy[m.Width+2+k] = entropy(&sum.Legal, y[m.Width+2+k], b.Legal[at]>>k&1 != 0) * weight / float32(m.Actions)
	}
}

// entropy adds the cross-entropy of a logit and returns its gradient.
func entropy(l *nn.Loss, logit float32, is bool) float32 {
	p := 1 / (1 + math.Exp(-float64(logit)))
	if is {
		l.Add(float32(-math.Log(max(p, 1e-9))))
		return float32(p - 1)
	}
	l.Add(float32(-math.Log(max(1-p, 1e-9))))
	return float32(p)
}
