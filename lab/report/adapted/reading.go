package adapted

import (
	"fmt"
	"math"
	"slices"

	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/stats"
)

// Reading is how well an agent read its co-players of one name, in one part of its
// lives: every step of theirs that it was there to see counts alike, over all lives and
// seeds.
type Reading struct {
	Name   string    `json:"co_player"`
	From   int       `json:"from_episode"`    // the first of the part, from 0
	Words  []string  `json:"words,omitempty"` // what they may be after, in the agent's words
	Goal   *Accuracy `json:"goal,omitempty"`  // nothing for agents that infer no goals
	Action *Accuracy `json:"action,omitempty"`
	// PGoal is the mean probability of each word, by episode of the part; Early and Late
	// hold it by step of an episode.
	PGoal [][]float64 `json:"p_goal_by_episode,omitempty"` // [episode][word]
	Early *BySteps    `json:"early,omitempty"`
	Late  *BySteps    `json:"late,omitempty"`
}

// EarlyEpisodes is how many episodes of a part are called early. Late ones are the last
// fifth of each life's.
const EarlyEpisodes = 5

// Accuracy is a share of steps, beside what it can be at most: the share of the Bayes
// observer, who knows the scripts but not who follows which, on the same steps. He goes
// by all that he has seen of a co-player in the part of the life or, with less to go by,
// in the episode alone. Where the co-player is no script, there is no limit.
type Accuracy struct {
	Steps          int            `json:"steps"`
	Accuracy       float64        `json:"accuracy"`
	Limit          stats.Number   `json:"limit"`
	OfLimit        stats.Number   `json:"of_limit"`
	LimitEpisode   stats.Number   `json:"limit_one_episode"`
	Nearest        stats.Number   `json:"nearest"` // of goals: right is who names the goal that has something nearest to the co-player
	BySeed         []stats.Number `json:"by_seed"`
	ByEpisode      []stats.Number `json:"by_episode"`
	LimitByEpisode []stats.Number `json:"limit_by_episode,omitempty"`

	CE, LimitCE stats.Number `json:"-"` // -ln of what was held of the action that was played, mean over steps
}

// BySteps is what was held by step of an episode. Its arrays end where few lives got.
type BySteps struct {
	Steps    []int          `json:"steps"`    // that are behind the numbers
	PGoal    [][]float64    `json:"p_goal"`   // [step][word]
	Limit    [][]float64    `json:"limit"`    // [step][word] what the Bayes observer holds; nothing without one
	Accuracy []stats.Number `json:"accuracy"` // of goals
}

// Readings is how well the co-players were read, as a table: of goals and of actions the
// share that was right, the limit, and the share of the limit. It has no rows if nobody
// who adapted reads others.
func (t *Table) Readings() (heads []string, rows [][]string) {
	heads = []string{"among", "co-player", "goals right", "limit", "of it", "one episode's limit", "actions right", "limit", "of it",
		"one episode's limit"}
	several := slices.ContainsFunc(t.Table, func(r *Row) bool { return r.Run != t.Table[0].Run })
	if several {
		heads = slices.Insert(heads, 1, "who")
	}
	for _, r := range t.Table {
		for _, x := range r.Reading {
			row := slices.Concat([]string{x.among(r), playerName(x.Name)}, x.Goal.cells(), x.Action.cells())
			if several {
				row = slices.Insert(row, 1, t.who(r))
			}
			rows = append(rows, row)
		}
	}
	return heads, rows
}

// among names the trio that the co-player belongs to.
func (x *Reading) among(r *Row) string {
	if x.From > 0 {
		return "then " + trio(r.Then)
	}
	return trio(r.VS)
}

// ReadingLegend explains the table.
const ReadingLegend = "Goals right: share of a co-player's steps, while the agent is there to see them, at which the goal that it " +
	"holds for likeliest is the one that the co-player is after: what its script goes for now or, where there is no script, the goal " +
	"that it reaches next. Actions right: share at which it does what the agent expects most, mixed over its hypotheses. Limit: the " +
	"Bayes observer on the same steps, who knows the scripts and, of each co-player, all that he has seen of it in its life; one " +
	"episode's limit: one who forgets when an episode ends."

