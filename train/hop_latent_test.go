package train

import (
	"math"
	"slices"
	"testing"

	"hop/agent"
	"hop/batch"
	"hop/frame"
	"hop/game"
	"hop/game/staghunt"
	"hop/model/cvae"
	"hop/model/vae"
	"hop/rng"
	"hop/rollout"
)

// inferrer returns the latent goals of agent 0 in a small stag hunt, with weights
// as they were drawn.
func inferrer(t *testing.T, gate int) (*latent, game.Game) {
	t.Helper()
	cfg := staghunt.Default()
	cfg.Size, cfg.Horizon = 4, 12
	g, err := staghunt.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	spec := g.Spec()
	l := spec.Obs
	in := frame.Input{Height: l.Height, Width: l.Width, Planes: len(l.Planes), Rest: l.Len() - l.PlanesLen()}
	c := vae.Default()
	c.Loss, c.Hidden, c.Dim, c.MOA, c.Outcome = "b", []int{8}, 3, 8, 0.5
	var m Models
	if m.VAE, m.Codes, err = vae.New(c, vae.Input{Input: in, Agents: spec.Seats, Actions: len(spec.Actions)}, rng.New(1)); err != nil {
		t.Fatal(err)
	}
	q := cvae.Config{Dim: 3, Frame: frame.Egof, Feature: 4, GRU: 5, Hidden: []int{6}}
	if m.CVAE, m.Infer, err = cvae.New(q, cvae.Input{Input: in, Seats: spec.Seats, Actions: len(spec.Actions)}, rng.New(2)); err != nil {
		t.Fatal(err)
	}
	h := &HOP{cfg: DefaultPlanning(), spec: spec, others: []agent.ID{1, 2, 3}, random: 1}
	h.cfg.Gate = gate
	w, err := newLatent(h, m, rng.New(3))
	if err != nil {
		t.Fatal(err)
	}
	return w, g
}

// watcher is a random player that watches the others and holds what is inferred
// against what their histories in this episode say, read from their start.
type watcher struct {
	rollout.Player
	t     *testing.T
	g     *latentGuess
	w     *latent
	seen  map[int][][]float32 // by place, this episode's observations
	dead  int
	fresh int
	shut  int
}

