package reference

import (
	"math"
	"slices"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/game/script"
	"github.com/hop-marl/hop/game/stranger"
	"github.com/hop-marl/hop/num/rng"
)

// Unknown is a plan against somebody unknown in one life (docs/hop.md). Each co-player is taken to
// follow, step by step, one of some habits; the log-odds of habits are sums over all that holds of
// the situation, of a number for everybody and one for this co-player. They are learnt after every
// episode by AdaGrad on the log likelihood of what was done. The plan plays episodes on to
// their end against co-players drawn from that.
type Unknown struct {
	Episodes     int
	Said, Others float64 // mean log likelihood of what was done, by the models and by the reader; 0.5 % less with every further step

	lang    *script.Language
	board   bool
	actions int
	habits  []game.Policy
	scripts []game.Bot
	weights map[fact][]habit // [everybody, then each co-player][habits] flat
	seats   int
	steps   []did
	seen    int
	sums    [3]float64 // of what Said and Others are means of, and of their weights
	mean    float64    // of what episodes earned, by the last 50 or so
	last    int        // how the last one went: 0 there was none, 1 below the mean, 2 not below
	sim     game.State
	joint   []int32
	rewards []float32
}

// fact is something that may hold of a situation.
type fact struct{ what, of, value int }

// habit is what a fact says of one: its log-odds, and the squared gradients so far.
type habit struct{ odds, squares float64 }

// did is a step of a co-player's: the facts then, and how likely what it did was for each habit.
type did struct {
	other int
	facts [][]habit
	like  []float64
}

// NewUnknown returns the plan of a life that begins; scripts are what the plan itself may follow. It is nil where
// the game has no language.
func NewUnknown(g game.Game, scripts []string) (*Unknown, error) {
	l, err := stranger.Language(g)
	if err != nil {
		return nil, nil
	}
	sp := g.Spec()
	u := &Unknown{lang: l, actions: len(sp.Actions), weights: map[fact][]habit{}, seats: sp.Seats, sim: g.New(),
		joint: make([]int32, sp.Seats), rewards: make([]float32, sp.Seats)}
	texts := []string{l.Pair[0], l.Pair[1], "random", "lazy(random,1)"}
	if _, u.board = u.sim.(script.Field); u.board {
		texts = append(texts, "stay", "wander")
		for _, t := range l.Things {
			for _, which := range []string{"nearest", "farthest", "crowded"} {
				texts = append(texts, "go("+t+","+which+",wander)")
			}
		}
		scripts = append(slices.Clone(scripts), "go("+l.Things[0]+",farthest,"+l.Pair[1]+")")
	}
	for i, text := range texts {
		if i == 16 {
			break // so many at most
		}
		p, err := l.Parse(text)
		if err != nil {
			return nil, err
		}
		u.habits = append(u.habits, p)
	}
	for _, text := range scripts {
		b, err := game.NewBot(g, text)
		if err != nil {
			return nil, err
		}
		u.scripts = append(u.scripts, b)
	}
	for _, h := range []int{0, 1} {
		u.of(fact{})[h].odds = 2 // the game's pair, to begin with
	}
	return u, nil
}

// of returns what is held of a fact.
func (u *Unknown) of(f fact) []habit {
	w := u.weights[f]
	if w == nil {
		w = make([]habit, u.seats*len(u.habits))
		u.weights[f] = w
	}
	return w
}

// part returns what is held for everybody, 0, or for one co-player, from 1.
func (u *Unknown) part(w []habit, who int) []habit { return w[who*len(u.habits):][:len(u.habits)] }

