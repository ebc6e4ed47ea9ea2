package lab

import (
	"maps"
	"math"
	"slices"

	"github.com/hop-marl/hop/agent/learner"
	"github.com/hop-marl/hop/game"
	"github.com/hop-marl/hop/game/agent"
	"github.com/hop-marl/hop/game/grid"
	"github.com/hop-marl/hop/game/oracle"
	"github.com/hop-marl/hop/game/rollout"
	"github.com/hop-marl/hop/game/script"
	"github.com/hop-marl/hop/lab/report/adapted"
	"github.com/hop-marl/hop/num/stats"
)

// scripted returns the bot of that name if it can say how it acts and remembers no
// episodes; nil: there is none.
func scripted(g game.Game, name string) game.Policy {
	bot, err := game.NewBot(g, name)
	if err != nil {
		return nil
	}
	if _, remembers := bot.(game.Watcher); remembers {
		return nil
	}
	p, _ := bot.(game.Policy)
	return p
}

// observers makes two Bayes observers for each life: one goes by all that it has seen of
// the co-players, one by the episode alone. They know the scripts of the meeting, and
// those that the agent knows; among strangers, all of the split.
func (c *adapting) observers(m *meeting, r adaptRow) func(n int, others []agent.ID) []learner.Witness {
	if len(m.scripts) == 0 {
		return nil
	}
	names := c.split
	if names == nil {
		known := maps.Clone(m.scripts)
		for name := range r.known {
			if p := scripted(m.g, name); p != nil {
				known[name] = p
			}
		}
		names = slices.Sorted(maps.Keys(known))
	}
	return func(_ int, others []agent.ID) []learner.Witness {
		o, err := oracle.NewObserver(m.g, names, others)
		if err != nil {
			panic("adapt: bots that say how they act cannot be observed")
		}
		o.Same = func(e int) bool { return m.part(e) == m.part(e-1) }
		list := []learner.Witness{o, o.Forgetful()}
		if s, ok := game.As[interface{ Language() *script.Language }](m.g); ok {
			list = append(list, &nearby{goals: m.g.Spec().Goals, things: s.Language().Things, others: others, near: make([][]float64, len(others))})
		}
		return list
	}
}

// nearby takes everybody to be after the goal that has something nearest to it: what can be said
// without reading anybody.
type nearby struct {
	goals, things []string
	others        []agent.ID
	near          [][]float64 // [others][goals] 1 for the nearest, of several that are as near for each
	spots         [64]int16
}

// See takes in env n at a slot at which the agent acts.
func (b *nearby) See(v *rollout.View, n int) {
	st, ok := v.State(n).(script.Field)
	for j, a := range b.others {
		if b.near[j] = make([]float64, len(b.goals)); !ok || !v.Alive[v.Slot(a, v.T, n)] {
			continue
		}
		s, least := v.SeatAt(v.Slot(a, v.T, n)), grid.Far
		for g, goal := range b.goals {
			thing := slices.Index(b.things, goal)
			if thing < 0 {
				continue
			}
			for _, c := range b.spots[:st.Spots(thing, s, b.spots[:])] {
				d := st.Steps(st.Place(s), c)
				if d < least {
					least = d
					clear(b.near[j])
				}
				if d == least {
					b.near[j][g] = 1
				}
			}
		}
	}
}

// Predict expects nothing.
func (b *nearby) Predict(dst []float64, _ int) { clear(dst) }

// InWords returns the nearest goals of co-player j.
func (b *nearby) InWords(j int) (names []string, probs []float64) { return b.goals, b.near[j] }

// Who held what, in a look: the agent, the two observers, and who goes by what is nearest.
const (
	byAgent = iota
	byLife
	byEpisode
	byNearest
	holders
)

// pursues says what a scripted co-player is after; "" where only hindsight can tell.
func (m *meeting) pursues(st game.State, s game.Seat, episode, j int) string {
	who := m.parts[m.part(episode)].who[j]
	if who == oracle.RandomWord {
		return who
	}
	if p, ok := m.scripts[who].(game.Pursuer); ok {
		if g := p.Pursues(st, s); g != game.NoGoal {
			return m.g.Spec().Goals[g]
		}
	}
	return ""
}

// says reports whether pursues knows at every step what a co-player is after, in words
// that the agent has.
func (m *meeting) says(who string, words []string) bool {
	if who == oracle.RandomWord {
		return slices.Contains(words, who)
	}
	_, ok := m.scripts[who].(game.Pursuer)
	return ok
}

