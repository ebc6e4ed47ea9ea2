package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hop/page"
	"hop/report/adapted"
)

// stage is a step around the training, as hop train left it in stages.json, with
// the card of the model that it made.
type stage struct {
	Name    string   `json:"name"`
	Command string   `json:"command"`
	Dir     string   `json:"dir"` // from the group's folder
	Reused  bool     `json:"reused"`
	Wall    float64  `json:"wall_s"`
	Verdict string   `json:"verdict"`
	Status  string   `json:"status"`
	Card    string   // link to its card, empty if there is none
	Numbers []string // what it measured
}

// readStages reads stages.json and the cards it leads to.
func (g *group) readStages(dir string) {
	b, err := os.ReadFile(filepath.Join(dir, "stages.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		err = json.Unmarshal(b, &g.Stages)
	}
	if err != nil {
		g.note("stages.json cannot be read (%v): what was done before and after the training is not shown", err)
		return
	}
	for i := range g.Stages {
		g.Stages[i].readCard(dir)
		g.readMeetings(dir, g.Stages[i])
	}
}

// number is one of a card's. What it can be at best is known of some.
type number struct {
	Name, Unit string
	Value      *float64
	Limit      *struct{ Value *float64 }
}

// open is 1 for numbers of which it is not known how good they are.
func (n number) open() int {
	if n.Limit == nil || n.Limit.Value == nil {
		return 1
	}
	return 0
}

// readCard takes three numbers of a stage's card, those that can be judged first.
func (s *stage) readCard(dir string) {
	b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(s.Dir), "card.json"))
	if err != nil {
		return
	}
	var c struct{ Numbers []number }
	if json.Unmarshal(b, &c) != nil {
		return
	}
	s.Card = path.Join(s.Dir, "card.html")
	slices.SortStableFunc(c.Numbers, func(a, b number) int { return a.open() - b.open() })
	for _, n := range c.Numbers[:min(3, len(c.Numbers))] {
		text := n.Name + " –"
		if n.Value != nil {
			text = strings.TrimSpace(fmt.Sprintf("%s %s %s", n.Name, page.Trim(*n.Value), n.Unit))
			if n.Limit != nil && n.Limit.Value != nil {
				text += fmt.Sprintf(" (limit %s)", page.Trim(*n.Limit.Value))
			}
		}
		s.Numbers = append(s.Numbers, text)
	}
}

// readMeetings reads the table that a stage's folder may hold.
func (g *group) readMeetings(dir string, s stage) {
	b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(s.Dir), "adapt.json"))
	if err != nil {
		return
	}
	var t adapted.Table
	if err := json.Unmarshal(b, &t); err != nil {
		g.note("%s/adapt.json cannot be read (%v): how the agents meet others is not shown", s.Dir, err)
		return
	}
	g.Meetings, g.Life, g.LifeEnd = t.Table, t.Steps, t.Last
	g.MeetingsPage = path.Join(s.Dir, "adapt.html")
}
