package check

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/hop-marl/hop/audit/record"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rules"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"
)

// Kinds of differences between a record and the rules, in the order in which
// one explains the next.
var recordKinds = []string{
	"seat", "start", "alive", "own", "action", "planes", "features", "mask", "time", "last actions", "legal", "reward", "end", "goal",
	"after exit", "probability", "value",
}

// differences counts one kind.
type differences struct {
	count  [2]int // while playing, and after
	rows   int    // compared
	where  string // the first
	agents map[agent.ID]int
}

// Replay plays recorded actions again on the rules, env by env, from the run's
// first step on, and compares everything that was recorded with what the rules
// say. The streams are those that docs/architecture.md promises: rules/i for
// the rules, deal/i for seats. Feed it every window in order.
type Replay struct {
	spec     game.Spec
	envs     []replayEnv
	diff     map[string]*differences
	dealt    [][]int // [agent][seat] episodes
	Ended    []Ended // episodes, in the order in which they were met
	Steps    int     // played, of all envs
	recorded bool
	raw      *batch.Rollout // the window as it was played; nil: not known
	windows  int
	Shown    bool    // bots are being shown: what they play counts as the agents' own
	Learns   []bool  // [A] whose own policy is a mind's: others in its place are stand-ins
	Placed   *Placed // if not nil, who acts is held against who is due
	// Book, if not nil, is the rules written down a second time: the first steps
	// are held against them too.
	Book *rules.Book
}

// Ended is an episode as the rules have it.
type Ended struct {
	Steps  int
	Return []float64 // [A]
	Life   []int     // [A] steps in which the agent was there
	Goal   []int     // [A] the last goal reached, or game.NoGoal
	Mixed  bool      // a learner's place was taken in it
}

type replayEnv struct {
	st      game.State
	rules   rng.Rand
	deal    rng.Rand
	seat    []int // [A]
	began   bool
	lost    bool // the record left the rules: nothing can be compared any more
	steps   int
	acted   []bool // [A] in the last step
	now     Ended
	actions []int32
	rewards []float32
	book    *rules.Follower // nil: enough was seen
}

// NewReplay starts at a run's first step.
func NewReplay(g game.Game, key rng.Key, envs int) *Replay {
	spec := g.Spec()
	r := &Replay{spec: spec, envs: make([]replayEnv, envs), diff: map[string]*differences{}}
	for range spec.Seats {
		r.dealt = append(r.dealt, make([]int, spec.Seats))
	}
	for n := range r.envs {
		r.envs[n] = replayEnv{
			st: g.New(), rules: key.Child("rules", n).Rand(), deal: key.Child("deal", n).Rand(), seat: make([]int, spec.Seats),
			acted: make([]bool, spec.Seats), actions: make([]int32, spec.Seats),
			rewards: make([]float32, spec.Seats),
		}
	}
	for _, k := range recordKinds {
		r.diff[k] = &differences{agents: map[agent.ID]int{}}
	}
	return r
}

// Window compares the next window. deed, if not nil, tells what the players'
// own recorder saw at (agent, step, env), and raw, if not nil, is the window as it
// was played: a record that was wrong then is the rollout's fault, one that was
// changed later, or carried over from the window before, the buffers'.
func (r *Replay) Window(ro, raw *batch.Rollout, deed func(a agent.ID, t, n int) record.Deed) {
	r.recorded, r.raw = deed != nil, raw
	if r.Placed != nil {
		r.Placed.Shown, r.Placed.Steps = r.Shown, r.Steps
	}
	defer func() { r.windows++ }()
	if deed == nil {
		deed = func(agent.ID, int, int) record.Deed { return record.Deed{} }
	}
	for n := range r.envs {
		e := &r.envs[n]
		if !e.began {
			r.begin(e)
		}
		for t := 0; t <= ro.Steps && !e.lost; t++ {
			r.slot(e, ro, t, n)
			if t < ro.Steps && !e.lost {
				r.step(e, ro, t, n, deed)
			}
		}
	}
}

// sit deals the seats of an episode.
func (e *replayEnv) sit(fixed bool) {
	for i := range e.seat {
		e.seat[i] = i
	}
	if !fixed {
		shuffle(e.seat, &e.deal)
	}
}

// fresh is an episode of so many agents that has just begun.
func fresh(agents int) Ended {
	e := Ended{Return: make([]float64, agents), Life: make([]int, agents), Goal: make([]int, agents)}
	for a := range e.Goal {
		e.Goal[a] = game.NoGoal
	}
	return e
}

