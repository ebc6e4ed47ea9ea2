package score

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/train/pretrain"
)

// WorldScore is what a world model's predictions are worth, on steps it has not
// learnt from. A row is one step through the eyes of one living agent.
type WorldScore struct {
	Rows  int     `json:"rows"`
	Exact float64 `json:"exact"` // share of rows with every cell, thing, feature, reward, end and the own mask right
	// Rows of steps that the rules would have played otherwise with other draws: no
	// model can foresee them, so they are left out of everything else.
	Chance int     `json:"chance,omitempty"`
	State  float64 `json:"exact_state"`

	Illegal int            `json:"illegal"` // rows that the rules forbid, of any kind below
	Kinds   map[string]int `json:"illegal_by_kind"`
	Wrong   map[string]int `json:"wrong"` // possible by the rules, but not what happened

	MSE       float64               `json:"obs_mse"` // of raw probabilities
	PSNR      float64               `json:"psnr"`    // 10 log10(1/MSE), dB
	Channels  map[string]float64    `json:"channel_mse"`
	RewardMSE float64               `json:"reward_mse"` // of the own expected reward
	Events    map[string]WorldEvent `json:"events"`
	RewardECE float64               `json:"reward_ece"`
	EndECE    float64               `json:"end_ece"`
	Doubt     struct {
		Right float64 `json:"right"` // mean on exact rows
		Wrong float64 `json:"wrong"` // mean on the others
	} `json:"doubt"`

	Idle struct { // what needs no learning: nothing moves, nobody is paid or leaves
		Exact     float64 `json:"exact"`
		MSE       float64 `json:"obs_mse"`
		RewardMSE float64 `json:"reward_mse"` // of the mean reward
	} `json:"nothing_moves"`

	Worst []WorldCase  `json:"-"` // the rows with the largest errors first
	hist  [][]int      // [planes][histBins] raw values where the truth is 1
	zero  [][]int      // [planes][histBins] and where it is 0
	mean  [][2]float64 // own expected and true rewards, up to maxPoints
	end   bins

	random bool // the rules draw random numbers
}

// WorldEvent is how often something happened and how often it was predicted.
type WorldEvent struct {
	N        int     `json:"n"`
	Right    int     `json:"right"`
	Accuracy float64 `json:"accuracy"`
}

// WorldCase is a row to look at.
type WorldCase struct {
	Obs               []float32 // [Len] before the step
	given             []int32   // the joint action as the model was given it
	Before, True, Raw []float32 // [H][W][Planes]
	Joint             []int32   // ego-first
	Reward, Mean      []float32 // [Agents] true and expected
	Error             float64   // squared error of planes and rewards
	Over              bool
	What              string // which kinds of faults
}

// The kinds of transitions that the rules forbid.
const (
	kindTeleport  = "teleport"             // an agent more than one cell from where it was
	kindVanish    = "vanish"               // an agent or a thing gone that stayed
	kindDuplicate = "duplicate"            // an agent in two cells, or a thing out of nothing
	kindRevive    = "revive"               // an agent back that had left
	kindPaid      = "reward_without_catch" // paid for nothing
)

// worldKinds lists them.
var worldKinds = []string{kindTeleport, kindVanish, kindDuplicate, kindRevive, kindPaid}

const (
	histBins  = 20
	maxPoints = 4000
	maxWorst  = 6
	near      = 0.04 // rewards within this are equal: half the smallest gap between two of stag hunt
)

// bins holds probabilities and outcomes, to see whether they agree.
type bins struct{ n, hit, sum [10]float64 }

func (b *bins) add(p float64, hit bool) {
	i := min(int(p*10), 9)
	b.n[i]++
	b.sum[i] += p
	if hit {
		b.hit[i]++
	}
}

// ece returns the expected calibration error (Guo et al. 2017).
func (b *bins) ece() float64 {
	total, e := 0., 0.
	for i, n := range b.n {
		total += n
		e += math.Abs(b.hit[i] - b.sum[i])
	}
	if total == 0 {
		return 0
	}
	return e / total
}

// worldTruth is what happened in some rows, beside the batch that the model sees.
type worldTruth struct {
	batch  world.Batch
	joint  []int32 // [rows][Agents] ego-first, whatever the model was given
	legal  []bool  // [rows][Actions] own mask after the step
	filled int
}

func newWorldTruth(in world.Input, rows int) *worldTruth {
	return &worldTruth{batch: world.NewBatch(in, rows), joint: make([]int32, rows*in.Agents), legal: make([]bool, rows*in.Actions)}
}

