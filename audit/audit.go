// Package audit finds the module at fault in a spec or in a run.
//
// It builds the run from its parts, puts recorders beside them, trains for a few
// seconds and asks the questions of package check in order: is it real, is the
// game even, does every agent learn from its own rows, is the data what was
// played, do the learners learn, and what do shared brains show. What a learner
// learns from is found by experiment: its window is changed in one respect, it
// learns, and what came of it is compared with what would have come otherwise.
// No learner is asked, so none can hide.
//
// Nothing here is on the path of a training. Results follow from the spec and
// the seeds alone.
package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hop-marl/hop/agent/hop"
	"github.com/hop-marl/hop/agent/learner"
	checks "github.com/hop-marl/hop/audit/check"
	"github.com/hop-marl/hop/audit/probe"
	"github.com/hop-marl/hop/audit/record"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rules"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/cores"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/store/runlog"
	"github.com/hop-marl/hop/train"
	"github.com/hop-marl/hop/train/spec"
)

// Options say how to audit.
type Options struct {
	Seeds    []uint64 // the first one's run is examined closely, the others' returns are compared
	Updates  int      // windows of the examined run; 0: as the kind of agent needs
	Episodes int      // of scripted play to compare seats with; 0: 1000
	// Game is what is known about the game already, from diag.Game; nil: it is asked.
	Game []check.Finding
	// Change, if not nil, changes the parts before the run is built: another
	// game, other minds, a window between playing and learning. Seeds call it, and Rows, side by side.
	Change func(*spec.Spec, *train.Parts)
	// Rows, if not nil, changes what is logged before it is.
	Rows func([]runlog.Row)
	// Lives, if not nil, is asked too: it looks at lives in which agents of a checkpoint learn, which are led elsewhere (package lab).
	Lives func(ctx context.Context, s *spec.Spec, body []byte) ([]check.Finding, error)
	// Say, if not nil, is told what is being done.
	Say func(what string)
}

// Result is a report with the numbers behind its figures.
type Result struct {
	check.Report
	Agents  []string      `json:"agents"`
	Returns [][]float64   `json:"returns"` // [seed][agent] mean over the last fifth; null: no episode ended
	Learns  [][]float64   `json:"learns"`  // [agent][agent] share of the column's probed rows that the row's agent learns from; -1: not probed
	Updates []int         `json:"updates"` // [mind] windows in which weights changed
	Rows    []int         `json:"rows"`    // [agent] rows to learn from
	Curves  [][][]float64 `json:"curves"`  // [seed][agent][window] mean return, from the first in which an episode ended; absent ones repeat
	Windows int           `json:"windows"`
	Used    []runlog.Used `json:"checkpoints,omitempty"` // whose agents were loaded

	opaque   bool // the game's rules cannot be read: nothing can be replaced by the truth
	recorded bool // returns and curves are those of the run, not of the audit's windows
}

// Spec audits a spec.
func Spec(ctx context.Context, s spec.Spec, opt Options) (*Result, error) {
	return audit(ctx, s, opt, nil)
}

// small returns the spec as the audit runs it: the same agents, game and
// schedules on few envs, without a curriculum, whose games are other games.
func small(s spec.Spec) spec.Spec {
	most := 16
	for _, known := range s.Audits() {
		if known.Envs > 0 {
			most = min(most, known.Envs)
		}
	}
	given := s.Train.Envs
	if s.Actor.LSTM > 0 {
		most = min(most, 8) // each of their steps takes all before it
	}
	s.Train.Envs = min(given, most)
	s.Train.Window = min(s.Train.Window, 64)
	s.Train.Stages, s.Train.Switch = nil, nil
	s.Train.Warm.Windows = min(s.Train.Warm.Windows, 2)
	s.Train.Strangers.Every = min(s.Train.Strangers.Every, 3)
	s.Train.Save = max(s.Train.Steps, 1)
	if s.Imagine.On {
		s.Train.Envs, s.Imagine.Trust, s.Imagine.Refresh = min(given, 64), min(s.Imagine.Trust, 0.3), 1
	}
	if known, params := s.Audit(); known.Amplify != nil {
		known.Amplify(params)
	}
	return s
}

// leastRows is what imagine.rows may be at least.
const leastRows = 256