// readings sums up how well the co-players of each name were read, part by part.
func (c *adapting) readings(m *meeting, all []*livedSeed) (list []adapted.Reading) {
	goals := m.g.Spec().Goals
	words := wordsOf(goals, all)
	var sums []*readingSum
	for i, s := range all {
		eachLook(m, s, func(l *learner.Prediction, early, late bool) {
			k := m.part(l.Episode)
			p := m.parts[k]
			name, who := p.vs[l.Other], p.who[l.Other]
			at := slices.IndexFunc(sums, func(o *readingSum) bool { return o.part == k && o.name == name })
			if at < 0 {
				at = len(sums)
				sums = append(sums, &readingSum{
					name: name, part: k, from: p.from, words: words, goals: goals, atOnce: m.says(who, words), limited: m.scripts[who] != nil,
				})
			}
			sums[at].add(l, i, early, late)
		})
	}
	slices.SortStableFunc(sums, func(a, b *readingSum) int { return a.part - b.part })
	for _, o := range sums {
		list = append(list, o.reading(len(all), c.Lives*len(all)/2))
	}
	return list
}

// wordsOf returns the words in which the agent speaks of goals, the game's own first;
// nothing if it has none of those or says the same of everybody.
func wordsOf(goals []string, all []*livedSeed) []string {
	words, used := slices.Clone(goals), map[string]bool{}
	for _, s := range all {
		for _, r := range s.reads {
			if r == nil {
				continue
			}
			r.Each(func(l *learner.Prediction) {
				for _, name := range l.Held[byAgent].Names {
					if used[name] = true; !slices.Contains(words, name) {
						words = append(words, name)
					}
				}
			})
		}
	}
	words = slices.DeleteFunc(words, func(w string) bool { return !used[w] })
	if len(words) < 2 || !slices.Contains(goals, words[0]) {
		return nil
	}
	return words
}

// eachLook calls f with every look of a sample's lives, and says whether it is one of the
// first or of the last episodes of its part. Envs play on until all lives are over; what
// follows a life's end is none of it.
func eachLook(m *meeting, s *livedSeed, f func(l *learner.Prediction, early, late bool)) {
	type stretch struct{ life, part int }
	last, ends := map[stretch]int{}, map[int]int{}
	for _, e := range s.res.Episodes {
		at := stretch{e.Life, m.part(e.Index)}
		last[at], ends[e.Life] = max(last[at], e.Index), max(ends[e.Life], e.Index)
	}
	for i, r := range s.reads {
		if r == nil {
			continue
		}
		r.Each(func(l *learner.Prediction) {
			life := l.Env
			if s.alone {
				life = i
			}
			if l.Episode > ends[life] {
				return
			}
			k := m.part(l.Episode)
			from, to := m.parts[k].from, last[stretch{life, k}]
			f(l, l.Episode-from < adapted.EarlyEpisodes, l.Episode > to-max(1, (to-from+1)/5))
		})
	}
}

// readingSum is what comes together of looks at co-players of one name.
type readingSum struct {
	name         string
	part, from   int
	words, goals []string // the agent's; the game's
	atOnce       bool     // what they are after can be told at once, not only in hindsight
	limited      bool     // the Bayes observer knows them
	goal, action shareSum
	ce           [holders]stats.Acc // of actions
	episodes     [][]stats.Acc      // [episode][word]
	early, late  stepSum
}

func (o *readingSum) add(l *learner.Prediction, seed int, early, late bool) {
	episode := l.Episode - o.from
	limited := o.limited && len(l.Held) > byEpisode
	got := [holders]float64{byNearest: math.NaN()}
	if l.Acted {
		for h := range l.Held {
			if got[h] = l.Held[h].Top1; h == byAgent || limited {
				o.ce[h].Add(l.Held[h].CE)
			}
		}
		o.action.add(seed, episode, got, limited)
	}
	if o.words == nil {
		return
	}
	o.episodes = o.held(o.episodes, episode, &l.Held[byAgent])
	truth := ""
	switch {
	case o.atOnce:
		truth = l.Pursues
	case l.Next != game.NoGoal:
		truth = o.goals[l.Next]
	}
	if truth != "" {
		for h := range l.Held {
			got[h] = l.Held[h].Right(truth)
		}
		o.goal.add(seed, episode, got, limited && o.atOnce)
	}
	for _, x := range []struct {
		on  bool
		sum *stepSum
	}{{early, &o.early}, {late, &o.late}} {
		if !x.on {
			continue
		}
		x.sum.own = o.held(x.sum.own, l.Step, &l.Held[byAgent])
		if limited && o.atOnce {
			x.sum.limit = o.held(x.sum.limit, l.Step, &l.Held[byLife])
		}
		if truth != "" {
			x.sum.right = stats.AddAt(x.sum.right, l.Step, got[byAgent])
		}
	}
}

