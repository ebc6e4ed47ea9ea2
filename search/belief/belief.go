// Package belief keeps what an agent thinks its co-players want.
//
// Within an episode a belief follows Bayes' rule: b(g) <- b(g) p(a|s,g) / Z.
// Likelihoods are mixed with a uniform choice among the legal actions, because
// someone who acts at random has probability 0 under every purposeful goal.
// Across episodes discounted counts of the goals seen give the start of the next
// episode: c <- alpha c, +1 for the goal seen (HOP, section 4.1). Each of the
// two can be switched off, which are HOP's ablations. Where an agent plays on
// after it has reached a goal, what is said here of an episode holds of its
// pursuit of one goal.
//
// A co-player is an agent, not a seat: index others by who they are. Arrays are
// flat, nothing allocates after New, and the binary form holds everything.
package belief

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/config"
	"github.com/hop-marl/hop/num/rng"
)

// Config says how beliefs move.
type Config struct {
	Within bool    `yaml:"within" doc:"update within an episode by Bayes' rule; false is HOP's ablation without intra-episode update"`
	Across bool    `yaml:"across" doc:"start an episode from the goals seen in earlier ones; false is HOP's ablation without inter-episode update"`
	Decay  float64 `yaml:"decay" doc:"alpha: what a count is worth one episode later, or one goal later where several are reached in an episode; 0.995 in stag hunt, 0.98 in snowdrift" range:"0..<1"`
	Count  string  `yaml:"count" doc:"what is counted of an episode that is over: the goal that was reached (HOP), or the evidence of its actions, which also tells those who act at random" oneof:"goal|evidence"`
	Smooth float64 `yaml:"smooth" doc:"epsilon: share of a uniform choice among legal actions mixed into each likelihood; 0: none" range:"0..<1"`
}

// Default returns HOP's settings for the stag hunt, with smoothing.
func Default() Config {
	return Config{Within: true, Across: true, Decay: 0.995, Count: "goal", Smooth: 0.01}
}

// Validate returns everything that is wrong, joined.
func (c Config) Validate() error { return config.Check(c) }

// Beliefs are one agent's, about each of its co-players, in a number of envs.
type Beliefs struct {
	Config
	Envs, Others, Goals int

	p []float64 // [Goals] what is believed of somebody new
	b []float64 // [Envs][Others][Goals] within the running episodes
	c []float64 // [Others][Goals] discounted counts, shared by the envs
}

// New returns beliefs that are equal at first. It panics if a size is not positive.
func New(c Config, envs, others, goals int) *Beliefs {
	if envs < 1 || others < 1 || goals < 1 {
		panic("belief: a size is not positive")
	}
	b := &Beliefs{Config: c, Envs: envs, Others: others, Goals: goals, b: make([]float64, envs*others*goals), c: make([]float64, others*goals)}
	b.p = make([]float64, goals)
	equal(b.p)
	b.Meet(b.p)
	return b
}

// Meet begins anew with what is believed of somebody new, in place of equal
// weights: a probability for each goal.
func (b *Beliefs) Meet(prior []float64) {
	copy(b.p, prior)
	for i := range b.c {
		b.c[i] = b.p[i%b.Goals] * float64(b.Goals) * 0.5 / (1 - b.Decay)
	}
	for n := range b.Envs {
		b.Start(n)
	}
}

// At returns the belief about other j in env n, a view that sums to 1.
func (b *Beliefs) At(n, j int) []float64 {
	i := (n*b.Others + j) * b.Goals
	return b.b[i : i+b.Goals : i+b.Goals]
}

// Counts returns the discounted counts of other j, a view.
func (b *Beliefs) Counts(j int) []float64 {
	return b.c[j*b.Goals : (j+1)*b.Goals : (j+1)*b.Goals]
}

// CopyCounts makes what is counted across episodes equal to o's.
func (b *Beliefs) CopyCounts(o *Beliefs) { copy(b.c, o.c) }

// Start begins an episode in env n: from the counts, or as with somebody new if
// Across is off.
func (b *Beliefs) Start(n int) {
	for j := range b.Others {
		b.Prior(j, b.At(n, j))
	}
}

// Prior writes where a belief about other j starts.
func (b *Beliefs) Prior(j int, dst []float64) {
	if b.Across {
		copy(dst, b.Counts(j))
		normalise(dst)
		return
	}
	copy(dst, b.p)
}

// Update takes in that other j played action in env n. probs [Goals][K] are the
// likelihoods: what j would have done for each goal, seen from j's own place;
// legal [K] is j's mask. An action outside the mask, such as game.NoAction of an
// agent that has left, changes nothing, nor does anything if Within is off.
func (b *Beliefs) Update(n, j int, probs []float32, legal []bool, action int32) {
	k := len(legal)
	if len(probs) != b.Goals*k {
		panic("belief: likelihoods do not fit the goals and actions")
	}
	if !b.Within || action < 0 || int(action) >= k || !legal[action] {
		return
	}
	Bayes(b.At(n, j), probs, legal, action, b.Smooth)
}

