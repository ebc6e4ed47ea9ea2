package score

import (
	"bytes"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/model/world"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/train/pretrain"
)

// worldGame plays a game and writes its steps as arrays for the model.
type worldGame struct {
	g        game.Game
	m        *world.Model
	spec     game.Spec
	st       game.State
	was      game.State // before the last step; nil where no step is played again
	seen     []float32  // [seats][Len] what each saw before it
	bots     []game.Bot
	acts     []int32
	rewards  []float32
	obs      []float32
	r        rng.Rand
	infos    []game.BotInfo
	onlyRand bool
	again    game.State // for a step with other draws
	draws    rng.Rand
	paid     []float32
}

func newWorldGame(g game.Game, m *world.Model, r rng.Rand, onlyRandom bool) *worldGame {
	spec := g.Spec()
	w := &worldGame{
		g: g, m: m, spec: spec, st: g.New(), seen: make([]float32, spec.Seats*m.Len()), bots: make([]game.Bot, spec.Seats),
		acts: make([]int32, spec.Seats), rewards: make([]float32, spec.Seats), obs: make([]float32, m.Len()), r: r, infos: g.Bots(),
		onlyRand: onlyRandom,
	}
	if !spec.Deterministic {
		w.was = g.New()
	}
	return w
}

// reset begins an episode, of random agents or of bots drawn at random.
func (w *worldGame) reset() {
	w.st.Reset(&w.r)
	for s := range w.bots {
		w.bots[s] = &game.Random{Actions: w.m.Actions}
		if !w.onlyRand {
			w.bots[s] = w.infos[w.r.IntN(len(w.infos))].New()
		}
	}
}

// step plays one step and keeps what was seen before it.
func (w *worldGame) step() {
	if w.was != nil {
		w.was.CopyFrom(w.st)
	}
	for s := range w.acts {
		w.st.Observe(game.Seat(s), w.seen[s*w.m.Len():(s+1)*w.m.Len()])
		w.acts[s] = game.NoAction
		if w.st.Alive(game.Seat(s)) {
			w.acts[s] = w.bots[s].Act(w.st, game.Seat(s), &w.r)
		}
	}
	w.st.Step(w.acts, w.rewards, &w.r)
}

// redraws is how often a step is played again to see whether chance decides it.
const redraws = 8

// chance reports whether the last step would have gone otherwise with other draws
// of the rules.
func (w *worldGame) chance() bool {
	if w.spec.Deterministic {
		return false
	}
	if w.again == nil {
		w.again, w.paid = w.g.New(), make([]float32, len(w.rewards))
	}
	was, _ := w.st.AppendText(nil)
	for range redraws {
		w.again.CopyFrom(w.was)
		w.again.Step(w.acts, w.paid, &w.draws)
		if now, _ := w.again.AppendText(nil); !bytes.Equal(was, now) || !slices.Equal(w.rewards, w.paid) {
			return true
		}
	}
	return false
}

// row writes the last step through the eyes of seat s as row i of t.
func (w *worldGame) row(t *worldTruth, i, s int) {
	m, n := w.m, w.spec.Seats
	planes := m.Height * m.Width * m.Planes
	copy(t.batch.Obs[i*m.Len():(i+1)*m.Len()], w.seen[s*m.Len():])
	w.st.Observe(game.Seat(s), w.obs)
	copy(t.batch.Next[i*planes:(i+1)*planes], w.obs)
	copy(t.batch.NextFeat[i*m.Features:(i+1)*m.Features], w.obs[planes:])
	w.st.Legal(game.Seat(s), t.legal[i*m.Actions:(i+1)*m.Actions])
	for a := range n {
		t.joint[i*n+a] = w.acts[(s+a)%n]
		t.batch.Reward[i*n+a] = w.rewards[(s+a)%n]
	}
	for a := range n {
		t.batch.Joint[i*n+a] = t.joint[i*n+pretrain.WorldAgent(m.Fault, a, s, n)]
	}
	t.batch.Over[i] = w.st.Over()
}

// ProbeWorld scores a model on rows of new episodes, played by teams drawn from
// the game's bots.
func ProbeWorld(m *world.Model, p *nn.Params, g game.Game, rows int, key rng.Key) *WorldScore {
	w := newWorldGame(g, m, key.Child("probe").Rand(), false)
	w.draws = key.Child("chance").Rand()
	j := newWorldScorer(m, p, w.spec.Obs.Planes, w.spec.Actions)
	j.score.random = !w.spec.Deterministic
	t := newWorldTruth(m.Input, scoreRows)
	w.reset()
	for done := 0; done < rows; {
		if w.st.Over() {
			w.reset()
		}
		w.step()
		chance := w.chance()
		for s, k := range w.acts {
			if k == game.NoAction || done == rows {
				continue
			}
			if chance {
				j.score.Chance++
				done++
				continue
			}
			w.row(t, t.filled, s)
			done++
			if t.filled++; t.filled == scoreRows {
				j.add(t)
			}
		}
	}
	j.add(t)
	return j.finish()
}

// OpenLoop plays random agents and lets the model follow their actions without
// ever seeing the game again. It returns the share of plays of which the first k
// steps were foreseen without a single mistake in boards, features, rewards and ends, for k
// = 1 to steps. A play that ends keeps what it had.
func OpenLoop(m *world.Model, p *nn.Params, g game.Game, plays, steps int, key rng.Key) []float64 {
	ws, next := m.Work(), newWorldNext(m.Input, plays)
	t := newWorldTruth(m.Input, plays)
	games, exact := make([]*worldGame, plays), make([]bool, plays)
	for i := range games {
		games[i] = newWorldGame(g, m, key.Child("open", i).Rand(), true)
		games[i].reset()
		exact[i] = true
	}
	n, planes := m.Agents, m.Height*m.Width*m.Planes
	own, over := make([]float32, plays*m.Len()), make([]bool, plays)
	share := make([]float64, steps)
	for k := range steps {
		for i, w := range games {
			if over[i] {
				continue
			}
			w.step()
			w.row(t, i, i%n)
			if k > 0 {
				copy(t.batch.Obs[i*m.Len():(i+1)*m.Len()], own[i*m.Len():])
			}
		}
		ws.Step(p, next, t.batch.Obs, t.batch.Joint, plays)
		copy(own, next.Obs[0])
		for i := range games {
			if over[i] {
				continue
			}
			said, f := own[i*m.Len():(i+1)*m.Len()], m.Features
			exact[i] = exact[i] && slices.Equal(said[:planes], t.batch.Next[i*planes:(i+1)*planes]) &&
				slices.Equal(said[planes:planes+f], t.batch.NextFeat[i*f:(i+1)*f]) && next.Over[i] == t.batch.Over[i]
			for a := range n {
				d := next.Reward[a][i] - t.batch.Reward[i*n+a]
				exact[i] = exact[i] && max(d, -d) <= near
			}
			over[i] = t.batch.Over[i]
		}
		right := 0
		for _, ok := range exact {
			if ok {
				right++
			}
		}
		share[k] = float64(right) / float64(plays)
	}
	return share
}
