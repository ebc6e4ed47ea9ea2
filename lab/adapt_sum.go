package lab

import (
	"math"
	"slices"
	"strings"

	"github.com/hop-marl/hop/lab/report/adapted"
	"github.com/hop-marl/hop/num/rng"
	"github.com/hop-marl/hop/num/stats"
)

// means are what three got from the same starts: the one who adapts, the best
// response and the random bot. regret is what the first lost against the second.
type means struct{ score, best, random float64 }

func (x means) regret() float64 { return x.best - x.score }

// normalised is 1 - regret / (best - random), unknown where those two are alike.
func (x means) normalised() stats.Number { return stats.Number(1 - x.regret()/(x.best-x.random)) }

// overLives returns each life's means over the starts that count in a part, with what
// the best response is worth from them.
func (c *adapting) overLives(s *livedSeed, k int, best map[start]float64) (list []means) {
	type accs struct{ score, best, random stats.Acc }
	lives := make([]accs, c.Lives)
	for _, e := range s.res.Episodes {
		at := startOf(e)
		if !s.scored[k][at] {
			continue
		}
		worth := best[at]
		if math.Abs(worth-e.Return) < 1e-6 {
			worth = e.Return // rewards are rounded otherwise than the oracle's values
		}
		l := &lives[e.Life]
		l.score.Add(e.Return)
		l.best.Add(worth)
		l.random.Add(s.random[at])
	}
	for i := range lives {
		if l := &lives[i]; l.score.N() > 0 {
			list = append(list, means{l.score.Mean(), l.best.Mean(), l.random.Mean()})
		}
	}
	return list
}

// meanOf averages, every life or seed counting alike.
func meanOf(list []means) means {
	var score, best, random stats.Acc
	for _, x := range list {
		score.Add(x.score)
		best.Add(x.best)
		random.Add(x.random)
	}
	return means{score.Mean(), best.Mean(), random.Mean()}
}

// scoreOf sums up means of lives or seeds. by is who the best response is.
//
// Nobody beats an exact best response but by luck with co-players who draw. Luck of
// the size that was seen may as well have gone the other way, so the interval of a
// score above it reaches as far to the other side. A best response that is the best
// of some candidates can be beaten: whoever does, by more than its interval, is the
// best response that is known.
func scoreOf(list []means, by string) adapted.Measured {
	mean := meanOf(list)
	var score, regret stats.Acc
	var lost, span []float64
	for _, x := range list {
		score.Add(x.score)
		regret.Add(x.regret())
		lost, span = append(lost, x.regret()), append(span, x.best-x.random)
	}
	out := adapted.Measured{
		Score: mean.score, SE: stats.Number(score.SE()), CI: score.CI(0.95), BestResponse: mean.best, BestName: by,
		Random: mean.random, Normalised: mean.normalised(), Regret: mean.regret(), RegretCI: regret.CI(0.95),
	}
	_, ci := stats.RatioCI(lost, span, 0.95)
	out.NormalisedCI = stats.Interval{1 - ci[1], 1 - ci[0]}
	switch above := -mean.regret(); {
	case above <= 0:
	case by == "exact":
		out.RegretCI[1] = max(out.RegretCI[1], above)
		out.NormalisedCI[0] = min(out.NormalisedCI[0], 2-float64(out.Normalised))
	case out.NormalisedCI[0] > 1:
		own := slices.Clone(list)
		for i := range own {
			own[i].best = own[i].score
		}
		return scoreOf(own, "itself, ahead of "+strings.TrimPrefix(by, "by "))
	}
	return out
}

