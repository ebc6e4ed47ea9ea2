package reference

import (
	"math"
	"slices"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
)

// gauss returns a matrix of normal numbers.
func gauss(rows, cols int, r *rng.Rand) *Mat {
	m := NewMat(rows, cols)
	for i := range m.V {
		m.V[i] = r.Norm()
	}
	return m
}

// Every function of the tape has the derivative that differences give.
func TestDerivativesAreThoseOfDifferences(t *testing.T) {
	r := rng.New(1).Rand()
	legal := []bool{true, false, true, true, true, true, false, true, true, true, true, true}
	for _, c := range []struct {
		name string
		in   []*Mat
		f    func(t *Tape, in []*Mat) *Mat
	}{
		{"affine, relu, tanh", []*Mat{gauss(3, 4, &r), gauss(4, 2, &r), gauss(1, 2, &r)}, func(t *Tape, in []*Mat) *Mat {
			return t.Tanh(t.ReLU(t.Affine(in[0], in[1], in[2])))
		}},
		{"a policy's loss", []*Mat{gauss(3, 4, &r), gauss(3, 1, &r)}, func(t *Tape, in []*Mat) *Mat {
			logp := t.LogSoftmax(in[0], legal)
			ratio := t.Exp(t.At(logp, []int32{0, 1, 3}))
			worse := t.Max(t.Mul(ratio, in[1]), t.Mul(t.Clamp(ratio, 0.2, 0.3), in[1]))
			return t.Add(worse, t.Scale(t.Entropy(logp, legal), 0.3))
		}},
		{"slices, rows and weights", []*Mat{gauss(4, 3, &r), gauss(4, 2, &r)}, func(t *Tape, in []*Mat) *Mat {
			x := t.Concat(in[0], in[1])
			return t.Weigh(t.Mul(t.Pick(t.Slice(x, 1, 4), []int{2, 2, 0}), t.Slice(t.Pick(x, []int{0, 1, 3}), 0, 3)),
				[]float64{1, -2, 3, 4, 5, 6, 7, 8, 9})
		}},
		{"an LSTM", []*Mat{gauss(2, 3, &r), gauss(2, 2, &r), gauss(2, 2, &r), gauss(3, 8, &r), gauss(2, 8, &r), gauss(1, 8, &r)},
			func(t *Tape, in []*Mat) *Mat {
				net := Net{"lstm/wx": in[3], "lstm/wh": in[4], "lstm/b": in[5]}
				h, c := t.LSTM(net, "lstm", in[0], in[1], in[2])
				h, c = t.LSTM(net, "lstm", in[0], reset(t, h, []bool{true, false}), t.Choose([]bool{true, false}, c, in[2]))
				return t.Stack([]*Mat{h, c})
			}},
		{"a convolution", []*Mat{gauss(2, 12, &r), gauss(18, 3, &r), gauss(1, 3, &r)}, func(t *Tape, in []*Mat) *Mat {
			return t.Sigmoid(t.Conv3x3(in[0], in[1], in[2], 2, 3, 2))
		}},
	} {
		tape := &Tape{}
		tape.Backward(c.f(tape, c.in))
		sum := func() float64 {
			s := 0.
			for _, v := range c.f(&Tape{}, c.in).V {
				s += v
			}
			return s
		}
		for k, m := range c.in {
			for i := range m.V {
				const h = 1e-6
				was := m.V[i]
				m.V[i] = was + h
				up := sum()
				m.V[i] = was - h
				down := sum()
				m.V[i] = was
				if want := (up - down) / (2 * h); math.Abs(m.G[i]-want) > 1e-6*max(1, math.Abs(want)) {
					t.Errorf("%s: the derivative by input %d, entry %d is %v, differences give %v", c.name, k, i, m.G[i], want)
				}
			}
		}
	}
}