// worldScorer counts predictions.
type worldScorer struct {
	m       *world.Model
	p       *nn.Params
	ws      *world.Work
	next    *world.Next
	planes  []string // names
	actions []string
	score   *WorldScore

	exact, state int
	square       float64
	channel      []float64
	reward       float64
	doubt        [2]float64
	idle         int
	moved        float64 // cells that changed
	paid, paid2  float64 // own rewards, and their squares
}

const scoreRows = 512

func newWorldScorer(m *world.Model, p *nn.Params, planes, actions []string) *worldScorer {
	c := m.Planes
	j := &worldScorer{m: m, p: p, ws: m.Work(), next: newWorldNext(m.Input, scoreRows), planes: planes, actions: actions,
		channel: make([]float64, c)}
	j.score = &WorldScore{Kinds: map[string]int{}, Wrong: map[string]int{}, Channels: map[string]float64{}, Events: map[string]WorldEvent{}}
	for _, k := range worldKinds {
		j.score.Kinds[k] = 0
	}
	for range c {
		j.score.hist, j.score.zero = append(j.score.hist, make([]int, histBins)), append(j.score.zero, make([]int, histBins))
	}
	return j
}

// newWorldNext allocates room for all that a step can tell.
func newWorldNext(in world.Input, rows int) *world.Next {
	d := &world.Next{Over: make([]bool, rows), Doubt: make([]float32, rows), Planes: make([]float32, rows*in.Height*in.Width*in.Planes)}
	for a := range in.Agents {
		if a == 0 {
			d.Obs = append(d.Obs, make([]float32, rows*in.Len()))
			d.Legal = append(d.Legal, make([]bool, rows*in.Actions))
		}
		d.Reward, d.Mean = append(d.Reward, make([]float32, rows)), append(d.Mean, make([]float32, rows))
		d.Gone, d.End = append(d.Gone, make([]float32, rows)), append(d.End, make([]bool, rows))
	}
	return d
}

// add scores the first rows of t.
func (j *worldScorer) add(t *worldTruth) {
	m := j.m
	j.ws.Step(j.p, j.next, t.batch.Obs, t.batch.Joint, t.filled)
	planes := m.Height * m.Width * m.Planes
	for i := range t.filled {
		j.row(i, t, t.batch.Obs[i*m.Len():i*m.Len()+planes], t.batch.Next[i*planes:(i+1)*planes], j.next.Obs[0][i*m.Len():i*m.Len()+planes],
			j.next.Planes[i*planes:(i+1)*planes])
	}
	t.filled = 0
}

// row scores one row: planes before, after, predicted and raw.
func (j *worldScorer) row(i int, t *worldTruth, before, after, got, raw []float32) {
	m, s, n := j.m, j.score, j.m.Agents
	joint, rewards := t.joint[i*n:(i+1)*n], t.batch.Reward[i*n:(i+1)*n]
	s.Rows++
	f := faults{}
	for a := range n {
		j.agent(&f, i, a, joint[a], rewards[a], before, after, got, raw, t.batch.Over[i])
	}
	j.things(&f, before, after, got)
	if !slices.Equal(j.next.Obs[0][i*m.Len()+len(got):i*m.Len()+len(got)+m.Features], t.batch.NextFeat[i*m.Features:(i+1)*m.Features]) {
		f.add("wrong_feature")
	}
	state := len(f) == 0
	if j.next.Over[i] != t.batch.Over[i] {
		f.add("wrong_over")
	}
	if !slices.Equal(j.next.Legal[0][i*m.Actions:(i+1)*m.Actions], t.legal[i*m.Actions:(i+1)*m.Actions]) {
		f.add("wrong_mask")
	}
	illegal := false
	for k := range f {
		if _, ok := s.Kinds[k]; ok {
			s.Kinds[k]++
			illegal = true
		} else {
			s.Wrong[k]++
		}
	}
	if illegal {
		s.Illegal++
	}
	if state {
		j.state++
	}
	if len(f) == 0 {
		j.exact++
		j.doubt[0] += float64(j.next.Doubt[i])
	} else {
		j.doubt[1] += float64(j.next.Doubt[i])
	}
	if slices.Equal(before, after) && !t.batch.Over[i] && !slices.ContainsFunc(rewards, func(r float32) bool { return r != 0 }) {
		j.idle++
	}
	j.events(i, joint, rewards, before, after, got, t.batch.Over[i])
	j.numbers(i, t, &f, before, after, raw)
}

// faults is a set of kinds.
type faults map[string]bool

func (f faults) add(kind string) { f[kind] = true }

func (f faults) String() string {
	return strings.Join(slices.Sorted(maps.Keys(f)), ", ")
}

