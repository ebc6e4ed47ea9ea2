package rules

import (
	"math"

	"github.com/hop-marl/hop/game"
)

// matrix: two seats choose at once, round after round.
type matrix struct {
	b            *Book
	pays         [][]float64 // [own action][the other's]
	rounds       int
	memory, time bool
	hidden       bool // the last round is a limit from outside
	actions      []string
	t            int
}

// tables are the stage games: what a seat gets by its own action and the other's.
var tables = map[string]struct {
	actions []string
	pays    [][]float64
}{
	"pd":       {[]string{"cooperate", "defect"}, [][]float64{{3, 0}, {5, 1}}},
	"staghunt": {[]string{"stag", "hare"}, [][]float64{{4, 0}, {3, 2}}},
	"chicken":  {[]string{"swerve", "straight"}, [][]float64{{3, 1}, {4, 0}}},
	"rps":      {[]string{"rock", "paper", "scissors"}, nil}, // a win pays 1, a loss -1
}

// Matrix is the rules of the matrix games.
func Matrix(b *Book, p *Params) func() Law {
	name := p.Text("matrix")
	table := tables[name]
	r := matrix{b: b, pays: table.pays, rounds: p.Whole("rounds"), memory: p.Yes("memory"), time: p.Yes("time") && !p.Yes("hidden"),
		hidden: p.Yes("hidden"), actions: table.actions}
	spec := game.Spec{Name: b.name, Seats: 2, Actions: r.actions, Goals: r.actions, Horizon: r.rounds, Symmetric: true, Deterministic: true}
	if name == "rps" {
		spec.Kind = game.ZeroSum
		r.pays = make([][]float64, 3)
		for own := range 3 {
			r.pays[own] = make([]float64, 3)
			r.pays[own][(own+2)%3] = 1  // paper beats rock, scissors beat paper, rock beats scissors
			r.pays[own][(own+1)%3] = -1 //
		}
	}
	spec.Obs.Features = 1
	if r.memory {
		spec.Obs.Features += len(r.actions) * len(r.actions)
	}
	if r.time {
		spec.Obs.Time = 1
	}
	b.SpecIs(spec)
	return func() Law { own := r; return &own }
}

// Begin looks at the start of an episode.
func (r *matrix) Begin(now *Seen) {
	r.t = 0
	r.saw(now, nil)
}

// saw checks ends, masks and views.
func (r *matrix) saw(now *Seen, acts []int32) {
	over := r.t >= r.rounds
	if now.Over != over || now.Cut != (over && r.hidden) {
		how := "as a rule, not by a cut"
		if r.hidden {
			how = "by a cut, not as a rule"
		}
		r.b.Contradict("end", "the episode %s after %d rounds; the rules say that it %s (at %d, %s)", ends(now.Over), r.t, ends(over),
			r.rounds, how)
	}
	k := len(r.actions)
	for s := range 2 {
		if now.Alive[s] == over {
			r.b.Contradict("leaving", "after %d of %d rounds seat %d is %s", r.t, r.rounds, s, present(now.Alive[s]))
		}
		for a, ok := range now.Legal[s] {
			if ok == over {
				r.b.Contradict("mask", "after %d of %d rounds seat %d %s play %s", r.t, r.rounds, s, may(ok), r.actions[a])
			}
		}
		want, at := make([]float64, r.b.spec.Obs.Len()), 0
		if r.memory && acts != nil {
			at = 1 + int(acts[s])*k + int(acts[1-s])
		}
		want[at] = 1
		if r.time {
			want[len(want)-1] = float64(r.t) / float64(r.rounds)
		}
		for i, x := range want {
			if !near(float64(now.Obs[s][i]), x) {
				r.b.Contradict("view", "after %d rounds, the last of them %s, seat %d sees number %d as %s; the rules say %s", r.t,
					r.joint(acts, s), s, i, amount(float64(now.Obs[s][i])), amount(x))
				break
			}
		}
	}
}

// joint tells a joint action from a seat's place.
func (r *matrix) joint(acts []int32, s int) string {
	if acts == nil {
		return "none"
	}
	return r.actions[acts[s]] + " against " + r.actions[acts[1-s]]
}

// Step looks at what came of a joint action.
func (r *matrix) Step(now *Seen, acts []int32, rewards []float32) {
	r.t++
	for s, a := range acts {
		if want := r.pays[a][acts[1-s]]; !near(float64(rewards[s]), want) {
			r.b.Contradict("pay", "seat %d, who plays %s, is paid %s; the rules say %s", s, r.joint(acts, s),
				amount(float64(rewards[s])), amount(want))
		}
		if len(now.Goal) > 0 && now.Goal[s] != int(a) {
			r.b.Contradict("goal", "seat %d, who plays %s, has reached goal %d; the rules say %d, its action", s, r.joint(acts, s), now.Goal[s], a)
		}
	}
	r.saw(now, acts)
}

