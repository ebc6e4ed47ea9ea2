package card_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/cuda/card"
	"github.com/hop-marl/hop/cuda/driver"
	"github.com/hop-marl/hop/game/frame"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/registry"
	"github.com/hop-marl/hop/train/spec"
)

var fake = sync.OnceValues(func() (*card.Card, error) {
	dir, err := os.MkdirTemp("", "hop-cuda")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	lib := filepath.Join(dir, "fake.so")
	compile := exec.Command("g++", "-O2", "-U_FORTIFY_SOURCE", "-std=c++17", "-shared", "-fPIC", "../kernels/fake/fake.cpp", "-o", lib)
	if out, err := compile.CombinedOutput(); err != nil {
		return nil, errors.New("g++ cannot compile a card for tests: " + err.Error() + "\n" + string(out))
	}
	return card.Open(lib)
})

// device is a real card if there is one, or the one for tests.
func device(t *testing.T) ppo.Device {
	t.Helper()
	if c, err := card.Open(driver.Library); err == nil {
		return c
	}
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("there is neither a card nor g++, which makes one for tests")
	}
	c, err := fake()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// small are settings of a few small windows.
var small = []string{"train.envs=8", "train.window=10", "train.steps=160", "train.save=1000000", "ppo.minibatch=40", "ppo.epochs=2"}

// nets are the networks that a card can hold.
var nets = map[string][]string{
	"dense": {"actor.hidden=[20,12]"},
	"tanh":  {"actor.hidden=[70]", "actor.act=tanh", "ppo.max_grad=0"},
	"board": {"actor.frame=board", "actor.hidden=[16]", "ppo.clip_value=true", "ppo.clip=0.01"},
	"convolutions": {"actor.net=conv", "actor.frame=board", "train.envs=4", "train.window=5", "train.steps=20", "ppo.minibatch=14",
		"ppo.epochs=1"},
	"wide": {"actor.hidden=[512,513]", "train.envs=4", "train.window=5", "train.steps=20", "ppo.minibatch=20", "ppo.epochs=1",
		"train.team=[learn,nh,nh,nh]"},
	"several blocks": {"train.envs=80", "train.window=10", "train.steps=1600", "ppo.minibatch=300", "actor.hidden=[8]"},
}

// build makes a training.
func build(t *testing.T, d ppo.Device, sets ...string) *train.SelfPlay {
	t.Helper()
	return buildFor(t, 1, d, sets...)
}

