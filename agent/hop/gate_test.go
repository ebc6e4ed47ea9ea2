package hop

import (
	"math"
	"testing"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/batch"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/model/moa"
)

// gated lets a player act and counts by what is overwritten how many rows its networks
// compute: those of the inference, those of the model of others for the beliefs, and
// those of the model of others in the search.
type gated struct {
	*player
	t                       *testing.T
	asked                   *asking
	near                    func(obs []float32) bool
	living, open            int
	inferred, predicted, in int
}

// asking counts what the model of others computes in a search, by co-player.
type asking struct {
	*moa.Answers
	rows int
	who  int // where a goal says whom it is about
	of   map[int]int
}

func (a *asking) Run() (logits, value []float32) {
	a.rows += a.Rows()
	return a.Answers.Run()
}

func (a *asking) Add(obs, goal []float32) {
	before := a.Rows()
	a.Answers.Add(obs, goal)
	for j, x := range goal[a.who:] {
		if x != 0 && a.Rows() > before {
			a.of[j]++
		}
	}
}

const unwritten = -99

func (p *gated) Act(v *rollout.View, envs []int32) {
	f := p.goals.(*latentInference)
	for i := range f.work.Mu {
		f.work.Mu[i] = unwritten
	}
	for i := range p.others.probs {
		p.others.probs[i] = unwritten
	}
	if len(envs) != 1 {
		p.t.Fatalf("%d envs, want one, so that rows can be told apart", len(envs))
	}
	clear(p.asked.of)
	p.player.Act(v, envs)
	open := 0
	for j, a := range p.sees.others {
		slot := v.Slot(a, v.T, int(envs[0]))
		if !v.Alive[slot] {
			continue
		}
		p.living++
		if p.near(v.ObsAt(slot)) {
			open++
		} else if n := p.asked.of[j]; n > 0 {
			p.t.Errorf("co-player %d is beyond the gate, and the search asks the model of others %d times what it does", a, n)
		}
	}
	d, k := f.w.model.Dim, len(p.sees.spec.Actions)
	inferred, predicted := 0, 0
	for i := 0; i < len(f.work.Mu); i += d {
		if f.work.Mu[i] != unwritten {
			inferred++
		}
	}
	for i := 0; i < len(p.others.probs); i += k {
		if p.others.probs[i] != unwritten {
			predicted++
		}
	}
	if hypotheses := p.shape.doubt; inferred != open || predicted != open*hypotheses {
		p.t.Fatalf("%d co-players are within the gate, %d goals are inferred and %d distributions predicted, want %d and %d",
			open, inferred, predicted, open, open*hypotheses)
	}
	p.open, p.inferred, p.predicted, p.in = p.open+open, p.inferred+inferred, p.predicted+predicted, p.in+p.asked.rows
	p.asked.rows = 0
}

// Who is beyond the gate costs nothing: no step of the inference, no prediction for the
// beliefs, none in the search. Without a gate everybody alive costs all of it.
func TestBeyondTheGateNothingIsComputed(t *testing.T) {
	g := hunt(t, 12)
	l := g.Spec().Obs
	cost := map[int]int{}
	for _, gate := range []int{-1, 0, 1} {
		m, p := makeMind(t, g, 0, 1, func(c *Config) { c.Goals.Kind, c.Goals.Gate = "latent", gate })
		a := &asking{Answers: p.search.parts[0].drawn.net.Net.(*moa.Answers), who: m.shape.width, of: map[int]int{}}
		p.search.parts[0].drawn.net.Net = a
		at := func(obs []float32, name int, cell int) bool { return obs[cell*len(l.Planes)+name] == 1 }
		mine := &gated{player: p, t: t, asked: a, near: func(obs []float32) bool {
			for me := range l.Height * l.Width {
				for thing := range l.Height * l.Width {
					away := max(me/l.Width, thing/l.Width) - min(me/l.Width, thing/l.Width) +
						max(me%l.Width, thing%l.Width) - min(me%l.Width, thing%l.Width)
					for k, name := range l.Planes {
						if at(obs, 0, me) && (name == "stag" || name == "hare") && at(obs, k, thing) && away <= gate {
							return true
						}
					}
				}
			}
			return gate < 0
		}}
		collect(t, rollout.Config{Game: g}, batch.Shape{Envs: 1, Steps: 60, GoalLen: m.goalLen}, []string{"", "ns", "nh", "random"}, mine)
		if gate < 0 && mine.open != mine.living || gate >= 0 && (mine.open == 0 || mine.open == mine.living) {
			t.Errorf("gate %d: %d of %d co-players are within it: the test saw too little", gate, mine.open, mine.living)
		}
		cost[gate] = mine.in
	}
	if !(cost[0] < cost[1] && cost[1] < cost[-1]) {
		t.Errorf("the search computes %d rows with gate 0, %d with gate 1 and %d with none: want ever more", cost[0], cost[1], cost[-1])
	}
}

// Beliefs about a co-player beyond the gate stay as they are.
func TestBeliefsStayBeyondTheGate(t *testing.T) {
	g := hunt(t, 12)
	m, p := makeMind(t, g, 0, 1, func(c *Config) {
		c.Goals.Kind, c.Goals.Gate, c.Leaf.Kind, c.Belief.Across = "latent", 0, "scripts", false
	})
	shut, moved, held := 0, 0, map[int][]float64{}
	watch := acting(func(v *rollout.View, envs []int32) {
		if v.Start[v.Moment(v.T, 0)] {
			clear(held)
		}
		before := map[int]bool{}
		for j := range p.sees.others {
			before[j] = held[j] != nil && !p.inferred.open(p.sees.at(0, j))
		}
		p.Act(v, envs)
		for j, a := range p.sees.others {
			now := m.beliefs.held[0].At(0, j)
			for g := range now {
				if held[j] != nil && math.Abs(now[g]-held[j][g]) > 1e-9 && v.Alive[v.Slot(a, v.T, 0)] {
					if moved++; before[j] {
						t.Errorf("step %d: agent %d was beyond the gate, and what is believed of it moved from %v to %v", v.T, a, held[j], now)
					}
				}
			}
			if before[j] {
				shut++
			}
			held[j] = append([]float64(nil), now...)
		}
	})
	collect(t, rollout.Config{Game: g}, batch.Shape{Envs: 1, Steps: 60, GoalLen: m.goalLen}, []string{"", "ns", "nh", "random"}, watch)
	if shut == 0 || moved == 0 {
		t.Errorf("%d times somebody was beyond the gate, %d beliefs moved: the test saw too little", shut, moved)
	}
}

// acting is a player that is a function.
type acting func(v *rollout.View, envs []int32)

func (f acting) Act(v *rollout.View, envs []int32) { f(v, envs) }
func (acting) Evaluate(*rollout.View, []int32)     {}
func (acting) EpisodeOver(*rollout.View, int)      {}

var _ rollout.Player = acting(nil)

// In a game without anything to want a gate would never open, which is refused.
func TestAGateNeedsThings(t *testing.T) {
	c := Default()
	c.Goals.Kind, c.Goals.Gate = "latent", 1
	g := bare{Game: hunt(t, 12)}
	if err := c.Fits(g.Game); err != nil {
		t.Error(err)
	}
	if err := c.Fits(g); err == nil {
		t.Error("a board without things is taken for one with a gate")
	}
}

// bare is a game that shows no things.
type bare struct{ game.Game }

func (b bare) Spec() game.Spec {
	s := b.Game.Spec()
	s.Obs = game.Layout{Height: 4, Width: 4, Planes: s.Obs.Planes[:5], Legal: s.Obs.Legal, Last: s.Obs.Last}
	return s
}