// whole returns the spec with a run's length of so many windows: what schedules end at, fades come to and memories drop is seen too.
func whole(s spec.Spec, windows int) spec.Spec {
	most := windows * s.Train.Envs * s.Train.Window
	if most >= s.Train.Steps {
		return s
	}
	scaled := func(over int) int { return int(math.Ceil(float64(over) * float64(most) / float64(s.Train.Steps))) }
	s.Train.GoalWeight = slices.Clone(s.Train.GoalWeight)
	for i := range s.Train.GoalWeight {
		s.Train.GoalWeight[i].Over = scaled(s.Train.GoalWeight[i].Over)
	}
	s.Train.Standins.Over = scaled(s.Train.Standins.Over)
	s.Imagine.Rows = min(s.Imagine.Rows, max(most/3, leastRows))
	s.Train.Steps, s.Train.Save = most, most+1
	return s
}

// updates returns how many windows are enough for the checks to mean something.
func updates(s *spec.Spec, opt Options) int {
	few := 0
	for _, known := range s.Audits() {
		if known.Windows > 0 && (few == 0 || known.Windows < few) {
			few = known.Windows
		}
	}
	switch {
	case opt.Updates > 0:
		return opt.Updates
	case few > 0:
		return few
	case s.Imagine.On:
		return 12
	case s.Actor.LSTM > 0:
		return 40
	}
	return 90
}

func audit(ctx context.Context, s spec.Spec, opt Options, from *checkpoint) (*Result, error) {
	if len(opt.Seeds) == 0 {
		opt.Seeds = []uint64{1, 2, 3}
	}
	if opt.Episodes == 0 {
		opt.Episodes = 1000
	}
	say := opt.Say
	if say == nil {
		say = func(string) {}
	}
	r := &Result{Report: check.Report{Subject: s.Name}, opaque: len(s.Game.Executes()) > 0}
	large := sized(s)
	if from == nil {
		s = small(s)
		s = whole(s, updates(&s, opt)+1)
	}
	say(fmt.Sprintf("seeds %d: %d windows", opt.Seeds, updates(&s, opt)))
	first, err := r.watch(ctx, s, opt, from)
	if err != nil {
		return nil, err
	}
	sp := first.spec
	for a := range sp.Seats {
		r.Agents = append(r.Agents, fmt.Sprintf("agent %d", a))
	}
	if first.alike() {
		r.Add(orders(&s, r.Returns)...)
	}
	var seen, scored, guards, learnt []check.Finding
	more := [8][]check.Finding{}
	asked := []func(context.Context) error{func(ctx context.Context) (err error) {
		seen = append(seen, first.ruled(rng.New(opt.Seeds[0]).Child("rules")))
		if opt.Game == nil {
			opt.Game = checks.Game(first.parts.Game, rng.New(opt.Seeds[0]).Child("audit"), opt.Episodes)
		}
		seen = slices.Concat(seen, opt.Game, first.findings(), first.plansInPlay())
		if scored, err = bounded(ctx, "agents are scored", "rollout", first.scored); err != nil || first.spec.Opaque {
			return err
		}
		guards, err = bounded(ctx, "guards are tried", "guards", first.drilled)
		if err == nil && from == nil && first.hop != nil { // a run's checkpoint holds what became of its models
			learnt, err = bounded(ctx, "models are trained", "goals", first.prepared)
		}
		return err
	}}
	ask := func(at int, what, module string, f func(ctx context.Context) (check.Finding, error)) {
		asked = append(asked, func(ctx context.Context) (err error) {
			more[at], err = bounded(ctx, what, module, func(ctx context.Context) ([]check.Finding, error) {
				found, err := f(ctx)
				return []check.Finding{found}, err
			})
			return err
		})
	}
	if first.broke == nil && from == nil {
		ask(0, "a run is interrupted", "checkpoint", func(ctx context.Context) (check.Finding, error) {
			return probe.Resumed(ctx, s, opt.Seeds[0])
		})
		ask(6, "a run is saved", "checkpoint", func(ctx context.Context) (check.Finding, error) {
			return probe.Saves(ctx, s, opt.Seeds[0])
		})
		ask(1, "a run goes on more cores", "rollout", func(ctx context.Context) (check.Finding, error) {
			return probe.Cores(ctx, large, opt.Seeds[0])
		})
		ask(2, "a window is played at the run's own size", "ppo", func(ctx context.Context) (check.Finding, error) {
			return atSize(ctx, large, opt)
		})
		if first.hop == nil && first.taps[0].params != nil && !s.Imagine.On && len(s.Kinds) == 0 {
			ask(4, "passes end early", "ppo", func(ctx context.Context) (check.Finding, error) { return stopsEarly(ctx, s, opt) })
			ask(5, "a run nears its end", "ppo", func(ctx context.Context) (check.Finding, error) { return fades(ctx, s, opt) })
		}
	}
	if first.broke == nil && from == nil && s.Imagine.On {
		ask(5, "agents imagine several times", "world", func(ctx context.Context) (check.Finding, error) { return rounds(ctx, s, opt) })
	}
	if first.broke == nil && from == nil && !s.Imagine.On && len(s.Kinds) == 0 && s.Actor.LSTM == 0 && sp.Seats > 1 {
		ask(7, "the team switches", "rollout", func(ctx context.Context) (check.Finding, error) { return switches(ctx, s, opt) })
	}
	if first.alike() && len(opt.Seeds) > 1 && len(first.parts.Minds) == sp.Seats && s.Plain() && !s.Imagine.On {
		own := opt
		ask(3, "one brain is shared", "ppo", func(ctx context.Context) (check.Finding, error) {
			return shared(ctx, s, own, sp.Seats, r.Returns)
		})
	}
	say("the game without learning, a run that is interrupted, one on more cores and at its own size, shared brains")
	if err := cores.All(ctx, asked...); err != nil {
		return nil, err
	}
	seen = slices.Concat(seen, guards, learnt)
	r.Add(slices.Concat(seen, echoes(seen, slices.Concat(scored, more[0], more[1], more[2], more[4], more[5], more[6], more[7])), more[3])...)
	r.locate()
	r.Learns, r.Updates, r.Rows, r.Windows = first.learns(), first.changes(), first.rows, first.window
	return r, nil
}