// Bayes multiplies dst by the likelihoods of an action, mixed with the share eps
// of a uniform choice among the legal ones, and normalises. If that leaves
// nothing, the goals that were possible get equal weight (HOP's safeguard).
func Bayes(dst []float64, probs []float32, legal []bool, action int32, eps float64) {
	k, count := len(legal), 0
	for _, ok := range legal {
		if ok {
			count++
		}
	}
	floor := eps / float64(max(count, 1))
	sum := 0.
	for g, v := range dst {
		sum += v * ((1-eps)*float64(probs[g*k+int(action)]) + floor)
	}
	if !(sum > 0) || math.IsInf(sum, 1) {
		for g, v := range dst {
			if dst[g] = 0; v > 0 {
				dst[g] = 1
			}
		}
		normalise(dst)
		return
	}
	for g := range dst {
		dst[g] *= ((1-eps)*float64(probs[g*k+int(action)]) + floor) / sum
	}
}

// Seen counts the goal that other j reached in an episode that is over. Nothing
// changes for game.NoGoal, or if Across is off.
func (b *Beliefs) Seen(j, goal int) {
	if !b.Across || goal == game.NoGoal {
		return
	}
	c := b.Counts(j)
	for g := range c {
		c[g] *= b.Decay
	}
	c[goal]++
}

// Over counts an episode of env n that is over, as Count says: the goal that other
// j reached, as Seen does, or the evidence: what the belief would be if the episode
// had started from equal weights. Counting the belief itself would count the past
// again and again. Nothing changes if Across is off.
func (b *Beliefs) Over(n, j, goal int) {
	if b.Count != "evidence" {
		b.Seen(j, goal)
		return
	}
	if !b.Across {
		return
	}
	c := b.Counts(j)
	start, sum := 0., 0. // the episode started from c / start
	for _, x := range c {
		start += x
	}
	now := b.At(n, j)
	for g, x := range c {
		sum += now[g] * start / max(x, 1e-9)
	}
	for g, x := range c {
		c[g] = b.Decay*x + now[g]*start/max(x, 1e-9)/sum
	}
}

// Draw draws a goal for each other of env n.
func (b *Beliefs) Draw(dst []int32, n int, r *rng.Rand) {
	for j := range b.Others {
		dst[j] = max(0, rng.Pick(b.At(n, j), r.Float64()))
	}
}

func equal(dst []float64) {
	for g := range dst {
		dst[g] = 1 / float64(len(dst))
	}
}

// normalise makes dst sum to 1; nothing at all becomes equal weights.
func normalise(dst []float64) {
	sum := 0.
	for _, v := range dst {
		sum += v
	}
	if !(sum > 0) {
		equal(dst)
		return
	}
	for g := range dst {
		dst[g] /= sum
	}
}

// AppendBinary appends all beliefs and counts.
func (b *Beliefs) AppendBinary(dst []byte) ([]byte, error) {
	for _, n := range []int{b.Envs, b.Others, b.Goals} {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	}
	return appendFloats(appendFloats(dst, b.b), b.c), nil
}

// UnmarshalBinary restores what AppendBinary wrote, into beliefs of the same
// size. After an error nothing has changed.
func (b *Beliefs) UnmarshalBinary(src []byte) error {
	if want := 12 + 8*(len(b.b)+len(b.c)); len(src) != want {
		return fmt.Errorf("belief: loading: %d bytes, want %d for %d envs, %d others and %d goals", len(src), want, b.Envs, b.Others, b.Goals)
	}
	for i, want := range []int{b.Envs, b.Others, b.Goals} {
		if got := int(binary.LittleEndian.Uint32(src[4*i:])); got != want {
			return fmt.Errorf("belief: loading: saved for sizes %d at place %d, want %d; use the spec that the checkpoint was made with", got, i,
				want)
		}
	}
	all := make([]float64, len(b.b)+len(b.c))
	if err := readFloats(all, src[12:]); err != nil {
		return err
	}
	copy(b.b, all)
	copy(b.c, all[len(b.b):])
	return nil
}

func appendFloats(dst []byte, xs []float64) []byte {
	for _, x := range xs {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
	}
	return dst
}

func readFloats(dst []float64, src []byte) error {
	for i := range dst {
		x := math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:]))
		if !(x >= 0) || math.IsInf(x, 1) {
			return fmt.Errorf("belief: loading: number %d is %v, want one that is not negative; the checkpoint is damaged", i, x)
		}
		dst[i] = x
	}
	return nil
}