// agent compares agent a.
func (j *worldScorer) agent(f *faults, i, a int, act int32, reward float32, before, after, got, raw []float32, over bool) {
	m := j.m
	was, is, says := cellOf(before, a, m.Planes), cellOf(after, a, m.Planes), cellOf(got, a, m.Planes)
	switch {
	case was < 0 && says >= 0:
		f.add(kindRevive)
	case says >= 0 && was >= 0 && apart(was, says, m.Width) > 1:
		f.add(kindTeleport)
	case says < 0 && is >= 0:
		f.add(kindVanish)
	case says >= 0 && is < 0 && was >= 0:
		f.add("lingers")
	case says != is:
		f.add("wrong_cell")
	}
	if first, second := largest(raw, a, m.Planes); first > 0.2 && second > first/2 {
		f.add(kindDuplicate)
	}
	paid := j.next.Reward[a][i]
	switch {
	case reward == 0 && math.Abs(float64(paid)) > near:
		f.add(kindPaid)
	case math.Abs(float64(paid-reward)) > near:
		f.add("wrong_reward")
	}
	if ended := is < 0 || over; j.next.End[a][i] != ended {
		f.add("wrong_end")
	}
	if act >= 0 {
		j.score.end.add(float64(j.next.Gone[a][i]), is < 0 || over)
	}
}

// things compares the planes after the agents'.
func (j *worldScorer) things(f *faults, before, after, got []float32) {
	for i, says := range got {
		if i%j.m.Planes < j.m.Agents || says == after[i] {
			continue
		}
		switch {
		case says > 0 && before[i] == 0:
			f.add(kindDuplicate)
		case says > 0:
			f.add("lingers")
		default:
			f.add(kindVanish)
		}
	}
}

// numbers adds up the errors of the raw predictions.
func (j *worldScorer) numbers(i int, t *worldTruth, f *faults, before, after, raw []float32) {
	m, s, n := j.m, j.score, j.m.Agents
	square := 0.
	for k, v := range raw {
		e := float64(v - after[k])
		c := k % m.Planes
		j.channel[c] += e * e
		square += e * e
		j.moved += math.Abs(float64(before[k] - after[k])) // planes hold zeros and ones
		bin := min(max(int(v*histBins), 0), histBins-1)
		if after[k] > 0 {
			s.hist[c][bin]++
		} else {
			s.zero[c][bin]++
		}
	}
	j.square += square
	own, mean := float64(t.batch.Reward[i*n]), float64(j.next.Mean[0][i])
	j.reward += (own - mean) * (own - mean)
	j.paid, j.paid2 = j.paid+own, j.paid2+own*own
	if len(s.mean) < maxPoints {
		s.mean = append(s.mean, [2]float64{own, mean})
	}
	for a := range n {
		e := float64(t.batch.Reward[i*n+a] - j.next.Mean[a][i])
		square += e * e
	}
	j.remember(i, t, square, f, before, after, raw)
}

// remember keeps the row if it is among the worst. Rows that are right are kept
// too while nothing worse is known.
func (j *worldScorer) remember(i int, t *worldTruth, square float64, f *faults, before, after, raw []float32) {
	m, s, n := j.m, j.score, j.m.Agents
	if len(s.Worst) == maxWorst && square <= s.Worst[maxWorst-1].Error {
		return
	}
	c := WorldCase{
		Obs: slices.Clone(t.batch.Obs[i*m.Len() : (i+1)*m.Len()]), given: slices.Clone(t.batch.Joint[i*n : (i+1)*n]),
		Before: slices.Clone(before), True: slices.Clone(after), Raw: slices.Clone(raw), Joint: slices.Clone(t.joint[i*n : (i+1)*n]),
		Reward: slices.Clone(t.batch.Reward[i*n : (i+1)*n]), Error: square, Over: t.batch.Over[i], What: f.String(),
	}
	for a := range n {
		c.Mean = append(c.Mean, j.next.Mean[a][i])
	}
	s.Worst = append(s.Worst, c)
	slices.SortStableFunc(s.Worst, func(a, b WorldCase) int { return cmp.Compare(b.Error, a.Error) })
	s.Worst = s.Worst[:min(len(s.Worst), maxWorst)]
}

// finish turns sums into means.
func (j *worldScorer) finish() *WorldScore {
	s, m := j.score, j.m
	rows := float64(max(s.Rows, 1))
	cells := float64(m.Height * m.Width)
	s.Exact, s.State = float64(j.exact)/rows, float64(j.state)/rows
	s.MSE = j.square / (rows * cells * float64(m.Planes))
	s.PSNR = psnr(s.MSE)
	for c, v := range j.channel {
		s.Channels[j.planes[c]] = v / (rows * cells)
	}
	s.RewardMSE = j.reward / rows
	s.Idle.Exact, s.Idle.MSE = float64(j.idle)/rows, j.moved/(rows*cells*float64(m.Planes))
	s.Idle.RewardMSE = max(0, j.paid2/rows-j.paid/rows*j.paid/rows)
	s.EndECE = s.end.ece()
	s.RewardECE = j.rewardGap()
	s.Doubt.Right = j.doubt[0] / float64(max(j.exact, 1))
	s.Doubt.Wrong = j.doubt[1] / float64(max(s.Rows-j.exact, 1))
	for k, e := range s.Events {
		e.Accuracy = float64(e.Right) / float64(e.N)
		s.Events[k] = e
	}
	return s
}

