package report

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"

	"hop/stats"
)

// Adapted is one agent against one trio.
type Adapted struct {
	Run          string         `json:"run"`
	VS           []string       `json:"vs"`
	Then         []string       `json:"then,omitempty"`
	Known        bool           `json:"in_distribution"` // it met all of them, or has scripts of them
	Learn        string         `json:"learn"`
	Lives        int            `json:"lives"` // of each seed
	Score        float64        `json:"score"`
	SE           float64        `json:"se"`
	CI           stats.Interval `json:"ci"`
	First        float64        `json:"first_episode"`
	BestResponse float64        `json:"best_response"`
	BestName     string         `json:"best_response_by"` // exact, or whoever did best
	Random       float64        `json:"random"`
	Normalised   float64        `json:"normalised"`
	NormalisedCI stats.Interval `json:"normalised_ci"`
	Regret       float64        `json:"regret"`
	RegretCI     stats.Interval `json:"regret_ci"`
	Seeds        []AdaptedSeed  `json:"seeds"`
	Episodes     []float64      `json:"episodes"`                  // mean return by episode
	Best         []float64      `json:"best_episodes,omitempty"`   // the best response's value of the same starts
	Action       []float64      `json:"action_accuracy,omitempty"` // by episode: the likeliest action was played
	Belief       []float64      `json:"belief_accuracy,omitempty"` // by episode: probability of the truth
	BeliefStep   []float64      `json:"belief_by_step,omitempty"`  // by step of an episode
	Back         *int           `json:"back_after,omitempty"`      // episodes after the change until back at 90 %
}

// AdaptedSeed is one seed's part.
type AdaptedSeed struct {
	Seed       uint64  `json:"seed"`
	Run        string  `json:"run,omitempty"`
	Score      float64 `json:"score"`
	Best       float64 `json:"best_response"`
	Random     float64 `json:"random"`
	Normalised float64 `json:"normalised"`
	Regret     float64 `json:"regret"`
}

// AdaptTable is all who adapted, against all co-players.
type AdaptTable struct {
	Words string         `json:"-"` // what the game is
	Game  map[string]any `json:"game"`
	Steps int            `json:"steps"`
	Last  int            `json:"last"`
	Table []*Adapted     `json:"table"`
}

// Against names the co-players.
func (r *Adapted) Against() string {
	s := strings.Join(r.VS, ",")
	if len(r.Then) > 0 {
		s += " then " + strings.Join(r.Then, ",")
	}
	return s
}

// Among names the co-players for the report of a run.
func (r *Adapted) Among() string { return strings.Join(r.VS, ", ") }

// Width is the length of the bar that shows the score, in per cent.
func (r *Adapted) Width() float64 { return 100 * min(max(r.Normalised, 0), 1) }

// readMeetings reads the table that a stage's folder may hold.
func (g *group) readMeetings(dir string, s stage) {
	b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(s.Dir), "adapt.json"))
	if err != nil {
		return
	}
	var t AdaptTable
	if err := json.Unmarshal(b, &t); err != nil {
		g.note("%s/adapt.json cannot be read (%v): how the agents meet strangers is not shown", s.Dir, err)
		return
	}
	g.Meetings, g.Life, g.LifeEnd = t.Table, t.Steps, t.Last
	g.MeetingsPage = path.Join(s.Dir, "adapt.html")
}
