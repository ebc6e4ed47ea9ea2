package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"hop/page"
)

// stage is a step around the training, as hop train left it in stages.json, with
// the card of the model that it made.
type stage struct {
	Name    string  `json:"name"`
	Command string  `json:"command"`
	Dir     string  `json:"dir"` // from the group's folder
	Reused  bool    `json:"reused"`
	Wall    float64 `json:"wall_s"`
	Verdict string  `json:"verdict"`
	Status  string  `json:"status"`
	Card    string  // link to its card, empty if there is none
	Numbers []cardNumber
}

// cardNumber is a number of a card between its references.
type cardNumber struct {
	Name      string    `json:"name"`
	Value     *float64  `json:"value"`
	Unit      string    `json:"unit"`
	Baselines []cardRef `json:"baselines"`
	Limit     *cardRef  `json:"limit"`
}

type cardRef struct {
	Name  string   `json:"name"`
	Value *float64 `json:"value"`
}

// Says writes the number beside its best baseline and its limit.
func (n cardNumber) Says() string {
	if n.Value == nil {
		return n.Name + " –"
	}
	s := fmt.Sprintf("%s %s", n.Name, page.Trim(*n.Value))
	if n.Unit != "" {
		s += " " + n.Unit
	}
	if n.Limit != nil && n.Limit.Value != nil {
		s += fmt.Sprintf(" (limit %s)", page.Trim(*n.Limit.Value))
	}
	return s
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

// readCard takes the first numbers of a stage's card.
func (s *stage) readCard(dir string) {
	b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(s.Dir), "card.json"))
	if err != nil {
		return
	}
	var c struct {
		Numbers []cardNumber `json:"numbers"`
	}
	if json.Unmarshal(b, &c) != nil {
		return
	}
	s.Card = path.Join(s.Dir, "card.html")
	s.Numbers = c.Numbers[:min(3, len(c.Numbers))]
}

// StagesTook returns the seconds of all stages that were run.
func (g *group) StagesTook() float64 {
	sum := 0.0
	for _, s := range g.Stages {
		sum += s.Wall
	}
	return sum
}
