package check

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hop-marl/hop/agent/hop/pretrained"
	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/model/actor"
	"github.com/hop-marl/hop/model/moa"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/nn"
	"github.com/hop-marl/hop/num/safetensors"
	"github.com/hop-marl/hop/search"
)

// The questions, in causal order.
const (
	startsHere   = iota // the root is what is there now
	drawsGoals          // goals are drawn from the beliefs
	drawsActions        // co-players act as the model of others says
	playsRules          // steps are the rules', or the world model's
	trueEnough          // the world model's steps are near the rules'
	valuesLeaves        // leaves are worth what the definition says
	growsTree           // the tree is what its simulations make it
	choosesBest         // the action is the one that the results are for
	meansEnough         // the root agrees with expectimax
	actsOnIt            // what is recorded is the search's
	knowsFuture
	knowsChance
	readsOthers
	seesNow
	readsHistory
	decisionQuestions
)

// Searching returns what was found inside searches.
func (l *Decisions) Searching() []check.Finding {
	l.expected()
	f := func(name, unit, says, next string) check.Finding {
		return check.Finding{Check: name, Module: "planner", Unit: unit, Says: says, Next: next}
	}
	return l.findings(map[int]check.Finding{
		startsHere: f("a search starts from what is there", "roots",
			"Every root is the state of now, seen from every place as its agent sees it.",
			"hop.planner.setRoot (which state, which seats) and the rules' Set, Root and Observe"),
		drawsGoals: f("goals are drawn from the beliefs", "draws", "What trees draw for the co-players follows the posterior.",
			"hop.drawn.Goals, belief.Beliefs.Draw, hop.Inference.Draw"),
		drawsActions: f("co-players in a tree act as the model of others says", "drawn actions",
			"Every drawn action is the one that the model's probabilities and the stream make.",
			"search.NetOthers.Draw, moa.Answers and hop.drawn.Vector: whose observation, whose goal, which network"),
		playsRules: f("steps in a tree are played right", "steps", "Every step of every tree is what the rules, or the world model, make of it.",
			"the dynamics' Expand (search/truth, search/learned): which action is whose, when it is over, what it pays"),
		trueEnough: f("imagined steps are near the true ones", "steps", "Most of the world model's steps from real states are the rules'.",
			"search/learned: the order of the joint action, the observation it starts from; hop pretrain world's card"),
		valuesLeaves: f("leaves are worth what the definition says", "leaves",
			"Every leaf has the value, and every node the prior, that its network or its scripts give its state.",
			"hop.leaves.Eval: which state, whose goals, whose place, the scale of values; truth.Scripts"),
		growsTree: f("trees are what their simulations make them", "simulations",
			"Choices, returns, Q, visits, values and policy are those of the formulae.",
			"search.Forest: selectAction, backup, drawOthers, addNode and act"),
		choosesBest: f("the best action is chosen", "decisions",
			"In every decision that was made the action is the one that Q, visits and prior are for, by what search.act says.",
			"search.Forest: act, better and improved"),
		meansEnough: f("the root agrees with expectimax", "trees",
			"The root's Q are draws around the exact expectation over what the co-players may do.",
			"how the co-players' actions are drawn and resampled"),
		actsOnIt: f("what is recorded is what the search says", "decisions",
			"Policy, value and probability are recorded as the search found them.",
			"hop.player.choose and Evaluate"),
	})
}

// searched is one decision of a planner with everything that it follows from.
type searched struct {
	*experiment
	*outcome
	a      agent.ID
	others []agent.ID
	look   search.Observer
	named  interface{ Of(tree int32) []int32 }
	vector interface {
		Vector(tree int32, other int, goal int32) []float32
	}
	moa    *moa.Learner
	ws     *moa.Work
	own    network
	reply  network // the response network
	models pretrained.Models
	pop    population
	width  int // numbers about one co-player's goal
	doubt  int // the hypothesis of acting at random, -1: none
	obs    []float32
	kept   bool                           // with other weights: what differs is what was kept
	states map[int32]map[int32]game.State // [tree][slot] on the game's own rules
	bots   map[string]game.Bot
}

// network evaluates a state.
type network struct {
	ws     *actor.Work
	params *nn.Params
	scale  float64
}

