package hop

import (
	"math"
	"slices"
	"testing"

	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/rng"
)

// observer is a random player that takes in what the others show and holds what is
// inferred against what their histories in this episode say, read from their start.
type observer struct {
	rollout.Player
	t     *testing.T
	f     *latentInference
	seen  map[int][][]float32 // by place, this episode's observations
	dead  int
	fresh int
	shut  int
}

func (p *observer) Act(v *rollout.View, envs []int32) {
	p.f.Infer(v, envs)
	w := p.f.w
	for _, n := range envs {
		for j, a := range w.sees.others {
			place, slot := w.sees.at(int(n), j), v.Slot(a, v.T, int(n))
			if v.Start[v.Moment(v.T, int(n))] {
				p.seen[place] = nil
				p.fresh++
			}
			mu, sd := w.x.point(place, w.model.Dim)
			if !v.Alive[slot] {
				p.dead++
				if slices.ContainsFunc(append(slices.Clone(mu), sd...), func(x float32) bool { return x != 0 }) {
					p.t.Errorf("co-player %d of env %d has left, and its goal is %v, %v, want zeros", a, n, mu, sd)
				}
				continue
			}
			if w.codes.gate.Open(v.ObsAt(slot)) {
				p.seen[place] = append(p.seen[place], slices.Clone(v.ObsAt(slot)))
			}
			if w.x.open(place) != w.codes.gate.Open(v.ObsAt(slot)) {
				p.t.Errorf("co-player %d of env %d: the gate is said to be open: %v", a, n, w.x.open(place))
			}
			if !w.x.open(place) {
				p.shut++
				if slices.ContainsFunc(append(slices.Clone(mu), sd...), func(x float32) bool { return x != 0 }) {
					p.t.Errorf("co-player %d of env %d is beyond the gate, and its goal is %v, %v, want zeros", a, n, mu, sd)
				}
				continue
			}
			s, last := w.model.Sequences(), make([]int32, w.model.Seats)
			for _, obs := range p.seen[place] {
				w.lastJoint(last, obs)
				s.Add(obs, last)
			}
			s.End()
			ws := w.model.Work(s.Rows())
			ws.Load(s, []int{0})
			ws.Forward(w.params)
			at := ws.Row(s.Rows()-1, 0) * w.model.Dim
			want := slices.Clone(ws.Mu[at : at+w.model.Dim])
			for i := range want {
				if math.Abs(float64(want[i]-mu[i])) > 1e-5 {
					p.t.Fatalf("co-player %d of env %d after %d steps: the goal is %v, its history says %v", a, n, s.Rows(), mu, want)
				}
			}
		}
	}
	p.Player.Act(v, envs)
}

// What is inferred follows from the history within the episode: nothing of an
// earlier episode, of a co-player that left, or of another one is in it.
func TestGoalsFollowFromThisEpisodesHistory(t *testing.T) {
	const envs = 5
	for _, gate := range []int{-1, 0} {
		_, f, g := inferrer(t, gate, envs)
		p := &observer{Player: bot(t, g, "random", envs), t: t, f: f, seen: map[int][][]float32{}}
		collect(t, rollout.Config{Game: g}, batch.Shape{Envs: envs, Steps: 60}, []string{"", "ns", "nh", "random"}, p)
		if p.dead == 0 || p.fresh < 10 || gate == 0 && p.shut == 0 {
			t.Errorf("%d dead, %d starts, %d beyond the gate: the test saw too little", p.dead, p.fresh, p.shut)
		}
	}
}

