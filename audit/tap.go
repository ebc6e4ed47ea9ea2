package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hop-marl/hop/agent/hop"
	"github.com/hop-marl/hop/agent/learner"
	checks "github.com/hop-marl/hop/audit/check"
	"github.com/hop-marl/hop/audit/probe"
	"github.com/hop-marl/hop/audit/record"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/train/spec"
)

// tap stands between the loop and a mind, counts, and at one window finds out by
// experiment what the mind learns from.
type tap struct {
	learner.Mind
	u      *session
	i      int
	agents []agent.ID
	exp    *spec.Spec       // as it is for its agents
	hop    *hop.Config      // nil: it does not plan
	params *nn.Params       // of the network that acts; nil: it has none that can be seen
	counts learner.Counting // nil: it does not count

	first    []float32 // the network's weights before the first window
	still    map[string]bool
	windows  int // learnt from, with rows of its own
	idle     int // of those, windows in which no weight changed
	since    int // the last window in which one did
	rows     int // own alive rows of its agents, by the audit's own count
	begun    int // the learner's own count before the first window
	moaStill map[string]bool
	moaIdle  int
	moaSeen  int // windows with labelled trajectories
	lr       float64

	asked   int               // windows that it was handed to learn from
	last    int               // the last of them
	streams map[string]string // it draws from, by name, as they stood at the start

	src       *probe.Sources
	stats     statCheck
	studies   []*checks.Study // of agents that model others, one each; nil: they do not
	broke     error           // what kept it from being studied
	begunPath bool
	blind     bool      // something stands before its players: what they believe cannot be seen
	hindsight []float32 // what the own network reads of goals when it learns the window; nil: nothing else than was played
	update    checks.Learner
	memory    []reference.Net // of an LSTM, before the window
}

// probeAt is the window at which the experiments are made.
const probeAt = 2

func newTap(m learner.Mind, u *session, i int) *tap {
	t := &tap{Mind: m, u: u, i: i, agents: m.Agents()}
	if a, ok := learner.As[learner.Acting](m); ok {
		_, t.params = a.Actor()
	}
	t.counts, _ = learner.As[learner.Counting](m)
	t.exp = u.exp.LearnsAs(t.agents[0])
	if p, ok := spec.SettingsAs[hop.Planning](t.exp); ok {
		t.hop = p.Planner()
	}
	t.update = checks.Learner{Mind: m, Agents: t.agents, Spec: t.exp, Hop: t.hop, Seats: u.spec.Seats}
	t.streams = map[string]string{}
	if t.hop != nil && u.spec.View == 0 { // the reference models co-players by what those see themselves
		for _, a := range t.agents {
			t.studies = append(t.studies, checks.NewStudy(*t.hop, u.spec, a, u.key.Child("mind", i), u.loaded))
		}
	}
	return t
}

// studyOf returns the study of one of the agents; nil: there is none.
func (p *tap) studyOf(a agent.ID) *checks.Study {
	if i := slices.IndexFunc(p.studies, func(s *checks.Study) bool { return s.Agent() == a }); i >= 0 {
		return p.studies[i]
	}
	return nil
}

// alike reports whether another mind is made by the same settings.
func (p *tap) alike(o *tap) bool {
	names := p.u.exp.KindNames(p.u.spec.Seats)
	return names == nil || names[p.agents[0]] == names[o.agents[0]]
}

// heldAt says whether a window's update is held against its definition: the first that has rows of the mind's own from probeAt
// on, and one later, by when schedules have moved and the optimiser has a past. Between them minds take turns at windows where
// something that is done every so often is likely to be done.
func (p *tap) heldAt() bool {
	now, late, last := p.u.window, 2*p.u.total/3, p.update.Last()
	switch {
	case p.u.large:
		return p.i == 0 && last == 0
	case now < probeAt || p.update.Wrong():
		return false
	case last == 0 || last < late && now >= late:
		return true
	}
	return slices.Contains(often, now) && now%len(p.u.taps) == p.i && p.params != nil
}

// often are windows after so many of which, or one later, periodic things happen.
var often = []int{8, 9, 10, 11, 16, 17, 20, 21, 25, 26, 32, 33, 50, 51, 64, 65}

