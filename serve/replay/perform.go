package replay

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/hop-marl/hop/agent/hop/pretrained"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/lab/play"
	model "github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/nn"
)

// moment is what later looks need of one slot: a copy of its state, and what was played there.
type moment struct {
	state   game.State
	actions []int32 // [Seats] nil at the last slot
}

// play plays an episode and sends it: its head, every step as soon as it is known, the regret of
// each step where there is one, and what came of it.
func (t *Theatre) play(ctx context.Context, a Ask, send emitter) error {
	sc, err := cores.Await(ctx, func() (*scene, error) { return t.guarded(ctx, a) })
	if err != nil {
		return err
	}
	ep, err := play.NewEpisode(sc.options)
	if err != nil {
		return err
	}
	defer ep.Close()
	for i := range a.Before {
		if err := wholeEpisode(ctx, ep); err != nil {
			return err
		}
		if err := ep.Next(a.Seed + uint64(i) + 1); err != nil {
			return err
		}
	}
	worlds := sc.worlds()
	if err := send.send("head", sc.head(a, ep.Frame(), worlds)); err != nil {
		return err
	}
	seen := map[string]bool{}
	sums := newSums()
	var moments []moment
	v := viewOf(ep.Frame(), sc.scales, seen)
	for {
		if err := send.send("step", v); err != nil {
			return err
		}
		now := moment{state: sc.game.New()}
		now.state.CopyFrom(ep.State())
		if ep.Frame().Over {
			moments = append(moments, now)
			break
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		act := game.NoAction
		if ep.Waits() {
			if act, err = a.move(len(moments), ep); err != nil {
				return err
			}
		}
		before := *ep.Frame()
		if err := ep.Step(act); err != nil {
			return err
		}
		actions, rewards := ep.Last()
		now.actions = append([]int32(nil), actions...)
		moments = append(moments, now)
		sums.add(&before, now.actions, ep.Frame())
		v = viewOf(ep.Frame(), sc.scales, seen)
		for s, w := range worlds {
			if w == nil || !before.Players[s].Alive {
				continue
			}
			if v.Imagined == nil {
				v.Imagined = make([]*imagined, len(worlds))
			}
			if v.Imagined[s], err = w.imagine(now, ep.State(), game.Seat(s), rewards); err != nil {
				return err
			}
			for _, c := range v.Imagined[s].Cells {
				for _, x := range c.Things {
					v.picture(x.Name, seen)
				}
			}
		}
	}
	if err := send.send("sums", sums.list()); err != nil {
		return err
	}
	if err := t.regrets(ctx, sc, moments, send); err != nil {
		return err
	}
	return send.send("end", struct{}{})
}

// wholeEpisode plays an episode that nobody looks at.
func wholeEpisode(ctx context.Context, ep *play.Episode) error {
	for !ep.Frame().Over {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := ep.Step(game.NoAction); err != nil {
			return err
		}
	}
	return nil
}

// guarded gets a team ready; what goes wrong inside a mind there is an error.
func (t *Theatre) guarded(ctx context.Context, a Ask) (sc *scene, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the team could not be seated: %v", p)
		}
	}()
	return t.team(ctx, a)
}

// move returns what the person played at a step.
func (a *Ask) move(at int, ep *play.Episode) (int32, error) {
	if at >= len(a.Moves) {
		return 0, fmt.Errorf("the person on seat %d played %d steps, and the episode goes on", a.Human, len(a.Moves))
	}
	k := a.Moves[at]
	if legal := ep.Legal(); k < 0 || int(k) >= len(legal) || !legal[k] {
		return 0, fmt.Errorf("the person on seat %d cannot have played action %d at step %d: it is not legal there", a.Human, k, at)
	}
	return k, nil
}

// head says what does not change in the episode.
func (sc *scene) head(a Ask, f *play.Frame, worlds []*world) head {
	spec := sc.game.Spec()
	h := head{
		Title: f.Title, Episode: f.Episode, Game: spec.Name, Actions: spec.Actions, Keys: play.Keys(spec.Actions), Goals: spec.Goals,
		Horizon: spec.Horizon, Height: f.Height, Width: f.Width, View: spec.View, Human: int(a.Human), Run: a.Run.Name, Step: a.Run.Step,
		Seed: strconv.FormatUint(a.Seed, 10),
	}
	for s, name := range sc.names {
		x := seat{Name: name, Kind: sc.kinds[s], World: worlds[s] != nil}
		if err := sc.solvable(game.Seat(s)); err != nil {
			x.Regret = err.Error()
		}
		h.Seats = append(h.Seats, x)
	}
	return h
}

var nan = number(math.NaN())

// world asks the world model of an agent what it imagines.
type world struct {
	spec   game.Spec
	model  *model.Model
	params *nn.Params
	work   *model.Work
	obs    []float32 // what the seat sees before the step
	after  []float32 // and after it
	next   model.Next
}