// sum adds up the samples of a cell. Intervals are over seeds, or, of a single
// seed, over lives.
func (c *adapting) sum(out *adapted.Row, m *meeting, all []*livedSeed, by []string) {
	var first stats.Acc
	var curve, value, action, belief, step []stats.Acc
	for _, s := range all {
		first.Merge(s.res.First)
		curve = stats.MergeAll(curve, s.res.Curve)
		for _, e := range s.res.Episodes {
			if v, ok := s.best[startOf(e)]; ok {
				for len(value) <= e.Index {
					value = append(value, stats.Acc{})
				}
				value[e.Index].Add(v)
			}
		}
		for _, r := range s.reads {
			if r != nil {
				x, y := r.ByEpisode()
				action, belief, step = stats.MergeAll(action, x), stats.MergeAll(belief, y), stats.MergeAll(step, r.ByStep())
			}
		}
	}
	for k, p := range m.parts {
		score := c.part(k, all, by[k])
		if out.Measured = score; m.next != nil {
			out.Parts = append(out.Parts, adapted.Part{VS: p.vs, From: p.from, Measured: score})
		}
	}
	out.First = first.Mean()
	for _, s := range all {
		if lives := c.overLives(s, len(m.parts)-1, s.best); len(lives) > 0 {
			x := meanOf(lives)
			out.Seeds = append(out.Seeds, adapted.Seed{Seed: s.seed, Run: s.run, Score: x.score, Best: x.best, Random: x.random,
				Normalised: x.normalised(), Regret: x.regret()})
		}
	}
	lives := c.Lives * len(all)
	out.Episodes = meansOf(curve, lives/2)
	out.Action, out.Belief, out.BeliefStep = meansOf(action, 1), meansOf(belief, 1), meansOf(step, lives/2)
	if n := len(out.Episodes); len(out.Action) > n {
		out.Action = out.Action[:n]
	}
	if n := len(out.Episodes); len(out.Belief) > n {
		out.Belief = out.Belief[:n]
	}
	out.Reading = c.readings(m, all)
	if m.next != nil {
		out.Best = meansOf(value, 1)
		back, ci := c.back(all)
		out.Back, out.BackCI = &back, &ci
	}
}

// part scores one part of the lives.
func (c *adapting) part(k int, all []*livedSeed, by string) adapted.Measured {
	var list, lives []means
	starts := 0
	for _, s := range all {
		starts += len(s.scored[k])
		if lives = c.overLives(s, k, s.best); len(lives) > 0 {
			list = append(list, meanOf(lives))
		}
	}
	if len(all) == 1 {
		list = lives
	}
	score := scoreOf(list, by)
	score.Starts = starts
	return score
}

// recovery is what a life got in the episodes after the change, and what the best
// response is worth from the same starts, as sums over three episodes from each on.
type recovery struct{ got, best [adapted.BackWithin]float64 }

// back returns how many episodes after the change the mean return of three episodes
// in a row is at least 90 % of the best response's from the same starts, -1: not
// soon; and an interval for it, by the percentiles of lives drawn anew.
func (c *adapting) back(all []*livedSeed) (int, stats.Interval) {
	const run, draws = 3, 1000
	var lives []recovery
	for _, s := range all {
		list := make([]recovery, c.Lives)
		for _, e := range s.res.Episodes {
			v, ok := s.best[startOf(e)]
			for i := range run { // the stretch may begin up to two episodes before
				if k := e.Index - c.AtEpisode - i; ok && k >= 0 && k < adapted.BackWithin {
					list[e.Life].got[k] += e.Return
					list[e.Life].best[k] += v
				}
			}
		}
		lives = append(lives, list...)
	}
	after := func(pick func(i int) int) float64 {
		var sum recovery
		for i := range lives {
			l := &lives[pick(i)]
			for k := range l.got {
				sum.got[k] += l.got[k]
				sum.best[k] += l.best[k]
			}
		}
		for k := range adapted.BackWithin - run + 1 {
			if sum.best[k] > 0 && sum.got[k] >= 0.9*sum.best[k] {
				return float64(k)
			}
		}
		return math.Inf(1)
	}
	r := rng.New(1).Child("back").Rand()
	var drawn []float64
	for range draws {
		drawn = append(drawn, after(func(int) int { return r.IntN(len(lives)) }))
	}
	slices.Sort(drawn)
	ci := stats.Interval{drawn[draws/40], drawn[draws-1-draws/40]}
	if len(lives) < 2 {
		ci = stats.Interval{math.Inf(-1), math.Inf(1)}
	}
	if k := after(func(i int) int { return i }); !math.IsInf(k, 0) {
		return int(k), ci
	}
	return -1, ci
}

// meansOf returns the means for as long as so many numbers are behind them.
func meansOf(list []stats.Acc, least int) []float64 {
	var out []float64
	for _, x := range list {
		if x.N() < max(least, 0) {
			break
		}
		out = append(out, x.Mean())
	}
	return out
}