// readsWeights reports whether the mind learns from the weights of others of its kind.
func (p *tap) readsWeights() bool {
	known, _ := p.exp.Audit()
	return known.Weights
}

// Unwrap returns the mind that is tapped.
func (p *tap) Unwrap() learner.Mind { return p.Mind }

// Players puts a recorder before each player.
func (p *tap) Players(a agent.ID, workers, envs int) ([]rollout.Player, error) {
	list, err := p.Mind.Players(a, workers, envs)
	for i, q := range list {
		list[i] = &recorder{Player: q, u: p.u, tap: p}
	}
	return list, err
}

// Learn counts, and lets the mind learn.
func (p *tap) Learn(w *learner.Window) ([]agent.Stat, error) {
	ro, own := w.Rollout, 0
	if p.last != p.u.window {
		p.last = p.u.window
		p.asked++
		p.u.earnings.Take(w, p.agents, p.u.window)
	}
	for _, a := range p.agents {
		record.Each(ro, a, func(_, _, step, slot int) {
			if ro.Alive[slot] && ro.Own[step] {
				own++
			}
		})
	}
	if p.i == 0 || len(p.u.exp.Kinds) > 0 {
		p.u.given.take(p, w)
		if p.u.imagination != nil {
			p.u.imagination.Handed(w)
		}
	}
	labels := 0
	if p.hop != nil {
		labels = checks.Labelled(ro, p.agents[0], p.hop.Goals.Kind, p.u.spec.Seats)
	}
	_, saves := learner.As[learner.Saver](p.Mind)
	again := w.Imagined != nil && w.Imagined.Again // the network has moved since it played the window
	if p.u.window == probeAt && saves && !again && !p.u.large {
		played := *w
		played.Imagined = nil // the experiments are made on played rows alone
		src, err := probe.Ask(p.Mind, p.params, &played, p.u.spec)
		if err != nil {
			return nil, err
		}
		p.src = src
	}
	if len(p.streams) == 0 && saves && p.u.window == 1 {
		f, err := probe.Saved(p.Mind)
		if err != nil {
			return nil, err
		}
		if p.hop != nil && p.u.started == nil && !p.u.loaded {
			if err := p.u.pretrained(f); err != nil {
				return nil, err
			}
		}
		for _, x := range f.Tensors {
			if strings.HasSuffix(x.Name, "stream") {
				p.streams[x.Name] = string(x.Data)
			}
		}
	}
	hold := saves && own > 0 && p.heldAt() && !again && (w.Imagined == nil || !p.u.imagination.Broken())
	if p.hop != nil && p.studies == nil && p.hop.Own == "search" && w.GoalLen > 0 {
		hold = false // it reads labels in hindsight, which have no definition where seats have a view
	}
	if p.params == nil {
		p.rows += own
		return p.learnWhole(w, hold)
	}
	if p.first == nil {
		p.begun = p.counted()
	}
	weights := slices.Clone(p.params.W)
	var before, after *safetensors.File
	if hold || p.hop != nil {
		var err error
		if before, err = probe.Saved(p.Mind); err != nil {
			return nil, err
		}
	}
	if err := p.examine(w, before); err != nil {
		return nil, err
	}
	if p.exp.Actor.LSTM > 0 && saves && p.memory == nil && p.u.window == 1 && !p.u.loaded {
		var err error
		if p.memory, err = remembered(p.Mind, len(p.agents)); err != nil {
			return nil, err
		}
		for _, net := range p.memory { // before its first window nobody remembers anything
			for _, m := range net {
				clear(m.V)
			}
		}
	}
	if hold {
		var err error
		if p.hindsight, err = p.inHindsight(w, before); err != nil {
			return nil, err
		}
	}
	stats, err := p.Mind.Learn(w)
	if err != nil {
		p.u.unlearnt = true
		return nil, err
	}
	p.rows += own
	p.compare(weights, own)
	if before != nil {
		if after, err = probe.Saved(p.Mind); err != nil {
			return nil, err
		}
	}
	if p.hop != nil {
		p.compareOthers(before, after, labels)
	}
	if hold {
		given := checks.UpdateGiven{
			Window: p.u.window, Hindsight: p.hindsight, Memory: p.memory, Nets: p.u.nets,
			Untouched: func(a agent.ID, t, n int) bool { return p.u.same[ro.Step(a, t, n)] },
		}
		want, right := p.update.Hold(given, w, before, after, stats)
		if want != nil && right && p.hop == nil {
			p.u.draws.hold(p.u, want)
		}
		if want != nil && p.update.Wrong() && p.hop == nil && p.exp.Actor.LSTM == 0 && w.Imagined == nil {
			if err := p.fewest(given, w, before, after); err != nil {
				return nil, err
			}
		}
		if want != nil && p.update.Wrong() && p.hindsight != nil {
			if err := p.unlabelled(given, w, before, after); err != nil {
				return nil, err
			}
		}
	}
	if p.exp.Actor.LSTM > 0 && saves {
		if p.memory, err = remembered(p.Mind, len(p.agents)); err != nil {
			return nil, err
		}
	}
	if !again {
		p.stats.take(p, stats, own)
	}
	return stats, nil
}