// limit is how long something that is asked of further runs may take: many times what it does.
const limit = 10 * time.Minute

// bounded asks something of further runs. Where they panic, fail or do not come to an end that is a finding: what is named says what
// is being done, and the module is that of where a panic came from, else the one that is given.
func bounded(parent context.Context, what, module string, ask func(ctx context.Context) ([]check.Finding, error),
) (found []check.Finding, err error) {
	ctx, stop := context.WithTimeout(parent, limit)
	defer stop()
	fails := func(module, why string) {
		f := check.Finding{Step: 4, Check: "what follows runs to its end", Module: module, Unit: "runs", Rows: 1}
		f.Accuse(check.Fault, 1, fmt.Sprintf("While %s, %s.", what, why), "the message, and what is named there")
		found, err = []check.Finding{f}, nil
	}
	defer func() {
		if p := recover(); p != nil {
			at := panicked()
			fails(cmp.Or(at.module(), module), fmt.Sprintf("the program panics: %v, in %s", p, at))
		}
	}()
	switch found, err = ask(ctx); {
	case err == nil || parent.Err() != nil:
	case errors.Is(err, context.DeadlineExceeded):
		fails(module, fmt.Sprintf("it does not come to an end: not within %v", limit))
	default:
		fails(module, fmt.Sprintf("it fails: %v", err))
	}
	return found, err
}

// echoes returns what further runs of the same agents were accused of, scored, resumed, on more cores, at another size. If the
// examined run has a fault of its own, they show it once more: the module is that one.
func echoes(seen, further []check.Finding) []check.Finding {
	if i := check.Worst(seen); i >= 0 && seen[i].Status == check.Fault && seen[i].Module != "" && seen[i].Module != "guards" {
		for k := range further {
			if further[k].Status == check.Fault {
				further[k].Module = seen[i].Module
			}
		}
	}
	return further
}

// watch runs every seed, side by side, and returns the first one's run. A run that breaks is the
// last that counts.
func (r *Result) watch(ctx context.Context, s spec.Spec, opt Options, from *checkpoint) (*session, error) {
	var first *session
	r.Curves, r.Returns = make([][][]float64, len(opt.Seeds)), make([][]float64, len(opt.Seeds))
	err := cores.Each(ctx, 0, len(opt.Seeds), func(ctx context.Context, i int) error {
		u, err := newSession(s, opt.Seeds[i], opt, i == 0, from)
		if err != nil {
			return err
		}
		if i == 0 {
			first = u
		}
		err = u.run(ctx, updates(&s, opt))
		r.Curves[i], r.Returns[i] = u.curves, probe.LastFifth(u.curves)
		if u.broke != nil {
			return broken(i)
		}
		return err
	})
	var last broken
	if errors.As(err, &last) {
		r.Curves, r.Returns, err = r.Curves[:last+1], r.Returns[:last+1], nil
	}
	return first, err
}