func (p *watcher) Act(v *rollout.View, envs []int32) {
	p.g.watch(v, envs)
	w, others := p.w, len(p.w.h.others)
	for _, n := range envs {
		for j, a := range w.h.others {
			place, slot := int(n)*others+j, v.Slot(a, v.T, int(n))
			if v.Start[v.Moment(v.T, int(n))] {
				p.seen[place] = nil
				p.fresh++
			}
			mu, sd := w.at(int(n), j)
			if !v.Alive[slot] {
				p.dead++
				if slices.ContainsFunc(append(slices.Clone(mu), sd...), func(x float32) bool { return x != 0 }) {
					p.t.Errorf("co-player %d of env %d has left, and its goal is %v, %v, want zeros", a, n, mu, sd)
				}
				continue
			}
			p.seen[place] = append(p.seen[place], slices.Clone(v.ObsAt(slot)))
			s, last := w.infer.Sequences(), make([]int32, w.infer.Seats)
			for _, obs := range p.seen[place] {
				w.before(last, obs)
				s.Add(obs, last)
			}
			s.End()
			ws := w.infer.Work(s.Rows())
			ws.Load(s, []int{0})
			ws.Forward(w.params)
			at := ws.Row(s.Rows()-1, 0) * w.infer.Dim
			want := slices.Clone(ws.Mu[at : at+w.infer.Dim])
			if !w.gate.Apply(want, v.ObsAt(slot)) {
				p.shut++
			}
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
	for _, gate := range []int{-1, 0} {
		w, g := inferrer(t, gate)
		const envs = 5
		w.remember(envs)
		e, err := rollout.New(rollout.Config{Game: g, Envs: envs, Key: rng.New(4), Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		var players []rollout.Player
		for _, name := range []string{"random", "ns", "nh", "random"} {
			b, err := rollout.NewBots(g, name, envs)
			if err != nil {
				t.Fatal(err)
			}
			players = append(players, b)
		}
		p := &watcher{Player: players[0], t: t, g: w.guess(envs, 2).(*latentGuess), w: w, seen: map[int][][]float32{}}
		players[0] = p
		e.Collect(batch.New(e.Shape(60, 0)), [][]rollout.Player{players})
		if p.dead == 0 || p.fresh < 10 || gate == 0 && p.shut == 0 {
			t.Errorf("%d dead, %d starts, %d beyond the gate: the test saw too little", p.dead, p.fresh, p.shut)
		}
	}
}

// Every tree draws a point of its own for every co-player, from the inferred
// normal distribution, and no two points have one name. With no spread a tree
// plans with the mean.
func TestEveryTreeDrawsItsOwnPoint(t *testing.T) {
	w, _ := inferrer(t, -1)
	w.remember(1)
	copy(w.mu, []float32{1, -2, 3})
	copy(w.sd, []float32{0.5, 1, 0})
	g, r := w.guess(1, 1).(*latentGuess), rng.New(5).Rand()
	const n = 20000
	names := map[int32]bool{}
	var sum, square [3]float64
	for range n {
		name := g.draw(0, 0, 0, 0, &r)
		names[name] = true
		for i, x := range g.drawn(0, 0, name) {
			sum[i] += float64(x)
			square[i] += float64(x) * float64(x)
		}
	}
	if len(names) != n || names[int32(w.h.random)] {
		t.Errorf("%d draws have %d names, want as many, and none that means acting at random", n, len(names))
	}
	for i := range sum {
		mean := sum[i] / n
		sd := math.Sqrt(max(square[i]/n-mean*mean, 0))
		// Five standard errors: wrong once in a million.
		if d := 5 * float64(w.sd[i]) / math.Sqrt(n); math.Abs(mean-float64(w.mu[i])) > d+1e-6 || math.Abs(sd-float64(w.sd[i])) > d+1e-3 {
			t.Errorf("number %d of the points has mean %.3f and deviation %.3f, want %v and %v", i, mean, sd, w.mu[i], w.sd[i])
		}
	}
	w.h.cfg.Spread = 0
	if z := g.drawn(0, 0, g.draw(0, 0, 0, 0, &r)); !slices.Equal(z, w.mu[:3]) {
		t.Errorf("without spread a tree draws %v, want the mean %v", z, w.mu[:3])
	}
}

// Names run out after a billion draws; then caches are told to forget.
func TestNamesStartAnewOnce(t *testing.T) {
	w, _ := inferrer(t, -1)
	w.remember(1)
	g, r := w.guess(1, 1).(*latentGuess), rng.New(5).Rand()
	g.next = math.MaxInt32/2 + 1
	if last := g.draw(0, 0, 0, 0, &r); last < math.MaxInt32/2 {
		t.Errorf("the name is %d", last)
	}
	if !g.watch(&rollout.View{}, nil) || g.next != firstName {
		t.Error("the names did not start anew, or nobody was told")
	}
	if g.watch(&rollout.View{}, nil) {
		t.Error("the names start anew twice")
	}
}

// Thinking about the others allocates nothing.
func TestInferringAllocatesNothing(t *testing.T) {
	w, g := inferrer(t, 2)
	w.remember(1)
	e, err := rollout.New(rollout.Config{Game: g, Envs: 1, Key: rng.New(4), Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	var players []rollout.Player
	for range 4 {
		b, err := rollout.NewBots(g, "random", 1)
		if err != nil {
			t.Fatal(err)
		}
		players = append(players, b)
	}
	p := &counter{Player: players[0], t: t, g: w.guess(1, 2).(*latentGuess)}
	players[0] = p
	e.Collect(batch.New(e.Shape(1, 0)), [][]rollout.Player{players})
	if !p.done {
		t.Error("nothing was counted")
	}
}

type counter struct {
	rollout.Player
	t    *testing.T
	g    *latentGuess
	done bool
}

func (p *counter) Act(v *rollout.View, envs []int32) {
	r := rng.New(1).Rand()
	p.g.h.cfg.Leaf = "scripts"
	if n := testing.AllocsPerRun(10, func() {
		p.g.watch(v, envs)
		p.g.drawn(1, 2, p.g.draw(1, 0, 2, 0, &r))
	}); n != 0 {
		p.t.Errorf("inferring and drawing allocates %v times, want 0", n)
	}
	p.done = true
	p.Player.Act(v, envs)
}

// A step's chosen subgoal is one of its own path's states, the last one's its
// own, and its value the return that followed.
func TestSubgoalsStayWithinTheirPath(t *testing.T) {
	w, g := inferrer(t, -1)
	e, err := rollout.New(rollout.Config{Game: g, Envs: 6, Key: rng.New(4), Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	var players []rollout.Player
	for _, name := range []string{"random", "ns", "nh", "ns"} {
		b, err := rollout.NewBots(g, name, 6)
		if err != nil {
			t.Fatal(err)
		}
		players = append(players, b)
	}
	ro := batch.New(e.Shape(50, 0))
	e.Collect(ro, [][]rollout.Player{players})
	var list []path
	for j, a := range w.h.others {
		for n := range 6 {
			list = paths(list, ro, a, j, n, false)
		}
	}
	chosen, row := w.choose(ro, list), 0
	for _, p := range list {
		first, end := row, row+p.hi-p.lo
		if !ro.Start[ro.Moment(p.lo, p.env)] || ro.End[p.last(ro)] != batch.Exited {
			t.Errorf("%+v is no whole episode", p)
		}
		for ; row < end; row++ {
			if to := chosen[row]; to < row || to >= end || to > row+w.h.cfg.Ahead || row < end-1 && to == row {
				t.Errorf("step %d of a path of %d has subgoal %d", row-first, end-first, to-first)
			}
		}
		// Rewards come at the end, so the optimistic subgoal is as near to it as
		// can be.
		if ro.Reward[p.last(ro)] > 0 && chosen[first] != min(first+w.h.cfg.Ahead, end-1) {
			t.Errorf("a rewarded path of %d: the first step's subgoal is %d", end-first, chosen[first]-first)
		}
	}
	if len(list) < 20 {
		t.Errorf("%d paths: the test saw too little", len(list))
	}
}