// fewest looks for the fewest rows by which an update is seen to be wrong: the mind learns from some of its own alone, those at ends
// first, and goes on from where it was.
func (p *tap) fewest(g checks.UpdateGiven, w *learner.Window, before, after *safetensors.File) error {
	saver, _ := learner.As[learner.Saver](p.Mind)
	var ends, rest []int // steps
	record.Each(w.Rollout, p.agents[0], func(_, _, step, slot int) {
		switch ro := w.Rollout; {
		case !ro.Alive[slot] || !ro.Own[step]:
		case ro.End[step] != batch.Going:
			ends = append(ends, step)
		default:
			rest = append(rest, step)
		}
	})
	few := *w
	few.Rollout = batch.New(w.Shape)
	for i := range 24 { // single rows, then ever more
		n := 1 << max(0, i-11)
		rows := slices.Concat(ends[min(i, len(ends)):], rest)
		few.Rollout.CopyFrom(w.Rollout)
		clear(few.Rollout.Own)
		for _, step := range rows[:min(n, len(rows))] {
			few.Rollout.Own[step] = true
		}
		if err := saver.Load(before, ""); err != nil {
			return err
		}
		if _, err := p.Mind.Learn(&few); err != nil {
			return err
		}
		got, err := probe.Saved(p.Mind)
		if err != nil {
			return err
		}
		if p.update.Shows(g, &few, before, got) {
			break
		}
	}
	return saver.Load(after, "")
}

// unlabelled lets the mind learn from the window once more, in which nothing can be labelled now: no life begins in it. Where that is
// learnt from as it should be, it is the labels that are not. The mind goes on from where it was.
func (p *tap) unlabelled(g checks.UpdateGiven, w *learner.Window, before, after *safetensors.File) error {
	saver, _ := learner.As[learner.Saver](p.Mind)
	bare := *w
	bare.Rollout = batch.New(w.Shape)
	bare.Rollout.CopyFrom(w.Rollout)
	clear(bare.Rollout.Start)
	if err := saver.Load(before, ""); err != nil {
		return err
	}
	var err error
	if g.Hindsight, err = p.inHindsight(&bare, before); err != nil {
		return err
	}
	if _, err := p.Mind.Learn(&bare); err != nil {
		return err
	}
	got, err := probe.Saved(p.Mind)
	if err != nil {
		return err
	}
	p.update.Unlabelled(g, &bare, before, got)
	return saver.Load(after, "")
}

// learnWhole lets a mind learn whose network cannot be seen, and holds the update against its
// definition where there is one.
func (p *tap) learnWhole(w *learner.Window, hold bool) ([]agent.Stat, error) {
	known, _ := p.exp.Audit()
	if !hold || known.Whole == nil {
		return p.Mind.Learn(w)
	}
	before, err := probe.Saved(p.Mind)
	if err != nil {
		return nil, err
	}
	stats, err := p.Mind.Learn(w)
	if err != nil {
		return nil, err
	}
	after, err := probe.Saved(p.Mind)
	if err != nil {
		return nil, err
	}
	p.update.Hold(checks.UpdateGiven{Window: p.u.window}, w, before, after, stats)
	return stats, nil
}

// remembered reads what the agents' LSTMs remember.
func remembered(m learner.Mind, agents int) ([]reference.Net, error) {
	f, err := probe.Saved(m)
	if err != nil {
		return nil, err
	}
	var list []reference.Net
	for i := range agents {
		net, err := reference.LoadNet(f, fmt.Sprintf("memory/%d/", i))
		if err != nil {
			return nil, err
		}
		list = append(list, net)
	}
	return list, nil
}

