package ppo

import (
	"slices"

	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/nn"
)

// A brain that lives through trials is RL^2's learner (Duan et al. 2016, section
// 2.2; Wang et al. 2016): a trial is several episodes in a row among the same
// co-players, and what is maximised is the return of the whole trial. The LSTM is
// reset where a trial begins and not where an episode does, and it reads what it
// did last, what it earned by that, and whether an episode has ended since. The
// end of an episode inside a trial therefore ends nothing: what the next one is
// worth follows it, as if it were the next step.

// last is what an agent that lives through trials knows of its last step in each env, [N].
// Its input and its LSTM's states are made of it.
type last []lastStep

type lastStep struct {
	Action  int32   // what it did
	Reward  float32 // what it earned in the last step of the last episode that is over
	Episode int64   // the env's episode in which it acted last; -2: in none
}

func newLast(envs int) last {
	l := make(last, envs)
	for n := range l {
		l[n].Episode = -2
	}
	return l
}

// TrialInput returns how many numbers an agent that lives through trials reads beside
// its observation: its last action, the reward, whether an episode has ended since,
// and who of its co-players sits on each of the next seats. Seats are dealt anew each
// episode, and who is who is what beliefs across episodes are told too.
func TrialInput(actions, seats int) int { return actions + 2 + (seats-1)*(seats-1) }

// LiveThroughTrials makes the brain's agents learn over trials of so many episodes.
// Its network has an LSTM and reads TrialInput numbers more. It is called before
// Remember and Players.
func (b *Brain) LiveThroughTrials(episodes int) { b.trial = episodes }

// Trial returns how many episodes a trial has; 0: episodes are all there is.
func (b *Brain) Trial() int { return b.trial }

// GoalLen returns how many numbers its network reads beside the observation.
func (b *Brain) GoalLen() int { return b.Model.Extra }

// begins reports whether a trial begins for the agent with env n's running episode:
// as often as trials are long or, for agents that do not learn and whose co-players
// are somebody else's matter, if it did not play in the episode before.
func (p *Player) begins(v *rollout.View, n int) bool {
	now, was := int64(v.EpisodeOf(n)), p.mem.last[n].Episode
	if now == was { // unless the copies were started anew, as a stage of a curriculum does
		return v.Start[v.Moment(v.T, n)]
	}
	return now != was+1 || !p.Frozen && now%int64(p.trial) == 0
}

// lastStep returns what the network reads of the agent's last step in env n, a view.
func (p *Player) lastStep(v *rollout.View, n int) []float32 {
	l := p.mem.last[n]
	x := p.extra
	clear(x)
	writeSeats(x[p.model.Actions+2:], v.Rollout, v.Agent, v.T, n)
	if !p.begins(v, n) {
		reward, ended := v.RewardOf(n), false
		if int64(v.EpisodeOf(n)) != l.Episode {
			reward, ended = l.Reward, true
		}
		writeStep(x, p.model.Actions, l.Action, p.scale*reward, ended)
	}
	if v.GoalLen > 0 {
		copy(v.GoalAt(v.SlotOf(n)), x)
	}
	return x
}

// writeStep writes an agent's last step. Where a trial begins there is none, and all
// of it stays 0.
func writeStep(dst []float32, actions int, action int32, reward float32, ended bool) {
	dst[action] = 1
	dst[actions] = reward
	if ended {
		dst[actions+1] = 1
	}
}

// writeSeats writes to dst [seats-1][co-players] who sits on each of the seats after
// agent a's own at a slot.
func writeSeats(dst []float32, ro *batch.Rollout, a agent.ID, t, n int) {
	seats := ro.Agents
	me := int(ro.Seat[ro.Slot(a, t, n)])
	for j := 1; j < seats; j++ { // the co-player that is j agents further
		b := agent.ID((int(a) + j) % seats)
		place := (int(ro.Seat[ro.Slot(b, t, n)]) - me + seats) % seats
		dst[(place-1)*(seats-1)+j-1] = 1
	}
}

// EpisodeOver notes what the agent earned at the end of env n's episode.
func (p *Player) EpisodeOver(v *rollout.View, n int) {
	if p.trial > 0 {
		p.mem.last[n].Reward = v.RewardOf(n)
	}
}

// beginning reports whether a gathered row is a trial's first: there is no last step.
func (b *Brain) beginning(goal []float32) bool {
	return b.trial > 0 && !slices.ContainsFunc(goal[:b.Model.Actions], func(x float32) bool { return x != 0 })
}