// at returns logits and the value in the game's own reward.
func (n network) at(obs, goal []float32) ([]float32, float64) {
	n.ws.Reset()
	n.ws.Add(obs, goal)
	n.ws.Forward(n.params)
	return n.ws.Logits, float64(n.ws.Value[0]) / n.scale
}

// search asks everything about a decision that was found by search.
func (x *experiment) search(base *outcome) {
	s := &searched{experiment: x, outcome: base, a: x.v.Agent, doubt: -1, obs: make([]float32, x.v.ObsLen)}
	j := base.journal
	reading, ok := x.Player.(learner.Predictor)
	acting, can := learner.As[learner.Acting](x.Mind)
	inner, has := learner.As[interface {
		Models() pretrained.Models
		Model(a agent.ID) *moa.Learner
	}](x.Mind)
	timed, _ := x.Player.(learner.Timed)
	if !ok || !can || !has || len(j.Grown) == 0 || len(j.Grown) > timed.Forest().Group() {
		return
	}
	s.others, s.models, s.moa = reading.Others(), inner.Models(), inner.Model(s.a)
	s.ws = s.moa.Model.Work(1)
	model, params := acting.Actor()
	s.own = network{model.Work(1), params, x.Scale}
	if s.models.Response != nil {
		s.reply = network{s.models.Response.Work(1), s.models.Answers, s.models.ResponseScale}
	}
	s.width, s.pop = s.moa.Model.GoalLen-len(s.others), populationOf(s.models, x.Hop)
	if x.Hop.Goals.Doubt && x.Hop.Goals.Kind != "none" {
		s.doubt = len(base.beliefs)/len(x.envs)/len(s.others) - 1
	}
	s.look, _ = j.Dynamics.(search.Observer)
	s.named, _ = j.Model.(interface{ Of(tree int32) []int32 })
	s.vector, _ = j.Model.(interface {
		Vector(tree int32, other int, goal int32) []float32
	})
	x.grown(j)
	s.recorded()
	if s.look == nil || s.named == nil || s.vector == nil || j.Hashed {
		return
	}
	s.roots()
	s.steps()
	s.leaves()
	s.drawn()
	s.expectimax()
	s.goals() // last: it draws anew
	s.learnt()
}

// learnt lets the mind decide once more with other weights: answers that were kept
// from before are not its networks' any more.
func (s *searched) learnt() {
	f := &safetensors.File{Meta: s.start.Meta}
	for _, t := range s.start.Tensors {
		if strings.HasPrefix(t.Name, "net/") || strings.Contains(t.Name, "moa/net/") {
			t.Data = slices.Clone(t.Data)
			for at := 0; at+4 <= len(t.Data); at += 4 {
				x := math.Float32frombits(binary.LittleEndian.Uint32(t.Data[at:]))
				binary.LittleEndian.PutUint32(t.Data[at:], math.Float32bits(1.25*x))
			}
		}
		f.Tensors = append(f.Tensors, t)
	}
	s.back()
	s.decide(0, nil) // with the old ones, which fills what is kept
	if s.saver.Load(f, "") != nil {
		return
	}
	o := s.decide(0, nil)
	if o.broke != nil || len(o.journal.Grown) != len(s.journal.Grown) {
		return
	}
	again := *s
	again.outcome, again.states, again.kept = o, nil, true
	was := [2]int{s.q[valuesLeaves].bad, s.q[drawsActions].bad}
	if again.steps(); s.Hop.Leaf.Kind == "net" {
		again.leaves()
	}
	again.drawn()
	for i, at := range []int{valuesLeaves, drawsActions} {
		if q := &s.q[at]; was[i] == 0 && q.bad > 0 && !strings.HasPrefix(q.says, "after its weights") {
			q.says = "after its weights have changed " + q.says + ", as if answers were kept from before"
		}
	}
}

// grown holds the trees against the recomputed ones.
func (x *experiment) grown(j *search.Journal) {
	r := regrow(j)
	x.took(growsTree, max(r.Sims, r.Trees))
	for _, w := range r.Wrongs {
		x.wrong(growsTree, x.v.Agent, "%s", w.Says)
	}
}

