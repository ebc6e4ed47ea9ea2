// Package rollout plays N copies of a game in lockstep into a batch.
//
// Each copy has its own streams: one for the rules, one for dealing agents to
// seats, and one an agent for acting. Workers own fixed ranges of copies and
// never meet, so the same bytes come out for any number of workers.
//
// Exits are kept per agent, a cut is kept apart from an exit, and the last
// observation of an episode keeps its slot: the step from there only resets.
package rollout

import (
	"errors"
	"runtime"
	"sync"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/rng"
)

// Config says what to play.
type Config struct {
	Game    game.Game
	Envs    int         // copies
	Key     rng.Key     // names all streams
	Workers int         // 0: one a core; at most one a process of a game that is played Elsewhere
	Cores   *cores.Pool // who the workers are, open while windows are collected; nil: goroutines of their own. More than Workers help players
	Blind   bool        // write no observations: every player is scripted
	FixSeat bool        // agent a always sits on seat a, as in a game whose seats are fixed
	// Imagined says that the game is made up by a model.
	Imagined bool
	// Rest says after an episode that its copy plays no more; it stays at the episode's end.
	// Workers ask, each of its own copies. nil: all play on.
	Rest func(Episode) bool
}

// Envs are N running copies. Make them with New. Not safe for concurrent use.
type Envs struct {
	Config
	spec   game.Spec
	env    []env
	worker []worker
	done   []Episode
	last   *batch.Rollout // the last window, whose last slot is the next one's first
	fill   bool           // slot 0 of the next window must be observed

	windows int     // collected
	ready   bool    // players have prepared the next one
	leader  []int   // [A] the agent whose player prepares a window for this one's
	batched Batched // nil: states are stepped one by one
	job     *cores.Job
}

// worker is one worker's scratch memory.
type worker struct {
	views   []View
	rows    []int32
	states  []game.State // of a Batched game, to be stepped or reset
	actions [][]int32
	rewards [][]float32
	rules   []*rng.Rand
	err     error
}

type env struct {
	st      game.State
	cut     game.Limited  // nil if the game has no outside limit
	goals   game.Goaler   // nil if the game has no goals
	seated  Seated        // nil: agents are dealt to seats
	vector  game.Vectored // nil: actions are no vectors
	rules   rng.Rand
	deal    rng.Rand
	act     []rng.Rand // [A]
	seat    []int8     // [A]
	perm    []int      // [A] scratch
	actions []int32    // [A] by seat
	rewards []float32  // [A] by seat
	episode int
	steps   int
	ret     []float64 // [A]
	paid    []float32 // [A] what the agent earned in its last step
	life    []int     // [A]
	goal    []int     // [A]
	done    []Episode
	rets    []float64 // [episodes][A] backing memory of done, reused
	lives   []int     // [episodes][A]
	reached []int     // [episodes][A]
	mixed   bool      // a stand-in plays in this episode
	still   bool      // the episode was over before this step, which only resets
	rests   bool      // it plays no more
	before  rng.Rand  // the rules stream at the last reset
	log     []int8    // actions of this episode by seat, for checkpoints
	vectors []float32 // and the vectors that they were, where actions are vectors
}