// held adds how likely each word is held to be to entry i of a list.
func (o *readingSum) held(list [][]stats.Acc, i int, h *learner.Held) [][]stats.Acc {
	for len(list) <= i {
		list = append(list, make([]stats.Acc, len(o.words)))
	}
	for w, name := range o.words {
		list[i][w].Add(h.Of(name))
	}
	return list
}

// reading is the sum; steps of an episode are shown for as long as so many looks are
// behind them.
func (o *readingSum) reading(seeds, least int) adapted.Reading {
	action := o.action.accuracy(seeds)
	if action != nil {
		action.Nearest = stats.Number(math.NaN())
		action.CE, action.LimitCE = stats.Number(o.ce[byAgent].Mean()), stats.Number(o.ce[byLife].Mean())
	}
	return adapted.Reading{
		Name: o.name, From: o.from, Words: o.words, Goal: o.goal.accuracy(seeds), Action: action,
		PGoal: rowMeans(o.episodes, 1), Early: o.early.bySteps(least), Late: o.late.bySteps(least),
	}
}

// shareSum is a share of steps, by who held what.
type shareSum struct {
	by                      [holders]stats.Acc
	seeds, episodes, limits []stats.Acc
}

func (x *shareSum) add(seed, episode int, got [holders]float64, limited bool) {
	x.by[byAgent].Add(got[byAgent])
	x.by[byNearest].Add(got[byNearest])
	x.seeds, x.episodes = stats.AddAt(x.seeds, seed, got[byAgent]), stats.AddAt(x.episodes, episode, got[byAgent])
	if limited {
		x.by[byLife].Add(got[byLife])
		x.by[byEpisode].Add(got[byEpisode])
		x.limits = stats.AddAt(x.limits, episode, got[byLife])
	}
}

func (x *shareSum) accuracy(seeds int) *adapted.Accuracy {
	own, limit := x.by[byAgent].Mean(), x.by[byLife].Mean()
	if x.by[byAgent].N() == 0 {
		return nil
	}
	return &adapted.Accuracy{
		Steps: x.by[byAgent].N(), Accuracy: own, Limit: stats.Number(limit), OfLimit: stats.Number(own / limit),
		LimitEpisode: stats.Number(x.by[byEpisode].Mean()), BySeed: meanNumbers(x.seeds, seeds), ByEpisode: meanNumbers(x.episodes, 0),
		LimitByEpisode: meanNumbers(x.limits, 0), Nearest: stats.Number(x.by[byNearest].Mean()),
	}
}

// stepSum is what was held by step of an episode.
type stepSum struct {
	own, limit [][]stats.Acc // [step][word]
	right      []stats.Acc   // [step]
}

func (x *stepSum) bySteps(least int) *adapted.BySteps {
	own := rowMeans(x.own, least)
	if len(own) == 0 {
		return nil
	}
	out := &adapted.BySteps{PGoal: own, Limit: rowMeans(x.limit, least), Accuracy: meanNumbers(x.right, 0)}
	out.Accuracy = out.Accuracy[:min(len(out.Accuracy), len(own))]
	for i := range own {
		out.Steps = append(out.Steps, x.own[i][0].N())
	}
	return out
}

// rowMeans returns the means of each entry, for as long as so many numbers are behind.
func rowMeans(list [][]stats.Acc, least int) (out [][]float64) {
	for _, row := range list {
		if row[0].N() < max(least, 1) {
			break
		}
		out = append(out, meansOf(row, 0))
	}
	return out
}

// meanNumbers returns means, unknown where there are none, at least n of them.
func meanNumbers(list []stats.Acc, n int) (out []stats.Number) {
	for i := range max(n, len(list)) {
		if i < len(list) {
			out = append(out, stats.Number(list[i].Mean()))
		} else {
			out = append(out, stats.Number(math.NaN()))
		}
	}
	return out
}
