package play

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hop-marl/hop/game"
)

// Cell is what stands on one cell of a board.
type Cell struct {
	Seats  []game.Seat
	Things []string // names, as in the game's planes
}

// Scene is what a state looks like: a copy, so the state may go on.
type Scene struct {
	Height, Width int    // 0 if the game has no board
	Cells         []Cell // [Height][Width]
	Words         string // the state's own text, if the game has no board
}

// NewScene copies what a state looks like.
func NewScene(st game.State, spec game.Spec) Scene {
	pic, ok := st.(game.Pictured)
	if !ok || spec.Obs.Height == 0 || spec.Obs.Width == 0 {
		text, err := st.AppendText(nil)
		if err != nil {
			text = []byte(err.Error())
		}
		return Scene{Words: strings.TrimRight(string(text), "\n")}
	}
	sc := Scene{Height: spec.Obs.Height, Width: spec.Obs.Width}
	sc.Cells = make([]Cell, sc.Height*sc.Width)
	for i := range sc.Cells {
		c := &sc.Cells[i]
		c.Seats, c.Things = pic.Cell(i/sc.Width, i%sc.Width, nil, nil)
	}
	return sc
}

// Find returns the cell on which a seat stands, or -1.
func (sc *Scene) Find(s game.Seat) int {
	return slices.IndexFunc(sc.Cells, func(c Cell) bool { return slices.Contains(c.Seats, s) })
}

// Player is one seat's part of a frame.
type Player struct {
	Name   string  // who plays it, such as "ns"
	Action string  // what it just did, in words; empty before the first step
	Reward float64 // just earned
	Return float64 // so far, with Reward
	Alive  bool    // may act
	Left   int     // the step in which it left, or 0
	With   string  // the goal it left with, or empty
	At     int     // its cell; once it has left, the last one; -1: none
	From   int     // its cell one step ago; -1: none
}

// status says what the player is doing or how it left, more briefly if that has
// more than w letters.
func (p *Player) status(w int) string {
	switch {
	case p.Left > 0 && p.With != "":
		for _, form := range []string{"left with the %s at step %d", "left with %s, step %d"} {
			if s := fmt.Sprintf(form, p.With, p.Left); len(s) <= w {
				return s
			}
		}
		return fmt.Sprintf("%s, step %d", p.With, p.Left)
	case p.Left > 0:
		return fmt.Sprintf("left at step %d", p.Left)
	case p.Action != "":
		return p.Action
	}
	return "-"
}

// Frame is all that a picture of one slot needs.
type Frame struct {
	Title   string // the game and its setting
	Episode string // which episode, such as "seed 7"
	Step    int    // steps so far
	Horizon int    // steps at most
	Over    bool   // the episode has ended
	Scene
	Players []Player // [Seats]
	Mind    *Mind    // what one of the agents thinks before it acts, or nil
	Minds   []*Mind  // [Seats] what all of them do, if that is kept; an entry is nil where there is nothing to look at
}

// Info is what a Recorder cannot see in a state. It keeps copies.
type Info struct {
	Actions []int32   // [Seats] just played
	Rewards []float32 // [Seats] just earned
	Mind    *Mind     // not copied
	Minds   []*Mind   // not copied
}

// Recorder makes frames from the states of one game, whoever plays. Use it as:
// Start after each Reset, Add after each Step.
type Recorder struct {
	title  string
	spec   game.Spec
	frames []Frame
}

// NewRecorder returns a recorder without frames. The title may be empty.
func NewRecorder(g game.Game, title string) *Recorder {
	spec := g.Spec()
	if title == "" {
		title = spec.Name
	}
	return &Recorder{title: title, spec: spec}
}

// Start records the first slot of an episode. Names are by seat, as dealt for
// this episode. It panics if there is not one name a seat.
func (r *Recorder) Start(st game.State, episode string, names []string, info Info) {
	if len(names) != r.spec.Seats {
		panic("play: Start wants one name a seat")
	}
	f := Frame{
		Title: r.title, Episode: episode, Horizon: r.spec.Horizon, Over: st.Over(),
		Scene: NewScene(st, r.spec), Players: make([]Player, len(names)),
		Mind: info.Mind, Minds: info.Minds,
	}
	for s := range f.Players {
		at := f.Find(game.Seat(s))
		f.Players[s] = Player{Name: names[s], Alive: st.Alive(game.Seat(s)), At: at, From: at}
	}
	r.frames = append(r.frames, f)
}

// Add records the slot after a step. It panics before Start, and if there is
// not one action and one reward a seat.
func (r *Recorder) Add(st game.State, info Info) {
	if len(r.frames) == 0 {
		panic("play: Add before Start")
	}
	if len(info.Actions) != r.spec.Seats || len(info.Rewards) != r.spec.Seats {
		panic("play: Add wants one action and one reward a seat")
	}
	before := r.Last()
	f := *before
	f.Step++
	f.Over = st.Over()
	f.Scene = NewScene(st, r.spec)
	f.Mind, f.Minds = info.Mind, info.Minds
	f.Players = slices.Clone(before.Players)
	goals, _ := st.(game.Goaler)
	for s := range f.Players {
		p := &f.Players[s]
		p.Action, p.Reward = "", float64(info.Rewards[s])
		p.Return += p.Reward
		if a := info.Actions[s]; a >= 0 && int(a) < len(r.spec.Actions) {
			p.Action = r.spec.Actions[a]
		}
		p.Alive = st.Alive(game.Seat(s))
		at := f.Find(game.Seat(s))
		p.From = p.At
		if at >= 0 {
			p.At = at
		}
		gone := f.Height > 0 && at < 0
		if p.Left == 0 && !p.Alive && (gone || !f.Over) {
			p.Left = f.Step
			if goals != nil {
				if g := goals.Reached(game.Seat(s)); g >= 0 && g < len(r.spec.Goals) {
					p.With = r.spec.Goals[g]
				}
			}
		}
	}
	r.frames = append(r.frames, f)
}

// Drop forgets all frames; the next call must be Start.
func (r *Recorder) Drop() { r.frames = r.frames[:0] }

// Last returns the latest frame, a view that is valid until the next Add. It
// panics before Start.
func (r *Recorder) Last() *Frame { return &r.frames[len(r.frames)-1] }

// Frames returns all frames so far; they belong to the recorder.
func (r *Recorder) Frames() []Frame { return r.frames }
