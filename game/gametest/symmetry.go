package gametest

import (
	"fmt"
	"math"

	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/num/rng"
)

// checkPermutation moves the seats about in running states and plays the same
// step on both sides. All must come out equal, to the last bit, unless the step
// draws random numbers: nobody can say which of them belong together.
func checkPermutation(g game.Game) error {
	spec := g.Spec()
	moved := g.New()
	p, ok := moved.(game.Permuter)
	if !ok || !spec.Symmetric || spec.Seats < 2 {
		return DoesNotApply("the game is not symmetric, or its states are no Permuter")
	}
	perm, draw := make([]game.Seat, spec.Seats), make([]int, spec.Seats)
	actions, rewards := make([]int32, spec.Seats), make([]float32, spec.Seats)
	paid := make([]float32, spec.Seats)
	after, want := g.New(), g.New()
	steps := 0
	err := visit(g, func(tr *tour) error {
		tr.pick.Perm(draw)
		for s, to := range draw {
			perm[s] = game.Seat(to)
		}
		p.Permute(tr.st, perm)
		if err := moves(tr.st, moved, perm, &spec); err != nil {
			return err
		}
		if tr.ended() {
			return nil
		}
		for s, to := range perm {
			actions[to] = tr.actions[s]
		}
		r := tr.rules
		after.CopyFrom(tr.st)
		after.Step(tr.actions, paid, &r)
		drew := r != tr.rules
		r = tr.rules
		moved.Step(actions, rewards, &r)
		if also := r != tr.rules; drew != also {
			return fmt.Errorf("seats moved to %v: the step draws random numbers: %v, formerly %v", perm, also, drew)
		}
		if drew {
			return nil
		}
		steps++
		for s, to := range perm {
			if rewards[to] != paid[s] {
				return fmt.Errorf("seats moved to %v: seat %d, formerly %d, is paid %v, formerly %v", perm, to, s, rewards[to], paid[s])
			}
		}
		want.(game.Permuter).Permute(after, perm)
		return compare(fmt.Sprintf("seats moved to %v and stepped, against stepped and moved", perm), look(&spec, moved), look(&spec, want))
	})
	if err == nil && steps == 0 {
		return DoesNotApply("every step draws random numbers")
	}
	return err
}

// moves returns an error unless each seat is in moved what it was in st.
func moves(st, moved game.State, perm []game.Seat, spec *game.Spec) error {
	var a, b [game.MaxActions]bool
	k := len(spec.Actions)
	for s, to := range perm {
		st.Legal(game.Seat(s), a[:k])
		moved.Legal(to, b[:k])
		if a != b || st.Alive(game.Seat(s)) != moved.Alive(to) || st.Over() != moved.Over() {
			return fmt.Errorf("seats moved to %v: seat %d, formerly %d, differs in what is alive or legal", perm, to, s)
		}
		if g, ok := st.(game.Goaler); ok && g.Reached(game.Seat(s)) != moved.(game.Goaler).Reached(to) {
			return fmt.Errorf("seats moved to %v: seat %d, formerly %d, differs in the goal reached", perm, to, s)
		}
	}
	return nil
}

// seatsError is the p-value below which seats are called different. With five
// bots a sound game is refused once in 200,000 seeds, and the seed is fixed.
const seatsError = 1e-6

// checkSeats plays teams of one bot each and compares what the seats earn.
func checkSeats(g game.Game) error {
	spec := g.Spec()
	if !spec.Symmetric || spec.Seats < 2 {
		return DoesNotApply("the game is not symmetric")
	}
	episodes := max(20_000/spec.Horizon*crowd/max(crowd, spec.Seats), 100)
	bots := append([]game.BotInfo{game.RandomBot(len(spec.Actions))}, g.Bots()...)
	for _, b := range bots {
		if p, means := CompareSeats(g, b, episodes, seed); p < seatsError {
			return fmt.Errorf("%d episodes of %s alone pay the seats %.4f: p = %.2g, want at least %.0e", episodes, b.Name, means, p, seatsError)
		}
	}
	return nil
}

// CompareSeats plays episodes with the same bot in every seat and returns each
// seat's mean return, and the probability of a difference at least this large if
// seats are interchangeable: that of the returns or of their ranks within the
// episode, whichever is smaller, doubled. Ranks see small shares that are often
// unequal, returns see large ones that seldom are.
func CompareSeats(g game.Game, bot game.BotInfo, episodes int, seed uint64) (p float64, means []float64) {
	tr := newTour(g)
	n := tr.spec.Seats
	key := rng.New(seed).Child("seats")
	means = make([]float64, n)
	returns, ranks := make([]float64, n), make([]float64, n)
	byReturn, byRank := paired{diff: make([]float64, n)}, paired{diff: make([]float64, n)}
	for e := range episodes {
		for s := range tr.bots {
			tr.bots[s] = bot.New()
			returns[s] = 0
		}
		tr.rules, tr.act = key.Child("rules", e).Rand(), key.Child("act", e).Rand()
		tr.t, tr.history = 0, tr.history[:0]
		tr.st.Reset(&tr.rules)
		for tr.choose(); !tr.ended(); {
			tr.step()
			for s, r := range tr.rewards {
				returns[s] += float64(r)
			}
		}
		for s, x := range returns {
			means[s] += x / float64(episodes)
			ranks[s] = 0
			for _, y := range returns {
				if d := x - y; d > 1e-6 {
					ranks[s]++
				} else if d < -1e-6 {
					ranks[s]--
				}
			}
		}
		byReturn.add(returns)
		byRank.add(ranks)
	}
	return min(1, 2*min(byReturn.p(), byRank.p())), means
}

// paired compares seats within episodes. Given the scores x of an episode, every
// assignment of them to the S seats is equally likely, so the sums D_s over
// episodes of x_s less the episode's mean have covariance V (I - 1/S), V the sum
// of the episodes' variances, and sum D_s^2 / V follows a chi-square law of S-1
// degrees of freedom. On ranks this is Friedman's test.
type paired struct {
	diff []float64 // [Seats] D
	v    float64   // V
}

func (p *paired) add(x []float64) {
	mean := 0.
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for s, v := range x {
		p.diff[s] += v - mean
		p.v += (v - mean) * (v - mean) / float64(len(x)-1)
	}
}

func (p *paired) p() float64 {
	if p.v < 1e-9 {
		return 1
	}
	q := 0.
	for _, d := range p.diff {
		q += d * d / p.v
	}
	return chiSquareTail(q, len(p.diff)-1)
}

// chiSquareTail returns the probability that a chi-square variable of df degrees
// of freedom is at least x: the finite sums for even and odd df.
func chiSquareTail(x float64, df int) float64 {
	h := x / 2
	p, term, from := math.Exp(-h), math.Exp(-h), 1.
	if df%2 == 1 {
		p, term, from = math.Erfc(math.Sqrt(h)), math.Exp(-h)*math.Sqrt(h/math.Pi)*2, 1.5
		if df > 1 {
			p += term
		}
	}
	for i, a := from, df-2-df%2; a > 0; i, a = i+1, a-2 {
		term *= h / i
		p += term
	}
	return min(p, 1)
}