func buildFor(t *testing.T, workers int, d ppo.Device, sets ...string) *train.SelfPlay {
	t.Helper()
	reg := registry.New()
	reg.Device = d
	sp, err := reg.Load("ppo-4x4", slices.Concat(small, sets))
	if err != nil {
		t.Fatal(err)
	}
	loop, err := sp.Build(1, spec.Machine{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	return loop
}

// run trains for a number of windows; 0: to the end.
func run(t *testing.T, loop *train.SelfPlay, windows int) error {
	t.Helper()
	to, err := runlog.Create(filepath.Join(t.TempDir(), "run"), nil, runlog.Info{})
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	err = loop.Run(ctx, to, func(p *train.Progress) {
		if windows--; windows == 0 {
			stop()
		}
	})
	if windows == 0 && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// saved returns what a training is now.
func saved(t *testing.T, loop *train.SelfPlay) []byte {
	t.Helper()
	b, err := loop.Save()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// numbers returns what minds have learnt, and Adam's moments.
func numbers(t *testing.T, loop *train.SelfPlay) map[string][]float32 {
	t.Helper()
	f, err := safetensors.Parse(saved(t, loop))
	if err != nil {
		t.Fatal(err)
	}
	list := map[string][]float32{}
	for _, x := range f.Tensors {
		if !strings.HasPrefix(x.Name, "mind/") || x.DType != "F32" {
			continue
		}
		list[x.Name] = make([]float32, len(x.Data)/4)
		if err := f.Float32(list[x.Name], x.Name, x.Shape...); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// far returns how far x is from y, relative to y.
func far(x, y []float32) float64 {
	var off, of float64
	for i := range x {
		off += math.Pow(float64(x[i]-y[i]), 2)
		of += math.Pow(float64(y[i]), 2)
	}
	return math.Sqrt(off / max(of, 1e-30))
}

func TestTheCardLearnsWhatTheProcessorLearns(t *testing.T) {
	d := device(t)
	for name, sets := range nets {
		t.Run(name, func(t *testing.T) {
			cpu, gpu := build(t, nil, sets...), build(t, d, sets...)
			for _, loop := range []*train.SelfPlay{cpu, gpu} {
				if err := run(t, loop, 1); err != nil {
					t.Fatal(err)
				}
			}
			want, got := numbers(t, cpu), numbers(t, gpu)
			if len(got) != len(want) || len(got) == 0 {
				t.Fatalf("%d arrays, want %d", len(got), len(want))
			}
			for part, x := range want {
				if off := far(got[part], x); !(off < 1e-4) {
					t.Errorf("%s is off by %.2g of its length", part, off)
				}
			}
		})
	}
}

func TestTheCardGivesTheSameBytesAgainAndResumed(t *testing.T) {
	d := device(t)
	for _, name := range []string{"dense", "several blocks", "convolutions", "dense, a window behind", "convolutions, a window behind"} {
		net, behind := strings.CutSuffix(name, ", a window behind")
		sets := append([]string{"ppo.lr_end=0.0001", "ppo.entropy_end=0", fmt.Sprint("train.behind=", behind)}, nets[net]...)
		if net == "convolutions" {
			sets = append(sets, "train.steps=40", "ppo.minibatch=20", "train.team=[learn,nh,nh,nh]")
		}
		first, second, third := build(t, d, sets...), build(t, d, sets...), build(t, d, sets...)
		var both sync.WaitGroup // side by side, as windows of any two may be
		for _, loop := range []*train.SelfPlay{first, second} {
			both.Go(func() {
				if err := run(t, loop, 0); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		if !bytes.Equal(saved(t, first), saved(t, second)) {
			t.Errorf("%s: two runs of one seed differ", name)
		}
		if err := run(t, third, 1); err != nil {
			t.Fatal(err)
		}
		fourth := build(t, d, sets...)
		if err := fourth.Load(saved(t, third)); err != nil {
			t.Fatal(err)
		}
		if err := run(t, fourth, 0); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(saved(t, fourth), saved(t, first)) {
			t.Errorf("%s: a resumed run differs from an uninterrupted one", name)
		}
	}
}

func TestAGradientThatIsNotFiniteIsNamed(t *testing.T) {
	loop := build(t, device(t), "ppo.lr=1e38", "ppo.max_grad=0")
	err := run(t, loop, 0)
	if err == nil || !strings.Contains(err.Error(), "is not finite") || !strings.Contains(err.Error(), "gradient of") {
		t.Errorf("got %v, want which gradient is not finite", err)
	}
}

func TestWhatACardCannotLearnIsRefused(t *testing.T) {
	d := device(t)
	for _, c := range []struct{ preset, set, want string }{
		{"ppo-4x4", "actor.lstm=8", "actor.lstm"},
		{"ppo-4x4", "actor.separate=true", "actor.separate"},
		{"ppo-4x4", "actor.turn=true", "actor.turn"},
		{"ppo-4x4", "ppo.target_kl=0.1", "ppo.target_kl"},
		{"lola-matrix", "train.envs=8", "PPO and nothing else"},
	} {
		reg := registry.New()
		reg.Device = d
		sp, err := reg.Load(c.preset, []string{c.set})
		if err != nil {
			t.Fatal(err)
		}
		_, err = sp.Build(1, spec.Machine{Workers: 1})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "without --device") {
			t.Errorf("%s with %s: got %v, want a sentence with %q", c.preset, c.set, err, c.want)
		}
	}
}

func TestWithoutACardThatIsSaid(t *testing.T) {
	_, err := card.Open("libnothing.so.1")
	if err == nil || !strings.Contains(err.Error(), "no driver") {
		t.Errorf("got %v", err)
	}
}

// rows returns a window of so many rows for a network that reads one number.
func rows(n int) ppo.Passes {
	l := ppo.Passes{X: &f32.Sparse{}, LR: 1e-3}
	l.X.Reset(1)
	for i := range n {
		l.X.AppendEntry(0, 1)
		l.X.EndRow()
		l.Action, l.Orders, l.Legal = append(l.Action, 0), append(l.Orders, int32(i)), append(l.Legal, true, true)
	}
	zeros := make([]float32, n)
	l.LogProb, l.Value, l.Adv, l.Ret = zeros, zeros, zeros, zeros
	return l
}

// TestWindowsThatGrowDoNotWaitForEachOther has many networks of one shape ask for more and more room, while others are
// announced.
func TestWindowsThatGrowDoNotWaitForEachOther(t *testing.T) {
	d := device(t)
	cfg := ppo.Default()
	cfg.Epochs, cfg.Minibatch = 1, 64
	net := actor.Config{Net: "dense", Frame: "board", Hidden: []int{4}, Act: "relu"}
	var all sync.WaitGroup
	for i := range 24 {
		m, p, err := actor.New(net, actor.Input{Input: frame.Input{Rest: 1}, Actions: 2}, rng.New(uint64(i)))
		if err != nil {
			t.Fatal(err)
		}
		stack, err := m.Stack()
		if err != nil {
			t.Fatal(err)
		}
		held, err := d.Hold(stack, p, nn.NewAdam(p, nn.AdamConfig{}), cfg)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for window := range 12 {
				held.Announce(true)
				if _, err := held.Learn(rows(1 + window*(3+i%5))); err != nil {
					t.Error(err)
				}
				held.Announce(false)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		all.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("windows wait for each other")
	}
}