// facts returns what holds for the seat s: always something, the clock up to 19, how the last episode
// went; on a board how near the nearest other is and how many are left, and of each thing how near the
// nearest is to s, and how near any is to somebody else, up to 3; elsewhere what both played last.
func (u *Unknown) facts(st game.State, s, me game.Seat) (list [][]habit) {
	add := func(what, of, value int) { list = append(list, u.of(fact{what, of, value})) }
	now := st.(script.State)
	add(0, 0, 0)
	add(1, 0, min(now.Time(), 19))
	add(2, 0, u.last)
	if !u.board {
		add(3, int(now.Played(s)), int(now.Played(me)))
		return list
	}
	f := st.(script.Field)
	var others []int16
	for o := range game.Seat(u.seats) {
		if at := f.Place(o); o != s && at != grid.None {
			others = append(others, at)
		}
	}
	nearest := func(from, to []int16) int {
		d := 3
		for _, a := range from {
			for _, b := range to {
				d = min(d, int(f.Steps(a, b)))
			}
		}
		return d
	}
	here := []int16{f.Place(s)}
	add(4, 0, nearest(here, others))
	add(5, 0, len(others))
	var spots [64]int16
	for t := range u.lang.Things {
		there := spots[:f.Spots(t, s, spots[:])]
		own, crowd := nearest(here, there), nearest(others, there)
		if len(there) == 0 {
			own, crowd = -1, -1
		}
		add(6, t, own)
		add(7, t, crowd)
	}
	return list
}

// shares returns how likely each habit is for co-player j where these facts hold.
func (u *Unknown) shares(facts [][]habit, j int) []float64 {
	p, sum := make([]float64, len(u.habits)), 0.
	for _, w := range facts {
		all, own := u.part(w, 0), u.part(w, 1+j)
		for h := range p {
			p[h] += all[h].odds + own[h].odds
		}
	}
	for h := range p {
		p[h] = math.Exp(p[h])
		sum += p[h]
	}
	for h := range p {
		p[h] /= sum
	}
	return p
}

// Expected returns what co-player j on the seat s is predicted to do.
func (u *Unknown) Expected(st game.State, s, me game.Seat, j int) []float64 {
	out, probs := make([]float64, u.actions), make([]float32, u.actions)
	for h, share := range u.shares(u.facts(st, s, me), j) {
		u.habits[h].Probs(st, s, probs)
		for a, p := range probs {
			out[a] += share * float64(p)
		}
	}
	return out
}

// Saw takes in what co-player j on the seat s did, which the reader had held so likely.
func (u *Unknown) Saw(st game.State, s, me game.Seat, j int, action int32, held float64) {
	d := did{other: j, facts: u.facts(st, s, me), like: make([]float64, len(u.habits))}
	probs, likely := make([]float32, u.actions), 0.
	for h, share := range u.shares(d.facts, j) {
		u.habits[h].Probs(st, s, probs)
		d.like[h] = 0.98*float64(probs[action]) + 0.02/float64(u.actions) // one step in fifty is a slip
		likely += share * d.like[h]
	}
	for i, x := range []float64{math.Log(likely), math.Log(max(held, 1e-6)), 1} {
		u.sums[i] = 0.995*u.sums[i] + x
	}
	u.Said, u.Others = u.sums[0]/u.sums[2], u.sums[1]/u.sums[2]
	const kept = 4096
	if u.seen < kept {
		u.steps = append(u.steps, d)
	} else {
		u.steps[u.seen%kept] = d
	}
	u.seen++
}

// Over takes in what an episode earned, and learns: twice as many steps as were seen, at most 3,000, drawn from
// the stream of that episode.
func (u *Unknown) Over(earned float64) {
	u.Episodes++
	if u.last = 1; earned >= u.mean {
		u.last = 2
	}
	u.mean += (earned - u.mean) / float64(min(u.Episodes, 50))
	r := rng.New(uint64(u.Episodes)).Child("learn").Rand()
	for range min(2*len(u.steps), 3000) {
		d := u.steps[r.IntN(len(u.steps))]
		before, sum := u.shares(d.facts, d.other), 0.
		for h, p := range before {
			sum += p * d.like[h]
		}
		for _, w := range d.facts {
			for _, part := range [][]habit{u.part(w, 0), u.part(w, 1+d.other)} {
				for h := range part {
					after := before[h] * d.like[h] / sum // by Bayes; the gradient is what that adds
					x := &part[h]
					g := after - before[h] - 2e-3*x.odds
					x.squares += g * g
					x.odds += 0.02 * g / math.Sqrt(1+x.squares)
				}
			}
		}
	}
}

