// Package adapted is what came of agents that lived among others: scores and best
// responses from the same starts, how the agent knows its co-players, and the page.
package adapted

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/hop-marl/hop/num/plot"
	"github.com/hop-marl/hop/num/stats"
	"github.com/hop-marl/hop/store/runlog"
)

// Measured is what was measured of an agent among co-players. All of it is of the
// same starts: the regret is the best response less the score, and the normalised
// score is 1 - regret / (best response - random).
type Measured struct {
	Score        float64        `json:"score"`
	SE           stats.Number   `json:"se"`
	CI           stats.Interval `json:"ci"`
	BestResponse float64        `json:"best_response"`
	BestName     string         `json:"best_response_by"` // exact, or whoever did best
	Random       float64        `json:"random"`
	Normalised   stats.Number   `json:"normalised"` // unknown where the best response does no better than random
	NormalisedCI stats.Interval `json:"normalised_ci"`
	Regret       float64        `json:"regret"`
	RegretCI     stats.Interval `json:"regret_ci"`
	Starts       int            `json:"starts"` // episodes that were scored, of all lives and seeds
}

// Row is one agent against one trio.
type Row struct {
	Run        string     `json:"run"`
	VS         []string   `json:"vs"`
	Then       []string   `json:"then,omitempty"`
	At         int        `json:"at_episode,omitempty"` // the first episode of Then, from 0
	Known      bool       `json:"in_distribution"`      // none of them is a stranger
	CoPlayers  []CoPlayer `json:"co_players"`           // each name once
	Learn      string     `json:"learn"`
	Lives      int        `json:"lives"` // of each seed
	Measured              // among those of the end
	Parts      []Part     `json:"parts,omitempty"` // before and after a change of co-players
	First      float64    `json:"first_episode"`
	Seeds      []Seed     `json:"seeds"`
	Episodes   []float64  `json:"episodes"`                  // mean return by episode
	Best       []float64  `json:"best_episodes,omitempty"`   // the best response's value of the same starts
	Action     []float64  `json:"action_accuracy,omitempty"` // by episode: the likeliest action was played
	Belief     []float64  `json:"belief_accuracy,omitempty"` // by episode: probability of the truth
	BeliefStep []float64  `json:"belief_by_step,omitempty"`  // by step of an episode
	Reading    []Reading  `json:"reading,omitempty"`         // part by part, each name once
	// Back is how many episodes after the change it was back at 90 % of the best
	// response, -1 if not within BackWithin; BackCI is over lives.
	Back   *int            `json:"back_after,omitempty"`
	BackCI *stats.Interval `json:"back_after_ci,omitempty"`
	Watch  string          `json:"-"` // the command that shows it
}

// BackWithin is how many episodes after a change an agent may take to be back.
const BackWithin = 24

// Part is the life before a change of co-players, or after it.
type Part struct {
	VS   []string `json:"vs"`
	From int      `json:"from_episode"` // from 0
	Measured
}

// CoPlayer is one of the others, and how the agent knows it.
type CoPlayer struct {
	Name  string       `json:"name"`
	Known Acquaintance `json:"known"`
	Where string       `json:"where,omitempty"` // in training: in which of its parts
}

// Acquaintance says how well an agent knows a co-player.
type Acquaintance string

const (
	InTraining Acquaintance = "met in training"
	InData     Acquaintance = "known from recorded data"
	InSearch   Acquaintance = "known as a partner in its search"
	Stranger   Acquaintance = "stranger"
)

// acquaintances are all, the closest first.
var acquaintances = []Acquaintance{InTraining, InData, InSearch, Stranger}

// Seed is one seed's part.
type Seed struct {
	Seed       uint64       `json:"seed"`
	Run        string       `json:"run,omitempty"`
	Score      float64      `json:"score"`
	Best       float64      `json:"best_response"`
	Random     float64      `json:"random"`
	Normalised stats.Number `json:"normalised"`
	Regret     float64      `json:"regret"`
}

// Table is all who adapted, against all co-players.
type Table struct {
	Words string         `json:"-"` // what the game is
	Game  map[string]any `json:"game"`
	Steps int            `json:"steps"`
	Last  int            `json:"last"`
	Table []*Row         `json:"table"`

	First     *Strangers    `json:"strangers,omitempty"`          // the first agent's, if the co-players are those of a split
	Strangers []*Strangers  `json:"strangers_by_agent,omitempty"` // every agent's
	Used      []runlog.Used `json:"checkpoints,omitempty"`        // of the runs and of co-players that are runs' agents
}

// Against names the co-players.
func (r *Row) Against() string {
	s := trio(r.VS)
	if len(r.Then) > 0 {
		s += ", then " + trio(r.Then)
	}
	return s
}

