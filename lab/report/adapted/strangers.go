package adapted

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/stats"
)

// Strangers is how an agent does among the co-players of a split, none of which it may have met.
//
// Normalised is 1 - regret / max(best response - random, a fifth of the optimum): where random
// play is nearly as good as anything, a plain ratio is noise.
type Strangers struct {
	Agent     string   `json:"agent"`
	Split     string   `json:"split"`
	Sum       string   `json:"sum"`                // of the split's list
	Of        int      `json:"of"`                 // co-players in the split
	Zoo       []string `json:"zoo,omitempty"`      // members of a zoo among them
	N         int      `json:"n"`                  // of them met
	Exact     int      `json:"exact"`              // of these, whose best response is exact
	LeftOut   []string `json:"left_out,omitempty"` // words: who is made with one of them is not met
	LearnBest bool     `json:"learn_best"`         // where none is exact, a PPO learnt against it is a candidate
	Known     int      `json:"known"`
	Optimum   float64  `json:"optimum"` // the most that a best response earns among any of them
	Safe      float64  `json:"safe"`    // what a script is sure of
	SafeBy    string   `json:"safe_by"`

	// Unsolved are not met, since br is among the agents and has no best response to them.
	Unsolved []Unsolved `json:"unsolved,omitempty"`

	Median      stats.Number   `json:"median"`
	MedianCI    stats.Interval `json:"median_ci"` // over seeds
	Worst       stats.Number   `json:"worst_decile"`
	WorstCI     stats.Interval `json:"worst_decile_ci"`
	BelowRandom float64        `json:"below_random"` // the share that ends below random play
	BelowSafe   float64        `json:"below_safe"`   // the share that ends below .9 of the safe value
	ByEpisode   []AtEpisode    `json:"by_episode"`
	Seeds       []SeedOver     `json:"seeds"`
	Rows        []Met          `json:"rows"` // the hardest first
}

// Unsolved is a stranger that br has no best response to.
type Unsolved struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// Summary says in a sentence how it does among them.
func (s *Strangers) Summary() string {
	return fmt.Sprintf("Among %d of the %d strangers of %s, %s: half of them pay it at least %s of what the best response earns, nine of ten "+
		"at least %s; with %.0f %% it ends below random play, with %.0f %% below .9 of the %s that a script is sure of.", s.N, s.Of, s.Split,
		s.unmet(), plot.Number(float64(s.Median)), plot.Number(float64(s.Worst)), 100*s.BelowRandom, 100*s.BelowSafe, plot.Number(s.Safe))
}

// unmet says whether it has met some of them.
func (s *Strangers) unmet() string {
	if s.Known == 0 {
		return "none of whom it has met"
	}
	return fmt.Sprintf("of whom it has met %d", s.Known)
}

// Width is the length of the bar that shows the score, in per cent.
func (m Met) Width() float64 { return 100 * min(max(m.Normalised, 0), 1) }

// AtEpisode is the mean over strangers of the share that is lost in an episode, as in Normalised.
type AtEpisode struct {
	Episode int     `json:"episode"` // from 1
	Regret  float64 `json:"regret"`
}

// SeedOver is one seed's scores over the strangers.
type SeedOver struct {
	Seed   uint64       `json:"seed"`
	Median stats.Number `json:"median"`
	Worst  stats.Number `json:"worst_decile"`
}

// Met is one stranger.
type Met struct {
	Name         string         `json:"name"`
	Known        bool           `json:"known,omitempty"`
	Score        float64        `json:"score"`
	BestResponse float64        `json:"best_response"`
	By           string         `json:"by"`
	Random       float64        `json:"random"`
	Safe         float64        `json:"safe"`
	Normalised   float64        `json:"normalised"`
	CI           stats.Interval `json:"normalised_ci"` // over seeds
	Ratio        stats.Number   `json:"ratio"`         // 1 - regret / (best response - random)
	Seeds        []float64      `json:"seeds"`         // normalised, by seed
	Read         *Read          `json:"read,omitempty"`
	Watch        string         `json:"watch"` // the command that shows an episode

	curve []float64
}