// worlds returns the world models of those who have one, by seat; nil where there is none.
func (sc *scene) worlds() []*world {
	spec := sc.game.Spec()
	list := make([]*world, spec.Seats)
	for s, p := range sc.players {
		has, ok := p.(interface{ Models() pretrained.Models })
		if !ok {
			continue
		}
		m := has.Models()
		if m.World == nil || m.Steps == nil || m.World.Len() != spec.Obs.Len() || m.World.Agents != spec.Seats || spec.Obs.Height == 0 {
			continue
		}
		w := &world{spec: spec, model: m.World, params: m.Steps, work: m.World.Work()}
		w.obs, w.after = make([]float32, spec.Obs.Len()), make([]float32, spec.Obs.Len())
		w.next = model.Next{Planes: make([]float32, spec.Obs.PlanesLen()), Doubt: make([]float32, 1)}
		for range spec.Seats {
			w.next.Mean, w.next.Gone = append(w.next.Mean, make([]float32, 1)), append(w.next.Gone, make([]float32, 1))
		}
		list[s] = w
	}
	return list
}

// imagined is what a world model expected of a step, and where that was wrong.
type imagined struct {
	Cells   []expectedCell `json:"cells"`
	Rewards []number       `json:"rewards"` // [Seats] expected
	Paid    []number       `json:"paid"`    // [Seats] what was earned
	Gone    []number       `json:"gone"`    // [Seats] how likely each has left
	Doubt   number         `json:"doubt"`   // how unsure it was of all of it
	Wrong   []wrong        `json:"wrong,omitempty"`
}

// expectedCell is what may stand on a cell.
type expectedCell struct {
	At     int        `json:"at"`
	Seats  []likeSeat `json:"seats,omitempty"`
	Things []likely   `json:"things,omitempty"`
}

type likeSeat struct {
	Seat game.Seat `json:"seat"`
	P    number    `json:"p"`
}

type likely struct {
	Name string `json:"name"`
	P    number `json:"p"`
}

// wrong is a cell of which something was expected that is not so, or the other way round.
type wrong struct {
	At   int    `json:"at"`
	Seat int    `json:"seat"` // whom it is about, or -1
	Name string `json:"name,omitempty"`
	P    number `json:"p"`
	Was  bool   `json:"was"`
}

// Of what is likely enough to be shown, and of what is called wrong.
const (
	shown = 0.01
	half  = 0.5
)

// imagine asks what follows from what everybody did in a moment, with the eyes of a seat.
func (w *world) imagine(m moment, after game.State, s game.Seat, rewards []float32) (*imagined, error) {
	n, planes := w.spec.Seats, len(w.spec.Obs.Planes)
	m.state.Observe(s, w.obs)
	after.Observe(s, w.after)
	joint := make([]int32, n)
	for i := range joint {
		joint[i] = m.actions[(int(s)+i)%n]
	}
	w.work.Step(w.params, &w.next, w.obs, joint, 1)
	out := &imagined{Doubt: number(w.next.Doubt[0]), Rewards: make([]number, n), Paid: numbers(rewards), Gone: make([]number, n)}
	for i := range n {
		seat := (int(s) + i) % n
		out.Rewards[seat], out.Gone[seat] = number(w.next.Mean[i][0]), number(w.next.Gone[i][0])
	}
	for at := range w.spec.Obs.Height * w.spec.Obs.Width {
		d := expectedCell{At: at}
		for i := range planes {
			p, was := w.next.Planes[at*planes+i], w.after[at*planes+i] != 0
			seat, name := w.plane(i, int(s))
			if p >= shown && seat >= 0 {
				d.Seats = append(d.Seats, likeSeat{game.Seat(seat), number(p)})
			} else if p >= shown {
				d.Things = append(d.Things, likely{name, number(p)})
			}
			if was != (p > half) {
				out.Wrong = append(out.Wrong, wrong{at, seat, name, number(p), was})
			}
		}
		if len(d.Seats)+len(d.Things) > 0 {
			slices.SortStableFunc(d.Seats, func(a, b likeSeat) int { return int(a.Seat) - int(b.Seat) })
			out.Cells = append(out.Cells, d)
		}
	}
	return out, nil
}

// plane returns whom a plane of what a seat observes shows, or -1 and which thing.
func (w *world) plane(i, ego int) (seat int, name string) {
	n := w.spec.Seats
	if i < n {
		return (ego + i) % n, ""
	}
	if j := i - n; j < w.spec.Obs.Owned { // what belongs to seats is in their order too
		return -1, w.spec.Obs.Planes[n+(ego+j)%n]
	}
	return -1, w.spec.Obs.Planes[i]
}
