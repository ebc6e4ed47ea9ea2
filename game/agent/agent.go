// Package agent says what a learner is called.
//
// An agent learns; a seat (game.Seat) is a place in a game. Agents are dealt to
// seats anew each episode, so the two are different types and neither is ever
// parsed from a name.
package agent

import "strconv"

// ID is a learner's number, from 0.
type ID int

func (id ID) String() string { return "agent " + strconv.Itoa(int(id)) }

// Stat is one number that a learner reports. N is the count of alive rows (or
// episodes, or updates) behind it: it says how much to trust the value.
type Stat struct {
	Name  string
	Value float64
	N     int
}
