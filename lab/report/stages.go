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

	"github.com/hop-marl/hop/lab/report/adapted"
	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/num/plot"
	stages "github.com/hop-marl/hop/store/stage"
)

// stage is a step around the training, with three numbers of its report card.
type stage struct {
	stages.Record
	Card    string   // link to its card, if it has one
	Numbers []string // what it measured
}

// readStages reads stages.json and the cards it leads to, which must be as the stages
// left them.
func (g *group) readStages(dir string) error {
	var of []stages.Scores
	for _, r := range g.Scored() {
		of = append(of, stages.Scores{Seed: r.Seed, Agents: r.Result.Agents})
	}
	list, err := stages.ReadRecords(dir, of)
	if errors.Is(err, fs.ErrNotExist) {
		if g.Spec != nil && len(g.Spec.Prepare)+len(g.Spec.Follow) > 0 && len(of) == len(g.Runs) {
			g.note("stages.json is missing: what was done before and after the training is not shown")
		}
		return nil
	}
	if err != nil {
		g.note("%s; what was done before and after the training is not shown",
			strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), ""))
		return nil
	}
	for _, r := range list {
		g.Stages = append(g.Stages, stage{Record: r})
	}
	var errs []error
	for i := range g.Stages {
		errs = append(errs, g.readCard(dir, &g.Stages[i]), g.readMeetings(dir, g.Stages[i]))
	}
	return errors.Join(errs...)
}

// readOf reads a file of a stage's folder. The folder's name comes from a file that may
// be somebody else's, so it may not lead out of the folder that the run lies in. nil: it
// has no such file.
func (g *group) readOf(dir string, s *stage, file string) ([]byte, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, nil
	}
	root := filepath.Dir(dir)
	if _, err := os.Stat(filepath.Join(dir, "spec.yaml")); err == nil {
		root = filepath.Dir(root) // it is a single seed's folder
	}
	rel, err := filepath.Rel(root, filepath.Join(dir, filepath.FromSlash(s.Dir)))
	if err != nil {
		return nil, nil
	}
	folder, err := disk.Below(root, rel)
	var b []byte
	if err == nil {
		var name string
		if name, err = disk.Below(root, filepath.Join(rel, file)); err == nil {
			b, err = disk.Read(name, 64<<20)
		}
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return b, stages.Verify(folder, file, b)
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		g.note("stages.json says that stage %s lies in %s: %v; nothing there is read", s.Name, s.Dir, err)
	}
	return nil, nil
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
func (g *group) readCard(dir string, s *stage) error {
	b, err := g.readOf(dir, s, "card.json")
	if err != nil || b == nil {
		return err
	}
	var c struct{ Numbers []number }
	if json.Unmarshal(b, &c) != nil {
		return nil
	}
	s.Card = path.Join(s.Dir, "card.html")
	slices.SortStableFunc(c.Numbers, func(a, b number) int { return a.open() - b.open() })
	for _, n := range c.Numbers[:min(3, len(c.Numbers))] {
		text := n.Name + " –"
		if n.Value != nil {
			text = strings.TrimSpace(fmt.Sprintf("%s %s %s", n.Name, plot.Trim(*n.Value), n.Unit))
			if n.Limit != nil && n.Limit.Value != nil {
				text += fmt.Sprintf(" (limit %s)", plot.Trim(*n.Limit.Value))
			}
		}
		s.Numbers = append(s.Numbers, text)
	}
	return nil
}

// readMeetings reads the table that a stage's folder may hold.
func (g *group) readMeetings(dir string, s stage) error {
	b, err := g.readOf(dir, &s, "adapt.json")
	if err != nil || b == nil {
		return err
	}
	var t adapted.Table
	if err := json.Unmarshal(b, &t); err != nil {
		g.note("%s/adapt.json cannot be read (%v): how the agents meet others is not shown", s.Dir, err)
		return nil
	}
	g.Meetings, g.Life, g.LifeEnd, g.Strangers = t.Table, t.Steps, t.Last, t.First
	g.MeetingsPage = path.Join(s.Dir, "adapt.html")
	return nil
}