// broken is the place of a seed whose run broke.
type broken int

func (i broken) Error() string {
	return fmt.Sprintf("audit: the run of seed %d of the list broke", int(i)+1)
}

// session is one instrumented run.
type session struct {
	exp          spec.Spec
	spec         game.Spec
	key          rng.Key // of the run
	opt          Options
	hop          *hop.Config // of the first who plan; nil: none do
	parts        train.Parts
	loop         *train.SelfPlay
	closely      bool // examine, not only count returns
	from         *checkpoint
	unlearnt     bool // a mind could not learn
	loaded       bool // it goes on from a checkpoint
	large        bool // one window is looked at, at the run's own size
	taps         []*tap
	replay       *checks.Replay
	unruled      error          // why the game's rules are not known a second time
	deeds        []record.Deed  // [A][T][N]
	same         []bool         // [A][T][N] rows that are as they were played, in windows whose updates are looked at
	raw          *batch.Rollout // the window as it was played, where something stands between; nil: it is the window
	window       int            // windows seen
	total        int            // windows to see
	curves       [][]float64    // [A][windows]
	rows         []int          // [A] own rows seen
	ownNow       []int          // [A] of this window
	ownMade      []int          // [A] of the imagined window after it that was the last
	acts         [][]int        // [A][actions] how often each was taken
	acting       acting
	logs         logs
	given        given
	earnings     checks.Earnings
	strange      strange
	bots         bots
	started      []check.Finding // about models that were trained before
	places       int             // learners', in episodes that started
	taken        int             // of those, by somebody else
	dealt        dealt
	draws        draws
	imagination  *checks.Imagination // of imagination; nil: there is none
	insight      insight
	lastImagined uint64 // a fingerprint of the last imagined window
	again        int    // imagined windows that are the one before
	imagined     int
	guilty       *recorder       // the player that panicked or acted illegally
	broke        error           // a panic or an error of the run itself
	nets         []reference.Net // [A] the weights that played the window, where minds read each other's
	world        []check.Finding // about the world model that planners search on
}

// machineOf is what a run is made with: the models of a checkpoint, if there is one.
func machineOf(from *checkpoint) spec.Machine {
	m := spec.Machine{Workers: 1}
	if from != nil {
		m.Saved = from.body
	}
	return m
}

// newSession builds a run with recorders in it.
func newSession(s spec.Spec, seed uint64, opt Options, closely bool, from *checkpoint) (*session, error) {
	machine := machineOf(from)
	parts, err := s.Parts(seed, machine)
	if err != nil {
		return nil, err
	}
	if err := parts.Game.Spec().Discrete("the audit of a training"); err != nil {
		return nil, err
	}
	if s.Actor.Net == "picture" {
		return nil, errors.New("the audit of a training knows no networks that read pictures")
	}
	if opt.Change != nil {
		opt.Change(&s, &parts)
	}
	u := &session{key: parts.Key, exp: s, spec: parts.Game.Spec(), opt: opt, closely: closely, from: from, loaded: from != nil}
	u.curves, u.rows, u.acts = make([][]float64, u.spec.Seats), make([]int, u.spec.Seats), make([][]int, u.spec.Seats)
	for a := range u.acts {
		u.acts[a] = make([]int, len(u.spec.Actions))
	}
	if closely {
		for i, m := range parts.Minds {
			t := newTap(m, u, i)
			u.taps = append(u.taps, t)
			u.hop = cmp.Or(u.hop, t.hop)
			parts.Minds[i] = t
		}
		u.replay = checks.NewReplay(parts.Game, parts.Key, s.Train.Envs)
		u.replay.Book, u.unruled = s.Game.Rules(u.spec)
		for a := range u.spec.Seats {
			u.replay.Learns = append(u.replay.Learns, u.learner(a))
		}
		if u.replay.Placed, err = checks.NewPlaced(parts.Game, s.Train, parts.Key, u.trial()); err != nil {
			return nil, err
		}
		u.deeds = make([]record.Deed, u.spec.Seats*s.Train.Window*s.Train.Envs)
		before := parts.Watch
		parts.Watch = func(ro *batch.Rollout, imagined bool) {
			if before != nil {
				if u.raw == nil {
					u.raw = batch.New(ro.Shape)
				}
				if !imagined {
					u.raw.CopyFrom(ro)
				}
				before(ro, imagined)
			}
			u.see(ro, imagined)
		}
	}
	u.parts = parts
	if imagination := parts.Imagine; closely && imagination != nil {
		parts.Imagine = func(played batch.Shape, minds []learner.Mind, workers int) (train.Imagination, error) {
			of, err := imagination(played, minds, workers)
			u.imagination = checks.WatchImagination(of, u.imaginationRun(played))
			return u.imagination, err
		}
	}
	if u.loop, err = train.NewSelfPlay(s.Train, s.Rewards(), parts); err != nil {
		return nil, err
	}
	if from != nil {
		for i, m := range parts.Minds {
			saver, ok := learner.As[learner.Saver](m)
			if !ok {
				continue
			}
			if err := saver.Load(from.file, train.Prefix(i)); err != nil {
				return nil, err
			}
		}
		if u.imagination != nil {
			if err := u.imagination.Load(from.file, "imagine/"); err != nil {
				return nil, err
			}
		}
	}
	return u, nil
}

