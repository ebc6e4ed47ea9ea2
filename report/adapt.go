package report

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"

	"hop/stats"
)

// meeting is how one of the run's agents did among three co-players, as hop adapt
// wrote it.
type meeting struct {
	VS         []string       `json:"vs"`
	Known      bool           `json:"in_distribution"`
	Score      float64        `json:"score"`
	First      float64        `json:"first_episode"`
	Best       float64        `json:"best_response"`
	Random     float64        `json:"random"`
	Normalised float64        `json:"normalised"`
	CI         stats.Interval `json:"normalised_ci"`
}

// Among names the co-players.
func (m meeting) Among() string { return strings.Join(m.VS, ", ") }

// Width is the length of the bar that shows the score, in per cent.
func (m meeting) Width() float64 { return 100 * min(max(m.Normalised, 0), 1) }

// readMeetings reads the table that a stage's folder may hold.
func (g *group) readMeetings(dir string, s stage) {
	b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(s.Dir), "adapt.json"))
	if err != nil {
		return
	}
	var t struct {
		Steps, Last int
		Table       []meeting
	}
	if err := json.Unmarshal(b, &t); err != nil {
		g.note("%s/adapt.json cannot be read (%v): how the agents meet strangers is not shown", s.Dir, err)
		return
	}
	g.Meetings, g.Life, g.LifeEnd = t.Table, t.Steps, t.Last
	g.MeetingsPage = path.Join(s.Dir, "adapt.html")
}
