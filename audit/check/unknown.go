package check

import (
	"fmt"
	"math"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/search/bandit"
	"github.com/hop-marl/hop/search/unknown"
)

// planned is what an agent's plan against somebody unknown is to know and to do in play.
type planned struct {
	*unknown.Plan
	lives []*lived   // [N]
	from  []rng.Rand // [N] where the agent's streams were before it acted
	far   []float64  // by how much policies differ from the definition's, of every decision that was asked about
	moved int        // policies of which that may be asked,
	idle  int        // and decisions without a plan
	says  string     // what is to be said of the first that differs
}

// lived is one life: what is known in it, by the definition, and its last decision.
type lived struct {
	*reference.Unknown
	before game.State
	seat   []game.Seat // [agents]
	acted  bool        // there was a decision in this episode
	time   int         // its step
	held   [][]float64 // [others][actions] what the reader expected then
}

// How plans are compared. The models are float32 and learn for a life: now and then a draw falls on the
// other side of a share in float64, and that future is another one.
const (
	fewEpisodes = 12      // of every life but the first that are followed
	everyPlan   = 7       // of so many plans one is made again,
	mostPlans   = 24      // so many of an agent
	sameModel   = 2e-4    // probabilities, and nats a step
	samePolicy  = 0.01    // nats of a policy
	otherFuture = 0.05    // share of decisions in which another future may make a policy another one
	mostDraws   = 1 << 14 // from an agent's stream in a decision
)

// planning is a player that may plan against somebody unknown.
type planning interface{ Plan() *unknown.Plan }

// Unknown makes the study one of play in which the player may plan against models that it makes while playing.
func (s *Study) Unknown(p rollout.Player, g game.Game, envs int) error {
	who, ok := p.(planning)
	if s.guard == nil || !ok || !s.cfg.Search.Unknown {
		return nil
	}
	s.plan = &planned{Plan: who.Plan(), from: make([]rng.Rand, envs)}
	for range envs {
		u, err := reference.NewUnknown(g, bandit.Scripts(g))
		if err != nil {
			return err
		}
		if (u == nil) != (s.plan.Plan == nil) {
			s.made.rows++
			s.made.miss(1, "search.unknown is on, and whether there is a plan against models that are made while playing (%v) is not whether "+
				"the game has a language (%v).", "search/unknown: New; agent/hop: newAnswers in answers.go", s.plan.Plan != nil, u != nil)
		}
		if u == nil || s.plan.Plan == nil {
			s.plan = nil
			return nil
		}
		s.plan.lives = append(s.plan.lives, &lived{Unknown: u, before: g.New(), seat: make([]game.Seat, s.spec.Seats)})
	}
	return nil
}

// Acts takes the agent's streams before it acts.
func (s *Study) Acts(v *rollout.View, envs []int32) {
	for _, n := range envs {
		if s.plan != nil {
			s.plan.from[n] = *v.Rand(int(n))
		}
	}
}

// watch takes in what the others did since the last decision, if that was one step ago.
func (l *lived) watch(v *rollout.View, n int) {
	if !l.acted || v.StepsOf(n) != l.time+1 {
		return
	}
	j := 0
	for a, seat := range l.seat {
		if agent.ID(a) == v.Agent {
			continue
		}
		if k := v.PlayedOf(n, agent.ID(a)); k != game.NoAction && l.before.Alive(seat) {
			l.Saw(l.before, seat, l.seat[v.Agent], j, k, l.held[j][k])
		}
		j++
	}
}

// follows reports whether life n is still followed.
func (p *planned) follows(n int) bool { return n == 0 || p.lives[n].Episodes < fewEpisodes }

// Ended takes in what an episode earned, for models that are made while playing.
func (s *Study) Ended(v *rollout.View, n int) {
	if s.plan == nil {
		return
	}
	if l := s.plan.lives[n]; s.plan.follows(n) {
		l.watch(v, n)
		l.acted = false
		l.Over(v.EarnedOf(n))
	}
}