// Every tree draws a point of its own for every co-player, from the inferred
// normal distribution, and no two points have one name. With no spread a tree
// plans with the mean.
func TestEveryTreeDrawsItsOwnPoint(t *testing.T) {
	w, f, _ := inferrer(t, -1, 1)
	copy(w.x.Mean, []float32{1, -2, 3})
	copy(w.x.Spread, []float32{0.5, 1, 0})
	r, z := rng.New(5).Rand(), make([]float32, w.features())
	const n = 20000
	named, names := newNames(w.others.shape), map[int32]bool{}
	var sum, square [3]float64
	for range n {
		f.Draw(z, 0, 0, 0, &r)
		names[named.of(0, 0, w.x.Alike)] = true
		for i, x := range z {
			sum[i] += float64(x)
			square[i] += float64(x) * float64(x)
		}
	}
	if len(names) != n || names[int32(w.others.shape.doubt)] {
		t.Errorf("%d draws have %d names, want as many, and none that means acting at random", n, len(names))
	}
	for i := range sum {
		mean := sum[i] / n
		sd := math.Sqrt(max(square[i]/n-mean*mean, 0))
		// Five standard errors: wrong once in a million.
		wantMean, wantSD := float64(w.x.Mean[i]), float64(w.x.Spread[i])
		if d := 5 * wantSD / math.Sqrt(n); math.Abs(mean-wantMean) > d+1e-6 || math.Abs(sd-wantSD) > d+1e-3 {
			t.Errorf("number %d of the points has mean %.3f and deviation %.3f, want %v and %v", i, mean, sd, wantMean, wantSD)
		}
	}
	w.cfg.Spread = 0
	if f.Draw(z, 0, 0, 0, &r); !slices.Equal(z, w.x.Mean[:3]) {
		t.Errorf("without spread a tree draws %v, want the mean %v", z, w.x.Mean[:3])
	}
}

// Names run out after a billion draws; then caches hear of it, once.
func TestNamesStartAnewOnce(t *testing.T) {
	w, _, _ := inferrer(t, -1, 1)
	n := newNames(w.others.shape)
	n.next = math.MaxInt32/2 + 1
	if last := n.of(0, 0, w.x.Alike); last < math.MaxInt32/2 {
		t.Errorf("the name is %d", last)
	}
	for _, want := range []bool{true, false} {
		if anew := n.begin(w.x); anew != want || n.next != firstName {
			t.Errorf("the next name is %d, and that names start anew is not said to be %v", n.next, want)
		}
	}
}

// counter counts what inferring allocates.
type counter struct {
	rollout.Player
	f      *latentInference
	allocs float64
}

func (p *counter) Act(v *rollout.View, envs []int32) {
	r, z := rng.New(1).Rand(), make([]float32, p.f.w.features())
	p.allocs = testing.AllocsPerRun(10, func() {
		p.f.Infer(v, envs)
		p.f.Draw(z, 0, 2, 0, &r)
	})
	p.Player.Act(v, envs)
}

// Inferring what the others are after and drawing it allocates nothing.
func TestInferringAllocatesNothing(t *testing.T) {
	_, f, g := inferrer(t, 2, 1)
	p := &counter{Player: bot(t, g, "random", 1), f: f, allocs: -1}
	collect(t, rollout.Config{Game: g}, batch.Shape{Envs: 1, Steps: 1}, []string{"", "random", "random", "random"}, p)
	if p.allocs != 0 {
		t.Errorf("inferring and drawing allocates %v times, want 0", p.allocs)
	}
}

// A step's chosen subgoal is one of its own path's states, the last one's its
// own, and its value the return that followed.
func TestSubgoalsStayWithinTheirPath(t *testing.T) {
	w, _, g := inferrer(t, -1, 6)
	ro := collect(t, rollout.Config{Game: g}, batch.Shape{Envs: 6, Steps: 50}, []string{"random", "ns", "nh", "ns"}, nil)
	list, ahead := w.Trajectories(ro), w.cfg.Ahead
	chosen, row := w.codes.subgoals(ro, list), 0
	for _, p := range list {
		first, end := row, row+p.hi-p.lo
		if !ro.Start[ro.Moment(p.lo, p.env)] || ro.End[p.last(ro)] != batch.Exited {
			t.Errorf("%+v is no whole episode", p)
		}
		for ; row < end; row++ {
			if to := chosen[row]; to < row || to >= end || to > row+ahead || row < end-1 && to == row {
				t.Errorf("step %d of a path of %d has subgoal %d", row-first, end-first, to-first)
			}
		}
		// Rewards come at the end, so the optimistic subgoal is as near to it as
		// can be.
		if ro.Reward[p.last(ro)] > 0 && chosen[first] != min(first+ahead, end-1) {
			t.Errorf("a rewarded path of %d: the first step's subgoal is %d", end-first, chosen[first]-first)
		}
	}
	if len(list) < 20 {
		t.Errorf("%d paths: the test saw too little", len(list))
	}
}

