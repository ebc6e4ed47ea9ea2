package train

import (
	"fmt"

	"hop/agent"
	"hop/batch"
	"hop/game"
)

// orderEnvs is how many envs of a window are looked at for the order of joint
// actions: an order that is wrong is wrong in all of them.
const orderEnvs = 4

// order holds the last joint action that an agent observes against what was
// recorded a step before: itself first, then the next seats, wrapping, as the
// planes are (docs/faults.md#mixed-order).
func (w *window) order(ro *batch.Rollout) {
	l := w.s.spec.Obs
	if l.Last*l.Legal == 0 {
		return
	}
	for a := range agent.ID(ro.Agents) {
		seen, wrong := 0, 0
		for n := range min(orderEnvs, ro.Envs) {
			for t := range ro.Steps {
				now := ro.Slot(a, t+1, n)
				if !ro.Alive[now] || !ro.Alive[ro.Slot(a, t, n)] || ro.End[ro.Step(a, t, n)] != batch.Going {
					continue
				}
				last := ro.ObsAt(now)[l.LastAt():]
				for b := range agent.ID(ro.Agents) {
					did := ro.Action[ro.Step(b, t, n)]
					if did == game.NoAction {
						continue
					}
					place := (int(ro.Seat[ro.Slot(b, t, n)]) - int(ro.Seat[now]) + l.Last) % l.Last
					if seen++; last[place*l.Legal+int(did)] != 1 {
						wrong++
					}
				}
			}
		}
		if wrong > 0 {
			w.mind, w.agent, w.who = w.s.parts.MindOf[a], int(a), fmt.Sprintf("agent %d", a)
			w.say("joint actions out of order", "game", fmt.Sprintf("agent %d sees %d of %d last actions where another's "+
				"belongs; the planes begin with oneself, the joint action must too (docs/faults.md#mixed-order)", a, wrong, seen),
				"write the last joint action in the order of the planes: oneself, then the next seats, wrapping; hop audit replays "+
					"windows and tells whether the game or the buffers are at fault")
		}
	}
}