// entries visits entries of one kind in the journals of a decision's trees: of each of the
// first trees so many; most 0: all.
func (s *searched) entries(what, trees, most int, visit func(i int, t int32, e *search.Entry)) {
	for i := range s.envs {
		lo, hi := s.trees(i)
		if trees > 0 {
			hi = min(hi, lo+trees)
		}
		for t := lo; t < hi; t++ {
			asked := 0
			for at := range s.journal.Grown[t].Log {
				if e := &s.journal.Grown[t].Log[at]; e.What == what && (most == 0 || asked < most) {
					asked++
					visit(i, int32(t), e)
				}
			}
		}
	}
}

// trees returns the trees of decision i.
func (s *searched) trees(i int) (lo, hi int) {
	return i * s.journal.Config.Trees, (i + 1) * s.journal.Config.Trees
}

// who returns the agent at a place of the search: oneself, then the co-players.
func (s *searched) who(place int) agent.ID {
	if place == 0 {
		return s.a
	}
	return s.others[place-1]
}

// seat returns where that is in decision i's game.
func (s *searched) seat(i, place int) game.Seat {
	return s.v.SeatAt(s.v.Slot(s.who(place), s.v.T, int(s.envs[i])))
}

// ego returns the ego-first place of co-player j, from 0 for the next seat.
func (s *searched) ego(i, j int) int {
	n := len(s.others) + 1
	return (int(s.seat(i, j+1))-int(s.seat(i, 0))+n)%n - 1
}

// roots holds every root against what the agents see now.
func (s *searched) roots() {
	for i, e := range s.envs {
		lo, hi := s.trees(i)
		for t := lo; t < hi; t++ {
			tree := &s.journal.Grown[t]
			for place := range len(s.others) + 1 {
				slot := s.v.Slot(s.who(place), s.v.T, int(e))
				s.took(startsHere, 1)
				mask := s.look.Legal(int32(t), tree.Root, place)
				if want := bitsOf(s.v.LegalAt(slot)); mask != want {
					s.wrong(startsHere, s.a, "at the root agent %d may play the actions %b, by its mask it is %b", s.who(place), mask, want)
					continue
				}
				if !s.v.Alive[slot] {
					continue
				}
				s.look.Observe(s.obs, int32(t), tree.Root, place)
				if at := unlike(s.obs, s.v.ObsAt(slot)); at >= 0 {
					s.wrong(startsHere, s.a, "the root that it plans from is not what agent %d sees now (number %d of its observation is %v, not %v)%s",
						s.who(place), at, s.obs[at], s.v.ObsAt(slot)[at], s.stale(slot, int(e)))
				}
			}
		}
	}
}

// stale says if what is at a root is what was there a step before, or elsewhere.
func (s *searched) stale(slot, n int) string {
	for e := range s.v.Envs {
		for t := s.v.T; t >= max(0, s.v.T-1); t-- {
			for b := range agent.ID(s.v.Agents) {
				other := s.v.Slot(b, t, e)
				if other == slot || unlike(s.obs, s.v.ObsAt(other)) >= 0 {
					continue
				}
				switch {
				case t < s.v.T:
					return ": it is the state of one step before"
				case e != n:
					return fmt.Sprintf(": it is env %d's, not env %d's", e, n)
				}
				return fmt.Sprintf(": it is what agent %d sees", b)
			}
		}
	}
	return ""
}

// steps plays every step again on the game's own states, or asks the world model
// itself.
func (s *searched) steps() {
	if s.Hop.Search.Dynamics == "world" {
		s.imagined()
		return
	}
	g, spec := s.Game, s.Game.Spec()
	rewards := make([]float32, spec.Seats)
	s.states = map[int32]map[int32]game.State{}
	for i, e := range s.envs {
		lo, hi := s.trees(i)
		for t := lo; t < hi; t++ {
			s.states[int32(t)] = map[int32]game.State{s.journal.Grown[t].Root: s.v.State(int(e))}
		}
	}
	s.entries(search.Played, 0, 0, func(i int, t int32, entry *search.Entry) {
		from := s.states[t][entry.Leaf.From]
		if from == nil {
			return
		}
		s.took(playsRules, 1)
		joint := s.bySeat(i, entry)
		if err := game.Check(g, from, joint); err != nil {
			s.wrong(playsRules, s.a, "a step that the rules refuse (%v)", err)
			return
		}
		st, r := g.New(), entry.Rand
		st.CopyFrom(from)
		st.Step(joint, rewards, &r)
		s.states[t][entry.Leaf.To] = st
		if says := s.unlikeRules(i, t, entry, st, rewards); says != "" {
			s.wrong(playsRules, s.a, "after %s of oneself and %v of %v the search has %s", spec.Actions[entry.Leaf.Action], entry.Joint,
				s.others, says)
		}
	})
}