// begin deals seats and starts an episode.
func (r *Replay) begin(e *replayEnv) {
	e.sit(r.spec.Fixed)
	for a, s := range e.seat {
		r.dealt[a][s]++
		e.acted[a] = false
	}
	e.now = fresh(len(e.seat))
	e.st.Reset(&e.rules)
	switch {
	case r.Book == nil:
	case r.Steps > r.Book.Enough():
		e.book = nil
	default:
		if !e.began {
			e.book = r.Book.Follow()
		}
		e.book.Begin(e.st)
	}
	e.began, e.steps = true, 0
}

// both counts a comparison of the record of a slot or step, which same makes: it is
// late if the record was right when it was played, or was carried over.
func (r *Replay) both(kind string, ro *batch.Rollout, same func(x *batch.Rollout) bool, a agent.ID, t, n int, got, want any) {
	ok := same(ro)
	late := !ok && (r.raw == nil || same(r.raw))
	r.note(kind, ok, late, a, t, n, got, want)
}

// carried is both for what a slot holds: the first slot is the last of the window
// before.
func (r *Replay) carried(kind string, ro *batch.Rollout, same func(x *batch.Rollout) bool, a agent.ID, t, n int, got, want any) {
	if ok := same(ro); !ok && t == 0 && r.windows > 0 {
		r.note(kind, false, true, a, t, n, got, want)
		return
	}
	r.both(kind, ro, same, a, t, n, got, want)
}

// note counts a comparison. late says that the difference came after playing.
func (r *Replay) note(kind string, same, late bool, a agent.ID, t, n int, got, want any) {
	d := r.diff[kind]
	d.rows++
	if same {
		return
	}
	if late {
		d.count[1]++
	} else {
		d.count[0]++
	}
	d.agents[a]++
	if d.where == "" {
		d.where = fmt.Sprintf("agent %d, step %d, env %d: %v, the rules say %v", a, t, n, got, want)
	}
}

// slot compares what was seen before acting.
func (r *Replay) slot(e *replayEnv, ro *batch.Rollout, t, n int) {
	l := r.spec.Obs
	want := make([]float32, l.Len())
	legal := make([]bool, len(r.spec.Actions))
	at := ro.Moment(t, n)
	r.carried("start", ro, func(x *batch.Rollout) bool { return x.Start[at] == (e.steps == 0) }, 0, t, n, ro.Start[at], e.steps == 0)
	for a := range agent.ID(ro.Agents) {
		slot, s := ro.Slot(a, t, n), game.Seat(e.seat[a])
		alive := e.st.Alive(s)
		r.carried("seat", ro, func(x *batch.Rollout) bool { return int(x.Seat[slot]) == int(s) }, a, t, n, ro.Seat[slot], s)
		r.carried("alive", ro, func(x *batch.Rollout) bool { return x.Alive[slot] == alive }, a, t, n, ro.Alive[slot], alive)
		e.st.Legal(s, legal)
		r.carried("legal", ro, func(x *batch.Rollout) bool { return slices.Equal(x.LegalAt(slot), legal) }, a, t, n, ro.LegalAt(slot), legal)
		if !alive && !(e.steps > 0 && e.acted[a]) {
			continue // nothing is promised about what it sees
		}
		e.st.Observe(s, want)
		r.compare("planes", ro, slot, want, 0, l.PlanesLen(), a, t, n)
		r.compare("features", ro, slot, want, l.FeaturesAt(), l.LegalAt(), a, t, n)
		r.compare("mask", ro, slot, want, l.LegalAt(), l.TimeAt(), a, t, n)
		r.compare("time", ro, slot, want, l.TimeAt(), l.LastAt(), a, t, n)
		r.compare("last actions", ro, slot, want, l.LastAt(), l.Len(), a, t, n)
	}
}

// compare compares one part of an observation.
func (r *Replay) compare(kind string, ro *batch.Rollout, slot int, want []float32, lo, hi int, a agent.ID, t, n int) {
	if lo == hi {
		return
	}
	got := ro.ObsAt(slot)
	at := lo
	for at < hi && got[at] == want[at] {
		at++
	}
	if at == hi {
		r.note(kind, true, false, a, t, n, nil, nil)
		return
	}
	r.carried(kind, ro, func(x *batch.Rollout) bool { return slices.Equal(x.ObsAt(slot)[lo:hi], want[lo:hi]) }, a, t, n,
		fmt.Sprintf("number %d is %v", at, got[at]), want[at])
}