// modelled holds what is known of the others, and what is planned by it, against the definition, and
// reports whether a plan has moved the policy.
func (s *Study) modelled(b learner.Believing, v *rollout.View, n int) (moved bool) {
	if s.plan == nil {
		return false
	}
	if s.plan.follows(n) {
		s.plan.lives[n].decide(b, v, n)
		s.known(v, n)
		s.due(n)
	}
	if !s.Plans(n) {
		return false
	}
	s.drawn(v, n)
	return s.plan.Ready(n)
}

// decide takes in a decision.
func (l *lived) decide(b learner.Believing, v *rollout.View, n int) {
	if v.Start[v.Moment(v.T, n)] {
		l.acted = false
	}
	l.watch(v, n)
	l.before.CopyFrom(v.State(n))
	l.acted, l.time, l.held = true, v.StepsOf(n), l.held[:0]
	for a := range l.seat {
		l.seat[a] = v.SeatAt(v.Slot(agent.ID(a), v.T, n))
	}
	for j := range b.Others() {
		probs := make([]float64, v.Actions)
		b.Read(probs, n, j)
		l.held = append(l.held, probs)
	}
}

// due holds whether there is a plan against whether there is to be one.
func (s *Study) due(n int) {
	l := s.plan.lives[n]
	got, want := s.plan.Ready(n), l.Ready()
	if s.made.bad > 0 || l.Episodes >= 5 && math.Abs(l.Said-l.Others+.05) < sameModel {
		return // it follows from another fault, or either is right
	}
	if s.ready.rows++; got != want {
		there := map[bool]string{true: "there is a plan", false: "there is no plan"}
		s.ready.miss(1, "in env %d, after %d episodes in which models made while playing predicted the others by %.3f nats a step and what was "+
			"read by %.3f, %s; there is to be one from the fifth episode on, where the models are no more than .05 behind.",
			"search/unknown: Ready in unknown.go", n, l.Episodes, l.Said, l.Others, there[got])
	}
}

// known holds what the models expect, and how well they are said to predict, against the definition.
func (s *Study) known(v *rollout.View, n int) {
	l, got := s.plan.lives[n], s.plan.Holds(v, n)
	when := fmt.Sprintf("in env %d, at step %d of episode %d", n, v.StepsOf(n), l.Episodes)
	s.made.rows++
	switch {
	case got.Episodes != l.Episodes:
		s.made.miss(1, "%s, models made while playing have seen %d episodes.", "search/unknown: Over in unknown.go", when, got.Episodes)
	case !agree(got.Said, l.Said, sameModel):
		s.made.miss(math.Abs(got.Said-l.Said), "%s, models made while playing are taken to have predicted what the others did by %.4f nats a "+
			"step; by what each did in the steps that the agent was there to see it is %.4f.",
			"search/unknown: watch in unknown.go (whose steps), look, weigh and see in model.go (how likely each is)", when, got.Said, l.Said)
	case !agree(got.Others, l.Others, sameModel):
		s.made.miss(math.Abs(got.Others-l.Others), "%s, what was read is taken to have predicted what the others did by %.4f nats a step; by "+
			"what was expected of each before it acted it is %.4f.",
			"search/unknown: See in unknown.go (what is expected), see in model.go", when, got.Others, l.Others)
	}
	for j, a := range s.others {
		seat := l.seat[a]
		if !l.before.Alive(seat) {
			continue
		}
		s.made.rows++
		want := l.Expected(l.before, seat, l.seat[s.me], j)
		if at, far := farthest(got.Expected[j], want); !(far <= sameModel) {
			s.made.miss(far, "%s, the model of agent %d that is made while playing has it play %s with a probability of %.4f; what the others have "+
				"done so far makes it %.4f.", "search/unknown: in model.go look (what holds of a situation), gradient and learn (how log-odds "+
				"move), multiply (after it: what shares are made of); in unknown.go Over (how the last episode went); agent/hop: Play in "+
				"answers.go (every decision is to be seen)",
				when, a, s.name(int32(at)), got.Expected[j][at], want[at])
		}
	}
}

// farthest returns where two lists differ most, and by how much; by no number at all counts as most.
func farthest(got, want []float64) (at int, far float64) {
	for k, x := range got {
		if d := math.Abs(x - want[k]); !(d <= far) {
			at, far = k, d
		}
	}
	return at, far
}