// New returns running copies, each at the start of its first episode.
func New(cfg Config) (*Envs, error) {
	if cfg.Game == nil || cfg.Envs <= 0 {
		return nil, errors.New("rollout: a game and at least one env are needed")
	}
	if cfg.Workers <= 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	cfg.Workers = min(cfg.Workers, cfg.Envs)
	if g, ok := cfg.Game.(Elsewhere); ok {
		cfg.Workers = min(cfg.Workers, g.Processes())
	}
	cfg.FixSeat = cfg.FixSeat || cfg.Game.Spec().Fixed
	e := &Envs{Config: cfg, spec: cfg.Game.Spec(), env: make([]env, cfg.Envs), fill: true,
		leader: make([]int, cfg.Game.Spec().Seats), job: &cores.Job{Whole: true}}
	e.batched, _ = cfg.Game.(Batched)
	agents := e.spec.Seats
	for range cfg.Workers {
		e.worker = append(e.worker, worker{views: make([]View, agents), rows: make([]int32, 0, cfg.Envs)})
	}
	for n := range e.env {
		v := &e.env[n]
		v.st = cfg.Game.New()
		v.cut, _ = v.st.(game.Limited)
		v.goals, _ = v.st.(game.Goaler)
		v.seated, _ = v.st.(Seated)
		if e.spec.Continuous {
			v.vector = v.st.(game.Vectored)
			v.vectors = make([]float32, 0, e.spec.Horizon*agents*len(e.spec.Actions))
		}
		v.act = make([]rng.Rand, agents)
		v.seat, v.perm = make([]int8, agents), make([]int, agents)
		v.actions, v.rewards = make([]int32, agents), make([]float32, agents)
		v.ret, v.life, v.goal = make([]float64, agents), make([]int, agents), make([]int, agents)
		v.paid = make([]float32, agents)
		v.log = make([]int8, 0, e.spec.Horizon*agents)
	}
	return e, e.Restart(cfg.Key)
}

// Restart begins anew with other streams: every copy is at the start of its first
// episode. It fails only if a game does that another program plays.
func (e *Envs) Restart(key rng.Key) (err error) {
	defer game.Catch(&err)
	e.Key, e.fill = key, true
	for n := range e.env {
		v := &e.env[n]
		v.rules = key.Child("rules", n).Rand()
		v.deal = key.Child("deal", n).Rand()
		for a := range v.act {
			v.act[a] = key.Child("act", a).Child("env", n).Rand()
		}
		v.episode, v.rests = -1, false
		e.deal(v)
	}
	e.resetAll()
	return nil
}

// Spec returns the game's spec.
func (e *Envs) Spec() game.Spec { return e.spec }

// Shape returns the shape of a rollout that fits these copies.
func (e *Envs) Shape(steps, goalLen int) batch.Shape {
	return batch.Shape{
		Agents: e.spec.Seats, Steps: steps, Envs: len(e.env),
		ObsLen: e.spec.Obs.Len(), Actions: len(e.spec.Actions), GoalLen: goalLen, Continuous: e.spec.Continuous,
	}
}

// deal deals the agents to seats for a new episode of a copy, whose state is to be reset.
func (e *Envs) deal(v *env) {
	for a := range v.perm {
		v.perm[a] = a
	}
	if !e.FixSeat {
		v.deal.Perm(v.perm)
	}
	for a, s := range v.perm {
		v.seat[a] = int8(s)
		v.ret[a], v.paid[a], v.life[a], v.goal[a] = 0, 0, 0, game.NoGoal
	}
	v.before, v.log, v.vectors = v.rules, v.log[:0], v.vectors[:0]
	v.steps, v.mixed = 0, false
	v.episode++
}

// resetAll resets every copy's state.
func (e *Envs) resetAll() {
	if e.batched == nil {
		for n := range e.env {
			e.env[n].st.Reset(&e.env[n].rules)
		}
		return
	}
	wk := &e.worker[0]
	wk.none()
	for n := range e.env {
		wk.add(&e.env[n], false)
	}
	e.batched.StepAll(wk.states, wk.actions, wk.rewards, wk.rules)
	for n := range e.env {
		e.env[n].sit()
	}
}

// sit takes the seats that a state says.
func (v *env) sit() {
	if v.seated != nil {
		v.seated.Seats(v.seat)
	}
}

// none forgets the states that were to be stepped.
func (wk *worker) none() {
	wk.states, wk.actions, wk.rewards, wk.rules = wk.states[:0], wk.actions[:0], wk.rewards[:0], wk.rules[:0]
}