// An exit is worth nothing more, a cut what the value after it says, and who is gone
// has no advantage: two episodes of one agent by hand.
func TestAdvantagesByHand(t *testing.T) {
	ro := batch.New(batch.Shape{Agents: 1, Steps: 4, Envs: 1, ObsLen: 1, Actions: 1})
	copy(ro.Value, []float32{1, 2, 0, 3, 5})
	copy(ro.Reward, []float32{0.5, 4, 0, 1})
	copy(ro.Alive, []bool{true, true, false, true, true})
	ro.End[1], ro.End[3] = batch.Exited, batch.Cut
	w := &Window{Rollout: ro, Rewards: Rewards{Scale: 1}}
	adv, ret := w.Advantages(0, PPO{Gamma: 0.9, Lambda: 0.5})
	last := 4. - 2
	first := 0.5 + 0.9*2 - 1 + 0.45*last
	for i, want := range []float64{first, last, 0, 1 + 0.9*5 - 3} {
		if math.Abs(adv[i]-want) > 1e-12 || adv[i] != 0 && math.Abs(ret[i]-want-float64(ro.Value[i])) > 1e-12 {
			t.Errorf("step %d: advantage %v, return %v, want %v", i, adv[i], ret[i], want)
		}
	}
}

// A share of the team's rewards includes what it earns after one has left, with a
// discount, until the next episode.
func TestEarnedAfterLeaving(t *testing.T) {
	ro := batch.New(batch.Shape{Agents: 2, Steps: 4, Envs: 1, ObsLen: 1, Actions: 1})
	for i := range ro.Reached {
		ro.Reached[i] = game.NoGoal
	}
	copy(ro.Alive, []bool{true, false, false, true, true, true, true, true, true, true})
	copy(ro.Reward, []float32{1, 0, 0, 2, 0, 4, 0, 8})
	ro.Start[3] = true
	got := earned(ro, 0, Rewards{Scale: 2, Prosocial: 0.5, Gamma: 0.5})
	if want := []float64{1 + 0.5*(1+0.5*4), 0, 0, 2 + 0.5*(2+8)}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A thing in the corner is seen by its offset from oneself, and by row and column.
func TestEncodeAroundOneself(t *testing.T) {
	in := frame.Input{Height: 2, Width: 2, Planes: 2, Rest: 1, Extra: 1}
	obs := make([]float32, in.Len())
	obs[0*2] = 1   // oneself at (0, 0)
	obs[3*2+1] = 1 // the thing at (1, 1)
	obs[8] = 0.5
	got := encode(frame.Egof, in, obs, []float32{7})
	want := make([]float64, 9+4+6+2)
	want[2*3+2], want[9], want[11] = 1, 1, 1 // one row down and one column right; row 0, column 0
	want[13+2], want[16+2], want[19], want[20] = 1, 1, 0.5, 7
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Adam's first step is the rate in every direction, whatever the gradient.
func TestAdamsFirstStep(t *testing.T) {
	net := Net{"w": NewMat(1, 2)}
	copy(net["w"].G, []float64{3, -4})
	o := &Adam{Mean: Net{"w": NewMat(1, 2)}, Square: Net{"w": NewMat(1, 2)}, Eps: 1e-12}
	if norm := o.Step(net, 0.1, 1); norm != 5 || math.Abs(net["w"].V[0]+0.1) > 1e-9 || math.Abs(net["w"].V[1]-0.1) > 1e-9 {
		t.Errorf("norm %v, weights %v", norm, net["w"].V)
	}
}

// Changes are told apart by direction, by length, and by a part that stays behind.
func TestCompareTellsChangesApart(t *testing.T) {
	r := rng.New(2).Rand()
	was := Net{"a": gauss(10, 10, &r), "b": gauss(1, 10, &r)}
	move := func(a, b float64) Net {
		n, d := was.Clone(), rng.New(3).Rand()
		for _, name := range []string{"a", "b"} {
			k := map[string]float64{"a": a, "b": b}[name]
			for i := range n[name].V {
				n[name].V[i] += k * d.Norm()
			}
		}
		return n
	}
	want := move(1, 1)
	for _, c := range []struct {
		got  Net
		same bool
		part string
	}{{move(1, 1), true, ""}, {move(-1, -1), false, "a"}, {move(0.1, 0.1), false, "a"}, {move(1, 0), false, "b"}, {move(1.001, 1), true, ""}} {
		if d := was.Compare(c.got, want); d.Same() != c.same || d.Part != c.part {
			t.Errorf("got %+v, want same %v, part %q", d, c.same, c.part)
		}
	}
}

// What two draws of chance are off is the larger of both, in all and part by part.
func TestChangesWiden(t *testing.T) {
	part := func(name string, cosine float64) Change { return Change{Name: name, Cosine: cosine, Length: 1} }
	var c Change
	for _, by := range []Change{
		{Cosine: .9, Length: 1, Parts: []Change{part("a", .5), part("b", .99)}},
		{Cosine: .8, Length: 1, Parts: []Change{part("a", .6), part("b", .7)}},
		{Cosine: .95, Length: 1, Parts: []Change{part("a", .4), part("b", 1)}},
	} {
		c.Widen(by)
	}
	if c.Cosine != .8 || c.Parts[0].Cosine != .4 || c.Parts[1].Cosine != .7 {
		t.Errorf("got %+v", c)
	}
}

// What rounding does to an update says how far it may be off, and no more than that: an update the other way round, of a
// part of the network too, is found in a run that is unsteady, unless chance alone takes it anywhere.
func TestUnsteadyUpdatesAreAllowedWhatChanceDoes(t *testing.T) {
	r := rng.New(2).Rand()
	was := Net{"a": gauss(10, 10, &r), "b": gauss(1, 10, &r)}
	moved := func(a, b, noise float64) Net { // the update, and chance beside it
		n, d, e := was.Clone(), rng.New(3).Rand(), rng.New(4).Rand()
		for _, name := range []string{"a", "b"} {
			k := map[string]float64{"a": a, "b": b}[name]
			for i := range n[name].V {
				n[name].V[i] += k*d.Norm() + noise*e.Norm()
			}
		}
		return n
	}
	want := moved(1, 1, 0)
	for _, c := range []struct {
		got    Net
		chance float64
		within bool
	}{
		{moved(1, 1, .1), 0, false}, {moved(1, 1, .1), .01, false}, {moved(1, 1, .1), .05, true}, {moved(1, 1, -.1), .05, true},
		{moved(-1, -1, 0), .05, false}, {moved(-1, -1, 0), .45, false}, {moved(-1, -1, 0), .9, true},
		{moved(1, -1, 0), .05, false}, {moved(1, -1, 0), .1, false}, {moved(.2, .2, 0), .05, false}, {moved(3, 3, 0), .3, false},
	} {
		if d := was.Compare(c.got, want); d.Within(was.Compare(moved(1, 1, c.chance), want)) != c.within {
			t.Errorf("%+v, where chance has %g: within %v", d, c.chance, !c.within)
		}
	}
}

// Of what is certain float32 leaves nothing to learn, and of what is nearly certain whole digits: so do gradients here.
func TestWhatIsCertainTeachesNothing(t *testing.T) {
	for x := float32(-24); x <= 24; x += .5 {
		bits, got := nn.NewBernoulli(1, 1), []float32{0}
		bits.Set(nn.Logits{x}, 1)
		bits.Loss(got, []float32{1}, nn.Rows{N: 1})
		logits, tape := &Mat{Rows: 1, Cols: 1, V: []float64{float64(x)}, G: []float64{0}}, &Tape{round: ulps(0)}
		tape.Backward(bitsLoss(tape, logits, []float64{1}, []float64{1}, 1))
		if want := float64(got[0]); math.Abs(logits.G[0]-want) > 1e-6*math.Abs(want) && math.Abs(logits.G[0]-want) > 1.2e-7 ||
			x > 17 && logits.G[0] != 0 {
			t.Errorf("a bit of logit %g: gradient %g, want %g", x, logits.G[0], want)
		}
	}
	for _, shaken := range []uint64{1, 2, 3} {
		if by := (ulps(shaken) - 1) / 1.2e-7; math.Abs(by-[]float64{0, 1, -1, 0}[shaken]) > 1e-6 {
			t.Errorf("shaken by %d: %g digits", shaken, by)
		}
	}
}

// What an agent reached best lies in its own episode, at most so many steps ahead, and not behind.
func TestReachedIsTheBestOfWhatComes(t *testing.T) {
	got := Reached([]float32{0, 4, 0, 0, 1}, .5, 2) // worth 2.125 4.25 .5... from each step on
	if want := [][]int{{1}, {3}, {4}, {4}, {4}}; !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %v, want %v", got, want)
	}
}