// Read is how well what a stranger does was foreseen, by the agent and by the Bayes observer, who
// knows all co-players of the split that remember nothing but not which of them it is. What a
// stranger does that remembers, he does not know.
type Read struct {
	Steps    int          `json:"steps"`
	Accuracy float64      `json:"accuracy"` // the share at which the likeliest action was played
	LogP     stats.Number `json:"log_likelihood"`
	Limit    stats.Number `json:"limit"`
	LimitLog stats.Number `json:"limit_log_likelihood"`
}

// episodes are those at which regret is shown.
var episodes = []int{1, 2, 5, 10, 20, 50}

// span is what a regret is measured by.
func (s *Strangers) span(best, random float64) float64 { return max(best-random, s.Optimum/5) }

// Add takes in how it did among one.
func (s *Strangers) Add(r *Row) {
	m := Met{Name: r.VS[0], Known: r.Known, Score: r.Score, BestResponse: r.BestResponse, By: r.BestName, Random: r.Random, Safe: s.Safe,
		Ratio: r.Normalised, Watch: r.Watch, curve: r.Episodes}
	for _, x := range r.Reading {
		if a := x.Action; a != nil {
			m.Read = &Read{Steps: a.Steps, Accuracy: a.Accuracy, LogP: -a.CE, Limit: a.Limit, LimitLog: -a.LimitCE}
		}
	}
	m.Normalised = 1 - r.Regret/s.span(r.BestResponse, r.Random)
	var over stats.Acc
	for i, x := range r.Seeds {
		share := 1 - x.Regret/s.span(x.Best, x.Random)
		over.Add(share)
		m.Seeds = append(m.Seeds, share)
		if i == len(s.Seeds) {
			s.Seeds = append(s.Seeds, SeedOver{Seed: x.Seed})
		}
	}
	m.CI = over.CI(0.95)
	s.Rows = append(s.Rows, m)
}

// Finish sums up.
func (s *Strangers) Finish() {
	slices.SortStableFunc(s.Rows, func(a, b Met) int {
		switch {
		case a.Normalised < b.Normalised:
			return -1
		case a.Normalised > b.Normalised:
			return 1
		}
		return 0
	})
	var all []float64
	random, safe := 0, 0
	for _, m := range s.Rows {
		all = append(all, m.Normalised)
		if m.Known {
			s.Known++
		}
		if strings.HasPrefix(m.By, "exact") {
			s.Exact++
		}
		if m.Score < m.Random {
			random++
		}
		if m.Score < .9*s.Safe {
			safe++
		}
	}
	n := float64(len(all))
	s.Median, s.Worst = stats.Number(quantile(all, .5)), stats.Number(quantile(all, .1))
	s.BelowRandom, s.BelowSafe = float64(random)/n, float64(safe)/n
	s.Intervals()
	for _, e := range episodes {
		var lost stats.Acc
		for _, m := range s.Rows {
			if len(m.curve) >= e {
				lost.Add((m.BestResponse - m.curve[e-1]) / s.span(m.BestResponse, m.Random))
			}
		}
		if lost.N() > 0 {
			s.ByEpisode = append(s.ByEpisode, AtEpisode{e, lost.Mean()})
		}
	}
}

// Intervals says how sure the median and the worst decile are, by the seeds.
func (s *Strangers) Intervals() {
	var medians, worsts stats.Acc
	for i := range s.Seeds {
		s.Seeds[i].Median, s.Seeds[i].Worst = s.over(i, func(m Met) float64 { return m.Seeds[i] })
		median, worst := s.over(i, func(m Met) float64 { return without(m.Seeds, i) })
		medians.Add(float64(median))
		worsts.Add(float64(worst))
	}
	s.MedianCI, s.WorstCI = jackknife(float64(s.Median), medians), jackknife(float64(s.Worst), worsts)
}