// step plays the recorded actions and compares what came of them.
func (r *Replay) step(e *replayEnv, ro *batch.Rollout, t, n int, deed func(agent.ID, int, int) record.Deed) {
	if e.st.Over() {
		for a := range agent.ID(ro.Agents) {
			i := ro.Step(a, t, n)
			clean := func(x *batch.Rollout) bool {
				return x.Action[i] == game.NoAction && x.Reward[i] == 0 && x.End[i] == batch.Going && !x.Own[i]
			}
			r.both("after exit", ro, clean, a, t, n, fmt.Sprintf("action %d, reward %v", ro.Action[i], ro.Reward[i]), "nothing")
		}
		r.begin(e)
		return
	}
	legal := make([]bool, len(r.spec.Actions))
	if r.Placed != nil && e.steps == 0 {
		r.Placed.Begin(n)
	}
	for a := range agent.ID(ro.Agents) {
		i, s := ro.Step(a, t, n), game.Seat(e.seat[a])
		act, d := ro.Action[i], deed(a, t, n)
		if !e.st.Alive(s) {
			clean := func(x *batch.Rollout) bool { return x.Action[i] == game.NoAction && x.Reward[i] == 0 && !x.Own[i] }
			r.both("after exit", ro, clean, a, t, n, fmt.Sprintf("action %d, reward %v, own %v", act, ro.Reward[i], ro.Own[i]), "nothing")
			e.actions[s] = game.NoAction
			continue
		}
		if r.recorded && !r.Shown {
			r.note("own", ro.Own[i] == d.Acted, d.Own == d.Acted, a, t, n, ro.Own[i], d.Acted)
		}
		e.now.Mixed = e.now.Mixed || !d.Acted && !r.Shown && r.Learns != nil && r.Learns[a]
		if d.Acted {
			r.note("action", act == d.Action, true, a, t, n, act, d.Action)
			slot := ro.Slot(a, t, n)
			r.note("probability", ro.LogProb[i] == d.LogProb, true, a, t, n, ro.LogProb[i], d.LogProb)
			r.note("value", ro.Value[slot] == d.Value, true, a, t, n, ro.Value[slot], d.Value)
			act = d.Action // what was really played
		}
		e.st.Legal(s, legal)
		if act < 0 || int(act) >= len(legal) || !legal[act] {
			r.note("action", false, !d.Acted, a, t, n, act, "it is not legal")
			e.lost = true
			return
		}
		if e.actions[s] = act; r.Placed != nil {
			r.Placed.Acts(e.st, s, a, n, act, d.Acted)
		}
	}
	for a := range e.acted {
		e.acted[a] = e.st.Alive(game.Seat(e.seat[a]))
	}
	e.st.Step(e.actions, e.rewards, &e.rules)
	if e.book != nil {
		e.book.Step(e.actions, e.rewards, e.st)
	}
	e.steps++
	r.Steps++
	over := e.st.Over()
	limited, _ := e.st.(game.Limited)
	goals, _ := e.st.(game.Goaler)
	for a := range agent.ID(ro.Agents) {
		if !e.acted[a] {
			continue
		}
		i, s := ro.Step(a, t, n), game.Seat(e.seat[a])
		want := e.rewards[s]
		e.now.Return[a] += float64(want)
		e.now.Life[a]++
		r.both("reward", ro, func(x *batch.Rollout) bool { return x.Reward[i] == want }, a, t, n, ro.Reward[i], want)
		end := batch.Going
		switch {
		case !e.st.Alive(s):
			end = batch.Exited
			if over && limited != nil && limited.Cut() {
				end = batch.Cut
			}
		case t == ro.Steps-1:
			end = batch.Cut
		}
		names := [...]string{"going", "exit", "cut"}
		r.both("end", ro, func(x *batch.Rollout) bool { return x.End[i] == end }, a, t, n, names[ro.End[i]], names[end])
		if goals != nil {
			g := goals.Reached(s)
			if g != game.NoGoal {
				e.now.Goal[a] = g
			}
			r.both("goal", ro, func(x *batch.Rollout) bool { return int(x.Reached[i]) == g }, a, t, n, ro.Reached[i], g)
		}
	}
	if over {
		e.now.Steps = e.steps
		r.Ended = append(r.Ended, e.now)
	}
}