// One ns among three nh waits at the stag until time is up: it reached nothing
// and wanted the stag. What such codes lead to must not be left to the hare.
func TestWhoWaitedInVainWantedWhatItStayedAt(t *testing.T) {
	w, _, g := inferrer(t, -1, 6)
	ro := collect(t, rollout.Config{Game: g}, batch.Shape{Envs: 6, Steps: 60}, []string{"nh", "ns", "nh", "nh"}, nil)
	w.codes.count(ro, w.Trajectories(ro))
	spec := g.Spec()
	stay := slices.Index(spec.Actions, "stay")
	stag, hare := slices.Index(spec.Goals, "stag"), slices.Index(spec.Goals, "hare")
	ends := w.codes.ends.count[stay*len(spec.Goals):][:len(spec.Goals)]
	if ends[stag] < 10 || ends[hare] != 0 {
		t.Errorf("of those who stayed to the end %v wanted the stag and %v a hare, want at least 10 and 0", ends[stag], ends[hare])
	}
}

// What is shown of an inferred point are the goals that it leads to, in words; as
// likely as trees take it to lead there, and looking draws from nobody's stream.
func TestLearntGoalsAreNamedInWords(t *testing.T) {
	for _, kind := range []string{"latent", "classes"} {
		g := hunt(t, 12)
		m, p := makeMind(t, g, 0, 1, func(c *Config) { c.Goals.Kind = kind })
		goals := g.Spec().Goals
		var ends []float32
		switch w := m.goals.play.(type) {
		case *latent:
			ends = w.codes.ends.count
		case *classes:
			ends = w.codes.ends.count
		}
		for a := range g.Spec().Actions { // each last action led to both, to one more than to the other
			ends[a*len(goals)], ends[a*len(goals)+1] = float32(1+a), 3
		}
		collect(t, rollout.Config{Game: g}, batch.Shape{Envs: 1, Steps: 3}, []string{"", "ns", "nh", "random"}, p)
		for _, post := range p.Think().Posteriors {
			sum := 0.
			for i, name := range post.Names {
				if name != "random" && !slices.Contains(goals, name) {
					t.Errorf("%s: seat %d is said to be after %q, want one of %v", kind, post.Seat, name, goals)
				}
				if slices.Index(post.Names, name) != i {
					t.Errorf("%s: %s stands there twice", kind, name)
				}
				sum += post.Probs[i]
			}
			if math.Abs(sum-1) > 1e-6 {
				t.Errorf("%s: the probabilities of %v sum to %v", kind, post.Names, sum)
			}
		}
	}
	w, f, _ := inferrer(t, -1, 1)
	copy(w.x.Mean, []float32{1, -2, 3})
	copy(w.x.Spread, []float32{2, 1, 2})
	k := len(w.sees.spec.Goals)
	count := w.codes.ends.count
	for i := range count {
		count[i] = float32((i/k+i)%4 + 1)
	}
	drawn, z, r := make([]float64, k), make([]float32, w.features()), rng.New(5).Rand()
	const n = 20000
	for range n {
		f.Draw(z, 0, 0, 0, &r)
		drawn[f.outcomes.draw(z, &r)] += 1. / n
	}
	for i, word := range f.Explain(0, 0, 0) {
		if math.Abs(word.Share-drawn[i]) > 0.05 {
			t.Errorf("%s is said to be %.3f of the goal, trees draw it %.3f of the time", word.Name, word.Share, drawn[i])
		}
	}
	w.codes.gate.Distance = 0
	clear(w.x.Mean)
	clear(w.x.Spread)
	if got := f.Explain(0, 0, 0); len(got) != 1 || got[0].Name != "too far to tell" {
		t.Errorf("beyond the gate the goal is %v", got)
	}
}
