package check

import (
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/audit/reference"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/num/check"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/train/eval"
)

// Scored watches members of a team while they are scored. Every episode is dealt and played again from its lane's streams, what
// was counted is counted again, and what networks decided is computed again in float64.
type Scored struct {
	Greedy bool // they take their likeliest action

	g     game.Game
	key   rng.Key
	lanes [][]decision // [lane] in order
}

// decision is what a member was seen to do.
type decision struct {
	member      int // of those that are watched
	agent       agent.ID
	seat        game.Seat
	episode     int
	starts      bool
	action      int32
	logp, value float32
	obs         []float32
	legal       []bool
}

// NewScored watches a score with these streams.
func NewScored(g game.Game, key rng.Key, lanes int) *Scored {
	return &Scored{g: g, key: key, lanes: make([][]decision, lanes)}
}

// Watch puts a recorder before a member's players, which is called by a number.
func (s *Scored) Watch(m eval.Member, number int) eval.Member {
	inner := m.Players
	m.Players = func(workers, lanes int) ([]rollout.Player, error) {
		list, err := inner(workers, lanes)
		for i, p := range list {
			list[i] = &scoredPlayer{p, s, number}
		}
		return list, err
	}
	return m
}

type scoredPlayer struct {
	rollout.Player
	s      *Scored
	member int
}

// Act lets the player act and writes down what it did: lanes are a worker's own.
func (p *scoredPlayer) Act(v *rollout.View, envs []int32) {
	p.Player.Act(v, envs)
	for _, n := range envs {
		step, slot, lane := v.StepOf(int(n)), v.SlotOf(int(n)), &p.s.lanes[n]
		*lane = append(*lane, decision{
			member: p.member, agent: v.Agent, seat: v.SeatOf(int(n)), episode: v.EpisodeOf(int(n)), starts: v.Start[v.Moment(v.T, int(n))],
			action: v.Action[step], logp: v.LogProb[step], value: v.Value[slot],
			obs: append([]float32(nil), v.ObsAt(slot)...), legal: append([]bool(nil), v.LegalAt(slot)...),
		})
	}
}

// EpisodeOver passes on.
func (p *scoredPlayer) EpisodeOver(v *rollout.View, n int) {
	if w, ok := p.Player.(rollout.Watcher); ok {
		w.EpisodeOver(v, n)
	}
}

// replay plays a lane's decisions again; wrong says where they are not what its streams and the rules give.
func (s *Scored) replay(n int) (list []Ended, wrong string) {
	spec, st := s.g.Spec(), s.g.New()
	e := replayEnv{st: st, rules: s.key.Child("rules", n).Rand(), deal: s.key.Child("deal", n).Rand(), seat: make([]int, spec.Seats)}
	actions, rewards := make([]int32, spec.Seats), make([]float32, spec.Seats)
	goals, _ := st.(game.Goaler)
	for left := s.lanes[n]; len(left) > 0; {
		e.sit(spec.Fixed)
		now := fresh(spec.Seats)
		for st.Reset(&e.rules); !st.Over(); now.Steps++ {
			for i := range actions {
				actions[i] = game.NoAction
			}
			for a, seat := range e.seat {
				if !st.Alive(game.Seat(seat)) {
					continue
				}
				if len(left) == 0 {
					return list, fmt.Sprintf("episode %d of lane %d ends before it is over", len(list), n)
				}
				d := left[0]
				left = left[1:]
				legal := make([]bool, len(spec.Actions))
				st.Legal(game.Seat(seat), legal)
				if int(d.agent) != a || int(d.seat) != seat || d.episode != len(list) || d.starts != (now.Steps == 0) ||
					d.action < 0 || !legal[d.action] {
					return list, fmt.Sprintf("in episode %d of lane %d member %d on seat %d acts at step %d, by the streams deal/%d and rules/%d it is "+
						"member %d on seat %d", d.episode, n, d.agent, d.seat, now.Steps, n, n, a, seat)
				}
				actions[seat] = d.action
				now.Life[a]++
			}
			st.Step(actions, rewards, &e.rules)
			for a, seat := range e.seat {
				if actions[seat] == game.NoAction {
					continue
				}
				now.Return[a] += float64(rewards[seat])
				if goals != nil && goals.Reached(game.Seat(seat)) != game.NoGoal {
					now.Goal[a] = goals.Reached(game.Seat(seat))
				}
			}
		}
		list = append(list, now)
	}
	return list, ""
}

// Replayed plays all lanes again, and says whether they could be.
func (s *Scored) Replayed() ([][]Ended, check.Finding) {
	f := check.Finding{
		Step: 3, Check: "scores are of episodes that the rules give", Module: "rollout", Unit: "lanes that differ", Rows: len(s.lanes),
		Says: "Episodes that agents are scored in, dealt and played again from their own streams, are those that were played.",
	}
	all := make([][]Ended, len(s.lanes))
	for n := range s.lanes {
		var wrong string
		if all[n], wrong = s.replay(n); wrong != "" {
			f.Accuse(check.Fault, f.Effect+1, "While agents are scored, "+wrong+".", "train/eval: Run, and the streams and seats of game/rollout")
		}
	}
	return all, f
}