// add adds a copy of a Batched game to those that are to be stepped, or reset.
func (wk *worker) add(v *env, step bool) {
	actions := v.actions
	if !step {
		actions = nil
	}
	wk.states, wk.actions = append(wk.states, v.st), append(wk.actions, actions)
	wk.rewards, wk.rules = append(wk.rewards, v.rewards), append(wk.rules, &v.rules)
}

// Prepare lets players prepare the next window before it is collected, for who changes weights meanwhile.
func (e *Envs) Prepare(players [][]Player) {
	e.windows++
	e.prepare(players)
	e.ready = true
}

// Collect plays a window into ro. The players' weights must stay the same until it
// returns, or those must have prepared copies. players[w][a] is worker w's player of agent
// a; there must be at least Workers rows. Finished episodes are in Episodes. It fails
// only if a game does that another program plays; the copies must not be used then.
func (e *Envs) Collect(ro *batch.Rollout, players [][]Player) error {
	if ro.Agents != e.spec.Seats || ro.Envs != len(e.env) || ro.ObsLen != e.spec.Obs.Len() || ro.Actions != len(e.spec.Actions) ||
		ro.Continuous != e.spec.Continuous {
		panic("rollout: the rollout does not fit the envs")
	}
	if len(players) < e.Workers {
		panic("rollout: fewer rows of players than workers")
	}
	for _, row := range players[:e.Workers] {
		if len(row) != e.spec.Seats {
			panic("rollout: a worker needs one player an agent")
		}
	}
	e.fill = e.fill || ro != e.last
	if !e.fill {
		ro.Roll()
	}
	e.room(ro.Steps)
	ro.Forget(e.Workers)
	if !e.ready {
		e.Prepare(players)
	}
	e.ready = false
	if e.Workers == 1 {
		e.work(ro, players[0], &e.worker[0], 0, len(e.env))
	} else {
		e.workAll(ro, players)
	}
	for w := range e.worker {
		if err := e.worker[w].err; err != nil {
			return err
		}
	}
	e.fill, e.last = false, ro
	e.done = e.done[:0]
	for n := range e.env {
		e.done = append(e.done, e.env[n].done...)
	}
	return nil
}

// prepare lets the first worker's players prepare the window, one for all agents that share what is prepared, and the others
// follow them.
func (e *Envs) prepare(players [][]Player) {
	for a, p := range players[0] {
		e.leader[a] = a
		own, ok := p.(Preparing)
		for b := 0; b < a && ok; b++ {
			if e.leader[b] == b && own.Shares(players[0][b]) {
				e.leader[a], ok = b, false
			}
		}
	}
	if e.Workers == 1 {
		for a, p := range players[0] {
			e.begin(a, p)
		}
	} else {
		e.Cores.Do(e.job, e.spec.Seats, func(a int) { e.begin(a, players[0][a]) })
	}
	for w, row := range players[:e.Workers] {
		for a, p := range row {
			if own, ok := p.(Preparing); ok && (w > 0 || e.leader[a] != a) {
				own.Follow(players[0][e.leader[a]])
			}
		}
	}
}

// begin lets a player prepare the window, if nobody else does for it.
func (e *Envs) begin(a int, p Player) {
	if own, ok := p.(Preparing); ok && e.leader[a] == a {
		own.Prepare(Window{e, e.windows})
	}
}

// workAll lets every worker play its copies.
func (e *Envs) workAll(ro *batch.Rollout, players [][]Player) {
	work := func(w int) { e.work(ro, players[w], &e.worker[w], w*len(e.env)/e.Workers, (w+1)*len(e.env)/e.Workers) }
	if e.Cores != nil {
		e.Cores.Do(e.job, e.Workers, work)
		return
	}
	var wg sync.WaitGroup
	for w := range e.Workers {
		wg.Go(func() { work(w) })
	}
	wg.Wait()
}

// Episodes returns the episodes that ended in the last window, by env, then time.
func (e *Envs) Episodes() []Episode { return e.done }

