package train

import (
	"fmt"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/check"
)

// orderEnvs is how many envs of a window are looked at for the order of joint
// actions: an order that is wrong is wrong in all of them.
const orderEnvs = 4

// mixed is how many last joint actions an agent observed in a window, and how many of them wrongly.
type mixed struct {
	seen, wrong int
	_           [64]byte
}

// order holds the last joint action that an agent observes against what was
// recorded a step before: itself first, then the next seats, wrapping, as the
// planes are (docs/faults.md#mixed-order).
func order(spec *game.Spec, ro *batch.Rollout, a agent.ID) (m mixed) {
	l := spec.Obs
	if l.Last*l.Legal == 0 {
		return m
	}
	shown, did := make([]int32, l.Last), make([]int32, l.Last)
	for n := range min(orderEnvs, ro.Envs) {
		for t := range ro.Steps {
			now := ro.Slot(a, t+1, n)
			if !ro.Alive[now] || !ro.Alive[ro.Slot(a, t, n)] || ro.End[ro.Step(a, t, n)] != batch.Going {
				continue
			}
			last := ro.ObsAt(now)[l.LastAt():]
			for place := range shown {
				shown[place] = int32(slices.Index(last[place*l.Legal:(place+1)*l.Legal], 1))
			}
			for b := range agent.ID(ro.Agents) {
				did[ro.Seat[ro.Slot(b, t, n)]] = ro.Action[ro.Step(b, t, n)]
			}
			for place := 1; spec.View > 0 && place < len(shown); place++ {
				if shown[place] < 0 { // it acted out of view
					did[(int(ro.Seat[now])+place)%len(did)] = game.NoAction
				}
			}
			known, bad, _ := check.Joint(int(ro.Seat[now]), shown, did)
			m.seen, m.wrong = m.seen+known, m.wrong+bad
		}
	}
	return m
}

// order says which agents observe joint actions in another order.
func (w *window) order() {
	for a, m := range w.g.mixed {
		if m.wrong > 0 {
			w.mind, w.agent, w.who = w.s.parts.MindOf[a], a, fmt.Sprintf("agent %d", a)
			w.say("joint actions out of order", "game", fmt.Sprintf("agent %d sees %d of %d last actions where another's "+
				"belongs; the planes begin with oneself, the joint action must too (docs/faults.md#mixed-order)", a, m.wrong, m.seen),
				"write the last joint action in the order of the planes: oneself, then the next seats, wrapping; hop audit replays "+
					"windows and tells whether the game or the buffers are at fault")
		}
	}
}