// bySeat puts a step's actions at their seats.
func (s *searched) bySeat(i int, e *search.Entry) []int32 {
	joint := make([]int32, len(s.others)+1)
	joint[s.seat(i, 0)] = e.Leaf.Action
	for j, a := range e.Joint {
		joint[s.seat(i, j+1)] = a
	}
	return joint
}

// unlikeRules says in what a step differs from the game's.
func (s *searched) unlikeRules(i int, tree int32, e *search.Entry, st game.State, rewards []float32) string {
	me := s.seat(i, 0)
	over := !st.Alive(me)
	switch {
	case e.Leaf.Reward != rewards[me]:
		return fmt.Sprintf("a reward of %v, the rules pay %v", e.Leaf.Reward, rewards[me])
	case e.Leaf.Over != over:
		return fmt.Sprintf("an end: %v, by the rules it is %v", e.Leaf.Over, over)
	case over:
		return ""
	}
	legal, want := make([]bool, s.v.Actions), make([]float32, s.v.ObsLen)
	for place := range len(s.others) + 1 {
		st.Legal(s.seat(i, place), legal)
		if mask := s.look.Legal(tree, e.Leaf.To, place); mask != bitsOf(legal) || place == 0 && e.Leaf.Legal != mask {
			return fmt.Sprintf("other legal actions of agent %d than the rules", s.who(place))
		}
		if !st.Alive(s.seat(i, place)) {
			continue
		}
		st.Observe(s.seat(i, place), want)
		s.look.Observe(s.obs, tree, e.Leaf.To, place)
		if at := unlike(s.obs, want); at >= 0 {
			return fmt.Sprintf("another state than the rules, as agent %d sees it (number %d is %v, not %v)", s.who(place), at, s.obs[at], want[at])
		}
	}
	return ""
}

// recorded holds what was written into the window against the search.
func (s *searched) recorded() {
	j, v := s.journal, s.view
	for i, e := range s.envs {
		s.took(actsOnIt, 1)
		policy := j.Policy[i*j.Actions : (i+1)*j.Actions]
		step, slot := v.StepOf(int(e)), v.SlotOf(int(e))
		act := v.Action[step]
		switch {
		case act < 0 || policy[act] <= 0:
			s.wrong(actsOnIt, s.a, "action %d is played, to which the search gives no probability", act)
		case !slices.Equal(v.TargetAt(step), policy):
			s.wrong(actsOnIt, s.a, "the policy in the window is %.3f, the search's is %.3f", v.TargetAt(step), policy)
		case math.Abs(float64(v.LogProb[step])-math.Log(float64(policy[act]))) > 1e-4:
			s.wrong(actsOnIt, s.a, "the probability in the window is %.4f, the search's is %.4f", math.Exp(float64(v.LogProb[step])), policy[act])
		case off(float64(v.Value[slot]), float64(j.Value[i])*s.Scale):
			s.wrong(actsOnIt, s.a, "the value in the window is %.4f, the search's is %.4f times a scale of %v", v.Value[slot],
				j.Value[i], s.Scale)
		}
	}
	s.evaluated()
}

// evaluated asks for values where a window would cut an episode: the own network's.
func (s *searched) evaluated() {
	v := s.view
	s.Player.Evaluate(v, slices.Clone(s.envs))
	for _, e := range s.envs {
		slot := v.SlotOf(int(e))
		_, want := s.own.at(v.ObsAt(slot), v.GoalAt(slot))
		want *= s.Scale
		s.took(actsOnIt, 1)
		if off(float64(v.Value[slot]), want) {
			s.wrong(actsOnIt, s.a, "where a window ends its value is %.4f, its network says %.4f", v.Value[slot], want)
		}
	}
}

// bitsOf returns a bit for each true entry.
func bitsOf(mask []bool) (set uint32) {
	for k, ok := range mask {
		if ok {
			set |= 1 << k
		}
	}
	return set
}

// unlike returns the first place in which two observations differ, -1 if none.
func unlike(a, b []float32) int {
	for i := range a {
		if math.Abs(float64(a[i]-b[i])) > 1e-6 {
			return i
		}
	}
	return -1
}