// run plays and learns for so many windows.
func (u *session) run(ctx context.Context, updates int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			u.broke = fmt.Errorf("the run panics: %v", p)
			err = u.broke
		}
	}()
	u.total = updates
	err = probe.Windows(ctx, u.loop, updates, func(p *train.Progress) {
		if u.opt.Rows != nil {
			u.opt.Rows(p.Rows)
		}
		u.logged(p)
	})
	if err != nil && ctx.Err() == nil {
		u.broke = err
	}
	return err
}

// logged takes in what the loop reports after an update.
func (u *session) logged(p *train.Progress) {
	for a := range u.curves {
		if p.Warm { // what is returned is the bots'
			break
		}
		if n := len(u.curves[a]); p.Episodes > 0 {
			u.curves[a] = append(u.curves[a], p.Return[a].Mean())
		} else if n > 0 {
			u.curves[a] = append(u.curves[a], u.curves[a][n-1])
		}
	}
	if u.closely {
		u.logs.take(u, p)
		u.strange.take(u, p)
	}
}

// orders asks whether agents that are built alike earn alike: whether earnings follow
// their numbers, and whether one of them stands apart.
func orders(s *spec.Spec, returns [][]float64) []check.Finding {
	list := []check.Finding{order(returns), check.Odd(check.Measured(returns))}
	for i := range list {
		if f := &list[i]; f.Status >= check.Suspect && s.Apart() != "" {
			f.Module, f.Next = "spec", "the block minds: with the same settings for all, does the order vanish?"
			f.Says += " The spec does not let them learn alike: " + s.Apart() + "."
		}
	}
	return list
}

// order asks whether earnings follow the agents' numbers.
func order(returns [][]float64) check.Finding {
	f := check.Order(check.Measured(returns))
	if len(check.Measured(returns)) == 0 {
		f.Status, f.Says = check.NotAsked, "No episode ended, so there are no returns to compare."
	}
	return f
}

// alike reports whether all agents are learners on equal terms.
func (u *session) alike() bool {
	return u.spec.Symmetric && u.spec.Seats > 1 && len(u.exp.Train.Team) == 0 && u.broke == nil &&
		(len(u.exp.Kinds) == 0 || u.exp.Apart() != "")
}

// see looks at a window before it is learnt from.
func (u *session) see(ro *batch.Rollout, imagined bool) {
	if imagined {
		if h := record.Print(ro.Obs); h == u.lastImagined {
			u.again++
		} else {
			u.lastImagined = h
		}
		u.imagined++
		u.ownMade = ownRows(ro)
		u.imagination.See(ro)
		return
	}
	u.window++
	u.ownNow, u.ownMade = ownRows(ro), make([]int, ro.Agents)
	u.replay.Shown = u.window <= u.exp.Train.Warm.Windows
	raw := u.raw
	if raw == nil {
		raw = ro // nobody stands between
	}
	u.replay.Window(ro, raw, func(a agent.ID, t, n int) record.Deed { return u.deeds[ro.Step(a, t, n)] })
	for a := range agent.ID(ro.Agents) {
		record.Each(ro, a, func(t, n, step, slot int) {
			if ro.Alive[slot] && ro.Own[step] {
				u.rows[a]++
				if k := ro.Action[step]; k >= 0 && int(k) < len(u.acts[a]) {
					u.acts[a][k]++
				}
			}
		})
	}
	u.draws.take(u, ro)
	u.count(ro)
	u.dealt.take(u, ro)
	if u.hop != nil && u.window <= u.exp.Train.Warm.Windows {
		u.bots.take(ro)
	}
	u.foreseen(ro)
	u.nets = nil
	if slices.ContainsFunc(u.taps, (*tap).readsWeights) && slices.ContainsFunc(u.taps, (*tap).heldAt) {
		u.nets = u.weights()
	}
	if u.window <= 3 || u.window%20 == 0 {
		u.acting.take(u, ro)
	}
	if slices.ContainsFunc(u.taps, (*tap).heldAt) {
		u.same = make([]bool, len(u.deeds))
		for a := range agent.ID(ro.Agents) {
			record.Each(ro, a, func(_, _, step, slot int) { u.same[step] = untouched(u, ro, step, slot) })
		}
	}
	clear(u.deeds)
}