// cartpole is CartPole-v1.
type cartpole struct {
	b      *Book
	limit  int
	t      int
	at     [4]float64
	centre [4]*Odds // how far from 0 numbers start, as a part of the bound
	inner  [4]*Odds // how often they start in the inner half
}

// names of the four numbers of an observation.
var poleNames = [4]string{"the cart's position", "the cart's velocity", "the pole's angle", "the pole's angular velocity"}

// CartPole is the rules of CartPole-v1.
func CartPole(b *Book, p *Params) func() Law {
	r := cartpole{b: b, limit: p.Whole("limit")}
	b.SpecIs(game.Spec{
		Name: b.name, Kind: game.Cooperative, Seats: 1, Actions: []string{"push left", "push right"}, Horizon: r.limit,
		Obs: game.Layout{Features: 4}, Symmetric: true, Deterministic: true,
	})
	for i, name := range poleNames {
		r.centre[i] = b.Chance("sum of %s at the start, as a part of 0.05", name)
		r.inner[i] = b.Chance("starts with %s within 0.025", name)
	}
	return func() Law { own := r; return &own }
}

// Begin looks at the start of an episode.
func (r *cartpole) Begin(now *Seen) {
	r.t = 0
	for i, v := range now.Obs[0] {
		r.at[i] = float64(v)
		if math.Abs(r.at[i]) > 0.05+1e-7 {
			r.b.Contradict("start", "%s starts at %s; the rules say within 0.05", poleNames[i], amount(r.at[i]))
			continue
		}
		r.centre[i].add(r.at[i]/0.05, 0, 1./3, 1)
		r.inner[i].Saw(math.Abs(r.at[i]) < 0.025, 0.5)
	}
	r.ended(now, false)
}

// ended checks the end; unsure leaves a fall open that float32 cannot tell.
func (r *cartpole) ended(now *Seen, unsure bool) {
	const lean = 12 * math.Pi / 180
	fell := math.Abs(r.at[0]) > 2.4 || math.Abs(r.at[2]) > lean
	over := fell || r.t >= r.limit
	if unsure && !(r.t >= r.limit) {
		over, fell = now.Over, now.Over
	}
	if now.Over != over {
		r.b.Contradict("end", "the episode %s after %d of %d steps with the cart at %s and the pole at %s degrees; the rules say that it %s",
			ends(now.Over), r.t, r.limit, amount(r.at[0]), amount(r.at[2]*180/math.Pi), ends(over))
	}
	if !unsure && now.Over && over && now.Cut == fell {
		r.b.Contradict("end", "an end after %d of %d steps with the cart at %s and the pole at %s degrees is called a cut: %v; the rules say %v",
			r.t, r.limit, amount(r.at[0]), amount(r.at[2]*180/math.Pi), now.Cut, !fell)
	}
	if now.Alive[0] == now.Over {
		r.b.Contradict("leaving", "the seat is %s while the episode %s", present(now.Alive[0]), ends(now.Over))
	}
	for k, ok := range now.Legal[0] {
		if ok == now.Over {
			r.b.Contradict("mask", "the seat %s %s while the episode %s", may(ok), r.b.spec.Actions[k], ends(now.Over))
		}
	}
}

// Step looks at what came of a joint action.
func (r *cartpole) Step(now *Seen, acts []int32, rewards []float32) {
	r.t++
	// Barto, Sutton and Anderson's equations without friction: m is the pole's
	// mass, M both masses, l half the pole's length.
	const gravity, m, M, l, dt = 9.8, 0.1, 1.1, 0.5, 0.02
	x, v, angle, spin := r.at[0], r.at[1], r.at[2], r.at[3]
	force := 10.
	if acts[0] == 0 {
		force = -10
	}
	sin, cos := math.Sin(angle), math.Cos(angle)
	spinUp := (gravity*sin + cos*(-force-m*l*spin*spin*sin)/M) / (l * (4./3 - m*cos*cos/M))
	speedUp := (force + m*l*(spin*spin*sin-spinUp*cos)) / M
	want := [4]float64{x + dt*v, v + dt*speedUp, angle + dt*spin, spin + dt*spinUp}
	for i, w := range want {
		got := float64(now.Obs[0][i])
		if !near(got, w) {
			r.b.Contradict("moves", "%s is %s after %s from %s; the rules say %s", poleNames[i], amount(got), r.b.spec.Actions[acts[0]],
				amount(r.at[i]), amount(w))
		}
		r.at[i] = got
	}
	if rewards[0] != 1 {
		r.b.Contradict("pay", "a step is paid %s; the rules say 1", amount(float64(rewards[0])))
	}
	edge := math.Abs(math.Abs(r.at[0])-2.4) < 1e-5 || math.Abs(math.Abs(r.at[2])-12*math.Pi/180) < 1e-5
	r.ended(now, edge)
}
