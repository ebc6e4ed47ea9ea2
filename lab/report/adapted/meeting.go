package adapted

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hop-marl/hop/num/disk"
	"github.com/hop-marl/hop/num/stats"
)

// Meeting is one agent's row against one stranger as it is handed in by whoever let them meet: the row with what its
// JSON leaves out, and a seal. A table is put together of meetings, wherever they took place.
type Meeting struct {
	Of    string `json:"of"` // the sum of what was asked for
	Row   *Row   `json:"row"`
	Found []Fit  `json:"found,omitempty"` // of each reading's actions
	Check string `json:"check"`
}

// Fit is how likely the actions were held that were played.
type Fit struct {
	CE      stats.Number `json:"ce"`
	LimitCE stats.Number `json:"limit_ce"`
}

// LargestMeeting is how many bytes a meeting may have: none is near it.
const LargestMeeting = 64 << 20

// NewMeeting is what is handed in of a row.
func NewMeeting(of string, r *Row) *Meeting {
	m := &Meeting{Of: of, Row: r}
	for _, x := range r.Reading {
		var f Fit
		if x.Action != nil {
			f = Fit{x.Action.CE, x.Action.LimitCE}
		}
		m.Found = append(m.Found, f)
	}
	return m
}

// Write writes the meeting, sealed.
func (m *Meeting) Write(name string) error { return disk.WriteSealed(name, m) }

// ReadMeeting returns the row of a meeting that was handed in, if it is what was asked for and as it was written.
func ReadMeeting(name, of string) (*Row, error) {
	m := &Meeting{}
	if err := disk.ReadSealed(name, LargestMeeting, m); err != nil {
		return nil, err
	}
	if m.Of != of {
		return nil, fmt.Errorf("%s is of another meeting: its sum is %.70q, want %q", name, m.Of, of)
	}
	r, err := m.taken()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// taken is the row with all that belongs to it.
func (m *Meeting) taken() (*Row, error) {
	if m.Row == nil || len(m.Found) != len(m.Row.Reading) {
		return nil, errors.New("the meeting is not whole")
	}
	for i, f := range m.Found {
		if a := m.Row.Reading[i].Action; a != nil {
			a.CE, a.LimitCE = f.CE, f.LimitCE
		}
	}
	return m.Row, nil
}

// HandIn returns a row as it is after it was handed in: what has no value has none then, whatever it was before.
func HandIn(r *Row) (*Row, error) {
	b, err := json.Marshal(NewMeeting("", r))
	if err != nil {
		return nil, err
	}
	m := &Meeting{}
	if err := json.Unmarshal(b, m); err != nil {
		return nil, err
	}
	own, err := m.taken()
	if err == nil {
		own.Watch = r.Watch
	}
	return own, err
}

// Fits says what of a row cannot have come of meetings with a stranger, of so many lives of each of these seeds.
func (r *Row) Fits(stranger string, lives, steps int, seeds []uint64) error {
	most := len(seeds)
	switch {
	case len(r.VS) == 0 || slices.ContainsFunc(r.VS, func(vs string) bool { return vs != stranger }):
		return errors.New("it is of other co-players")
	case r.Lives != lives:
		return fmt.Errorf("it is of %d lives, want %d", r.Lives, lives)
	case len(r.Seeds) > most || len(r.Seeds) == 0:
		return fmt.Errorf("it is of %d seeds, want %d", len(r.Seeds), most)
	case len(r.Episodes) > steps || len(r.Reading) > 1 || len(r.Parts) > 0 || len(r.BestName) > 200:
		return errors.New("it is of more episodes, or of more co-players, than there can be")
	}
	at := -1
	for _, s := range r.Seeds {
		next := slices.Index(seeds, s.Seed)
		if next <= at {
			return fmt.Errorf("it has seed %d, which was not asked for there", s.Seed)
		}
		at = next
	}
	return nil
}
