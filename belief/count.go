package belief

import (
	"encoding/binary"
	"fmt"
)

// Drifts are one agent's beliefs in games where a co-player may reach several
// goals in an episode, such as snowdrift: which of the things left it goes for
// next, or none. The last goal is "none".
//
// Across episodes it counts how many things a co-player took, k in 0..Most, from
// a start of Poisson(1) cut off at Most and scaled to 1/(1-Decay) episodes
// (HOP's released code). Someone who has taken m goes for another one with
// probability P(k > m | k >= m), and for each that is left alike.
type Drifts struct {
	Config
	Envs, Others, Most int

	b     []float64 // [Envs][Others][Most+1]: each thing, then none
	c     []float64 // [Others][Most+1] discounted counts of episodes with k taken
	left  []bool    // [Envs][Most]
	taken []int32   // [Envs][Others] in the running episode
}

// NewDrifts returns beliefs about games with most things to take. It panics if
// a size is not positive.
func NewDrifts(c Config, envs, others, most int) *Drifts {
	if envs < 1 || others < 1 || most < 1 {
		panic("belief: a size is not positive")
	}
	d := &Drifts{
		Config: c, Envs: envs, Others: others, Most: most,
		b: make([]float64, envs*others*(most+1)), c: make([]float64, others*(most+1)),
		left: make([]bool, envs*most), taken: make([]int32, envs*others),
	}
	for j := range others {
		c := d.Counts(j)
		p := 1.
		for k := range c {
			if k > 0 {
				p /= float64(k)
			}
			c[k] = p
		}
		normalise(c)
		for k := range c {
			c[k] /= 1 - d.Decay
		}
	}
	for n := range envs {
		d.Start(n)
	}
	return d
}

// At returns the belief about other j in env n, a view: [Most] things and none.
func (d *Drifts) At(n, j int) []float64 {
	w := d.Most + 1
	i := (n*d.Others + j) * w
	return d.b[i : i+w : i+w]
}

// Counts returns the discounted counts of other j, a view: episodes with
// 0..Most things taken.
func (d *Drifts) Counts(j int) []float64 {
	w := d.Most + 1
	return d.c[j*w : (j+1)*w : (j+1)*w]
}

// Start begins an episode in env n, with everything left to take.
func (d *Drifts) Start(n int) {
	for i := range d.Most {
		d.left[n*d.Most+i] = true
	}
	for j := range d.Others {
		d.taken[n*d.Others+j] = 0
		d.aim(n, j)
	}
}

// more returns the probability that other j takes another thing after m.
func (d *Drifts) more(j int, m int32) float64 {
	if !d.Across {
		return 0.5
	}
	rest, all := 0., 0.
	for k, v := range d.Counts(j) {
		if k >= int(m) {
			all += v
		}
		if k > int(m) {
			rest += v
		}
	}
	if !(all > 0) {
		return 0.5
	}
	return rest / all
}

// aim gives other j's next goal its weights before anything is seen of it.
func (d *Drifts) aim(n, j int) {
	b, left := d.At(n, j), d.left[n*d.Most:(n+1)*d.Most]
	count := 0
	for _, ok := range left {
		if ok {
			count++
		}
	}
	clear(b)
	b[d.Most] = 1
	if count == 0 {
		return
	}
	p := d.more(j, d.taken[n*d.Others+j])
	b[d.Most] = 1 - p
	for i, ok := range left {
		if ok {
			b[i] = p / float64(count)
		}
	}
}

// Update takes in that other j played action, as Beliefs.Update does, with
// likelihoods [Most+1][K].
func (d *Drifts) Update(n, j int, probs []float32, legal []bool, action int32) {
	k := len(legal)
	if len(probs) != (d.Most+1)*k {
		panic("belief: likelihoods do not fit the goals and actions")
	}
	if !d.Within || action < 0 || int(action) >= k || !legal[action] {
		return
	}
	Bayes(d.At(n, j), probs, legal, action, d.Smooth)
}

// Taken says that a thing is gone in env n, and which others took it. Those look
// for their next goal anew; nobody can go for it any more.
func (d *Drifts) Taken(n, thing int, by []bool) {
	d.left[n*d.Most+thing] = false
	for j := range d.Others {
		if by[j] {
			d.taken[n*d.Others+j]++
			d.aim(n, j)
			continue
		}
		b := d.At(n, j)
		b[thing] = 0
		sum := 0.
		for _, v := range b {
			sum += v
		}
		if !(sum > 0) { // it was certain to go there
			d.aim(n, j)
			continue
		}
		normalise(b)
	}
}

// Seen ends an episode of env n: the counts take in how many things each other
// took, unless Across is off.
func (d *Drifts) Seen(n int) {
	if !d.Across {
		return
	}
	for j := range d.Others {
		c := d.Counts(j)
		for k := range c {
			c[k] *= d.Decay
		}
		c[min(int(d.taken[n*d.Others+j]), d.Most)]++
	}
}

// AppendBinary appends everything.
func (d *Drifts) AppendBinary(dst []byte) ([]byte, error) {
	for _, n := range []int{d.Envs, d.Others, d.Most} {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	}
	for _, ok := range d.left {
		if ok {
			dst = append(dst, 1)
		} else {
			dst = append(dst, 0)
		}
	}
	for _, m := range d.taken {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(m))
	}
	return appendFloats(appendFloats(dst, d.b), d.c), nil
}

// UnmarshalBinary restores what AppendBinary wrote, into beliefs of the same
// size. After an error nothing has changed.
func (d *Drifts) UnmarshalBinary(src []byte) error {
	head := 12 + len(d.left) + 4*len(d.taken)
	if want := head + 8*(len(d.b)+len(d.c)); len(src) != want {
		return fmt.Errorf("belief: loading: %d bytes, want %d for %d envs, %d others and %d things", len(src), want, d.Envs, d.Others, d.Most)
	}
	for i, want := range []int{d.Envs, d.Others, d.Most} {
		if got := int(binary.LittleEndian.Uint32(src[4*i:])); got != want {
			return fmt.Errorf("belief: loading: saved for sizes %d at place %d, want %d; use the spec that the checkpoint was made with", got, i, want)
		}
	}
	all := make([]float64, len(d.b)+len(d.c))
	if err := readFloats(all, src[head:]); err != nil {
		return err
	}
	for i := range d.left {
		d.left[i] = src[12+i] == 1
	}
	for i := range d.taken {
		d.taken[i] = int32(binary.LittleEndian.Uint32(src[12+len(d.left)+4*i:]))
	}
	copy(d.b, all)
	copy(d.c, all[len(d.b):])
	return nil
}