// over returns median and worst decile of something of every stranger that was met with a seed.
func (s *Strangers) over(seed int, of func(Met) float64) (median, worst stats.Number) {
	var list []float64
	for _, m := range s.Rows {
		if seed < len(m.Seeds) {
			list = append(list, of(m))
		}
	}
	slices.Sort(list)
	return stats.Number(quantile(list, .5)), stats.Number(quantile(list, .1))
}

// without returns the mean of all but one.
func without(list []float64, i int) float64 {
	sum := -list[i]
	for _, x := range list {
		sum += x
	}
	return sum / float64(len(list)-1)
}

// jackknife returns the interval of a figure by what it is without each of the seeds. That of each seed alone
// is another figure: with more chance in every row the worst tenth is worse.
func jackknife(x float64, without stats.Acc) stats.Interval {
	n := without.N()
	return stats.StudentCI(x, float64(n-1)*without.SE(), n, 0.95)
}

// quantile returns a quantile of sorted numbers, between two of them in proportion.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	lo := int(at)
	hi := min(lo+1, len(sorted)-1)
	return sorted[lo] + (at-float64(lo))*(sorted[hi]-sorted[lo])
}

// Headline says in a sentence how the agent does among them.
func (s *Strangers) Headline() string {
	text := fmt.Sprintf("%s among %d strangers (%s, sum %s): median %s%s of the best response, worst decile %s%s; below "+
		"random play among %s, "+
		"below .9 of the safe %s among %s.", runName(s.Agent), s.N, s.Split, s.Sum, ofBest(float64(s.Median)), bounds(s.MedianCI, 2),
		ofBest(float64(s.Worst)), bounds(s.WorstCI, 2), share(s.BelowRandom), plot.Number(s.Safe), share(s.BelowSafe))
	if s.Known > 0 {
		text += fmt.Sprintf(" %d of them it knows.", s.Known)
	}
	return text
}

// share writes a share in per cent.
func share(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) + " %" }

// strangerHeads and line are a table with a line an agent.
var strangerHeads = []string{
	"who", "median (95 %)", "worst decile (95 %)", "below random", "below safe", "share lost in episode 1, 2, 5, 10, 20, 50",
}

func (s *Strangers) line() []string {
	lost := ""
	for i, e := range s.ByEpisode {
		if i > 0 {
			lost += ", "
		}
		lost += fixed(e.Regret, 2)
	}
	return []string{runName(s.Agent), ofBest(float64(s.Median)) + bounds(s.MedianCI, 2), ofBest(float64(s.Worst)) + bounds(s.WorstCI, 2),
		share(s.BelowRandom), share(s.BelowSafe), lost}
}

// met is a table with a line a stranger, the first agent's hardest first.
func (t *Table) met() (heads []string, cells [][]string) {
	heads = []string{"stranger", "best response", "random"}
	for _, s := range t.Strangers {
		heads = append(heads, runName(s.Agent)+", normalised (95 %)")
		if s.reads() {
			heads = append(heads, "actions foreseen, by the observer", "log likelihood, the observer's")
		}
	}
	heads = append(heads, "watch")
	for _, m := range t.Strangers[0].Rows {
		line := []string{m.Name, fixed(m.BestResponse, 3) + ", " + m.By, fixed(m.Random, 3)}
		for _, s := range t.Strangers {
			i := slices.IndexFunc(s.Rows, func(o Met) bool { return o.Name == m.Name })
			line = append(line, fixed(s.Rows[i].Normalised, 2)+bounds(s.Rows[i].CI, 2))
			if s.reads() {
				line = append(line, s.Rows[i].Read.cells()...)
			}
		}
		line = append(line, m.Watch)
		cells = append(cells, line)
	}
	return heads, cells
}

// reads reports whether the agent says what it expects others to do.
func (s *Strangers) reads() bool {
	return slices.ContainsFunc(s.Rows, func(m Met) bool { return m.Read != nil })
}