// sums is arithmetic over scored episodes.
type sums struct {
	f check.Finding
}

// same holds a mean with its standard error and number against the numbers themselves.
func (c *sums) same(what string, got stats.Acc, x []float64) {
	var mean, square float64
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		square += (v - mean) * (v - mean)
	}
	se := math.Sqrt(square / float64(len(x)-1) / float64(len(x)))
	c.equal("episodes behind "+what, float64(got.N()), float64(len(x)))
	if len(x) > 0 {
		c.equal(what, got.Mean(), mean)
	}
	if len(x) > 1 {
		c.equal("the standard error of "+what, got.SE(), se)
	}
}

// equal holds one number against another.
func (c *sums) equal(what string, got, want float64) {
	c.f.Rows++
	if math.Abs(got-want) <= 1e-9*max(1, math.Abs(want)) {
		return
	}
	says := fmt.Sprintf("%s: %.6g, over the episodes that were played it is %.6g.", check.Capital(what), got, want)
	c.f.Accuse(check.Fault, c.f.Effect+1, says, c.f.Next)
	c.f.Saw(got, want, "%s", what)
}

// finding returns what came of it.
func (c *sums) finding(next string) check.Finding {
	if c.f.Status == check.Fault {
		c.f.Next = next
	}
	return c.f
}

// Counted holds a score of so many episodes against those that were played.
func (s *Scored) Counted(res *eval.Result, played [][]Ended, episodes int) check.Finding {
	c := sums{check.Finding{
		Step: 2, Check: "scores are what was earned", Module: "logging", Unit: "numbers that differ",
		Says: "Returns, lives, goals and lengths that agents are scored by are those of the episodes that were played, each counted once.",
	}}
	var all []Ended
	for n, list := range played {
		c.equal(fmt.Sprintf("episodes of lane %d", n), float64(len(list)), float64((episodes+len(played)-1-n)/len(played)))
		all = append(all, list...)
	}
	over := func(of func(e Ended) float64) (x []float64) {
		for _, e := range all {
			x = append(x, of(e))
		}
		return x
	}
	c.same("the length of an episode", res.Steps, over(func(e Ended) float64 { return float64(e.Steps) }))
	c.same("the members' mean return", res.Mean, over(func(e Ended) (sum float64) {
		for _, r := range e.Return {
			sum += r / float64(len(e.Return))
		}
		return sum
	}))
	for a := range res.Return {
		c.same(fmt.Sprintf("the return of member %d", a), res.Return[a], over(func(e Ended) float64 { return e.Return[a] }))
		c.same(fmt.Sprintf("the life of member %d", a), res.Life[a], over(func(e Ended) float64 { return float64(e.Life[a]) }))
		for g := range res.Goals[a] {
			c.same(fmt.Sprintf("member %d's share of goal %d", a, g), res.Goals[a][g], over(func(e Ended) float64 {
				if e.Goal[a] == g {
					return 1
				}
				return 0
			}))
		}
	}
	return c.finding("train/eval: Run and Result.add")
}

// Lived holds lives among others, in which members with numbers from the team's size on take over, against those that were lived.
func (s *Scored) Lived(c eval.Adaptation, res *eval.Adapted, lived [][]Ended) check.Finding {
	x := sums{check.Finding{
		Step: 2, Check: "lives among others are what was lived", Module: "logging", Unit: "numbers that differ",
		Says: "In lives among others whoever is to play does, and first and last episodes and curves are those that were played.",
	}}
	var firsts, scores []float64
	curve, at := [][]float64{}, 0
	for n, list := range lived {
		steps, last := 0, []float64(nil)
		for i, e := range list {
			if steps >= c.Steps {
				x.equal(fmt.Sprintf("episodes of life %d", n), float64(len(list)), float64(i))
				break
			}
			if i == len(curve) {
				curve = append(curve, nil)
			}
			steps += e.Steps
			counts := steps > c.Steps-c.Last
			if curve[i] = append(curve[i], e.Return[0]); counts {
				last = append(last, e.Return[0])
			}
			if at < len(res.Episodes) {
				got, want := res.Episodes[at], eval.Lived{Life: n, Index: i, Steps: e.Steps, Return: e.Return[0], Last: counts}
				if x.f.Rows++; got != want {
					x.equal(fmt.Sprintf("the return of episode %d of life %d", i, n), got.Return, want.Return)
					x.equal(fmt.Sprintf("the place of episode %d of life %d", i, n), float64(got.Index+1000*got.Life), float64(i+1000*n))
					x.equal(fmt.Sprintf("the length of episode %d of life %d", i, n), float64(got.Steps), float64(e.Steps))
					x.equal(fmt.Sprintf("whether episode %d of life %d is one of the last", i, n), asNumber(got.Last), asNumber(counts))
				}
			}
			at++
		}
		x.equal(fmt.Sprintf("whether life %d lasts as long as it should", n), asNumber(steps >= c.Steps), 1)
		if firsts = append(firsts, list[0].Return[0]); len(last) > 0 {
			mean := 0.
			for _, r := range last {
				mean += r / float64(len(last))
			}
			scores = append(scores, mean)
		}
	}
	x.equal("episodes in all lives", float64(res.Played), float64(at))
	x.same("the return of first episodes", res.First, firsts)
	x.same("the return of last episodes", res.Score, scores)
	for i := range min(len(curve), len(res.Curve)) {
		x.same(fmt.Sprintf("the return of episode %d", i), res.Curve[i], curve[i])
	}
	for n, lane := range s.lanes {
		for _, d := range lane {
			want := int(d.agent)
			if c.Then != nil && d.agent > 0 && d.episode >= c.At {
				want += len(c.Team)
			}
			x.equal(fmt.Sprintf("who plays place %d in episode %d of life %d", d.agent, d.episode, n), float64(d.member), float64(want))
		}
	}
	return x.finding("train/eval: Adaptation.Run, changing and relay")
}