// trialAdvantages is Advantages over trials. The step that follows an agent's is the
// next one at which it acts, be it in this episode or, inside a trial, in the next;
// waiting for that is not discounted. Only a trial's end ends the sum:
//
//	delta_i = r_i + gamma V_{i+1} [the trial goes on] - V_i
//	A_i     = delta_i + gamma lambda A_{i+1} [the trial goes on]
//
// i counts the agent's own steps. Where the next one lies beyond the window, its value
// bootstraps: the slot after a cut has one, and for an agent that waits for the next
// episode afterEnds asks the network. k is the agent's place in the brain.
func (b *Brain) trialAdvantages(adv, ret []float32, ro *batch.Rollout, k int, rewards []float32) {
	a, gamma, lambda := b.agents[k], float32(b.cfg.Gamma), float32(b.cfg.Lambda)
	beyond := b.afterEnds(ro, k)
	clear(adv)
	clear(ret)
	for n := range ro.Envs {
		value, sum := beyond[n], float32(0)
		for t := ro.Steps - 1; t >= 0; t-- {
			slot := ro.Slot(a, t, n)
			if !ro.Alive[slot] || !ro.Own[ro.Step(a, t, n)] {
				continue
			}
			i := t*ro.Envs + n
			adv[i] = rewards[i] + gamma*value - ro.Value[slot] + gamma*lambda*sum
			ret[i] = adv[i] + ro.Value[slot]
			value, sum = ro.Value[slot], adv[i]
			if b.beginning(ro.GoalAt(slot)) {
				value, sum = 0, 0 // nothing of it follows what was before
			}
		}
	}
}

// afterEnds returns for each env what follows agent k's last step in the window: 0
// where its trial is over, or it has no step. An agent whose episode has ended waits
// for a board that is not there yet, unless the window's last slot shows it. First
// boards do not depend on what came before them, so another env's stands for it, and
// the value is the network's from the agent's own memory.
func (b *Brain) afterEnds(ro *batch.Rollout, k int) []float32 {
	a, mem := b.agents[k], b.memory[k]
	b.beyond = append(b.beyond[:0], make([]float32, ro.Envs)...)
	b.starts = b.starts[:0]
	for n := range ro.Envs { // each env's last first board that the agent saw itself, or -1
		at := -1
		for t := ro.Steps - 1; t >= 0 && at < 0; t-- {
			if ro.Start[ro.Moment(t, n)] && ro.Alive[ro.Slot(a, t, n)] && ro.Own[ro.Step(a, t, n)] {
				at = t
			}
		}
		b.starts = append(b.starts, at)
	}
	b.waiting = b.waiting[:0]
	for n := range ro.Envs {
		t := ro.Steps - 1
		for t >= 0 && (!ro.Alive[ro.Slot(a, t, n)] || !ro.Own[ro.Step(a, t, n)]) {
			t--
		}
		switch next := ro.Slot(a, ro.Steps, n); {
		case t < 0:
		case t == ro.Steps-1 && ro.Alive[next]:
			b.beyond[n] = ro.Value[next] // the window cut it
		case int(mem.last[n].Episode+1)%b.trial != 0:
			b.waiting = append(b.waiting, wait{n, t})
		}
	}
	now, ws := b.trainer.Read(), b.trainer.Works[0].ws
	for list := b.waiting; len(list) > 0; {
		some := list[:min(len(list), b.rowsEach)]
		b.evaluateWaits(now, ro, k, some)
		for i, w := range some {
			b.beyond[w.n] = ws.Value[i]
		}
		list = list[len(some):]
	}
	return b.beyond
}

// wait is an agent that waits for env n's next episode since its step t.
type wait struct{ n, t int }

// evaluateWaits puts what agents expect who wait into the first workspace's Value.
func (b *Brain) evaluateWaits(p *nn.Params, ro *batch.Rollout, k int, waits []wait) {
	a, mem, ws, width := b.agents[k], b.memory[k], b.trainer.Works[0].ws, b.Model.LSTM
	x := make([]float32, b.Model.Extra)
	ws.Reset()
	h, c := ws.State()
	for i, w := range waits {
		from, t := w.n, ro.Steps
		if !ro.Start[ro.Moment(t, from)] || !ro.Alive[ro.Slot(a, t, from)] { // its next board is not in the window
			for from = (w.n + 1) % ro.Envs; from != w.n && b.starts[from] < 0; {
				from = (from + 1) % ro.Envs
			}
			if t = b.starts[from]; t < 0 {
				t = w.t // no episode has begun in this window: what it saw last has to do
			}
		}
		step := ro.Step(a, w.t, w.n)
		clear(x)
		writeSeats(x[b.Model.Actions+2:], ro, a, t, from)
		writeStep(x, b.Model.Actions, ro.Action[step], float32(b.cfg.RewardScale)*ro.Reward[step], true)
		ws.Encode(&ws.X, ro.ObsAt(ro.Slot(a, t, from)), x)
		copy(h[i*width:(i+1)*width], mem.h[w.n*width:])
		copy(c[i*width:(i+1)*width], mem.c[w.n*width:])
	}
	ws.Step(p)
}
