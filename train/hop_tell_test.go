package train

import (
	"slices"
	"testing"

	"hop/agent"
	"hop/batch"
	"hop/belief"
	"hop/frame"
	"hop/game"
	"hop/game/staghunt"
	"hop/model/actor"
	"hop/model/moa"
	"hop/plan"
	"hop/plan/truth"
	"hop/ppo"
	"hop/rng"
	"hop/rollout"
)

// When it learns, an agent's network is told of each living co-player, at the
// place where the agent sees it, the goal that it reached in the end.
func TestTheNetworkLearnsWithTheGoalsThatWereReached(t *testing.T) {
	cfg := staghunt.Default()
	cfg.Size = 4
	g, err := staghunt.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	spec := g.Spec()
	h := &HOP{cfg: DefaultPlanning(), spec: spec, me: 1, others: []agent.ID{0, 2, 3}, random: 2, width: 3, see: 9}
	h.wants = newHandmade(h, 2, false)
	const envs = 8
	e, err := rollout.New(rollout.Config{Game: g, Envs: envs, Key: rng.New(4), Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	var players []rollout.Player
	for _, name := range []string{"ns", "random", "nh", "ns"} {
		b, err := rollout.NewBots(g, name, envs)
		if err != nil {
			t.Fatal(err)
		}
		players = append(players, b)
	}
	ro := batch.New(e.Shape(40, h.see))
	e.Collect(ro, [][]rollout.Player{players})
	list, steps := h.learns(ro), 0
	for _, p := range list {
		steps += p.hi - p.lo
	}
	goals := make([]float32, steps*2)
	if _, err := h.wants.label(goals, ro, list, 0, nil); err != nil {
		t.Fatal(err)
	}
	h.tell(ro, list, goals)
	cell := func(obs []float32, plane int) int {
		for c := range cells(spec) {
			if obs[c*len(spec.Obs.Planes)+plane] != 0 {
				return c
			}
		}
		return -1
	}
	told, shared := 0, 0
	for _, p := range list {
		reached := int(ro.Reached[p.last(ro)])
		for s := p.lo; s < p.hi; s++ {
			mine := ro.Slot(h.me, s, p.env)
			if !ro.Alive[mine] {
				continue
			}
			// Who stands where the co-player sees itself?
			at := cell(ro.ObsAt(ro.Slot(p.agent, s, p.env)), 0)
			var places []int
			for place := range 3 {
				if cell(ro.ObsAt(mine), 1+place) == at {
					places = append(places, place)
				}
			}
			if len(places) != 1 {
				shared++ // a shared cell does not tell who is who
				continue
			}
			told++
			got := ro.GoalAt(mine)[places[0]*3 : places[0]*3+3]
			for k, x := range got {
				if want := k == reached; (x == 1) != want || x != 0 && x != 1 {
					t.Fatalf("%v reached goal %d, step %d of env %d is told %v at place %d", p.agent, reached, s, p.env, got, places[0])
				}
			}
		}
	}
	if told < 50 {
		t.Errorf("%d steps were told, %d cells shared: the test saw too little", told, shared)
	}
	// A policy that acted on beliefs learns from what it acted on.
	h.cfg.Own = "ppo"
	clear(ro.Goal)
	h.tell(ro, list, goals)
	for _, x := range ro.Goal {
		if x != 0 {
			t.Fatal("PPO was told goals that it did not act on")
		}
	}
}

func cells(s game.Spec) int { return s.Obs.Height * s.Obs.Width }

// Doubt starts an episode as the spec says, whatever earlier episodes counted.
func TestDoubtStartsAsItIsSet(t *testing.T) {
	h := &HOP{cfg: DefaultPlanning(), others: []agent.ID{1, 2}, random: 2}
	b := belief.New(belief.Default(), 1, 2, 3)
	h.belief = []*belief.Beliefs{b}
	for range 50 {
		b.Seen(0, 1)
	}
	h.start(0, 0)
	if b.At(0, 0)[2] > 0.4 || b.At(0, 0)[1] < 0.35 {
		t.Errorf("as counted the belief starts at %v", b.At(0, 0))
	}
	ratio := b.At(0, 0)[1] / b.At(0, 0)[0]
	h.cfg.Start = 0.1
	for j := range 2 {
		h.start(0, j)
		at := b.At(0, j)
		if sum := at[0] + at[1] + at[2]; at[2] != 0.1 || sum < 1-1e-9 || sum > 1+1e-9 {
			t.Errorf("the belief starts at %v, want doubt 0.1 and a sum of 1", at)
		}
	}
	if got := b.At(0, 0)[1] / b.At(0, 0)[0]; got < ratio-1e-9 || got > ratio+1e-9 {
		t.Errorf("the goals are believed in at %v, want %v as counted", got, ratio)
	}
}

// In a team's episode one learner plays among bots, and every number of the first
// bot is as likely; which learner it is goes round. 4,000 episodes: a share is off
// by .04 once in a million.
func TestTeamsAreOneLearnerAmongBots(t *testing.T) {
	c := newCast(4, 1, nil, []string{"ns", "nh", "random"}, rng.New(1))
	c.teams = newTeams(0.5, 1, rng.New(1))
	c.share = 0
	for a := range c.learns {
		c.learns[a] = true
	}
	const n = 4000
	teams, firsts, focal := 0, [4]int{}, [4]int{}
	for range n {
		own, first := 0, 0
		for a := range agent.ID(4) {
			switch c.choice[a][0] = c.draw(a, 0); c.choice[a][0] {
			case -1:
				own++
			case 0:
				first++
			case 1:
			default:
				t.Fatalf("agent %d is played by %d", a, c.choice[a][0])
			}
		}
		switch own {
		case 4:
			continue
		case 1:
		default:
			t.Fatalf("%d learners play, want all or one", own)
		}
		teams++
		firsts[first]++
		for a := range focal {
			if c.choice[a][0] == -1 {
				focal[a]++
			}
		}
	}
	if share := float64(teams) / n; share < 0.46 || share > 0.54 {
		t.Errorf("%.3f of the episodes are teams', want 0.5", share)
	}
	for i := range 4 {
		if s := float64(firsts[i]) / float64(teams); s < 0.2 || s > 0.3 {
			t.Errorf("%d of the first bot in %.3f of the teams, want 0.25", i, s)
		}
		if s := float64(focal[i]) / float64(teams); s < 0.2 || s > 0.3 {
			t.Errorf("agent %d is the learner in %.3f of the teams, want 0.25", i, s)
		}
	}
}

// recorder is a response network that says nothing and keeps what it is told.
type recorder struct {
	actions   int
	rows      int
	obs, told [][]float32
}

func (r *recorder) Add(obs, goal []float32) {
	r.obs, r.told = append(r.obs, slices.Clone(obs)), append(r.told, slices.Clone(goal))
	r.rows++
}

func (r *recorder) Run() (logits, value []float32) {
	n := r.rows
	r.rows = 0
	return make([]float32, n*r.actions), make([]float32, n)
}

// A response network is told which bot stands for what each living co-player is after, at
// the place where the agent sees it, and nothing of those who have left.
func TestTheResponseNetworkIsToldTheDrawnGoals(t *testing.T) {
	cfg := staghunt.Default()
	cfg.Size = 4
	g, err := staghunt.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	spec := g.Spec()
	in := frame.Input{Height: 4, Width: 4, Planes: len(spec.Obs.Planes), Rest: spec.Obs.Len() - spec.Obs.PlanesLen()}
	judged := in
	judged.Extra = 9
	c := HOPConfig{
		Planning: DefaultPlanning(), Search: plan.OneStep(7, 2), Belief: belief.Default(), MOA: moa.Default(), Learning: moa.DefaultLearning(),
		Input: moa.Input{Input: in, Actions: 7, LegalAt: spec.Obs.LegalAt(), LastAt: spec.Obs.LastAt(), Seats: 4}, Game: g, Scale: 1,
		World: func(envs, trees int) (Rules, Scripts, error) {
			w, err := truth.NewWorld(g, nil, nil, envs, trees)
			return w, nil, err
		},
	}
	c.Planning.Leaf, c.Models.RateScale = "response", 1
	if c.Models.Response, c.Models.Rates, err = actor.New(actor.Default(), actor.Input{Input: judged, Actions: 7}, rng.New(1)); err != nil {
		t.Fatal(err)
	}
	own := in
	own.Extra = c.Planning.GoalLen(spec, c.Models)
	b, err := ppo.New(ppo.Default(), actor.Default(), actor.Input{Input: own, Actions: 7}, []agent.ID{1}, 1, rng.New(2))
	if err != nil {
		t.Fatal(err)
	}
	h, err := NewHOP(c, b, rng.New(3))
	if err != nil {
		t.Fatal(err)
	}
	h.Swap(Swap{Goals: []int32{0, 1, 2}}) // of agents 0, 2 and 3
	const envs = 8
	h.Remember(envs, 40)
	thinkers, err := h.Players(1, 1, envs)
	if err != nil {
		t.Fatal(err)
	}
	heard := &recorder{actions: 7}
	thinkers[0].(*hopPlayer).prior.response.Net = heard
	e, err := rollout.New(rollout.Config{Game: g, Envs: envs, Key: rng.New(4), Workers: 1, FixSeat: true})
	if err != nil {
		t.Fatal(err)
	}
	var players []rollout.Player
	for _, name := range []string{"ns", "", "nh", "random"} {
		if name == "" {
			players = append(players, thinkers[0])
			continue
		}
		bots, err := rollout.NewBots(g, name, envs)
		if err != nil {
			t.Fatal(err)
		}
		players = append(players, bots)
	}
	e.Collect(batch.New(e.Shape(40, h.see)), [][]rollout.Player{players})
	kind := []int{1, 2, 0} // of agents 2, 3 and 0, who sit after agent 1
	left, there := 0, 0
	for i, obs := range heard.obs {
		for place := range 3 {
			seen := false
			for cell := range cells(spec) {
				seen = seen || obs[cell*len(spec.Obs.Planes)+1+place] != 0
			}
			want := [3]float32{}
			if seen {
				there++
				want[kind[place]] = 1
			} else {
				left++
			}
			if got := [3]float32(heard.told[i][place*3:]); got != want {
				t.Fatalf("the co-player at place %d, seen %v, is told as %v, want %v", place, seen, got, want)
			}
		}
	}
	if left < 50 || there < 50 {
		t.Errorf("%d co-players had left, %d had not: the test saw too little", left, there)
	}
}