// psnr returns the peak signal-to-noise ratio of a squared error, in dB, at most 120.
func psnr(mse float64) float64 { return min(-10*math.Log10(max(mse, 1e-12)), 120) }

// rewardGap returns, over bins of the expected reward, the mean of |mean expected
// - mean true|, weighted by rows.
func (j *worldScorer) rewardGap() float64 {
	top := max(float64(slices.Max(j.m.Rewards)), 1e-9)
	var n, gap [20]float64
	for _, p := range j.score.mean {
		i := min(max(int(p[1]/top*20), 0), 19)
		n[i]++
		gap[i] += p[1] - p[0]
	}
	sum := 0.
	for _, g := range gap {
		sum += math.Abs(g)
	}
	return sum / float64(max(len(j.score.mean), 1))
}

// cellOf returns where plane a is set, -1 nowhere.
func cellOf(planes []float32, a, width int) int {
	for i := a; i < len(planes); i += width {
		if planes[i] > 0 {
			return i / width
		}
	}
	return -1
}

// largest returns the largest and the second largest value of a plane.
func largest(planes []float32, a, width int) (first, second float32) {
	for i := a; i < len(planes); i += width {
		if v := planes[i]; v > first {
			first, second = v, first
		} else if v > second {
			second = v
		}
	}
	return first, second
}

// apart returns how many moves two cells are apart on an empty board.
func apart(a, b, width int) int {
	dy, dx := a/width-b/width, a%width-b%width
	return max(dy, -dy) + max(dx, -dx)
}

// firstSpecial is the first action that is neither a move nor staying.
const firstSpecial = 5

// events counts what happened on the board and whether it was foreseen.
func (j *worldScorer) events(i int, joint []int32, rewards, before, after, got []float32, over bool) {
	m, c := j.m, j.m.Planes
	for at := m.Agents; at < len(before); at++ {
		e := at % c
		if e < m.Agents || before[at] == 0 || after[at] != 0 {
			continue
		}
		by, right := 0, got[at] == after[at]
		for a, k := range joint {
			if k >= firstSpecial && cellOf(before, a, c) == at/c {
				by++
				right = right && j.agentRight(i, a, rewards[a], after, got)
			}
		}
		j.count(j.planes[e]+"_caught", right)
		j.count(fmt.Sprintf("%s_by_%d", j.planes[e], by), right)
	}
	for a, k := range joint {
		if k < 0 {
			continue
		}
		right := j.agentRight(i, a, rewards[a], after, got)
		switch {
		case k >= firstSpecial && rewards[a] == 0:
			j.count("failed_"+strings.ReplaceAll(j.actions[k], " ", "_"), right)
		case k == firstSpecial-1:
			j.count("stays", right)
		case k < firstSpecial-1:
			j.count("moves", right)
		}
	}
	if over {
		name := "all_gone"
		for a := range joint {
			if cellOf(after, a, c) >= 0 {
				name = "time_up"
			}
		}
		j.count(name, j.next.Over[i])
	}
}

// agentRight reports whether agent a's cell and reward are right.
func (j *worldScorer) agentRight(i, a int, reward float32, after, got []float32) bool {
	return cellOf(after, a, j.m.Planes) == cellOf(got, a, j.m.Planes) && math.Abs(float64(j.next.Reward[a][i]-reward)) <= near
}

func (j *worldScorer) count(name string, right bool) {
	e := j.score.Events[name]
	e.N++
	if right {
		e.Right++
	}
	j.score.Events[name] = e
}

// World scores the model on the rows kept for it.
func World(w *pretrain.World) *WorldScore {
	d := w.Data[0]
	j := newWorldScorer(w.Model, w.Net, d.Layout.Planes, d.Layout.Actions)
	t := newWorldTruth(w.Model.Input, scoreRows)
	n, k := w.Model.Agents, w.Model.Actions
	for _, at := range w.Parts[2] {
		i, d, row := t.filled, w.Data[at.Data], int(at.Row)
		w.Fill(&t.batch, i, at)
		for a := range n {
			t.joint[i*n+a] = int32(d.Joint[row*n+a])
		}
		copy(t.legal[i*k:], d.NextLegal[row*k:(row+1)*k])
		if t.filled++; t.filled == scoreRows {
			j.add(t)
		}
	}
	j.add(t)
	return j.finish()
}