// counted returns the learner's own count of rows.
func (p *tap) counted() int {
	if p.counts == nil {
		return 0
	}
	return p.counts.Counts().Rows
}

// compare notes which parts of the network a window changed.
func (p *tap) compare(before []float32, own int) {
	now := p.params
	if p.first == nil {
		p.first, p.still = slices.Clone(before), map[string]bool{}
		for _, part := range now.Parts {
			p.still[part.Name] = true
		}
	}
	if own == 0 {
		return
	}
	p.windows++
	moved := false
	for _, part := range now.Parts {
		lo, hi := part.Off, part.Off+part.Len
		if !slices.Equal(before[lo:hi], now.W[lo:hi]) {
			p.still[part.Name] = false
			moved = true
		}
	}
	if !moved {
		p.idle++
		return
	}
	p.since = p.u.window
}

// compareOthers does the same for the model of others.
func (p *tap) compareOthers(before, after *safetensors.File, labels int) {
	if p.moaStill == nil {
		p.moaStill = map[string]bool{}
	}
	if labels == 0 {
		return
	}
	p.moaSeen++
	moved := false
	for _, t := range before.Tensors {
		if !strings.Contains(t.Name, "moa/net/") {
			continue
		}
		u, ok := after.Get(t.Name)
		same := ok && string(u.Data) == string(t.Data)
		if old, seen := p.moaStill[t.Name]; !seen || old {
			p.moaStill[t.Name] = same
		}
		moved = moved || !same
	}
	if !moved {
		p.moaIdle++
	}
}

// recorder keeps what an agent saw and did, beside what the rollout keeps.
type recorder struct {
	rollout.Player
	u   *session
	tap *tap
}

// Act lets the player act and writes down what came of it.
func (r *recorder) Act(v *rollout.View, envs []int32) {
	r.u.look(r, v, envs)
	r.tap.before(v)
	if r.u.guilty == nil {
		r.u.guilty = r // until it has acted, and legally
	}
	r.Player.Act(v, envs)
	if r.u.guilty == r && r.legal(v, envs) {
		r.u.guilty = nil
	}
	if t, plans := r.Player.(learner.Timed); plans && !v.Imagined() {
		r.u.insight.Chose(v.Agent, t.Forest(), len(envs))
	}
	r.tap.acted(r.Player, v, envs)
	if v.Imagined() {
		return // the window's own arrays are looked at by checks.Imagination
	}
	for _, n := range envs {
		step, slot := v.StepOf(int(n)), v.SlotOf(int(n))
		d := record.Deed{
			Acted: true, Own: v.Own[step], Action: v.Action[step], LogProb: v.LogProb[step], Value: v.Value[slot],
			Obs: record.Print(v.ObsAt(slot)), Legal: record.Bits(v.LegalAt(slot)),
		}
		r.u.deeds[step] = d
	}
}

// EpisodeOver passes on.
func (r *recorder) EpisodeOver(v *rollout.View, n int) {
	if s := r.tap.studyOf(v.Agent); s != nil {
		r.tap.before(v)
		s.Over(v.T, n)
	}
	if w, ok := r.Player.(rollout.Watcher); ok {
		w.EpisodeOver(v, n)
	}
}

var _ rollout.Watcher = (*recorder)(nil)

// statCheck compares what a learner reports of a window with the audit's own
// arithmetic.
type statCheck struct {
	windows int
	wrongN  int // windows with another count of rows
	gotN    int
	wantN   int
}

func (c *statCheck) take(p *tap, stats []agent.Stat, own int) {
	c.windows++
	seenN := false
	for _, st := range stats {
		switch {
		case strings.HasSuffix(st.Name, "/explained") && st.Name != "goal/explained": // whose rows are the others'
			if seenN = true; st.N != own {
				c.wrongN++
				c.gotN, c.wantN = st.N, own
			}
		case strings.HasSuffix(st.Name, "/lr"):
			p.lr = st.Value
		}
	}
	if !seenN && own > 0 {
		c.wrongN++
		c.gotN, c.wantN = 0, own
	}
}