// work plays the copies lo to hi.
func (e *Envs) work(ro *batch.Rollout, players []Player, wk *worker, lo, hi int) {
	defer game.Catch(&wk.err)
	views, rows := wk.views, wk.rows
	for a := range views {
		views[a] = View{Rollout: ro, Agent: agent.ID(a), envs: e}
	}
	for n := lo; n < hi; n++ {
		e.env[n].done = e.env[n].done[:0]
		if e.fill {
			e.observe(ro, n, 0)
		}
	}
	for t := range ro.Steps + 1 {
		for a, p := range players {
			v := &views[a]
			v.T = t
			rows = rows[:0]
			for n := lo; n < hi; n++ {
				if t > 0 && ro.End[ro.Step(v.Agent, t-1, n)] == batch.Cut {
					rows = append(rows, int32(n))
				}
			}
			if len(rows) > 0 {
				p.Evaluate(v, rows)
			}
		}
		if t == ro.Steps {
			break
		}
		for a, p := range players {
			if rows = views[a].alive(rows[:0], lo, hi); len(rows) > 0 {
				if own, ok := p.(Asking); ok {
					own.Ask(&views[a], rows)
				}
			}
		}
		for a, p := range players {
			if rows = views[a].alive(rows[:0], lo, hi); len(rows) > 0 {
				p.Act(&views[a], rows)
			}
		}
		if e.batched != nil {
			e.stepAll(ro, t, wk, lo, hi)
		}
		for n := lo; n < hi; n++ {
			if v := &e.env[n]; e.batched == nil && e.takeActions(ro, n, t) {
				v.st.Step(v.actions, v.rewards, &v.rules)
			}
			e.step(ro, n, t, views, players)
		}
	}
}

// alive appends the envs of lo to hi in which the agent acts. In the others it does nothing.
func (v *View) alive(rows []int32, lo, hi int) []int32 {
	for n := lo; n < hi; n++ {
		if v.Alive[v.SlotOf(n)] {
			rows = append(rows, int32(n))
		} else {
			v.Action[v.StepOf(n)] = game.NoAction
		}
	}
	return rows
}

// takeActions puts the actions of slot t into env n, by seat. It reports whether
// its state is to be stepped: not if its episode was over before.
func (e *Envs) takeActions(ro *batch.Rollout, n, t int) bool {
	v := &e.env[n]
	if v.still = v.st.Over(); v.still {
		return false
	}
	for a, s := range v.seat {
		v.actions[s] = ro.Action[ro.Step(agent.ID(a), t, n)]
	}
	for _, a := range v.actions {
		v.log = append(v.log, int8(a))
	}
	if v.vector != nil {
		v.takeVectors(ro, n, t)
	}
	return true
}

// takeVectors hands env n's state the vectors of slot t, by seat.
func (v *env) takeVectors(ro *batch.Rollout, n, t int) {
	dst := v.vector.Vectors()
	for a, s := range v.seat {
		step, row := ro.Step(agent.ID(a), t, n), dst[int(s)*ro.Actions:(int(s)+1)*ro.Actions]
		if copy(row, ro.VectorAt(step)); ro.Action[step] == game.NoAction {
			clear(row)
		}
	}
	v.vectors = append(v.vectors, dst...)
}

// stepAll steps the states of a Batched game's envs lo to hi together, and resets
// those whose episode was over before.
func (e *Envs) stepAll(ro *batch.Rollout, t int, wk *worker, lo, hi int) {
	wk.none()
	for n := lo; n < hi; n++ {
		v := &e.env[n]
		step := e.takeActions(ro, n, t)
		if v.rests {
			continue
		}
		if !step {
			e.deal(v)
		}
		wk.add(v, step)
	}
	e.batched.StepAll(wk.states, wk.actions, wk.rewards, wk.rules)
}