// cells are what a table says of it.
func (r *Read) cells() []string {
	if r == nil {
		return make([]string, 2)
	}
	two := func(x, limit float64) string {
		if math.IsNaN(limit) {
			return fixed(x, 2)
		}
		return fixed(x, 2) + ", " + fixed(limit, 2)
	}
	return []string{two(r.Accuracy, float64(r.Limit)), two(float64(r.LogP), float64(r.LimitLog))}
}

// dots draws every stranger as a dot, each agent's sorted by how well it does.
func (t *Table) dots() *plot.Figure {
	var clouds []plot.Cloud
	for _, s := range t.Strangers {
		c := plot.Cloud{Name: runName(s.Agent)}
		for i, m := range s.Rows {
			c.X, c.Y = append(c.X, float64(i+1)), append(c.Y, max(m.Normalised, -1))
			lo, hi := m.Normalised, m.Normalised // of one seed there is no interval
			if len(m.Seeds) > 1 {
				lo, hi = m.CI[0], m.CI[1]
			}
			c.Low, c.High = append(c.Low, max(lo, -1)), append(c.High, min(max(hi, -1), 1.5))
		}
		clouds = append(clouds, c)
	}
	return plot.Scatter("strangers", "Every stranger, the hardest first",
		"1 is the best response to it, 0 random play; below -1 is drawn at -1. Lines are 95 % intervals over seeds. "+
			"Each agent's strangers are in its own order.",
		plot.Axes{X: "strangers", Y: "normalised"}, clouds...)
}

// plain makes cells of texts.
func plain(texts []string) (list []cell) {
	for _, t := range texts {
		list = append(list, cell{Text: t})
	}
	return list
}

// lost draws what share is lost in an episode, by how many there were.
func (t *Table) lost() *plot.Figure {
	var lines []plot.Line
	for _, s := range t.Strangers {
		l := plot.Line{Name: runName(s.Agent)}
		for _, e := range s.ByEpisode {
			l.X, l.Y = append(l.X, float64(e.Episode)), append(l.Y, e.Regret)
		}
		lines = append(lines, l)
	}
	return plot.Lines("lost", "How fast it adapts", "The share of what there is to get that is lost in an episode, mean over strangers.",
		plot.Axes{X: "episode", Y: "share lost"}, lines...)
}

// strangerWords says what was done.
func (t *Table) strangerWords() string {
	s := t.Strangers[0]
	without, learnt := "", "none of them a PPO learnt against the stranger (--learn-best)"
	if len(s.LeftOut) > 0 {
		without = ", without those that are made with " + strings.Join(s.LeftOut, ", ")
	}
	if s.LearnBest {
		learnt = "a PPO learnt against the stranger among them"
	}
	return fmt.Sprintf("One agent lives among as many of a stranger as there are other seats, for %s env steps; scored are "+
		"the episodes that "+
		"end in the last %s. %d of the %d co-players of %s%s. Of %d the best response is exact, of the others the best of candidates, %s. "+
		"Intervals (95 %%): %s.", plot.Thousands(t.Steps), plot.Thousands(t.Last), s.N, s.Of, s.Split, without, s.Exact, learnt, t.Over())
}

const strangerLegend = "Normalised is 1 - regret / max(best response - random, a fifth of the optimum): where random play " +
	"is nearly as good as " +
	"anything a plain ratio is noise; both are in adapt.json. Exact: the oracle's value of the very starts that were scored; " +
	"exact in the long " +
	"run: of those who remember episodes, what the best response earns an episode for ever; else the best of the game's " +
	"scripts, planners, " +
	"the zoo's best response and, if asked for, a PPO that learnt against this very stranger. Foreseen: the share of its " +
	"steps that the agent held for likeliest, and the observer's, who knows all co-players of the split that remember nothing. " +
	"Safe: the most that a script of the game is sure of, whichever of the game's bots it meets. " +
	"Median and worst " +
	"decile are over strangers, their intervals over seeds."