// what says in a sentence's middle what a kind of difference means, and where to
// look.
var what = map[string][2]string{
	"seat":  {"sit on other seats than were dealt", "rollout: where agents are dealt to seats; the stream is deal/ENV"},
	"start": {"are marked as starting or not starting an episode, wrongly", "rollout: Start is true at an episode's first slot only"},
	"alive": {"are marked alive or gone, wrongly",
		"Alive must follow game.State.Alive for each agent and slot; who has left stays gone until the next episode"},
	"own": {"are marked as played by somebody else, or a stranger's as their own",
		"Own: true where the agent's own policy acted, and nowhere else; only such rows are learnt from"},
	"action": {"hold another action than was played", "whoever writes Action; map agents to seats by Seat, not by number"},
	"planes": {"hold another board than the agent saw",
		"the observation: each agent's own, and the last one of an episode in its own slot, before the reset"},
	"features": {"hold other features than the agent saw", "the observation: each agent's own, before the reset"},
	"mask":     {"show another mask in the observation than the rules give", "the observation's mask"},
	"time": {"show another time than the rules give",
		"the observation's time: the last observation of an episode must not be the next one's first"},
	"last actions": {"show the last joint action in another order than ego-first",
		"the last joint action: the observing seat first, then the next seats, wrapping"},
	"legal": {"hold another mask of legal actions than the rules give",
		"Legal: an all-ones mask lets the learner put weight on actions that cannot be played"},
	"reward": {"hold another reward than was earned", "whoever writes Reward: by agent, not by seat, in the step in which it was earned"},
	"end": {"are marked with the wrong end",
		"End: a cut bootstraps from the next value, an exit does not; a time limit inside the rules is an exit"},
	"goal":        {"hold another goal than was reached", "Reached must be taken from the state right after the step"},
	"probability": {"hold another probability than the player recorded", "whoever touches LogProb between playing and learning"},
	"value":       {"hold another value than the player recorded", "whoever touches Value between playing and learning"},
	"after exit": {"of agents that had left hold an action, a reward or a claim to be learnt from",
		"rows after an exit must hold NoAction, no reward and Own false"},
}

// Findings says what the windows so far came to, one finding for each kind.
func (r *Replay) Findings() []check.Finding {
	var out []check.Finding
	lost := 0
	for n := range r.envs {
		if r.envs[n].lost {
			lost++
		}
	}
	for _, kind := range recordKinds {
		d := r.diff[kind]
		if d.rows == 0 {
			continue
		}
		bad := d.count[0] + d.count[1]
		f := check.Finding{
			Step: 3, Check: "replay: " + kind, Module: "buffers", Rows: d.rows, Unit: "share of rows",
			Says: fmt.Sprintf("The record of %s is what the rules say, in %d rows.", kind, d.rows),
		}
		if bad > 0 {
			if d.count[0] > 0 {
				f.Module = "rollout"
			}
			share, who := float64(bad)/float64(d.rows), slices.Sorted(maps.Keys(d.agents))
			says := fmt.Sprintf("%s of the rows, of %s, %s (%s).", percent(share), check.Agents(who), what[kind][0], d.where)
			f.Accuse(check.Fault, share, says, what[kind][1])
			for _, a := range who {
				f.Saw(float64(d.agents[a]), 0, "agent %d: rows that differ", a)
			}
			if lost > 0 {
				f.Saw(float64(lost), 0, "envs that could not be followed further")
			}
		}
		out = append(out, f)
	}
	if r.Placed != nil {
		out = append(out, r.Placed.Finding())
	}
	return append(out, r.dealing())
}

// dealing asks whether agents are dealt to seats evenly: chi-square over agents
// and seats.
func (r *Replay) dealing() check.Finding {
	n := 0
	k := len(r.dealt)
	for _, c := range r.dealt[0] {
		n += c
	}
	f := check.Finding{
		Step: 3, Check: "seats are dealt evenly", Module: "rollout", Rows: n, Unit: "episodes above even",
		Says: fmt.Sprintf("Every agent sat on every seat about equally often in %d episodes.", n),
	}
	if r.spec.Fixed {
		f.Says = "Agents keep their seats, which have roles of their own."
	}
	if k < 2 || n == 0 || r.spec.Fixed {
		return f
	}
	even, x2 := float64(n)/float64(k), 0.
	for a := range r.dealt {
		for _, c := range r.dealt[a] {
			x2 += (float64(c) - even) * (float64(c) - even) / even
			f.Effect = max(f.Effect, math.Abs(float64(c)-even))
		}
	}
	if p := check.ChiTail(x2, (k-1)*(k-1)); p < 1e-6 {
		f.Status, f.Says = check.Fault, fmt.Sprintf("Agents are not dealt to seats evenly: chance gives this once in %.0e runs.", 1/p)
		f.Next = "rollout: deal agents to seats anew each episode, so that a seat's advantage is no agent's"
	}
	return f
}

// percent writes a share so that a small one is not called 0 %.
func percent(share float64) string {
	switch {
	case share > 0 && share < 0.01:
		return fmt.Sprintf("%.2g %%", 100*share)
	default:
		return fmt.Sprintf("%.0f %%", 100*share)
	}
}