// ownRows counts each agent's rows to learn from.
func ownRows(ro *batch.Rollout) []int {
	rows := make([]int, ro.Agents)
	for a := range agent.ID(ro.Agents) {
		record.Each(ro, a, func(_, _, step, slot int) {
			if ro.Alive[slot] && ro.Own[step] {
				rows[a]++
			}
		})
	}
	return rows
}

// imaginationRun is what the watch over imagination knows of the run.
func (u *session) imaginationRun(played batch.Shape) checks.ImaginationRun {
	return checks.ImaginationRun{
		Game: u.spec, Imagine: u.exp.Imagine, Played: played, Key: u.parts.Key,
		Window: func() (now, total int) { return u.window, u.total },
		Nets:   u.weights,
		Actor: func(a agent.ID) reference.Actor {
			m, _ := learner.As[learner.Acting](u.parts.Minds[u.parts.MindOf[a]])
			model, _ := m.Actor()
			return checks.ActorOf(u.exp.Actor, model.Input)
		},
	}
}

// weights returns every agent's network; nil if one cannot be read.
func (u *session) weights() []reference.Net {
	nets := make([]reference.Net, u.spec.Seats)
	for _, t := range u.taps {
		if len(u.exp.Kinds) > 0 && !t.readsWeights() {
			continue // minds read those of their kind
		}
		f, err := probe.Saved(t.Mind)
		if err != nil {
			return nil
		}
		net, err := reference.LoadNet(f, "net/")
		if err != nil {
			return nil
		}
		for _, a := range t.agents {
			nets[a] = net
		}
	}
	return nets
}

// count counts learners' places in episodes that start after the warm-up, and those
// that somebody else plays.
func (u *session) count(ro *batch.Rollout) {
	for a := range agent.ID(ro.Agents) {
		if !u.learner(int(a)) || u.window <= u.exp.Train.Warm.Windows {
			continue
		}
		record.Each(ro, a, func(t, n, step, slot int) {
			if ro.Start[ro.Moment(t, n)] && ro.Alive[slot] {
				if u.places++; !u.deeds[step].Acted {
					u.taken++
				}
			}
		})
	}
}

// shared trains one brain for all agents and compares the order of earnings.
func shared(ctx context.Context, s spec.Spec, opt Options, seats int, apart [][]float64) (check.Finding, error) {
	s.Train.Brains = make([]int, seats)
	opt.Change, opt.Rows = nil, nil
	returns := make([][]float64, len(opt.Seeds))
	if err := cores.Each(ctx, 0, len(returns), func(ctx context.Context, i int) error {
		u, err := newSession(s, opt.Seeds[i], opt, false, nil)
		if err == nil {
			err = u.run(ctx, updates(&s, opt))
			returns[i] = probe.LastFifth(u.curves)
		}
		return err
	}); err != nil {
		return check.Finding{}, err
	}
	f := order(returns)
	f.Step, f.Check = 5, "earnings by agent, one shared brain"
	separate := order(apart)
	switch {
	case f.Status == check.NotAsked:
	case f.Status != check.Pass:
		f.Next = "the game and the account of rewards: agents with one and the same policy earn unequally"
	case separate.Status >= check.Suspect:
		f.Says = "With one shared brain the order vanishes: the game and the account are even, the separate learners are not."
	default:
		f.Says = "Neither separate brains nor one shared brain show an order."
	}
	return f, nil
}

// ruled asks whether steps are what the rules say: those of the first windows and
// those of scripted players, who do what learners do not do yet.
func (u *session) ruled(key rng.Key) check.Finding {
	b := u.replay.Book
	if u.unruled != nil {
		return rules.Unasked(u.exp.Game.Name, u.unruled)
	}
	b.Play(u.parts.Game, key, b.Enough())
	return b.Finding()
}