func asNumber(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// Decided holds what one of the members decided, an agent by a network of its own, against the network in float64: nets are those
// of all agents, in order.
func (s *Scored) Decided(f *check.Finding, a agent.ID, net reference.Actor, nets []reference.Net) {
	right, says := s.decided(a, net, nets[a], false)
	if f.Rows += right.rows; right.wrong == 0 {
		return
	}
	next := "agent/ppo: Player.forward and recall; train/spec: Saved.Minds and member"
	if net.LSTM > 0 {
		if kept, _ := s.decided(a, net, nets[a], true); kept.wrong == 0 {
			says = "its memory is not cleared when an episode begins"
			next = "agent/ppo: Player.recall, and Remember in train/spec: Saved.member"
		}
	}
	for b, other := range nets {
		if swapped, _ := s.decided(a, net, other, false); b != int(a) && swapped.wrong == 0 {
			says, f.Module = fmt.Sprintf("it plays with the weights of agent %d", b), "checkpoint"
			next = "train/spec: Saved.Minds, which loads each mind by its prefix"
		}
	}
	f.Accuse(check.Fault, max(f.Effect, float64(right.wrong)/float64(right.rows)), fmt.Sprintf("While agent %d is scored, %s (%d of %d "+
		"decisions).", a, says, right.wrong, right.rows), next)
}

// redone counts decisions.
type redone struct{ rows, wrong int }

// decided computes an agent's decisions again; kept: as if its memory were never cleared.
func (s *Scored) decided(a agent.ID, actor reference.Actor, net reference.Net, kept bool) (c redone, says string) {
	miss := func(format string, args ...any) {
		if c.wrong++; says == "" {
			says = fmt.Sprintf(format, args...)
		}
	}
	moved := net.Shaken(1)
	for n, lane := range s.lanes {
		stream := s.key.Child("act", int(a)).Child("env", n).Rand()
		memory, shaken := actor.Forget(), actor.Forget()
		for _, d := range lane {
			if d.agent != a {
				continue
			}
			if d.starts && !kept {
				memory, shaken = actor.Forget(), actor.Forget()
			}
			x, sum := float64(stream.Float32()), 0.
			logits, value := actor.Recall(net, d.obs, memory)
			probs, slack := reference.Softmax(logits, d.legal), 1e-3
			if actor.LSTM > 0 { // over a long episode memories drift apart that began alike but for the last digits
				other, worth := actor.Recall(moved, d.obs, shaken)
				apart := math.Abs(math.Log(max(reference.Softmax(other, d.legal)[d.action], 1e-30) / max(probs[d.action], 1e-30)))
				slack += 20 * max(apart, math.Abs(worth-value)/max(1, math.Abs(value)))
			}
			for _, p := range probs[:d.action] {
				sum += p
			}
			c.rows++
			switch p := probs[d.action]; {
			case math.Abs(math.Log(max(p, 1e-30))-float64(d.logp)) > slack:
				miss("in episode %d of lane %d it plays action %d with a probability of %.4f, its network gives %.4f", d.episode, n, d.action,
					math.Exp(float64(d.logp)), p)
			case math.Abs(value-float64(d.value)) > slack*max(1, math.Abs(value)):
				miss("in episode %d of lane %d it takes a state to be worth %.4f, its network says %.4f", d.episode, n, d.value, value)
			case s.Greedy:
				if slices.Max(probs) > p+slack/10 {
					miss("in episode %d of lane %d it plays greedily action %d of probability %.4f, not its likeliest", d.episode, n, d.action, p)
				}
			case x < sum-slack/10 || x > sum+p+slack/10:
				miss("in episode %d of lane %d action %d is not what its stream act/%d/env/%d gives", d.episode, n, d.action, a, n)
			}
		}
	}
	return c, says
}