// Among names the co-players for the report of a run.
func (r *Row) Among() string { return strings.Join(r.VS, ", ") }

// Width is the length of the bar that shows the score, in per cent.
func (r *Row) Width() float64 { return 100 * min(max(float64(r.Normalised), 0), 1) }

// Share is the normalised score; NaN: unknown.
func (s *Measured) Share() float64 { return float64(s.Normalised) }

// Lines returns what the tables show of the row: its parts, or itself.
func (r *Row) Lines() []Part {
	if len(r.Parts) > 0 {
		return r.Parts
	}
	return []Part{{VS: r.VS, Measured: r.Measured}}
}

// Knows says how the agent knows some of its co-players: as well as it knows the one
// that it knows least.
func (r *Row) Knows(names []string) Acquaintance {
	least := 0
	if len(r.CoPlayers) == 0 && !r.Known { // written by an earlier version
		return Stranger
	}
	for _, p := range r.CoPlayers {
		if slices.Contains(names, p.Name) {
			least = max(least, slices.Index(acquaintances, p.Known))
		}
	}
	return acquaintances[least]
}

// Acquainted says in words how it knows them: each name, if they differ.
func (r *Row) Acquainted(names []string) string {
	var says, who []string
	for _, p := range r.CoPlayers {
		if !slices.Contains(names, p.Name) {
			continue
		}
		how := string(p.Known)
		if p.Where != "" {
			how += " (" + p.Where + ")"
		}
		i := slices.Index(says, how)
		if i < 0 {
			i, says, who = len(says), append(says, how), append(who, "")
		}
		if who[i] != "" {
			who[i] += ", "
		}
		who[i] += playerName(p.Name)
	}
	switch {
	case len(says) == 0:
		return string(r.Knows(names))
	case len(says) == 1:
		return says[0]
	}
	for i := range says {
		says[i] = who[i] + ": " + says[i]
	}
	return strings.Join(says, "; ")
}

// How says in words how it knows all of them.
func (r *Row) How() string { return r.Acquainted(append(slices.Clone(r.VS), r.Then...)) }

// trio names co-players in few words: 3 ns, ns + 2 nh.
func trio(names []string) string {
	var kinds []string
	count := map[string]int{}
	for _, n := range names {
		if n = playerName(n); count[n] == 0 {
			kinds = append(kinds, n)
		}
		count[n]++
	}
	for i, k := range kinds {
		if count[k] > 1 {
			kinds[i] = fmt.Sprintf("%d %s", count[k], k)
		}
	}
	return strings.Join(kinds, " + ")
}

// runName names a run without the folders that it lies in.
func runName(dir string) string {
	dir = path.Clean(filepath.ToSlash(dir))
	name := path.Base(dir)
	if seed, ok := strings.CutPrefix(name, "seed-"); ok && path.Dir(dir) != "." {
		return path.Base(path.Dir(dir)) + ", seed " + seed
	}
	return name
}

// playerName names a co-player, which may be an agent of a run.
func playerName(name string) string {
	if dir, agent, ok := strings.Cut(name, "#"); ok {
		return runName(dir) + ", agent " + agent
	}
	return name
}

// Text is the table for a terminal.
func (t *Table) Text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(&b, "%s\n\n", strings.Join(t.Headlines(), "\n"))
	fmt.Fprintf(&b, "%s; last %d of %d steps; intervals (95 %%) %s\n\n", t.Words, t.Last, t.Steps, t.Over())
	fmt.Fprintln(w, "against\twho\tscore\t95 %\tbest response\trandom\tnormalised\t95 %\tregret\tfirst episode\tco-players")
	for _, r := range t.Table {
		for i, l := range r.Lines() {
			first, note := "", r.Acquainted(l.VS)
			if i == 0 {
				first = fmt.Sprintf("%.3f", r.First)
			}
			if i > 0 && r.Back != nil {
				note += "; " + r.Recovery()
			}
			fmt.Fprintf(w, "%s\t%s\t%.3f\t%s\t%s\t%.3f\t%s\t%s\t%.3f\t%s\t%s\n", r.Part(i), r.Run, l.Score, l.CI.Text(),
				l.bestBy(" "), l.Random, plot.Number(l.Share()), l.NormalisedCI.Text(), l.Regret, first, note)
		}
	}
	w.Flush()
	heads, rows := t.Readings()
	if len(rows) == 0 {
		return b.String()
	}
	fmt.Fprintln(w, "\n"+strings.Join(heads, "\t"))
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	fmt.Fprintf(w, "\n%s\n", ReadingLegend)
	w.Flush()
	return b.String()
}