// drawn holds an action against the policy that was to act, and plans against the definition.
func (s *Study) drawn(v *rollout.View, n int) {
	p, step, ready := s.plan, v.StepOf(n), s.plan.Ready(n)
	policy, whose := v.TargetAt(step), "the search's"
	if ready {
		policy, whose = p.Policy(n), "the plan's against models made while playing"
	}
	salt, u, ok := lastDraws(p.from[n], *v.Rand(n))
	s.acts.rows++
	if want := rng.Pick(policy, u); !ok || v.Action[step] != want {
		s.acts.miss(1, "in env %d, at step %d, the policy that is to act is %s: with the last number of the agent's stream %s is drawn from it; "+
			"it plays %s.", "agent/hop: Play in answers.go", n, v.StepsOf(n), whose, s.name(want), s.name(v.Action[step]))
	}
	if !p.follows(n) || s.made.bad+s.acts.bad+s.ready.bad > 0 || len(p.far) >= mostPlans {
		return
	}
	if ready {
		if p.moved++; p.moved%everyPlan == 1 {
			s.replan(v, n, policy, salt)
		}
	} else if p.idle++; p.idle%(everyPlan*everyPlan) == 0 { // what it would have planned
		aside := v.Fork(v.Rollout, 0)
		r := *aside.Rand(n)
		s.replan(v, n, p.Improve(v.TargetAt(step), aside, n), r.Uint64())
	}
}

// replan plans again, in the futures of that name, and compares log-odds.
func (s *Study) replan(v *rollout.View, n int, policy []float32, salt uint64) {
	p, l, given := s.plan, s.plan.lives[n], v.TargetAt(v.StepOf(n))
	plan := l.Improve(given, l.before, l.seat, int(s.me), salt)
	got, want := make([]float64, len(policy)), make([]float64, len(policy))
	for k, x := range policy {
		got[k], want[k] = math.Log(max(float64(x), 1e-12)), math.Log(max(plan[k], 1e-12))
	}
	at, far := farthest(got, want)
	if p.far = append(p.far, far); !(far <= samePolicy) && p.says == "" {
		p.says = fmt.Sprintf("in env %d, at step %d of episode %d, the plan gives %s a probability of %.5f, the search %.5f; in the same "+
			"futures it comes to %.5f.", n, v.StepsOf(n), l.Episodes, s.name(int32(at)), policy[at], given[at], plan[at])
	}
}

// lastDraws returns the last two numbers that a stream gave between two of its positions: what futures are named
// by, and what an action is drawn with.
func lastDraws(from, to rng.Rand) (salt uint64, u float32, ok bool) {
	last, but := from, from
	for i := range mostDraws {
		if from == to {
			return but.Uint64(), last.Float32(), i > 0
		}
		but, last = last, from
		from.Uint64()
	}
	return 0, 0, false
}

// Unplanned reports whether there may be plans against somebody unknown, of which none could be looked at.
func (s *Study) Unplanned() bool {
	return s.plan != nil && len(s.plan.far)+s.made.bad+s.ready.bad+s.acts.bad == 0
}

// plans returns what is to be said of the policies that were planned: nothing unless more of them are others than
// futures that fell on the other side can explain.
func (s *Study) plans() *tally {
	t := &tally{}
	if s.plan == nil {
		return t
	}
	bad := 0
	for _, x := range s.plan.far {
		if t.rows++; !(x <= samePolicy) {
			bad++
			t.far = max(t.far, x)
		}
	}
	if float64(bad) > 1+otherFuture*float64(t.rows) {
		t.bad, t.says = bad, fmt.Sprintf("%s %d of %d policies differ, more than by futures that fell on the other side of a share in float32.",
			s.plan.says, bad, t.rows)
		t.next = "search/unknown: in unknown.go play (futures, the same for scripts and actions), follow and best (the best script), " +
			"advantage (James and Stein's pull), Improve (what is added for the script's own action); draw in model.go (whom a future meets); " +
			"agent/hop: Play in answers.go (the policy that is given)"
	}
	return t
}
