package pybot

import (
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/bridge"
	"github.com/hop-marl/hop/game/rollout"
)

// block is the memory of some copies of a game.
type block struct {
	number   int
	op, mask []uint8   // [copies], [copies][actions]
	obs      []float32 // [copies][numbers]
	reward   []float32 // [copies] what the seat earned in its last step
	earned   []float64 // [copies] what it earned in its last episode; NaN: there is none
	seed     []int64   // [copies]
	seat     []int32   // [copies]
	episode  []int32   // [copies]
	step     []int32   // [copies]
	action   []int32   // [copies] what it answers
	at       []int32   // [1] the copy that is being decided
	calls    []int64   // [1] how many have been
}

// What is asked of a copy.
const (
	opAct   = 1
	opBegin = 2 // the same, at the start of an episode
)

// lives are the copies of a game in which one member plays. Workers share them, each has copies of
// its own.
type lives struct {
	p      *Policy
	b      *block
	earned []float64 // [copies] as in block
	last   []int     // [copies] the episode in which it decided last, as copies count; -1: in none
	before []int     // [copies] episodes of its life before copies began to count again, as hop play lets them
}

// Players makes the players of one member, for so many copies of the game.
func (p *Policy) Players(workers, copies int) ([]rollout.Player, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.failed != nil {
		return nil, p.failed
	}
	b, err := p.room(copies)
	if err != nil {
		return nil, p.fail(fmt.Errorf("%s: %w", p.name, bridge.Traced(err)))
	}
	l := &lives{p, b, make([]float64, copies), make([]int, copies), make([]int, copies)}
	for n := range l.earned {
		l.earned[n], l.last[n] = math.NaN(), -1
	}
	runtime.AddCleanup(l, func(b *block) {
		p.freeLock.Lock()
		defer p.freeLock.Unlock()
		p.free[copies] = append(p.free[copies], b)
	}, b)
	players := make([]rollout.Player, workers)
	for w := range players {
		players[w] = &player{l}
	}
	return players, nil
}

// room returns memory for so many copies, of which the process remembers nothing.
func (p *Policy) room(copies int) (*block, error) {
	p.freeLock.Lock()
	var b *block
	if list := p.free[copies]; len(list) > 0 {
		b, p.free[copies] = list[len(list)-1], list[:len(list)-1]
	}
	p.freeLock.Unlock()
	if b != nil {
		return b, p.peer.Call("fresh", map[string]int{"block": b.number}, nil)
	}
	m, err := p.peer.Share([]bridge.Array{
		{Name: "op", Type: "u1", Shape: []int{copies}},
		{Name: "mask", Type: "u1", Shape: []int{copies, len(p.spec.Actions)}},
		{Name: "obs", Type: "f4", Shape: []int{copies, p.spec.Obs.Len()}},
		{Name: "reward", Type: "f4", Shape: []int{copies}},
		{Name: "earned", Type: "f8", Shape: []int{copies}},
		{Name: "seed", Type: "i8", Shape: []int{copies}},
		{Name: "seat", Type: "i4", Shape: []int{copies}},
		{Name: "episode", Type: "i4", Shape: []int{copies}},
		{Name: "step", Type: "i4", Shape: []int{copies}},
		{Name: "action", Type: "i4", Shape: []int{copies}},
		{Name: "at", Type: "i4", Shape: []int{1}},
		{Name: "calls", Type: "i8", Shape: []int{1}},
	})
	if err != nil {
		return nil, err
	}
	p.blocks++
	return &block{
		number: p.blocks - 1,
		op:     bridge.Slice[uint8](m, "op"), mask: bridge.Slice[uint8](m, "mask"), obs: bridge.Slice[float32](m, "obs"),
		reward: bridge.Slice[float32](m, "reward"), earned: bridge.Slice[float64](m, "earned"), seed: bridge.Slice[int64](m, "seed"),
		seat: bridge.Slice[int32](m, "seat"), episode: bridge.Slice[int32](m, "episode"), step: bridge.Slice[int32](m, "step"),
		action: bridge.Slice[int32](m, "action"), at: bridge.Slice[int32](m, "at"), calls: bridge.Slice[int64](m, "calls"),
	}, nil
}

// player is a member for one worker.
type player struct{ *lives }