// cells are the accuracy, its limit, the share of it, and the limit within an episode.
func (a *Accuracy) cells() []string {
	if a == nil {
		return make([]string, 4)
	}
	list := []string{plot.Number(a.Accuracy)}
	for _, x := range []stats.Number{a.Limit, a.OfLimit, a.LimitEpisode} {
		if list = append(list, ""); !math.IsNaN(float64(x)) {
			list[len(list)-1] = plot.Number(float64(x))
		}
	}
	return list
}

// readingFigures draw, for each who adapts, what it holds its co-players to be after over
// the steps of an episode: early episodes on the left, late ones on the right.
func (t *Table) readingFigures() (list []*plot.Figure) {
	var runs []string
	for _, r := range t.Table {
		if slices.Contains(runs, r.Run) {
			continue
		}
		runs = append(runs, r.Run)
		f := &plot.Figure{
			Title: "What it takes them to be after, " + t.who(r), Cols: 2,
			Caption: fmt.Sprintf("Mean probability of each goal by step of an episode; left the first %d episodes, right the last fifth. The "+
				"lowest area is what the co-player is most often after. Dashed: how likely the Bayes observer holds that.", EarlyEpisodes),
		}
		for _, o := range t.Table {
			for _, x := range o.Reading {
				if o.Run == r.Run {
					f.Legend = x.panels(f, o)
				}
			}
		}
		if len(f.Panels) > 0 {
			list = append(list, f)
		}
	}
	return list
}

// panels adds a co-player's two panels, if there is something to see, and returns the
// key to them.
func (x *Reading) panels(f *plot.Figure, r *Row) []plot.Key {
	if x.Early == nil || x.Late == nil || len(x.Early.PGoal) < 2 || len(x.Late.PGoal) < 2 {
		return f.Legend
	}
	order := x.order()
	var keys []plot.Key
	for i, w := range x.Words {
		keys = append(keys, plot.Goal(i, wordName(w)))
	}
	most := max(len(x.Early.PGoal), len(x.Late.PGoal))
	for _, s := range []struct {
		when string
		*BySteps
	}{{"early", x.Early}, {"late", x.Late}} {
		axis := plot.Round(1, float64(most), min(6, most))
		axis.Name, axis.At = "step of the episode", slices.DeleteFunc(axis.At, func(x float64) bool { return x != math.Trunc(x) })
		p := plot.New(axis, plot.Shares())
		steps, base := make([]float64, len(s.PGoal)), make([]float64, len(s.PGoal))
		for i := range steps {
			steps[i] = float64(i + 1)
		}
		for _, w := range order {
			top := slices.Clone(base)
			for i, probs := range s.PGoal {
				top[i] += probs[w]
			}
			p.Add(plot.Band{X: steps, Low: base, High: top, Color: keys[w].Color})
			base = top
		}
		if n := min(len(s.Limit), len(steps)); n > 1 {
			limit := plot.Line{X: steps[:n], Color: plot.Ink, Width: 1.6, Dash: true}
			for _, probs := range s.Limit[:n] {
				limit.Y = append(limit.Y, probs[order[0]])
			}
			p.Add(limit)
		}
		f.Panels = append(f.Panels, p.Panel(fmt.Sprintf("%s among %s, %s", playerName(x.Name), x.among(r), s.when), plot.HalfW, plot.HalfH))
	}
	return append(keys, plot.Key{Name: "Bayes observer", Color: plot.Ink, Dash: true})
}

// order returns the words with the one first that the Bayes observer finds likeliest in
// late episodes.
func (x *Reading) order() []int {
	sum := make([]float64, len(x.Words))
	for i, probs := range x.Late.Limit {
		for w, p := range probs {
			sum[w] += p * float64(x.Late.Steps[min(i, len(x.Late.Steps)-1)])
		}
	}
	order := make([]int, len(x.Words))
	best := 0
	for w := range order {
		if order[w] = w; sum[w] > sum[best] {
			best = w
		}
	}
	return slices.Insert(slices.Delete(order, best, best+1), 0, best)
}

// wordName is a word for what somebody is after, for a legend.
func wordName(w string) string {
	if w == "random" {
		return "acting at random"
	}
	return w
}
