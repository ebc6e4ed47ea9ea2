package replay

import (
	"context"
	"fmt"
	"strconv"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/lab/play"
	"github.com/hop-marl/hop/num/cores"
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
