package ppo_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hop-marl/hop/agent/ppo"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/num/f32"
	"github.com/hop-marl/hop/num/nn"
)

// elsewhere is a device that is the processor.
type elsewhere struct {
	ppo.Held
	model *actor.Model
	now   *nn.Params
	work  *actor.Work
	asked *f32.Sparse
	waits *int // questions that wait for an answer, of all agents
	most  *int // that have waited at a time
	err   error
}

func (d *elsewhere) Name() string { return "the processor again" }

func (d *elsewhere) Hold(_ actor.Stack, p *nn.Params, _ *nn.Adam, _ ppo.Config) (ppo.Held, error) {
	d.now, d.work = d.model.View(p).Update(), d.model.Work(100)
	return d, nil
}

func (d *elsewhere) Question() ppo.Question { return d }

func (d *elsewhere) Ask(x *f32.Sparse) {
	d.asked = x
	*d.waits++
	*d.most = max(*d.most, *d.waits)
}

func (d *elsewhere) Answer() (out []float32, err error) {
	*d.waits--
	var all []int32
	for i := range d.asked.Rows() {
		all = append(all, int32(i))
	}
	d.work.Pick(d.asked, all)
	d.work.Forward(d.now)
	k := d.model.Actions
	for i, v := range d.work.Value[:len(all)] {
		out = append(append(out, d.work.Logits[i*k:(i+1)*k]...), v)
	}
	return out, d.err
}

// move moves a world's brains.
func move(t *testing.T, w *world, err error) (most *int) {
	t.Helper()
	waits := 0
	most = new(int)
	for a, b := range w.brains {
		if err := b.Move(&elsewhere{model: b.Model, waits: &waits, most: most, err: err}); err != nil {
			t.Fatal(err)
		}
		w.play[0][a] = b.Player(agent.ID(a), w.ro.Envs)
	}
	return most
}

func TestWhoAsksADeviceActsAsItSays(t *testing.T) {
	here, there := newWorld(t, actor.Default(), ppo.Default()), newWorld(t, actor.Default(), ppo.Default())
	most := move(t, there, nil)
	for _, w := range []*world{here, there} {
		if err := w.envs.Collect(w.ro, w.play); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(here.ro.Action, there.ro.Action) || !slices.Equal(here.ro.LogProb, there.ro.LogProb) ||
		!slices.Equal(here.ro.Value, there.ro.Value) {
		t.Error("the same network, asked elsewhere, plays another window")
	}
	if *most != len(there.brains) {
		t.Errorf("%d questions wait at a time, want one of each agent", *most)
	}
}

func TestADeviceThatCannotSayWhatToDoEndsTheWindow(t *testing.T) {
	w := newWorld(t, actor.Default(), ppo.Default())
	move(t, w, errors.New("it has melted"))
	if err := w.envs.Collect(w.ro, w.play); err == nil || !strings.Contains(err.Error(), "cannot say what to do: it has melted") {
		t.Errorf("got %v", err)
	}
}