// Act asks the process once for all copies.
func (x *player) Act(v *rollout.View, envs []int32) {
	p, b := x.p, x.b
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.failed != nil {
		panic(&game.Failure{Err: p.failed})
	}
	for _, n := range envs {
		x.show(v, int(n))
	}
	if err := p.decide(b); err != nil {
		panic(&game.Failure{Err: p.fail(x.said(int(b.at[0]), err))})
	}
	for _, n := range envs {
		n := int(n)
		if err := legal(p.spec.Actions, v.LegalAt(v.SlotOf(n)), b.action[n]); err != nil {
			panic(&game.Failure{Err: p.fail(x.said(n, err))})
		}
		i := v.StepOf(n)
		v.Action[i] = b.action[n]
		v.LogProb[i], v.Own[i] = 0, false
	}
}

// show writes what a decision needs.
func (x *player) show(v *rollout.View, n int) {
	b, slot := x.b, v.SlotOf(n)
	actions, numbers := len(x.p.spec.Actions), x.p.spec.Obs.Len()
	copy(b.obs[n*numbers:], v.ObsAt(slot))
	for k, ok := range v.LegalAt(slot) {
		b.mask[n*actions+k] = 0
		if ok {
			b.mask[n*actions+k] = 1
		}
	}
	now := v.EpisodeOf(n)
	if b.op[n] = opAct; v.StepsOf(n) == 0 {
		b.op[n] = opBegin
		if now <= x.last[n] {
			x.before[n] += x.last[n] + 1
		}
		x.last[n] = now
	}
	b.reward[n], b.earned[n], b.seed[n] = v.RewardOf(n), x.earned[n], int64(v.Rand(n).Uint64()>>1)
	b.seat[n], b.episode[n], b.step[n] = int32(v.SeatOf(n)), int32(x.before[n]+now), int32(v.StepsOf(n))
}

// said is an error with the place at which it came. A single copy is not numbered: somebody else may
// count lives.
func (x *player) said(n int, err error) error {
	life := ""
	if len(x.earned) > 1 {
		life = fmt.Sprintf(" life %d,", n)
	}
	return fmt.Errorf("%s,%s episode %d, step %d: %w", x.p.name, life, x.b.episode[n], x.b.step[n], err)
}

// legal refuses an answer that is no legal action.
func legal(names []string, mask []bool, k int32) error {
	if k >= 0 && int(k) < len(mask) && mask[k] {
		return nil
	}
	var may []string
	for i, ok := range mask {
		if ok {
			may = append(may, fmt.Sprintf("%d (%s)", i, names[i]))
		}
	}
	return fmt.Errorf("it answered %d, which is not legal here; want one of %s", k, strings.Join(may, ", "))
}

// Evaluate writes nothing: it has no values.
func (*player) Evaluate(*rollout.View, []int32) {}

// EpisodeOver remembers what the episode earned.
func (x *player) EpisodeOver(v *rollout.View, n int) { x.earned[n] = v.EarnedOf(n) }

// AppendBinary appends what the last episode of each copy earned. It is an error if the policy has a
// memory of its own, which cannot be saved.
func (x *player) AppendBinary(dst []byte) ([]byte, error) {
	if x.p.remembers {
		return nil, Unsaved(x.p.name)
	}
	for _, r := range x.earned {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(r))
	}
	return dst, nil
}

// UnmarshalBinary goes on from what AppendBinary wrote for as many copies.
func (x *player) UnmarshalBinary(src []byte) error {
	if len(src) != 8*len(x.earned) {
		return errors.New("pybot: what was saved is damaged, or of another number of envs; use the spec of the saved run")
	}
	for n := range x.earned {
		x.earned[n] = math.Float64frombits(binary.LittleEndian.Uint64(src[8*n:]))
	}
	return nil
}

// Unsaved says that a policy cannot be trained with.
func Unsaved(name string) error {
	return fmt.Errorf("%s keeps a memory that a checkpoint cannot hold, so that a run that was stopped could not go on where it was; "+
		"train among a function without one", name)
}

var (
	_ rollout.Watcher            = (*player)(nil)
	_ encoding.BinaryAppender    = (*player)(nil)
	_ encoding.BinaryUnmarshaler = (*player)(nil)
)