// step records the step of env n from slot t to t+1, or that it was reset.
func (e *Envs) step(ro *batch.Rollout, n, t int, views []View, players []Player) {
	v := &e.env[n]
	agents := agent.ID(len(v.seat))
	if v.still {
		for a := range agents {
			blank(ro, ro.Step(a, t, n))
		}
		if v.rests {
			e.observe(ro, n, t+1)
			return
		}
		if e.batched == nil {
			e.deal(v)
			v.st.Reset(&v.rules)
		}
		v.sit()
		e.observe(ro, n, t+1)
		return
	}
	v.steps++
	over := v.st.Over()
	for a := range agents {
		i := ro.Step(a, t, n)
		if !ro.Alive[ro.Slot(a, t, n)] {
			blank(ro, i)
			continue
		}
		s := game.Seat(v.seat[a])
		ro.Reward[i], ro.End[i], ro.Reached[i] = v.rewards[s], batch.Going, game.NoGoal
		v.ret[a] += float64(v.rewards[s])
		v.paid[a] = v.rewards[s]
		v.life[a]++
		if v.goals != nil {
			if g := v.goals.Reached(s); g != game.NoGoal {
				ro.Reached[i] = int8(g)
				v.goal[a] = g
			}
		}
		switch {
		case !v.st.Alive(s):
			ro.End[i] = batch.Exited
			if over && v.cut != nil && v.cut.Cut() || e.batched != nil && e.batched.Lost(v.st, s) {
				ro.End[i] = batch.Cut
			}
		case t == ro.Steps-1:
			ro.End[i] = batch.Cut
		}
	}
	e.observe(ro, n, t+1)
	if over {
		e.finish(v, n)
		for a, p := range players {
			if w, ok := p.(Watcher); ok {
				w.EpisodeOver(&views[a], n)
			}
		}
	}
}

// blank writes the row of an agent that does not act.
func blank(ro *batch.Rollout, i int) {
	ro.Reward[i], ro.End[i], ro.Reached[i] = 0, batch.Going, game.NoGoal
	ro.LogProb[i], ro.Own[i] = 0, false
	clear(ro.TargetAt(i))
	clear(ro.VectorAt(i))
}

// room makes room for the episodes that can end in a window: each takes a step
// at least, and one to reset.
func (e *Envs) room(steps int) {
	most, agents := (steps+1)/2, e.spec.Seats
	if most <= cap(e.env[0].done) {
		return
	}
	for n := range e.env {
		v := &e.env[n]
		v.done = make([]Episode, 0, most)
		v.rets, v.lives, v.reached = make([]float64, most*agents), make([]int, most*agents), make([]int, most*agents)
	}
	e.done = make([]Episode, 0, most*len(e.env))
}

// finish records the episode that has just ended.
func (e *Envs) finish(v *env, n int) {
	lo := len(v.done) * len(v.seat)
	hi := lo + len(v.seat)
	ep := Episode{n, v.episode, v.steps, v.rets[lo:hi:hi], v.lives[lo:hi:hi], v.reached[lo:hi:hi], v.mixed}
	copy(ep.Return, v.ret)
	copy(ep.Life, v.life)
	copy(ep.Goal, v.goal)
	v.done = append(v.done, ep)
	v.rests = e.Rest != nil && e.Rest(ep)
}

// observe fills slot t of env n. An agent that acted in the last step gets its
// observation even if it has just left.
func (e *Envs) observe(ro *batch.Rollout, n, t int) {
	v := &e.env[n]
	ro.Start[ro.Moment(t, n)] = v.steps == 0
	for a, s := range v.seat {
		i := ro.Slot(agent.ID(a), t, n)
		alive := v.st.Alive(game.Seat(s))
		ro.Alive[i], ro.Seat[i], ro.Value[i] = alive, s, 0
		clear(ro.GoalAt(i))
		v.st.Legal(game.Seat(s), ro.LegalAt(i))
		switch {
		case e.Blind:
		case alive || v.steps > 0 && v.life[a] == v.steps:
			v.st.Observe(game.Seat(s), ro.ObsAt(i))
		default:
			clear(ro.ObsAt(i))
		}
	}
}