// Ready reports whether there is a plan: after five episodes, where the models predict no more than
// 0.05 nats a step worse than the reader.
func (u *Unknown) Ready() bool { return u.Episodes >= 5 && u.Said-u.Others > -0.05 }

// Improve returns the policy that a plan makes of the given one, for who sits where seat says, the agent own on its own
// seat: each script in 8 futures, the two best in 32; then, in the same ones, each action before the best script.
func (u *Unknown) Improve(given []float32, st game.State, seat []game.Seat, own int, salt uint64) []float64 {
	const few, many = 8, 32
	earned, mean := make([][]float64, len(u.scripts)), make([]float64, len(u.scripts))
	follow := func(s, upTo int) {
		for f := len(earned[s]); f < upTo; f++ {
			earned[s] = append(earned[s], u.play(st, seat, own, game.NoAction, u.scripts[s], salt, f))
			mean[s] += (earned[s][f] - mean[s]) / float64(f+1) // so that equal ones stay equal
		}
	}
	best := func(often int) int {
		at := -1
		for s := range earned {
			if len(earned[s]) == often && (at < 0 || mean[s] > mean[at]) {
				at = s
			}
		}
		return at
	}
	for s := range u.scripts {
		follow(s, few)
	}
	for range 2 {
		if s := best(few); s >= 0 {
			follow(s, many)
		}
	}
	script := u.scripts[best(many)]
	followed := earned[best(many)]
	r := rng.Raw(salt, 1)
	follows := script.Act(st, seat[own], &r)
	legal, policy, most, sum := make([]bool, u.actions), make([]float64, u.actions), math.Inf(-1), 0.
	st.Legal(seat[own], legal)
	for a, ok := range legal {
		if !ok {
			continue
		}
		ahead := make([]float64, many)
		for f := range ahead {
			ahead[f] = u.play(st, seat, own, int32(a), script, salt, f) - followed[f]
		}
		odds := 12 * stein(ahead)
		if int32(a) == follows {
			odds += 12 * 0.6
		}
		if len(given) > 0 {
			odds += math.Log(float64(given[a]) + 0.02)
		}
		policy[a], most = odds, max(most, odds)
	}
	for a, ok := range legal {
		if ok {
			policy[a] = math.Exp(policy[a] - most)
			sum += policy[a]
		}
	}
	for a := range policy {
		policy[a] /= sum
	}
	return policy
}

// stein returns the mean of numbers, pulled to nothing by four of its squared standard errors (James and Stein).
func stein(x []float64) float64 {
	n, mean, squares := float64(len(x)), 0., 0.
	for _, v := range x {
		mean += v / n
	}
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	if error2 := squares / n / n; mean*mean > 4*error2 {
		return mean - 4*error2/mean
	}
	return 0
}

// play plays an episode on in a future, by an action, if there is one, and then a script, and returns what that earns.
func (u *Unknown) play(from game.State, seat []game.Seat, own int, act int32, by game.Bot, salt uint64, future int) (sum float64) {
	r := rng.Raw(salt+uint64(future), uint64(future)<<32|1)
	r.Uint64()
	st, me := u.sim, seat[own]
	for st.CopyFrom(from); st.Alive(me); act = game.NoAction {
		if act == game.NoAction {
			act = by.Act(st, me, &r)
		}
		j := 0
		for b, s := range seat {
			u.joint[s] = game.NoAction
			if b == own {
				u.joint[s] = act
				continue
			}
			if st.Alive(s) {
				p := u.shares(u.facts(st, s, me), j)
				h, x := 0, float64(r.Float32())-p[0]
				for ; x >= 0 && h+1 < len(p); x -= p[h] {
					h++
				}
				u.joint[s] = u.habits[h].Act(st, s, &r)
			}
			j++
		}
		st.Step(u.joint, u.rewards, &r)
		sum += float64(u.rewards[me])
	}
	return sum
}
